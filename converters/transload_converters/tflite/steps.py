"""TFLite's operators that compute each number of a window of others: how many that are (facts of kind `steps`)."""

from __future__ import annotations

from transload.engine.steps import over_windows
from transload.facts import FactTable

__all__ = ["STEPS"]

STEPS = FactTable("tfl")

STEPS.add(
    lambda op: over_windows(op, (op.attribute("filter_height", 1), op.attribute("filter_width", 1))),
    "average_pool_2d", "l2_pool_2d", "max_pool_2d")
STEPS.add(lambda op: over_windows(op, op.attribute("window_dimensions", ()), computes_padding=True), "stablehlo_reduce_window")
STEPS.add(lambda op: over_windows(op, (2 * op.attribute("radius", 0) + 1,)), "local_response_normalization")

"""TFLite's operators that compute each number of a window of others, or multiply: how often (facts of kinds `steps` and
`products`)."""

from __future__ import annotations

from transload.engine.steps import over_windows, weighted
from transload.facts import FactTable

__all__ = ["PRODUCTS", "STEPS"]

STEPS = FactTable("tfl")
PRODUCTS = FactTable("tfl")

STEPS.add(
    lambda op: over_windows(op, (op.attribute("filter_height", 1), op.attribute("filter_width", 1))),
    "average_pool_2d", "l2_pool_2d", "max_pool_2d")
STEPS.add(lambda op: over_windows(op, op.attribute("window_dimensions", ()), computes_padding=True), "stablehlo_reduce_window")
STEPS.add(lambda op: over_windows(op, (2 * op.attribute("radius", 0) + 1,)), "local_response_normalization")
PRODUCTS.add(lambda op: weighted(op.results[0], op.operands[1], 0), "conv_2d")
PRODUCTS.add(lambda op: weighted(op.results[0], op.operands[1], -1), "conv_3d", "depthwise_conv_2d")
PRODUCTS.add(lambda op: weighted(op.operands[2], op.operands[1], -1), "conv_3d_transpose", "transpose_conv")

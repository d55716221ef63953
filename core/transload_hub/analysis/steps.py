"""Ops of the hub that compute each number of a window of others: how many that are (facts of kind `steps`)."""

from __future__ import annotations

from transload.engine.steps import over_windows
from transload.facts import FactTable

__all__ = ["STEPS"]

STEPS = FactTable("top")

STEPS.add(lambda op: over_windows(op, op.kernel_shape), "AvgPool", "MaxPool")
STEPS.add(lambda op: over_windows(op, (op.size,)), "LRN")

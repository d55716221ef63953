"""TensorFlow's ops that compute each number of a window of others: how many that are (facts of kind `steps`)."""

from __future__ import annotations

from transload.engine.steps import over_windows
from transload.facts import FactTable

__all__ = ["STEPS"]

STEPS = FactTable("tf")

STEPS.add(
    lambda op: over_windows(op, op.attribute("ksize", ())), "AvgPool", "AvgPool3D", "AvgPool3DGrad", "AvgPoolGrad", "MaxPool",
    "MaxPool3D", "MaxPool3DGrad", "MaxPoolGrad", "MaxPoolWithArgmax", "QuantizedAvgPool", "QuantizedMaxPool")
STEPS.add(lambda op: over_windows(op, (2 * op.attribute("depth_radius", 5) + 1,)), "LRN")

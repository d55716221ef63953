"""ONNX's operators that take places along a dimension: counted from its end, too, where they are below zero (facts of kind
`indices`)."""

from __future__ import annotations

from transload.analysis.movement import Index
from transload.facts import FactTable

__all__ = ["INDICES"]

INDICES = FactTable("onnx")

INDICES.add({1: Index(lambda _: None, counts_from_end=True)}, "Gather", "GatherElements", "GatherND")

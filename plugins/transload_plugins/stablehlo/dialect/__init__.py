"""The StableHLO dialect: every op of its specification, and those of the dialect that it leaves out."""

from . import binary, collective, contraction, control, custom_call, elementwise, indexing, movement, numeric, reduction, slicing
from .base import STABLEHLO

__all__ = [
    "STABLEHLO",
    "binary",
    "collective",
    "contraction",
    "control",
    "custom_call",
    "elementwise",
    "indexing",
    "movement",
    "numeric",
    "reduction",
    "slicing",
]

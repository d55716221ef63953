"""The StableHLO dialect: every op of its specification, and those of the dialect that it leaves out."""

from . import collective, contraction, control, elementwise, indexing, movement, numeric, reduction
from .base import STABLEHLO

__all__ = ["STABLEHLO", "collective", "contraction", "control", "elementwise", "indexing", "movement", "numeric", "reduction"]

"""Kernels that execute StableHLO to its specification."""

from . import collective, contraction, control, elementwise, indexing, movement, numeric, random, reduction
from .table import KERNELS

__all__ = [
    "KERNELS",
    "collective",
    "contraction",
    "control",
    "elementwise",
    "indexing",
    "movement",
    "numeric",
    "random",
    "reduction",
]

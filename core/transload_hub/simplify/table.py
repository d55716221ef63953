"""All simplifications of `top` ops, which the pass `canonicalize` applies."""

from __future__ import annotations

from ..recognize.activation import GATED
from . import activation, affine, structure, weights, windows

__all__ = ["TABLE"]

TABLE = structure.TABLE + activation.TABLE + GATED + affine.TABLE + weights.MOVED + windows.TABLE

"""Which ops of integers TPU-MLIR's floats are right for: those that give whole numbers, which do not wrap round."""

from __future__ import annotations

import math
from collections.abc import Sequence

from transload.errors import Unsupported
from transload.ir import BOOL, IntegerType, Op, Value

__all__ = ["need_whole"]

_KEPT = frozenset(f"top.{name}" for name in (
    "Permute", "Reshape", "Squeeze", "Unsqueeze", "Slice", "Split", "Unpack", "Pack", "Concat", "Gather", "MaxPool",
    "Upsample", "Depth2Space", "Where", "Max", "Min", "Clip", "Relu", "Sign", "Input", "Pad", "Round", "Floor", "Ceil"))
"""Ops whose results are no greater than what they are given."""
_GROWING = frozenset(f"top.{name}" for name in (
    "Add", "Sub", "Mul", "AddConst", "MulConst", "Neg", "Abs", "Square", "SquaredDifference", "MatMul", "Conv", "Deconv",
    "Scale"))
"""Ops that give whole numbers of whole numbers, which may be greater."""
_GROWING_SUMS = frozenset({"ReduceSum", "ReduceProd", "ReduceL1"})
_KEEPING_SUMS = frozenset({"ReduceMax", "ReduceMin"})
_NUMBERS = ("const_val", "coeff", "min", "max", "relu_limit", "val")
"""Attributes that elements are computed with; others say which are taken."""
_WIDE = 32
"""Bits of integers of which we take it that they do not wrap round."""


def need_whole(op: Op) -> None:
    """`Unsupported` of an op of integers whose results are cut off, or wrap round: floats do neither."""
    if op.name == "top.Cast" or not any(map(_is_integer, op.results)):  # a cast has words for both
        return
    mode = str(op.attribute("mode", "")) if op.name in ("top.Reduce", "top.Interp") else ""
    if op.name in _KEPT or mode in _KEEPING_SUMS or mode == "nearest":
        grows = False
    elif op.name in _GROWING or mode in _GROWING_SUMS:
        grows = op.name != "top.Abs" or not _is_unsigned(op.results[0])
    else:
        raise Unsupported("integers, which are cut off where they are no whole numbers")
    if not all(_are_whole(held) for key, held in op.attributes.items() if key in _NUMBERS):
        raise Unsupported("a fraction, of integers, which are cut off")
    for result in op.results:
        element = result.element
        if grows and isinstance(element, IntegerType) and (element.width < _WIDE or element.unsigned):
            raise Unsupported(f"integers of type {element}, which wrap round", "in 32 bits with a sign it can be converted")


def _is_integer(value: Value) -> bool:
    element = value.element_or_none
    return isinstance(element, IntegerType) and element != BOOL


def _is_unsigned(value: Value) -> bool:
    element = value.element_or_none
    return isinstance(element, IntegerType) and element.unsigned


def _are_whole(held: object) -> bool:
    """Whether an attribute is no fraction, nor has one."""
    if isinstance(held, Sequence) and not isinstance(held, str):
        return all(map(_are_whole, held))
    return not isinstance(held, float) or not math.isfinite(held) or held.is_integer()

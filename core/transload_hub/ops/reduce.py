"""Reductions, and the place of the extreme."""

from __future__ import annotations

from collections.abc import Sequence

from transload.ir.declare import BOOLEAN, INT, INT_TENSOR, INTS, DeclaredOp, attribute, constraint, enum, operand, result
from transload.ir.types import BOOL, I64, TensorType, Type

from .base import NUMBER_TENSOR, TOP
from .infer import Shape, fail, normalise_axes, permuted_element, shape_of, show
from .rounding import rounds


def _reduced(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """`shape` after reduction over `axes` (counted from the front)."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _default_rounding(op: Reduce) -> str:
    """LiteRT scales a sum by a float, and a mean in fixed point."""
    return "exact" if op.mode == "ReduceSum" else "double"


@TOP.op("Reduce")
class Reduce(DeclaredOp):
    """One number of all elements along `axes` (ONNX ReduceMean, ...; TFLite MEAN, SUM, ...; TPU-MLIR's top.Reduce).

    L1 is the sum of absolute values, L2 the root of the sum of squares, LogSum the logarithm of the sum, LogSumExp that of
    the sum of exponentials. All and Any are of i1. No axes: nothing is summed, the function is applied to each element.
    Over no elements, Max is the least value of the type and Min the greatest. Results of integers are truncated.
    """

    input = operand("the tensor")
    output = result("without these dimensions, or with size 1 there")
    axes = attribute(INTS, "the dimensions to reduce")
    keepdims = attribute(BOOLEAN, "whether they stay, with size 1", default=True)
    mode = attribute(
        enum("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
             "ReduceLogSumExp", "ReduceSumSquare", "ReduceAll", "ReduceAny"), "which number")
    rounding = rounds("double", "exact", "once", default=_default_rounding)

    @constraint
    def all_and_any_are_of_flags(op) -> bool | str:
        """ReduceAll and ReduceAny take i1"""
        return op.mode not in ("ReduceAll", "ReduceAny") or op.input.element == BOOL or f"the input is {op.input.type}"

    def infer(op) -> Type:
        shape = shape_of(op.input)
        if shape is None:
            return TensorType(None, op.input.element)
        axes = normalise_axes(op, op.axes, len(shape))
        element = op.input.element
        if not op.keepdims:
            element = permuted_element(element, [axis for axis in range(len(shape)) if axis not in axes])
        return TensorType(_reduced(shape, axes, op.keepdims), element)


@TOP.op("Arg")
class Arg(DeclaredOp):
    """The index of the greatest or least element along a dimension (ONNX ArgMax, TFLite ARG_MAX; TPU-MLIR's top.Arg)."""

    input = operand("the tensor", type=NUMBER_TENSOR)
    output = result("i64 unless the caller says otherwise", type=INT_TENSOR)
    axis = attribute(INT, "the dimension to look along")
    keepdims = attribute(BOOLEAN, "whether the dimension stays, with size 1", default=True)
    mode = attribute(enum("ArgMax", "ArgMin"), "which extreme")
    select_last_index = attribute(BOOLEAN, "of equal elements the last one, else the first", default=False)

    def infer(op) -> Type:
        shape = shape_of(op.input)
        if shape is None:
            return TensorType(None, I64)
        axes = normalise_axes(op, (op.axis,), len(shape))
        if shape[axes[0]] == 0:
            fail(op, f"{show(shape)} has no elements along dimension {axes[0]}")
        return TensorType(_reduced(shape, axes, op.keepdims), I64)

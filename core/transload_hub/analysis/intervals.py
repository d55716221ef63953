"""What ops of `top` do to intervals: facts of kind "interval", see `transload.analysis.intervals`.

Ops that only move numbers need no rule, unless more is known of them than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product as pairs_of
from typing import TYPE_CHECKING, Any

from transload.analysis.intervals import (
    EVERYTHING,
    Interval,
    IntervalRule,
    IntervalTable,
    absolute,
    hull,
    limits,
    negated,
    product,
    square,
    sum_of,
    times,
    whole,
)
from transload.ir import FloatType, IntegerType, Op, QuantType, Value
from transload.ir.types import IndexType

if TYPE_CHECKING:
    from ..ops.activation import Clip, Relu, Sigmoid
    from ..ops.base import Unary
    from ..ops.cast import Cast
    from ..ops.constant import EyeLike, NonZero, Range, Shape
    from ..ops.conv import Conv, Deconv
    from ..ops.elementwise import (
        Add,
        AddConst,
        BitwiseAnd,
        BitwiseNot,
        BitwiseOr,
        BitwiseXor,
        Div,
        FloorDiv,
        FloorMod,
        Max,
        Min,
        Mul,
        MulConst,
        Pow,
        Scale,
        ShiftLeft,
        ShiftRight,
        SquaredDifference,
        Sub,
        TruncMod,
        UnaryNumber,
    )
    from ..ops.gather import CumSum, ScatterElements, ScatterND, TopK
    from ..ops.matmul import MatMul
    from ..ops.movement import Concat
    from ..ops.normalization import BatchNorm
    from ..ops.pool import AvgPool, MaxPool
    from ..ops.reduce import Arg, Reduce
    from ..ops.resize import Upsample

__all__ = ["INTERVALS"]


class _ActivatedTable(IntervalTable):
    """Rules of ops that may end with a ReLU, which is applied to what they give."""

    def __call__(self, *names: str, rounds: bool = True, of_operands: bool = True) -> Callable[[Any], Any]:
        def add(function: Any) -> Any:
            self.add(IntervalRule(lambda op, x: _activated(op, function(op, x)), rounds, of_operands), *names)
            return function

        return add


def _activated(op: Op, found: Any) -> Any:
    return _rectified(found, op) if op.attribute("do_relu", False) else found


INTERVALS = _ActivatedTable("top")


def _is_whole(op: Op) -> bool:
    """Whether an op computes integers. The ends of floats, which a ReLU or a constant may have set, may be integers, too."""
    return isinstance(op.results[0].element_or_none, IntegerType | IndexType)


def _count(op: Op) -> int | None:
    """Of how many elements at most one of a reduction's results is made; None where a size is not known."""
    shape = op.operands[0].shape_or_none
    if shape is None:
        return None
    axes = op.attribute("axes") if op.name == "top.Reduce" else (op.attribute("axis"),)
    sizes = [shape[axis] for axis in axes]
    return None if None in sizes else math.prod(sizes)


# --- what is moved, and then rectified or rounded


@INTERVALS("Concat", rounds=False)
def joined(op: Concat, x: Sequence[Interval]) -> Interval:
    return hull(x)


@INTERVALS("MaxPool", "Upsample", rounds=False)
def first(op: MaxPool | Upsample, x: Sequence[Interval]) -> Interval:
    return x[0]


@INTERVALS("AvgPool")
def averaged(op: AvgPool, x: Sequence[Interval]) -> Interval:
    """A mean, of which zeros around the input may be part."""
    return hull((x[0], (0, 0)))


@INTERVALS("Conv", "Deconv", "BatchNorm", rounds=False, of_operands=False)
def anything(op: BatchNorm | Conv | Deconv, x: Sequence[Interval]) -> Interval:
    """But for the ReLU behind it."""
    return EVERYTHING


@INTERVALS("Floor", "Ceil", "Round", rounds=False)
def rounded(op: UnaryNumber, x: Sequence[Interval]) -> Interval:
    """Between the whole numbers around the ends, whichever way it is rounded."""
    if _is_whole(op):
        return x[0]
    low, high = x[0]
    return low if math.isinf(low) else float(math.floor(low)), high if math.isinf(high) else float(math.ceil(high))


# --- arithmetic


@INTERVALS("Add")
def added(op: Add, x: Sequence[Interval]) -> Interval:
    coeff: Any = op.attribute("coeff") or (1,) * len(x)
    total: Interval = (0, 0)
    for interval, factor in zip(x, coeff, strict=True):
        factor = whole(op, factor)
        total = sum_of(total, product(interval, (factor, factor)))
    return total


@INTERVALS("Sub")
def subtracted(op: Sub, x: Sequence[Interval]) -> Interval:
    return sum_of(x[0], negated(x[1]))


@INTERVALS("Mul")
def multiplied(op: Mul, x: Sequence[Interval]) -> Interval:
    if len(op.operands) == 2 and op.operands[0] is op.operands[1]:
        return square(x[0])
    total = x[0]
    for interval in x[1:]:
        total = product(total, interval)
    return total


@INTERVALS("AddConst", "MulConst")
def with_number(op: AddConst | MulConst, x: Sequence[Interval]) -> Interval:
    number = whole(op, op.attribute("const_val"))
    return (sum_of if op.name == "top.AddConst" else product)(x[0], (number, number))


@INTERVALS("Scale")
def scale(op: Scale, x: Sequence[Interval]) -> Interval:
    return sum_of(product(x[0], x[1]), x[2])


@INTERVALS("Neg", rounds=False)
def negative(op: UnaryNumber, x: Sequence[Interval]) -> Interval:
    return negated(x[0])


@INTERVALS("Abs", rounds=False)
def absolute_value(op: UnaryNumber, x: Sequence[Interval]) -> Interval:
    return absolute(x[0])


@INTERVALS("Square")
def squared(op: UnaryNumber, x: Sequence[Interval]) -> Interval:
    return square(x[0])


@INTERVALS("SquaredDifference")
def squared_difference(op: SquaredDifference, x: Sequence[Interval]) -> Interval:
    return square(sum_of(x[0], negated(x[1])))


@INTERVALS("Div", "FloorDiv")
def divided(op: Div | FloorDiv, x: Sequence[Interval]) -> Interval:
    (low, high), (least, most) = x
    if not _is_whole(op):
        return _float_quotient(x[0], x[1])
    if least <= 0 <= most:  # by 1 or -1 at least; what a division by 0 gives is not defined
        greatest = max(abs(low), abs(high))
        return -greatest, greatest
    ends = [a // b for a, b in pairs_of((low, high), (least, most))]
    if op.name == "top.Div":
        ends += [-(-a // b) for a, b in pairs_of((low, high), (least, most))]
    return min(ends), max(ends)


def _float_quotient(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 <= b[1] or not all(map(math.isfinite, (*a, *b))):
        return EVERYTHING
    ends = [x / y for x, y in pairs_of(a, b)]
    return min(ends) - 1.0, max(ends) + 1.0


@INTERVALS("FloorMod", "TruncMod")
def remainder(op: FloorMod | TruncMod, x: Sequence[Interval]) -> Interval:
    (low, high), (least, most) = x
    size = max(abs(least), abs(most))
    below = max(size - 1, 0) if _is_whole(op) else size
    signs = x[1] if op.name == "top.FloorMod" else x[0]  # whose sign the result has
    made = (-below if signs[0] < 0 else 0), (below if signs[1] > 0 else 0)
    if low >= 0 and least > 0:
        return 0, min(high, made[1])
    return made


@INTERVALS("Pow")
def power(op: Pow, x: Sequence[Interval]) -> Interval:
    (low, high), (_, most) = x
    if not _is_whole(op) or isinstance(most, float) or most > 64:
        return EVERYTHING
    greatest = max(abs(low), abs(high), 1) ** max(int(most), 0)  # of a negative exponent -1, 0 or 1
    return (-greatest if low < 0 else 0), greatest


@INTERVALS("Max", rounds=False)
def greatest(op: Max, x: Sequence[Interval]) -> Interval:
    return max(low for low, _ in x), max(high for _, high in x)


@INTERVALS("Min", rounds=False)
def least(op: Min, x: Sequence[Interval]) -> Interval:
    return min(low for low, _ in x), min(high for _, high in x)


@INTERVALS("Clip", rounds=False)
def clipped(op: Clip, x: Sequence[Interval]) -> Interval:
    low, high = (whole(op, op.attribute(name)) for name in ("min", "max"))
    return min(max(x[0][0], low), high), min(max(x[0][1], low), high)


@INTERVALS("Relu", rounds=False)
def relu(op: Relu, x: Sequence[Interval]) -> Interval:
    return _rectified(x[0], op)


def _rectified(x: Interval, op: Op) -> Interval:
    limit: Any = op.attribute("relu_limit")
    low, high = max(x[0], 0), max(x[1], 0)
    if limit is not None and limit >= 0:
        limit = whole(op, limit)
        low, high = min(low, limit), min(high, limit)
    return low, high


@INTERVALS("BitwiseAnd")
def bits_and(op: BitwiseAnd, x: Sequence[Interval]) -> Interval:
    positive = [high for low, high in x if low >= 0]
    if positive:
        return 0, min(positive)
    return _bits(x)


@INTERVALS("BitwiseOr", "BitwiseXor")
def bits_or(op: BitwiseOr | BitwiseXor, x: Sequence[Interval]) -> Interval:
    return _bits(x)


def _bits(x: Sequence[Interval]) -> Interval:
    """What can be written with as many bits as the operands."""
    low, high = hull(x)
    bits = max(int(high).bit_length(), (-int(low) - 1).bit_length() if low < 0 else 0)
    return (-(1 << bits) if low < 0 else 0), (1 << bits) - 1


@INTERVALS("BitwiseNot")
def bits_not(op: BitwiseNot, x: Sequence[Interval]) -> Interval:
    element: Any = op.operands[0].element
    if getattr(element, "unsigned", False):
        return element.range[1] - x[0][1], element.range[1] - x[0][0]
    return -x[0][1] - 1, -x[0][0] - 1


@INTERVALS("ShiftLeft")
def shift_left(op: ShiftLeft, x: Sequence[Interval]) -> Interval:
    least, most = (min(max(end, 0), 64) for end in x[1])
    return product(x[0], (1 << least, 1 << most))


@INTERVALS("ShiftRight")
def shift_right(op: ShiftRight, x: Sequence[Interval]) -> Interval:
    least, most = (min(max(end, 0), 64) for end in x[1])
    ends = [end >> by for end, by in pairs_of(x[0], (least, most))]
    return min(ends), max(ends)


@INTERVALS("CumSum")
def cumulated(op: CumSum, x: Sequence[Interval]) -> Interval:
    count = _count(op)
    if count is None:
        return EVERYTHING
    return min(times(x[0][0], count), x[0][0], 0), max(times(x[0][1], count), x[0][1], 0)


@INTERVALS("Reduce")
def reduced(op: Reduce, x: Sequence[Interval]) -> Interval:
    mode, count = op.attribute("mode"), _count(op)
    if mode in ("ReduceMax", "ReduceMin"):
        return x[0] if count else EVERYTHING
    if mode == "ReduceMean":
        return hull((x[0], (0, 0)))
    if count is None or mode in ("ReduceLogSum", "ReduceLogSumExp"):
        return EVERYTHING
    if mode in ("ReduceSum", "ReduceL1", "ReduceSumSquare"):
        each = {"ReduceSum": x[0], "ReduceL1": absolute(x[0]), "ReduceSumSquare": square(x[0])}[mode]
        return times(each[0], count), times(each[1], count)
    greatest = max(abs(x[0][0]), abs(x[0][1]), 1)
    if mode == "ReduceProd" and _is_whole(op) and count * greatest.bit_length() <= 1024:
        return (-(greatest**count) if x[0][0] < 0 else 0), greatest**count
    return EVERYTHING


@INTERVALS("Range")
def range_of(op: Range, x: Sequence[Interval]) -> Interval:
    return hull(x[:2])


@INTERVALS("ScatterND", "ScatterElements")
def scattered(op: ScatterElements | ScatterND, x: Sequence[Interval]) -> Interval:
    kind = op.attribute("reduction")
    if kind in ("none", "max", "min"):
        return hull((x[0], x[2]))
    shape = op.operands[2].known_shape
    if kind != "add" or shape is None:
        return EVERYTHING
    count = math.prod(shape)
    return x[0][0] + min(times(x[2][0], count), 0), x[0][1] + max(times(x[2][1], count), 0)


def _size(value: Value, axis: int | None = None) -> int:
    """The size of a dimension, or of the greatest one; the most that TOSA's level 8K has where it is not known."""
    shape = value.shape_or_none
    if shape is None:
        return (1 << 31) - 1
    sizes = shape if axis is None else (shape[axis],)
    return max(((1 << 31) - 1 if size is None else size for size in sizes), default=1)


@INTERVALS("Shape", of_operands=False)
def shape(op: Shape, x: Sequence[Interval]) -> Interval:
    return 0, _size(op.operands[0])


@INTERVALS("Arg", of_operands=False)
def arg(op: Arg, x: Sequence[Interval]) -> Interval:
    return 0, max(_size(op.operands[0], op.attribute("axis")) - 1, 0)


@INTERVALS("NonZero", of_operands=False)
def non_zero(op: NonZero, x: Sequence[Interval]) -> Interval:
    return 0, max(_size(op.operands[0]) - 1, 0)


@INTERVALS("TopK", rounds=False)
def top_k(op: TopK, x: Sequence[Interval]) -> list[Interval]:
    return [x[0], (0, max(_size(op.operands[0], op.attribute("axis")) - 1, 0))]


@INTERVALS("EyeLike", of_operands=False)
def zero_or_one(op: EyeLike, x: Sequence[Interval]) -> Interval:
    return 0, 1


@INTERVALS("Sign", of_operands=False)
def sign(op: UnaryNumber, x: Sequence[Interval]) -> Interval:
    return -1, 1


@INTERVALS("MatMul")
def matmul(op: MatMul, x: Sequence[Interval]) -> Interval:
    shape = op.operands[0].shape_or_none
    size = shape[-2 if op.attribute("left_transpose") else -1] if shape else None
    if size is None:
        return EVERYTHING
    total = product(product(x[0], x[1]), (size, size))
    return sum_of(total, x[2]) if len(x) > 2 and op.operand("bias") is not None else total


@INTERVALS("Cast")
def cast(op: Cast, x: Sequence[Interval]) -> Interval:
    low, high = x[0]
    source, target = op.operands[0].element, op.results[0].element
    if isinstance(target, FloatType):
        return float(low), float(high)
    if isinstance(target, IntegerType) and target.width == 1:
        return 0, 1
    if isinstance(target, IntegerType | IndexType) and isinstance(source, FloatType | QuantType):
        ends = limits(target)  # beyond these, C++ and so the frameworks leave the result undefined; of NaN it is 0
        low = min(0, ends[0] if low <= ends[0] else math.floor(low))
        return low, max(0, ends[1] if high >= ends[1] else math.ceil(high))
    return low, high


_BETWEEN: dict[str, Interval] = {
    "Softmax": (0.0, 1.0), "HardSigmoid": (0.0, 1.0), "Tanh": (-1.0, 1.0), "Sin": (-1.0, 1.0), "Cos": (-1.0, 1.0),
    "Erf": (-1.0, 1.0), "Softsign": (-1.0, 1.0), "Acos": (0.0, 4.0), "Asin": (-2.0, 2.0), "Atan": (-2.0, 2.0),
    "Atan2": (-4.0, 4.0), "Compare": (0, 1),
}
"""Between which numbers the results of bounded functions lie, whatever their operands."""


def _between(ends: Interval) -> IntervalRule:
    return IntervalRule(lambda op, x: EVERYTHING if op.attribute("log", False) else ends, rounds=False, of_operands=False)


for _name, _ends in _BETWEEN.items():
    INTERVALS.add(_between(_ends), _name)


@INTERVALS("Sigmoid", rounds=False, of_operands=False)
def sigmoid(op: Sigmoid, x: Sequence[Interval]) -> Interval:
    """`scale * y + bias` with y from 0 to 1."""
    scale, bias = float(op.attribute("scale")), float(op.attribute("bias"))
    if op.attribute("log", False):
        return EVERYTHING
    return min(bias, scale + bias), max(bias, scale + bias)


@INTERVALS("Exp", of_operands=False)
def exponential(op: Unary, x: Sequence[Interval]) -> Interval:
    return 0.0, math.inf


@INTERVALS("Sqrt")
def sqrt(op: Unary, x: Sequence[Interval]) -> Interval:
    return 0.0, math.sqrt(max(x[0][1], 0.0))

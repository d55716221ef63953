"""Interval arithmetic on `top`: between which numbers an op's results lie, given those of its operands.

An interval is `(low, high)`, both ends included; its ends are Python integers of any size, or floats for tensors of
floats (infinite where nothing is known; NaN is not spoken of). Source: Moore, Kearfott, Cloud, Introduction to Interval
Analysis (2009), chapters 2 and 5. Float results are widened a little, as each op rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from transload.ir import F16, FloatType, IntegerType, Op, QuantType, TensorType, Type, Value
from transload.ir.types import IndexType

__all__ = ["EVERYTHING", "Interval", "hull", "inside", "limits", "meet", "result_interval"]

Interval = tuple[Any, Any]

EVERYTHING: Interval = (-math.inf, math.inf)

INT64: Interval = (-(1 << 63), (1 << 63) - 1)

SLACK = 2.0**-5
"""By how much of itself a bound of floats is moved outwards: more than bf16 rounds, and less than would matter."""


def limits(type_: Type) -> Interval:
    """The interval of all numbers of a type."""
    element = type_.element if isinstance(type_, TensorType) else type_
    if isinstance(element, QuantType):
        if element.storage.width > 32:
            return EVERYTHING
        ends = [(end - point) * scale for end in (element.storage_min, element.storage_max)
                for point in element.zero_points for scale in element.scales]
        return min(ends), max(ends)
    if isinstance(element, IndexType):
        return INT64
    if element == F16:
        return -65504.0, 65504.0  # and infinity, which nothing is computed of that must lie anywhere
    if isinstance(element, IntegerType):
        return (0, 1) if element.width == 1 else element.range
    return EVERYTHING


def hull(intervals: Sequence[Interval]) -> Interval:
    """The smallest interval around some."""
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def inside(inner: Interval, outer: Interval) -> bool:
    """Whether all of `inner` lies in `outer`."""
    return bool(outer[0] <= inner[0] and inner[1] <= outer[1])


def meet(a: Interval, b: Interval) -> Interval:
    """What two intervals have in common; `b` where that is nothing."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else b


def _times(a: Any, b: Any) -> Any:
    return 0 if a == 0 or b == 0 else a * b  # zero times infinity, too: a bound, not a number


def _product(a: Interval, b: Interval) -> Interval:
    ends = [_times(x, y) for x, y in product(a, b)]
    return min(ends), max(ends)


def _sum(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _negated(a: Interval) -> Interval:
    return -a[1], -a[0]


def _absolute(a: Interval) -> Interval:
    greatest = max(abs(a[0]), abs(a[1]))
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), greatest


def _square(a: Interval) -> Interval:
    low, high = _absolute(a)
    return _times(low, low), _times(high, high)


def _count(op: Op) -> int | None:
    """Of how many elements at most one of a reduction's results is made; None where a size is not known."""
    shape = getattr(op.operands[0].type, "shape", None)
    if shape is None:
        return None
    axes = op.attribute("axes") if op.name == "top.Reduce" else (op.attribute("axis"),)
    sizes = [shape[axis] for axis in axes]  # type: ignore[union-attr,index]
    return None if None in sizes else math.prod(sizes)


# --- what each op does to intervals

Function = Callable[[Op, Sequence[Interval]], Interval]

FUNCTIONS: dict[str, Function] = {}


def _of(*names: str) -> Callable[[Function], Function]:
    def add(function: Function) -> Function:
        FUNCTIONS.update({f"top.{name}": function for name in names})
        return function

    return add


FIRST = ("Input", "Reshape", "Squeeze", "Unsqueeze", "Permute", "Expand", "Tile", "Split", "Unpack", "Slice", "Reverse",
         "ReverseSequence", "Roll", "Gather", "GatherND", "GatherElements", "Fill", "Floor", "Ceil", "Round", "MaxPool",
         "Upsample", "Depth2Space", "BatchToSpace")
"""Ops whose results hold numbers of the first operand alone."""


@_of(*FIRST)
def _first(op: Op, x: Sequence[Interval]) -> Interval:
    low, high = x[0]
    if op.name in ("top.Floor", "top.Ceil", "top.Round") and isinstance(low, float):
        return low - 1.0, high + 1.0
    return low, high


@_of("Concat", "Pack")
def _any_operand(op: Op, x: Sequence[Interval]) -> Interval:
    return hull(x)


@_of("Pad")
def _pad(op: Op, x: Sequence[Interval]) -> Interval:
    if op.attribute("mode") != "constant":
        return x[0]
    value = op.attribute("val")
    return hull((x[0], x[1] if op.operand("value") is not None else (_whole(op, value), _whole(op, value))))


@_of("Trilu", "SpaceToBatch")
def _with_zeros(op: Op, x: Sequence[Interval]) -> Interval:
    return hull((x[0], (0, 0)))


@_of("Where")
def _where(op: Op, x: Sequence[Interval]) -> Interval:
    return hull(x[1:])


@_of("OneHot")
def _one_hot(op: Op, x: Sequence[Interval]) -> Interval:
    return hull(x[1:])


def _whole(op: Op, number: float) -> Any:
    """An attribute's number as the op's results hold it: an integer where they are integers."""
    element = getattr(op.results[0].type, "element", None)
    return int(number) if isinstance(element, IntegerType | IndexType) and math.isfinite(number) else number


@_of("Add")
def _add(op: Op, x: Sequence[Interval]) -> Interval:
    coeff: Any = op.attribute("coeff") or (1,) * len(x)
    total: Interval = (0, 0)
    for interval, factor in zip(x, coeff, strict=True):
        factor = _whole(op, factor)
        total = _sum(total, _product(interval, (factor, factor)))
    return total


@_of("Sub")
def _sub(op: Op, x: Sequence[Interval]) -> Interval:
    return _sum(x[0], _negated(x[1]))


@_of("Mul")
def _mul(op: Op, x: Sequence[Interval]) -> Interval:
    if len(op.operands) == 2 and op.operands[0] is op.operands[1]:
        return _square(x[0])
    total = x[0]
    for interval in x[1:]:
        total = _product(total, interval)
    return total


@_of("AddConst", "MulConst")
def _with_number(op: Op, x: Sequence[Interval]) -> Interval:
    number = _whole(op, op.attribute("const_val"))  # type: ignore[arg-type]
    return (_sum if op.name == "top.AddConst" else _product)(x[0], (number, number))


@_of("Scale")
def _scale(op: Op, x: Sequence[Interval]) -> Interval:
    return _sum(_product(x[0], x[1]), x[2])


@_of("Neg")
def _neg(op: Op, x: Sequence[Interval]) -> Interval:
    return _negated(x[0])


@_of("Abs")
def _abs(op: Op, x: Sequence[Interval]) -> Interval:
    return _absolute(x[0])


@_of("Square")
def _squared(op: Op, x: Sequence[Interval]) -> Interval:
    return _square(x[0])


@_of("SquaredDifference")
def _squared_difference(op: Op, x: Sequence[Interval]) -> Interval:
    return _square(_sum(x[0], _negated(x[1])))


@_of("Div", "FloorDiv")
def _div(op: Op, x: Sequence[Interval]) -> Interval:
    (low, high), (least, most) = x
    if isinstance(low, float) or isinstance(least, float):
        return _float_quotient(x[0], x[1])
    if least <= 0 <= most:  # by 1 or -1 at least; what a division by 0 gives is not defined
        greatest = max(abs(low), abs(high))
        return -greatest, greatest
    ends = [a // b for a, b in product((low, high), (least, most))]
    if op.name == "top.Div":
        ends += [-(-a // b) for a, b in product((low, high), (least, most))]
    return min(ends), max(ends)


def _float_quotient(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 <= b[1] or not all(map(math.isfinite, (*a, *b))):
        return EVERYTHING
    ends = [x / y for x, y in product(a, b)]
    return min(ends) - 1.0, max(ends) + 1.0


@_of("FloorMod", "TruncMod")
def _mod(op: Op, x: Sequence[Interval]) -> Interval:
    (low, high), (least, most) = x
    size = max(abs(least), abs(most))
    below = size if isinstance(size, float) else max(size - 1, 0)
    signs = x[1] if op.name == "top.FloorMod" else x[0]  # whose sign the result has
    made = (-below if signs[0] < 0 else 0), (below if signs[1] > 0 else 0)
    if low >= 0 and least > 0:
        return 0, min(high, made[1])
    return made


@_of("Pow")
def _pow(op: Op, x: Sequence[Interval]) -> Interval:
    (low, high), (_, most) = x
    if isinstance(low, float) or isinstance(most, float) or most > 64:
        return EVERYTHING
    greatest = max(abs(low), abs(high), 1) ** max(int(most), 0)  # of a negative exponent -1, 0 or 1
    return (-greatest if low < 0 else 0), greatest


@_of("Max")
def _max(op: Op, x: Sequence[Interval]) -> Interval:
    return max(low for low, _ in x), max(high for _, high in x)


@_of("Min")
def _min(op: Op, x: Sequence[Interval]) -> Interval:
    return min(low for low, _ in x), min(high for _, high in x)


@_of("Clip")
def _clip(op: Op, x: Sequence[Interval]) -> Interval:
    low, high = (_whole(op, op.attribute(name)) for name in ("min", "max"))  # type: ignore[arg-type]
    return min(max(x[0][0], low), high), min(max(x[0][1], low), high)


@_of("Relu")
def _relu(op: Op, x: Sequence[Interval]) -> Interval:
    return _rectified(x[0], op)


def _rectified(x: Interval, op: Op) -> Interval:
    limit: Any = op.attribute("relu_limit")
    low, high = max(x[0], 0), max(x[1], 0)
    if limit is not None and limit >= 0:
        limit = _whole(op, limit)
        low, high = min(low, limit), min(high, limit)
    return low, high


@_of("BitwiseAnd")
def _and(op: Op, x: Sequence[Interval]) -> Interval:
    positive = [high for low, high in x if low >= 0]
    if positive:
        return 0, min(positive)
    return _bits(x)


@_of("BitwiseOr", "BitwiseXor")
def _or(op: Op, x: Sequence[Interval]) -> Interval:
    return _bits(x)


def _bits(x: Sequence[Interval]) -> Interval:
    """What can be written with as many bits as the operands."""
    low, high = hull(x)
    bits = max(int(high).bit_length(), (-int(low) - 1).bit_length() if low < 0 else 0)
    return (-(1 << bits) if low < 0 else 0), (1 << bits) - 1


@_of("BitwiseNot")
def _not(op: Op, x: Sequence[Interval]) -> Interval:
    element: Any = op.operands[0].element
    if getattr(element, "unsigned", False):
        return element.range[1] - x[0][1], element.range[1] - x[0][0]
    return -x[0][1] - 1, -x[0][0] - 1


@_of("ShiftLeft")
def _shift_left(op: Op, x: Sequence[Interval]) -> Interval:
    least, most = (min(max(end, 0), 64) for end in x[1])
    return _product(x[0], (1 << least, 1 << most))


@_of("ShiftRight")
def _shift_right(op: Op, x: Sequence[Interval]) -> Interval:
    least, most = (min(max(end, 0), 64) for end in x[1])
    ends = [end >> by for end, by in product(x[0], (least, most))]
    return min(ends), max(ends)


@_of("CumSum")
def _cumulated(op: Op, x: Sequence[Interval]) -> Interval:
    count = _count(op)
    if count is None:
        return EVERYTHING
    return min(_times(x[0][0], count), x[0][0], 0), max(_times(x[0][1], count), x[0][1], 0)


@_of("Reduce")
def _reduced(op: Op, x: Sequence[Interval]) -> Interval:
    mode, count = op.attribute("mode"), _count(op)
    if mode in ("ReduceMax", "ReduceMin"):
        return x[0] if count else EVERYTHING
    if mode == "ReduceMean":
        return hull((x[0], (0, 0)))
    if count is None or mode in ("ReduceLogSum", "ReduceLogSumExp"):
        return EVERYTHING
    if mode in ("ReduceSum", "ReduceL1", "ReduceSumSquare"):
        each = {"ReduceSum": x[0], "ReduceL1": _absolute(x[0]), "ReduceSumSquare": _square(x[0])}[mode]
        return _times(each[0], count), _times(each[1], count)
    greatest = max(abs(x[0][0]), abs(x[0][1]), 1)
    if mode == "ReduceProd" and not isinstance(greatest, float) and count * greatest.bit_length() <= 1024:
        return (-(greatest**count) if x[0][0] < 0 else 0), greatest**count
    return EVERYTHING


@_of("Range")
def _range(op: Op, x: Sequence[Interval]) -> Interval:
    return hull(x[:2])


@_of("ScatterND", "ScatterElements")
def _scattered(op: Op, x: Sequence[Interval]) -> Interval:
    kind = op.attribute("reduction")
    if kind in ("none", "max", "min"):
        return hull((x[0], x[2]))
    shape = getattr(op.operands[2].type, "shape", None)
    if kind != "add" or shape is None or None in shape:
        return EVERYTHING
    count = math.prod(shape)
    return x[0][0] + min(_times(x[2][0], count), 0), x[0][1] + max(_times(x[2][1], count), 0)


def _size(value: Value, axis: int | None = None) -> int:
    """The size of a dimension, or of the greatest one; the most that TOSA's level 8K has where it is not known."""
    shape = getattr(value.type, "shape", None)
    if shape is None:
        return (1 << 31) - 1
    sizes = shape if axis is None else (shape[axis],)
    return max(((1 << 31) - 1 if size is None else size for size in sizes), default=1)


@_of("Shape")
def _shape(op: Op, x: Sequence[Interval]) -> Interval:
    return 0, _size(op.operands[0])


@_of("Arg")
def _arg(op: Op, x: Sequence[Interval]) -> Interval:
    return 0, max(_size(op.operands[0], op.attribute("axis")) - 1, 0)  # type: ignore[arg-type]


@_of("NonZero")
def _non_zero(op: Op, x: Sequence[Interval]) -> Interval:
    return 0, max(_size(op.operands[0]) - 1, 0)


@_of("TopK")
def _top(op: Op, x: Sequence[Interval]) -> Interval:
    return hull((x[0], (0, _size(op.operands[0], op.attribute("axis")))))  # type: ignore[arg-type]


@_of("EyeLike")
def _zero_or_one(op: Op, x: Sequence[Interval]) -> Interval:
    return 0, 1


@_of("Sign")
def _sign(op: Op, x: Sequence[Interval]) -> Interval:
    return -1, 1


@_of("MatMul")
def _matmul(op: Op, x: Sequence[Interval]) -> Interval:
    shape = getattr(op.operands[0].type, "shape", None)
    size = shape[-2 if op.attribute("left_transpose") else -1] if shape else None
    if size is None:
        return EVERYTHING
    total = _product(_product(x[0], x[1]), (size, size))
    return _sum(total, x[2]) if len(x) > 2 and op.operand("bias") is not None else total


@_of("Cast")
def _cast(op: Op, x: Sequence[Interval]) -> Interval:
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


BETWEEN: dict[str, Interval] = {
    "top.Sigmoid": (0.0, 1.0), "top.Softmax": (0.0, 1.0), "top.HardSigmoid": (0.0, 1.0), "top.Tanh": (-1.0, 1.0),
    "top.Sin": (-1.0, 1.0), "top.Cos": (-1.0, 1.0), "top.Erf": (-1.0, 1.0), "top.Softsign": (-1.0, 1.0),
    "top.Acos": (0.0, 4.0), "top.Asin": (-2.0, 2.0), "top.Atan": (-2.0, 2.0), "top.Atan2": (-4.0, 4.0),
    "top.Compare": (0, 1),
}
"""Between which numbers the results of bounded functions lie, whatever their operands."""


@_of("Sqrt")
def _sqrt(op: Op, x: Sequence[Interval]) -> Interval:
    return 0.0, math.sqrt(max(x[0][1], 0.0))


def result_interval(op: Op, operands: Sequence[Interval]) -> Interval:
    """The interval that holds all numbers of all results of `op`, as exact arithmetic has them.

    It may reach beyond the type of the results: then they may wrap round. `EVERYTHING` where nothing is known.
    """
    bounded = BETWEEN.get(op.name)
    if bounded is not None:
        plain = op.name != "top.Sigmoid" or (op.attribute("scale"), op.attribute("bias")) == (1.0, 0.0)
        return bounded if plain and not op.attribute("log", False) else EVERYTHING
    function = FUNCTIONS.get(op.name)
    if function is None:
        return EVERYTHING
    low, high = function(op, operands)
    if low != low or high != high:  # infinity less infinity
        return EVERYTHING
    if op.attribute("do_relu", False):
        low, high = _rectified((low, high), op)
    if op.name not in _EXACT and (isinstance(low, float) or isinstance(high, float)):
        low, high = float(low) - abs(low) * SLACK, float(high) + abs(high) * SLACK
    return low, high


_EXACT = frozenset(
    f"top.{name}" for name in (*FIRST, "Abs", "Clip", "Concat", "Max", "Min", "Neg", "Pack", "Pad", "Relu", "Where"))
"""Ops that do not round."""

"""Broadcasts and means in the form in which the other patterns look for them. Exact, but for the rounding of a mean.

StableHLO broadcasts every operand to the full shape; ops of `top` broadcast by themselves. What only repeats numbers
goes, so that a scalar is seen as one and a bias as a vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from transload.ir import ElidedData, Op, TensorType, Type, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.affine import is_ranked_float, relu_of, used_once
from ..algebra.match import axes_of, count_of, is_near, is_static_float, linear, number

if TYPE_CHECKING:
    from ..ops.elementwise import Div, Max, Min, Mul, MulConst
    from ..ops.movement import Expand, Reshape, Unsqueeze
    from ..ops.reduce import Reduce

__all__ = ["TABLE"]

TABLE = RewriteTable()

_BROADCASTING = tuple(
    f"top.{name}" for name in (
        "Add", "Sub", "Mul", "Div", "Max", "Min", "FloorDiv", "FloorMod", "TruncMod", "SquaredDifference", "Atan2", "Pow",
        "Compare", "LogicalAnd", "LogicalOr", "LogicalXor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "ShiftLeft", "ShiftRight",
        "Where"))


def _static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static


def _is_alike_everywhere(value: Value) -> bool:
    """Whether one scale holds for all numbers of a value, where it is quantized: dimensions may then move."""
    return value.quant is None or value.quant.per_tensor


@TABLE(*_BROADCASTING)
def without_repeats(op: Op, rw: Rewriter) -> Any:
    """`f(x, expand(y))` is `f(x, y)`, and a constant that repeats itself along a dimension is one that has size 1 there.

    As long as the result keeps its shape.
    """
    if not _static(op.results[0]) or not all(_static(value) for value in op.operands):
        return None
    later = expand_later(op, rw)
    if later is not None:
        return later
    operands = [_without_repeats(value, rw) or value for value in op.operands]
    for place, value in enumerate(op.operands):  # the first ones keep the result's shape, where needed
        if np.broadcast_shapes(*(other.shape for other in operands)) == op.results[0].shape:  # type: ignore[arg-type]
            break
        operands[place] = value
    if all(new is old for new, old in zip(operands, op.operands, strict=True)):
        return None
    # A new op, not this one changed, so that the expansions without users go at once, and no longer count as such.
    return rw.emit(op.name, *operands, element=op.results[0].element, **op.attributes)


def _without_repeats(value: Value, rw: Rewriter) -> Value | None:
    """What a value repeats along some dimensions, or None."""
    maker: Any = value.op
    if maker is None:
        return None
    if maker.name == "top.Expand":
        return maker.input if _static(maker.input) and maker.input.element == value.element else None
    dense = constant_of(value)
    if dense is None or isinstance(dense.data, ElidedData) or dense.type.element != value.element or 0 in dense.shape:
        return None
    if dense.splat_value() is not None:
        return rw.constant(dense.numpy()[(slice(0, 1),) * len(dense.shape)].reshape(()), value.element) if dense.shape else None
    array = dense.numpy()
    for axis in range(array.ndim):
        first = array[(slice(None),) * axis + (slice(0, 1),)]
        if array.shape[axis] > 1 and _same_bits(array, first):
            array = first
    return rw.constant(np.ascontiguousarray(array), value.element) if array.shape != dense.shape else None


def _same_bits(array: np.ndarray, first: np.ndarray) -> bool:
    """Whether an array repeats `first`; a look at two far elements most often says that it does not."""
    last = (-1,) * array.ndim
    if array[last].tobytes() != np.broadcast_to(first, array.shape)[last].tobytes():
        return False
    same = array == first
    return bool(same.all()) and not bool((np.signbit(array) != np.signbit(first)).any() if array.dtype.kind == "f" else False)


@TABLE("top.*")
def expand_later(op: Op, rw: Rewriter) -> Value | None:
    """`f(expand(x), c)` is `expand(f(x, c))`: elementwise ops of what repeats itself compute each number once."""
    declaration = op.declaration
    if declaration is None or "elementwise" not in declaration.traits or len(op.results) != 1 or not op.operands:
        return None
    result = op.results[0]
    if not all(_static(value) and _is_alike_everywhere(value) for value in (result, *op.operands)):
        return None
    inner: list[Value] = []
    expanded = False
    for value in op.operands:
        maker: Any = value.op
        if maker is not None and maker.name == "top.Expand" and used_once(value) and maker.input.element == value.element:
            inner.append(maker.input)
            expanded = True
        elif constant_of(value) is not None and value.tensor_type.num_elements == 1:
            inner.append(value)
        else:
            return None
    shape = np.broadcast_shapes(*(value.shape for value in inner))  # type: ignore[arg-type]
    if not expanded or shape == result.shape or (op.name == "top.PRelu" and inner[0].shape != shape):
        return None
    small = rw.emit(op.name, *inner, element=result.element, **op.attributes)
    return rw.emit("top.Expand", small, shape=tuple(result.shape))


@TABLE("top.Expand")
def expand_of_expand(op: Expand, rw: Rewriter) -> Value | None:
    """Of two expansions the second is enough."""
    maker: Any = op.input.op
    if maker is None or maker.name != "top.Expand":
        return None
    shape = np.broadcast_shapes(tuple(maker.attribute("shape")), tuple(op.attribute("shape")))  # either has 1 for what it keeps
    return rw.emit("top.Expand", maker.input, shape=shape, element=op.output.element)


@TABLE("top.Reshape", "top.Unsqueeze")
def reduce_keeps_dimensions(op: Reshape | Unsqueeze, rw: Rewriter) -> Value | None:
    """Reduced dimensions that come back with size 1 were kept: JAX and PyTorch reduce first, and reshape then.

    Also where elementwise functions of the reduced numbers lie between. All that uses them must be reshaped so: each
    such reshape is rewritten by itself, and what they then have twice is joined.
    """
    source, shape = op.operands[0], op.results[0].shape
    if not _static(op.results[0]) or op.results[0].element != source.element or not _can_keep(source, shape, _FAR):
        return None
    return _kept(rw, source, shape)


_FAR = 6
"""How many ops there may be between a reduction and the reshape."""


def _can_keep(value: Value, shape: Any, depth: int) -> bool:
    """Whether a value is computed from reductions that with kept dimensions have that shape, and that are used so only."""
    op = value.op
    if op is None or depth == 0 or not _static(value) or not _is_alike_everywhere(value):
        return False
    if op.name == "top.Reduce":
        if op.keepdims or not _static(op.input) or not op.axes or not _all_reshaped(value, shape, _FAR):
            return False
        axes = axes_of(cast("Reduce", op))
        return tuple(1 if axis in axes else size for axis, size in enumerate(op.input.shape)) == tuple(shape)
    if op.declaration is None or "elementwise" not in op.declaration.traits or not op.operands or len(op.results) != 1:
        return False
    if op.name == "top.PRelu":
        return False
    others = [operand for operand in op.operands if not _is_single(operand)]
    return bool(others) and all(operand.shape == value.shape and _can_keep(operand, shape, depth - 1) for operand in others)


def _all_reshaped(value: Value, shape: Any, depth: int) -> bool:
    """Whether all that becomes of a value, by elementwise functions, is reshaped to that shape."""
    for user in value.uses:
        if user.name in ("top.Reshape", "top.Unsqueeze"):
            if tuple(user.results[0].shape) != tuple(shape):
                return False
            continue
        declaration = user.declaration
        if depth == 0 or declaration is None or "elementwise" not in declaration.traits or len(value.uses) > 4:
            return False
        if user.results[0].shape != value.shape or not _all_reshaped(user.results[0], shape, depth - 1):
            return False
    return True


def _is_single(value: Value) -> bool:
    return constant_of(value) is not None and _static(value) and value.tensor_type.num_elements == 1 and value.rank == 0


def _kept(rw: Rewriter, value: Value, shape: Any) -> Value:
    op = cast("Op", value.op)
    if op.name == "top.Reduce":
        return rw.emit("top.Reduce", op.input, element=value.element, **{**op.attributes, "keepdims": True})
    operands = [operand if _is_single(operand) else _kept(rw, operand, shape) for operand in op.operands]
    return rw.emit(op.name, *operands, element=value.element, **op.attributes)


@TABLE("top.Mul", "top.MulConst", "top.Div")
def mean_of_sum(op: Div | Mul | MulConst, rw: Rewriter) -> Value | None:
    """`sum(x) / n` over n elements is their mean."""
    made = linear(op.results[0])
    total: Any = made.source.op
    if total is None or total.name != "top.Reduce" or total.mode != "ReduceSum" or not is_static_float(total.input) or op.do_relu:
        return None
    count = count_of(total)
    if made.shift != 0 or count == 0 or not used_once(made.source) or not _is_one_of(made.scale, count, total.input.element):
        return None
    return rw.emit("top.Reduce", total.input, axes=total.axes, keepdims=total.keepdims, mode="ReduceMean",
                   element=op.results[0].element)


def _is_one_of(factor: float, count: int, element: Type) -> bool:
    """Whether a factor is `1/count`, and not one over another count: itself, or as the type holds it or the count.

    In float32's precision it may come from several constants, each of them rounded; narrower types have so few digits that
    half of the last one is all that it may be off.
    """
    if is_near(factor * count, 1) and abs(factor * count - 1) * count < 0.5:
        return True
    with np.errstate(over="ignore"):
        held, whole = (float(np.asarray(number, dtype_of(element))) for number in (1 / count, count))
    return factor > 0 and factor in (held, 1 / whole)


@TABLE("top.Add", "top.Sub", "top.Mul", "top.Div")
def does_nothing(op: Op, rw: Rewriter) -> Value | None:
    """`x + 0`, `x - 0`, `x * 1`, `x / 1`, of floats."""
    if len(op.operands) != 2 or op.attribute("coeff") is not None:
        return None
    neutral = 0.0 if op.name in ("top.Add", "top.Sub") else 1.0
    pairs = [op.operands] if op.name in ("top.Sub", "top.Div") else [op.operands, op.operands[::-1]]
    for x, other in pairs:
        if is_ranked_float(x) and x.type == op.results[0].type and number(other) == neutral:
            relu = relu_of(op)
            return rw.emit("top.Relu", x, relu_limit=relu.get("relu_limit")) if relu else x
    return None


@TABLE("top.Max", "top.Min")
def beyond_all(op: Max | Min, rw: Rewriter) -> Value | None:
    """`max(x, -inf)` and `min(x, inf)`: JAX starts reductions from there, and compares once more."""
    if len(op.operands) != 2:
        return None
    limit = -np.inf if op.name == "top.Max" else np.inf
    for x, other in (op.operands, op.operands[::-1]):
        if is_ranked_float(x) and x.type == op.results[0].type and number(other) == limit:
            return x
    return None

"""Reductions by recognised functions, the place of an extreme, and any other function by a tree of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as every
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, UI32, FloatType, Region, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from ..types import element_of, shape_of
from .bodies import apply_body, only_orders, outcome, single_op, yielded
from .table import (
    cast,
    counting,
    cut_axis,
    empty,
    expand,
    is_complex,
    lean,
    permute,
    product,
    refuse_complex,
    reshape,
    splat_of,
    static,
)

if TYPE_CHECKING:
    from ..dialect.reduction import Reduce

__all__ = ["COMBINE", "MODES", "TABLE", "counts", "identity_of", "is_identity"]

TABLE = RewriteTable()

MODES = {"add": "ReduceSum", "multiply": "ReduceProd", "maximum": "ReduceMax", "minimum": "ReduceMin"}
FLAGS = {
    "add": "ReduceAny", "or": "ReduceAny", "maximum": "ReduceAny", "multiply": "ReduceAll", "and": "ReduceAll",
    "minimum": "ReduceAll"}
COMBINE = {
    "add": "Add", "multiply": "Mul", "maximum": "Max", "minimum": "Min", "and": "BitwiseAnd", "or": "BitwiseOr",
    "xor": "BitwiseXor"}


def identity_of(name: str, element: Any) -> Any | None:
    """The number that changes nothing when it is combined by an op; None where there is none."""
    dtype = dtype_of(element)
    if name in ("add", "or", "xor"):
        return np.zeros((), dtype)[()]
    if name == "multiply":
        return np.ones((), dtype)[()]
    if name == "and":
        return np.invert(np.zeros((), dtype))[()]
    if name in ("maximum", "minimum"):
        least = name == "maximum"
        if isinstance(element, FloatType):
            infinite = np.array(-np.inf if least else np.inf).astype(dtype)
            return infinite[()] if np.isinf(infinite.astype(np.float64)) else None
        low, high = element.range
        return np.array(low if least else high).astype(dtype)[()]
    return None


def is_identity(rw: Rewriter, name: str, init: Value) -> bool:
    """Whether an initial value changes nothing."""
    number = splat_of(rw, init)
    if number is None or init.is_quantized:
        return False
    return bool(number == identity_of(name, init.element))


@TABLE("stablehlo.reduce")
def reduce(op: Reduce, rw: Rewriter) -> Value | list[Value]:
    """One function over dimensions; recognised ones as `top.Reduce` and `top.Arg`."""
    n = len(op.results)
    inputs, inits = op.operands[:n], op.operands[n:]
    refuse_complex(op)
    nothing = empty(rw, op)
    if nothing:
        return nothing
    if any(0 in static(value, "the operand") for value in inputs):
        return [expand(rw, lean(init), shape_of(result)) for init, result in zip(inits, op.results, strict=True)]
    if n == 2:
        found = _place_of_extreme(op, rw)
        if found is not None:
            return found
    names = [single_op(op.body, i) for i in range(n)]
    if all(name is not None and (name in MODES or name in FLAGS) for name in names):
        made = [value for i, name in enumerate(names) if (value := _known(op, rw, i, str(name))) is not None]
        if len(made) == n:
            return made
    if any(shape_of(init) for init in inits):
        raise Unsupported("combines tensors by another function than a sum or the like", "combine scalars")
    return _tree(op, rw, inputs, inits)


def _known(op: Reduce, rw: Rewriter, index: int, name: str) -> Value | None:
    """A reduction that `top` has, and then the initial value."""
    x, init, result = op.operands[index], op.operands[len(op.results) + index], op.results[index]
    if x.element == UI32 and name in ("maximum", "minimum"):
        return None  # by pairs, which are compared as targets can (see bits.py)
    if not op.dimensions:
        made = reshape(rw, x, shape_of(x))
        made = cast(rw, made, result.element) if not x.is_quantized else made
    elif x.is_bool:
        made = rw.emit("top.Reduce", x, axes=op.dimensions, keepdims=False, mode=FLAGS[name])
    elif name in MODES:
        if not x.is_quantized:
            x, init = cast(rw, x, result.element), cast(rw, init, result.element)
        made = rw.emit("top.Reduce", x, axes=op.dimensions, keepdims=False, mode=MODES[name], element=result.element)
    else:
        return None
    if x.is_bool:
        known = splat_of(rw, init)
        joins = "LogicalOr" if FLAGS[name] == "ReduceAny" else "LogicalAnd"
        neutral = known is not None and bool(known) == (joins == "LogicalAnd")
        return made if neutral else rw.emit(f"top.{joins}", made, lean(init))
    if x.is_quantized:
        zero = splat_of(rw, init)
        neutral = zero is not None and name == "add" and int(zero) == element_of(init).zero_point
        return made if neutral else rw.emit(f"top.{COMBINE[name]}", made, lean(init), element=result.element)
    return made if is_identity(rw, name, init) else rw.emit(f"top.{COMBINE[name]}", made, lean(init))


# --- the place of the greatest or least

def _place_of_extreme(op: Reduce, rw: Rewriter) -> list[Value] | None:
    """Argmax and argmin, as exporters write them: values and their numbers, of equal values the first or last."""
    if len(op.dimensions) != 1 or not only_orders(op.body) or [v.is_quantized or is_complex(v) for v in op.operands].count(True):
        return None
    axis = op.dimensions[0]
    (values, numbers), inits = op.operands[:2], op.operands[2:]
    swapped = not counts(rw, numbers, axis)
    if swapped:
        values, numbers, inits = numbers, values, inits[::-1]
        if not counts(rw, numbers, axis):
            return None
    how = _extreme(op.body, swapped)
    if how is None:
        return None
    mode, last = how
    name = "maximum" if mode == "ArgMax" else "minimum"
    if not is_identity(rw, name, inits[0]) or values.is_bool or values.element == UI32:
        return None
    kept: dict[str, Any] = {"axes": op.dimensions, "keepdims": False}
    best = rw.emit("top.Reduce", values, mode="ReduceMax" if mode == "ArgMax" else "ReduceMin", **kept)
    element = numbers.element
    wide = element if str(element) in ("i32", "i64") else I32
    place = rw.emit("top.Arg", values, axis=axis, keepdims=False, mode=mode, select_last_index=last or None, element=wide)
    place = cast(rw, place, element)
    found = [place, best] if swapped else [best, place]
    if _gives_way(rw, op, inits, static(values)[axis] - 1 if last else 0, swapped):
        return found
    return [expand(rw, value, shape_of(result)) for value, result in zip(
        apply_body(rw, op.body, [*map(lean, op.operands[2:]), *found]), op.results, strict=True)]


def _gives_way(rw: Rewriter, op: Reduce, inits: Sequence[Value], place: int, swapped: bool) -> bool:
    """Whether a search begins with a place instead of which this one is taken where all values are the initial one."""
    value, begin = (splat_of(rw, init) for init in inits)
    if value is None or begin is None:
        return False
    given = (begin, value, place, value) if swapped else (value, begin, value, place)
    return outcome(op.body, given)[0 if swapped else 1] == place


def counts(rw: Rewriter, numbers: Value, axis: int) -> bool:
    """Whether a tensor holds 0, 1, 2, ... along a dimension."""
    inner = lean(numbers)
    array = rw.constant_of(inner)
    if array is None or array.dtype.kind not in "iu":
        return False
    place = axis - (numbers.rank - inner.rank)
    if place < 0 or inner.shape[place] != numbers.shape[axis]:
        return False
    column = counting(shape_of(inner)[place]).reshape([-1 if d == place else 1 for d in range(inner.rank)])
    return bool((array == column).all())


def _extreme(body: Region, swapped: bool) -> tuple[str, bool] | None:
    """ArgMax or ArgMin, and whether the last of equal values is taken; None of any other function.

    The body only orders, so all that it can do is seen from each relation of two values and two numbers.
    """
    n = 2
    if len(body.block.arguments) != 2 * n or len(yielded(body)) != n:
        return None

    def asked(v1: float, i1: float, v2: float, i2: float) -> tuple[float, float]:
        given = (i1, v1, i2, v2) if swapped else (v1, i1, v2, i2)
        first, second = outcome(body, given)
        return (second, first) if swapped else (first, second)

    for mode, last in every(("ArgMax", "ArgMin"), (False, True)):
        def wanted(v1: float, i1: float, v2: float, i2: float, mode: str = mode, last: bool = last) -> tuple[float, float]:
            if v1 == v2:
                return v1, max(i1, i2) if last else min(i1, i2)
            first = v1 > v2 if mode == "ArgMax" else v1 < v2
            return (v1, i1) if first else (v2, i2)

        cases = [(v1, i1, v2, i2) for v1, v2 in every((1, 2), repeat=2) for i1, i2 in ((0, 1), (1, 0))]
        if not all(asked(*case) == wanted(*case) for case in cases):
            # a loop from the front may keep the first of equal ones without asking for their numbers
            forward = [case for case in cases if case[1] < case[3]]
            if not all(asked(*case) == wanted(*case) for case in forward):
                continue
        return mode, last  # what it does with NaN, of which exporters' functions differ, is not asked
    return None


# --- any function

def _tree(op: Reduce, rw: Rewriter, inputs: Sequence[Value], inits: Sequence[Value]) -> list[Value]:
    """Neighbours are combined in pairs, the results again in pairs, and so on: the order of elements is kept."""
    if any(value.is_quantized for value in op.operands):
        raise Unsupported("a function of quantized numbers other than a sum, maximum or minimum", "dequantize first")
    gone = sorted(op.dimensions)
    shape = static(inputs[0])
    kept = [axis for axis in range(len(shape)) if axis not in gone]
    rest = [shape[axis] for axis in kept]
    count = product([shape[axis] for axis in gone])
    current = [
        reshape(rw, permute(rw, cast(rw, x, a.element), (*gone, *kept)), (count, *rest))
        for x, a in zip(inputs, op.body.block.arguments[: len(inputs)], strict=True)]
    while count > 1:
        half = count // 2
        pairs = [
            reshape(rw, cut_axis(rw, x, 0, 0, 2 * half), (half, 2, *rest)) for x in current]
        sides = [[reshape(rw, cut_axis(rw, x, 1, side, side + 1), (half, *rest)) for x in pairs] for side in (0, 1)]
        joined = apply_body(rw, op.body, (*sides[0], *sides[1]), (half, *rest))
        if count % 2:
            last = [cut_axis(rw, x, 0, count - 1, count) for x in current]
            joined = [rw.emit("top.Concat", a, b, axis=0) for a, b in zip(joined, last, strict=True)]
        current = joined
        count = half + count % 2
    results = apply_body(rw, op.body, [*(lean(init) for init in inits), *(reshape(rw, x, rest) for x in current)])
    return [expand(rw, value, rest) for value in results]

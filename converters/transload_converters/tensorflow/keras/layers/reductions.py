"""Operations of `keras.ops` that take the numbers along dimensions together: sums, norms, orders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    I8,
    I16,
    I32,
    UI8,
    UI16,
    UI32,
    FloatType,
    IntegerType,
    TensorType,
    Type,
    Value,
    dtype_of,
)

from ..graph import Graph, shape_of
from ..layer import Call
from .normalization import unit
from .operations import axis_of, element_of, operation, option

__all__ = ["WIDE", "arg", "matrix_norm", "ordered", "variance_of", "vector_norm"]

_REDUCTIONS = {"Sum": "Sum", "Max": "Max", "Min": "Min", "Amax": "Max", "Amin": "Min", "Prod": "Prod", "All": "All", "Any": "Any",
               "Mean": "Mean"}
WIDE: dict[Type, Type] = {BOOL: I32, I8: I32, I16: I32, UI8: UI32, UI16: UI32}
"""What sums and products of narrow integers are computed in, and given."""


@operation(*_REDUCTIONS)
def reduction(call: Call, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    g, name = call.g, _REDUCTIONS[call.layer.class_name.removeprefix("operation_")]
    axis, keep = option(call, "axis", axis), bool(option(call, "keepdims", keepdims))
    if name in ("All", "Any"):
        x = g.cast(x, BOOL)
    elif name == "Mean":
        half = x.element if x.element in (F16, BF16) else None  # Keras adds them in 32 bits
        y = g.reduce(name, g.cast(x, F32) if half else g.to_float(x), axis, keep)
        return g.cast(y, half) if half else y
    elif name in ("Sum", "Prod"):
        dtype, wide = option(call, "dtype") if name == "Prod" else None, WIDE.get(x.element, x.element)
        if dtype is not None and not element_of(dtype) == x.element == wide:
            raise Unsupported(f"its product is to be of type {str(dtype)[:40]}, which Keras takes otherwise with each backend",
                              "cast what it is given, and leave dtype out")
        x = g.cast(x, wide)
    elif x.element == BOOL:
        name = {"Max": "Any", "Min": "All"}[name]
    y = g.reduce(name, x, axis, keep)
    initial = option(call, "initial") if name in ("Max", "Min") else None
    return y if initial is None else g.binary(f"{name}imum", y, g.constant(initial, y.element))


def variance_of(g: Graph, x: Value, axes: Any, keep: bool) -> Value:
    return g.reduce("Mean", g.SquaredDifference(x, g.reduce("Mean", x, axes, True)), axes, keep)


@operation("Var", "Std")
def variance(call: Call, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    g = call.g
    y = variance_of(g, g.to_float(x), option(call, "axis", axis), bool(option(call, "keepdims", keepdims)))
    return g.Sqrt(y) if call.layer.class_name.endswith("Std") else y


@operation("Logsumexp")
def logsumexp(call: Call, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    return log_sum(call.g, call.g.to_float(x), option(call, "axis", axis), bool(option(call, "keepdims", keepdims)))


def log_sum(g: Graph, x: Value, axes: Any, keep: bool) -> Value:
    most = g.reduce("Max", x, axes, True)
    most = g.select(g.IsFinite(most), most, 0.0)  # an infinity less itself is no number
    total = g.AddV2(g.Log(g.reduce("Sum", g.Exp(g.Sub(x, most)), axes, True)), most)
    return total if keep else g.reduce("Max", total, axes)


# --- norms


@operation("Norm")
def norm(call: Call, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Of a vector along one dimension, of a matrix along two."""
    g, keep = call.g, bool(option(call, "keepdims", keepdims))
    axis, order, x = option(call, "axis", axis), option(call, "ord"), call.g.to_float(x)
    places = list(range(x.rank)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if len(places) == 1:
        return vector_norm(g, x, places, order, keep)
    if len(places) == 2:
        return matrix_norm(g, x, places, order, keep)
    if order is None or (order == "fro" and g.keras < 3):
        return g.Sqrt(g.reduce("Sum", g.Square(x), places, keep))
    raise Unsupported(f"a norm of order {order!r} is one of one dimension or two, and not of {len(places)}")


def _order(order: Any) -> Any:
    """An order as a number: files say infinity as text, or as what JSON makes of it."""
    if isinstance(order, str) and order.lower().lstrip("-") in ("inf", "infinity"):
        return -math.inf if order.startswith("-") else math.inf
    return order


def vector_norm(g: Graph, x: Value, axes: Any, order: Any, keep: bool) -> Value:
    order = _order(order)
    if order in (None, 2, "euclidean"):
        return g.Sqrt(g.reduce("Sum", g.Square(x), axes, keep))
    if isinstance(order, str | bool) or not isinstance(order, int | float):
        raise Unsupported(f"a norm of order {order!r} is none of a vector")
    size = g.Abs(x)
    if math.isinf(order):
        return g.reduce("Max" if order > 0 else "Min", size, axes, keep)
    if order == 0:
        return g.reduce("Sum", g.cast(g.NotEqual(x, g.like(0, x)), x.element), axes, keep)
    if order == 1:
        return g.reduce("Sum", size, axes, keep)
    return g.Pow(g.reduce("Sum", g.Pow(size, float(order)), axes, keep), 1 / float(order))


def matrix_norm(g: Graph, x: Value, axes: Any, order: Any, keep: bool) -> Value:
    """`axes`: those of rows and columns, in this order."""
    row, column = (g.axis(axis, x.rank) for axis in axes)
    order = _order(order)
    if order in (None, "fro", "euclidean"):
        return g.Sqrt(g.reduce("Sum", g.Square(x), [row, column], keep))
    if order in (2, -2, "nuc"):
        raise Unsupported(f"the norm {order!r} of a matrix is one of its singular values, which are not known here",
                          "'fro' is that of all its numbers; a vector's has one dimension as its axis")
    if order not in (1, -1, math.inf, -math.inf):
        raise Unsupported(f"a norm of order {order!r} is none of a matrix")
    first, second = (row, column) if abs(order) == 1 else (column, row)
    y = g.reduce("Max" if order > 0 else "Min", g.reduce("Sum", g.Abs(x), first, True), second, True)
    return y if keep else g.reduce("Max", y, [row, column])


@operation("Normalize")
def normalize(call: Call, x: Value) -> Value:
    """By the norm, which is taken for no less than `epsilon`."""
    g = call.g
    order, axis, epsilon = int(option(call, "order", 2)), axis_of(call, -1), float(option(call, "epsilon", 1e-7))
    if order == 2:
        return unit(g, x, axis, epsilon)
    places = list(range(x.rank)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    size = vector_norm(g, x, places, order, True) if len(places) == 1 else matrix_norm(g, x, places, order, True)
    return g.RealDiv(x, g.Maximum(size, epsilon))


# --- places, orders


def arg(g: Graph, name: str, x: Value, axis: int | None, keep: bool, element: Type = I32) -> Value:
    """Where the greatest or the least stands (`ArgMax`, `ArgMin`), of all numbers where there is no dimension."""
    flat = g.reshape(x, [-1]) if axis is None else x
    flat = g.cast(flat, I32) if flat.element == BOOL else flat
    y = g.arg(name, flat, 0 if axis is None else axis, element)
    if not keep:
        return y
    return g.reshape(y, [1] * x.rank) if axis is None else g.expand(y, g.axis(axis, x.rank))


def _zeros_apart(g: Graph, x: Value) -> Value:
    """Floats with the greatest normal number below 0 for -0, and for what lies between, which TensorFlow takes for -0.

    Those are the numbers whose reciprocal is beyond that of this number.
    """
    if not isinstance(x.element, FloatType) or x.rank == 0:
        return x
    x = g.cast(x, F32) if x.element in (F16, BF16) else x
    least = -float(np.finfo(dtype_of(x.element)).tiny)
    return g.select(g.Less(g.Reciprocal(x), g.like(1 / least, x)), least, x)


@operation("Argmax", "Argmin")
def argmax(call: Call, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """As Keras has it, whose -0 is less than 0."""
    name = "ArgMax" if call.layer.class_name.endswith("max") else "ArgMin"
    return arg(call.g, name, _zeros_apart(call.g, x), option(call, "axis", axis), bool(option(call, "keepdims", keepdims)))


@operation("Cumsum", "Cumprod")
def cumulative(call: Call, x: Value, axis: Any = None) -> Value:
    g, axis, dtype = call.g, option(call, "axis", axis), option(call, "dtype")
    x = g.cast(x, element_of(dtype)) if dtype is not None else x
    x = g.cast(x, I32) if x.element == BOOL else x
    if axis is None:
        x, axis = g.reshape(x, [-1]), 0
    return g.emit(call.layer.class_name.removeprefix("operation_"), (x, g.constant(g.axis(axis, x.rank))), shape_of(x))


@operation("TopK")
def top_k(call: Call, x: Value, k: Any = None) -> Any:
    return list(greatest(call.g, x, int(option(call, "k", k)), bool(option(call, "sorted", True))))


def greatest(g: Graph, x: Value, k: int, in_order: bool = True, element: Type = I32) -> tuple[Value, ...]:
    """The `k` greatest numbers of the last dimension, and their places."""
    shape = shape_of(x)
    if not shape or not 0 <= k <= shape[-1]:
        raise Unsupported(f"there are not {k} numbers in the last dimension of {list(shape)}")
    types = (TensorType((*shape[:-1], k), x.element), TensorType((*shape[:-1], k), element))
    return g.emit_many("TopKV2", (x, g.constant(k)), types, sorted=in_order)


def ordered(g: Graph, x: Value, axis: int | None, falling: bool = False) -> tuple[Value, Value]:
    """Numbers in order, rising or falling, and the places that they had, equal ones in their own order."""
    if axis is None:
        x, axis = g.reshape(x, [-1]), 0
    place, element = g.axis(axis, x.rank), x.element
    order = [*(each for each in range(x.rank) if each != place), place]
    back = [order.index(each) for each in range(x.rank)]
    y = g.transpose(g.cast(x, I32) if (isinstance(element, IntegerType) and element.width < 32) or element == BOOL else x, order)
    size = shape_of(y)[-1]
    if not falling:  # the greatest of what is turned about: of equal ones the first comes first
        y = g.Invert(y) if isinstance(y.element, IntegerType) else g.Neg(y)
    values, places = greatest(g, y, size)
    if not falling:
        values = g.Invert(values) if isinstance(y.element, IntegerType) else g.Neg(values)
    return g.transpose(g.cast(values, element), back), g.transpose(places, back)

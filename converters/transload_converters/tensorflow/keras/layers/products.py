"""Operations of `keras.ops` that are products of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I8, I32, FloatType, Type, Value

from ..graph import Graph
from ..layer import Call
from .operations import operation, option

__all__ = ["operands", "tensordot_of"]


def operands(g: Graph, *given: Any, narrow: bool = True) -> tuple[list[Value], Type]:
    """Tensors of one type in floats, as Keras multiplies them, and the type that it gives: of 8-bit integers i32 (`narrow`)."""
    values = g.promoted(*given)
    element = values[0].element
    made = I32 if narrow and {each.element for each in given if isinstance(each, Value)} == {I8} else element
    return [g.to_float(value) for value in values], made


def _given(g: Graph, y: Value, element: Type) -> Value:
    return y if isinstance(element, FloatType) else g.cast(y, element)


@operation("Matmul", "Dot")
def matmul(call: Call, x: Any, y: Any) -> Value:
    """`ops.dot` has a number taken from each dimension but the last and the last but one."""
    g, dots = call.g, call.layer.class_name.endswith("Dot")
    x, y = (each if isinstance(each, Value) else np.asarray(each, None if np.asarray(each).dtype.kind != "f" else np.float32)
            for each in (x, y))
    ranks = [each.rank if isinstance(each, Value) else each.ndim for each in (x, y)]
    (x, y), element = operands(g, x, y, narrow=not dots and 1 not in ranks)
    if dots and 0 in ranks:
        return _given(g, g.Mul(x, y), element)
    if y.rank == 1:
        return _given(g, tensordot_of(g, x, y, 1), element)
    if x.rank == 1 or dots:
        return _given(g, tensordot_of(g, x, y, [[x.rank - 1], [y.rank - 2]]), element)
    return _given(g, g.matmul(x, y), element)


@operation("Einsum")
def einsum(call: Call, *values: Any) -> Value:
    equation, tensors = (values[0], values[1:]) if values and isinstance(values[0], str) else (option(call, "subscripts"), values)
    option(call, "optimize")
    if not tensors:
        raise Unsupported("the file does not say of which tensors: Keras 2 does not write them")
    made, element = operands(call.g, *tensors)
    return _given(call.g, call.g.einsum(str(equation), *made), element)


@operation("Tensordot")
def tensordot(call: Call, x: Any, y: Any, axes: Any = None) -> Value:
    axes = option(call, "axes", axes if axes is not None else 2)
    (x, y), element = operands(call.g, x, y, narrow=False)
    return _given(call.g, tensordot_of(call.g, x, y, axes), element)


def tensordot_of(g: Graph, x: Value, y: Value, axes: Any) -> Value:
    """A sum of products along dimensions: so many of the last and the first, or those of each."""
    first, second = (list(range(x.rank - axes, x.rank)), list(range(axes))) if isinstance(axes, int) else (
        [each] if isinstance(each, int) else list(each) for each in axes)
    first, second = ([g.axis(axis, value.rank) for axis in places] for places, value in ((first, x), (second, y)))
    letters = "abcdefghijklmnopqrstuvwxyz"
    left, right = list(letters[: x.rank]), list(letters[x.rank : x.rank + y.rank])
    for a, b in zip(first, second, strict=True):
        right[b] = left[a]
    made = [letter for place, letter in enumerate(left) if place not in first]
    made += [letter for place, letter in enumerate(right) if place not in second]
    return g.einsum(f"{''.join(left)},{''.join(right)}->{''.join(made)}", x, y)

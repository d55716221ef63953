"""Layers of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

from transload.errors import Unsupported
from transload.ir import BOOL, Value

from ..graph import Graph, shape_of
from ..layer import LAYERS, Call
from .normalization import unit


def _ranked(call: Call, given: Any) -> list[Value]:
    """The tensors, of one rank: those of fewer dimensions are given some of size 1 behind the batch."""
    values = list(given) if isinstance(given, list | tuple) else [given]
    rank = max(value.rank for value in values)
    return [value if value.rank == rank else call.g.reshape(
        value, [shape_of(value)[0], *[1] * (rank - value.rank), *shape_of(value)[1:]]) for value in values]


def _joint_mask(call: Call, given: Any, value: Value) -> None:
    """What any mask leaves, where all have one; before Keras 3 what all masks leave that there are."""
    masks = [call.mask(each) for each in (given if isinstance(given, list | tuple) else [given])]
    there = [mask for mask in masks if mask is not None]
    older = call.g.keras < 3
    if there and (older or len(there) == len(masks)):
        call.set_mask(value, reduce(call.g.LogicalAnd if older else call.g.LogicalOr, there))


def _folded(call: Call, name: str, given: Any) -> Value:
    """One after the other by an op; from Keras 3 on, masked elements of products, maxima and minima are left out."""
    g, values = call.g, _ranked(call, given)
    apart = g.keras >= 3 and name in _MASKED
    masks = [_widened(call, value) for value in values] if apart else [None] * len(values)
    if all(mask is None for mask in masks):
        made = reduce(partial(g.binary, name), values)
    elif name == "Mul":
        made = _product(g, values, masks)
    else:
        made = _extreme(g, name, values, masks)
    _joint_mask(call, given, made)
    return made


_MASKED = ("Mul", "Maximum", "Minimum")


def _widened(call: Call, value: Value) -> Value | None:
    """A value's mask in the value's shape."""
    mask = call.mask(value)
    return None if mask is None else call.g.broadcast_to(call.g.expand(mask, -1), shape_of(value))


def _product(g: Graph, values: Sequence[Value], masks: Sequence[Value | None]) -> Value:
    """Masked elements are 1; what is masked in all is 0."""
    shown = [value if mask is None else g.select(mask, value, 1) for value, mask in zip(values, masks, strict=True)]
    made, held = reduce(g.Mul, shown), [mask for mask in masks if mask is not None]
    return g.select(reduce(g.LogicalOr, held), made, 0) if len(held) == len(masks) else made


def _extreme(g: Graph, name: str, values: Sequence[Value], masks: Sequence[Value | None]) -> Value:
    """In the place of a masked element there is that of the other tensor."""
    made, held = values[0], masks[0]
    for value, mask in zip(values[1:], masks[1:], strict=True):
        other = value if mask is None else g.select(mask, value, made)
        made = g.binary(name, made if held is None else g.select(held, made, other), other)
        held = None if held is None or mask is None else g.LogicalOr(held, mask)
    return made


_OPS = {"Add": "AddV2", "Multiply": "Mul", "Maximum": "Maximum", "Minimum": "Minimum", "Subtract": "Sub"}


@LAYERS.layer(*_OPS)
def merge(call: Call, given: Any, *more: Any) -> Value:
    """All of them, one after the other."""
    return _folded(call, _OPS[call.layer.class_name], [given, *more] if more else given)


@LAYERS.layer("Average")
def average(call: Call, given: Any) -> Value:
    y = call.g.Mul(_folded(call, "AddV2", given), 1 / len(given))
    _joint_mask(call, given, y)
    return y


@LAYERS.layer("CustomScaleLayer")
def scaled_sum(call: Call, given: Sequence[Value]) -> Value:
    """The first and a part of the second: a layer that `keras.applications` has for InceptionResNetV2."""
    first, second = given
    return call.g.AddV2(first, call.g.Mul(second, float(call.config["scale"])))


@LAYERS.layer("Concatenate")
def concatenate(call: Call, given: Sequence[Value]) -> Value:
    """One behind the other; those without a mask count as a whole, where others have one."""
    g, values = call.g, list(given)
    axis = int(call.option("axis", -1))
    y = g.concat(values, axis)
    masks = [call.mask(value) for value in values]
    if any(mask is not None for mask in masks):
        parts = []
        for value, mask in zip(values, masks, strict=True):
            if mask is None:
                parts.append(g.broadcast_to(g.constant(True, BOOL), shape_of(value)))
                continue
            while mask.rank < value.rank:
                mask = g.expand(mask, -1)
            parts.append(g.broadcast_to(mask, shape_of(value)))
        call.set_mask(y, g.reduce("Any" if g.keras >= 3 else "All", g.concat(parts, axis), -1))
    return y


@LAYERS.layer("Dot")
def dot(call: Call, given: Sequence[Value]) -> Value:
    """Products along a dimension of each of two tensors, batch by batch."""
    g = call.g
    x, y = given
    axes = call.config["axes"]
    first, second = (axes, axes) if isinstance(axes, int) else axes
    first, second = g.axis(first, x.rank), g.axis(second, y.rank)
    if not first or not second:
        raise Unsupported("it multiplies along the batch")
    if call.option("normalize", False):
        x, y = (unit(g, v, axis, 1e-7 if g.keras >= 3 else 1e-12) for v, axis in ((x, first), (y, second)))
    if x.rank == y.rank == 2:
        return g.reduce("Sum", g.Mul(x, y), 1, keep=True)
    letters = "bcdefghijklmnop"
    left = ["a", *letters[: x.rank - 1]]
    right = ["a", *letters[x.rank - 1 : x.rank + y.rank - 2]]
    right[second] = left[first]
    made = [letter for place, letter in enumerate(left) if place != first] + [
        letter for place, letter in enumerate(right) if place not in (0, second)]
    return g.einsum(f"{''.join(left)},{''.join(right)}->{''.join(made)}", x, y)

"""Layers of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload.errors import Unsupported
from transload.ir import BOOL, Value

from ..graph import shape_of
from ..layer import LAYERS, Call


def _ranked(call: Call, given: Any) -> list[Value]:
    """The tensors, of one rank: those of fewer dimensions are given some of size 1 behind the batch."""
    values = list(given) if isinstance(given, list | tuple) else [given]
    rank = max(value.rank for value in values)
    return [value if value.rank == rank else call.g.reshape(
        value, [shape_of(value)[0], *[1] * (rank - value.rank), *shape_of(value)[1:]]) for value in values]


def _joint_mask(call: Call, given: Any, value: Value) -> None:
    """What all masks leave."""
    masks = [mask for mask in map(call.mask, given if isinstance(given, list | tuple) else [given]) if mask is not None]
    joint = None
    for mask in masks:
        joint = mask if joint is None else call.g.LogicalAnd(joint, mask)
    if len(masks) == (len(given) if isinstance(given, list | tuple) else 1):
        call.set_mask(value, joint)


def _folded(call: Call, name: str, given: Any) -> Value:
    values = _ranked(call, given)
    made = values[0]
    for value in values[1:]:
        made = call.g.binary(name, made, value)
    if call.layer.class_name != "Subtract":
        _joint_mask(call, given, made)
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
        call.set_mask(y, g.reduce("All", g.concat(parts, axis), -1))
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
        x, y = (g.Mul(v, g.Rsqrt(g.Maximum(g.reduce("Sum", g.Square(v), axis, keep=True), 1e-12)))
                for v, axis in ((x, first), (y, second)))
    if x.rank == y.rank == 2:
        return g.reduce("Sum", g.Mul(x, y), 1, keep=True)
    letters = "bcdefghijklmnop"
    left = ["a", *letters[: x.rank - 1]]
    right = ["a", *letters[x.rank - 1 : x.rank + y.rank - 2]]
    right[second] = left[first]
    made = [letter for place, letter in enumerate(left) if place != first] + [
        letter for place, letter in enumerate(right) if place not in (0, second)]
    return g.einsum(f"{''.join(left)},{''.join(right)}->{''.join(made)}", x, y)

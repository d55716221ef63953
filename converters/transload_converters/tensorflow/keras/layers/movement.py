"""Operations between layers that move numbers: shapes, orders, parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I32, FloatType, Value

from ..graph import Graph, shape_of
from ..layer import Call
from .operations import element_of, operation, option, to_value


def sizes_of(given: Any) -> list[int]:
    found = [given] if isinstance(given, int) else list(given)
    return [-1 if size is None else int(size) for size in found]


@operation("Reshape")
def reshape(call: Call, x: Value, shape: Any = None) -> Value:
    given = option(call, "newshape", option(call, "shape", shape))
    return call.g.reshape(x, sizes_of(given))


@operation("Transpose")
def transpose(call: Call, x: Value, axes: Any = None) -> Value:
    given = option(call, "axes", axes)
    return call.g.transpose(x, [g % x.rank for g in given] if given is not None else list(reversed(range(x.rank))))


@operation("Swapaxes")
def swapaxes(call: Call, x: Value) -> Value:
    order = list(range(x.rank))
    a, b = (call.g.axis(option(call, name), x.rank) for name in ("axis1", "axis2"))
    order[a], order[b] = order[b], order[a]
    return call.g.transpose(x, order)


@operation("Moveaxis")
def moveaxis(call: Call, x: Value) -> Value:
    source, target = ([call.g.axis(axis, x.rank) for axis in ([given] if isinstance(given, int) else given)]
                      for given in (option(call, "source"), option(call, "destination")))
    order = [axis for axis in range(x.rank) if axis not in source]
    for place, axis in sorted(zip(target, source, strict=True)):
        order.insert(place, axis)
    return call.g.transpose(x, order)


@operation("ExpandDims")
def expand_dims(call: Call, x: Value, axis: Any = None) -> Value:
    given = option(call, "axis", axis)
    for place in [given] if isinstance(given, int) else given:
        x = call.g.expand(x, place)
    return x


@operation("Squeeze")
def squeeze(call: Call, x: Value, axis: Any = None) -> Value:
    given = option(call, "axis", axis)
    ones = [place for place, size in enumerate(shape_of(x)) if size == 1]
    places = call.g.axes(given, x.rank) if given not in (None, []) else ones
    for place in reversed(places):
        x = call.g.squeeze(x, place)
    return x


@operation("Ravel")
def ravel(call: Call, x: Value) -> Value:
    return call.g.reshape(x, [-1])


@operation("Concatenate")
def concatenate(call: Call, values: Sequence[Any], axis: Any = None) -> Value:
    return call.g.concat(call.g.promoted(*values), int(option(call, "axis", axis or 0)))


@operation("Stack")
def stack(call: Call, values: Sequence[Any], axis: Any = None) -> Value:
    return call.g.stack(call.g.promoted(*values), int(option(call, "axis", axis or 0)))


@operation("Unstack")
def unstack(call: Call, x: Value) -> Any:
    option(call, "num")  # how many there are
    return list(call.g.unstack(x, int(option(call, "axis", 0))))


@operation("Split", "ArraySplit")
def split(call: Call, x: Value, parts: Any = None, axis: Any = None) -> Any:
    g = call.g
    given = option(call, "indices_or_sections", parts)
    axis = g.axis(option(call, "axis", axis or 0), x.rank)
    if isinstance(given, int) and call.layer.class_name.endswith("ArraySplit"):  # the first parts are greater by one
        least, more = divmod(shape_of(x)[axis], max(given, 1))
        given = [place * least + min(place, more) for place in range(1, given)]
    if isinstance(given, int):
        return list(g.split(x, given, axis))
    bounds = [0, *(int(place) for place in given), shape_of(x)[axis]]
    return [g.narrow(x, axis, first, last) for first, last in pairwise(bounds)]


@operation("Flip")
def flip(call: Call, x: Value, axis: Any = None) -> Value:
    for place in call.g.axes(option(call, "axis", axis), x.rank):
        x = call.g.reverse(x, place)
    return x


@operation("Roll")
def roll(call: Call, x: Value) -> Value:
    g, shift, axis = call.g, option(call, "shift"), option(call, "axis")
    if axis is None:
        raise Unsupported("it rolls all dimensions as one")
    for count, place in zip([shift] if isinstance(shift, int) else shift, [axis] if isinstance(axis, int) else axis, strict=True):
        size = shape_of(x)[g.axis(place, x.rank)]
        at = -int(count) % size if size else 0
        x = g.concat([g.narrow(x, place, at, size), g.narrow(x, place, 0, at)], place) if at else x
    return x


@operation("Tile")
def tile(call: Call, x: Value, repeats: Any = None) -> Value:
    return tiled(call.g, x, sizes_of(option(call, "repeats", repeats)))


def tiled(g: Graph, x: Value, counts: Sequence[int]) -> Value:
    while x.rank < len(counts):
        x = g.expand(x, 0)
    return g.tile(x, [*[1] * (x.rank - len(counts)), *counts])


@operation("Repeat")
def repeat(call: Call, x: Value, repeats: Any = None, axis: Any = None) -> Value:
    count, axis = option(call, "repeats", repeats), option(call, "axis", axis)
    if isinstance(count, list | tuple) and len(count) == 1:
        count = count[0]
    if not isinstance(count, int):
        raise Unsupported("it repeats each place another number of times")
    return call.g.repeat(x if axis is not None else call.g.reshape(x, [-1]), count, 0 if axis is None else axis)


@operation("BroadcastTo")
def broadcast_to(call: Call, x: Value, shape: Any = None) -> Value:
    return call.g.broadcast_to(x, sizes_of(option(call, "shape", shape)))


@operation("Pad")
def pad(call: Call, x: Value, paddings: Any = None, mode: Any = None, constant_values: Any = None) -> Value:
    g = call.g
    given = option(call, "pad_width", paddings)
    if isinstance(given, int):
        given = [[given, given]] * x.rank
    elif given and isinstance(given[0], int):
        given = [list(given)] * x.rank
    elif len(given) == 1:
        given = list(given) * x.rank
    pairs = [(int(before), int(after)) for before, after in given]
    how = str(option(call, "mode", mode or "constant")).lower()
    return padded(g, x, pairs, how, option(call, "constant_values", constant_values))


def padded(g: Graph, x: Value, pairs: Sequence[Sequence[int]], how: str, value: Any = None) -> Value:
    """Borders of a number, or of what lies inside (`reflect`, `symmetric`)."""
    if how == "constant":
        return g.pad(x, pairs, value)
    if how not in ("reflect", "symmetric"):
        raise Unsupported(f"its mode {how!r} is not known here")
    made = [size + before + after for size, (before, after) in zip(shape_of(x), pairs, strict=True)]
    return g.emit("MirrorPad", (x, g.constant(np.array(pairs, np.int32))), made, mode=how.upper())


@operation("Take")
def take(call: Call, x: Any, indices: Any, axis: Any = None) -> Value:
    g, axis = call.g, option(call, "axis", axis)
    x = to_value(g, x)
    if axis is None:
        x, axis = g.reshape(x, [-1]), 0
    return g.gather(x, _places(g, indices, shape_of(x)[g.axis(axis, x.rank)]), axis)


@operation("OneHot")
def one_hot(call: Call, x: Value, depth: Any = None) -> Value:
    element = element_of(option(call, "dtype", "float32"))
    depth = option(call, "num_classes", depth)
    return call.g.one_hot(x, int(depth), element, int(option(call, "axis", -1)))


@operation("ZerosLike", "OnesLike", "FullLike")
def filled_like(call: Call, x: Value, value: Any = None) -> Value:
    g, name = call.g, call.layer.class_name.removeprefix("operation_")
    dtype = option(call, "dtype")
    number = {"ZerosLike": 0, "OnesLike": 1}.get(name, option(call, "fill_value", value))
    return g.broadcast_to(g.constant(number, x.element if dtype is None else element_of(dtype)), shape_of(x))


@operation("Arange")
def arange(call: Call, start: Any, stop: Any = None, step: Any = None) -> Value:
    stop, step = option(call, "stop", stop), option(call, "step", step) or 1
    numbers = range(int(start)) if stop is None else range(int(start), int(stop), int(step))
    if len(numbers) > 1 << 24:
        raise Unsupported("it counts too far")
    return call.g.constant(np.array(numbers), element_of(option(call, "dtype", "int32")))


@operation("GetItem")
def get_item(call: Call, x: Value, key: Any = None) -> Value:
    return item_of(call.g, x, option(call, "key", key))


def item_of(g: Graph, x: Value, key: Any) -> Value:
    """`x[key]` of slices, numbers, `...`, None, and one list or tensor of places."""
    keys = list(key) if isinstance(key, list | tuple) else [key]
    dots = [place for place, each in enumerate(keys) if each is Ellipsis]
    named = sum(each is not None and each is not Ellipsis for each in keys)
    if len(dots) > 1 or named > x.rank:
        raise Unsupported(f"{str(key)[:80]} is no place in a tensor of shape {list(shape_of(x))}")
    rest: list[Any] = [slice(None)] * (x.rank - named)
    keys = [*keys[: dots[0]], *rest, *keys[dots[0] + 1 :]] if dots else [*keys, *rest]
    begin, end, step, shape = list[int](), list[int](), list[int](), list[int]()
    sizes = iter(shape_of(x))
    gathers: list[tuple[int, Any]] = []
    turned: list[int] = []
    for each in keys:
        if each is None:
            shape.append(1)
            continue
        size = next(sizes)
        if isinstance(each, slice):
            places = range(*each.indices(size))
            if places.step < 0:  # the same places forward, and turned about afterward
                turned.append(len(begin))
                places = places[::-1]
            begin, end, step = [*begin, places.start], [*end, max(places.start, places.stop)], [*step, places.step]
            shape.append(len(places))
        elif isinstance(each, int) and not isinstance(each, bool) and -size <= each < size:
            begin, end, step = [*begin, each % size], [*end, each % size + 1], [*step, 1]
        elif isinstance(each, list | tuple | np.ndarray | Value) and not gathers:
            gathers.append((len(shape), each))
            begin, end, step = [*begin, 0], [*end, size], [*step, 1]
            shape.append(size)
        else:
            raise Unsupported(f"{str(each)[:80]} is no place in a dimension of size {size}")
    y = g.slice(x, begin, end, step)
    for axis in turned:
        y = g.reverse(y, axis)
    y = g.reshape(y, shape)
    for axis, indices in gathers:
        y = g.gather(y, _places(g, indices, shape_of(y)[axis]), axis)
    return y


def _places(g: Graph, indices: Any, size: int) -> Value:
    """Places in a dimension; those below 0 are counted from its end."""
    if not isinstance(indices, Value):
        return g.constant(np.asarray(indices, np.int32) % max(size, 1))
    indices = g.cast(indices, I32) if isinstance(indices.element, FloatType) or indices.element == BOOL else indices
    return g.select(g.Less(indices, g.like(0, indices)), g.AddV2(indices, g.like(size, indices)), indices)

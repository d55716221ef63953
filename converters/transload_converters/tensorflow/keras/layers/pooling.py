"""Pooling: windows, whole images, and windows that are chosen so that there is a given number of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from transload.errors import Unsupported
from transload.ir import BOOL, Value

from ..graph import Graph, shape_of
from ..layer import LAYERS, Call
from .reductions import WIDE


def _rank(call: Call, x: Value) -> int:
    rank = int(re.search(r"([123])D", call.layer.class_name)[1])  # type: ignore[index]
    if x.rank != rank + 2:
        raise Unsupported(f"it is called with a tensor of shape {list(shape_of(x))}, where {rank + 2} dimensions are needed")
    return rank


def channels_last(g: Graph, x: Value, first: bool, function: Callable[[Value], Value]) -> Value:
    """A function of a tensor whose channels are last: those of one in which they are first are brought there and back."""
    if not first:
        return function(x)
    rank = x.rank
    y = function(g.transpose(x, [0, *range(2, rank), 1]))
    return g.transpose(y, [0, rank - 1, *range(1, rank - 1)])


def windowed(g: Graph, name: str, x: Value, window: Sequence[int], strides: Sequence[int], padding: str) -> Value:
    """Pooling of a tensor of one, two or three dimensions, channels last."""
    if len(window) == 1:
        return g.squeeze(g.pool(name, g.expand(x, 1), (1, *window), (1, *strides), padding), 1)
    return g.pool(name, x, window, strides, padding)


@LAYERS.layer("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D",
              "MaxPool1D", "MaxPool2D", "MaxPool3D", "AvgPool1D", "AvgPool2D", "AvgPool3D")
def pooling(call: Call, x: Value) -> Value:
    """The greatest number or the mean of each window; Keras 1 has other names for options."""
    rank = _rank(call, x)
    window = call.numbers("pool_size", rank, call.option("pool_length", 2))
    strides = call.numbers("strides", rank, call.option("stride", window))
    padding = str(call.option("padding", call.option("border_mode", "valid"))).upper()
    if min(*window, *strides) < 1 or padding not in ("SAME", "VALID"):
        raise Unsupported(f"its window {window} with strides {strides} and padding {padding.lower()!r} is none that Keras has")
    name = "MaxPool" if call.layer.class_name.startswith("Max") else "AvgPool"
    return channels_last(call.g, x, call.channels_first, lambda y: windowed(call.g, name, y, window, strides, padding))


@LAYERS.layer(*(f"Global{kind}{rank}D" for kind in ("MaxPooling", "AveragePooling", "MaxPool", "AvgPool") for rank in (1, 2, 3)))
def global_pooling(call: Call, x: Value, mask: Value | None = None) -> Value:
    """Over all of an image; the mean of a sequence is of the steps that its mask leaves.

    Before Keras 3 a mean of integers is one, but where a mask leaves steps out.
    """
    g, rank = call.g, _rank(call, x)
    axes = list(range(2, rank + 2)) if call.channels_first else list(range(1, rank + 1))
    keep = bool(call.option("keepdims", False))
    mask = mask if mask is not None else call.mask(x)
    if "Max" in call.layer.class_name:
        return g.reduce("Max", x, axes, keep)
    if mask is None or rank != 1:
        return g.reduce("Mean", x if g.keras < 3 else g.to_float(x), axes, keep)
    there = g.expand(g.cast(mask, BOOL), 1 if call.channels_first else 2)
    kept = g.cast(there, x.element)
    shown = g.select(there, x, 0) if g.keras >= 3 else g.Mul(x, kept)
    wide = WIDE.get(x.element, x.element) if g.keras >= 3 else x.element
    total, count = (g.to_float(g.reduce("Sum", g.cast(each, wide), axes, keep)) for each in (shown, kept))
    return g.RealDiv(total, count)


@LAYERS.layer(*(f"Adaptive{kind}Pooling{rank}D" for kind in ("Average", "Max") for rank in (1, 2, 3)))
def adaptive_pooling(call: Call, x: Value) -> Value:
    """Places `floor(i n / m)` to `ceil((i + 1) n / m)` become place `i` of `m`, one dimension after the other."""
    rank = _rank(call, x)
    sizes = call.numbers("output_size", rank)
    name = "Max" if "Max" in call.layer.class_name else "Mean"

    def reduced(y: Value) -> Value:
        for axis, size in enumerate(sizes, 1):
            y = _adapted(call.g, name, y, axis, size)
        return y

    return channels_last(call.g, x, call.channels_first, reduced)


def _adapted(g: Graph, name: str, x: Value, axis: int, size: int) -> Value:
    there = shape_of(x)[axis]
    if not 1 <= size <= 1 << 16:
        raise Unsupported(f"it is to give {size} places")
    parts = [g.reduce(name, g.narrow(x, axis, place * there // size, -(-(place + 1) * there // size)), axis, keep=True)
             for place in range(size)]
    return g.concat(parts, axis)

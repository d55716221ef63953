"""Layers that move numbers about: shapes, orders, borders, sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from transload.errors import Unsupported
from transload.ir import BF16, F16, F32, F64, Value

from ..graph import Graph, shape_of
from ..layer import LAYERS, Call
from .pooling import channels_last

__all__ = ["resized"]


@LAYERS.layer("Flatten")
def flatten(call: Call, x: Value) -> Value:
    """All but the batch becomes one dimension, in the order of channels last."""
    g = call.g
    if call.channels_first and x.rank > 2:
        x = g.transpose(x, [0, *range(2, x.rank), 1])
    return g.reshape(x, [shape_of(x)[0], -1]) if x.rank > 1 else g.reshape(x, [*shape_of(x), 1])


@LAYERS.layer("Reshape")
def reshape(call: Call, x: Value) -> Value:
    return call.g.reshape(x, [shape_of(x)[0], *map(int, call.config["target_shape"])])


@LAYERS.layer("Permute")
def permute(call: Call, x: Value) -> Value:
    return call.g.transpose(x, [0, *map(int, call.config["dims"])])


@LAYERS.layer("RepeatVector")
def repeat_vector(call: Call, x: Value) -> Value:
    """A vector as each of `n` steps."""
    return call.g.tile(call.g.expand(x, 1), [1, int(call.config["n"]), 1])


def _rank(call: Call) -> int:
    return int(re.search(r"([123])D", call.layer.class_name)[1])  # type: ignore[index]


_SIDES = {1: ("left_pad", "right_pad"), 2: ("top_pad", "bottom_pad", "left_pad", "right_pad")}
"""By how many dimensions are padded, the sides as Keras 1 names them, before and after in turn."""


def _pairs(call: Call, name: str, rank: int) -> list[tuple[int, int]]:
    """Before and after, of each dimension: from a number, a number each, or a pair each."""
    asked: Any = call.option(name, 1)
    given = asked
    if isinstance(given, int):
        given = [given] * rank
    elif name == "padding" and call.g.keras < 2 and rank in _SIDES:
        given = _by_sides(given, _SIDES[rank])
    if rank == 1 and len(given) == 2 and _are_whole(given):
        given = [given]
    is_known = not isinstance(given, Mapping) and len(given) == rank and all(
        isinstance(each, int) or (len(each) == 2 and _are_whole(each)) for each in given)
    pairs = [(each, each) if isinstance(each, int) else tuple(each) for each in given] if is_known else []
    if not pairs or min(map(min, pairs)) < 0:
        raise Unsupported(f"its {name} {asked!r} is none for {rank} dimensions")
    return pairs


def _by_sides(given: Any, sides: Sequence[str]) -> Any:
    """A padding of Keras 1, which says all sides, in order or by name, as pairs; what else it is, as it is."""
    if isinstance(given, Mapping) and given.keys() <= set(sides):  # those that are not named are not padded
        given = [given.get(side, 0) for side in sides]
    if len(given) != len(sides) or not _are_whole(given):
        return given
    return [given[place:place + 2] for place in range(0, len(sides), 2)]


def _are_whole(given: Any) -> bool:
    return not isinstance(given, Mapping) and all(isinstance(each, int) for each in given)


def _everywhere(call: Call, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(0, 0), (0, 0), *pairs] if call.channels_first else [(0, 0), *pairs, (0, 0)]


@LAYERS.layer("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def zero_padding(call: Call, x: Value) -> Value:
    return call.g.pad(x, _everywhere(call, _pairs(call, "padding", _rank(call))))


@LAYERS.layer("Cropping1D", "Cropping2D", "Cropping3D")
def cropping(call: Call, x: Value) -> Value:
    shape, pairs = shape_of(x), _everywhere(call, _pairs(call, "cropping", _rank(call)))
    end = [size - after for size, (_, after) in zip(shape, pairs, strict=True)]
    if any(last <= before for last, (before, _) in zip(end, pairs, strict=True)):
        raise Unsupported(f"it cuts all off of a tensor of shape {list(shape)}")
    return call.g.slice(x, [before for before, _ in pairs], end)


@LAYERS.layer("UpSampling1D", "UpSampling2D", "UpSampling3D")
def up_sampling(call: Call, x: Value) -> Value:
    """Each place several times, or what lies between is interpolated."""
    g, rank = call.g, _rank(call)
    size = call.numbers("size", rank, call.option("length", 2))  # the latter in Keras 1
    how = str(call.option("interpolation", "nearest"))
    if min(size) < 1:
        raise Unsupported(f"its size {size} is not positive")
    if rank == 2 and how != "nearest":
        return channels_last(g, x, call.channels_first, lambda y: resized(
            g, y, [n * each for n, each in zip(shape_of(y)[1:3], size, strict=True)], how))
    for place, count in enumerate(size):
        x = g.repeat(x, count, place + (2 if call.channels_first else 1))
    return x


_RESIZES = {"nearest": "ResizeNearestNeighbor", "bilinear": "ResizeBilinear", "bicubic": "ResizeBicubic", "area": "ResizeArea"}
_KERNELS = ("lanczos3", "lanczos5", "gaussian", "mitchellcubic")


def resized(g: Graph, x: Value, size: Sequence[int], how: str, antialias: bool = False) -> Value:
    """Images of another size (NHWC), their pixels taken for squares."""
    shape = shape_of(x)
    if len(shape) != 4:
        raise Unsupported(f"a tensor of shape {list(shape)} is no batch of images")
    made = (shape[0], *size, shape[3])
    sizes = g.constant(list(size))
    if how in _KERNELS or (antialias and how in ("bilinear", "bicubic")):
        kernel = {"bilinear": "triangle", "bicubic": "keyscubic"}.get(how, how)
        scale = g.constant([size[0] / shape[1], size[1] / shape[2]], F32)
        return g.emit("ScaleAndTranslate", (x, sizes, scale, g.constant([0.0, 0.0], F32)), made, F32, kernel_type=kernel,
                      antialias=antialias)
    if how not in _RESIZES:
        raise Unsupported(f"its interpolation {how!r} is none that Keras has")
    if how == "area":
        return g.emit("ResizeArea", (x, sizes), made, F32)
    keeps = how == "nearest"
    y = g.emit(_RESIZES[how], (x, sizes), made, x.element if keeps else F32, half_pixel_centers=True)
    return g.cast(y, x.element) if x.element in (F16, BF16, F64) else y

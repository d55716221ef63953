"""Operations of `keras.ops.image` and `keras.ops.nn` on images: sizes, windows, blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload.errors import Unsupported
from transload.ir import FloatType, Value

from ..graph import Graph, shape_of
from ..layer import Call
from .operations import operation, option, saturated
from .pooling import channels_last, windowed
from .preprocessing import fitted
from .reshaping import resized

__all__ = ["images", "in_blocks"]


def images(g: Graph, x: Value, first: bool, function: Callable[[Value], Value]) -> Value:
    """A function of a batch of images, channels last, of one or several images, channels last or `first`."""
    if x.rank == 3:
        return g.squeeze(channels_last(g, g.expand(x, 0), first, function), 0)
    if x.rank != 4:
        raise Unsupported(f"a tensor of shape {list(shape_of(x))} is neither an image nor a batch of them")
    return channels_last(g, x, first, function)


def _first(call: Call) -> bool:
    return option(call, "data_format") == "channels_first"


@operation("Resize")
def resize(call: Call, x: Value, size: Any = None) -> Value:
    """Images keep their type: those of integers are rounded, and held in its bounds."""
    g = call.g
    wanted = [int(each) for each in option(call, "size", size)]
    how = str(option(call, "interpolation", "bilinear")).lower()
    if option(call, "fill_mode", "constant") != "constant":
        raise Unsupported(f"it fills borders by {option(call, 'fill_mode')!r}, which Keras does not do either")
    crop, pad = bool(option(call, "crop_to_aspect_ratio")), bool(option(call, "pad_to_aspect_ratio"))
    fill, smooth = float(option(call, "fill_value", 0.0)), bool(option(call, "antialias", False))
    made = images(g, x, _first(call), lambda y: resized(g, fitted(g, y, wanted, crop, pad, fill), wanted, how, smooth))
    if made.element == x.element:
        return made
    return saturated(g, made if isinstance(x.element, FloatType) else g.Round(made), x.element)


@operation("MaxPool", "AveragePool")
def pool(call: Call, x: Value) -> Value:
    g, rank = call.g, x.rank - 2
    window = [w for w in (option(call, "pool_size"),) for w in ([w] * rank if isinstance(w, int) else list(w))]
    strides = [w for w in (option(call, "strides", window),) for w in ([w] * rank if isinstance(w, int) else list(w))]
    padding, name = str(option(call, "padding", "valid")).upper(), call.layer.class_name.removeprefix("operation_")
    return channels_last(g, x, _first(call), lambda y: windowed(
        g, "MaxPool" if name == "MaxPool" else "AvgPool", y, window, strides, padding))


@operation("DepthToSpace", "SpaceToDepth")
def depth_to_space(call: Call, x: Value, block: Any = None) -> Value:
    name, block = call.layer.class_name.removeprefix("operation_"), int(option(call, "block_size", block))
    return in_blocks(call.g, name, x, block, _first(call))


def in_blocks(g: Graph, name: str, x: Value, block: int, first: bool) -> Value:
    """`DepthToSpace` or `SpaceToDepth` of a batch of images, whose channels may be `first`."""
    def moved(y: Value) -> Value:
        n, h, w, c = shape_of(y)
        if block < 1 or (c % (block * block) if name == "DepthToSpace" else h % block or w % block):
            raise Unsupported(f"a tensor of shape {[n, h, w, c]} does not fall into blocks of {block}")
        made = (n, h * block, w * block, c // block**2) if name == "DepthToSpace" else (n, h // block, w // block, c * block**2)
        return g.emit(name, (y,), made, block_size=block, data_format="NHWC")

    if x.rank != 4:
        raise Unsupported(f"a tensor of shape {list(shape_of(x))} is no batch of images")
    return channels_last(g, x, first, moved)

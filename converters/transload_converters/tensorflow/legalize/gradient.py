"""Gradients of resizing and of padding: products with constant matrices, transposed, and sums of what was mirrored."""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import cast, scalar_like, slice_along

from .image import coordinates_of, separable
from .table import TfTable, attr, constant_ints, constant_sizes, element_of, need_place, shape_of

__all__ = ["TABLE"]

TABLE = TfTable()


def _source(size: int, wanted: int, mode: str) -> np.ndarray:
    """Where the places of a resized line are in the line."""
    places = tables.arange(wanted, dtype=np.float32)
    if mode == "align_corners" and wanted > 1:
        return places * np.float32((size - 1) / np.float32(wanted - 1))
    scale = np.float32(size / np.float32(wanted))
    return (places + np.float32(0.5)) * scale - np.float32(0.5) if mode == "half_pixel" else places * scale


def _linear(size: int, wanted: int, mode: str) -> np.ndarray:
    """The weights [wanted, size] of linear interpolation."""
    source = _source(size, wanted, mode)
    low = np.floor(source).astype(int)
    part, weights, rows = source - low, tables.zeros((wanted, size)), tables.arange(wanted)
    np.add.at(weights, (rows, np.clip(low, 0, size - 1)), 1 - part)
    np.add.at(weights, (rows, np.clip(low + 1, 0, size - 1)), part)
    return weights


def _nearest(size: int, wanted: int, mode: str) -> np.ndarray:
    """The weights [wanted, size] of the nearest place."""
    source = _source(size, wanted, mode) + np.float32(0.5 if mode == "half_pixel" else 0)
    place = np.floor(source + np.float32(0.5)) if mode == "align_corners" else np.floor(source)
    weights = tables.zeros((wanted, size))
    weights[tables.arange(wanted), np.clip(place.astype(int), 0, size - 1)] = 1
    return weights


@TABLE("ResizeBilinearGrad", "ResizeNearestNeighborGrad")
def resize_grad(op: Op, rw: Rewriter) -> Value:
    """ResizeBilinearGrad, ResizeNearestNeighborGrad: what each place gives to the places that it was made of."""
    back = op.operands[0]
    wanted = shape_of(back, 4, what="the gradient")[1:3]
    is_linear = op.name == "tf.ResizeBilinearGrad"
    sizes = shape_of(op.operands[1], 4, what="the images")[1:3] if is_linear else constant_sizes(
        rw, op.operands[1], "the size of the images", 2, least=1)
    for size, want in zip(sizes, wanted, strict=True):
        need_place(size, want)
        if not size and want:
            raise Unsupported(f"gives a gradient of {want} places to images of none")
    rows, columns = ((_linear if is_linear else _nearest)(size, want, coordinates_of(op)).T
                     for size, want in zip(sizes, wanted, strict=True))
    return separable(rw, cast(rw, back, element_of(op)), rows, columns)


@TABLE("MirrorPadGrad")
def mirror_pad_grad(op: Op, rw: Rewriter) -> Value:
    """MirrorPadGrad: the gradients of what was mirrored, added where it came from."""
    value = op.operands[0]
    sizes, mode = shape_of(value), attr(op, "mode", "REFLECT")
    pads = constant_ints(rw, op.operands[1], "the paddings", 2 * len(sizes))
    apart = 1 if mode == "REFLECT" else 0
    for axis, (before, after) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        inner = shape_of(value)[axis] - before - after
        if min(before, after) < 0 or inner < max(before, after) + apart:
            raise Unsupported(f"takes away paddings of {before} and {after} from {shape_of(value)[axis]} elements")
        total = slice_along(rw, value, axis, before, before + inner)
        for count, begin, place in ((before, 0, apart), (after, before + inner, inner - apart - after)):
            if count:
                part = rw.emit("top.Reverse", slice_along(rw, value, axis, begin, begin + count), axes=(axis,))
                around = [0] * (2 * len(sizes))
                around[axis], around[len(sizes) + axis] = place, inner - count - place
                total = rw.emit("top.Add", total, rw.emit("top.Pad", part, scalar_like(rw, part, 0), paddings=tuple(around)))
        value = total
    return value

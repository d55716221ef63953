"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import UI8, Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import constant_ints, emit_like, layout, limited, static_shape
from .storage import any_scale, moves_stored

TABLE = RewriteTable()


@TABLE("tfl.resize_bilinear")
@any_scale
@moves_stored
def resize_bilinear(op: Op, rw: Rewriter) -> Value:
    """RESIZE_BILINEAR: by the corners, by the centres, or by the upper left edges of pixels.

    What comes between integers is rounded, whether they have a scale or not; of unsigned bytes once, for that kernel knows
    places as floats and not in 1/1024.
    """
    sizes, corners, centres = _read(op, rw)
    if corners and centres:
        raise Unsupported("align_corners and half_pixel_centers exclude each other")
    if op.operands[0].is_quantized:
        _refuse_pixels_outside(static_shape(op.operands[0], "the image", 4)[1:3], sizes, corners, centres)
    coordinates = "align_corners" if corners else "half_pixel" if centres else "asymmetric"
    kind = op.operands[0].quant
    rounding = "once" if kind is not None and kind.storage == UI8 else None
    return emit_like(
        rw, op, "top.Interp", op.operands[0], sizes=sizes, mode="linear", coord_mode=coordinates, layout=layout,
        rounding=rounding)


@TABLE("tfl.resize_nearest_neighbor")
@moves_stored
def resize_nearest_neighbor(op: Op, rw: Rewriter) -> Value:
    """RESIZE_NEAREST_NEIGHBOR: by the corners, by the centres, or by the upper left edges of pixels; or by both."""
    sizes, corners, centres = _read(op, rw)
    if corners and centres:
        return _by_both(op, rw, sizes)
    coordinates = "align_corners" if corners else "tf_half_pixel_for_nn" if centres else "asymmetric"
    return emit_like(
        rw, op, "top.Interp", op.operands[0], sizes=sizes, mode="nearest", coord_mode=coordinates,
        nearest_mode="round_prefer_ceil" if corners else "floor", layout=layout)


def _read(op: Op, rw: Rewriter) -> tuple[tuple[int, ...], bool, bool]:
    """The size to resize to, and whether corners are aligned, or centres are places."""
    sizes = constant_ints(rw, op.operands[1], "the size to resize to")
    corners, centres = op.attribute("align_corners"), op.attribute("half_pixel_centers")
    return sizes, corners, centres


def _by_both(op: Op, rw: Rewriter, sizes: Sequence[int]) -> Value:
    """The nearest elements where corners are aligned and centres are places: no resize of the hub's, but LiteRT computes it.

    Source: `tensorflow/lite/kernels/internal/reference/resize_nearest_neighbor.h`, GetNearestNeighbor.
    """
    value, image = op.operands[0], static_shape(op.operands[0], "the image", 4)[1:3]
    if len(sizes) != 2 or min(*sizes, *image) < 1:
        raise Unsupported(f"an image of {list(image)} cannot be resized to {list(sizes)}")
    for axis, (there, wanted) in enumerate(zip(image, sizes, strict=True), 1):
        limited(wanted, "the size to resize to", 1 << 22)
        whole, parts = (there - 1, wanted - 1) if wanted > 1 else (there, wanted)
        places = (tables.arange(wanted, dtype=np.float32) + np.float32(0.5)) * (np.float32(whole) / np.float32(parts))
        nearest = np.minimum(np.floor(places + np.float32(0.5)), there - 1).astype(np.int32)
        value = rw.emit("top.Gather", value, rw.constant(nearest), axis=axis, element=op.results[0].element)
    return value


def _refuse_pixels_outside(image: Sequence[int], sizes: Sequence[int], corners: bool, centres: bool) -> None:
    """LiteRT's kernels for integers step by 1/1024 of a pixel, rounded: by so many steps that they leave the image.

    Source: `tensorflow/lite/kernels/internal/reference/resize_bilinear.h`, ResizeBilinearInteger.
    """
    for there, wanted in zip(image, sizes, strict=False):
        whole, parts = (there - 1, wanted - 1) if corners and wanted > 1 else (there, wanted)
        step = ((whole << 10) + parts // 2) // max(parts, 1)
        last = step * (wanted - 1) + (step // 2 - 512 if centres else 0)
        if last >> 10 >= there:
            raise Unsupported(f"a size of {wanted} from {there}: LiteRT's kernel for integers reads pixels outside the image")

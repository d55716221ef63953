"""Resizing of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import constant, emit, finish, ints, need_channels_second, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.resize import Interp, Upsample

__all__ = ["TABLE"]

TABLE = RewriteTable()

_SHIFTS = {"asymmetric": 0.0, "half_pixel": 0.5}
"""Coordinates `(o + shift) / scale - shift`."""


@TABLE("top.Upsample")
def upsample(op: Upsample, rw: Rewriter) -> Value:
    """Resize that takes of each pixel the one above and before."""
    need_channels_second(op)
    sizes = ints(rw, static_shape(op.result))
    return finish(rw, op, emit(
        rw, "Resize", op.input, None, None, sizes, like=op.result, mode="nearest", coordinate_transformation_mode="asymmetric",
        nearest_mode="floor"))


@TABLE("top.Interp")
def interp(op: Interp, rw: Rewriter) -> Value:
    """Resize, of the modes of the same names; by scales where the op has its own, else by sizes.

    What is taken from one place is not smoothed, and of two numbers what is not outside is the one at the border: onnxruntime
    takes neither attribute there.
    """
    need_channels_second(op)
    roi = scales = sizes = None
    coordinates: str = op.coord_mode
    if op.scales is not None and static_shape(op.result) == static_shape(op.input) and not _are_ratios(op):
        raise Unsupported(f"resizes by the scales {list(op.scales)} to the sizes that it has, of which onnxruntime makes a copy",
                          "the targets tosa and stablehlo resize it")
    if op.scales is not None and _gives_the_sizes(op):
        scales = constant(rw, np.array((1.0, 1.0, *op.scales), np.float32), F32)
    else:
        sizes = ints(rw, static_shape(op.result))
        if op.scales is not None and not _are_ratios(op):
            coordinates, roi = "tf_crop_and_resize", constant(rw, _part_read(op), F32)
    return emit(
        rw, "Resize", op.input, roi, scales, sizes, like=op.result, mode=op.mode, coordinate_transformation_mode=coordinates,
        nearest_mode=op.nearest_mode, cubic_coeff_a=op.cubic_coeff,
        exclude_outside=int(op.exclude_outside and op.mode == "cubic"), antialias=int(op.antialias and op.mode != "nearest"))


def _gives_the_sizes(op: Interp) -> bool:
    """Whether the op's scales give its sizes, as ONNX computes them."""
    before = static_shape(op.input)[2:]
    assert op.scales is not None
    return all(int(np.floor(np.float32(size) * np.float32(scale))) == after for size, scale, after in zip(
        before, op.scales, op.sizes, strict=True))


def _are_ratios(op: Interp) -> bool:
    """Whether the op's scales are those that its sizes say."""
    assert op.scales is not None
    ratios = [after / before for before, after in zip(static_shape(op.input)[2:], op.sizes, strict=True)]
    return op.coord_mode == "align_corners" or np.allclose(op.scales, ratios, 1e-6, 0)


def _part_read(op: Interp) -> np.ndarray:
    """The part of the input, 1 being the last element, at whose ends the first and last elements of the result lie.

    ONNX has scales or sizes. Where one does not follow from the other, all that says both is a part that is resized.
    """
    assert op.scales is not None
    if op.coord_mode not in _SHIFTS or op.antialias or op.exclude_outside:
        raise Unsupported(f"resizes to {list(op.sizes)} by the scales {list(op.scales)}, which in ONNX give other sizes")
    shift = _SHIFTS[op.coord_mode]
    starts, ends = [], []
    for before, size, scale in zip(static_shape(op.input)[2:], op.sizes, op.scales, strict=True):
        first, last = shift / scale - shift, (size - 1 + shift) / scale - shift
        if size == before and scale == 1:
            first, last = 0.0, before - 1.0
        if first < 0 or last > (before - 1) * (1 + 1e-6):
            raise Unsupported(f"reads beyond its input of {list(static_shape(op.input))}, which ONNX does not move to the border")
        starts.append(first / max(before - 1, 1))
        ends.append(min(last / max(before - 1, 1), 1.0))
    return np.array([0.0, 0.0, *starts, 1.0, 1.0, *ends], np.float32)

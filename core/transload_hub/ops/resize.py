"""Resizing of images."""

from __future__ import annotations

import math
from collections.abc import Sequence

from transload.ir.declare import BOOLEAN, FLOAT, FLOATS, INT, INTS, DeclaredOp, attribute, constraint, enum, operand, result
from transload.ir.types import TensorType, Type

from .base import LAYOUT, NUMBER_TENSOR, TOP, Activated
from .infer import fail, need_rank, spatial_axes
from .rounding import rounds

_MOST_PLACES = 1 << 22
"""Places of a dimension that is resized, for each of which tables say what it is made of."""


def _are_scales(scales: Sequence[float]) -> bool:
    return all(0 < scale < math.inf for scale in scales)


@TOP.op("Upsample")
class Upsample(Activated):
    """Each pixel repeated scale_h times down and scale_w times across (TPU-MLIR manual 13.1, UpsampleOp)."""

    input = operand("[N, C, H, W] (NCHW) or [N, H, W, C] (NHWC)")
    output = result("[N, C, H*scale_h, W*scale_w] or [N, H*scale_h, W*scale_w, C]")
    scale_h = attribute(INT, "how often a row is repeated")
    scale_w = attribute(INT, "how often a column is repeated")
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    traits = ("layout",)

    @constraint
    def scales_are_positive(op) -> bool:
        """scale_h and scale_w are positive"""
        return op.scale_h > 0 and op.scale_w > 0

    def infer(op) -> Type:
        if op.scale_h < 1 or op.scale_w < 1:
            fail(op, "scale_h and scale_w must be positive")
        shape = need_rank(op, op.input, "the input", (4,))
        if shape is None:
            return TensorType((None,) * 4, op.input.element)
        sizes = list(shape)
        for axis, scale in zip(spatial_axes(op.layout, 4), (op.scale_h, op.scale_w), strict=True):
            size = sizes[axis]
            sizes[axis] = None if size is None else size * scale
        return TensorType(tuple(sizes), op.input.element)


@TOP.op("Interp")
class Interp(DeclaredOp):
    """Resampled to other spatial sizes (ONNX Resize, TFLite RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR; TPU-MLIR's top.Interp).

    Output place `o` lies at input coordinate x, with `s = scales[i]` or `out / in` where absent, by coord_mode:
    half_pixel `(o + 0.5)/s - 0.5`; pytorch_half_pixel the same, 0 where out is 1; align_corners `o*(in-1)/(out-1)`, 0 where
    out is 1; asymmetric `o/s`; tf_half_pixel_for_nn `(o + 0.5)/s`; half_pixel_symmetric `in/2*(1 - a) + (o + 0.5)/s - 0.5`
    with `a = out / (s*in)`. There: nearest takes the element that nearest_mode rounds x to, linear interpolates between
    two, cubic among four with coefficient cubic_coeff. Subscripts beyond the border are moved onto it; with
    exclude_outside their weight is 0 and the others are scaled to sum 1. antialias widens the kernel by 1/s where s < 1.

    TFLite: half_pixel_centers is half_pixel for bilinear and tf_half_pixel_for_nn with floor for nearest, align_corners
    rounds halves up (round_prefer_ceil) for nearest, and neither is asymmetric with floor.
    `out / in` is an exact fraction; scales are taken as the float32 numbers that files hold, and halves by them to 1e-6.
    Linear interpolation of quantized numbers: with rounding double as LiteRT's kernels of int8 and int16 (places in 1/1024,
    halves away from zero), unsigned bytes as their numbers less 128; once takes exact places, halves up.
    """

    input = operand("[N, C, spatial..] (NCHW) or [N, spatial.., C] (NHWC)", type=NUMBER_TENSOR)
    output = result("with spatial sizes `sizes`")
    sizes = attribute(INTS, "the result's spatial sizes")
    mode = attribute(enum("nearest", "linear", "cubic"), "how to interpolate", default="nearest")
    coord_mode = attribute(
        enum("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "half_pixel_symmetric"),
        "how output places map to input coordinates", default="half_pixel")
    nearest_mode = attribute(
        enum("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"), "how nearest rounds", default="round_prefer_floor")
    scales = attribute(FLOATS, "scale per spatial dimension, where it is not out / in", optional=True)
    cubic_coeff = attribute(FLOAT, "coefficient of cubic interpolation", default=-0.75)
    exclude_outside = attribute(BOOLEAN, "whether elements beyond the border weigh nothing", default=False)
    antialias = attribute(BOOLEAN, "whether to widen the kernel when shrinking", default=False)
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    rounding = rounds("double", "exact", "once")
    traits = ("layout",)

    @constraint
    def sizes_are_positive(op) -> bool:
        """sizes are positive, and scales, where present, are as many, positive and finite"""
        return min(op.sizes, default=0) > 0 and (
            op.scales is None or (len(op.scales) == len(op.sizes) and _are_scales(op.scales)))

    @constraint
    def places_can_be_numbered(op) -> bool:
        """sizes are at most 4,194,304, and so are the elements that each place is made of by antialias, all together"""
        known = op.input.known_shape
        axes = spatial_axes(op.layout, len(known)) if known is not None else []
        if max(op.sizes, default=0) > _MOST_PLACES or not op.antialias or known is None or len(axes) != len(op.sizes):
            return max(op.sizes, default=0) <= _MOST_PLACES
        scales = op.scales or [made / max(known[axis], 1) for axis, made in zip(axes, op.sizes, strict=True)]
        return all(made * max(2 / scale, 1) <= 4 * _MOST_PLACES for made, scale in zip(op.sizes, scales, strict=True))

    def infer(op) -> Type:
        n = len(op.sizes)
        if n < 1 or min(op.sizes) < 1 or (op.scales is not None and (len(op.scales) != n or not _are_scales(op.scales))):
            fail(op, f"sizes {list(op.sizes)} (and scales {op.scales}) must be positive, one per spatial dimension")
        shape = need_rank(op, op.input, "the input", (n + 2,))
        sizes: list[int | None] = [None] * (n + 2) if shape is None else list(shape)
        for axis, size in zip(spatial_axes(op.layout, n + 2), op.sizes, strict=True):
            if shape is not None and shape[axis] == 0:
                fail(op, "an empty image cannot be resized")
            sizes[axis] = size
        return TensorType(tuple(sizes), op.input.element)

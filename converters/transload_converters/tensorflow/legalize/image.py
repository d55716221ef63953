"""Images: resizes, crops, colours."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import cast, reshape, scalar_like, slice_along

from .table import TfTable, attr, constant_array, constant_sizes, element_of, need_place, shape_of

__all__ = ["TABLE", "coordinates_of", "separable"]

TABLE = TfTable()

# --- resizes

def _sizes(op: Op, rw: Rewriter) -> tuple[Value, tuple[int, ...], tuple[int, ...]]:
    """The images, their shape, and the height and width wanted."""
    wanted = constant_sizes(rw, op.operands[1], "the size of the result", 2, least=1)
    sizes = shape_of(op.operands[0], 4, what="the images")
    if 0 in sizes:
        raise Unsupported(f"images of shape {list(sizes)} cannot be resized to {list(wanted)}")
    for size, want in zip(sizes[1:3], wanted, strict=True):  # for which there may be tables of weights
        need_place(size, want)
    return op.operands[0], sizes, wanted


def coordinates_of(op: Op) -> str:
    """Which of TensorFlow's three ways places of the result are places of the image."""
    if attr(op, "half_pixel_centers", False):
        return "half_pixel"
    return "align_corners" if attr(op, "align_corners", False) else "asymmetric"


@TABLE("ResizeBilinear")
def resize_bilinear(op: Op, rw: Rewriter) -> Value:
    """ResizeBilinear: the result is f32, but of halves."""
    value, _, wanted = _sizes(op, rw)
    value = cast(rw, value, element_of(op))
    return rw.emit("top.Interp", value, sizes=wanted, mode="linear", coord_mode=coordinates_of(op), layout="NHWC")


@TABLE("ResizeNearestNeighbor")
def resize_nearest(op: Op, rw: Rewriter) -> Value:
    """ResizeNearestNeighbor."""
    value, _, wanted = _sizes(op, rw)
    mode = coordinates_of(op)
    rounded = "round_prefer_ceil" if mode == "align_corners" else "floor"
    mode = "tf_half_pixel_for_nn" if mode == "half_pixel" else mode
    return rw.emit("top.Interp", value, sizes=wanted, mode="nearest", coord_mode=mode, nearest_mode=rounded, layout="NHWC")


def separable(rw: Rewriter, value: Value, rows: np.ndarray, columns: np.ndarray) -> Value:
    """[N, H, W, C] by the weights [H', H] and [W', W] of each row and column of the result."""
    batch, height, width, channels = shape_of(value)
    dtype = dtype_of(value.element)
    flat = reshape(rw, value, (batch, height, width * channels))
    tall = rw.emit("top.MatMul", rw.constant(rows.astype(dtype), element=value.element), flat)
    wide = reshape(rw, tall, (batch * len(rows), width, channels))
    done = rw.emit("top.MatMul", rw.constant(columns.astype(dtype), element=value.element), wide)
    return reshape(rw, done, (batch, len(rows), len(columns), channels))


_PLACES = 1024
"""Of how many places between two pixels TensorFlow knows the weights of cubic interpolation."""


@TABLE("ResizeBicubic")
def resize_bicubic(op: Op, rw: Rewriter) -> Value:
    """ResizeBicubic; where pixels have centres, what is beyond the border weighs nothing, and the coefficient is -0.5."""
    value, sizes, wanted = _sizes(op, rw)
    rows, columns = (_cubic(size, want, coordinates_of(op)) for size, want in zip(sizes[1:3], wanted, strict=True))
    return separable(rw, cast(rw, value, element_of(op)), rows, columns)


def _cubic(size: int, wanted: int, mode: str) -> np.ndarray:
    """[wanted, size]: the weights of an image's places. Source: `tensorflow/core/kernels/image/resize_bicubic_op.cc`."""
    centred = mode == "half_pixel"
    scale = np.float32((size - 1) / (wanted - 1) if mode == "align_corners" and wanted > 1 else size / wanted)
    at = tables.arange(wanted, dtype=np.float32)
    at = (at + np.float32(0.5)) * scale - np.float32(0.5) if centred else at * scale
    first = np.floor(at).astype(int)
    part = np.rint((at - first) * _PLACES) / _PLACES
    a = -0.5 if centred else -0.75
    near, far = (lambda x: ((a + 2) * x - (a + 3)) * x * x + 1), (lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a)
    weights = tables.zeros((wanted, size))
    for off, weight in zip(range(-1, 3), (far(part + 1), near(part), near(1 - part), far(2 - part)), strict=True):
        place = first + off
        inside = np.clip(place, 0, size - 1)
        np.add.at(weights, (tables.arange(wanted), inside), np.where((place == inside) | (not centred), weight, 0.0))
    return weights / weights.sum(axis=1, keepdims=True) if centred else weights


@TABLE("ResizeArea")
def resize_area(op: Op, rw: Rewriter) -> Value:
    """ResizeArea: the mean of what each pixel of the result covers."""
    value, sizes, wanted = _sizes(op, rw)
    rows, columns = (_covered(size, want, bool(attr(op, "align_corners", False)))
                     for size, want in zip(sizes[1:3], wanted, strict=True))
    return separable(rw, cast(rw, value, element_of(op)), rows, columns)


def _covered(size: int, wanted: int, align: bool) -> np.ndarray:
    """[wanted, size]: which share of each place of the result lies in each place of the image."""
    scale = (size - 1) / (wanted - 1) if align and wanted > 1 else size / wanted
    begins = tables.arange(wanted) * scale
    places = tables.arange(math.ceil(begins[-1] + scale))
    shares = np.clip(np.minimum(places + 1, begins[:, None] + scale) - np.maximum(places, begins[:, None]), 0, None) / scale
    weights = tables.zeros((wanted, size))
    for place, share in zip(np.minimum(places, size - 1), shares.T, strict=True):  # what is beyond the border is the outermost
        weights[:, place] += share
    return weights


def _lanczos(radius: int) -> Callable[[np.ndarray], np.ndarray]:
    """A sine over its angle, times one that is as many times as slow; 1 next to the middle."""
    pi, near = np.float32(math.pi), np.float32(1e-3)

    def weight(x: np.ndarray) -> np.ndarray:
        y = np.maximum(x, near)
        waves = radius * np.sin(pi * y) * np.sin(pi * y / radius) / (pi * pi * y * y)
        return np.where(x > radius, 0, np.where(x <= near, 1, waves))
    return weight


_KERNELS: dict[str, tuple[float, Callable[[np.ndarray], np.ndarray]]] = {
    "box": (1.0, lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))),
    "triangle": (1.0, lambda x: np.maximum(1 - x, 0)),
    "keyscubic": (2.0, lambda x: np.where(
        x >= 2, 0, np.where(x >= 1, ((-0.5 * x + 2.5) * x - 4) * x + 2, ((1.5 * x - 2.5) * x) * x + 1))),
    "mitchellcubic": (2.0, lambda x: np.where(
        x >= 2, 0, np.where(x >= 1, ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9, ((7 / 6 * x - 2) * x) * x + 8 / 9))),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0, np.exp(-x * x / (2 * 0.5 * 0.5)))),
    **{f"lanczos{radius}": (float(radius), _lanczos(radius)) for radius in (1, 3, 5)},
}
"""How far each kernel reaches, and its weight at a distance, in f32 throughout."""


@TABLE("ScaleAndTranslate")
def scale_and_translate(op: Op, rw: Rewriter) -> Value:
    """ScaleAndTranslate by constants: sampled by a kernel as wide as a pixel of the result, where antialiasing is wanted."""
    value, sizes, wanted = _sizes(op, rw)
    scale, shift = (constant_array(rw, operand, what).astype(np.float32).reshape(-1)
                    for operand, what in zip(op.operands[2:4], ("the scale", "the translation"), strict=True))
    if scale.size != 2 or shift.size != 2 or not np.isfinite([*scale, *shift]).all() or (scale <= 0).any():
        raise Unsupported(f"scales by {scale.tolist()} and moves by {shift.tolist()}: two numbers each, scales positive")
    kind = attr(op, "kernel_type", "lanczos3")
    if kind not in _KERNELS:
        raise Unsupported(f"the kernel is {kind!r}", f"these are known: {', '.join(_KERNELS)}")
    rows, columns = (_spans(sizes[1 + i], wanted[i], scale[i], shift[i], kind, bool(attr(op, "antialias", True))) for i in (0, 1))
    return separable(rw, cast(rw, value, F32), rows, columns)


_KEPT = 8
"""Tables of weights that are kept at a time while they are computed."""


def _spans(size: int, wanted: int, scale: np.float32, shift: np.float32, kind: str, antialias: bool) -> np.ndarray:
    """[wanted, size]: the weights of an image's places; none where the sample lies outside.

    Each step is one of f32, as in TensorFlow: places often lie where a kernel ends, of which the gaussian jumps, so that
    another rounding weighs other pixels. Source: `tensorflow/core/kernels/image/scale_and_translate_op.cc`.
    """
    need_place(_KEPT, wanted, size)
    radius, kernel = _KERNELS[kind]
    one, half = np.float32(1), np.float32(0.5)
    step = one / scale
    widened = max(step, one) if antialias else one
    reach = np.float32(radius) * widened
    samples = (tables.arange(wanted, dtype=np.float32) + half) * step + -step * shift
    places = tables.arange(size, dtype=np.float32)
    first = np.clip(np.ceil(samples - reach - half), 0, size - 1)[:, None]
    last = np.clip(np.floor(samples + reach - half), 0, size - 1)[:, None]
    weights = kernel(np.abs((places + half - samples[:, None]) * (one / widened)))
    weights = np.where((places >= first) & (places <= last), weights, 0).astype(np.float32)
    total = np.cumsum(weights, axis=1)[:, -1:]  # one after the other; numpy's sum adds in pairs
    weights = np.where(np.abs(total) >= 1000 * np.finfo(np.float32).tiny, weights * (one / np.where(total == 0, one, total)), 0)
    return np.where(((samples < 0) | (samples > size))[:, None], 0, weights)


@TABLE("CropAndResize")
def crop_and_resize(op: Op, rw: Rewriter) -> Value:
    """CropAndResize: a piece of an image for each box, as products with weights that follow from the boxes."""
    images, boxes, numbers, size = op.operands
    _, height, width, channels = shape_of(images, 4, what="the images")
    wanted = constant_sizes(rw, size, "the size of the crops", 2, least=1)
    need_place(max(*wanted, height, width))
    count = shape_of(boxes, 2, what="the boxes")[0]
    image = rw.emit("top.Gather", cast(rw, images, F32), numbers, axis=0)
    edges = rw.emit("top.Split", boxes, axis=1, split_size=(1, 1, 1, 1))
    (rows, in_rows), (columns, in_columns) = (
        _box_weights(op, rw, edges[i], edges[i + 2], length, want)
        for i, length, want in zip((0, 1), (height, width), wanted, strict=True))
    tall = rw.emit("top.MatMul", rows, reshape(rw, image, (count, height, width * channels)))
    wide = reshape(rw, tall, (count, wanted[0], width, channels))
    crops = rw.emit("top.MatMul", reshape(rw, columns, (count, 1, wanted[1], width)), wide)
    in_rows, in_columns = reshape(rw, in_rows, (count, wanted[0], 1, 1)), reshape(rw, in_columns, (count, 1, wanted[1], 1))
    inside = rw.emit("top.LogicalAnd", in_rows, in_columns)
    return rw.emit("top.Where", inside, crops, scalar_like(rw, crops, float(attr(op, "extrapolation_value", 0.0))))


def _box_weights(op: Op, rw: Rewriter, low: Value, high: Value, length: int, wanted: int) -> tuple[Value, Value]:
    """[boxes, wanted, length]: the weights of an image's places for each place of a crop; and which of these lie in the image."""
    last = scalar_like(rw, low, length - 1)
    if wanted > 1:
        steps = rw.constant((tables.arange(wanted) / (wanted - 1)).astype(np.float32))
        spread = rw.emit("top.Mul", rw.emit("top.Mul", rw.emit("top.Sub", high, low), last), steps)
        places = rw.emit("top.Add", rw.emit("top.Mul", low, last), spread)
    else:
        places = rw.emit("top.Mul", rw.emit("top.Mul", rw.emit("top.Add", low, high), scalar_like(rw, low, 0.5)), last)
    inside = rw.emit("top.LogicalAnd", rw.emit("top.Compare", places, scalar_like(rw, low, 0), mode="GreaterOrEqual"),
                     rw.emit("top.Compare", places, last, mode="LessOrEqual"))
    grid = rw.constant(tables.arange(length, dtype=np.float32))
    if attr(op, "method", "bilinear") == "nearest":
        nearest = rw.emit("top.Floor", rw.emit("top.Add", places, scalar_like(rw, low, 0.5)))
        equal = rw.emit("top.Compare", rw.emit("top.Unsqueeze", nearest, axes=(2,)), grid, mode="Equal")
        return cast(rw, equal, F32), inside
    off = rw.emit("top.Abs", rw.emit("top.Sub", rw.emit("top.Unsqueeze", places, axes=(2,)), grid))
    return rw.emit("top.Relu", rw.emit("top.Sub", scalar_like(rw, low, 1), off)), inside


# --- colours

@TABLE("AdjustContrastv2")
def adjust_contrast(op: Op, rw: Rewriter) -> Value:
    """AdjustContrastv2: further from (or nearer to) the mean of each channel."""
    value, factor = op.operands
    rank = len(shape_of(value, least=3))
    mean = rw.emit("top.Reduce", value, axes=(rank - 3, rank - 2), keepdims=True, mode="ReduceMean")
    return rw.emit("top.Add", rw.emit("top.Mul", rw.emit("top.Sub", value, mean), factor), mean)


def _channels(rw: Rewriter, value: Value) -> list[Value]:
    sizes = shape_of(value, least=1)
    if sizes[-1] != 3:
        raise Unsupported(f"colours have {sizes[-1]} numbers, and must have three")
    return [slice_along(rw, value, len(sizes) - 1, i, i + 1) for i in range(3)]


def _to_hsv(rw: Rewriter, value: Value) -> list[Value]:
    """Hue, saturation and value of red, green and blue, each with a last dimension of size 1."""
    red, green, blue = _channels(rw, value)
    axis = len(shape_of(value)) - 1
    most, least = (rw.emit("top.Reduce", value, axes=(axis,), keepdims=True, mode=mode) for mode in ("ReduceMax", "ReduceMin"))
    span = rw.emit("top.Sub", most, least)
    zero, one = scalar_like(rw, value, 0), scalar_like(rw, value, 1)

    def is_equal(a: Value, b: Value) -> Value:
        return rw.emit("top.Compare", a, b, mode="Equal")

    def over(part: Value, whole: Value) -> Value:
        """A quotient, 0 where the divisor is not positive."""
        positive = rw.emit("top.Compare", whole, zero, mode="Greater")
        return rw.emit("top.Where", positive, rw.emit("top.Div", part, rw.emit("top.Where", positive, whole, one)), zero)

    def sixth(a: Value, b: Value, turn: float) -> Value:
        share = over(rw.emit("top.Sub", a, b), span)
        return rw.emit("top.Mul", rw.emit("top.Add", share, scalar_like(rw, value, turn)), scalar_like(rw, value, 1 / 6))

    hue = rw.emit("top.Where", is_equal(red, most), sixth(green, blue, 0.0), rw.emit(
        "top.Where", is_equal(green, most), sixth(blue, red, 2.0), sixth(red, green, 4.0)))
    hue = rw.emit("top.Where", is_equal(span, zero), zero, hue)
    hue = rw.emit("top.Where", rw.emit("top.Compare", hue, zero, mode="Less"), rw.emit("top.Add", hue, one), hue)
    return [hue, over(span, most), most]


def _to_rgb(rw: Rewriter, hue: Value, saturation: Value, value: Value) -> Value:
    """Red, green and blue of hue, saturation and value: `v - v s (1 - ramp)` with a ramp of the hue for each."""
    one = scalar_like(rw, value, 1)
    six = rw.emit("top.Mul", hue, scalar_like(rw, value, 6))

    def ramp(middle: float, rises: bool) -> Value:
        off = rw.emit("top.Abs", rw.emit("top.Sub", six, scalar_like(rw, value, middle)))
        line = rw.emit("top.Sub", off, one) if rises else rw.emit("top.Sub", scalar_like(rw, value, 2), off)
        return rw.emit("top.Clip", line, min=0.0, max=1.0)

    depth = rw.emit("top.Mul", value, saturation)
    parts = [
        rw.emit("top.Sub", value, rw.emit("top.Mul", depth, rw.emit("top.Sub", one, part)))
        for part in (ramp(3.0, True), ramp(2.0, False), ramp(4.0, False))]
    return rw.emit("top.Concat", *parts, axis=len(shape_of(value)) - 1)


@TABLE("RGBToHSV")
def rgb_to_hsv(op: Op, rw: Rewriter) -> Value:
    """RGBToHSV."""
    return rw.emit("top.Concat", *_to_hsv(rw, op.operands[0]), axis=len(shape_of(op.operands[0])) - 1)


@TABLE("HSVToRGB")
def hsv_to_rgb(op: Op, rw: Rewriter) -> Value:
    """HSVToRGB."""
    return _to_rgb(rw, *_channels(rw, op.operands[0]))


@TABLE("AdjustSaturation")
def adjust_saturation(op: Op, rw: Rewriter) -> Value:
    """AdjustSaturation: the saturation times a factor, at most 1."""
    value, factor = op.operands
    hue, saturation, most = _to_hsv(rw, value)
    scaled = rw.emit("top.Clip", rw.emit("top.Mul", saturation, factor), min=0.0, max=1.0)
    return _to_rgb(rw, hue, scaled, most)


@TABLE("AdjustHue")
def adjust_hue(op: Op, rw: Rewriter) -> Value:
    """AdjustHue: the hue moved on along the circle."""
    value, delta = op.operands
    hue, saturation, most = _to_hsv(rw, value)
    turned = rw.emit("top.Add", hue, delta)
    return _to_rgb(rw, rw.emit("top.Sub", turned, rw.emit("top.Floor", turned)), saturation, most)



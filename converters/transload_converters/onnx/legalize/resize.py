"""Resize and Upsample, in all their versions, along any axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted
from transload_hub.kernels.resize import nearest

from ..other_sizes import scaled_sizes
from .table import OnnxTable, attr, axes_of, choice, constant_ints, flag, need, operand, opset, permute, reshape, shape_of

TABLE = OnnxTable()

_COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
    "tf_crop_and_resize")
_NEAREST = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


@TABLE("onnx.Upsample", stored="carried")
def upsample(op: Op, rw: Rewriter) -> Value:
    """Upsample (opset 7 to 9): coordinates are divided by the scale."""
    value = need(op, 0)
    if opset(op) < 9:
        scales: Sequence[float] = attr(op, "scales", ())
    else:
        scales = np.asarray(rw.need_constant(operand(op, 1), "scales")).reshape(-1).tolist()
    return _resize_by_scales(op, rw, value, scales, attr(op, "mode", "nearest"))


def _resize_by_scales(op: Op, rw: Rewriter, value: Value, scales: Sequence[float], mode: str) -> Value:
    """What Upsample, and Resize of opset 10, mean."""
    shape = shape_of(value)
    if len(scales) != len(shape) or not all(0 < scale < math.inf for scale in scales):
        raise Unsupported(f"scales {tuple(scales)} do not fit a tensor of shape {shape}")
    sizes = _scaled(shape, scales)
    if tuple(sizes) == shape:
        return value  # as onnxruntime hands it on, whatever the scales are
    attributes: dict[str, Any] = {"mode": {"bilinear": "linear"}.get(mode, mode), "coord_mode": "asymmetric"}
    if attributes["mode"] != "nearest":
        return _interpolate(rw, value, sizes, scales, attributes)
    # onnxruntime takes the element before where a dimension grows, and the one behind where it shrinks.
    grown = [max(scale, 1.0) for scale in scales]
    larger = [max(a, b) for a, b in zip(sizes, shape, strict=True)]
    value = _interpolate(rw, value, larger, grown, {**attributes, "nearest_mode": "floor"})
    return _interpolate(rw, value, sizes, [min(scale, 1.0) for scale in scales], {**attributes, "nearest_mode": "ceil"})


@TABLE("onnx.Resize", stored="carried")
def resize(op: Op, rw: Rewriter) -> Value:
    """Resize by scales or to sizes."""
    value = need(op, 0)
    shape = shape_of(value)
    mode = attr(op, "mode", "nearest")
    if opset(op) < 11:
        return _resize_by_scales(op, rw, value, np.asarray(rw.need_constant(need(op, 1), "scales")).reshape(-1).tolist(), mode)
    coord_mode = attr(op, "coordinate_transformation_mode", "half_pixel")
    if coord_mode not in _COORDINATES:
        raise Unsupported(f"resizes with coordinates {coord_mode!r}", f"these can be converted: {', '.join(_COORDINATES)}")
    if mode not in ("nearest", "linear", "cubic"):
        raise Unsupported(f"resizes by {mode!r}, and must by nearest, linear or cubic")
    nearest_mode = choice(op, "nearest_mode", _NEAREST, "round_prefer_floor")
    axes = axes_of(attr(op, "axes") or tuple(range(len(shape))), len(shape))
    if coord_mode == "tf_crop_and_resize":
        return _crop_and_resize(op, rw, value, axes, mode)
    sizes, scales = _sizes_and_scales(op, rw, shape, axes)
    if tuple(sizes) == shape:
        return value  # as onnxruntime hands it on, whatever the scales are
    if coord_mode == "align_corners" and scales is not None:
        coord_mode, scales = _aligned_corners(shape, sizes, scales)
    attributes: dict[str, Any] = {"mode": mode, "coord_mode": coord_mode}
    if mode == "nearest":
        attributes["nearest_mode"] = nearest_mode
    if mode == "cubic":
        attributes["cubic_coeff"] = float(attr(op, "cubic_coeff_a", -0.75))
    if flag(op, "exclude_outside", 0):
        attributes["exclude_outside"] = True
    if flag(op, "antialias", 0):
        attributes["antialias"] = True
    if mode == "nearest" or value.quant is None:
        return _interpolate(rw, value, sizes, scales, attributes)
    # Between operators of integers onnxruntime resizes bytes, whatever they stand for, and cuts what comes between them.
    bits = rw.emit("top.Bitcast", value, element=value.quant.storage)
    return rw.emit("top.Bitcast", _interpolate(rw, bits, sizes, scales, attributes), element=value.element)


def _aligned_corners(shape: Sequence[int], sizes: Sequence[int], scales: Sequence[float]) -> tuple[str, list[float] | None]:
    """How corners lie upon each other where scales are given: by the length that these say, which need not be whole.

    Where it is none, steps of `(in - 1) / (in * scale - 1)` are those of coordinates that are divided by a scale.
    """
    lengths = [size * scale for size, scale in zip(shape, scales, strict=True)]
    if all(math.isclose(length, size, rel_tol=1e-6) or size == 1 for length, size in zip(lengths, sizes, strict=True)):
        return "align_corners", None
    steps = [(length - 1) / (size - 1) if size > 1 and length > 1 else scale
             for size, length, scale in zip(shape, lengths, scales, strict=True)]
    return "asymmetric", steps


_MOST_PLACES = 1 << 24
"""Of one dimension of a part that is resized: each is computed here."""


def _crop_and_resize(op: Op, rw: Rewriter, value: Value, axes: tuple[int, ...], mode: str) -> Value:
    """Resize of a part of the tensor, which `roi` says: from the k-th start to the k-th end, 1 being the last element.

    Places are known, so each dimension is gathered, once for each element that counts. What lies beyond the tensor is
    `extrapolation_value`. Places are of 32 bits, by the steps that onnxruntime takes: the last of a part may lie beyond by a bit.
    """
    shape = shape_of(value)
    if flag(op, "antialias", 0) or flag(op, "exclude_outside", 0):
        raise Unsupported("crops and resizes with antialiasing, or without what is outside", "plainly it can be converted")
    roi = np.asarray(rw.need_constant(need(op, 1, "roi"), "roi"), np.float32).reshape(-1)
    if len(roi) != 2 * len(axes) or not np.isfinite(roi).all():
        raise Unsupported(f"roi {roi.tolist()} is no start and end for each of {len(axes)} dimensions")
    lengths: list[float] = list(shape)
    for i, axis in enumerate(axes):  # what is scaled is the part
        lengths[axis] = shape[axis] * (float(roi[len(axes) + i]) - float(roi[i])) if operand(op, 3) is None else shape[axis]
    sizes, _ = _sizes_and_scales(op, rw, shape, axes, lengths)
    outside = np.zeros([1] * len(shape), bool)
    for i, axis in enumerate(axes):
        start, end, last, count = roi[i], roi[len(axes) + i], np.float32(shape[axis] - 1), sizes[axis]
        if not 1 <= count <= _MOST_PLACES or last < 0:
            raise Unsupported(f"resizes shape {shape} to {tuple(sizes)}")
        if (start, end, count) == (0, 1, shape[axis]):
            continue
        if count > 1:
            places = start * last + tables.arange(count).astype(np.float32) * (end - start) * last / np.float32(count - 1)
        else:
            places = np.full(1, 0.5 * (start + end) * last)
        beyond = (places < 0) | (places > last)
        outside = outside | beyond.reshape([-1 if each == axis else 1 for each in range(len(shape))])
        if not np.array_equal(places, tables.arange(last + 1)):
            value = _read_at(op, rw, value, axis, np.clip(places, 0, last), mode)
    if not outside.any():
        return value
    fill = np.array(attr(op, "extrapolation_value", 0.0), dtype_of(value.element))
    return rw.emit("top.Where", rw.constant(outside), rw.constant(fill), value)


def _read_at(op: Op, rw: Rewriter, value: Value, axis: int, places: np.ndarray, mode: str) -> Value:
    """A dimension read at constant places in it: from one element, between two, or cubically among four."""
    last = shape_of(value)[axis] - 1
    low = np.floor(places)
    part = places - low
    taps: list[tuple[np.ndarray, np.ndarray | None]]
    if mode == "nearest":
        taps = [(nearest(attr(op, "nearest_mode", "round_prefer_floor"), places.astype(np.float64), scaled=True), None)]
    elif mode == "linear":
        taps = [(low, 1 - part), (low + 1, part)]
    else:
        a = float(attr(op, "cubic_coeff_a", -0.75))
        taps = [(low + step, _cubic(abs(part - step), a)) for step in (-1, 0, 1, 2)]
    parts = []
    for where, weight in taps:
        taken = rw.emit("top.Gather", value, rw.constant(np.clip(where, 0, last).astype(np.int64)), axis=axis)
        if weight is not None:
            spread = weight.reshape([-1 if each == axis else 1 for each in range(len(shape_of(value)))])
            taken = rw.emit("top.Mul", taken, rw.constant(spread.astype(dtype_of(value.element))))
        parts.append(taken)
    return parts[0] if len(parts) == 1 else rw.emit("top.Add", *parts)


def _cubic(away: np.ndarray, a: float) -> np.ndarray:
    """The weights of elements so far away, in cubic interpolation with coefficient `a` (R. Keys, 1981)."""
    near = ((a + 2) * away - (a + 3)) * away**2 + 1
    return np.where(away <= 1, near, a * (((away - 5) * away + 8) * away - 4))


def _sizes_and_scales(
    op: Op, rw: Rewriter, shape: tuple[int, ...], axes: tuple[int, ...], lengths: Sequence[float] | None = None,
) -> tuple[list[int], list[float] | None]:
    """The result's shape, and the scales where the file gives them; what they scale is `lengths`, or the shape."""
    given = operand(op, 3)
    sizes = constant_ints(rw, given, "sizes") if given is not None else ()
    if sizes:
        if len(sizes) != len(axes) or min(sizes) < 1:
            raise Unsupported(f"sizes {sizes} do not fit axes {axes} of a tensor of shape {shape}")
        return _to_sizes(attr(op, "keep_aspect_ratio_policy", "stretch"), shape, axes, sizes)
    scales = np.asarray(rw.need_constant(need(op, 2, "scales or sizes"), "scales")).reshape(-1).astype(np.float32)
    if len(scales) != len(axes) or not (scales > 0).all():
        raise Unsupported(f"scales {scales.tolist()} do not fit axes {axes} of a tensor of shape {shape}")
    full = [1.0] * len(shape)
    for axis, scale in zip(axes, scales, strict=True):
        full[axis] = float(scale)
    return _scaled(lengths or shape, full), full


def _scaled(lengths: Sequence[float], scales: Sequence[float]) -> list[int]:
    """The sizes that scales give."""
    sizes = scaled_sizes(lengths, scales)
    if sizes is None:
        raise Unsupported(f"scales {tuple(scales)} of a tensor of shape {tuple(lengths)} give sizes without end")
    return sizes


def _to_sizes(
    policy: str, shape: tuple[int, ...], axes: tuple[int, ...], sizes: Sequence[int],
) -> tuple[list[int], list[float] | None]:
    wanted = list(shape)
    if policy == "stretch":
        for axis, size in zip(axes, sizes, strict=True):
            wanted[axis] = size
        return wanted, None
    if policy not in ("not_larger", "not_smaller"):
        raise Unsupported(f"keep_aspect_ratio_policy is {policy!r}")
    if any(shape[axis] == 0 for axis in axes):
        raise Unsupported(f"nothing of the shape {shape} has an aspect ratio to keep")
    ratios = [size / shape[axis] for axis, size in zip(axes, sizes, strict=True)]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    scales = [1.0] * len(shape)
    for axis in axes:
        wanted[axis] = math.floor(ratio * shape[axis] + 0.5)
        scales[axis] = ratio
    return wanted, scales


def _interpolate(
    rw: Rewriter, value: Value, sizes: Sequence[int], scales: Sequence[float] | None, attributes: dict[str, Any],
) -> Value:
    """`top.Interp` over the dimensions that change, brought behind the others where they are not."""
    shape = shape_of(value)
    if min(sizes, default=1) < 1 or 0 in shape:
        raise Unsupported(f"resizes shape {shape} to {tuple(sizes)}")
    changed = [axis for axis in range(len(shape)) if sizes[axis] != shape[axis] or (scales is not None and scales[axis] != 1)]
    if not changed:
        return value
    repeated = _repeats(value, sizes, scales, attributes)
    if repeated is not None:
        return rw.emit("top.Upsample", value, scale_h=repeated[0], scale_w=repeated[1], layout="NCHW")
    if len(shape) >= 3 and changed[0] >= 2:
        spatial, order = list(range(2, len(shape))), None
        if len(shape) == 3:
            spatial = [2]
        work = value
    else:
        rest = [axis for axis in range(len(shape)) if axis not in changed]
        order, spatial = [*rest, *changed], changed
        work = permute(rw, value, order)
        work = reshape(rw, work, (1, math.prod(shape[axis] for axis in rest), *(shape[axis] for axis in changed)))
    if scales is not None:
        attributes["scales"] = tuple(float(scales[axis]) for axis in spatial)
    result = rw.emit("top.Interp", work, sizes=tuple(sizes[axis] for axis in spatial), layout="NCHW", **attributes)
    if order is None:
        return result
    result = reshape(rw, result, [sizes[axis] for axis in order])
    return permute(rw, result, [order.index(axis) for axis in range(len(order))])


def _repeats(
    value: Value, sizes: Sequence[int], scales: Sequence[float] | None, attributes: dict[str, Any],
) -> tuple[int, int] | None:
    """How often rows and columns of [N, C, H, W] are repeated, where that is all that is done."""
    shape = shape_of(value)
    if attributes["mode"] != "nearest" or len(shape) != 4 or tuple(sizes[:2]) != shape[:2] or attributes.get("antialias"):
        return None
    factors = []
    for axis in (2, 3):
        factor, rest = divmod(sizes[axis], shape[axis])
        scale = sizes[axis] / shape[axis] if scales is None else scales[axis]
        if rest or scale != factor:
            return None
        places = counted(sizes[axis])
        x = _coordinates(str(attributes["coord_mode"]), places, shape[axis], sizes[axis], scale)
        if x is None:
            return None
        where = nearest(str(attributes["nearest_mode"]), x, scales is not None)
        if (np.clip(where, 0, shape[axis] - 1) != places // factor).any():
            return None
        factors.append(factor)
    return factors[0], factors[1]


def _coordinates(mode: str, places: np.ndarray, size: int, result: int, scale: float) -> np.ndarray | None:
    """Where output places lie in the input, for the modes by which repeating can be meant."""
    if mode == "asymmetric":
        return places / scale
    if mode in ("half_pixel", "half_pixel_symmetric") or (mode == "pytorch_half_pixel" and result > 1):
        return (places + 0.5) / scale - 0.5
    if mode == "tf_half_pixel_for_nn":
        return (places + 0.5) / scale
    return None

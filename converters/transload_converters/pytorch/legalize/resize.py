"""Resizing of images, and reading them between their pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from transload.errors import Unsupported
from transload.ir import Value
from transload.rewrite import Rewriter
from transload_hub.sampling import affine_grid, grid_sampled

from .table import AtenTable, Call, pairs, shape_of

TABLE = AtenTable()

_KINDS = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def _names() -> tuple[str, ...]:
    plain = [f"upsample_{kind}.{overload}" for kind in (
        "nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d", "bicubic2d")
        for overload in ("default", "vec")]
    exact = [f"_upsample_nearest_exact{n}d.{overload}" for n in (1, 2, 3) for overload in ("default", "vec")]
    smooth = [f"_upsample_{kind}2d_aa.{overload}" for kind in ("bilinear", "bicubic") for overload in ("default", "vec")]
    return (*plain, *exact, *smooth)


@TABLE(*_names(), stored="carried")
def upsample(call: Call, rw: Rewriter) -> Value:
    """Resized by the nearest pixel, or between two or four along each dimension."""
    value = call.get("input") or call.self
    name = call.base.removeprefix("_").removeprefix("upsample_")
    exact, smooth = name.startswith("nearest_exact"), name.endswith("_aa")
    kind = "nearest" if name.startswith("nearest") else name.removesuffix("_aa")[:-2]
    sizes = shape_of(value, 2 + next(int(letter) for letter in name if letter.isdigit()))[2:]
    given = call.output_size
    scales = call.get("scale_factors") if call.overload == "vec" else _scales(call, len(sizes))
    if scales is not None and any(scale is not None and not 0 < scale < math.inf for scale in scales):
        raise Unsupported(f"resizes by the scales {list(scales)}, of which some are no finite numbers above 0")
    if given is None:
        if scales is None:
            raise Unsupported("is given neither a size nor scales")
        given = tuple(math.floor(size * scale) for size, scale in pairs(sizes, scales, "sizes and scales"))
    ways = pairs(sizes, given, "sizes and output_size")
    if 0 in (*sizes, *given):
        raise Unsupported(f"resizes {list(sizes)} to {list(given)}")
    align = call.get("align_corners", False)
    if tuple(given) == sizes and (smooth or scales is None or set(scales) == {1.0}):
        return value
    if scales is not None and None not in scales and not smooth and not exact and kind != "bicubic":
        scales = _copying_scales(ways, scales, kind == "nearest")
    times = [to // size if to % size == 0 else 0 for size, to in ways]
    by_times = scales is None or all(
        scale is None or scale == time for scale, time in pairs(scales, times, "scales and sizes"))
    if kind == "nearest" and len(sizes) == 2 and all(times) and by_times:
        return rw.emit("top.Upsample", value, scale_h=times[0], scale_w=times[1], layout="NCHW")
    attributes: dict[str, Any] = {"mode": _KINDS[kind]}
    if kind == "nearest":
        attributes |= {"coord_mode": "half_pixel", "nearest_mode": "round_prefer_ceil"} if exact else (
            {"coord_mode": "asymmetric", "nearest_mode": "floor"})
    else:
        attributes["coord_mode"] = "align_corners" if align else "half_pixel"
    if kind == "bicubic":
        attributes["cubic_coeff"] = -0.5 if smooth else -0.75
    if smooth:
        attributes |= {"antialias": True, "exclude_outside": True, "coord_mode": "half_pixel"}
        scales = _smooth_scales(ways, scales, align)
    if scales is not None and (smooth or not align) and all(scale is not None for scale in scales):
        attributes["scales"] = tuple(map(float, scales))
    return rw.emit("top.Interp", value, sizes=tuple(given), layout="NCHW", **attributes)


def _copying_scales(ways: Sequence[tuple[int, int]], scales: Sequence[float], nearest: bool) -> tuple[float, ...]:
    """The scales by which places are found: where a dimension keeps its size it is copied, whatever its scale is, and where it
    doubles the nearest are its own twice (ATen's UpSample.h: nearest_idx and compute_source_index_and_lambda)."""
    return tuple(1.0 if to == size else 2.0 if nearest and to == 2 * size else float(scale)
                 for (size, to), scale in pairs(ways, scales, "sizes and scales"))


_FIRST_EDGE = 2.0**30
"""A scale by which place 0 is read at the coordinate -0.5 in single precision, the first element's edge."""


def _smooth_scales(
    ways: Sequence[tuple[int, int]], scales: Sequence[float | None] | None, align: bool,
) -> tuple[float, ...] | None:
    """The scales of an antialiased resize, which reads place o at `(o + 0.5)/s - 0.5` also where corners are aligned.

    Aligned, s is `(out-1)/(in-1)`, and where one place is made, it is read at the edge of the first element. Dimensions
    whose size stays are left alone, whatever their scale (ATen's UpSampleKernel.cpp: separable_upsample_generic_Nd and
    compute_indices_min_size_weights_aa).
    """
    if align:
        return tuple(1.0 if to == size else _FIRST_EDGE if to == 1 else (to - 1) / (size - 1) if size > 1 else float(to)
                     for size, to in ways)
    if scales is None or None in scales:
        return None
    return tuple(1.0 if to == size else float(scale or 0) for (size, to), scale in zip(ways, scales, strict=True))


def _scales(call: Call, n: int) -> tuple[float, ...] | None:
    names = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}[n]
    found = tuple(call.get(name) for name in names)
    return None if None in found else found


# --- sampling


_MODES = ("linear", "nearest", "cubic")
_PADDINGS = ("zeros", "border", "reflection")


@TABLE("grid_sampler.default", "grid_sampler_2d.default", "grid_sampler_3d.default", "_grid_sampler_2d_cpu_fallback.default")
def grid_sampler(call: Call, rw: Rewriter) -> Value:
    """Images read at places of a grid: gathers of whole pixels, weighted."""
    if call.interpolation_mode not in range(len(_MODES)) or call.padding_mode not in range(len(_PADDINGS)):
        raise Unsupported(f"has the interpolation_mode {call.interpolation_mode} and the padding_mode {call.padding_mode}")
    return grid_sampled(rw, call.input, call.grid, _MODES[call.interpolation_mode], _PADDINGS[call.padding_mode],
                        bool(call.align_corners))


@TABLE("affine_grid_generator.default")
def affine_grid_generator(call: Call, rw: Rewriter) -> Value:
    """The places of an image's pixels, moved by a matrix."""
    return affine_grid(rw, call.theta, call.size[2:], bool(call.align_corners), alone=0.0)

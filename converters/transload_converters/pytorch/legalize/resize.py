"""Resizing of images, and reading them between their pixels."""

from __future__ import annotations

import math
from typing import Any

from transload.errors import Unsupported
from transload.ir import I32, Value
from transload.rewrite import Rewriter

from .movement import slice_along
from .table import AtenTable, Call, cast, number_like, pairs, permute, reshape, shape_of

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
    sizes = shape_of(value)[2:]
    given = call.output_size
    scales = call.get("scale_factors") if call.overload == "vec" else _scales(call, len(sizes))
    if given is None:
        if scales is None:
            raise Unsupported("is given neither a size nor scales")
        given = tuple(math.floor(size * scale) for size, scale in pairs(sizes, scales, "sizes and scales"))
    ways = pairs(sizes, given, "sizes and output_size")
    if 0 in (*sizes, *given):
        raise Unsupported(f"resizes {list(sizes)} to {list(given)}")
    align = call.get("align_corners", False)
    if tuple(given) == sizes and (scales is None or set(scales) == {1.0}):
        return value
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
        attributes |= {"antialias": True, "exclude_outside": True}
    if scales is not None and not align and all(scale is not None for scale in scales):
        attributes["scales"] = tuple(map(float, scales))
    return rw.emit("top.Interp", value, sizes=tuple(given), layout="NCHW", **attributes)


def _scales(call: Call, n: int) -> tuple[float, ...] | None:
    names = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}[n]
    found = tuple(call.get(name) for name in names)
    return None if None in found else found


# --- sampling


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@TABLE("grid_sampler.default", "grid_sampler_2d.default", "grid_sampler_3d.default", "_grid_sampler_2d_cpu_fallback.default")
def grid_sampler(call: Call, rw: Rewriter) -> Value:
    """Images read at places of a grid: gathers of whole pixels, weighted."""
    if call.interpolation_mode not in range(len(_MODES)) or call.padding_mode not in range(len(_PADDINGS)):
        raise Unsupported(f"has the interpolation_mode {call.interpolation_mode} and the padding_mode {call.padding_mode}")
    mode, padding = _MODES[call.interpolation_mode], _PADDINGS[call.padding_mode]
    n = len(shape_of(call.input)) - 2
    if n not in (2, 3):
        raise Unsupported(f"reads a tensor of shape {list(shape_of(call.input))}")
    batch, channels, *sizes = shape_of(call.input)
    _, *made, _ = shape_of(call.grid, n + 2)
    points, total = math.prod(made), math.prod(sizes)
    pixels = permute(rw, reshape(rw, call.input, (batch, channels, total)), (0, 2, 1))
    flat = reshape(rw, call.grid, (batch, points, n))
    places = []
    for axis, size in enumerate(sizes):  # the grid names the last dimension first
        place = reshape(rw, slice_along(rw, flat, 2, n - 1 - axis, n - axis), (batch, points))
        places.append(_unscaled(rw, place, size, bool(call.align_corners)))
    taps = {"nearest": _nearest, "bilinear": _linear, "bicubic": _cubic}[mode]
    if mode != "bicubic":
        places = [_kept(rw, place, size, bool(call.align_corners), padding) for place, size in zip(places, sizes, strict=True)]
    axes = [taps(rw, place) for place in places]
    terms = []
    for corner in _corners(axes):
        at = [_kept(rw, place, size, bool(call.align_corners), padding) if mode == "bicubic" else place
              for (place, _), size in zip(corner, sizes, strict=True)]
        terms.append(_taken(rw, pixels, at, [weight for _, weight in corner], sizes, points))
    total_of = terms[0] if len(terms) == 1 else rw.emit("top.Add", *terms)
    return reshape(rw, permute(rw, total_of, (0, 2, 1)), (batch, channels, *made))


Tap = tuple[Value, Value | None]


def _corners(axes: list[list[Tap]]) -> list[list[Tap]]:
    """Every choice of one tap of each axis."""
    found: list[list[Tap]] = [[]]
    for taps in axes:
        found = [[*corner, tap] for corner in found for tap in taps]
    return found


def _unscaled(rw: Rewriter, place: Value, size: int, align: bool) -> Value:
    """Places from -1 to 1 as numbers of pixels."""
    moved = rw.emit("top.AddConst", place, const_val=1.0)
    if align:
        return rw.emit("top.MulConst", moved, const_val=(size - 1) / 2)
    return rw.emit("top.AddConst", rw.emit("top.MulConst", moved, const_val=size / 2), const_val=-0.5)


def _kept(rw: Rewriter, pixel: Value, size: int, align: bool, padding: str) -> Value:
    """Moved into the image, by the padding."""
    if padding == "zeros":
        return pixel
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        span = high - low
        if not span:
            pixel = rw.emit("top.MulConst", pixel, const_val=0.0)
        else:
            away = rw.emit("top.Abs", rw.emit("top.AddConst", pixel, const_val=-low))
            turned = rw.emit("top.FloorMod", away, number_like(rw, 2 * span, away.element))
            folded = rw.emit("top.Neg", rw.emit("top.Abs", rw.emit("top.AddConst", turned, const_val=-span)))
            pixel = rw.emit("top.AddConst", folded, const_val=span + low)
    return rw.emit("top.Clip", pixel, min=0.0, max=size - 1.0)


def _nearest(rw: Rewriter, pixel: Value) -> list[Tap]:
    return [(rw.emit("top.Round", pixel), None)]


def _linear(rw: Rewriter, pixel: Value) -> list[Tap]:
    """The pixels on both sides, each weighted by how far the other is."""
    before = rw.emit("top.Floor", pixel)
    after = rw.emit("top.AddConst", before, const_val=1.0)
    return [(before, rw.emit("top.Sub", after, pixel)), (after, rw.emit("top.Sub", pixel, before))]


def _cubic(rw: Rewriter, pixel: Value) -> list[Tap]:
    """Four pixels, weighted by cubic convolution with -0.75."""
    before = rw.emit("top.Floor", pixel)
    part = rw.emit("top.Sub", pixel, before)
    a = -0.75

    def polynomial(x: Value, *coefficients: float) -> Value:
        made = number_like(rw, coefficients[0], x.element)
        for coefficient in coefficients[1:]:
            made = rw.emit("top.AddConst", rw.emit("top.Mul", made, x), const_val=coefficient)
        return made

    taps: list[Tap] = []
    for offset in (-1, 0, 1, 2):
        away = rw.emit("top.Abs", rw.emit("top.AddConst", part, const_val=-float(offset)))
        near = offset in (0, 1)
        weight = polynomial(away, a + 2, -(a + 3), 0.0, 1.0) if near else polynomial(away, a, -5 * a, 8 * a, -4 * a)
        taps.append((rw.emit("top.AddConst", before, const_val=float(offset)), weight))
    return taps


def _taken(
    rw: Rewriter, pixels: Value, places: list[Value], weights: list[Value | None], sizes: list[int], points: int,
) -> Value:
    """The pixels at whole places, zero outside the image, times their weights."""
    batch = shape_of(pixels)[0]
    number: Value | None = None
    inside: Value | None = None
    for place, size in zip(places, sizes, strict=True):
        there = rw.emit("top.LogicalAnd",
                        rw.emit("top.Compare", place, number_like(rw, 0.0, place.element), mode="GreaterOrEqual"),
                        rw.emit("top.Compare", place, number_like(rw, size - 1.0, place.element), mode="LessOrEqual"))
        inside = there if inside is None else rw.emit("top.LogicalAnd", inside, there)
        whole = cast(rw, rw.emit("top.Clip", place, min=0.0, max=size - 1.0), I32)
        number = whole if number is None else rw.emit(
            "top.Add", rw.emit("top.Mul", number, number_like(rw, size, I32)), whole)
    taken = rw.emit("top.Gather", pixels, number, axis=1, batch_dims=1)
    weight: Value | None = None
    for each in weights:
        if each is not None:
            weight = each if weight is None else rw.emit("top.Mul", weight, each)
    zero, one = (number_like(rw, n, taken.element) for n in (0.0, 1.0))
    factor = rw.emit("top.Where", inside, one if weight is None else weight, zero)
    return rw.emit("top.Mul", taken, reshape(rw, factor, (batch, points, 1)))


@TABLE("affine_grid_generator.default")
def affine_grid(call: Call, rw: Rewriter) -> Value:
    """The places of an image's pixels, moved by a matrix."""
    import numpy as np

    batch, _, *sizes = call.size
    n = len(sizes)
    lines = [np.linspace(-1, 1, size) if call.align_corners else (np.arange(size) * 2 + 1) / size - 1 for size in sizes]
    if call.align_corners:
        lines = [np.zeros(1) if size == 1 else line for size, line in zip(sizes, lines, strict=True)]
    grid = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(sizes)], axis=-1).reshape(-1, n + 1)
    made = rw.emit("top.MatMul", rw.constant(grid.astype(np.float32)[None]), call.theta, right_transpose=True)
    return reshape(rw, made, (batch, *sizes, n))

"""Quantization as pt2e leaves it: integers between quantize and dequantize, which are tensors of a quantized type in the hub."""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, IntegerType, QuantType, Type, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables

from .table import AtenTable, Call, cast, shape_of

TABLE = AtenTable()

_Q = "quantized_decomposed"


def _numbers(rw: Rewriter, given: object, what: str) -> np.ndarray:
    """Scales or zero points, which must be known."""
    return np.asarray(rw.need_constant(given, what) if isinstance(given, Value) else given).reshape(-1)


def _kind(call: Call, rw: Rewriter, storage: Type) -> QuantType:
    """The quantized type of a call: one scale, or one for each index of an axis."""
    if not isinstance(storage, IntegerType):
        raise Unsupported(f"is quantized to {storage}", "integers can be converted")
    several = "per_channel" in call.base
    scales = _numbers(rw, call.get("scales") if several else call.scale, "the scales").astype(np.float64)
    zeros = call.get("zero_points") if several else call.zero_point
    points = np.zeros(1, np.int64) if zeros is None else _numbers(rw, zeros, "the zero points")
    if not (points == np.round(points)).all():
        raise Unsupported("has zero points that are no whole numbers")
    low, high = (int(_numbers(rw, call.get(name), name)[0]) for name in ("quant_min", "quant_max"))
    least, most = storage.range
    axis, count = _channels(call) if several else (None, 1)
    if len(scales) != count or len(points) not in (1, count):
        raise Unsupported(f"has {len(scales)} scales and {len(points)} zero points, and must have {count}")
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise Unsupported("has a scale that is not positive and finite")
    low, high = max(low, least), min(high, most)
    if low >= high or (points < low).any() or (points > high).any():
        raise Unsupported(f"its zero points do not lie from {low} to {high}")
    return QuantType(storage, F32, tuple(scales.tolist()), tuple(int(p) for p in points), axis, low, high)


def _channels(call: Call) -> tuple[int, int]:
    """The axis of scales, and how many there must be."""
    sizes, axis = shape_of(call.input), call.axis
    if not -len(sizes) <= axis < len(sizes):
        raise Unsupported(f"axis {axis} is outside a tensor of rank {len(sizes)}")
    return axis % len(sizes), sizes[axis]


@TABLE(f"{_Q}.quantize_per_tensor.default", f"{_Q}.quantize_per_tensor.tensor", f"{_Q}.quantize_per_tensor.tensor2",
       f"{_Q}.quantize_per_channel.default", stored="native")
def quantize(call: Call, rw: Rewriter) -> Value:
    """Real numbers become integers, halves to the even one."""
    kind = _kind(call, rw, call.dtype)
    value = cast(rw, call.input, F32)
    if kind.per_tensor:
        return rw.emit("top.Cast", value, element=kind, round_mode="HalfToEven")
    known = rw.need_constant(value, "what is quantized per channel")
    spread = [-1 if axis == kind.axis else 1 for axis in range(known.ndim)]
    scales, points = kind.scale_array.reshape(spread), np.array(kind.zero_points).reshape(spread)
    stored = np.clip(np.round(known / scales) + points, kind.storage_min, kind.storage_max)
    return rw.constant(stored.astype(dtype_of(kind.storage)), element=kind)


@TABLE(f"{_Q}.dequantize_per_tensor.default", f"{_Q}.dequantize_per_tensor.tensor", f"{_Q}.dequantize_per_tensor.tensor2",
       f"{_Q}.dequantize_per_channel.default", stored="native")
def dequantize(call: Call, rw: Rewriter) -> Value:
    """Integers become real numbers; a weight stays visible as the integers that it is."""
    value = call.input
    quant = value.quant
    kind = _kind(call, rw, quant.storage if quant is not None else value.element)
    if quant is None:
        dense = rw.constant_of(value)
        value = rw.constant(dense, element=kind) if dense is not None else rw.emit("top.Bitcast", value, element=kind)
    elif quant != kind:
        value = rw.emit("top.Bitcast", value, element=kind)
    fold, rw.fold = rw.fold, False
    try:
        return rw.emit("top.Cast", value, element=call.element)
    finally:
        rw.fold = fold


@TABLE(f"{_Q}.dequantize_per_channel_group.default", stored="native")
def dequantize_groups(call: Call, rw: Rewriter) -> Value:
    """A weight with a scale for each group of columns, as real numbers."""
    stored = np.asarray(rw.need_constant(call.w_int8 if call.get("w_int8") is not None else call.w, "the weight"))
    scales = np.asarray(rw.need_constant(call.scales, "the scales"))
    points = call.zero_points
    known = scales if points is None else np.asarray(rw.need_constant(points, "the zero points"))
    if stored.ndim != 2 or not scales.size or scales.size % stored.shape[0] or known.size != scales.size:
        raise Unsupported(f"has {scales.size} scales and {known.size} zero points for a weight of shape {list(stored.shape)}")
    scales = scales.reshape(stored.shape[0], -1)
    zeros = np.zeros_like(scales) if points is None else known.reshape(scales.shape)
    size = call.group_size
    if size < 1 or scales.shape[1] * size != stored.shape[1]:
        raise Unsupported(f"has {scales.shape[1]} groups of {size} for {stored.shape[1]} columns")
    real = (stored - tables.repeat(zeros, size, 1)) * tables.repeat(scales, size, 1)
    return cast(rw, rw.constant(real.astype(np.float32)), call.element)


@TABLE(f"{_Q}.fake_quant_per_channel.default")
def fake_quant(call: Call, rw: Rewriter) -> Value:
    """Rounded to what integers could hold, and real again."""
    raise Unsupported("rounds as in training with quantization", "convert_pt2e makes quantized operators of it")


"""Quantization as pt2e leaves it: integers between quantize and dequantize, which are tensors of a quantized type in the hub."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, IntegerType, QuantType, Type, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables

from .table import AtenTable, Call, cast, number_like, pairs, reshape, shape_of, splat

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


# --- torchao: a scale for each block of a tensor, of weights or of what comes when the network runs


def _in_blocks(rw: Rewriter, value: Value, sizes: tuple[int, ...]) -> tuple[Value, list[int]]:
    """A tensor with each dimension taken apart into blocks and places in them, and the shape of one number for each block."""
    shape = shape_of(value)
    sizes = tuple(size if block == -1 else block for block, size in pairs(sizes, shape, "block_size and the tensor's sizes"))
    if any(block < 1 or size % block for block, size in zip(sizes, shape, strict=True)):
        raise Unsupported(f"has blocks of {list(sizes)} in a tensor of shape {list(shape)}")
    apart = [part for block, size in zip(sizes, shape, strict=True) for part in (size // block, block)]
    return reshape(rw, value, apart), [n if i % 2 == 0 else 1 for i, n in enumerate(apart)]


@TABLE("torchao.dequantize_affine.default", "torchao.quantize_affine.default")
def affine(call: Call, rw: Rewriter) -> Value:
    """Integers from real numbers and back, with a scale and a zero point for each block."""
    back = call.base == "dequantize_affine"
    blocks, grid = _in_blocks(rw, cast(rw, call.input, F32), call.block_size)
    scale = cast(rw, reshape(rw, call.scale, grid), F32)
    point = None if call.zero_point is None else cast(rw, reshape(rw, call.zero_point, grid), F32)
    if back:
        centred = blocks if point is None else rw.emit("top.Sub", blocks, point)
        return cast(rw, reshape(rw, rw.emit("top.Mul", centred, scale), shape_of(call.input)), call.element)
    steps = rw.emit("top.Round", rw.emit("top.Mul", blocks, rw.emit("top.Div", number_like(rw, 1.0, F32), scale)))
    steps = steps if point is None else rw.emit("top.Add", steps, point)
    low, high = _ends(call, call.element)
    return cast(rw, reshape(rw, rw.emit("top.Clip", steps, min=low, max=high), shape_of(call.input)), call.element)


def _ends(call: Call, element: Type) -> tuple[float, float]:
    """Between which integers a tensor is quantized."""
    if not isinstance(element, IntegerType):
        raise Unsupported(f"is quantized to {element}", "integers can be converted")
    low, high = element.range
    return float(low if call.quant_min is None else call.quant_min), float(high if call.quant_max is None else call.quant_max)


@TABLE("torchao.choose_qparams_affine.default")
def choose(call: Call, rw: Rewriter) -> list[Value]:
    """The scale and the zero point of each block, from its least and greatest number."""
    if call.mapping_type not in ("SYMMETRIC", "ASYMMETRIC"):
        raise Unsupported(f"chooses scales by {call.mapping_type}")
    if call.input is None:
        raise Unsupported("chooses scales of no tensor", "torchao's observers give it one")
    if not call.input.is_float:
        raise Unsupported(f"chooses scales of numbers of {call.input.element}, which are no floats")
    low, high = _ends(call, call.target_dtype)
    blocks, _ = _in_blocks(rw, cast(rw, call.input, F32), call.block_size)
    axes, zero = tuple(range(1, blocks.rank, 2)), number_like(rw, 0.0, F32)
    least = rw.emit("top.Min", rw.emit("top.Reduce", blocks, axes=axes, keepdims=False, mode="ReduceMin"), zero)
    most = rw.emit("top.Max", rw.emit("top.Reduce", blocks, axes=axes, keepdims=False, mode="ReduceMax"), zero)
    symmetric = call.mapping_type == "SYMMETRIC"
    span = rw.emit("top.Max", rw.emit("top.Neg", least), most) if symmetric else rw.emit("top.Sub", most, least)
    scale = rw.emit("top.Div", span, number_like(rw, (high - low) / (2 if symmetric else 1), F32))
    eps = float(ml_dtypes.finfo(dtype_of(call.input.element)).eps) if call.eps is None else call.eps
    scale = rw.emit("top.Max", scale, number_like(rw, eps, F32))
    results = call.op.results
    if symmetric:
        point = splat(rw, (high + low + 1) // 2, shape_of(results[1]), results[1].element)
    else:
        point = rw.emit("top.Sub", number_like(rw, low, F32), rw.emit("top.Round", rw.emit("top.Div", least, scale)))
        point = rw.emit("top.Clip", point, min=low, max=high)
    return [cast(rw, reshape(rw, value, shape_of(result)), result.element)
            for value, result in zip((scale, point), results, strict=True)]


@TABLE(f"{_Q}.fake_quant_per_channel.default")
def fake_quant(call: Call, rw: Rewriter) -> Value:
    """Rounded to what integers could hold, and real again."""
    raise Unsupported("rounds as in training with quantization", "convert_pt2e makes quantized operators of it")


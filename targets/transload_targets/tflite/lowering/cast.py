"""CAST, QUANTIZE, DEQUANTIZE, BITCAST."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F16, F32, I8, I16, I32, UI8, FloatType, IntegerType, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.requantizing import COUNTED, meant, rescaled
from transload_hub.scales import nudged

from .common import LITERT_ROUNDING, between, constant, emit, need_rounding, retyped

if TYPE_CHECKING:
    from transload_hub.ops.cast import Bitcast, Cast

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Cast")
def quantizing(op: Cast, rw: Rewriter) -> Value | None:
    """QUANTIZE and DEQUANTIZE."""
    source, target = op.input.element, op.output.element
    if isinstance(target, QuantType):
        if isinstance(source, QuantType):
            return _requantized(op, rw, source, target)
        up = op.round_mode == "HalfUp" and rw.options.get("rounding") != "litert"
        if not up and op.round_mode != "HalfAwayFromZero" and rw.options.get("rounding") != "litert":
            raise Unsupported(
                f"it rounds {op.round_mode}, and LiteRT's QUANTIZE halves away from zero",
                LITERT_ROUNDING)
        value = op.input if isinstance(source, FloatType) else emit(rw, "cast", op.input, like=op.input, element=F32)
        if value.element != F32:
            value = emit(rw, "cast", value, like=value, element=F32)
        return emit(rw, "quantize", _on_steps(rw, value, target) if up else value, like=op.output)
    if not isinstance(source, QuantType):
        return None
    kept = _still_real(op.input)
    value = kept if kept is not None else emit(rw, "dequantize", op.input, like=op.output, element=F32)
    if target == F32:
        return value
    if isinstance(target, IntegerType):
        raise Unsupported(f"a cast of {source} to {target}", "cast to float before")
    return emit(rw, "cast", value, like=op.output)


def _requantized(op: Cast, rw: Rewriter, source: QuantType, target: QuantType) -> Value:
    """QUANTIZE of quantized numbers, which rounds twice, halves away from zero: where that is not what the cast's `round_mode`
    makes of each number, FAKE_QUANT of the real ones for halves that go up."""
    if op.round_mode == "HalfAwayFromZero":
        if _is_exact_shift(op, source, target):
            # SUB shifts an operand whose step is a power of two of the result's, and rounds halves away from zero
            zero = constant(rw, np.int16(0), target)
            return emit(rw, "sub", op.input, zero, like=op.output, pot_scale_int16=True)
        need_rounding(op, rw, "double", operator="QUANTIZE")
    elif rw.options.get("rounding") != "litert" and not _is_quantize(op, source, target):
        if op.round_mode != "HalfUp":
            raise Unsupported(
                f"it rounds {op.round_mode}, and LiteRT's QUANTIZE twice, halves away from zero", LITERT_ROUNDING)
        real = emit(rw, "dequantize", op.input, like=op.output, element=F32)
        return emit(rw, "quantize", _on_steps(rw, real, target), like=op.output)
    return retyped(rw, op.input, target)


def _is_quantize(op: Cast, source: QuantType, target: QuantType) -> bool:
    """Whether QUANTIZE gives what a cast means, of whatever number of its operand."""
    return source.per_tensor and target.per_tensor and source.storage.width <= COUNTED and bool(
        (meant(op) == rescaled(source, target)).all())


def _on_steps(rw: Rewriter, value: Value, target: QuantType) -> Value:
    """Numbers rounded to the steps of a type, halves up, as FAKE_QUANT does: then QUANTIZE, which rounds otherwise, has none.

    Types are those of all integers of 8 or 16 bits: from narrower ones what is beyond is cut off behind (`narrow`).
    """
    (least, most), bits = target.storage.range, target.storage.width
    if target.per_tensor:
        low, high = (np.float32((end - target.zero_point) * target.scale) for end in (least, most))
        scale, point = nudged(low, high, 0, most - least)
        if point == target.zero_point - least and np.isclose(scale, target.scale, 1e-6, 0):
            return emit(rw, "fake_quant", value, like=value, min=float(low), max=float(high), num_bits=bits)
    raise Unsupported(
        f"it rounds halves up, as FAKE_QUANT does, which rounds to no {target}, and LiteRT's QUANTIZE takes them away from zero",
        LITERT_ROUNDING)


def _still_real(value: Value) -> Value | None:
    """What FAKE_QUANT gave of the numbers that are quantized and real again: those already; None where it gave none."""
    quantized = value.op if value.op is not None and value.op.name == "tfl.quantize" else None
    made = quantized.operands[0] if quantized is not None else None
    return made if made is not None and made.op is not None and made.op.name == "tfl.fake_quant" else None


def _is_exact_shift(op: Cast, source: QuantType, target: QuantType) -> bool:
    """Whether a cast rounds exactly by a power of two that LiteRT's SUB of 16 bits shifts by."""
    if str(op.attribute("rounding")) != "exact" or not all(
            type_.storage == I16 and type_.per_tensor and not any(type_.zero_points) for type_ in (source, target)):
        return False
    step = math.frexp(source.scale)[0]
    return step == math.frexp(target.scale)[0] == 0.5 and 0 < math.log2(target.scale / source.scale) <= 15


@TABLE("top.Cast")
def cast(op: Cast, rw: Rewriter) -> Value:
    """CAST: floats lose their fraction; other roundings come before it. float16 constants are widened by DEQUANTIZE."""
    value = op.input
    source, target = value.element, op.output.element
    if source == target:
        return value
    if isinstance(source, FloatType) and target == BOOL:
        return emit(rw, "not_equal", value, constant(rw, np.float32(0)), like=op.output)
    if isinstance(source, FloatType) and isinstance(target, IntegerType) and op.round_mode != "Trunc":
        if op.round_mode != "HalfToEven":
            raise Unsupported(f"it rounds {op.round_mode}", "round before the cast")
        value = emit(rw, "round", value, like=value)
    if source == F16 and target == F32 and value.op is not None and value.op.name == "tfl.pseudo_const":
        return emit(rw, "dequantize", value, like=op.output)
    if isinstance(value.element, FloatType) and target in (I8, UI8) and not op.saturate:
        value = emit(rw, "cast", value, like=value, element=I32)  # LiteRT saturates floats; of integers it drops the high bits
    if op.saturate and all(isinstance(each, IntegerType) and each != BOOL for each in (source, target)):
        value = between(rw, value, *target.range)  # type: ignore[attr-defined]  # LiteRT drops the high bits
    return emit(rw, "cast", value, like=op.output)


@TABLE("top.Bitcast")
def bitcast(op: Bitcast, rw: Rewriter) -> Value:
    """BITCAST."""
    return emit(rw, "bitcast", op.input, like=op.output)

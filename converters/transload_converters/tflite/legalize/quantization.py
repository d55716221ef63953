"""CAST, QUANTIZE, DEQUANTIZE, FAKE_QUANT, BITCAST."""

from __future__ import annotations

import math

from transload.errors import Unsupported
from transload.ir import F32, UI8, UI16, FloatType, Op, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.cast import width_of
from transload_hub.scales import nudged

from .common import emit_like
from .storage import plain_integers

TABLE = RewriteTable()


@TABLE("tfl.quantize", "tfl.dequantize")
def quantize(op: Op, rw: Rewriter) -> Value:
    """QUANTIZE, DEQUANTIZE: real to stored numbers, stored to real ones, or from one quantization to another."""
    given, made = op.operands[0].element, op.results[0].element
    if not all(isinstance(element, (FloatType, QuantType)) for element in (given, made)):
        raise Unsupported(f"it makes {made} of {given}, and both have to be floats or quantized")
    return emit_like(rw, op, "top.Cast", op.operands[0])


@TABLE("tfl.cast")
@plain_integers
def cast(op: Op, rw: Rewriter) -> Value:
    """CAST: floats become integers by leaving off the fraction, and saturate; integers, as they are stored, wrap round."""
    return emit_like(rw, op, "top.Cast", op.operands[0], saturate=True if op.operands[0].is_float else None)


@TABLE("tfl.fake_quant")
def fake_quant(op: Op, rw: Rewriter) -> Value:
    """FAKE_QUANT: quantized and back, halves up; the range is moved so that 0 is one of the steps.

    Its kernel counts steps from the range's lower end on, by which numbers that a float32 hardly tells from a half may be a
    half there.
    """
    bits, low, high = op.attribute("num_bits"), op.attribute("min"), op.attribute("max")
    if not 2 <= bits <= 16 or not -math.inf < low <= 0 <= high < math.inf or low == high:
        raise Unsupported(f"a range {low} to {high} in {bits} bits cannot be quantized")
    first, last = int(op.attribute("narrow_range")), (1 << bits) - 1
    scale, zero_point = nudged(low, high, first, last)
    if not 0 < scale < math.inf:
        raise Unsupported(f"a range {low} to {high} in {bits} bits has steps of {scale} in float32")
    storage = UI8 if bits <= 8 else UI16
    element = QuantType(storage, F32, (float(scale),), (int(zero_point),), None, first, last)
    held = rw.emit("top.Cast", op.operands[0], element=element, round_mode="HalfUp")
    return rw.emit("top.Cast", held, element=op.results[0].element)


@TABLE("tfl.bitcast")
def bitcast(op: Op, rw: Rewriter) -> Value:
    """BITCAST between types of one width."""
    source, target = op.operands[0].element, op.results[0].element
    if width_of(source) != width_of(target):
        raise Unsupported(
            f"it reads the bits of {source} as {target}, which has another width",
            "compute with the numbers instead of their bits")
    return emit_like(rw, op, "top.Bitcast", op.operands[0])

"""CAST, QUANTIZE, DEQUANTIZE, FAKE_QUANT, BITCAST."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import F32, UI8, UI16, IntegerType, Op, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import emit_like, is_float

TABLE = RewriteTable()


@TABLE("tfl.quantize", "tfl.dequantize")
def quantize(op: Op, rw: Rewriter) -> Value:
    """QUANTIZE, DEQUANTIZE: real to stored numbers, stored to real ones, or from one quantization to another."""
    return emit_like(rw, op, "top.Cast", op.operands[0])


@TABLE("tfl.cast")
def cast(op: Op, rw: Rewriter) -> Value:
    """CAST: floats become integers by leaving off the fraction, and saturate; integers wrap round."""
    for element in (op.operands[0].element, op.results[0].element):
        if isinstance(element, QuantType):
            raise Unsupported(
                f"CAST reads or makes stored integers of {element} as if they were plain ones",
                "use QUANTIZE or DEQUANTIZE instead")
    return emit_like(rw, op, "top.Cast", op.operands[0], saturate=True if is_float(op.operands[0]) else None)


@TABLE("tfl.fake_quant")
def fake_quant(op: Op, rw: Rewriter) -> Value:
    """FAKE_QUANT: quantized and back; the range is moved so that 0 is one of the steps.

    Source: `tensorflow/lite/kernels/internal/quantization_util.cc`, NudgeQuantizationRange.
    """
    bits, low, high = op.attribute("num_bits"), op.attribute("min"), op.attribute("max")
    if not 2 <= bits <= 16 or not low <= 0 <= high or low == high:
        raise Unsupported(f"a range {low} to {high} in {bits} bits cannot be quantized")
    first, last = int(op.attribute("narrow_range")), (1 << bits) - 1
    scale = (high - low) / (last - first)
    zero_point = min(max(round(first - low / scale), first), last)
    storage = UI8 if bits <= 8 else UI16
    element = QuantType(storage, F32, (scale,), (zero_point,), None, first, last)
    return rw.emit("top.Cast", rw.emit("top.Cast", op.operands[0], element=element), element=op.results[0].element)


@TABLE("tfl.bitcast")
def bitcast(op: Op, rw: Rewriter) -> Value:
    """BITCAST between integers of one width, which wrap round."""
    source, target = op.operands[0].element, op.results[0].element
    if isinstance(source, IntegerType) and isinstance(target, IntegerType) and source.width == target.width:
        return emit_like(rw, op, "top.Cast", op.operands[0])
    raise Unsupported(
        f"it reads the bits of {source} as {target}, and a chip has no arithmetic for that",
        "compute with the numbers instead of their bits")

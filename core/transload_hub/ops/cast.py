"""Conversion of element types: casts, quantization, dequantization, requantization."""

from __future__ import annotations

from transload.ir.constants import dtype_of
from transload.ir.declare import BOOLEAN, TENSOR, DeclaredOp, attribute, constraint, enum, operand, result
from transload.ir.types import FloatType, IntegerType, QuantType, TensorType, Type

from .base import TOP
from .infer import same_as_input
from .rounding import rounds

__all__ = ["OF_STORED", "width_of"]

OF_STORED = ("HalfToEvenStored", "HalfUp")
"""The modes of rounding that are of stored numbers, with their zero point: to quantized types alone."""


def _default_rounding(op: Cast) -> str:
    """Quantizing rounds halves away from zero, as TFLite does; a cast to integers truncates."""
    type_ = op.results[0].type if op.results else None
    return "HalfAwayFromZero" if isinstance(type_, TensorType) and isinstance(type_.element, QuantType) else "Trunc"


@TOP.op("Cast")
class Cast(DeclaredOp):
    """The same values in another element type, which the caller gives (TPU-MLIR manual 13.1, CastOp).

    - float or integer to quantized: `clamp(round(x / scale) + zero_point)` (ONNX QuantizeLinear, TFLite QUANTIZE); with
      round_mode HalfToEvenStored `clamp(round(x / scale + zero_point))` (StableHLO `uniform_quantize`); with HalfUp as fake
      quantization does, the same in float32 as steps from the lower end on, halves up: `least +
      floor((clamp(x, low, high) - low) * (1 / scale) + 1/2)`, of a type whose integers are from `least` on, its numbers from
      `low` to `high` (TFLite FAKE_QUANT, TensorFlow's FakeQuantWithMinMaxArgs);
    - quantized to float or integer: `(stored - zero_point) * scale`, a product of float32 that is then cast (ONNX
      DequantizeLinear, TFLite DEQUANTIZE);
    - quantized to quantized: both, rounded once, by round_mode; with HalfAwayFromZero, the default, as `rounding` says (TFLite
      QUANTIZE of a quantized tensor: `double`);
    - float to integer: rounded by round_mode; out of range wraps round, or saturates; NaN gives 0;
    - to i1: whether it is not 0; from i1: 0 or 1.
    """

    input = operand("the tensor", type=TENSOR)
    output = result("of the input's shape", type=TENSOR)
    round_mode = attribute(
        enum("Trunc", "HalfAwayFromZero", "HalfToEven", *OF_STORED),
        "how a number between two is rounded; by default HalfAwayFromZero to a quantized type, else Trunc; with HalfToEvenStored "
        "the stored number is even, where zero points are odd, too; with HalfUp it is the greater, below 0, too",
        default=_default_rounding)
    saturate = attribute(BOOLEAN, "whether what is out of an integer's range becomes its nearest end", default=False)
    stored = attribute(
        BOOLEAN, "whether a constant operand is kept as it is stored, and not cast before the model runs: weights of few bits",
        default=False)
    rounding = rounds("double", "exact", "once")
    traits = ("elementwise", "retypes", "stored")

    @constraint
    def stored_numbers_are_quantized(op) -> bool:
        """with round_mode HalfUp or HalfToEvenStored the result is quantized"""
        return op.round_mode not in OF_STORED or op.results[0].is_quantized

    @constraint
    def steps_are_told_apart(op) -> bool:
        """with round_mode HalfUp the result is stored in 16 bits or less, as float32 tells halves apart of"""
        kind = op.results[0].quant
        return op.round_mode != "HalfUp" or kind is None or kind.storage.width <= 16

    def infer(op) -> Type:
        return same_as_input(op)


def width_of(element: Type) -> int | None:
    """How many bits an element is stored in; None for what is neither an integer nor a float."""
    stored = element.storage if isinstance(element, QuantType) else element
    if isinstance(stored, FloatType):
        return 8 * dtype_of(stored).itemsize
    return stored.width if isinstance(stored, IntegerType) else None


@TOP.op("Bitcast")
class Bitcast(DeclaredOp):
    """The same bits read as another element type of the same width, which the caller gives (ONNX BitCast, TFLite BITCAST).

    Of a quantized tensor the bits are those of the stored numbers, so that between two quantized types, or a quantized
    and a plain one, no number changes: what a kernel does that works on stored numbers whatever they mean.
    """

    input = operand("the tensor", type=TENSOR)
    output = result("of the input's shape", type=TENSOR)
    traits = ("elementwise", "retypes")

    @constraint
    def same_width(op) -> bool:
        """elements of input and output are of the same width"""
        return width_of(op.operands[0].element) == width_of(op.results[0].element)

    def infer(op) -> Type:
        return same_as_input(op)

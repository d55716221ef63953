"""From one element type to another."""

from __future__ import annotations

from transload.ir import Type
from transload.ir.declare import BOOLEAN, FLOAT, INT, DeclaredOp, attribute, constraint, enum, operand, result

from .base import TPU, Rescaled, beyond_limits

__all__: list[str] = []


@TPU.op("requantize")
class Requantize(Rescaled):
    """Integers on another scale: `clamp(round((x - input_zero) * multiplier / 2**shift) + output_zero)`."""

    input = operand("integers")
    output = result("of the input's shape; the element type is the caller's")
    input_zero = attribute(INT, "zero point of the input", default=0)
    multiplier = attribute(INT, "by what is multiplied; absent: by nothing", optional=True)
    shift = attribute(INT, "by how many bits is then shifted to the right", default=0)
    traits = ("elementwise",)

    def infer(op) -> Type:
        return op.input.type


@TPU.op("cast")
class Cast(DeclaredOp):
    """The same numbers in another element type (TPU-MLIR manual 8.2).

    Floats to integers: `clamp(round(x / scale) + zero)`; NaN gives `zero`. Integers to floats: `(x - zero) * scale`, rounded
    once. Without a scale integers and floats saturate to integers, or keep their low bits with `wrap` (infinities are 0). With a
    `fraction` floats become integers of 32 bits of so many bits of fraction, which are rounded off after that, halves up. With a
    `greatest` floats are multiplied by `full / greatest` before all that, in float32.
    """

    input = operand("a tensor")
    greatest = operand("floats of the input's rank, that broadcast to it: what becomes `full`", optional=True)
    output = result("of the input's shape; the element type is the caller's")
    scale = attribute(FLOAT, "what a step of the integers is worth; absent: 1, and no zero point", optional=True)
    zero = attribute(INT, "zero point of the integers", default=0)
    mode = attribute(enum("half-away", "half-even", "truncate"), "how floats are rounded to integers", default="half-away")
    wrap = attribute(BOOLEAN, "whether numbers too large for the result keep their low bits", default=False)
    fraction = attribute(INT, "bits of fraction that floats have as integers, before these are rounded off", default=0)
    away = attribute(BOOLEAN, "whether halves of negative ones are rounded down: 1 is taken from them", default=False)
    full = attribute(FLOAT, "what the greatest number becomes", default=1.0)
    traits = ("elementwise",)

    @constraint
    def zero_has_bits(op) -> bool | str:
        """a zero point has 32 bits"""
        return beyond_limits(op) or True

    @constraint
    def of_floats(op) -> bool:
        """floats with a fraction of 0 to 30 bits, and no scale with one"""
        return 0 <= op.fraction <= 30 and (not op.fraction or (op.input.is_float and op.scale is None))

    @constraint
    def spread_floats(op) -> bool:
        """floats, where there is a greatest of them, which has their rank and in each dimension their size or 1"""
        if op.greatest is None:
            return True
        sizes, whole = op.greatest.shape_or_none, op.input.shape_or_none
        return bool(op.input.is_float and op.greatest.is_float and sizes is not None and whole is not None
                    and len(sizes) == len(whole) and all(size in (1, of) for size, of in zip(sizes, whole, strict=True)))

    def infer(op) -> Type:
        return op.input.type

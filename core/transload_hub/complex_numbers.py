"""Complex numbers, which the hub has not: a tensor of them is a real one with a last dimension of two, behind a cast.

The last dimension holds the real and the imaginary part. The cast is `builtin.unrealized_conversion_cast`: what reads it sees
that its operand is complex; when all is converted nobody uses it. What leaves a model must be real.
"""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import ComplexType, Op, TensorType, Value
from transload.rewrite import Rewriter, RewriteTable

from .build import splat

__all__ = ["CAST", "as_complex", "by_parts", "imaginary_zero", "is_complex", "pair_of", "product"]

CAST = "builtin.unrealized_conversion_cast"


def is_complex(value: Value) -> bool:
    """Whether a value is declared to hold complex numbers."""
    return isinstance(value.type, TensorType) and isinstance(value.type.element, ComplexType)


def pair_of(rw: Rewriter, value: Value) -> Value:
    """The pairs of real numbers `[.., 2]` that a complex value stands for; those of a constant are constant."""
    maker = value.op
    if maker is not None and maker.name == CAST:
        pair: Value = maker.operands[0]
        return pair
    held = rw.constant_of(value)
    if held is None:
        raise Unsupported("works on complex numbers from outside the model", "give their real and imaginary parts")
    return rw.constant(np.ascontiguousarray(np.stack([held.real, held.imag], axis=-1)))


def as_complex(rw: Rewriter, pair: Value) -> Value:
    """Pairs of real numbers `[.., 2]` as complex ones."""
    if any(user.name == "func.return" for result in rw.op.results for user in result.uses):
        raise Unsupported("complex numbers cannot be a result of the model", "give their real and imaginary parts, or their size")
    shape = pair.known_shape
    if shape is None:
        raise Unsupported(f"makes complex numbers of a shape that is known only at run time: {pair.type}")
    type_ = TensorType(shape[:-1], ComplexType(pair.element))
    made: Value = rw.emit(CAST, pair, types=[type_])
    return made


def imaginary_zero(rw: Rewriter, real: Value) -> Value:
    """Real numbers as complex ones; the imaginary part is +0 of what is infinite or NaN, too."""
    shape = real.known_shape
    if shape is None:
        raise Unsupported(f"makes complex numbers of a shape that is known only at run time: {real.type}")
    return as_complex(rw, rw.emit("top.Pack", real, splat(rw, 0, shape, real.element), axis=-1))


def product(rw: Rewriter, one: Value, other: Value) -> Value:
    """The product of two complex values, which are broadcast: (a + ib)(c + id) = (ac - bd) + i(ad + bc)."""
    (a, b), (c, d) = (rw.emit("top.Unpack", pair_of(rw, value), axis=-1) for value in (one, other))

    def times(left: Value, right: Value) -> Value:
        return rw.emit("top.Mul", left, right)

    return as_complex(rw, rw.emit("top.Pack", rw.emit("top.Sub", times(a, c), times(b, d)),
                                  rw.emit("top.Add", times(a, d), times(b, c)), axis=-1))


def by_parts(op: Op, rw: Rewriter, rules: RewriteTable) -> list[Value]:
    """What moves or adds complex numbers, by the rules for real ones: of the real parts, and of the imaginary ones."""
    types = [result.type.with_element(result.element.element) for result in op.results]  # type: ignore[attr-defined]
    parts = [rw.emit("top.Unpack", pair_of(rw, value), axis=-1) if is_complex(value) else (value, value) for value in op.operands]
    made = []
    for number in (0, 1):
        real = Op(op.name, [pair[number] for pair in parts], types, op.attributes, (), op.location)
        try:
            outcomes = (function(real, rw) for function in rules.get(op.name))
            outcome = next((found for found in outcomes if found is not None), None)
        finally:
            real.drop_references()
        if outcome is None:
            raise Unsupported("has no rule for complex numbers")
        made.append([outcome] if isinstance(outcome, Value) else list(outcome))
    return [as_complex(rw, rw.emit("top.Pack", *pair, axis=-1)) for pair in zip(*made, strict=True)]

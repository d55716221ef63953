"""Ops on quantized numbers: those that the hub has for them stay so, the others are computed on the real numbers.

The specification computes them all so: dequantized, computed, and quantized again, halves to the even number.
"""

from __future__ import annotations

from transload.ir import Op, QuantType, TensorType, Type, Value
from transload.rewrite import Rewriter, RewriteTable

from ..types import element_of
from .table import as_quantized, cast

__all__ = ["TABLE"]

TABLE = RewriteTable()

THROUGH_REALS = (
    "abs", "and", "atan2", "batch_norm_grad", "batch_norm_inference", "batch_norm_training", "cbrt", "ceil", "cholesky", "clamp",
    "compare", "cosine", "divide", "exponential", "exponential_minus_one", "floor", "is_finite", "log", "log_plus_one",
    "logistic", "negate", "power", "reduce_precision", "remainder", "round_nearest_afz", "round_nearest_even", "rsqrt", "sign",
    "sine", "sqrt", "subtract", "add", "multiply", "maximum", "minimum", "tan", "tanh", "triangular_solve")
NATIVE = ("add", "multiply", "subtract", "maximum", "minimum", "logistic", "tanh", "abs", "negate", "exponential")
"""Ops that the hub has on quantized numbers, per tensor."""


def _expressed(type_: Type) -> Type:
    if isinstance(type_, TensorType) and isinstance(type_.element, QuantType):
        return type_.with_element(type_.element.expressed)
    return type_


@TABLE(*(f"stablehlo.{name}" for name in THROUGH_REALS))
def through_reals(op: Op, rw: Rewriter) -> list[Value] | None:
    """The op on dequantized operands, its results quantized."""
    values = (*op.operands, *op.results)
    if not any(value.is_quantized for value in values):
        return None
    per_axis = any(value.is_quantized and not element_of(value).per_tensor for value in values)
    if op.name.partition(".")[2] in NATIVE and all(value.is_quantized for value in values) and not per_axis:
        return None
    operands = [cast(rw, value, element_of(value).expressed) if value.is_quantized else value for value in op.operands]
    made = rw.create(op.name, operands, [_expressed(result.type) for result in op.results], op.attributes.copy())
    return [
        as_quantized(rw, value, result.element) if result.is_quantized else value
        for value, result in zip(made.results, op.results, strict=True)]

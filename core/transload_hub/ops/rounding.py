"""How the real result of a quantized op becomes an integer: the attribute `rounding` of ops that compute numbers.

Frameworks compute the same quantized op with different integers: they agree on the real number, a sum of integers times
a factor made of scales, and differ in how it is rounded. The words:

`"exact"`
    The integer nearest to the real result, halves away from zero, as C's `round`. A factor is the quotient of scales
    in float64. LiteRT's FULLY_CONNECTED, but of int16 filters, and SUM, its tables of functions, and its divisions by
    powers of two.
`"double"`
    As fixed-point arithmetic of gemmlowp rounds, twice: the factor is `m * 2**-s` with `m` of 31 bits, the sum times `m`
    is rounded to its upper 32 bits (SaturatingRoundingDoublingHighMul, halves up), and that divided by the rest of the
    power of two (RoundingDivideByPOT, halves away from zero). LiteRT's MultiplyByQuantizedMultiplier, with which most of
    its reference kernels compute; TOSA's DOUBLE_ROUND. Sums of 64 bits, which convolutions of int16 numbers without a bias
    of int32 and products of int16 numbers have, are multiplied by 15 bits and rounded once, halves up, as its overload for
    them does. Ops for which LiteRT has a kernel of their own in fixed point compute as that kernel; Softmax of 8 bits is
    computed so with every word, which tells then how the end of it is scaled.
`"once"`
    The integer nearest to the real result; a factor is the quotient of scales in float64, with 31 bits, and halves, which
    such a factor seldom makes, go up. What ONNX's DequantizeLinear, an operator on real numbers and QuantizeLinear mean, but
    that this takes halves to the even number.
`"float32"`
    The same of products with a factor that is computed in float32, `x_scale * w_scale / y_scale`. onnxruntime's QLinear
    kernels (MLAS, MlasRequantizeOutput and that of QLinearMul), but that these multiply in float32, too, and take halves to
    the even number. Of Add, whose factors are quotients of scales anyway, `"once"`, in the operator on integers QLinearAdd.
`"truncate"`
    The real result without its fraction, of a quotient computed in float32. LiteRT's SQRT.

An op without the attribute rounds as LiteRT's reference kernel of that op does: each declaration says with which word. An op
whose results are not quantized does not round, but for Compare: what it compares is rounded to some bits of fraction, as LiteRT
does (`transload_hub.scales.compares_reals`). Models that compare real numbers, as QDQ's do, compare floats. Ops that only move
numbers have no such attribute: where the types of operand and result differ, they do as `top.Cast` with its default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload.ir import Module, Op
from transload.ir.declare import attribute, enum

__all__ = ["AT_ONCE", "WORDS", "round_all", "round_once", "rounds", "rounds_results"]

WORDS = ("exact", "double", "once", "float32", "truncate")
"""All words; `rounds` says which of them an op knows."""
AT_ONCE = ("once", "float32")
"""Those by which a real result is rounded once, as QDQ says it, or as onnxruntime's kernels for QDQ do."""

_DOC = "how a quantized result is rounded, see `transload_hub.ops.rounding`"


def rounds(*words: str, default: Callable[[Any], str] | None = None) -> str:
    """Declare the attribute `rounding` of an op that knows these words, the default first, or what `default(op)` says."""
    return attribute(enum(*words), _DOC, default=default or words[0])


def rounds_results(op: Op) -> bool:
    """Whether an op's declaration says how its quantized results are rounded: that of an op which only moves numbers does not."""
    return op.declaration is not None and "rounding" in op.declaration.attributes


def round_all(module: Module, word: str, *, anew: bool = False) -> bool:
    """Say of every op from quantized tensors to quantized ones that it rounds by this word; whether that changed any.

    Ops that do not know the word keep theirs; so do those that say one already, but for `anew`.
    """
    changed = False
    for op in module.walk():
        rounding = op.declaration.attributes.get("rounding") if op.declaration is not None else None
        if rounding is None or not rounding.kind.accepts(word) or ("rounding" in op.attributes and not anew):
            continue
        if any(value.is_quantized for value in op.operands) and any(value.is_quantized for value in op.results):
            op.attributes["rounding"] = word
            changed = True
    return changed


def round_once(module: Module) -> bool:
    """The pass `round-once`: models that say with floats what they quantize (QDQ, pt2e) mean one rounding of a real result.

    Ops that know one way only keep it.
    """
    return round_all(module, "once")

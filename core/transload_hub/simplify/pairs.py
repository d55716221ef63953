"""Sums and products of several tensors as ones of two: what kernels of quantized numbers have."""

from __future__ import annotations

from transload.ir import FloatType, Module, Op, Value
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

__all__ = ["write_out_pairs"]

_SEVERAL = RewriteTable()


def write_out_pairs(module: Module) -> bool:
    """Add and multiply three and more tensors of floats from the left, two at a time. Returns whether there were any.

    What is made on the way has a range of its own then. In floats the order is that of the kernels for several.
    """
    return apply_greedily(module, _SEVERAL)


@_SEVERAL("top.Add", "top.Mul")
def _from_the_left(op: Op, rw: Rewriter) -> Value | None:
    if len(op.operands) < 3 or not isinstance(op.result.element_or_none, FloatType):
        return None
    activation = {name: value for name, value in op.attributes.items() if name in ("do_relu", "relu_limit")}
    others = {name: value for name, value in op.attributes.items() if name not in (*activation, "coeff")}
    factors = op.attribute("coeff", None)
    made, last = op.operands[0], len(op.operands) - 1
    for place, value in enumerate(op.operands[1:], 1):
        own = dict(others if place < last else {**others, **activation})
        if factors is not None:
            own["coeff"] = (factors[0] if place == 1 else 1.0, factors[place])
        made = rw.emit(op.name, made, value, **own)
    return made

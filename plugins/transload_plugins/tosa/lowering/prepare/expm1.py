"""Exponentials less one, which the hub has as `tanh(x/2) * (exp(x) + 1)`: TOSA's TANH is exact to an absolute error alone."""

from __future__ import annotations

from transload.ir import Module
from transload.rewrite import Rewriter
from transload_hub.algebra.match import linear
from transload_hub.build import scalar_like
from transload_hub.recognize.sign import expm1_of

__all__ = ["spell_out_expm1"]


def spell_out_expm1(module: Module) -> bool:
    """By ELU, which keeps the digits of small numbers: `e = elu(-|x|)`, of a positive x `-e * exp(x)`, of 0 and -0 x."""
    changed = False
    for op in list(module.walk()):
        power = expm1_of(linear(op.results[0])) if op.name == "top.Mul" else None
        if power is None or power[0] != 1.0:
            continue
        rw, x = Rewriter(op), power[1]
        below = rw.emit("top.Elu", rw.emit("top.Neg", rw.emit("top.Abs", x)), alpha=1.0)
        above = rw.emit("top.Neg", rw.emit("top.Mul", below, rw.emit("top.Exp", x)))
        zero = scalar_like(rw, x, 0)
        is_above, is_zero = (rw.emit("top.Compare", x, zero, mode=mode) for mode in ("Greater", "Equal"))
        rw.replace([rw.emit("top.Where", is_zero, x, rw.emit("top.Where", is_above, above, below))])
        changed = True
    return changed

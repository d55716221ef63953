"""Control flow, and what ONNX has no word for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import Region, Value
from transload.ir.regions import move_region
from transload.rewrite import Rewriter, RewriteTable

from ..lowering.control import flag, loop

if TYPE_CHECKING:
    from transload.ir import Op

__all__ = ["TABLE"]

TABLE = RewriteTable()

TABLE.refuse({
    "tosa.custom": ("the operator of a third party has no meaning in ONNX", "a plugin that knows it can convert it"),
    **{f"tosa.{name}": ("a graph of ONNX keeps nothing from one run to the next", "make an input and an output of the variable")
       for name in ("variable", "variable_read", "variable_write")},
    **{f"tosa.{name}": ("Fourier transforms in the form that TOSA has them are not written", "write the hub's form, not TOSA's")
       for name in ("fft2d", "rfft2d")},
})


@TABLE("tosa.yield")
def yield_(op: Op, rw: Rewriter) -> list[Value]:
    rw.create("onnx.Yield", op.operands)
    return []


@TABLE("tosa.cond_if")
def cond_if(op: Op, rw: Rewriter) -> Sequence[Value]:
    """If, whose branches take no arguments: they see the values around them."""
    condition, *values = op.operands
    moved = [_without_arguments(move_region(region), values) for region in list(op.regions)]
    types = [result.type for result in op.results]
    return rw.create("onnx.If", (flag(rw, condition),), types, {}, moved).results


def _without_arguments(region: Region, values: Sequence[Value]) -> Region:
    block = region.block
    for argument, value in zip(list(block.arguments), values, strict=False):
        argument.replace_all_uses_with(value)
    while block.arguments:
        block.erase_argument(len(block.arguments) - 1)
    return region


@TABLE("tosa.while_loop")
def while_loop(op: Op, rw: Rewriter) -> Sequence[Value]:
    condition, body = op.regions
    return loop(rw, condition, body, op.operands)

"""Custom operators and control flow (2.15, 2.16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import Block, Region, TensorType, Value
from transload.rewrite import Rewriter, RewriteTable

from .. import build

if TYPE_CHECKING:
    from ...tosa.dialect.control import CondIf, Custom, WhileLoop, Yield

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("tosa.yield")
def yield_(op: Yield, rw: Rewriter) -> list[Value]:
    """The end of a graph; the condition of a loop is a tensor of rank 0 there."""
    values = op.operands
    outer = op.parent.parent_op if op.parent is not None else None
    if outer is not None and outer.name == "stablehlo.while" and outer.regions[0].block is op.parent:
        values = tuple(build.reshape(rw, value, ()) for value in values)
    rw.create("stablehlo.return", values)
    return []


def moved(region: Region) -> Region:
    """The region, taken from its op."""
    made = Region()
    for block in list(region.blocks):
        region.blocks.remove(block)
        made.add_block(block)
    return made


def _without_arguments(block: Block, values: Sequence[Value]) -> None:
    """Give the values themselves to a block that takes them as arguments."""
    for argument, value in zip(list(block.arguments), values, strict=False):
        argument.replace_all_uses_with(value)
    while block.arguments:
        block.erase_argument(len(block.arguments) - 1)


@TABLE("tosa.cond_if")
def cond_if(op: CondIf, rw: Rewriter) -> Sequence[Value]:
    """The branches of `stablehlo.if` take no arguments: they see the values around them."""
    for region in op.regions:
        _without_arguments(region.block, op.input_list)
    condition = build.reshape(rw, op.condition, ())
    regions = [moved(region) for region in list(op.regions)]
    return rw.create("stablehlo.if", (condition,), [result.type for result in op.results], {}, regions).results


@TABLE("tosa.while_loop")
def while_loop(op: WhileLoop, rw: Rewriter) -> Sequence[Value]:
    """The same; graphs that see values around them may do so in both."""
    regions = [moved(region) for region in list(op.regions)]
    return rw.create("stablehlo.while", op.operands, [result.type for result in op.results], {}, regions).results


@TABLE("tosa.custom")
def custom(op: Custom, rw: Rewriter) -> Sequence[Value]:
    """A call of what only an implementation knows, named `domain.operator`."""
    name = f"{op.domain_name}.{op.operator_name}" if op.domain_name else op.operator_name
    types = [result.type for result in op.results if isinstance(result.type, TensorType)]
    return rw.create("stablehlo.custom_call", op.operands, types, {
        "call_target_name": name, "backend_config": op.implementation_attrs, "has_side_effect": False, "api_version": 1,
    }).results

"""Control flow and ops of third parties. Regions of StableHLO see the values around them, as those of `top` do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import Value
from transload.ir.build import Builder
from transload.ir.regions import move_region, need_argument_types, need_result_types, splice_region
from transload.rewrite import Rewriter, RewriteTable

from .. import build

if TYPE_CHECKING:
    from transload_hub.ops.control import Custom, If, While, Yield

__all__ = ["TABLE"]

TABLE = RewriteTable()

STATIC = "StableHLO needs one static shape on every way"


@TABLE("top.Yield")
def yield_(op: Yield, rw: Rewriter) -> list[Value]:
    """The end of a region."""
    rw.create("stablehlo.return", op.operands)
    return []


@TABLE("top.If")
def if_(op: If, rw: Rewriter) -> Sequence[Value]:
    """if; on a constant condition the ops of the branch it takes."""
    held = rw.constant_of(op.condition)
    if held is not None:
        return splice_region(op.then_region if bool(held.reshape(-1)[0]) else op.else_region, op)
    need_result_types(op, [op.then_region, op.else_region], "branch", STATIC)
    condition = build.reshape(rw, op.condition, ())
    moved = [move_region(op.then_region), move_region(op.else_region)]
    return rw.create("stablehlo.if", (condition,), [result.type for result in op.results], {}, moved).results


@TABLE("top.While")
def while_(op: While, rw: Rewriter) -> Sequence[Value]:
    """while; the condition is brought to rank 0."""
    need_argument_types(op, [op.cond, op.body], "loop", STATIC)
    need_result_types(op, [op.body], "body", STATIC)
    terminator = op.cond.block.terminator
    inner = Builder(op.cond.block, terminator, rw.location)
    terminator.operands = (build.reshape(inner, terminator.operands[0], ()),)
    moved = [move_region(op.cond), move_region(op.body)]
    return rw.create("stablehlo.while", op.operands, [value.type for value in op.operands], {}, moved).results


@TABLE("top.Custom")
def custom(op: Custom, rw: Rewriter) -> Sequence[Value]:
    """custom_call by the op's name, its options as the configuration that the implementation is given."""
    attributes = {"call_target_name": op.attribute("name"), "has_side_effect": False}
    if op.options:
        attributes |= {"backend_config": dict(op.options), "api_version": 4}
    return rw.create("stablehlo.custom_call", op.operands, [result.type for result in op.results], attributes).results

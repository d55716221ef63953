"""Control flow and ops of third parties. Regions of StableHLO see the values around them, as those of `top` do."""

from __future__ import annotations

from collections.abc import Sequence

from transload.ir import Op, Region, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .. import build

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Yield")
def yield_(op: Op, rw: Rewriter) -> list[Value]:
    """The end of a region."""
    rw.create("stablehlo.return", op.operands)
    return []


@TABLE("top.If")
def if_(op: Op, rw: Rewriter) -> Sequence[Value]:
    """if; on a constant condition the ops of the branch it takes."""
    held = rw.constant_of(op.condition)
    if held is not None:
        return _inlined(op, op.then_region if bool(held.reshape(-1)[0]) else op.else_region)
    _need_results(op, [op.then_region, op.else_region], "branch")
    condition = build.reshape(rw, op.condition, ())
    moved = [_moved(op.then_region), _moved(op.else_region)]
    return rw.create("stablehlo.if", (condition,), [result.type for result in op.results], {}, moved).results


def _inlined(op: Op, region: Region) -> Sequence[Value]:
    """The ops of a region in front of `op`; what it yields."""
    block = region.block
    for inner in list(block):
        if inner is not block.last:
            op.parent.insert(block.remove(inner), op)  # type: ignore[union-attr]
    return block.terminator.operands


@TABLE("top.While")
def while_(op: Op, rw: Rewriter) -> Sequence[Value]:
    """while; the condition is brought to rank 0."""
    _need_results(op, [op.body], "body")
    terminator = op.cond.block.terminator
    inner = Builder(op.cond.block, terminator, rw.location)
    terminator.operands = [build.reshape(inner, terminator.operands[0], ())]
    moved = [_moved(op.cond), _moved(op.body)]
    return rw.create("stablehlo.while", op.operands, [value.type for value in op.operands], {}, moved).results


def _need_results(op: Op, regions: Sequence[Region], what: str) -> None:
    """`Unsupported` where a region yields other types than the op's results: sizes that depend on the way taken."""
    for region in regions:
        for value, result in zip(region.block.terminator.operands, op.results, strict=True):
            if value.type != result.type:
                raise Unsupported(
                    f"a {what} gives {value.type} where the result is {result.type}",
                    "StableHLO needs one static shape on every way")


def _moved(region: Region) -> Region:
    """A region with the blocks of another one."""
    blocks = region.blocks.copy()
    region.blocks.clear()
    return Region(blocks)


@TABLE("top.Custom")
def custom(op: Op, rw: Rewriter) -> Sequence[Value]:
    """custom_call by the op's name, its options as the configuration that the implementation is given."""
    attributes = {"call_target_name": op.attribute("name"), "has_side_effect": False}
    if op.options:
        attributes |= {"backend_config": dict(op.options), "api_version": 4}
    return rw.create("stablehlo.custom_call", op.operands, [result.type for result in op.results], attributes).results

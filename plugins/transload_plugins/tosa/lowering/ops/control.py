"""Control flow: COND_IF and WHILE_LOOP (tf.If, tf.While, tfl.if and tfl.while: no lowering defined).

The regions of `top` see the values around them; TOSA's graphs see what they are given. So a value used from
around becomes an operand and an argument of the graphs, carried unchanged through a loop, and a constant is
repeated inside.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import Value
from transload.ir.regions import (
    captured_values,
    close_region,
    is_repeated,
    move_region,
    need_argument_types,
    need_result_types,
    splice_region,
)
from transload.rewrite import Rewriter, RewriteTable, Unsupported

if TYPE_CHECKING:
    from transload_hub.ops.control import Custom, If, While, Yield

__all__ = ["TABLE"]

TABLE = RewriteTable()

STATIC = "TOSA needs one static shape on every way"


@TABLE("top.Yield")
def yield_(op: Yield, rw: Rewriter) -> list[Value]:
    """The end of a graph."""
    rw.create("tosa.yield", op.operands)
    return []


@TABLE("top.If")
def if_(op: If, rw: Rewriter) -> Sequence[Value]:
    """COND_IF; on a constant condition the ops of the branch it takes."""
    held = rw.constant_of(op.condition)
    if held is not None:
        return splice_region(op.then_region if bool(held.reshape(-1)[0]) else op.else_region, op)
    regions = [op.then_region, op.else_region]
    need_result_types(op, regions, "branch", STATIC)
    captured = [value for value in captured_values(op) if not is_repeated(value)]
    for region in regions:
        close_region(region, captured)
    moved = [move_region(region) for region in regions]
    made = rw.create("tosa.cond_if", (op.condition, *captured), [result.type for result in op.results], {}, moved)
    return made.results


@TABLE("top.While")
def while_(op: While, rw: Rewriter) -> Sequence[Value]:
    """WHILE_LOOP."""
    regions = [op.cond, op.body]
    need_argument_types(op, [op.cond, op.body], "loop", STATIC)
    need_result_types(op, [op.body], "body", STATIC)
    captured = [value for value in captured_values(op) if not is_repeated(value)]
    for region in regions:
        arguments = close_region(region, captured)
        if region is op.body:
            terminator = region.block.terminator
            terminator.operands = (*terminator.operands, *arguments)
    moved = [move_region(region) for region in regions]
    inputs = (*op.operands, *captured)
    made = rw.create("tosa.while_loop", inputs, [value.type for value in inputs], {}, moved)
    return made.results[: len(op.results)]


@TABLE("top.Custom")
def custom(op: Custom, rw: Rewriter) -> Sequence[Value]:
    """CUSTOM, where the op says who defines it (`<domain>.<operator>`); its options as JSON."""
    domain, _, name = op.attribute("name").partition(".")
    if not name:
        raise Unsupported(
            f"nobody here knows what {domain!r} computes",
            "a plugin that does rewrites top.Custom, or names it <domain>.<operator> and registers a kernel of that name")
    try:
        options = json.dumps(op.options or {}, sort_keys=True)
    except TypeError:
        raise Unsupported(f"the options of {op.attribute('name')!r} cannot be written as JSON") from None
    attributes = {"operator_name": name, "domain_name": domain, "implementation_attrs": options}
    return rw.create("tosa.custom", op.operands, [result.type for result in op.results], attributes).results

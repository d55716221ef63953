"""Control flow: IF and WHILE, whose branches, conditions and bodies are subgraphs: functions of the module.

The regions of `top` see the values around them; a subgraph sees what it is given. So a value used from around becomes an operand
and an input of the subgraphs, carried unchanged through a loop, and a constant is repeated inside. What the hub's loop carries
unchanged counts as a value from around, so that a file which is read and written again carries it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import FusedLocation, Module, Op, Region, Symbol, Value
from transload.ir.build import Builder
from transload.ir.regions import (
    captured_values,
    close_region,
    is_repeated,
    need_argument_types,
    need_result_types,
    outlined,
    splice_region,
)
from transload.rewrite import Rewriter, RewriteTable

from .common import static_shape

if TYPE_CHECKING:
    from transload_hub.ops.control import Custom, If, While

__all__ = ["TABLE", "keep_states"]

TABLE = RewriteTable()

_STATIC = "TFLite needs one type on every way"


@TABLE("top.If")
def if_(op: If, rw: Rewriter) -> Sequence[Value]:
    """IF; on a constant condition the ops of the branch it takes."""
    held = rw.constant_of(op.condition)
    if held is not None:
        return splice_region(op.then_region if bool(held.reshape(-1)[0]) else op.else_region, op)
    regions = {"then": op.then_region, "else": op.else_region}
    need_result_types(op, list(regions.values()), "branch", _STATIC)
    captured = [value for value in captured_values(op) if not is_repeated(value)]
    symbols = {}
    for word, region in regions.items():
        close_region(region, captured)
        symbols[f"{word}_branch"] = _subgraph(op, region, word)
    types = [result.type for result in op.results]
    return rw.create("tfl.if", (op.condition, *captured), types, symbols, (), op.location).results


@TABLE("top.While")
def while_(op: While, rw: Rewriter) -> Sequence[Value]:
    """WHILE."""
    regions = {"cond": op.cond, "body": op.body}
    need_argument_types(op, list(regions.values()), "loop", _STATIC)
    need_result_types(op, [op.body], "body", _STATIC)
    results: list[Value] = list(op.operands)
    carried = _without_the_unchanged(op)
    captured = [value for value in captured_values(op) if not is_repeated(value)]
    if not carried and not captured:
        return results  # nothing that its condition looks at ever changes, so that there is no round, or no end
    symbols = {}
    for word, region in regions.items():
        arguments = close_region(region, captured)
        terminator = region.block.terminator
        if word == "cond":
            _as_one_truth(terminator, rw)
        else:
            terminator.operands = (*terminator.operands, *arguments)
        symbols[word] = _subgraph(op, region, word)
    inputs = (*(results[place] for place in carried), *captured)
    names = [value.name for value in (*(op.results[place] for place in carried), *captured)]
    made = rw.create("tfl.while", inputs, [value.type for value in inputs], symbols, (), FusedLocation(tuple(names)))
    for place, result in zip(carried, made.results, strict=False):
        results[place] = result
    return results


@TABLE("top.Custom")
def custom(op: Custom, rw: Rewriter) -> Any:
    raise Unsupported(f"the operator {op.attribute('name')!r} of a third party has no meaning in TFLite",
                      "a plugin that knows it can convert it to ops of the hub")


def _subgraph(op: Op, region: Region, word: str) -> Symbol:
    """A region as a function of the module, called after the op that runs it."""
    return outlined(region, f"{op.origin or op.name.removeprefix('top.').lower()}/{word}", op)


def keep_states(module: Module) -> bool:
    """Give what a loop's body hands on from one place of the state to another a tensor of its own.

    LiteRT copies what the body gave to what the next round takes tensor by tensor: of two that change places one would be lost.
    """
    changed = False
    functions = module.functions
    for op in module.ops():
        body = functions.get(str(op.attribute("body", ""))) if op.name == "tfl.while" else None
        if body is None:
            continue
        block, ends = body.regions[0].block, body.regions[0].block.terminator
        given = list(ends.operands)
        for place, value in enumerate(given):
            if value.owner is block and value is not block.arguments[place]:
                given[place] = _emitted_before(ends, value, ends.location, value.tensor_type.static_shape)
        changed |= given != list(ends.operands)
        ends.operands = tuple(given)
    return changed


def _without_the_unchanged(op: While) -> list[int]:
    """Let the regions see what they are given unchanged in every round; the places of the state that are left to be carried."""
    carried = []
    for place in reversed(range(len(op.operands))):
        given, block, ends = op.operands[place], op.body.block, op.body.block.terminator
        if ends.operands[place] not in (given, block.arguments[place]):
            carried.append(place)
            continue
        ends.operands = (*ends.operands[:place], *ends.operands[place + 1:])
        for each in (op.cond.block, block):
            each.arguments[place].replace_all_uses_with(given)
            each.erase_argument(place)
    return carried[::-1]


def _as_one_truth(terminator: Op, rw: Rewriter) -> None:
    """End the subgraph of a condition with a tensor that LiteRT takes for one: of rank 0 or 1."""
    truth = terminator.operands[0]
    if len(static_shape(truth, "the condition")) > 1:
        terminator.operands = (_emitted_before(terminator, truth, rw.location, ()),)


def _emitted_before(op: Op, value: Value, location: Any, shape: tuple[int, ...]) -> Value:
    """A RESHAPE in front of an op: `value` in a tensor of its own, of a given shape."""
    build = Builder(op.parent, op, location)  # type: ignore[arg-type]
    to = build.constant(np.array(shape, np.int32), dialect="tfl")
    made: Value = build.emit("tfl.reshape", value, to, types=[value.tensor_type.with_shape(shape)], new_shape=shape)
    return made

"""How the ops of `tf_executor` are written by TensorFlow's tools, and on its page about its MLIR dialects.

Behind an op's operands stands the type of its data, or a signature of all operands and results. The page leaves out results that
nobody uses: the number of a Merge, the control token of a NextIteration; names are then those of the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from transload.facts import FactTable
from transload.ir import I32, Block, DialectType, Op, Region, TensorType, Type, Value
from transload.text.assembly import AssemblyParser, Written

from .dialect import CONTROL, TOKEN, is_truth

__all__ = ["FORMS"]

FORMS = FactTable("tf_executor")

_WRAPS, _FRAME = re.compile(r"wraps\b"), re.compile(r"frame\b")
_CONSTANT, _PARALLEL, _OF = re.compile(r"constant\b"), re.compile(r"parallel_iterations\b"), re.compile(r"of\b")
_count = re.compile(r"\d+")
_OLD_CONTROL = DialectType('tf_executor<"control">')


def _type(parser: AssemblyParser) -> Type:
    """A type; a control token may be written as it once was."""
    type_ = parser.take_type()
    return CONTROL if type_ == _OLD_CONTROL else type_


def _types(parser: AssemblyParser) -> list[Type]:
    found = [_type(parser)]
    while parser.try_take(","):
        found.append(_type(parser))
    return found


def _signature(parser: AssemblyParser, values: Sequence[Value], name: str, results: Sequence[Type | None]) -> list[Type]:
    """The results of an op by what stands behind its operands: `: type` of its data, or `: (types) -> (types)`.

    `results` are those of the first form, None where one has that type.
    """
    parser.take(":", "before the types")
    if parser.peek() != "(":
        type_ = _type(parser)
        return [type_ if each is None else each for each in results]
    parser.take("(")
    inputs = [] if parser.peek() == ")" else _types(parser)
    parser.take(")", "after the types")
    parser.expect_types(values, inputs, name)
    parser.take("->", "between operands and results")
    if not parser.try_take("("):
        return [_type(parser)]
    outputs = [] if parser.peek() == ")" else _types(parser)
    parser.take(")", "after the types")
    return outputs


# --- graphs and islands

@FORMS("graph")
def graph(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.graph { ... }`; the types of what is fetched may stand before the brace."""
    stated = _types(parser) if parser.try_take(":") else None
    region = parser.take_region()
    block = region.blocks[0] if region.blocks else region.add_block()
    fetched = [value.type for value in block.last.operands if value.type != CONTROL] if block.last is not None else []
    if stated is not None and stated != fetched:
        parser.error(f"{name} says that it gives {', '.join(map(str, stated))}, and fetches {', '.join(map(str, fetched))}")
    return Written((), fetched, parser.take_attributes(name), [region])


@FORMS("fetch", "yield")
def end(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.fetch %a, %ctl : type, !tf_executor.control`; types of tokens may be left out."""
    values = parser.take_uses()
    if values and parser.try_take(":"):
        types = _types(parser)
        left_out = sum(value.type == CONTROL for value in values) - types.count(CONTROL)
        parser.expect_types(values, types + [CONTROL] * left_out, name)
    return Written(values, (), parser.take_attributes(name))


@FORMS("island")
def island(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.island(%ctl) { ... }`, or `wraps` and an op, whose results are yielded."""
    tokens: list[Value] = []
    if parser.try_take("("):
        tokens = parser.take_uses()
        parser.take(")", "after the control tokens")
    stated = _signature_of_an_island(parser) if parser.try_take(":") else None
    if parser.try_match(_WRAPS):
        block = Block()
        wrapped = parser.take_op(block)
        block.append(Op("tf_executor.yield", wrapped.results))
        region, attributes = Region([block]), {}
    else:
        region = parser.take_region()
        attributes = parser.take_attributes(name)
    last = region.blocks[0].last if region.blocks else None
    types = [value.type for value in last.operands] if last is not None else []
    if stated is not None and [each for each in stated if each != CONTROL] != types:
        parser.error(f"{name} says that it gives {', '.join(map(str, stated))}, and yields {', '.join(map(str, types))}")
    return Written(tokens, [*types, CONTROL], attributes, [region])


def _signature_of_an_island(parser: AssemblyParser) -> list[Type]:
    """What an island says that it gives. What it says that it takes, with what it captures, is not looked at."""
    parser.take("(")
    if parser.peek() != ")":
        _types(parser)
    parser.take(")", "after the types")
    parser.take("->")
    if not parser.try_take("("):
        return [_type(parser)]
    outputs = [] if parser.peek() == ")" else _types(parser)
    parser.take(")", "after the types")
    return outputs


# --- control flow

@FORMS("Switch")
def switch(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.Switch %data, %predicate : type`; the page has the predicate first."""
    values = parser.take_uses()
    results = _signature(parser, values, name, (None, None, CONTROL))
    if len(values) > 1 and is_truth(values[0].type) and not is_truth(values[1].type) and values[1].type == results[0]:
        values[0], values[1] = values[1], values[0]
    return Written(values, results, parser.take_attributes(name))


@FORMS("SwitchN", "_SwitchN")
def switch_n(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor._SwitchN %data, %index of 3 (%ctl) : type`."""
    values = parser.take_uses()
    parser.take_match(_OF, "'of' and a number")
    digits = parser.take_match(_count, "how many results it has")
    count = parser.to_int(digits)
    if not 0 < count <= 1 << 16:
        parser.error(f"{name} cannot have {digits} results")
    if parser.try_take("("):
        values += parser.take_uses()
        parser.take(")", "after the control tokens")
    results = _signature(parser, values, name, [*(None for _ in range(count)), CONTROL])
    return Written(values, results, {"num_outs": count} | parser.take_attributes(name))


@FORMS("Merge")
def merge(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.Merge %a, %b : type`: a value and its number."""
    values = parser.take_uses()
    results = _signature(parser, values, name, (None, TensorType((), I32), CONTROL))
    return Written(values, results, parser.take_attributes(name), named=(0, 2) if parser.n_named == 2 else None)


@FORMS("Enter")
def enter(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.Enter %a frame "name" parallel_iterations 8 constant : type`."""
    values = parser.take_uses()
    attributes: dict[str, Any] = {"frame_name": ""}
    if parser.try_match(_FRAME):
        attributes["frame_name"] = parser.take_string()
    if parser.try_match(_PARALLEL):
        attributes["parallel_iterations"] = parser.to_int(parser.take_match(_count, "a number"))
    if parser.try_match(_CONSTANT):
        attributes["is_constant"] = True
    results = _signature(parser, values, name, (None, CONTROL))
    return Written(values, results, attributes | parser.take_attributes(name))


@FORMS("Exit", "LoopCond")
def through(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.Exit %a : type`."""
    values = parser.take_uses()
    return Written(values, _signature(parser, values, name, (None, CONTROL)), parser.take_attributes(name))


@FORMS("tf_executor.NextIteration.Source")
def source(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.NextIteration.Source : type`: a value, the token for its sink, a control token."""
    parser.take(":", "before the type")
    results = [_type(parser), TOKEN, CONTROL]
    return Written((), results, parser.take_attributes(name), named=(0, 1) if parser.n_named == 2 else None)


@FORMS("tf_executor.NextIteration.Sink")
def sink(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.NextIteration.Sink[%token] %a : type`."""
    parser.take("[", "before the token")
    token = parser.take_use()
    parser.take("]", "after the token")
    values = parser.take_uses()
    _signature(parser, values, name, ())
    return Written([token, *values], (), parser.take_attributes(name))


@FORMS("tf_executor.*")
def unknown(parser: AssemblyParser, name: str) -> Written:
    """An op that the dialect does not have, as the others are written: a graph's verifier says that it has no place there."""
    values = parser.take_uses()
    return Written(values, _signature(parser, values, name, (None, CONTROL)), parser.take_attributes(name))


@FORMS("ControlTrigger")
def trigger(parser: AssemblyParser, name: str) -> Written:
    """`tf_executor.ControlTrigger %ctl0, %ctl1`."""
    values = parser.take_uses()
    if parser.try_take(":"):
        parser.expect_types(values, _types(parser), name)
    return Written(values, [CONTROL], parser.take_attributes(name))

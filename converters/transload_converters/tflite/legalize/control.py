"""Control flow: subgraphs that an operator runs become regions, or are put in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload.errors import ConversionError, Finding, Unsupported
from transload.ir import BOOL, Block, Module, Op, Region, Symbol, TensorType, Value
from transload.rewrite import Rewriter, RewriteTable

from ..choices import chosen

__all__ = ["TABLE", "check_subgraphs", "entries", "subgraph_region"]

TABLE = RewriteTable()

_LIMIT = 1_000_000
"""How many operators a model may have once every subgraph stands where it is run."""


@dataclass
class _Loops:
    """What the rewrites note down of loops."""

    unrolled: dict[Op, tuple[int, str]] = field(default_factory=dict)
    """What is left of loops: how many steps were before it, and why the loop is unrolled."""


def entries(module: Module) -> list[Op]:
    """The functions that are models of their own: the main one, and those with a signature; operators run the others."""
    return [
        function for function in module.functions.values()
        if function.attributes.get("sym_visibility") != "private" or "tfl.signatures" in function.attributes]


def check_subgraphs(module: Module) -> bool:
    """Raise `ConversionError` where subgraphs run each other in a circle, or would grow beyond measure put in place."""
    _check_sizes(module.functions)
    return False


def _callees(function: Op) -> list[str]:
    """The functions that operators of a function run, as often as they do."""
    found: list[str] = []
    for op in function.walk():
        for attribute in op.attributes.values():
            if isinstance(attribute, Symbol):
                found.append(str(attribute))
            elif isinstance(attribute, list):
                found += [str(entry) for entry in attribute if isinstance(entry, Symbol)]
    return found


def _check_sizes(functions: Mapping[str, Op]) -> None:
    """Raise where putting subgraphs in place would not end, or end in too many operators."""
    sizes: dict[str, int] = {}
    callees = {name: _callees(function) for name, function in functions.items()}
    pending = [(name, False) for name in functions]
    open_names: set[str] = set()
    while pending:
        name, done = pending.pop()
        if done:
            open_names.discard(name)
            own = sum(1 for _ in functions[name].walk())
            sizes[name] = own + sum(sizes[callee] for callee in callees[name])
            if sizes[name] > _LIMIT:
                raise ConversionError(
                    "the model's subgraphs cannot be put in place",
                    [Finding(f"subgraph {name}", f"with all that it runs it has {sizes[name]} operators; the limit is {_LIMIT}")])
        elif name not in sizes:
            if name in open_names:
                continue
            open_names.add(name)
            pending.append((name, True))
            for callee in callees[name]:
                if callee in open_names:
                    raise ConversionError(
                        "the model's subgraphs cannot be put in place",
                        [Finding(f"subgraph {callee}", f"it runs itself, through subgraph {name}")])
                if callee not in sizes:
                    pending.append((callee, False))


def _body(rw: Rewriter, symbol: str, arguments: Sequence[Value]) -> tuple[list[Op], list[Value]]:
    """Copies of a function's ops with its arguments replaced, and the values that it returns."""
    block = rw.function(symbol).regions[0].block
    if len(block.arguments) != len(arguments):
        raise Unsupported(f"subgraph {symbol} takes {len(block.arguments)} inputs, and is given {len(arguments)}")
    mapping: dict[Value, Value] = dict(zip(block.arguments, arguments, strict=True))
    copies: list[Op] = []
    for op in block:
        if op.name == "func.return":
            return copies, [mapping.get(value, value) for value in op.operands]
        copies.append(op.clone(mapping))
    raise Unsupported(f"subgraph {symbol} does not return")


def subgraph_region(rw: Rewriter, symbol: str, end: str) -> Region:
    """A subgraph as it is, as a region with its inputs as arguments and its outputs given by an op named `end`."""
    block = Block([argument.type for argument in rw.function(symbol).regions[0].block.arguments])
    copies, results = _body(rw, symbol, block.arguments)
    for copy in (*copies, Op(end, results)):
        block.append(copy)
    return Region([block])


def _in_place(rw: Rewriter, symbol: str, arguments: Sequence[Value]) -> list[Value]:
    """Put a function's ops before the op being rewritten; the conversion goes on with them."""
    copies, results = _body(rw, symbol, arguments)
    for copy in copies:
        rw.block.insert(copy, rw.before)
    return results


def _region(
    rw: Rewriter, symbol: str, arguments: Sequence[Value], own_arguments: bool, fixed: Sequence[int] = (),
) -> Region:
    """A region that computes a function; its arguments are the block's own, but for those `fixed`, or values around it."""
    block = Block([value.type for value in arguments] if own_arguments else ())
    given = [value if not own_arguments or i in fixed else block.arguments[i] for i, value in enumerate(arguments)]
    copies, results = _body(rw, symbol, given)
    for copy in copies:
        block.append(copy)
    block.append(Op("top.Yield", results))
    return Region([block])


def _converted(rw: Rewriter, regions: list[Region]) -> list[Region]:
    """The regions after conversion of what is in them."""
    holder = Op("builtin.module", (), (), None, regions)
    try:
        rw.convert(holder)
    except BaseException:
        holder.drop_references()
        raise
    holder.regions = []
    return regions


def _yields(region: Region) -> tuple[Value, ...]:
    return region.block.terminator.operands


@TABLE("tfl.call", "tfl.stablehlo_composite")
def call(op: Op, rw: Rewriter) -> Any:
    """CALL, STABLEHLO_COMPOSITE: the subgraph stands in the operator's place."""
    return _in_place(rw, op.attribute("subgraph" if op.name == "tfl.call" else "decomposition"), op.operands)


@TABLE("tfl.if")
def if_(op: Op, rw: Rewriter) -> Any:
    """IF: one of two regions; where the condition is constant only the chosen subgraph is left, in its place."""
    condition, arguments = op.operands[0], op.operands[1:]
    branches = (op.attribute("then_branch"), op.attribute("else_branch"))
    known = rw.constant_of(condition)
    if known is not None:
        return _in_place(rw, branches[0] if np.any(known) else branches[1], arguments)
    regions = _converted(rw, [_region(rw, branch, arguments, own_arguments=False) for branch in branches])
    then, other = ([value.type for value in _yields(region)] for region in regions)
    if then != other or len(then) != len(op.results):
        _drop(regions)
        raise Unsupported(f"its subgraphs give different types: {', '.join(map(str, then))} and {', '.join(map(str, other))}")
    return rw.create("top.If", (condition,), then, {}, regions).results


@TABLE("tfl.stablehlo_case")
def case(op: Op, rw: Rewriter) -> Any:
    """STABLEHLO_CASE: the subgraph of a number, the last for a number that there is none of."""
    index, arguments = op.operands[0], op.operands[1:]
    branches = [str(branch) for branch in op.attribute("branches")]
    if not branches:
        raise Unsupported("it has no subgraphs to choose from")
    known = rw.constant_of(index)
    if known is not None or len(branches) == 1:
        place = -1 if known is None else int(np.asarray(known).reshape(-1)[0])
        return _in_place(rw, branches[place if 0 <= place < len(branches) else -1], arguments)
    regions = _converted(rw, [_region(rw, branch, arguments, own_arguments=False) for branch in branches])
    types = [[value.type for value in _yields(region)] for region in regions]
    if any(other != types[0] for other in types) or len(types[0]) != len(op.results):
        _drop(regions)
        raise Unsupported(f"its subgraphs give different types: {'; '.join(', '.join(map(str, given)) for given in types)}")
    numbers = (rw.constant(np.asarray(place, np.int32)) for place in range(len(branches) - 1))
    conditions = [rw.emit("top.Compare", index, number, mode="Equal") for number in numbers]
    rest = regions[-1]
    for condition, region in list(zip(conditions, regions, strict=False))[:0:-1]:
        block = Block()
        block.append(Op("top.Yield", block.append(Op("top.If", [condition], types[0], {}, [region, rest])).results))
        rest = Region([block])
    return rw.create("top.If", (conditions[0],), types[0], {}, [regions[0], rest]).results


@TABLE("tfl.while", "tfl.stablehlo_while")
def while_(op: Op, rw: Rewriter) -> Any:
    """WHILE, STABLEHLO_WHILE: two regions on the state; where that is impossible, the steps one after the other.

    A loop over the elements of a list, as recurrent layers are written, cuts the list at the loop's counter: the
    sizes of the parts change from step to step, and only each step by itself has static shapes. The option `loops`
    chooses one of the two ways.
    """
    begun, how = rw.scratch(_Loops).unrolled.pop(op, None), chosen(rw, "loops")
    if begun is not None:
        return _unrolled(op, rw, *begun)
    if how == "unroll":
        return _unrolled(op, rw, 0, "the number of its steps is found only at run time")
    try:
        return _loop(op, rw)
    except Unsupported as reason:
        why = reason.why
    except ConversionError as error:
        why = "; ".join(f"{finding.what}: {finding.why}" for finding in error.findings) or str(error)
    if how == "keep":
        raise Unsupported(why, "with the option loops=auto it is written out step by step, where the number of steps is known")
    return _unrolled(op, rw, 0, why)


def _loop(op: Op, rw: Rewriter) -> Sequence[Value]:
    """The loop as one op, on a state whose types stay the same from step to step.

    What the body hands on unchanged has the first value in every step; it may be a constant that tells sizes.
    """
    body = rw.function(op.attribute("body")).regions[0].block
    fixed = [i for i, (old, new) in enumerate(zip(body.arguments, body.terminator.operands, strict=False)) if old is new]
    regions = _converted(rw, [
        _region(rw, op.attribute(name), op.operands, own_arguments=True, fixed=fixed) for name in ("cond", "body")])
    state = [value.type for value in op.operands]
    after = [value.type for value in _yields(regions[1])]
    condition = [value.type for value in _yields(regions[0])]
    truth = [isinstance(type_, TensorType) and type_.element == BOOL and type_.num_elements == 1 for type_ in condition]
    if after != state or truth != [True]:
        _drop(regions)
        if after == state:
            raise Unsupported(f"its condition gives {', '.join(map(str, condition)) or 'nothing'}, not one truth value")
        changed = [f"{old} becomes {new}" for old, new in zip(state, after, strict=False) if old != new]
        raise Unsupported(f"the types of its state change from step to step: {'; '.join(changed) or 'their number does'}")
    return rw.create("top.While", op.operands, state, {}, regions).results


def _unrolled(op: Op, rw: Rewriter, step: int, why: str) -> Sequence[Value]:
    """The state itself where the condition is known to be false; where it is true, the body and the loop after it.

    `Unsupported`, with the reason `why` there is no other way, where the condition is computed at run time.
    """
    region, = _converted(rw, [_region(rw, op.attribute("cond"), op.operands, own_arguments=False)])
    known = rw.constant_of(_yields(region)[0]) if len(_yields(region)) == 1 else None
    _drop([region])
    if known is None:
        raise Unsupported(why, "a loop whose number of steps is known before it runs could be unrolled; this one is not")
    if not np.any(known):
        return op.operands
    limit = chosen(rw, "unroll_limit")
    if step >= limit:
        raise Unsupported(f"{why}; unrolled, it has more than {limit} steps", "the option unroll_limit allows more")
    state = _in_place(rw, op.attribute("body"), op.operands)
    if len(state) != len(op.operands):
        raise Unsupported(f"its body gives {len(state)} values for a state of {len(op.operands)}")
    rest = op.clone()
    rest.operands = tuple(state)
    rw.scratch(_Loops).unrolled[rest] = step + 1, why
    rw.block.insert(rest, rw.before)
    return rest.results


def _drop(regions: list[Region]) -> None:
    Op("builtin.module", (), (), None, regions).drop_references()

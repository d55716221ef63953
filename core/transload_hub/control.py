"""Control flow of frameworks as the hub's: a choice, and a loop, of blocks that are converted with the op that runs them.

A framework's op names functions, or has regions; either way what it runs is a block, which is copied: into a region of the hub's
op, or in the op's place, where it is known what runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload.errors import ConversionError, Unsupported
from transload.ir import BOOL, Block, Op, Region, TensorType, Type, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter

from .choices import LOOP_OPTIONS

__all__ = ["body_of", "choose", "choose_by_number", "loop", "put_in_place", "switch"]


@dataclass(frozen=True)
class _Left:
    """What was before the rest of a loop: why it is unrolled, how many steps, and the state that decides its end."""

    why: str
    step: int = 0
    deciding: tuple[int, ...] = ()
    seen: dict[bytes, int] = field(default_factory=dict)
    """What the `deciding` state was before which step, where all of it was known: digests of its bits."""


@dataclass
class _Loops:
    """What the rewrites note down of loops."""

    unrolled: dict[Op, _Left] = field(default_factory=dict)


def body_of(rw: Rewriter, block: Block, arguments: Sequence[Value], what: str) -> tuple[list[Op], list[Value]]:
    """Copies of a block's ops with its arguments replaced, and the values that it ends with. `what` names it in messages."""
    if len(block.arguments) != len(arguments):
        raise Unsupported(f"{what} takes {len(block.arguments)} inputs, and is given {len(arguments)}")
    rw.count_copy()
    mapping: dict[Value, Value] = dict(zip(block.arguments, arguments, strict=True))
    copies: list[Op] = []
    for op in block:
        declaration = op.declaration
        if declaration is not None and "terminator" in declaration.traits:
            return copies, [mapping.get(value, value) for value in op.operands]
        copies.append(op.clone(mapping))
    raise Unsupported(f"{what} does not return")


def put_in_place(rw: Rewriter, block: Block, arguments: Sequence[Value], what: str, count: int | None = None) -> list[Value]:
    """Put a block's ops before the op being rewritten; the conversion goes on with them.

    `Unsupported` where the block does not end with `count` values, where that is not None.
    """
    copies, results = body_of(rw, block, arguments, what)
    if count not in (None, len(results)):
        raise Unsupported(f"{what} gives {len(results)} values, and there are {count} results")
    for copy in copies:
        rw.block.insert(copy, rw.before)
    return results


def is_one_truth(type_: Type) -> bool:
    """Whether it is the type of a condition: a tensor of one truth value."""
    return isinstance(type_, TensorType) and type_.element == BOOL and type_.is_static and type_.num_elements == 1


def choose(op: Op, rw: Rewriter, condition: Value, blocks: tuple[Block, Block], arguments: Sequence[Value]) -> Sequence[Value]:
    """One of two blocks, the first for true; where the condition is constant only the chosen one is left, in the op's place."""
    known = rw.constant_of(condition)
    if known is not None:
        return put_in_place(rw, blocks[0 if np.any(known) else 1], arguments, "the branch", len(op.results))
    if isinstance(condition.type, TensorType) and condition.type.is_static and not is_one_truth(condition.type):
        raise Unsupported(f"its condition is {condition.type}, not one truth value")
    regions = _converted(rw, [_region(rw, block, arguments, own_arguments=False) for block in blocks])
    then, other = ([value.type for value in _yields(region)] for region in regions)
    if then != other or len(then) != len(op.results):
        _drop(regions)
        raise Unsupported(f"its branches give different types: {', '.join(map(str, then))} and {', '.join(map(str, other))}")
    return rw.create("top.If", (condition,), then, {}, regions).results


def switch(op: Op, rw: Rewriter, index: Value, blocks: Sequence[Block], arguments: Sequence[Value]) -> Sequence[Value]:
    """The block of a number, the last for a number that there is none of."""
    if not blocks:
        raise Unsupported("it has no branches to choose from")
    known = rw.constant_of(index)
    if known is not None or len(blocks) == 1:
        place = -1 if known is None else int(np.asarray(known).reshape(-1)[0])
        chosen = blocks[place if 0 <= place < len(blocks) else -1]
        return put_in_place(rw, chosen, arguments, "the branch", len(op.results))
    regions = _converted(rw, [_region(rw, block, arguments, own_arguments=False) for block in blocks])
    types = [[value.type for value in _yields(region)] for region in regions]
    if any(other != types[0] for other in types) or len(types[0]) != len(op.results):
        _drop(regions)
        raise Unsupported(f"its branches give different types: {'; '.join(', '.join(map(str, given)) for given in types)}")
    return choose_by_number(rw, index, regions, types[0])


def choose_by_number(build: Builder, index: Value, regions: Sequence[Region], types: Sequence[Type]) -> Sequence[Value]:
    """Ifs that take the region of a number, the last for a number that there is none of; they end in `top.Yield` by now.

    Each asks for the half in which the number lies: what lies as deep as there are regions no reader takes, and no runtime is
    quick at. A choice of one region and those behind it asks for that one, so that of up to three the index is taken as it is.
    """
    last = len(regions) - 1
    if last > 2:  # ranges are asked for, and only the last region is that of a negative number
        negative = build.emit("top.Compare", index, _number(build, 0), mode="Less")
        index = build.emit("top.Where", negative, _number(build, last), index)

    def half(build: Builder, first: int, end: int) -> Sequence[Value]:
        """One of the regions from `first` to before `end`."""
        middle = (first + end) // 2
        one = middle == first + 1
        place = _number(build, first if one else middle)
        asked = build.emit("top.Compare", index, place, mode="Equal" if one else "Less")
        parts = [part(build, first, middle), part(build, middle, end)]
        return build.create("top.If", (asked,), types, {}, parts).results

    def part(build: Builder, first: int, end: int) -> Region:
        if end == first + 1:
            return regions[first]
        block = Block()
        inner = Builder(block, None, build.location)
        inner.create("top.Yield", half(inner, first, end))
        return Region([block])

    return half(build, 0, len(regions))


def _number(build: Builder, number: int) -> Value:
    return build.constant(np.array(number, np.int32))


def loop(op: Op, rw: Rewriter, condition: Block, body: Block) -> Sequence[Value]:
    """A loop whose state are the op's operands: two regions on it; where that is impossible, the steps one after the other.

    A loop over the elements of a list, as recurrent layers are written, cuts the list at the loop's counter: the
    sizes of the parts change from step to step, and only each step by itself has static shapes. The option `loops`
    chooses one of the two ways.
    """
    if len(op.results) != len(op.operands):
        raise Unsupported(f"it has {len(op.results)} results for a state of {len(op.operands)}")
    begun, how = rw.scratch(_Loops).unrolled.pop(op, None), _chosen(rw, "loops")
    if begun is not None:
        return _unrolled(op, rw, condition, body, begun)
    if how == "unroll":
        return _unrolled(op, rw, condition, body, _Left("the number of its steps is found only at run time"))
    try:
        return _kept(op, rw, condition, body)
    except Unsupported as reason:
        why = reason.why
    except ConversionError as error:
        why = "; ".join(f"{finding.what}: {finding.why}" for finding in error.findings) or str(error)
    if how == "keep":
        raise Unsupported(why, "with the option loops=auto it is written out step by step, where the number of steps is known")
    return _unrolled(op, rw, condition, body, _Left(why))


def _chosen(rw: Rewriter, name: str) -> Any:
    return rw.options.get(name, LOOP_OPTIONS[name][1])


def _kept(op: Op, rw: Rewriter, condition: Block, body: Block) -> Sequence[Value]:
    """The loop as one op, on a state whose types stay the same from step to step.

    What the body hands on unchanged has the first value in every step; it may be a constant that tells sizes.
    """
    fixed = [i for i, (old, new) in enumerate(zip(body.arguments, body.terminator.operands, strict=False)) if old is new]
    regions = _converted(rw, [_region(rw, block, op.operands, own_arguments=True, fixed=fixed) for block in (condition, body)])
    state = [value.type for value in op.operands]
    after = [value.type for value in _yields(regions[1])]
    tests = [value.type for value in _yields(regions[0])]
    truth = [is_one_truth(type_) for type_ in tests]
    if after != state or truth != [True]:
        _drop(regions)
        if after == state:
            raise Unsupported(f"its condition gives {', '.join(map(str, tests)) or 'nothing'}, not one truth value")
        changed = [f"{old} becomes {new}" for old, new in zip(state, after, strict=False) if old != new]
        raise Unsupported(f"the types of its state change from step to step: {'; '.join(changed) or 'their number does'}")
    return rw.create("top.While", op.operands, state, {}, regions).results


def _unrolled(op: Op, rw: Rewriter, condition: Block, body: Block, left: _Left) -> Sequence[Value]:
    """The state itself where the condition is known to be false; where it is true, the body and the loop after it.

    `Unsupported`, with the reason there is no other way, where the condition is computed at run time, or where a step leaves all
    that decides as it once was, so that no step is the last.
    """
    region, = _converted(rw, [_region(rw, condition, op.operands, own_arguments=False)])
    known = rw.constant_of(_yields(region)[0]) if len(_yields(region)) == 1 else None
    _drop([region])
    if known is None:
        raise Unsupported(left.why, "a loop whose number of steps is known before it runs could be unrolled; this one is not")
    if not np.any(known):
        return op.operands
    limit = _chosen(rw, "unroll_limit")
    if left.step >= limit:
        raise Unsupported(f"{left.why}; unrolled, it has more than {limit} steps", "the option unroll_limit allows more")
    deciding = left.deciding if left.step else _deciding(condition, body)
    state = _digest([rw.constant_of(op.operands[index]) for index in deciding])
    if state is not None and (first := left.seen.setdefault(state, left.step)) != left.step:
        raise Unsupported(
            f"{left.why}; unrolled, it has no end: step {left.step} leaves what its condition is computed of as it was "
            + ("" if first == left.step - 1 else f"{left.step - first} steps ") + "before",
            "count by a step that is not 0, in integers or with a scale by which it is not rounded to 0")
    put = put_in_place(rw, body, op.operands, "the body", len(op.operands))
    rest = op.clone()
    rest.operands = tuple(put)
    rw.scratch(_Loops).unrolled[rest] = _Left(left.why, left.step + 1, deciding, left.seen)
    rw.counts_itself()
    rw.block.insert(rest, rw.before)
    return rest.results


def _digest(arrays: Sequence[np.ndarray | None]) -> bytes | None:
    """Of the bits of arrays: a NaN is what it was, and -0 is not 0; None where an array is not known."""
    made = hashlib.sha256()
    for array in arrays:
        if array is None:
            return None
        made.update(f"{array.dtype}{array.shape}".encode())
        made.update(repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())
    return made.digest()


def _deciding(condition: Block, body: Block) -> tuple[int, ...]:
    """The state, by number, that the condition is computed of, and what that is computed of from step to step."""
    found = set[int]()
    pending = _arguments_of(condition, condition.terminator.operands)
    while pending:
        found |= pending
        made = [value for index, value in enumerate(body.terminator.operands) if index in pending]
        pending = _arguments_of(body, made) - found
    return tuple(sorted(found))


def _arguments_of(block: Block, values: Sequence[Value]) -> set[int]:
    """The arguments of a block, by number, that values are computed of."""
    seen, pending = set[Value](), list(values)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.op is not None:
            pending += [operand for op in (value.op, *value.op.walk()) for operand in op.operands]
    return {index for index, argument in enumerate(block.arguments) if argument in seen}


def _region(rw: Rewriter, block: Block, arguments: Sequence[Value], own_arguments: bool, fixed: Sequence[int] = ()) -> Region:
    """A region that computes a block; its arguments are its own, but for those `fixed`, or values around it."""
    made = Block([value.type for value in arguments] if own_arguments else ())
    given = [value if not own_arguments or i in fixed else made.arguments[i] for i, value in enumerate(arguments)]
    copies, results = body_of(rw, block, given, "what it runs")
    for copy in copies:
        made.append(copy)
    made.append(Op("top.Yield", results))
    return Region([made])


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


def _drop(regions: list[Region]) -> None:
    Op("builtin.module", (), (), None, regions).drop_references()

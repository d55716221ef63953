"""Control flow: branches, loops (unrolled where their number of rounds is known), barriers, maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.run import Plan
from transload.errors import Unsupported
from transload.ir import BOOL, Block, Op, Region, TensorType, Value
from transload.ir.regions import release_regions
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.control import choose_by_number

from ..types import TOKEN_TYPE, shape_of
from .bodies import apply_body
from .table import expand, is_complex, lean, materialized, refuse_complex, reshape, static

if TYPE_CHECKING:
    from ..dialect.control import Case, If, OptimizationBarrier, Return, While
    from ..dialect.reduction import Map

__all__ = ["TABLE", "refuse_tokens"]

TABLE = RewriteTable()

UNROLL_LIMIT = 20_000
"""Ops that a loop may become; one that would become more is kept as a loop."""
TOTAL_LIMIT = 60_000
"""Ops that all loops of a module together may become: loops in loops that are unrolled are there many times."""
EVALUATION_LIMIT = 1 << 24
"""Elements that may be computed to learn how often a loop runs."""


@dataclass
class _Unrolled:
    """What the rewrites note down: how many ops the loops of a module have become."""

    ops: int = 0


@TABLE("stablehlo.return")
def return_(op: Return, rw: Rewriter) -> list[Value]:
    """The end of a branch or body that is kept."""
    rw.create("top.Yield", op.operands)
    return []


@TABLE("stablehlo.optimization_barrier")
def barrier(op: OptimizationBarrier, rw: Rewriter) -> Sequence[Value]:
    """The values: what a compiler may not move across, a conversion does not move."""
    return op.operands


def refuse_tokens(op: Op) -> None:
    """`Unsupported` where the op takes or gives anything but tensors of real numbers."""
    for value in (*op.operands, *op.results):
        if value.type == TOKEN_TYPE or not isinstance(value.type, TensorType) or is_complex(value):
            raise Unsupported(f"passes on a {value.type}, and only tensors of real numbers can be converted")


# --- branches

@TABLE("stablehlo.if")
def if_(op: If, rw: Rewriter) -> Sequence[Value]:
    """`top.If`; of a constant condition the ops of the branch it takes."""
    known = rw.constant_of(lean(op.pred))
    if known is not None:
        return rw.copied(op.regions[0 if known.reshape(-1)[0] else 1].block, ())
    refuse_tokens(op)
    rw.convert(op)
    made = rw.create("top.If", (op.pred,), [result.type for result in op.results], {}, release_regions(op))
    return list(made.results)


@TABLE("stablehlo.case")
def case(op: Case, rw: Rewriter) -> Sequence[Value]:
    """`top.If` of halves of the branches; the last branch is also that of an index that is none of them."""
    branches = list(op.regions)
    known = rw.constant_of(lean(op.index))
    if known is not None:
        number = int(known.reshape(-1)[0])
        return rw.copied(branches[number if 0 <= number < len(branches) else -1].block, ())
    if len(branches) == 1:
        return rw.copied(branches[0].block, ())
    refuse_tokens(op)
    rw.convert(op)
    return choose_by_number(rw, op.index, release_regions(op), [result.type for result in op.results])


# --- loops

@TABLE("stablehlo.while")
def while_(op: While, rw: Rewriter) -> Sequence[Value]:
    """Copies of the body where the number of rounds is known and they are not too many; else `top.While`."""
    body = op.body.block
    size = max(sum(1 for inner in body for _ in inner.walk()), 1)
    rounds = _rounds(op, rw, UNROLL_LIMIT // size)
    if rounds is not None and _is_granted(rw, rounds * size):
        state: Sequence[Value] = op.operands
        for _ in range(rounds):
            state = rw.copied(body, state)
        return state
    refuse_tokens(op)
    for value in op.operands:
        static(value, "a value of the loop")
    rw.convert(op)
    inputs = [materialized(rw, value) for value in op.operands]
    question = op.cond.block.terminator
    answer = question.operands[0]
    if answer.element != BOOL or answer.shape != ():
        builder = Rewriter(question)
        question.operands = (reshape(builder, answer, ()),)
    made = rw.create("top.While", inputs, [result.type for result in op.results], {}, release_regions(op))
    return list(made.results)


def _is_granted(rw: Rewriter, count: int) -> bool:
    """Whether the module may grow by so many ops; then it is noted that it did."""
    unrolled = rw.scratch(_Unrolled)
    if unrolled.ops + count > TOTAL_LIMIT:
        return False
    unrolled.ops += count
    return True


def _rounds(op: While, rw: Rewriter, limit: int) -> int | None:
    """How often the body runs, up to a limit, if that hangs on constants alone: what the condition hangs on is run."""
    cond, body = op.cond, op.body
    needed = _needed_state(op)
    if needed is None:
        return None
    state: dict[int, Any] = {}
    for index in needed:
        array = rw.constant_of(lean(op.operands[index]))
        if array is None or array.size > 4096:
            return None
        state[index] = np.broadcast_to(array, shape_of(op.operands[index]))
    question = _part(cond, list(cond.block.terminator.operands), needed)
    step = _part(body, [body.block.terminator.operands[index] for index in needed], needed)
    elements = _elements(question) + _elements(step)
    if elements > EVALUATION_LIMIT:
        return None
    limit = min(limit, EVALUATION_LIMIT // max(elements, 1))
    plans = [Plan(part, op) for part in (question, step)]
    if any(plan.missing for plan in plans):
        return None
    current = [state[index] for index in needed]
    for count in range(limit + 1):
        if not bool(np.asarray(plans[0].execute(current)[0]).reshape(-1)[0]):
            return count
        current = plans[1].execute(current)
    return None


def _elements(part: Region) -> int:
    """How many elements a region computes; beyond all limits where that is not known."""
    shapes = [result.known_shape for op in part.block for result in op.results]
    return EVALUATION_LIMIT + 1 if None in shapes else sum(math.prod(shape) for shape in shapes if shape is not None)


def _needed_state(op: While) -> list[int] | None:
    """Which values of the loop the condition hangs on, through all rounds; None where others than its own are used."""
    needed: set[int] = set()
    pending = _arguments_of(op.cond, op.cond.block.terminator.operands)
    if pending is None:
        return None
    while pending:
        index = pending.pop()
        if index in needed:
            continue
        needed.add(index)
        more = _arguments_of(op.body, [op.body.block.terminator.operands[index]])
        if more is None:
            return None
        pending |= more
    return sorted(needed)


def _arguments_of(region: Region, values: Sequence[Value]) -> set[int] | None:
    """The numbers of the region's arguments that values are computed from; None where it uses values from around it."""
    found: set[int] = set()
    seen: set[Value] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.owner is region.block:
            found.add(value.index)
        elif isinstance(value.owner, Op) and value.owner.parent is region.block:
            if value.owner.regions:
                return None
            pending.extend(value.owner.operands)
        elif isinstance(value.owner, Op) and value.owner.declaration is not None and "constant" in value.owner.declaration.traits:
            continue
        else:
            return None
    return found


def _part(region: Region, values: Sequence[Value], needed: Sequence[int]) -> Region:
    """A region of its own that computes some values from some of the arguments."""
    block = Block([region.block.arguments[index].type for index in needed])
    part = Region([block])
    mapping = {region.block.arguments[index]: block.arguments[place] for place, index in enumerate(needed)}
    makers: dict[Op, None] = {}
    pending = [value.op for value in values]
    while pending:
        maker = pending.pop()
        if maker is not None and maker not in makers:
            makers[maker] = None
            pending.extend(operand.op for operand in maker.operands)
    constants = [maker for maker in makers if maker.parent is not region.block]
    for maker in (*constants, *(each for each in region.block if each in makers)):
        block.append(maker.clone(mapping))
    block.append(Op("stablehlo.return", [mapping[value] for value in values]))
    return part


# --- functions of elements

@TABLE("stablehlo.map")
def map_(op: Map, rw: Rewriter) -> Sequence[Value]:
    """The function's ops, on whole tensors."""
    refuse_complex(op)
    made = apply_body(rw, op.computation, op.operands)
    return [expand(rw, made[0], static(op.results[0], "the result"))]

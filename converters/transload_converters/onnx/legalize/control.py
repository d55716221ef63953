"""Constants, branches and loops.

A branch whose condition is constant is replaced by what it chooses. A loop whose number of rounds is
known is unrolled: its op is rewritten into one copy of the body and a loop for the rest, again and
again, so that each copy is converted (and its shape arithmetic computed) before the next one is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload.budget import budget
from transload.errors import ConversionError, Unsupported
from transload.ir import I64, Block, NoneType, Op, Region, TensorType, Type, Value
from transload.ir.build import Builder
from transload.ir.regions import copied_regions, release_regions
from transload.rewrite import Rewriter

from ..types import UNKNOWN
from .movement import slice_along
from .numerals import CASTS, Texts
from .table import Failed, OnnxTable, attr, axis_of, cast, need, operand, opset, reshape, shape_of, splat

__all__ = ["TABLE", "inlined"]

TABLE = OnnxTable()

UNROLL_LIMIT = 20_000
"""Ops that a loop may become; one that would become more is kept as a loop where that can be."""


@dataclass
class _Unrolled:
    """What a run of the table notes: of each loop that is being unrolled, how many rounds are done."""

    done: dict[Op, int] = field(default_factory=dict)
    kept: int = 0
    """In how many loops that are kept what is converted lies."""


@TABLE("onnx.Constant")
def constant(op: Op, rw: Rewriter) -> Value:
    """A constant tensor of numbers, or of texts where all that is done with them is to cast them to numbers."""
    if "value" in op.attributes:
        return rw.constant(op.attributes["value"])
    made, result = rw.none("top"), op.results[0]
    if not result.uses:
        return made
    texts = attr(op, "value_strings")
    if texts is not None and all(user.name in CASTS and user.operands.index(result) == 0 for user in result.uses):
        rw.scratch(Texts).held[made] = tuple(texts), result.known_shape
        return made
    raise Unsupported("holds text, and only numbers can be converted")


@TABLE("onnx.NoValue")
def no_value(op: Op, rw: Rewriter) -> Value:
    """An operand that is left out."""
    return rw.none("top")


@TABLE("onnx.Yield", stored="bundles")
def yield_(op: Op, rw: Rewriter) -> list[Value]:
    """The end of a branch or body."""
    rw.create("top.Yield", op.operands)
    return []


# --- branches


@TABLE("onnx.If", stored="bundles")
def if_(op: Op, rw: Rewriter) -> list[Value]:
    """If: the chosen branch where the condition is constant, else `top.If`.

    A branch that cannot be run with the shapes there are (its operands do not fit) is never chosen in a run that
    succeeds, so then the other one is taken: models for several input sizes have such branches.
    """
    condition = need(op, 0)
    known = rw.constant_of(condition)
    if known is not None:
        return _take_over(rw, op.regions[0 if rw.need_number(condition, "the condition") else 1].block)
    try:
        rw.convert(op)  # the types of what is in the branches are needed
    except ConversionError:
        failed = rw.scratch(Failed).ops
        possible = [region for region in op.regions if not any(inner in failed for inner in region.block)]
        if len(possible) != 1 or any(inner.dialect == "onnx" for inner in possible[0].block):
            raise
        rw.note(
            f"the {'first' if possible[0] is op.regions[0] else 'second'} branch of {op.origin or 'an If'} is always taken: the "
            f"other, for another value of {condition.name or 'its condition'}, cannot be computed with the inputs' shapes")
        return _take_over(rw, possible[0].block)
    branches = [region.block.terminator.operands for region in op.regions]
    then, otherwise = ([value.type for value in values] for values in branches)
    if then != otherwise:
        raise Unsupported(
            f"its branches give values of different types: {', '.join(map(str, then))} and {', '.join(map(str, otherwise))}",
            "give the inputs another shape, or fix the condition")
    made = rw.create("top.If", (reshape(rw, condition, ()),), then, {}, release_regions(op))
    return list(made.results)


def _take_over(rw: Rewriter, block: Block) -> list[Value]:
    """Move the ops of a branch before the op being rewritten; the values it ends with."""
    values = list(block.terminator.operands)
    for inner in block:
        block.remove(inner)
        if inner.name in ("onnx.Yield", "top.Yield"):
            inner.drop_references()
        else:
            rw.block.insert(inner, rw.before)
    return values


# --- loops


@TABLE("onnx.Loop", stored="bundles")
def loop(op: Op, rw: Rewriter) -> list[Value]:
    """Loop: unrolled where the number of rounds is known, else `top.While`."""
    body = op.regions[0].block
    n_carried, n_scanned = len(body.arguments) - 2, 0
    if body.last is None or n_carried < 0:
        raise Unsupported("has no body")
    n_scanned = len(body.terminator.operands) - 1 - n_carried
    done = rw.scratch(_Unrolled).done.get(op, 0)
    condition = operand(op, 1)
    trip = operand(op, 0)
    rounds = _known(trip, rw, "the number of rounds")
    going = True if condition is None else _known(condition, rw, "the condition")
    carried = op.operands[2 : 2 + n_carried]
    scanned = op.operands[2 + n_carried :]
    if n_scanned < 0 or len(carried) != n_carried or (not done and scanned):
        raise Unsupported("its body does not fit its operands")
    limit = math.inf if rounds is None else rounds
    if done >= limit or (going is not None and not going):
        joined = [_stack(op, rw, scanned[i::n_scanned], n_carried + i, 0) for i in range(n_scanned)]
        return [*carried, *joined][: len(op.results)]
    total = limit * len(body)
    steady = _passes_condition_on(body)
    most = UNROLL_LIMIT if rw.scratch(_Unrolled).kept and not n_scanned else budget().ops
    if steady and not done and (all_of_it := limit * _unrolled_size(body, rw)) > most:
        total = max(all_of_it, UNROLL_LIMIT + 1)  # with the loops in it, each of which may be small
    unrollable = going is not None and (n_scanned or steady) and (total <= UNROLL_LIMIT or (math.isinf(total) and not steady))
    if not unrollable:
        if n_scanned:
            if math.isinf(total) or going is None:
                raise Unsupported(
                    "collects values over a number of rounds that is not known",
                    "make its number of rounds and its first condition constants, and leave the latter as it is in its body; or "
                    "have it carry a tensor of a known size, into which each round scatters its values (ScatterND)")
            raise Unsupported(f"would become {total:,} ops", f"loops of up to {UNROLL_LIMIT:,} ops are unrolled")
        return _while(op, rw, trip, condition, carried)
    if done * len(body) > UNROLL_LIMIT:
        raise Unsupported(f"does not end within {UNROLL_LIMIT:,} ops")
    first = rw.constant(np.array(done, np.int64)), condition if condition is not None else rw.constant(np.array(True))
    outcome = _copy(rw, body, [*first, *carried])
    operands = [op.operands[0], *outcome[: 1 + n_carried], *scanned, *outcome[1 + n_carried :]]
    return _rest(op, rw, operands, done + 1)


def _known(value: Value | None, rw: Rewriter, what: str) -> Any:
    """The one number of an operand; None where there is none, or it is not known."""
    return None if value is None or rw.constant_of(value) is None else rw.need_number(value, what)


def _unrolled_size(body: Block, rw: Rewriter) -> int:
    """Ops of a loop's body, at least, where the loops in it are unrolled that do a known number of rounds."""
    size = len(body)
    for op in body:
        if op.name != "onnx.Loop" or op.regions[0].block.last is None:
            continue
        trip, inner = operand(op, 0), op.regions[0].block
        rounds = _known(trip, rw, "the number of rounds of a loop in its body")
        condition = operand(op, 1)
        if rounds is None or (condition is not None and not _goes_on(condition, rw)) or not _passes_condition_on(inner):
            continue
        if 0 < rounds * len(inner) <= UNROLL_LIMIT:
            size += rounds * _unrolled_size(inner, rw)
    return size


def _goes_on(condition: Value, rw: Rewriter) -> bool:
    """Whether a loop's first condition is known, and true."""
    return bool(_known(condition, rw, "the condition of a loop in its body"))


def _passes_condition_on(body: Block) -> bool:
    """Whether a loop's body goes on for ever: it ends with the condition it was given, or a constant."""
    value = body.terminator.operands[0]
    while isinstance(value.owner, Op) and value.owner.name in ("onnx.Identity", "onnx.Cast"):
        value = value.owner.operands[0]
    return value is body.arguments[1] or (isinstance(value.owner, Op) and value.owner.name in ("onnx.Constant", "top.Weight"))


def _copy(rw: Rewriter, body: Block, values: Sequence[Value]) -> list[Value]:
    """A copy of a body before the op being rewritten; the values it ends with."""
    if body.last is None or body.last.name != "onnx.Yield":
        raise Unsupported("its body does not end")
    return rw.copied(body, values)


def inlined(rw: Rewriter, body: Block, values: Sequence[Value]) -> list[Value]:
    """What a subgraph gives for `values`: its ops are copied before the op being rewritten, and converted after it."""
    if len(body.arguments) != len(values):
        raise Unsupported(f"has a subgraph of {len(body.arguments)} inputs, not {len(values)}")
    return _copy(rw, body, values)


def _rest(op: Op, rw: Rewriter, operands: list[Value], done: int) -> list[Value]:
    """The loop that remains after one more round."""
    types = [result.type for result in op.results]
    rest = rw.create(op.name, operands, types, dict(op.attributes), release_regions(op), op.location)
    rw.scratch(_Unrolled).done[rest] = done
    rw.counts_itself()
    return list(rest.results)


def _stack(op: Op, rw: Rewriter, values: tuple[Value, ...], output: int, axis: int) -> Value:
    """The values that the rounds gave, along a new dimension."""
    if values:
        parts = []
        for value in values:
            place = axis_of(axis, len(shape_of(value)) + 1)
            parts.append(rw.emit("top.Unsqueeze", value, axes=(place,)))
        return parts[0] if len(parts) == 1 else rw.emit("top.Concat", *parts, axis=place)
    type_ = op.results[output].type if output < len(op.results) else NoneType()
    if not isinstance(type_, TensorType) or type_.shape is None or any(size is None for size in type_.shape[1:]):
        raise Unsupported("does no round, and the shape of what a round would give is not known")
    return splat(rw, 0, (0, *type_.shape[1:]), type_.element)  # type: ignore[arg-type]


def _while(op: Op, rw: Rewriter, trip: Value | None, condition: Value | None, carried: tuple[Value, ...]) -> list[Value]:
    """A loop as `top.While`, whose state is (round, condition, carried values): what the body takes."""
    if any(not isinstance(value.type, TensorType) for value in carried):
        raise Unsupported("carries a sequence over a number of rounds that is not known")
    first = rw.constant(np.array(rw.scratch(_Unrolled).done.get(op, 0), np.int64))
    going = reshape(rw, condition, ()) if condition is not None else rw.constant(np.array(True))
    state = [first, going, *carried]
    body = op.regions[0].block
    for argument, value in zip(body.arguments, state, strict=True):
        argument.type = value.type
    notes = rw.scratch(_Unrolled)
    notes.kept += 1
    try:
        rw.convert(op)
    finally:
        notes.kept -= 1
    end = body.terminator
    inner = Rewriter(end, True)
    following = inner.emit("top.Add", body.arguments[0], inner.constant(np.array(1, np.int64)))
    operands = [following, *end.operands]
    operands[1] = reshape(inner, operands[1], ())
    for value, after in zip(state, operands, strict=True):
        if value.type != after.type:
            raise Unsupported(f"a value it carries changes its type from {value.type} to {after.type}")
    end.operands = tuple(operands)
    test = Block([value.type for value in state])
    builder = Builder(test, None, rw.location)
    more = test.arguments[1]
    if trip is not None:
        before_end = builder.emit("top.Compare", test.arguments[0], reshape(rw, cast(rw, trip, I64), ()), mode="Less")
        more = builder.emit("top.LogicalAnd", before_end, more)
    test.append(Op("top.Yield", (more,)))
    made = rw.create("top.While", state, [value.type for value in state], {}, [Region([test]), *release_regions(op)])
    return list(made.results[2:])


@TABLE("onnx.Scan")
def scan(op: Op, rw: Rewriter) -> list[Value]:
    """Scan over dimensions of known size: unrolled."""
    if opset(op) < 9:
        return _scan_of_batch(op, rw)
    body = op.regions[0].block
    n_inputs = attr(op, "num_scan_inputs", 0)
    n_states = len(body.arguments) - n_inputs
    if n_inputs < 1 or n_states < 0 or body.last is None:
        raise Unsupported("its body does not fit its operands")
    n_outputs = len(body.terminator.operands) - n_states
    done = rw.scratch(_Unrolled).done.get(op, 0)
    states, inputs = op.operands[:n_states], op.operands[n_states : n_states + n_inputs]
    scanned = op.operands[n_states + n_inputs :]
    given = attr(op, "scan_input_axes") or (0,) * n_inputs
    if not len(given) == len(inputs) == n_inputs:
        raise Unsupported(f"goes through {len(inputs)} tensors along {len(given)} dimensions, where {n_inputs} are due")
    axes = [axis_of(axis, len(shape_of(value))) for axis, value in zip(given, inputs, strict=True)]
    rounds = {shape_of(value)[axis] for axis, value in zip(axes, inputs, strict=True)}
    if len(rounds) != 1 or n_outputs < 0:
        raise Unsupported("the tensors it goes through have different lengths")
    (total,) = rounds
    if total * len(body) > UNROLL_LIMIT:
        raise Unsupported(f"would become {total * len(body):,} ops", f"loops of up to {UNROLL_LIMIT:,} ops are unrolled")
    if done >= total:
        joined = []
        for i in range(n_outputs):
            values = scanned[i::n_outputs]
            backward = (attr(op, "scan_output_directions") or (0,) * n_outputs)[i]
            axis = (attr(op, "scan_output_axes") or (0,) * n_outputs)[i]
            joined.append(_stack(op, rw, values[::-1] if backward else values, n_states + i, axis))
        return [*states, *joined][: len(op.results)]
    directions = attr(op, "scan_input_directions") or (0,) * n_inputs
    if len(directions) != n_inputs:
        raise Unsupported(f"goes through {n_inputs} tensors in {len(directions)} directions")
    slices = []
    for value, axis, backward in zip(inputs, axes, directions, strict=True):
        place = total - 1 - done if backward else done
        slices.append(rw.emit("top.Squeeze", slice_along(rw, value, axis, place, place + 1), axes=(axis,)))
    outcome = _copy(rw, body, [*states, *slices])
    return _rest(op, rw, [*outcome[:n_states], *inputs, *scanned, *outcome[n_states:]], done + 1)


def _scan_of_batch(op: Op, rw: Rewriter) -> list[Value]:
    """The Scan of opset 8, whose tensors have a batch in front: a Scan of opset 9 for each of it, their results side by side.

    Its first operand are lengths, where sequences of the batch are not of one: these are refused.
    """
    if operand(op, 0) is not None:
        raise Unsupported("scans sequences of lengths of their own (sequence_lens)", "export the model with opset 9 or newer")
    values = op.operands[1:]
    batches = {shape_of(value, least=1)[0] for value in values}
    if len(batches) != 1 or not values:
        raise Unsupported(f"scans tensors of batches {sorted(batches)}")
    (batch,) = batches
    n_inputs = attr(op, "num_scan_inputs", 0)
    attributes: dict[str, object] = {"num_scan_inputs": n_inputs, "onnx.opset": 9}
    if "directions" in op.attributes:
        attributes["scan_input_directions"] = op.attributes["directions"]
    rows: list[list[Value]] = []
    for place in range(batch):
        own = [rw.emit("top.Squeeze", slice_along(rw, value, 0, place, place + 1), axes=(0,)) for value in values]
        types = [_without_batch(result.type) for result in op.results]
        regions = release_regions(op) if place == batch - 1 else copied_regions(op)
        made = rw.create("onnx.Scan", own, types, dict(attributes), regions, op.location)
        rows.append([rw.create("onnx.Unsqueeze", [result], [UNKNOWN], {"axes": (0,), "onnx.opset": 11}).results[0]
                     for result in made.results])
    joined = {"axis": 0, "onnx.opset": 11}
    return [rw.create("onnx.Concat", parts, [UNKNOWN], dict(joined)).results[0] for parts in zip(*rows, strict=True)]


def _without_batch(type_: Type) -> Type:
    return TensorType(type_.shape[1:], type_.element) if isinstance(type_, TensorType) and type_.shape else type_

"""Sequences and optional values, where what is in them is known: they vanish.

An op that makes a sequence becomes `top.Custom` named "onnx.sequence", whose operands are the tensors in it;
an op that takes from one finds them there. Those that nothing uses in the end are removed with all else that
is unused. One that the model gives becomes the tensors in it, `name[0]`, `name[1]` and so on; one that an op took which was kept
cannot be converted.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from transload.errors import ConversionError, Finding, Unsupported
from transload.ir import DialectType, Module, Op, Value, output_names, set_results
from transload.rewrite import Rewriter

from ..bundles import element_name
from ..types import UNKNOWN
from .control import inlined
from .movement import slice_along
from .table import Impossible, OnnxTable, attr, axis_of, constant_int, constant_ints, flag, need, operand, shape_of

__all__ = ["TABLE", "spell_out_results"]

TABLE = OnnxTable()

_NAME = "onnx.sequence"


def _sequence(rw: Rewriter, op: Op, tensors: list[Value]) -> Value:
    type_ = op.results[0].type
    if not isinstance(type_, DialectType) or type_ == UNKNOWN:
        type_ = DialectType("onnx.seq<onnx.unknown>")
    return rw.create("top.Custom", tensors, (type_,), {"name": _NAME}).results[0]


def _tensors_or_none(value: Value) -> list[Value] | None:
    maker = value.owner
    if isinstance(maker, Op) and maker.name == "top.Custom" and maker.attributes.get("name") == _NAME:
        return list(maker.operands)
    return None


def _tensors(value: Value) -> list[Value]:
    """The tensors in a sequence."""
    found = _tensors_or_none(value)
    if found is None:
        raise Unsupported("takes from a sequence whose length is not known")
    return found


def _place(op: Op, rw: Rewriter, index: int, count: int, default: int, most: int) -> int:
    """The position that an operand names, counted from the front, up to `most`."""
    given = operand(op, index)
    place = default if given is None else constant_int(rw, given, "the position")
    if not -count <= place <= most:
        raise Unsupported(f"position {place} is outside a sequence of {count}")
    return place + count if place < 0 else place


@TABLE("onnx.SequenceConstruct", "onnx.SequenceEmpty", stored="native")
def construct(op: Op, rw: Rewriter) -> Value:
    """A sequence of given tensors."""
    return _sequence(rw, op, list(op.operands))


@TABLE("onnx.SequenceInsert", stored="native")
def insert(op: Op, rw: Rewriter) -> Value:
    """A sequence with one tensor more."""
    tensors = _tensors(need(op, 0))
    count = len(tensors)
    tensors.insert(_place(op, rw, 2, count, count, count), need(op, 1))
    return _sequence(rw, op, tensors)


@TABLE("onnx.SequenceErase", stored="native")
def erase(op: Op, rw: Rewriter) -> Value:
    """A sequence with one tensor less."""
    tensors = _tensors(need(op, 0))
    del tensors[_place(op, rw, 1, len(tensors), len(tensors) - 1, len(tensors) - 1)]
    return _sequence(rw, op, tensors)


@TABLE("onnx.SequenceAt", stored="native")
def at(op: Op, rw: Rewriter) -> Value:
    """One tensor of a sequence."""
    tensors = _tensors(need(op, 0))
    return tensors[_place(op, rw, 1, len(tensors), 0, len(tensors) - 1)]


@TABLE("onnx.SequenceLength", stored="native")
def length(op: Op, rw: Rewriter) -> Value:
    """How many tensors are in a sequence."""
    return rw.constant(np.array(len(_tensors(need(op, 0))), np.int64))


@TABLE("onnx.ConcatFromSequence", stored="native")
def concat(op: Op, rw: Rewriter) -> Value:
    """The tensors of a sequence, joined along a dimension, or along a new one."""
    tensors = _tensors(need(op, 0))
    if not tensors:
        raise Unsupported("joins the tensors of an empty sequence")
    rank = len(shape_of(tensors[0]))
    if attr(op, "new_axis", 0):
        return rw.emit("top.Pack", *tensors, axis=axis_of(attr(op, "axis", 0), rank + 1))
    axis = axis_of(attr(op, "axis", 0), rank)
    return tensors[0] if len(tensors) == 1 else rw.emit("top.Concat", *tensors, axis=axis)


@TABLE("onnx.SplitToSequence", stored="native")
def split(op: Op, rw: Rewriter) -> Value:
    """A sequence of the pieces of a tensor: of one size each (the last may be less), or of given sizes."""
    value = need(op, 0)
    shape = shape_of(value)
    axis = axis_of(attr(op, "axis", 0), len(shape))
    given = operand(op, 1)
    size = shape[axis]
    sizes: Iterable[int]  # counted as they are used: where there are very many, the budget of ops ends that
    if given is not None and shape_of(given):
        sizes = constant_ints(rw, given, "the sizes")
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise Unsupported(f"splits dimension {axis} of a tensor of shape {shape} into {sizes}")
    else:
        step = 1 if given is None else constant_int(rw, given, "the size")
        if step < 1:
            raise Unsupported(f"splits into pieces of {step}")
        sizes = (min(step, size - start) for start in range(0, size, step))
    pieces, start = [], 0
    for part in sizes:
        piece = slice_along(rw, value, axis, start, start + part)
        if given is None and not flag(op, "keepdims", 1):
            piece = rw.emit("top.Squeeze", piece, axes=(axis,))
        pieces.append(piece)
        start += part
    return _sequence(rw, op, pieces)


@TABLE("onnx.SequenceMap", stored="native")
def map_(op: Op, rw: Rewriter) -> list[Value]:
    """A subgraph for each place of some sequences, and of tensors that are the same in all; a sequence of each result."""
    first = _tensors(need(op, 0))
    columns = [values if (values := _tensors_or_none(value)) is not None else [value] * len(first) for value in op.operands]
    if any(len(column) != len(first) for column in columns):
        raise Unsupported(f"goes through sequences of {', '.join(str(len(column)) for column in columns)} tensors at once")
    rows = [inlined(rw, op.regions[0].block, values) for values in zip(*columns, strict=True)]
    return [_sequence(rw, op, list(tensors)) for tensors in zip(*rows, strict=True)] if rows else [
        _sequence(rw, op, []) for _ in op.results]


@TABLE("onnx.Optional", "onnx.OptionalGetElement", stored="native")
def optional(op: Op, rw: Rewriter) -> Value:
    """A value that may be absent: the value itself, or none."""
    value = operand(op, 0)
    if value is None and op.name == "onnx.OptionalGetElement":
        raise Impossible("takes a value that is not there")
    return rw.none("top") if value is None else value


@TABLE("onnx.OptionalHasElement", stored="native")
def has_element(op: Op, rw: Rewriter) -> Value:
    """Whether there is a value: known here."""
    value = operand(op, 0)
    if value is not None and str(value.type).startswith("!onnx.optional"):
        raise Unsupported("asks whether an input of the model is there")
    return rw.constant(np.array(value is not None))


def spell_out_results(module: Module) -> bool:
    """Give the tensors in a sequence where the model gives that. Raises `ConversionError` where a sequence is left."""
    for function in module.functions.values():
        _spell_out(function)
    left = [op for op in module.ops() if op.name == "top.Custom" and op.attributes.get("name") == _NAME and op.results[0].uses]
    if left:
        names = tuple(op.origin for op in left if op.origin)
        raise ConversionError("the model works on sequences whose content is not known", [
            Finding("onnx.sequence", "only tensors can be values", names, "give the tensors as values of their own", len(left))])
    return False


def _spell_out(function: Op) -> None:
    """Replace the sequences that a function gives by the tensors in them."""
    end = function.regions[0].block.terminator
    values: list[Value] = []
    names: list[str] = []
    for value, name in zip(end.operands, output_names(function), strict=True):
        tensors = _tensors_or_none(value)
        values += [value] if tensors is None else tensors
        names += [name] if tensors is None else [element_name(name, place) for place in range(len(tensors))]
    if len(values) != len(end.operands) or values != list(end.operands):
        end.erase()
        set_results(function, values, names)

"""Operators with graphs: branches, loops, and what wraps a graph for training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, Block, FloatType, Op, Region, TensorType, Type, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter

from ..schemas import NARROW
from .movement import slice_along
from .table import AtenTable, Call, cast, reshape, shape_of

TABLE = AtenTable()

MOST_SLICES = 512
"""How often a graph is written out."""


def _check_graph(region: Region, given: Sequence[Type], wanted: Sequence[Type] | None = None) -> None:
    """A graph takes what it is given, and gives what is wanted of it: as many values, and of the same types."""
    block = region.block
    sides = [("takes", [value.type for value in block.arguments], given)]
    if wanted is not None:
        sides.append(("gives", [value.type for value in block.terminator.operands], wanted))
    for verb, own, others in sides:
        if len(own) != len(others):
            raise Unsupported(f"its graph {verb} {len(own)} values, and {len(others)} are due")
        for mine, other in zip(own, others, strict=True):
            if not _same(mine, other):
                raise Unsupported(f"its graph {verb} a {mine}, and a {other} is due")


def _same(one: Type, other: Type) -> bool:
    """Whether two types may be those of one value: sizes that are not known agree with any."""
    if not isinstance(one, TensorType) or not isinstance(other, TensorType):
        return one == other
    if one.shape is None or other.shape is None:
        return one.element == other.element
    return one.element == other.element and len(one.shape) == len(other.shape) and all(
        None in (a, b) or a == b for a, b in zip(one.shape, other.shape, strict=True))


def _types(values: Sequence[Value]) -> list[Type]:
    return [value.type for value in values]


@TABLE("Yield")
def yield_(call: Call, rw: Rewriter) -> list[Value]:
    """The end of a graph."""
    rw.create("top.Yield", call.op.operands)
    return []


def _given(op: Op, *places: int) -> list[list[Value]]:
    """The operands of an op by its segments."""
    segments = op.attributes.get("segments", (len(op.operands),))
    found, at = [], 0
    for size in segments:
        found.append(list(op.operands[at : at + size]))
        at += size
    return found


@TABLE("higher_order.cond")
def cond(call: Call, rw: Rewriter) -> list[Value]:
    """One of two graphs; the one that is chosen, where the condition is known."""
    op = call.op
    condition, *rest = _given(op)
    given = rest[0] if rest else []
    known = rw.constant_of(condition[0])
    rw.convert(op)
    for region in op.regions:
        _check_graph(region, _types(given), _types(op.results))
    if known is not None:
        return rw.copied(op.regions[0 if np.asarray(known).any() else 1].block, given)
    for region in op.regions:
        _capture(region.block, given)
    types = [value.type for value in op.regions[0].block.terminator.operands]
    made = rw.create("top.If", (reshape(rw, cast(rw, condition[0], BOOL), ()),), types, {}, _taken(op))
    return list(made.results)


def _capture(block: Block, given: Sequence[Value]) -> None:
    """Let a graph use the values that it was given as they are."""
    for argument, value in zip(list(block.arguments), given, strict=True):
        argument.replace_all_uses_with(value)
    block.arguments.clear()


def _taken(op: Op) -> list[Region]:
    """The regions of an op, which has none then."""
    from transload.ir.regions import release_regions

    return list(release_regions(op))


@TABLE("higher_order.while_loop")
def while_loop(call: Call, rw: Rewriter) -> list[Value]:
    """`top.While`: the state is handed on, the rest is seen from inside."""
    op = call.op
    state, *rest = _given(op)
    more = rest[0] if rest else []
    rw.convert(op)
    test, body = op.regions
    _check_graph(test, _types([*state, *more]))
    _check_graph(body, _types([*state, *more]), _types(state))
    if len(test.block.terminator.operands) != 1:
        raise Unsupported(f"its condition gives {len(test.block.terminator.operands)} values, and one is due")
    for region in op.regions:
        block = region.block
        for argument, value in zip(list(block.arguments[len(state) :]), more, strict=True):
            argument.replace_all_uses_with(value)
        del block.arguments[len(state) :]
    flag = op.regions[0].block.terminator
    if shape_of(flag.operands[0]) != () or flag.operands[0].element != BOOL:
        build = Builder(op.regions[0].block, before=flag)
        value = flag.operands[0]
        value = value if value.element == BOOL else build.emit("top.Cast", value, element=BOOL)
        flag.set_operand(0, build.emit("top.Reshape", value, shape=()))
    made = rw.create("top.While", tuple(state), [value.type for value in state], {}, _taken(op))
    return list(made.results)


@TABLE("higher_order.map_impl")
def map_(call: Call, rw: Rewriter) -> list[Value]:
    """A graph of each slice, written out."""
    mapped, more = _lists(call.op, 2)
    return _sliced(call.op, rw, [], mapped, more)


@TABLE("higher_order.scan")
def scan(call: Call, rw: Rewriter) -> list[Value]:
    """A graph of each slice, which hands a state on to that of the next, written out: the last state, and what each gave."""
    state, mapped, more = _lists(call.op, 3)
    return _sliced(call.op, rw, state, mapped, more)


def _lists(op: Op, wanted: int) -> list[list[Value]]:
    """The lists of operands of an op; one that is not given is empty."""
    found = _given(op)
    if len(found) > wanted or len(op.regions) != 1:
        raise Unsupported(f"is given {len(found)} lists of tensors and {len(op.regions)} graphs, and {wanted} and 1 are due")
    return [*found, *([] for _ in range(wanted - len(found)))]


def _sliced(op: Op, rw: Rewriter, state: Sequence[Value], mapped: Sequence[Value], more: Sequence[Value]) -> list[Value]:
    """The graph of an op for each slice along dimension 0 of tensors, given a state, the slices, and more.

    A graph gives the next state, then its results: the last state is given, then the results of all slices.
    """
    shapes = [shape_of(value) for value in mapped]
    if len({shape[:1] for shape in shapes}) != 1 or () in shapes:
        raise Unsupported(f"is done for the slices of tensors of the shapes {[list(shape) for shape in shapes]}")
    count = shapes[0][0]
    if not 0 < count <= MOST_SLICES:
        raise Unsupported(f"is done for {count} slices", f"1 to {MOST_SLICES} can be converted")
    rw.convert(op)
    slices = [TensorType(value.shape[1:], value.element) for value in mapped]
    _check_graph(op.regions[0], [*_types(state), *slices, *_types(more)])
    given = op.regions[0].block.terminator.operands
    if len(given) < len(state) or not all(map(_same, _types(given), _types(state))):
        raise Unsupported(f"its graph gives {len(given)} values that are no next state", f"a state is {_types(state)}")
    columns: list[list[Value]] = []
    for place in range(count):
        parts = [reshape(rw, slice_along(rw, value, 0, place, place + 1), shape_of(value)[1:]) for value in mapped]
        found = rw.copied(op.regions[0].block, [*state, *parts, *more])
        state = found[: len(state)]
        columns.append(found[len(state) :])
    return [*state, *(rw.emit("top.Pack", *parts, axis=0) for parts in zip(*columns, strict=True))]


@TABLE("higher_order.wrap_with_set_grad_enabled", "higher_order.wrap_with_autocast")
def wrapped(call: Call, rw: Rewriter) -> list[Value]:
    """The graph itself; what is cast in it automatically is cast in words."""
    if call.op.name.endswith("autocast"):
        for op in list(call.op.walk()):
            if not op.regions:
                _cast_as_recorded(op)
    rw.convert(call.op)
    _check_graph(call.op.regions[0], _types(call.op.operands), _types(call.op.results))
    return rw.copied(call.op.regions[0].block, list(call.op.operands))


_NARROWED = frozenset({
    "conv1d", "conv2d", "conv3d", "_convolution", "convolution", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "linear", "matmul", "mm", "mv", "bmm", "addmm", "addmv", "addr", "addbmm", "baddbmm",
    "chain_matmul", "linalg_matmul", "linalg_multi_dot", "linalg_vecdot", "einsum", "prelu", "lstm_cell", "gru_cell",
    "rnn_tanh_cell", "rnn_relu_cell", "scaled_dot_product_attention", "_native_multi_head_attention"})
"""Operators whose floats are all narrowed where autocast narrows one (`autocast_mode.h`, of all devices)."""


def _cast_as_recorded(op: Op) -> None:
    """Cast the floats that an op is given to those that it gives, where PyTorch did so by itself.

    An archive has the types that results had, and nothing of the casts: an op whose result is wider than an operand was given
    it wider (or widens it anyway), and a result that is narrower than all of them, or one of a product, was computed of
    narrow ones. Other ops, as a normalization by weights of f32, take both.
    """
    result = op.results[0].type if op.results else None
    element = result.element if isinstance(result, TensorType) else None
    floats = [value.type.element for value in op.operands
              if isinstance(value.type, TensorType) and isinstance(value.type.element, FloatType)]
    if op.parent is None or not isinstance(element, FloatType) or not floats:
        return
    if element in NARROW and element in floats and op.name.split(".")[-2] not in _NARROWED:
        return
    build = Builder(op.parent, before=op)
    for place, value in enumerate(op.operands):
        type_ = value.type
        if isinstance(type_, TensorType) and isinstance(type_.element, FloatType) and type_.element != element:
            op.set_operand(place, build.emit("top.Cast", value, element=element))

"""Simplifications that hold for every type: what does nothing goes, what undoes itself cancels.

Those that need real numbers are in `affine` (constants into weights) and `activation`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from transload.ir import FloatType, IntegerType, Op, TensorType, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable

from ..build import reduced_over_nothing
from ..ops.infer import spatial_axes

if TYPE_CHECKING:
    from ..ops.cast import Bitcast
    from ..ops.elementwise import Compare, Logical, Max, Min
    from ..ops.movement import Concat, Permute, Reshape, Slice, Squeeze, Unpack, Unsqueeze
    from ..ops.pool import MaxPool
    from ..ops.reduce import Reduce

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _producer(value: Value, name: str) -> Op | None:
    """The op of that name that computes a value, or None."""
    maker = value.op
    return maker if maker is not None and maker.name == name else None


@TABLE("top.Reshape", "top.Permute", "top.Expand", "top.Tile", "top.Slice", "top.Pad", "top.Cast", "top.Squeeze", "top.Unsqueeze",
       "top.Reverse", "top.Bitcast")
def identity(op: Op, rw: Rewriter) -> Value | None:
    """An op that gives its input back: to the same type, and moving nothing."""
    type_ = op.results[0].type
    if type_ != op.operands[0].type or not isinstance(type_, TensorType) or not type_.is_static:
        return None
    if op.name == "top.Permute" and tuple(op.order) != tuple(range(len(op.order))):
        moved = [axis for axis in op.order if op.input.shape[axis] != 1]
        return op.input if moved == sorted(moved) else None
    if op.name == "top.Pad" and any(op.paddings):  # negative padding at one end makes room for some at the other
        return None
    if op.name == "top.Reverse" and any(op.input.shape[axis] != 1 for axis in op.axes):
        return None
    if op.name == "top.Slice" and any(step < 0 and size != 1 for step, size in zip(op.steps, op.input.shape, strict=True)):
        return None
    return op.operands[0]


@TABLE("top.Bitcast")
def bitcast_of_bitcast(op: Bitcast, rw: Rewriter) -> Value | None:
    """Only the last of two readings counts."""
    inner = _producer(op.input, "top.Bitcast")
    return None if inner is None else rw.emit("top.Bitcast", inner.input, element=op.output.element)


@TABLE("top.LogicalAnd")
def negative_zero(op: Logical, rw: Rewriter) -> Value | None:
    """Whether a float is 0 and its sign bit is set, which Keras asks before it looks for the greatest: its reciprocal is less.

    Few targets have an operator that reads bits, and all divide.
    """
    for zero, sign in ((op.a, op.b), (op.b, op.a)):
        compared = _producer(zero, "top.Compare")
        if compared is None or compared.mode != "Equal" or not _is(compared.rhs, 0) or (x := _sign_tested(sign)) is None or (
                x is not compared.lhs):
            continue
        if op.output.tensor_type.shape != x.tensor_type.shape:  # of a constant that it is compared with, or masked by
            continue
        one, nothing = (rw.constant(np.asarray(number, dtype_of(x.element))) for number in (1, 0))
        below = rw.emit("top.Compare", rw.emit("top.Div", one, x), nothing, mode="Less")
        return rw.emit("top.LogicalAnd", zero, below)
    return None


def _sign_tested(value: Value) -> Value | None:
    """The float whose sign bit a value says: of its bits as an integer, or of these and its place, whether they are below 0."""
    compared = _producer(value, "top.Compare")
    if compared is None or compared.mode not in ("Less", "NotEqual") or not _is(compared.rhs, 0):
        return None
    bits, masked = compared.lhs, _producer(compared.lhs, "top.BitwiseAnd")
    if masked is not None:
        least = -(1 << (bits.element.width - 1))
        bits = next((a for a, b in (masked.operands, masked.operands[::-1]) if _is(b, least)), bits)
    if bits is compared.lhs and compared.mode != "Less":
        return None
    read = _producer(bits, "top.Bitcast")
    taken = None if read is None else read.input
    is_alike = taken is not None and isinstance(taken.element, FloatType) and isinstance(bits.element, IntegerType) and (
        not bits.element.unsigned and bits.element.width == 8 * dtype_of(taken.element).itemsize)
    return taken if is_alike else None


@TABLE("top.Compare")
def all_masked(op: Compare, rw: Rewriter) -> Value | None:
    """Whether the greatest of a row is -inf, of numbers that a condition chooses beside -inf: whether none was chosen.

    So attention asks which queries see no key. Infinity has no range to quantize.
    """
    reduced = _producer(op.lhs, "top.Reduce")
    if op.mode != "Equal" or reduced is None or reduced.mode != "ReduceMax" or not _is(op.rhs, -math.inf):
        return None
    chosen = _producer(reduced.input, "top.Where")
    if chosen is None or op.output.tensor_type.shape != reduced.output.tensor_type.shape or (
            chosen.condition.tensor_type.shape != chosen.output.tensor_type.shape):
        return None
    how = {"axes": reduced.axes, "keepdims": reduced.keepdims}
    if _is(chosen.fbrn, -math.inf) and _is_finite(chosen.tbrn):
        return rw.emit("top.LogicalNot", rw.emit("top.Reduce", chosen.condition, mode="ReduceAny", **how))
    if _is(chosen.tbrn, -math.inf) and _is_finite(chosen.fbrn):
        return rw.emit("top.Reduce", chosen.condition, mode="ReduceAll", **how)
    return None


def _is_finite(value: Value) -> bool:
    """Whether a value is known, and all its numbers are finite."""
    dense = constant_of(value)
    return dense is not None and bool(np.isfinite(dense.numpy()).all())


def _is(value: Value, number: float) -> bool:
    """Whether a value is a number throughout."""
    dense = constant_of(value)
    return dense is not None and dense.splat_value() == number


@TABLE("top.Reduce")
def over_nothing(op: Reduce, rw: Rewriter) -> Value | None:
    """A reduction over no dimensions is its function of each element."""
    same = op.output.type == op.input.type and isinstance(op.input.element, FloatType | IntegerType)
    return reduced_over_nothing(rw, op.input, op.mode) if same and not op.axes else None


@TABLE("top.Concat", "top.Max", "top.Min")
def only_one(op: Concat | Max | Min, rw: Rewriter) -> Value | None:
    """A concatenation, maximum or minimum of one tensor is that tensor."""
    alone = len(op.operands) == 1 and op.results[0].type == op.operands[0].type
    return op.operands[0] if alone and not op.attribute("do_relu", False) else None


@TABLE("top.MaxPool")
def padding_that_no_maximum_takes(op: MaxPool, rw: Rewriter) -> Value | None:
    """Padding with the least float, or less, is the pool's own padding, where each window has a number of the tensor."""
    pad = _producer(op.input, "top.Pad")
    if pad is None or pad.mode != "constant" or not isinstance(pad.input.element_or_none, FloatType) or any(
            step != 1 for step in op.dilations):
        return None
    filled = pad.val if len(pad.operands) < 2 else constant_of(pad.operands[1])
    number = filled if isinstance(filled, float) else None if filled is None else float(filled.numpy().reshape(()))
    if number is None or not number <= -float(ml_dtypes.finfo(dtype_of(pad.input.element)).max):
        return None
    rank, axes = pad.input.rank, spatial_axes(op.layout, pad.input.rank)
    ends = (pad.paddings[:rank], pad.paddings[rank:])
    if min(pad.paddings) < 0 or any(end[axis] for end in ends for axis in range(rank) if axis not in axes):
        return None
    pads = [own + end[axis] for end, half in zip(ends, (op.pads[:len(axes)], op.pads[len(axes):]), strict=True)
            for axis, own in zip(axes, half, strict=True)]
    if any(padding >= size for padding, size in zip(pads, (*op.kernel_shape, *op.kernel_shape), strict=True)):
        return None
    made: Value = rw.emit("top.MaxPool", pad.input, **{**op.attributes, "pads": tuple(pads)})
    return made


@TABLE("top.Permute")
def permute_of_permute(op: Permute, rw: Rewriter) -> Value | None:
    """Two transpositions are one."""
    inner = _producer(op.input, "top.Permute")
    if inner is None:
        return None
    order = tuple(inner.order[axis] for axis in op.order)
    return rw.emit("top.Permute", inner.input, order=order, element=op.output.element)


@TABLE("top.Reshape", "top.Squeeze", "top.Unsqueeze")
def reshape_of_reshape(op: Reshape | Squeeze | Unsqueeze, rw: Rewriter) -> Value | None:
    """Of several changes of shape only the last matters."""
    maker = op.operands[0].op
    if maker is None or maker.name not in ("top.Reshape", "top.Squeeze", "top.Unsqueeze"):
        return None
    result = op.results[0]
    if not isinstance(result.type, TensorType) or not result.type.is_static:
        return None
    return rw.emit("top.Reshape", maker.operands[0], shape=tuple(result.shape), element=result.element)


@TABLE("top.Permute")
def permute_that_moves_only_ones(op: Permute, rw: Rewriter) -> Value | None:
    """A transposition that keeps the order of all sizes other than 1 is a reshape."""
    if not isinstance(op.output.type, TensorType) or not op.output.type.is_static or constant_of(op.input) is not None:
        return None
    moved = [axis for axis in op.order if op.input.shape[axis] != 1]
    if moved != sorted(moved) or op.output.type == op.input.type:
        return None
    return rw.emit("top.Reshape", op.input, shape=tuple(op.output.shape), element=op.output.element)


def _span(op: Slice) -> tuple[int, int, int] | None:
    """(axis, begin, end) of a slice without gaps that takes less than all of just one dimension; None of others."""
    if not isinstance(op.output.type, TensorType) or not op.output.type.is_static or any(step != 1 for step in op.steps):
        return None
    shape = op.output.static_shape
    cut = [axis for axis, (kept, size) in enumerate(zip(shape, op.input.shape, strict=True)) if kept != size]
    if len(cut) != 1:
        return None
    begin = op.offset[cut[0]]
    return cut[0], begin, begin + shape[cut[0]]


def _part(rw: Rewriter, value: Value, axis: int, begin: int, end: int) -> Value:
    """Elements `begin` to `end` of one dimension."""
    offset, ends = [0] * value.rank, list(value.shape)
    offset[axis], ends[axis] = begin, end
    return rw.emit("top.Slice", value, offset=tuple(offset), ends=tuple(ends), steps=(1,) * value.rank, element=value.element)


@TABLE("top.Slice")
def slice_of_slice(op: Slice, rw: Rewriter) -> Value | None:
    """Two slices along the same dimension are one."""
    inner: Any = _producer(op.input, "top.Slice")
    outer_span = _span(op)
    inner_span = _span(inner) if inner is not None and outer_span is not None else None
    if inner is None or outer_span is None or inner_span is None or inner_span[0] != outer_span[0]:
        return None
    if not inner.input.element == op.input.element == op.output.element:
        return None
    axis, begin, end = outer_span
    return _part(rw, inner.input, axis, inner_span[1] + begin, inner_span[1] + end)


@TABLE("top.Slice")
def slice_of_concat(op: Slice, rw: Rewriter) -> Value | None:
    """A slice of a concatenation is one of the part that it lies in, or the concatenation of those that it covers.

    A loop that writes a list element by element, unrolled, cuts the list in every step and joins it again.
    """
    joined, span = _producer(op.input, "top.Concat"), _span(op)
    if joined is None or span is None or joined.attribute("do_relu", False) or joined.axis % op.input.rank != span[0]:
        return None
    if any(part.element != op.output.element for part in (*joined.operands, op.input)):
        return None
    if any(part.shape is None or part.shape[span[0]] is None for part in joined.operands):
        return None
    axis, begin, end = span
    place = 0
    covered: list[Value] = []
    for part in joined.operands:
        size: int = part.shape[axis]  # type: ignore[assignment]
        if place <= begin and end <= place + size and size:
            whole = (begin, end) == (place, place + size)
            return part if whole else _part(rw, part, axis, begin - place, end - place)
        if place < end and begin < place + size:
            if place < begin or place + size > end:
                return None
            covered.append(part)
        place += size
    return rw.emit("top.Concat", *covered, axis=axis, element=op.output.element) if covered else None


@TABLE("top.Concat")
def concat_of_concat(op: Concat, rw: Rewriter) -> Value | None:
    """A part that is itself a concatenation, along the same dimension and for nothing else, gives its parts."""
    parts: list[Value] = []
    for part in op.operands:
        inner = _producer(part, "top.Concat")
        alone = inner is not None and list(part.uses.values()) == [1] and not inner.attribute("do_relu", False)
        if inner is not None and alone and inner.axis % part.rank == op.axis % part.rank and all(
                value.element == part.element for value in inner.operands):
            parts.extend(inner.operands)
        else:
            parts.append(part)
    if len(parts) == len(op.operands):
        return None
    more = {name: op.attribute(name) for name in ("do_relu", "relu_limit") if name in op.attributes}
    return rw.emit("top.Concat", *parts, axis=op.axis, element=op.output.element, **more)


@TABLE("top.Unpack")
def unpack_of_pack(op: Unpack, rw: Rewriter) -> list[Value] | None:
    """What was packed along the same dimension, taken apart again: a part that nobody reads need not be computed."""
    packed = _producer(op.input, "top.Pack")
    if packed is None or packed.axis % op.input.rank != op.axis % op.input.rank:
        return None
    parts = list(packed.operands)
    same = len(parts) == len(op.results) and all(
        part.type == result.type for part, result in zip(parts, op.results, strict=True))
    return parts if same else None

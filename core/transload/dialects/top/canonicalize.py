"""Simplifications of `top` ops.

Those here hold for every type: what does nothing goes, what undoes itself cancels. Those that need real
numbers are in `canonicalize_affine` (constants into weights) and `canonicalize_activation`.
"""

from __future__ import annotations

from ...ir import Op, TensorType, Value
from ...ir.build import constant_of
from ...rewrite import Rewriter, RewriteTable
from . import canonicalize_activation, canonicalize_affine

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _producer(value: Value, name: str) -> Op | None:
    """The op of that name that computes a value, or None."""
    maker = value.op
    return maker if maker is not None and maker.name == name else None


@TABLE("top.Reshape", "top.Permute", "top.Expand", "top.Tile", "top.Slice", "top.Pad", "top.Cast", "top.Squeeze", "top.Unsqueeze",
       "top.Reverse")
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
    if op.name == "top.Pad" and any(op.paddings):
        return None  # a crop at one end and padding at the other move everything
    if op.name == "top.Slice" and any(step < 0 and size != 1 for step, size in zip(op.steps, op.input.shape, strict=True)):
        return None
    return op.operands[0]


@TABLE("top.Concat", "top.Max", "top.Min")
def only_one(op: Op, rw: Rewriter) -> Value | None:
    """A concatenation, maximum or minimum of one tensor is that tensor."""
    alone = len(op.operands) == 1 and op.results[0].type == op.operands[0].type
    return op.operands[0] if alone and not op.attribute("do_relu", False) else None


@TABLE("top.Permute")
def permute_of_permute(op: Op, rw: Rewriter) -> Value | None:
    """Two transpositions are one."""
    inner = _producer(op.input, "top.Permute")
    if inner is None:
        return None
    order = tuple(inner.order[axis] for axis in op.order)
    return rw.emit("top.Permute", inner.input, order=order, element=op.output.element)


@TABLE("top.Reshape", "top.Squeeze", "top.Unsqueeze")
def reshape_of_reshape(op: Op, rw: Rewriter) -> Value | None:
    """Of several changes of shape only the last matters."""
    maker = op.operands[0].op
    if maker is None or maker.name not in ("top.Reshape", "top.Squeeze", "top.Unsqueeze"):
        return None
    result = op.results[0]
    if not isinstance(result.type, TensorType) or not result.type.is_static:
        return None
    return rw.emit("top.Reshape", maker.operands[0], shape=tuple(result.shape), element=result.element)


@TABLE("top.Permute")
def permute_that_moves_only_ones(op: Op, rw: Rewriter) -> Value | None:
    """A transposition that keeps the order of all sizes other than 1 is a reshape."""
    if not isinstance(op.output.type, TensorType) or not op.output.type.is_static or constant_of(op.input) is not None:
        return None
    moved = [axis for axis in op.order if op.input.shape[axis] != 1]
    if moved != sorted(moved) or op.output.type == op.input.type:
        return None
    return rw.emit("top.Reshape", op.input, shape=tuple(op.output.shape), element=op.output.element)


TABLE = TABLE + canonicalize_activation.TABLE + canonicalize_affine.TABLE

"""StableHLO operations as operators of TFLite, those with a counterpart in the hub."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, Op, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from .common import emit_like, limited, need_plain, scalar, static_shape

TABLE = RewriteTable()

_SAME = {
    "tfl.stablehlo_add": "top.Add", "tfl.stablehlo_subtract": "top.Sub", "tfl.stablehlo_multiply": "top.Mul",
    "tfl.stablehlo_divide": "top.Div", "tfl.stablehlo_maximum": "top.Max", "tfl.stablehlo_minimum": "top.Min",
    "tfl.stablehlo_power": "top.Pow", "tfl.stablehlo_remainder": "top.TruncMod", "tfl.stablehlo_abs": "top.Abs",
    "tfl.stablehlo_cosine": "top.Cos", "tfl.stablehlo_exponential": "top.Exp", "tfl.stablehlo_floor": "top.Floor",
    "tfl.stablehlo_log": "top.Log", "tfl.stablehlo_negate": "top.Neg", "tfl.stablehlo_rsqrt": "top.Rsqrt",
    "tfl.stablehlo_tanh": "top.Tanh", "tfl.stablehlo_logistic": "top.Sigmoid", "tfl.stablehlo_select": "top.Where",
    "tfl.stablehlo_convert": "top.Cast",
}
_COMPARISONS = {
    "STABLEHLO_COMPARISON_DIRECTION_EQ": "Equal", "STABLEHLO_COMPARISON_DIRECTION_NE": "NotEqual",
    "STABLEHLO_COMPARISON_DIRECTION_GE": "GreaterOrEqual", "STABLEHLO_COMPARISON_DIRECTION_GT": "Greater",
    "STABLEHLO_COMPARISON_DIRECTION_LE": "LessOrEqual", "STABLEHLO_COMPARISON_DIRECTION_LT": "Less",
}


@TABLE(*_SAME)
def same(op: Op, rw: Rewriter) -> Value:
    """Elementwise operations that the hub has by another name."""
    return emit_like(rw, op, _SAME[op.name], *op.operands)


@TABLE("tfl.stablehlo_and", "tfl.stablehlo_or")
def logical(op: Op, rw: Rewriter) -> Value:
    """AND, OR: of booleans, or of the bits of integers."""
    need_plain(op)
    kind = "Logical" if op.operands[0].element == BOOL else "Bitwise"
    return emit_like(rw, op, f"top.{kind}{'And' if op.name.endswith('and') else 'Or'}", *op.operands)


@TABLE("tfl.stablehlo_shift_left")
def shift_left(op: Op, rw: Rewriter) -> Value:
    """SHIFT_LEFT."""
    need_plain(op)
    return emit_like(rw, op, "top.ShiftLeft", *op.operands)


@TABLE("tfl.stablehlo_compare")
def compare(op: Op, rw: Rewriter) -> Value:
    """COMPARE."""
    return rw.emit("top.Compare", *op.operands, mode=_COMPARISONS[op.attribute("comparison_direction")])


@TABLE("tfl.stablehlo_clamp")
def clamp(op: Op, rw: Rewriter) -> Value:
    """CLAMP: `min(max(x, low), high)`."""
    low, value, high = op.operands
    return rw.emit("top.Min", rw.emit("top.Max", value, low), high)


@TABLE("tfl.stablehlo_cbrt")
def cbrt(op: Op, rw: Rewriter) -> Value:
    """CBRT: the root of the absolute value, with the sign."""
    value = op.operands[0]
    root = rw.emit("top.Pow", rw.emit("top.Abs", value), scalar(rw, 1.0 / 3.0, value.element))
    return rw.emit("top.Mul", root, rw.emit("top.Sign", value))


@TABLE("tfl.stablehlo_reshape")
def reshape(op: Op, rw: Rewriter) -> Value:
    """RESHAPE: the shape is nowhere but in the type of the result."""
    return emit_like(rw, op, "top.Reshape", op.operands[0], shape=static_shape(op.results[0], "the result"))


@TABLE("tfl.stablehlo_broadcast_in_dim")
def broadcast_in_dim(op: Op, rw: Rewriter) -> Value:
    """BROADCAST_IN_DIM: dimension i of the input is dimension `broadcast_dimensions[i]` of the result."""
    value, wanted = op.operands[0], static_shape(op.results[0], "the result")
    sizes = [1] * len(wanted)
    places = tuple(op.attribute("broadcast_dimensions"))
    if len(places) != value.rank or any(not 0 <= place < len(wanted) for place in places) or list(places) != sorted(places):
        raise Unsupported(f"the dimensions {list(places)} do not place a tensor of rank {value.rank} in {list(wanted)}")
    for size, place in zip(static_shape(value, "the input"), places, strict=True):
        sizes[place] = size
    return emit_like(rw, op, "top.Expand", rw.emit("top.Reshape", value, shape=tuple(sizes)), shape=wanted)


@TABLE("tfl.stablehlo_concatenate")
def concatenate(op: Op, rw: Rewriter) -> Value:
    """CONCATENATE."""
    return emit_like(rw, op, "top.Concat", *op.operands, axis=op.attribute("dimension"))


@TABLE("tfl.stablehlo_transpose")
def transpose(op: Op, rw: Rewriter) -> Value:
    """TRANSPOSE."""
    return emit_like(rw, op, "top.Permute", op.operands[0], order=tuple(op.attribute("permutation")))


@TABLE("tfl.stablehlo_slice")
def slice_(op: Op, rw: Rewriter) -> Value:
    """SLICE."""
    return emit_like(
        rw, op, "top.Slice", op.operands[0], offset=tuple(op.attribute("start_indices")),
        ends=tuple(op.attribute("limit_indices")), steps=tuple(op.attribute("strides")))


@TABLE("tfl.stablehlo_pad")
def pad(op: Op, rw: Rewriter) -> Value:
    """PAD without interior padding."""
    if any(op.attribute("interior_padding")):
        raise Unsupported("padding between elements is not supported")
    value, fill = op.operands
    return emit_like(
        rw, op, "top.Pad", value, fill, paddings=(*op.attribute("edge_padding_low"), *op.attribute("edge_padding_high")))


@TABLE("tfl.stablehlo_iota")
def iota(op: Op, rw: Rewriter) -> Value:
    """IOTA: the index along a dimension."""
    shape, axis = static_shape(op.results[0], "the result"), op.attribute("iota_dimension")
    if not 0 <= axis < len(shape):
        raise Unsupported(f"dimension {axis} is outside the result's shape {list(shape)}")
    numbers = np.arange(limited(shape[axis], "the size of the dimension")).astype(dtype_of(op.results[0].element))
    column = numbers.reshape([-1 if place == axis else 1 for place in range(len(shape))])
    return rw.emit("top.Expand", rw.constant(column, element=op.results[0].element), shape=shape)


@TABLE("tfl.stablehlo_dot_general")
def dot_general(op: Op, rw: Rewriter) -> Any:
    """DOT_GENERAL as an Einstein sum: batch dimensions, then what is left of both operands."""
    left, right = op.operands
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    names: tuple[dict[int, str], dict[int, str]] = ({}, {})
    batch = ""
    for kind in ("batching", "contracting"):
        pairs = zip(op.attribute(f"lhs_{kind}_dimensions"), op.attribute(f"rhs_{kind}_dimensions"), strict=True)
        for a, b in pairs:
            names[0][a] = names[1][b] = letter = next(letters)
            batch += letter if kind == "batching" else ""
    free = ["".join(named.setdefault(axis, next(letters)) for axis in range(value.rank) if axis not in named)
            for named, value in zip(names, (left, right), strict=True)]
    terms = ["".join(named[axis] for axis in range(value.rank)) for named, value in zip(names, (left, right), strict=True)]
    return emit_like(rw, op, "top.Einsum", left, right, equation=f"{terms[0]},{terms[1]}->{batch}{free[0]}{free[1]}")

"""Normalizations, and quotients of two tensors, written out: the pass `write-out-normalizations`.

They become the means, squares, products and reciprocals that they are made of, each of which has a range of its own: for those
that compute with integers, where each is a sum, a product or a table of one number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from transload.ir import FloatType, Module, Op, TensorType, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

if TYPE_CHECKING:
    from ..ops.elementwise import Div
    from ..ops.normalization import GroupNorm, InstanceNorm, LayerNorm, RMSNorm

__all__ = ["write_out_normalizations"]

TABLE = RewriteTable()
MOST = 2 ** 15
"""Numbers of a mean whose sum, of 16 bits each, has 32."""


def write_out_normalizations(module: Module) -> bool:
    """Write out the normalizations of a float module, and its divisions by a tensor. Returns whether there were any."""
    return apply_greedily(module, TABLE)


def _of_floats(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add to `TABLE` a rewrite of an op on floats of known shapes."""
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def rewrite(op: Op, rw: Rewriter) -> Any:
            values = [value for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
            known = all(isinstance(value.element_or_none, FloatType) and value.known_shape is not None for value in values)
            return function(op, rw) if known else None

        TABLE(name)(rewrite)
        return function

    return add


@_of_floats("top.LayerNorm")
def layer_norm(op: LayerNorm, rw: Rewriter) -> Value | None:
    axes = range(op.axis % op.input.rank, op.input.rank)
    if _too_many(op.input.static_shape, axes):
        return None
    return _affine(rw, _standardized(rw, op.input, axes, op.eps), op.weight, op.bias)


@_of_floats("top.RMSNorm")
def rms_norm(op: RMSNorm, rw: Rewriter) -> Value | None:
    axes = range(op.axis % op.input.rank, op.input.rank)
    if _too_many(op.input.static_shape, axes):
        return None
    return _affine(rw, rw.emit("top.Mul", op.input, _root(rw, op.input, axes, op.eps)), op.weight, None)


@_of_floats("top.InstanceNorm")
def instance_norm(op: InstanceNorm, rw: Rewriter) -> Value | None:
    rank = op.input.rank
    axes = range(2, rank) if op.layout == "NCHW" else range(1, rank - 1)
    if _too_many(op.input.static_shape, axes):
        return None
    return _affine(rw, _standardized(rw, op.input, axes, op.eps), *_per_channel(rw, op))


@_of_floats("top.GroupNorm")
def group_norm(op: GroupNorm, rw: Rewriter) -> Value | None:
    """The channels of a group, and all places, have one mean."""
    shape = op.input.static_shape
    apart: tuple[int, ...] = (shape[0], op.num_groups, math.prod(shape[1:]) // op.num_groups)
    axes: tuple[int, ...] = (2,)
    if op.layout == "NHWC":
        apart, axes = (shape[0], math.prod(shape[1:-1]), op.num_groups, shape[-1] // op.num_groups), (1, 3)
    if _too_many(apart, axes):
        return None
    made = _standardized(rw, rw.emit("top.Reshape", op.input, shape=apart), axes, op.eps)
    return _affine(rw, rw.emit("top.Reshape", made, shape=shape), *_per_channel(rw, op))


@_of_floats("top.Div")
def quotient(op: Div, rw: Rewriter) -> Value | None:
    """The product with the reciprocal, where the divisor is computed."""
    dividend, divisor = op.operands
    if constant_of(divisor) is not None:
        return None
    return rw.emit(
        "top.Mul", dividend, rw.emit("top.Reciprocal", divisor), do_relu=op.do_relu, relu_limit=op.relu_limit)


def _too_many(shape: Sequence[int], axes: Sequence[int]) -> bool:
    return math.prod(shape[axis] for axis in axes) > MOST


def _standardized(rw: Rewriter, x: Value, axes: Sequence[int], eps: float) -> Value:
    """`(x - mean) / sqrt(variance + eps)`."""
    mean = rw.emit("top.Reduce", x, axes=tuple(axes), keepdims=True, mode="ReduceMean")
    centred = rw.emit("top.Sub", x, mean)
    return rw.emit("top.Mul", centred, _root(rw, centred, axes, eps))


def _root(rw: Rewriter, x: Value, axes: Sequence[int], eps: float) -> Value:
    """`1 / sqrt(mean of squares + eps)`."""
    squares = rw.emit("top.Reduce", rw.emit("top.Mul", x, x), axes=tuple(axes), keepdims=True, mode="ReduceMean")
    return rw.emit("top.Rsqrt", rw.emit("top.AddConst", squares, const_val=eps))


def _affine(rw: Rewriter, x: Value, weight: Value | None, bias: Value | None) -> Value:
    x = x if weight is None else rw.emit("top.Mul", x, weight)
    return x if bias is None else rw.emit("top.Add", x, bias)


def _per_channel(rw: Rewriter, op: GroupNorm | InstanceNorm) -> list[Value | None]:
    """Weight and bias so that they broadcast along the channels."""
    rank = op.input.rank
    shape = (-1, *(1,) * (rank - 2)) if op.layout == "NCHW" else (-1,)
    return [None if value is None else rw.emit("top.Reshape", value, shape=shape) for value in (op.weight, op.bias)]

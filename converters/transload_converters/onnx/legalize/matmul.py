"""Matrix products: MatMul, Gemm, Einsum, and products of integers."""

from __future__ import annotations

from typing import Any

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, Value
from transload.rewrite import Rewriter

from .convolution import conv_attributes
from .table import OnnxTable, attr, cast, need, need_attr, operand, permute, reshape, shape_of

__all__ = ["TABLE", "gemm_product"]

TABLE = OnnxTable()


@TABLE("onnx.MatMul")
def matmul(op: Op, rw: Rewriter) -> Value:
    """MatMul, as numpy's."""
    return rw.emit("top.MatMul", need(op, 0), need(op, 1))


@TABLE("onnx.Gemm")
def gemm(op: Op, rw: Rewriter) -> Value:
    """Gemm: `alpha * A' * B' + beta * C`."""
    return gemm_product(
        rw, need(op, 0), need(op, 1), operand(op, 2), float(attr(op, "alpha", 1.0)), float(attr(op, "beta", 1.0)),
        bool(attr(op, "transA", 0)), bool(attr(op, "transB", 0)))


def gemm_product(
    rw: Rewriter, a: Value, b: Value, c: Value | None, alpha: float, beta: float, left: bool, right: bool,
) -> Value:
    """A product with its factors; a bias per column becomes part of it, any other addend an addition."""
    if not a.is_float and not (alpha.is_integer() and beta.is_integer()):
        raise Unsupported(f"multiplies integers by alpha={alpha} and beta={beta}")
    if alpha != 1.0:  # into the weights where they are constant, so that it costs nothing
        if rw.constant_of(b) is not None:
            b = rw.emit("top.MulConst", b, const_val=alpha)
        else:
            a = rw.emit("top.MulConst", a, const_val=alpha)
    if c is not None and beta != 1.0:
        c = rw.emit("top.MulConst", c, const_val=beta) if beta else None
    if b.rank != 2:
        raise Unsupported(f"multiplies by a tensor of shape {list(shape_of(b))}, which is no matrix")
    columns = shape_of(b)[0 if right else 1]
    attributes: dict[str, Any] = {"left_transpose": left or None, "right_transpose": right or None}
    if c is not None and shape_of(c) in ((columns,), (1, columns)):
        return rw.emit("top.MatMul", a, b, reshape(rw, c, (columns,)), **attributes)
    product = rw.emit("top.MatMul", a, b, **attributes)
    return product if c is None else rw.emit("top.Add", product, c)


@TABLE("onnx.Einsum")
def einsum(op: Op, rw: Rewriter) -> Value:
    """Einsum."""
    return rw.emit("top.Einsum", *op.operands, equation=need_attr(op, "equation").replace(" ", ""))


# --- products of integers: exact in f32 up to 2^24, beyond that to 24 bits


@TABLE("onnx.MatMulInteger")
def matmul_integer(op: Op, rw: Rewriter) -> Value:
    """MatMulInteger: the product of integers from which their zero points are taken, as i32."""
    a, b = need(op, 0), need(op, 1)
    left = _centered(rw, a, operand(op, 2), -1)
    right = _centered(rw, b, operand(op, 3), None)
    return cast(rw, rw.emit("top.MatMul", left, right), I32, "HalfToEven")


@TABLE("onnx.ConvInteger")
def conv_integer(op: Op, rw: Rewriter) -> Value:
    """ConvInteger: the convolution of integers from which their zero points are taken, as i32."""
    value, weights = need(op, 0), need(op, 1)
    attributes = conv_attributes(op, value, weights)
    left = _centered(rw, value, operand(op, 2), None)
    zero = operand(op, 3)
    if zero is not None and len(shape_of(zero)) == 1:
        zero = reshape(rw, zero, (-1, *(1,) * (len(shape_of(weights)) - 1)) if shape_of(zero) != (1,) else ())
    right = _centered(rw, weights, zero, None)
    return cast(rw, rw.emit("top.Conv", left, right, **attributes), I32, "HalfToEven")


def _centered(rw: Rewriter, value: Value, zero: Value | None, per_row: int | None) -> Value:
    """`value - zero` as f32. A zero point per row of a matrix (`per_row` = -1) becomes a column."""
    real = cast(rw, value, F32)
    if zero is None:
        return real
    shape = shape_of(zero)
    if per_row is not None and len(shape) == 1 and shape[0] > 1:
        zero = reshape(rw, zero, (*shape, 1))
    return rw.emit("top.Sub", real, cast(rw, zero, F32))


def transpose_last(rw: Rewriter, value: Value) -> Value:
    """The last two dimensions swapped."""
    rank = len(shape_of(value))
    return permute(rw, value, (*range(rank - 2), rank - 1, rank - 2))

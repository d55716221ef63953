"""Matrix products: MatMul, Gemm, Einsum, and products of integers."""

from __future__ import annotations

from typing import Any

from transload.errors import Unsupported
from transload.ir import I32, Op, Value
from transload.rewrite import Rewriter

from .convolution import conv_attributes
from .table import OnnxTable, attr, cast, flag, need, need_attr, operand, permute, reshape, shape_of

__all__ = ["TABLE", "gemm_product", "integer_product"]

TABLE = OnnxTable()


@TABLE("onnx.MatMul")
def matmul(op: Op, rw: Rewriter) -> Value:
    """MatMul, as numpy's."""
    return rw.emit("top.MatMul", need(op, 0), need(op, 1))


TAME = 2.0**-40, 2.0**40
"""Factors by which an operand is multiplied: by others it may become infinite, or 0, where the product of both does not."""


@TABLE("onnx.Gemm")
def gemm(op: Op, rw: Rewriter) -> Value:
    """Gemm: `alpha * A' * B' + beta * C`."""
    return gemm_product(
        rw, need(op, 0), need(op, 1), operand(op, 2), float(attr(op, "alpha", 1.0)), float(attr(op, "beta", 1.0)),
        flag(op, "transA", 0), flag(op, "transB", 0))


def gemm_product(
    rw: Rewriter, a: Value, b: Value, c: Value | None, alpha: float, beta: float, left: bool, right: bool,
) -> Value:
    """A product with its factors; a bias per column becomes part of it, any other addend an addition."""
    if not a.is_float and not (alpha.is_integer() and beta.is_integer()):
        raise Unsupported(f"multiplies integers by alpha={alpha} and beta={beta}")
    behind = None if not alpha or TAME[0] <= abs(alpha) <= TAME[1] else alpha  # NaN among them
    if alpha != 1.0 and behind is None:  # into the weights where they are constant, so that it costs nothing
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
    if c is not None and behind is None and shape_of(c) in ((columns,), (1, columns)):
        return rw.emit("top.MatMul", a, b, reshape(rw, c, (columns,)), **attributes)
    product = rw.emit("top.MatMul", a, b, **attributes)
    if behind is not None:
        product = rw.emit("top.MulConst", product, const_val=behind)
    return product if c is None else rw.emit("top.Add", product, c)


@TABLE("onnx.Einsum")
def einsum(op: Op, rw: Rewriter) -> Value:
    """Einsum."""
    return rw.emit("top.Einsum", *op.operands, equation=need_attr(op, "equation").replace(" ", ""))


# --- products of integers, which are exact


@TABLE("onnx.MatMulInteger")
def matmul_integer(op: Op, rw: Rewriter) -> Value:
    """MatMulInteger: the product of integers from which their zero points are taken, as i32."""
    return integer_product(rw, need(op, 0), need(op, 1), operand(op, 2), operand(op, 3))


def integer_product(rw: Rewriter, a: Value, b: Value, a_zero: Value | None, b_zero: Value | None) -> Value:
    """`(a - a_zero) @ (b - b_zero)` of integers of 8 bits, as i32, modulo 2^32.

    A zero point of all of `a` that is computed is taken from the product, as `a_zero * sum(b - b_zero)`: numbers of 8 bits stay
    such, and most right operands are constant.
    """
    right = _centered(rw, b, b_zero)
    if a_zero is None or rw.constant_of(a_zero) is not None or any(size != 1 for size in shape_of(a_zero)):
        if a_zero is not None and len(shape_of(a_zero)) == 1 and shape_of(a_zero)[0] > 1:  # one a row
            a_zero = reshape(rw, a_zero, (*shape_of(a_zero), 1))
        return rw.emit("top.MatMul", _centered(rw, a, a_zero), right)
    sums = rw.emit(
        "top.Reduce", right, axes=(max(len(shape_of(b)) - 2, 0),), mode="ReduceSum",
        keepdims=len(shape_of(a)) > 1 and len(shape_of(b)) > 1)
    correction = rw.emit("top.Mul", sums, cast(rw, reshape(rw, a_zero, ()), I32))
    return rw.emit("top.Sub", rw.emit("top.MatMul", cast(rw, a, I32), right), correction)


@TABLE("onnx.ConvInteger")
def conv_integer(op: Op, rw: Rewriter) -> Value:
    """ConvInteger: the convolution of integers from which their zero points are taken, as i32."""
    value, weights = need(op, 0), need(op, 1)
    attributes = conv_attributes(op, value, weights)
    zero = operand(op, 3)
    if zero is not None and len(shape_of(zero)) == 1:
        zero = reshape(rw, zero, (-1, *(1,) * (len(shape_of(weights)) - 1)) if shape_of(zero) != (1,) else ())
    return rw.emit("top.Conv", _centered(rw, value, operand(op, 2)), _centered(rw, weights, zero), **attributes)


def _centered(rw: Rewriter, value: Value, zero: Value | None) -> Value:
    """`value - zero` as i32."""
    wide = cast(rw, value, I32)
    return wide if zero is None else rw.emit("top.Sub", wide, cast(rw, zero, I32))


def transpose_last(rw: Rewriter, value: Value) -> Value:
    """The last two dimensions swapped."""
    rank = len(shape_of(value))
    return permute(rw, value, (*range(rank - 2), rank - 1, rank - 2))

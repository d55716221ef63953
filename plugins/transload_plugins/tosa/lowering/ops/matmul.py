"""Matrix products: fully connected layers as 1x1 convolutions, the rest as batches of products.

A right operand of rank 2 whose rows are outputs is a layer's weight: TOSA's convolution multiplies with it as
it lies, adds the bias, and takes zero points and a scale per row. LiteRT's fully connected kernels multiply
their sums by a float64 and round once, its batched products round as convolutions do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from transload.ir import BF16, F16, F32, I8, I16, I32, I48, FloatType, IntegerType, Op, QuantType, Type, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub.scales import product_factors

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.fine_biases import FineBias, fine_bias
from ..arithmetic.integer_products import are_integers, by_digits, digits
from ..arithmetic.rescaling import (
    DOUBLE,
    EXACT,
    WIDE,
    activation_range,
    fused_activation,
    narrow,
    quant,
    retyped,
    rounding_of,
)
from .common import binary, static_shape
from .conv import bias_value, sum_bits, sum_of, sums_are_wider

if TYPE_CHECKING:
    from transload_hub.ops.matmul import MatMul

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.MatMul")
def matmul(op: MatMul, rw: Rewriter) -> Value | None:
    static_shape(op.input, "the left operand")
    static_shape(op.right, "the right operand")
    if sum_of(op.input, op.right) is None and are_integers(op.input, op.right):
        left, right = digits(rw, op.input), digits(rw, op.right)
        if len(left) == len(right) == 1 or _multiplications(op) > PRODUCTS:
            return by_digits(op, rw, left, right)
    layer = _layer(op, rw)
    return _batched(op, rw) if layer is None else layer


# --- fully connected


def _layer(op: MatMul, rw: Rewriter) -> Value | None:
    """The op as a 1x1 convolution; None where it is not a layer with a weight of rank 2."""
    x, w = op.input, op.right
    type_, total = quant(w), sum_of(x, w)
    turned = op.left_transpose and x.rank > 1
    if w.rank != 2 or rw.constant_of(w) is None or total is None or sums_are_wider(op) or (turned and type_ is None):
        return None
    if turned:
        x = _swapped(rw, x)
    if not op.right_transpose:
        if type_ is not None and type_.axis == 0:
            return None
        w = build.transpose(rw, w, (1, 0))
        if type_ is not None and type_.axis == 1:
            w = retyped(rw, w, type_.replace(axis=0))
    elif type_ is not None and type_.axis == 1:
        return None
    bias = op.bias
    outputs, inputs = static_shape(w)
    if bias is not None and bias.tensor_type.num_elements not in (1, outputs):
        return None
    if bias is not None and bias.rank != 1:
        bias = build.reshape(rw, bias, (bias.tensor_type.num_elements,))
    if inputs == 0:
        raise Unsupported("a product over no elements")
    fine = fine_bias(op, outputs)
    made = rw.emit(
        "tosa.conv2d", build.reshape(rw, x, (math.prod(static_shape(x)) // inputs, 1, 1, inputs)),
        build.reshape(rw, w, (outputs, 1, 1, inputs)), bias_value(rw, None if fine is not None else bias, total, x, w, outputs),
        build.zero_point(rw, total.input_zp, x.element), build.zero_point(rw, total.weight_zp, w.element), element=total.element,
        pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=total.accumulator)
    bits = sum_bits(rw, w, bias) if total.element == I48 else 32
    made = _finish(op, rw, made, x, w, _rounding(op, made), bits, fine)
    return build.reshape(rw, made, static_shape(op.result))


def _rounding(op: MatMul, made: Value) -> str:
    """How sums are rounded: LiteRT scales those of 64 bits by 15 bits."""
    return WIDE if storage_of(made) == I48 and rounding_of(op) == DOUBLE else rounding_of(op)


def _finish(
    op: Op, rw: Rewriter, made: Value, x: Value, w: Value, rounding: str, sum_bits: int = 32, fine: FineBias | None = None,
) -> Value:
    a, b = quant(x), quant(w)
    target = op.result.element
    if a is None or b is None or isinstance(target, IntegerType):
        plain = isinstance(target, FloatType) or (isinstance(target, IntegerType) and storage_of(made) != target)
        return fused_activation(rw, build.cast(rw, made, target) if plain else made, op)
    word = str(op.attribute("rounding", "exact"))
    factors = product_factors(a, b, target, rounding=word, in_float32=rounding != EXACT)
    if fine is not None:
        made, factors = fine.added(rw, made), fine.factors(factors)
    return narrow(rw, made, factors, target, rounding, activation_range(op), sum_bits)


# --- batches of products


class _Kind(NamedTuple):
    """How a batch of products is summed."""

    element: Any
    left_zp: int = 0
    right_zp: int = 0


def _kind(x: Value, w: Value, transposed: bool) -> _Kind | None:
    a, b = quant(x), quant(w)
    if a is None and b is None:
        if x.element != w.element:
            return None
        kinds: dict[Type, Type] = {I8: I32, F16: F32, BF16: F32, F32: F32}
        return _Kind(kinds[x.element]) if x.element in kinds else None
    if a is None or b is None or not a.per_tensor or not _by_columns(w, b, transposed) or a.storage != b.storage:
        return None
    if a.storage == I8:
        return _Kind(I32, a.zero_point, b.zero_points[0])
    return _Kind(I48) if a.storage == I16 and a.zero_point == b.zero_points[0] == 0 else None


def _by_columns(w: Value, type_: QuantType, transposed: bool) -> bool:
    """Whether a right operand has one zero point, and one scale, or one for each column of the product."""
    by_columns = w.rank > 1 and type_.axis == w.rank - (2 if transposed else 1)
    return type_.blocks is None and len(set(type_.zero_points)) == 1 and (type_.per_tensor or by_columns)


def _widened(rw: Rewriter, x: Value, w: Value) -> Value:
    """An int8 right operand as int16 where the left one is: TOSA's MATMUL takes two of one type."""
    a, b = quant(x), quant(w)
    if a is None or b is None or a.storage != I16 or b.storage != I8 or any(b.zero_points):
        return w
    return rw.emit("tosa.cast", w, element=QuantType(I16, b.expressed, b.scales, b.zero_points, b.axis))


def _batched(op: MatMul, rw: Rewriter) -> Value | None:
    x, w = op.input, _widened(rw, op.input, op.right)
    kind = _kind(x, w, op.right_transpose)
    if kind is None:
        if any(quant(value) is not None for value in (x, w)):
            return None
        if not all(isinstance(value.element, IntegerType) for value in (x, w)):
            raise Unsupported(f"TOSA has no product of {x.element} and {w.element}")
        x, w = (build.cast(rw, value, I32) for value in (x, w))
    if x.rank == 1:
        x = build.reshape(rw, x, (1, *x.shape))
    elif op.left_transpose:
        x = _swapped(rw, x)
    if w.rank == 1:
        w = build.reshape(rw, w, (*w.shape, 1))
    elif op.right_transpose:
        w = _swapped(rw, w)
    if kind is None:
        return _by_elements(op, rw, x, w)
    rows, matrices = static_shape(x), static_shape(w)
    if math.prod(matrices[:-2]) == 1:  # one matrix on the right: all rows at once
        left = build.reshape(rw, x, (1, math.prod(rows[:-1]), rows[-1]))
        right = build.reshape(rw, w, (1, *matrices[-2:]))
    else:
        batch = np.broadcast_shapes(rows[:-2], matrices[:-2])
        left, right = (_spread(rw, value, batch) for value in (x, w))
    made = rw.emit(
        "tosa.matmul", left, right, build.zero_point(rw, kind.left_zp, x.element), build.zero_point(rw, kind.right_zp, w.element),
        element=kind.element)
    shape = static_shape(op.result)
    if op.bias is not None and storage_of(made) == I48:
        return None
    fine = fine_bias(op, shape[-1]) if shape else None
    if op.bias is not None:
        made = build.reshape(rw, made, shape) if fine is not None else _with_bias(op, rw, build.reshape(rw, made, shape), op.bias)
    rounding = _rounding(op, made)
    bits = (rows[-1] << 30).bit_length() + 1 if storage_of(made) == I48 else 32
    made = _finish(op, rw, made, op.input, op.right, rounding, bits, fine)  # before it is reshaped: TOSA reshapes no i48
    return build.reshape(rw, made, shape)


PRODUCTS = 1 << 16
"""How many products of elements are made at once; where there would be more, numbers are taken apart into digits."""


def _multiplications(op: MatMul) -> int:
    """How many products of elements a product of matrices is the sums of."""
    rows = static_shape(op.input)
    inner = rows[-2 if op.left_transpose and len(rows) > 1 else -1]
    return math.prod(static_shape(op.result)) * inner


def _by_elements(op: MatMul, rw: Rewriter, x: Value, w: Value) -> Value:
    """Integers that TOSA's MATMUL does not take: every element of a row times every one of a column, and the sums."""
    left, right = static_shape(x), static_shape(w)
    products = binary(rw, "mul", build.reshape(rw, x, (*left, 1)), build.reshape(rw, w, (*right[:-2], 1, *right[-2:])))
    axis = len(static_shape(products)) - 2
    made = build.reshape(rw, rw.emit("tosa.reduce_sum", products, axis=axis), static_shape(op.result))
    if op.bias is not None:
        made = binary(rw, "add", made, build.cast(rw, op.bias, I32))
    return fused_activation(rw, build.cast(rw, made, op.result.element), op)


def _swapped(rw: Rewriter, x: Value) -> Value:
    """`x` with its last two dimensions exchanged."""
    n = x.rank
    return build.transpose(rw, x, (*range(n - 2), n - 1, n - 2))


def _spread(rw: Rewriter, x: Value, batch: tuple[int, ...]) -> Value:
    """`x` with its batch dimensions broadcast to `batch` and made one."""
    shape = static_shape(x)
    own = (1,) * (len(batch) - len(shape) + 2) + shape[:-2]
    x = build.reshape(rw, x, (*own, *shape[-2:]))
    x = build.tile(rw, x, (*(want // have if have else 1 for want, have in zip(batch, own, strict=True)), 1, 1))
    return build.reshape(rw, x, (math.prod(batch), *shape[-2:]))


def _with_bias(op: MatMul, rw: Rewriter, made: Value, bias: Value) -> Value:
    """The product plus a bias that broadcasts to it."""
    a, b = quant(op.input), quant(op.right)
    if a is None or b is None:
        bias = build.cast(rw, bias, made.element)
    else:
        array = rw.constant_of(bias)
        held = quant(bias)
        scale = np.float64(a.scale) * (np.float64(b.scale) if b.per_tensor else np.asarray(b.scales))
        if held is None or held.storage != I32 or any(held.zero_points) or not np.allclose(held.scales, scale, rtol=1e-3, atol=0):
            if array is None:
                raise Unsupported("a bias in another scale than the product's must be a constant")
            if held is not None:
                array = (array.astype(np.float64) - np.asarray(held.zero_points)) * np.asarray(held.scales)
            numbers = np.rint(array.astype(np.float64) / scale) if array.dtype.kind != "i" else array
            bias = build.const(rw, np.clip(numbers, *I32.range).astype(np.int32))
    made, bias = build.equal_rank(rw, made, bias)
    return rw.emit("tosa.add", made, bias, element=made.element)

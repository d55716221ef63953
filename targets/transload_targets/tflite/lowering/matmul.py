"""FULLY_CONNECTED and BATCH_MATMUL.

LiteRT's FULLY_CONNECTED multiplies its sums by a float64 and rounds once ("exact"), its BATCH_MATMUL rounds twice, as
convolutions do ("double"). A product with constant weights that is rounded twice is a convolution with a kernel of one element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import I8, I16, I32, I64, UI8, Value
from transload.rewrite import Rewriter, RewriteTable
from transload.verification.bounds import DYNAMIC
from transload_hub.simplify.bias_terms import with_terms

from .common import (
    LITERT_ROUNDING,
    activated,
    activated_wholly,
    emit,
    fused,
    ints,
    left_float,
    need_floats,
    need_quantized_alike,
    need_rounding,
    permuted_constant,
    quant,
    reshape,
    retyped,
    signed,
    static_shape,
    stored_as_result,
    transpose,
)
from .conv import bias_type, in_type_of_result, need_narrow_weights, product_bias
from .hybrid import is_hybrid

if TYPE_CHECKING:
    from transload_hub.ops.matmul import MatMul

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _swapped(rw: Rewriter, value: Value) -> Value:
    """`value` with its last two dimensions exchanged."""
    n = value.rank
    return value if n < 2 else transpose(rw, value, (*range(n - 2), n - 1, n - 2))


@TABLE("top.MatMul")
def matmul(op: MatMul, rw: Rewriter) -> Value:
    """By a matrix of rank 2 a layer, else a batch of products."""
    hybrid = is_hybrid(op)
    if not hybrid:
        need_quantized_alike(op, op.input, op.right)
    if quant(op.input) is None and not hybrid:
        need_floats("product", op.input, op.right)
    is_constant = rw.constant_of(op.right) is not None
    word = str(op.attribute("rounding")) if quant(op.output) is not None else "exact"
    if rw.options.get("rounding") == "litert":
        word = "exact" if op.right.rank == 2 and is_constant else "double"
    value, turned = op.input, op.left_transpose and op.input.rank > 1
    if turned and op.right.rank == 2 and is_constant and quant(op.output) is not None:
        value, turned = _swapped(rw, value), False  # none of the operators of layers transposes its input
    is_layer = op.right.rank == 2 and not turned
    if is_layer and word == "exact":
        return _layer(op, rw, value)
    if is_layer and is_constant and word == "double" and _suits_convolution(op):
        return _as_convolution(op, rw, value)
    return _batched(op, rw)


# --- layers

def _rows(op: MatMul, rw: Rewriter) -> Value:
    """The weights as `[outputs, inputs]`."""
    return op.right if op.right_transpose else _swapped(rw, op.right)


def _layer(op: MatMul, rw: Rewriter, value: Value) -> Value:
    """FULLY_CONNECTED of `value`, the op's input as it is multiplied."""
    held = quant(op.right)
    if held is not None:
        need_narrow_weights(held)
    value, weights = in_type_of_result(op, rw, value, _rows(op, rw))
    outputs, inputs = static_shape(weights)
    if value.rank == 1:
        value = reshape(rw, value, (1, inputs))
    bias = product_bias(rw, op.bias, value, weights, outputs) if op.bias is not None or quant(value) is not None else None
    made_shape = (*static_shape(value)[:-1], outputs)
    options = bias_type(value, bias)
    if is_hybrid(op):
        options["asymmetric_quantize_inputs"] = op.attributes[DYNAMIC] == "asymmetric"
    separate = op.bias is not None and bias is None
    if separate and quant(value) is not None:
        raise Unsupported(f"its bias of shape {list(static_shape(op.bias))} is not one number for each output")  # type: ignore[arg-type]
    made = emit(
        rw, "fully_connected", value, weights, bias, like=op.output, shape=made_shape,
        fused_activation_function="NONE" if separate else fused(op), keep_num_dims=value.rank > 2, **options)
    made = reshape(rw, made, static_shape(op.output))
    return _with_bias(op, rw, made) if separate else activated(op, rw, made)


def _with_bias(op: MatMul, rw: Rewriter, made: Value) -> Value:
    """A product of floats plus a bias that broadcasts to it, and the activation."""
    if op.bias is None:
        return made
    return activated(op, rw, emit(rw, "add", made, op.bias, like=op.output, fused_activation_function=fused(op)))


def _suits_convolution(op: MatMul) -> bool:
    element = quant(op.right)
    if element is None or any(element.zero_points):
        return False
    source, target = quant(op.input), quant(op.output)
    of_bytes = source is not None and target is not None and source.storage != target.storage
    return of_bytes or not element.per_tensor or op.bias is not None


def _as_convolution(op: MatMul, rw: Rewriter, given: Value) -> Value:
    """CONV_2D over all rows of `given`, the op's input as it is multiplied, with a kernel of one element."""
    value, weights = in_type_of_result(op, rw, given, _rows(op, rw))
    outputs, inputs = static_shape(weights)
    count = math.prod(static_shape(value)) // inputs
    kernel = permuted_constant(rw, weights, (0, 1), (outputs, 1, 1, inputs))
    bias = product_bias(rw, op.bias, value, weights, outputs, I64 if value is given else I32)
    made = emit(
        rw, "conv_2d", reshape(rw, value, (1, count, 1, inputs)), kernel, bias, like=op.output, shape=(1, count, 1, outputs),
        padding="VALID", stride_h=1, stride_w=1, fused_activation_function=fused(op), **bias_type(value, bias))
    return activated(op, rw, reshape(rw, made, static_shape(op.output)))


# --- batches

_MOST_BATCHES = 3
"""Dimensions in front of BATCH_MATMUL's matrices (`batch_matmul.cc`, at most 5 in all)."""

def _batched(op: MatMul, rw: Rewriter) -> Value:
    """BATCH_MATMUL; matrices that are vectors become such."""
    need_rounding(op, rw, "double", operator="BATCH_MATMUL")
    if quant(op.output) is not None:
        _check_quantized(op)
        if op.bias is not None:
            return _with_terms(op, rw)
    value, right = stored_as_result(op, rw, op.input), stored_as_result(op, rw, op.right)
    if value is not op.input and rw.options.get("rounding") != "litert":
        raise Unsupported(
            "its sums are rounded as those of bytes are; LiteRT's BATCH_MATMUL gives 16 bits of 16 bits alone, rounded otherwise",
            LITERT_ROUNDING)
    value, right = _signed(rw, value), _signed(rw, right)
    if value.rank == 1:
        value = reshape(rw, value, (1, *static_shape(value)))
    if right.rank == 1:
        right = reshape(rw, right, (*static_shape(right), 1))
    left_swapped, right_swapped = op.left_transpose and op.input.rank > 1, op.right_transpose and op.right.rank > 1
    left_shape, right_shape = static_shape(value), static_shape(right)
    rows = left_shape[-1] if left_swapped else left_shape[-2]
    columns = right_shape[-2] if right_swapped else right_shape[-1]
    batch = np.broadcast_shapes(left_shape[:-2], right_shape[:-2])
    if len(batch) > _MOST_BATCHES:
        value, right = _in_one_batch(rw, value, batch), _in_one_batch(rw, right, batch)
        batch = (math.prod(batch),)
    shape = (*batch, rows, columns)
    held = quant(op.output)
    made = emit(
        rw, "batch_matmul", value, right, like=op.output, shape=shape, element=signed(held) if held is not None else None,
        adj_x=left_swapped, adj_y=right_swapped)
    made = reshape(rw, retyped(rw, made, op.output.element), static_shape(op.output))
    if op.bias is not None:
        return _with_bias(op, rw, made)
    return activated_wholly(op, rw, made)


def _signed(rw: Rewriter, value: Value) -> Value:
    """Unsigned bytes, which LiteRT's kernel does not take, as signed ones of the same real numbers; any others as they are."""
    element = quant(value)
    return value if element is None else retyped(rw, value, signed(element))


def _in_one_batch(rw: Rewriter, value: Value, batch: Sequence[int]) -> Value:
    """Matrices of as many batches of batches as a product has, or of one, as those of one batch."""
    shape = static_shape(value)
    own, matrix = shape[:-2], shape[-2:]
    if math.prod(own) > 1 and (1,) * (len(batch) - len(own)) + own != tuple(batch):
        value = emit(rw, "broadcast_to", value, ints(rw, *batch, *matrix), like=value, shape=(*batch, *matrix))
    return reshape(rw, value, (math.prod(static_shape(value)[:-2]), *matrix))


def _with_terms(op: MatMul, rw: Rewriter) -> Value:
    """The product with its bias as terms of the sums, of one that becomes a batch here and nowhere else (`rounding=litert`)."""
    made = with_terms(op, rw)
    if made is None:
        raise Unsupported(
            "LiteRT adds no bias to a batch of quantized products, and no terms of the sums make this one", left_float(op))
    return made


def _check_quantized(op: MatMul) -> None:
    for value in (op.input, op.right, op.output):
        element = quant(value)
        if element is None or not element.per_tensor or element.storage not in (I8, UI8, I16):
            raise Unsupported(
                f"LiteRT has no batch of products of {value.element}",
                f"quantize activations with one scale for the whole tensor, in 8 or 16 bits; {left_float(op)}")

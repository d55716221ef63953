"""Matrix products."""

from __future__ import annotations

import math

from transload.errors import Unsupported
from transload.ir import I8, I16, I32, I64, Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload.verification.bounds import DYNAMIC
from transload_hub.build import cast

from .checks import gives_sums
from .common import emit_activated, emit_like, static_shape, typed_bias
from .hybrid import hybrid_matmul, is_emulated, real_weights
from .storage import read_as

TABLE = RewriteTable()

@TABLE("tfl.fully_connected")
def fully_connected(op: Op, rw: Rewriter) -> Value:
    """FULLY_CONNECTED: the filter is O, I. All but the last dimension of the input are one, unless keep_num_dims."""
    value, weights = op.operands[:2]
    if op.attribute("weights_format") != "DEFAULT":
        raise Unsupported(f"the weights are stored in the order {op.attribute('weights_format')}, which is not supported")
    if len(op.results) != 1:
        raise Unsupported(f"it has {len(op.results)} outputs, and one alone where weights are in the default order")
    inputs = static_shape(weights, "the weights", 2)[1]
    sizes = static_shape(value, "the input")
    keep = op.attribute("keep_num_dims") and bool(sizes)
    if keep and sizes[-1] != inputs:
        raise Unsupported(f"keep_num_dims with an input of shape {list(sizes)} beside weights of {inputs} columns: LiteRT does "
                          "not run that either", "the file breaks a rule of LiteRT's")
    if not keep and (len(sizes) != 2 or sizes[-1] != inputs):
        if not inputs or math.prod(sizes) % inputs:
            raise Unsupported(f"an input of shape {list(sizes)} does not fit weights of {inputs} columns")
        value = rw.emit("top.Reshape", value, shape=(-1, inputs))
    bias = op.bias
    if bias is not None and bias.is_float and bias.rank != 1:  # a number for each column, whatever its shape
        bias = rw.emit("top.Reshape", bias, shape=(-1,))
    if is_emulated(rw, value, weights):
        return hybrid_matmul(op, rw, value, weights, bias, right_transpose=True)
    weights, hybrid = real_weights(op, rw, value, weights)
    rounding = None if value.is_float else "exact"
    if weights.is_quantized and weights.stored_element == I16:  # sums of products of 16 bits each are scaled as by other kernels
        rounding = "double"
        if bias is not None and bias.stored_element == I32:  # and have 64 bits, whatever their bias has
            bias = cast(rw, read_as(rw, bias, I32), I64)
    bias = typed_bias(rw, bias, value, weights)
    return emit_activated(
        rw, op, "top.MatMul", value, weights, bias, right_transpose=True, rounding=rounding, **{DYNAMIC: hybrid})


@TABLE("tfl.batch_matmul")
def batch_matmul(op: Op, rw: Rewriter) -> Value:
    """BATCH_MATMUL: batch dimensions broadcast; adj_x and adj_y transpose the matrices.

    Of int8 it gives sums in int32, too, which are of the stored numbers: no zero point is taken off.
    """
    left, right = op.operands
    for value in (left, right):
        static_shape(value, "a matrix", least=2)
    if gives_sums(op):
        left, right = (cast(rw, read_as(rw, value, I8), I32) for value in op.operands)
    if is_emulated(rw, left, right):
        if op.attribute("adj_x"):
            order = (*range(left.rank - 2), left.rank - 1, left.rank - 2)
            left = rw.emit("top.Permute", left, order=order)
        return hybrid_matmul(op, rw, left, right, None, right_transpose=op.attribute("adj_y"))
    right, hybrid = real_weights(op, rw, left, right)
    return emit_like(
        rw, op, "top.MatMul", left, right, left_transpose=op.attribute("adj_x"), right_transpose=op.attribute("adj_y"),
        rounding=None if left.is_float else "double", **{DYNAMIC: hybrid})

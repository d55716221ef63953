"""SVDF: a filter over features and time of low rank, with state.

The state holds the last `memory` results of the feature filter. It starts with zeros in every run (see
`recurrent`), so that of the filter over time only the newest column takes part.

Source: `tensorflow/lite/kernels/svdf.cc`, `internal/reference/svdf.h`.
"""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, QuantType, Value
from transload.ir.core import is_absent
from transload.rewrite import Rewriter, RewriteTable

from .common import activate, is_float, is_hybrid, quant_per_tensor, static_shape
from .hybrid import hybrid_product

TABLE = RewriteTable()


@TABLE("tfl.svdf")
def svdf(op: Op, rw: Rewriter) -> Value:
    """SVDF: features [N, I] by weights [filters, I], times the newest time weights, summed over the rank."""
    value, features, times = op.operands[:3]
    bias = None if is_absent(op.operands[3]) else op.operands[3]
    state = rw.constant_of(op.operands[4])
    zero = op.operands[4].element.zero_points[0] if isinstance(op.operands[4].element, QuantType) else 0
    if state is None or np.any(state != zero):
        raise Unsupported("a state that is computed or not zero is not supported")
    if not is_float(value):
        return _integer_svdf(op, rw, value, features, times, bias)
    if is_hybrid(value, features):
        products = hybrid_product(op, rw, value, features)
    else:
        products = rw.emit("top.MatMul", value, features, right_transpose=True)
    if not is_float(times):
        times = rw.emit("top.Cast", times, element=F32)
    sums = _sum_ranks(op, rw, rw.emit("top.Mul", products, _newest(rw, times)))
    if bias is not None:
        sums = rw.emit("top.Add", sums, bias)
    return activate(rw, op, sums, op.attribute("fused_activation_function"))


def _newest(rw: Rewriter, times: Value) -> Value:
    """The last column of the time weights [filters, memory], as a vector."""
    filters, memory = static_shape(times, "the time weights", 2)
    column = rw.emit("top.Slice", times, offset=(0, memory - 1), ends=(filters, memory), steps=(1, 1))
    return rw.emit("top.Reshape", column, shape=(filters,))


def _sum_ranks(op: Op, rw: Rewriter, products: Value) -> Value:
    """[N, units * rank] to [N, units]."""
    rank = op.attribute("rank")
    batch, filters = static_shape(products, "the products", 2)
    if rank < 1 or filters % rank:
        raise Unsupported(f"{filters} filters do not fit the rank {rank}")
    if rank == 1:
        return products
    apart = rw.emit("top.Reshape", products, shape=(batch, filters // rank, rank))
    return rw.emit("top.Reduce", apart, axes=(2,), keepdims=False, mode="ReduceSum", element=products.element)


def _integer_svdf(op: Op, rw: Rewriter, value: Value, features: Value, times: Value, bias: Value | None) -> Value:
    """SVDF of int8 with an int16 state: products with the time weights are summed exactly, and rounded once.

    The kernel demands the activation RELU but does not apply it: what keeps the result from being negative is its
    zero point, the least stored number.

    Source: `tensorflow/lite/kernels/internal/reference/svdf.h`, EvalIntegerSVDF.
    """
    state = quant_per_tensor(op.operands[4], "the state of an SVDF of integers")
    weights = quant_per_tensor(times, "the time weights of an SVDF of integers")
    sum_type = QuantType(I32, F32, (state.scale * weights.scale,), (0,))
    products = rw.emit("top.MatMul", value, features, right_transpose=True, element=state)
    weighted = rw.emit("top.Mul", products, _newest(rw, times), element=sum_type)
    sums = _sum_ranks(op, rw, weighted)
    if bias is not None:
        stored = rw.need_constant(bias, "the bias")
        sums = rw.emit("top.Add", sums, rw.constant(stored, element=sum_type), element=sum_type)
    return rw.emit("top.Cast", sums, element=op.results[0].element)

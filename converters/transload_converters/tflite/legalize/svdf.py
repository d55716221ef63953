"""SVDF: a filter over features and time of low rank, with state.

The state [N, filters * memory] holds the last `memory` results of the feature filter, the newest last. Where it is
known to be zeros, only the newest column of the filter over time takes part.

Source: `tensorflow/lite/kernels/svdf.cc`, `internal/reference/svdf.h`.
"""

from __future__ import annotations

from typing import Any

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, QuantType, Type, Value
from transload.ir.core import is_absent
from transload.rewrite import Rewriter, RewriteTable

from .common import activate, quant_per_tensor, static_shape
from .hybrid import products, real
from .state import is_zero, n_states

TABLE = RewriteTable()


@TABLE("tfl.svdf")
def svdf(op: Op, rw: Rewriter) -> Any:
    """SVDF: features [N, I] by weights [filters, I], a column of the state; by time weights, summed over time and rank."""
    value, features, times = op.operands[:3]
    bias = None if is_absent(op.operands[3]) else op.operands[3]
    if value.is_float:
        return _float_svdf(op, rw, products(op, rw, value, [features]), real(rw, times), bias)
    return _integer_svdf(op, rw, value, features, times, bias)


def _float_svdf(op: Op, rw: Rewriter, newest: Value, times: Value, bias: Value | None) -> tuple[Value, ...]:
    """SVDF of floats, with real weights or, as LiteRT's hybrid kernel computes it, integer ones of the features."""
    weighted, state = _over_time(op, rw, newest, times, F32)
    sums = _sum_ranks(op, rw, weighted)
    if bias is not None:
        sums = rw.emit("top.Add", sums, bias)
    return activate(rw, op, sums, op.attribute("fused_activation_function")), *state


def _over_time(op: Op, rw: Rewriter, newest: Value, times: Value, sum_type: Type) -> tuple[Value, tuple[Value, ...]]:
    """The filters' results [N, filters] over the time that is remembered, and the next state where it is asked for."""
    n_filters, memory = static_shape(times, "the time weights", 2)
    state = op.operands[4]
    batch = static_shape(newest, "the products", 2)[0]
    known = is_zero(rw, state)
    if known and not n_states(op):
        column = rw.emit("top.Slice", times, offset=(0, memory - 1), ends=(n_filters, memory), steps=(1, 1))
        last = rw.emit("top.Reshape", column, shape=(n_filters,))
        return rw.emit("top.Mul", newest, last, element=sum_type), ()
    columns = rw.emit("top.Reshape", newest, shape=(batch, n_filters, 1))
    if memory > 1:
        held = rw.emit("top.Reshape", state, shape=(batch, n_filters, memory))
        kept = rw.emit("top.Slice", held, offset=(0, 0, 1), ends=(batch, n_filters, memory), steps=(1, 1, 1))
        columns = rw.emit("top.Concat", kept, columns, axis=2)
    weighted = rw.emit("top.Mul", columns, times, element=sum_type)
    sums = rw.emit("top.Reduce", weighted, axes=(2,), keepdims=False, mode="ReduceSum", element=sum_type)
    after = rw.emit("top.Reshape", columns, shape=(batch, n_filters * memory))
    return sums, (after,)[: n_states(op)]


def _sum_ranks(op: Op, rw: Rewriter, sums: Value) -> Value:
    """[N, units * rank] to [N, units]."""
    rank = op.attribute("rank")
    batch, filters = static_shape(sums, "the products", 2)
    if rank < 1 or filters % rank:
        raise Unsupported(f"{filters} filters do not fit the rank {rank}")
    if rank == 1:
        return sums
    apart = rw.emit("top.Reshape", sums, shape=(batch, filters // rank, rank))
    return rw.emit("top.Reduce", apart, axes=(2,), keepdims=False, mode="ReduceSum", element=sums.element)


def _integer_svdf(
    op: Op, rw: Rewriter, value: Value, features: Value, times: Value, bias: Value | None,
) -> tuple[Value, ...]:
    """SVDF of int8 with an int16 state: products with the time weights are summed exactly, and rounded once.

    The kernel demands the activation RELU but does not apply it: what keeps the result from being negative is its
    zero point, the least stored number.

    Source: `tensorflow/lite/kernels/internal/reference/svdf.h`, EvalIntegerSVDF.
    """
    if len(op.operands) < 5:
        raise Unsupported(f"an SVDF has 5 operands, and here are {len(op.operands)}")
    state = quant_per_tensor(op.operands[4], "the state of an SVDF of integers")
    weights = quant_per_tensor(times, "the time weights of an SVDF of integers")
    sum_type = QuantType(I32, F32, (state.scale * weights.scale,), (0,))
    newest = rw.emit("top.MatMul", value, features, right_transpose=True, element=state, rounding="double")
    weighted, after = _over_time(op, rw, newest, times, sum_type)
    sums = _sum_ranks(op, rw, weighted)
    if bias is not None:
        stored = rw.need_constant(bias, "the bias")
        sums = rw.emit("top.Add", sums, rw.constant(stored, element=sum_type), element=sum_type)
    return rw.emit("top.Cast", sums, element=op.results[0].element), *after

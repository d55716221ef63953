"""Kernels: reductions, and the place of the extreme. Sums of floats are accumulated in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.plugin import KernelTable

from .arithmetic import truncated_quotient
from .common import Array, axes_of, axis_of, extreme, finish, is_integer, wide

if TYPE_CHECKING:
    from ..ops.reduce import Arg, Reduce

__all__ = ["KERNELS"]

KERNELS = KernelTable()


def _sum(x: Array, **over: Any) -> Array:
    whole = np.uint64 if x.dtype == np.uint64 else np.int64
    return x.sum(dtype=whole if is_integer(x) or x.dtype.kind == "b" else np.float64, **over)


def _mean(x: Array, **over: Any) -> Array:
    total = _sum(x, **over)
    count = np.array(x.size // max(total.size, 1), total.dtype)
    return truncated_quotient(total, count) if is_integer(total) else total / count


def _max(x: Array, **over: Any) -> Array:
    return x.max(initial=x.dtype.type(extreme(x, least=True)), **over)


def _min(x: Array, **over: Any) -> Array:
    return x.min(initial=x.dtype.type(extreme(x, least=False)), **over)


def _log_sum_exp(x: Array, **over: Any) -> Array:
    real = x.astype(np.float64)
    if not x.size:
        return np.log(np.exp(real).sum(**over))
    shift = real.max(**{**over, "keepdims": True})
    shift = np.where(np.isfinite(shift), shift, 0)
    return np.log(np.exp(real - shift).sum(**over)) + shift.reshape(np.sum(real, **over).shape)


def _real(x: Array) -> Array:
    return x.astype(np.float64)


_MODES: dict[str, Callable[..., Array]] = {
    "ReduceMean": _mean,
    "ReduceSum": _sum,
    "ReduceMax": _max,
    "ReduceMin": _min,
    "ReduceProd": lambda x, **over: x.prod(dtype=np.int64 if is_integer(x) else np.float64, **over),
    "ReduceL1": lambda x, **over: _sum(np.abs(x), **over),
    "ReduceL2": lambda x, **over: np.sqrt(np.square(_real(x)).sum(**over)),
    "ReduceLogSum": lambda x, **over: np.log(_real(x).sum(**over)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": lambda x, **over: _sum(np.square(x if not is_integer(x) else x.astype(np.int64)), **over),
    "ReduceAll": lambda x, **over: x.all(**over),
    "ReduceAny": lambda x, **over: x.any(**over),
}


@KERNELS("top.Reduce")
def reduce(op: Reduce, x: Array) -> Array:
    with np.errstate(all="ignore"):
        return finish(op, _MODES[op.mode](wide(x), axis=axes_of(op.axes, x.ndim), keepdims=op.keepdims))


@KERNELS("top.Arg")
def arg(op: Arg, x: Array) -> Array:
    x = wide(x)
    find = np.argmax if op.mode == "ArgMax" else np.argmin
    if op.select_last_index:
        where = x.shape[op.axis] - 1 - find(np.flip(x, op.axis), axis=op.axis, keepdims=True)
    else:
        where = find(x, axis=op.axis, keepdims=True)
    return finish(op, where if op.keepdims else np.squeeze(where, axis_of(op.axis, x.ndim)))

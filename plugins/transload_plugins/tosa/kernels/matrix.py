"""Exact integer matrix products through floating-point BLAS, and `matmul`.

A float product of integers is exact as long as every partial sum is an integer that the mantissa holds:
24 bits in float32, 53 in float64. The greatest sum of absolute products bounds them all, in any order
and with fused multiply-add, so the choice below is a proof and not an estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import Op

from .base import float_of, is_float, kernel, scalar_of, to_result

if TYPE_CHECKING:
    from ..dialect.product import MatMul, MatMulT

__all__ = ["EXACT_F32", "EXACT_F64", "float_dtype", "greatest", "result_of_sums", "shifted"]

EXACT_F32, EXACT_F64 = 1 << 24, 1 << 53


def float_dtype(bound: int) -> Any:
    """The float type in which sums up to `bound` are exact; `object` (Python integers) beyond float64."""
    return np.float32 if bound <= EXACT_F32 else np.float64 if bound <= EXACT_F64 else object


def greatest(array: np.ndarray, zero_point: int) -> int:
    """A bound on `|x - zero_point|` by the integer type of `array`."""
    if str(array.dtype) in ("int4", "uint4"):
        low, high = (-8, 7) if str(array.dtype) == "int4" else (0, 15)
    else:
        info = np.iinfo(array.dtype)
        low, high = int(info.min), int(info.max)
    return max(high - zero_point, zero_point - low)


def shifted(array: np.ndarray, zero_point: int, dtype: Any) -> np.ndarray:
    """`array - zero_point` as `dtype`."""
    out = array.astype(dtype)
    if zero_point:
        out -= dtype(zero_point) if dtype is not object else zero_point
    return out


@kernel("tosa.matmul", "tosa.matmul_t")
def matmul(op: MatMul | MatMulT, a: np.ndarray, b: np.ndarray, a_zp: np.ndarray, b_zp: np.ndarray) -> np.ndarray:
    """`a` N,H,C times `b` N,C,W (of matmul_t: D,W,C)."""
    transposed = op.name == "tosa.matmul_t"
    if is_float(op.operands[0]):
        right = float_of(b)
        if transposed:
            right = right.transpose(0, 2, 1)
        # Sums of f16 are formed in f32: nearer to the exact sum than f16, which the specification allows.
        return to_result(op, float_of(a) @ right)
    left_zp, right_zp = scalar_of(a_zp), scalar_of(b_zp)
    bound = greatest(a, left_zp) * greatest(b, right_zp) * a.shape[2]
    dtype = float_dtype(bound)
    right = shifted(b, right_zp, dtype)
    return to_result(op, shifted(a, left_zp, dtype) @ (right.transpose(0, 2, 1) if transposed else right))


def result_of_sums(op: Op, sums: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Float sums plus bias in the result's type, or integer sums (held exactly in floats) plus bias in integers."""
    if is_float(op.operands[0]):
        sums += float_of(bias)
        return to_result(op, sums)
    out = sums.astype(np.result_type(np.int32 if sums.dtype == np.float32 else np.int64, bias.dtype))
    out += bias
    return to_result(op, out)

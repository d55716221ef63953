"""Mathematical functions that LiteRT has no operator for, from those that it has; none of quantized numbers.

Each keeps a relative error of a few float32 units over its whole range: near zero, where the obvious formula cancels, and near
the ends, where it overflows, another one is taken.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import BOOL, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import emit, negative_where_negative, quantized_result, real
from .elementwise import spread

if TYPE_CHECKING:
    from transload_hub.ops.base import Unary

__all__ = ["TABLE", "log1p_near"]

TABLE = RewriteTable()


def _add(rw: Rewriter, x: Value, number: float) -> Value:
    return emit(rw, "add", x, real(rw, number, x), like=x)


def _mul(rw: Rewriter, x: Value, number: float) -> Value:
    return emit(rw, "mul", x, real(rw, number, x), like=x)


def _is_within(rw: Rewriter, x: Value, limit: float) -> Value:
    """Whether `|x| < limit`."""
    return emit(rw, "less", emit(rw, "abs", x, like=x), real(rw, limit, x), like=x, element=BOOL)


def log1p_near(rw: Rewriter, x: Value) -> Value:
    """`log(1 + x)` from -1/2 to 1: see `_log1p`."""
    return _log1p(rw, x)[0]


def _log1p(rw: Rewriter, x: Value) -> tuple[Value, Value]:
    """`log(1 + x)` from -1/2 to 1 as `x - ((u - 1) - log(u))` with `u = 1 + x` rounded, which adds what u lost of x; `log(u)`.

    (That loss should be divided by u, which changes it by less than log(u) is rounded by.) In this order -0 stays -0.
    """
    u = _add(rw, x, 1.0)
    log = emit(rw, "log", u, like=x)
    return emit(rw, "sub", x, emit(rw, "sub", _add(rw, u, -1.0), log, like=x), like=x), log


@TABLE("top.Log1p")
def log1p(op: Unary, rw: Rewriter) -> Value | None:
    """See `_log1p`; from 1/2 on the sum has lost nothing that counts."""
    if quantized_result(op) is not None:
        return None
    near, far = _log1p(rw, op.input)
    return emit(rw, "select_v2", _is_within(rw, op.input, 0.5), near, far, like=op.output)


@TABLE("top.Sinh")
def sinh(op: Unary, rw: Rewriter) -> Value | None:
    """`exp(|x|) / 2 * (1 - exp(-2|x|))` with the sign of x: what ELU gives of a number below 0 is its exponential less one.

    `exp(|x|) / 2` as `exp(|x| - 1) * e / 2`, which overflows no earlier than the result.
    """
    if quantized_result(op) is not None:
        return None
    x = op.input
    size = emit(rw, "abs", x, like=x)
    share = _mul(rw, emit(rw, "elu", _mul(rw, size, -2.0), like=x), -math.e / 2)
    made = emit(rw, "mul", emit(rw, "exp", _add(rw, size, -1.0), like=x), share, like=x)
    return negative_where_negative(rw, made, x, like=op.output)


@TABLE("top.Cosh")
def cosh(op: Unary, rw: Rewriter) -> Value | None:
    """`(exp(x - 1) + exp(-x - 1)) * e / 2`, which overflows no earlier than it has to."""
    if quantized_result(op) is not None:
        return None
    up, down = (
        emit(rw, "exp", _add(rw, exponent, -1.0), like=op.input)
        for exponent in (op.input, emit(rw, "neg", op.input, like=op.input)))
    return _mul(rw, emit(rw, "add", up, down, like=op.input), math.e / 2)


@TABLE("top.Tan")
def tan(op: Unary, rw: Rewriter) -> Value | None:
    """The quotient of sine and cosine."""
    if quantized_result(op) is not None:
        return None
    return emit(rw, "div", emit(rw, "sin", op.input, like=op.input), emit(rw, "cos", op.input, like=op.input), like=op.output)


@TABLE("top.Atan")
def atan(op: Unary, rw: Rewriter) -> Value | None:
    """ATAN2 over 1."""
    if quantized_result(op) is not None:
        return None
    return emit(rw, "atan2", op.input, spread(rw, real(rw, 1.0, op.input), op.input), like=op.output)


@TABLE("top.Erf")
def erf(op: Unary, rw: Rewriter) -> Value | None:
    """By GELU: `erf(x) = 2 * gelu(x * sqrt(2)) / (x * sqrt(2)) - 1`; near 0 its Taylor series to x^5."""
    if quantized_result(op) is not None:
        return None
    x = op.input
    wide = _mul(rw, x, math.sqrt(2.0))
    near = _is_within(rw, x, 0.125)
    divisor = emit(rw, "select_v2", near, real(rw, 1.0, x), wide, like=x)
    share = emit(rw, "div", emit(rw, "gelu", wide, like=x), divisor, like=x)
    far = _add(rw, emit(rw, "add", share, share, like=x), -1.0)
    squared = emit(rw, "mul", x, x, like=x)
    series = _add(rw, emit(rw, "mul", _add(rw, _mul(rw, squared, 0.1), -1 / 3), squared, like=x), 1.0)
    line = _mul(rw, x, 2.0 / math.sqrt(math.pi))
    return emit(rw, "select_v2", near, emit(rw, "mul", line, series, like=x), far, like=op.output)


def _rest_of_one(rw: Rewriter, x: Value) -> Value:
    """`sqrt((1 - x) (1 + x))`, NaN beyond 1: of a sine the cosine, and the other way round."""
    product = emit(rw, "mul", _add(rw, _mul(rw, x, -1.0), 1.0), _add(rw, x, 1.0), like=x)
    return emit(rw, "sqrt", product, like=x)


@TABLE("top.Asin")
def asin(op: Unary, rw: Rewriter) -> Value | None:
    """The angle whose sine is x and whose cosine is what is left."""
    if quantized_result(op) is not None:
        return None
    return emit(rw, "atan2", op.input, _rest_of_one(rw, op.input), like=op.output)


@TABLE("top.Acos")
def acos(op: Unary, rw: Rewriter) -> Value | None:
    """The angle whose cosine is x and whose sine is what is left."""
    if quantized_result(op) is not None:
        return None
    return emit(rw, "atan2", _rest_of_one(rw, op.input), op.input, like=op.output)


def _whole_log1p(rw: Rewriter, x: Value) -> Value:
    """`log(1 + x)` of numbers from 0 on."""
    near, far = _log1p(rw, x)
    return emit(rw, "select_v2", _is_within(rw, x, 0.5), near, far, like=x)


def _far_log(rw: Rewriter, x: Value, near: Value) -> Value:
    """`log x + log 2` where the square of x may overflow, and what is `near` elsewhere; x is not below 0."""
    far = _add(rw, emit(rw, "log", x, like=x), math.log(2))
    return emit(rw, "select_v2", _is_within(rw, x, 1e9), near, far, like=x)


@TABLE("top.Asinh")
def asinh(op: Unary, rw: Rewriter) -> Value | None:
    """`log(1 + (|x| + x^2 / (1 + sqrt(x^2 + 1))))` with the sign of x."""
    if quantized_result(op) is not None:
        return None
    size = emit(rw, "abs", op.input, like=op.input)
    squared = emit(rw, "mul", size, size, like=size)
    root = _add(rw, emit(rw, "sqrt", _add(rw, squared, 1.0), like=size), 1.0)
    near = _whole_log1p(rw, emit(rw, "add", size, emit(rw, "div", squared, root, like=size), like=size))
    return negative_where_negative(rw, _far_log(rw, size, near), op.input, like=op.output)


@TABLE("top.Acosh")
def acosh(op: Unary, rw: Rewriter) -> Value | None:
    """`log(1 + (t + sqrt(t) sqrt(t + 2)))` with `t = x - 1`, NaN where that is below 0."""
    if quantized_result(op) is not None:
        return None
    t = _add(rw, op.input, -1.0)
    roots = emit(rw, "mul", emit(rw, "sqrt", t, like=t), emit(rw, "sqrt", _add(rw, t, 2.0), like=t), like=t)
    return _far_log(rw, op.input, _whole_log1p(rw, emit(rw, "add", t, roots, like=t)))


@TABLE("top.Atanh")
def atanh(op: Unary, rw: Rewriter) -> Value | None:
    """`log(1 + 2|x| / (1 - |x|)) / 2` with the sign of x."""
    if quantized_result(op) is not None:
        return None
    size = emit(rw, "abs", op.input, like=op.input)
    ratio = emit(rw, "div", size, _add(rw, _mul(rw, size, -1.0), 1.0), like=size)
    made = _mul(rw, _whole_log1p(rw, emit(rw, "add", ratio, ratio, like=size)), 0.5)
    return negative_where_negative(rw, made, op.input, like=op.output)

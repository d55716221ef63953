"""Functions of f64 for which onnxruntime has no kernels, by those for which it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from transload.ir import BOOL, F64, Value
from transload.rewrite import Rewriter

from .common import broadcast, emit, scalar

__all__ = ["OF_F64", "arctangent", "error_function", "has_minus"]


def _number(rw: Rewriter, value: float) -> Value:
    return scalar(rw, value, F64)


def _add(rw: Rewriter, a: Value, b: Value | float) -> Value:
    return broadcast(rw, "Add", a, b if isinstance(b, Value) else _number(rw, b))


def _times(rw: Rewriter, a: Value, b: Value | float) -> Value:
    return broadcast(rw, "Mul", a, b if isinstance(b, Value) else _number(rw, b))


def _over(rw: Rewriter, a: Value | float, b: Value) -> Value:
    return broadcast(rw, "Div", a if isinstance(a, Value) else _number(rw, a), b)


def _where(rw: Rewriter, which: Value, a: Value | float, b: Value | float) -> Value:
    a, b = (each if isinstance(each, Value) else _number(rw, each) for each in (a, b))
    return broadcast(rw, "Where", which, a, b, element=F64)


def _beyond(rw: Rewriter, x: Value, least: float) -> Value:
    return broadcast(rw, "Greater", x, _number(rw, least), element=BOOL)


def _series(rw: Rewriter, z: Value, factors: Sequence[float]) -> Value:
    """The polynomial in `z` of these factors, that of its highest power first."""
    return reduce(lambda made, factor: _add(rw, _times(rw, made, z), factor), factors[1:], _number(rw, factors[0]))


def has_minus(rw: Rewriter, x: Value) -> Value:
    """Whether a number, of any type of floats, has a minus, -0 too."""
    zero = scalar(rw, 0, x.element)
    return broadcast(rw, "Or", *(broadcast(rw, "Less", value, zero, element=BOOL) for value in (x, emit(rw, "Reciprocal", x))))


def _with_sign(rw: Rewriter, size: Value, x: Value) -> Value:
    """`size` with the sign of `x`, by a product: onnxruntime's Where takes the sign of -0."""
    return _times(rw, size, _where(rw, has_minus(rw, x), -1, 1))


_ATAN_P = (-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1, -1.228866684490136173410e2,
           -6.485021904942025371773e1)
_ATAN_Q = (1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2, 4.853903996359136964868e2,
           1.945506571482613964425e2)
"""The arctangent of numbers up to 0.66 is `z + z^3 P(z^2) / Q(z^2)`: S. L. Moshier, Cephes, `atan.c`."""


def arctangent(rw: Rewriter, x: Value) -> Value:
    """Of greater numbers by those of -1 / x, and of (x - 1) / (x + 1)."""
    size = emit(rw, "Abs", x)
    far = [_beyond(rw, size, least) for least in (1 + math.sqrt(2), 0.66)]
    z = _where(rw, far[1], _over(rw, _add(rw, size, -1), _add(rw, size, 1)), size)
    z = _where(rw, far[0], emit(rw, "Neg", emit(rw, "Reciprocal", size)), z)
    base = _where(rw, far[0], math.pi / 2, _where(rw, far[1], math.pi / 4, 0))
    square = emit(rw, "Mul", z, z)
    quotient = _over(rw, _series(rw, square, _ATAN_P), _series(rw, square, _ATAN_Q))
    return _with_sign(rw, _add(rw, base, _add(rw, emit(rw, "Mul", z, emit(rw, "Mul", square, quotient)), z)), x)


def _round_one(rw: Rewriter, x: Value) -> tuple[Value, Value]:
    """1 - x and 1 + x."""
    return broadcast(rw, "Sub", _number(rw, 1), x), _add(rw, x, 1)


def _asin(rw: Rewriter, x: Value) -> Value:
    return arctangent(rw, _over(rw, x, emit(rw, "Sqrt", emit(rw, "Mul", *_round_one(rw, x)))))


def _acos(rw: Rewriter, x: Value) -> Value:
    return _times(rw, arctangent(rw, emit(rw, "Sqrt", _over(rw, *_round_one(rw, x)))), 2)


def _tan(rw: Rewriter, x: Value) -> Value:
    return _over(rw, emit(rw, "Sin", x), emit(rw, "Cos", x))


def _half_powers(rw: Rewriter, size: Value) -> list[Value]:
    """Halves of e^size and e^-size, which are finite as long as hyperbolic functions are."""
    root = emit(rw, "Exp", _times(rw, size, 0.5))
    return [_times(rw, _times(rw, root, 0.5), root), _over(rw, _over(rw, 0.5, root), root)]


def _cosh(rw: Rewriter, x: Value) -> Value:
    return _add(rw, *_half_powers(rw, emit(rw, "Abs", x)))


def _sinh(rw: Rewriter, x: Value) -> Value:
    """Below 1 by its series, as there the powers are nearly the same."""
    size = emit(rw, "Abs", x)
    near = _times(rw, size, _series(rw, emit(rw, "Mul", size, size), [1 / math.factorial(n) for n in range(19, 0, -2)]))
    return _with_sign(rw, _where(rw, _beyond(rw, size, 1), broadcast(rw, "Sub", *_half_powers(rw, size)), near), x)


def _log1p(rw: Rewriter, x: Value) -> Value:
    """The logarithm of what 1 + x is rounded to, times what x is of that less 1 (W. Kahan); of great numbers that of them."""
    far = _beyond(rw, x, 2.0**60)
    near = _where(rw, far, 1, x)
    whole = _add(rw, near, 1)
    rest = _add(rw, whole, -1)
    none = broadcast(rw, "Equal", rest, _number(rw, 0), element=BOOL)
    found = _times(rw, emit(rw, "Log", whole), _over(rw, near, _where(rw, none, 1, rest)))
    return _where(rw, far, emit(rw, "Log", x), _where(rw, none, near, found))


_FAR = 2.0**28
"""From where on the square of a number is that and 1, too."""


def _asinh(rw: Rewriter, x: Value) -> Value:
    size = emit(rw, "Abs", x)
    far = _beyond(rw, size, _FAR)
    near = _where(rw, far, 1, size)
    square = emit(rw, "Mul", near, near)
    more = _over(rw, square, _add(rw, emit(rw, "Sqrt", _add(rw, square, 1)), 1))
    made = _where(rw, far, _add(rw, emit(rw, "Log", size), math.log(2)), _log1p(rw, _add(rw, near, more)))
    return _with_sign(rw, made, x)


def _acosh(rw: Rewriter, x: Value) -> Value:
    far = _beyond(rw, x, _FAR)
    above = _add(rw, _where(rw, far, 2, x), -1)
    root = emit(rw, "Mul", emit(rw, "Sqrt", above), emit(rw, "Sqrt", _add(rw, above, 2)))
    return _where(rw, far, _add(rw, emit(rw, "Log", x), math.log(2)), _log1p(rw, _add(rw, above, root)))


def _atanh(rw: Rewriter, x: Value) -> Value:
    size = emit(rw, "Abs", x)
    made = _log1p(rw, _over(rw, _times(rw, size, 2), broadcast(rw, "Sub", _number(rw, 1), size)))
    return _with_sign(rw, _times(rw, made, 0.5), x)


_ERF_T = (9.60497373987051638749, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
          5.55923013010394962768e4)
_ERF_U = (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
          4.92673942608635921086e4)
_ERFC_P = (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687, 4.86371970985681366614e1,
           1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
           5.57535335369399327526e2)
_ERFC_Q = (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
           1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2)
"""Up to 1 it is `z T(z^2) / U(z^2)`, and up to 8 what `exp(-z^2) P(z) / Q(z)` lacks to 1: Cephes, `ndtr.c`."""


def error_function(rw: Rewriter, x: Value) -> Value:
    """From 6 on it is 1."""
    size = emit(rw, "Abs", x)
    size = _where(rw, _beyond(rw, size, 6), 6, size)
    square = emit(rw, "Mul", size, size)
    near = _times(rw, size, _over(rw, _series(rw, square, _ERF_T), _series(rw, square, _ERF_U)))
    lacking = _times(rw, emit(rw, "Exp", emit(rw, "Neg", square)),
                     _over(rw, _series(rw, size, _ERFC_P), _series(rw, size, _ERFC_Q)))
    return _with_sign(rw, _where(rw, _beyond(rw, size, 1), broadcast(rw, "Sub", _number(rw, 1), lacking), near), x)


OF_F64: Mapping[str, Callable[[Rewriter, Value], Value]] = {
    "Atan": arctangent, "Asin": _asin, "Acos": _acos, "Tan": _tan, "Sinh": _sinh, "Cosh": _cosh, "Asinh": _asinh, "Acosh": _acosh,
    "Atanh": _atanh, "Erf": error_function}

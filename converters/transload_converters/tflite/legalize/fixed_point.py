"""Sigmoid and hyperbolic tangent of 16-bit fixed-point numbers, bit for bit as LiteRT's integer LSTM computes them.

That kernel uses gemmlowp's polynomials, whose results differ from the rounded function by a few units in the last of
15 places. All operations here are on arrays of integers that stand for fixed-point numbers of 16 bits; "F n" has n bits of
integer before the point.

Source: gemmlowp, `fixedpoint/fixedpoint.h` (logistic, tanh, exp_on_negative_values and what they use), for int16.
"""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["table_of"]

_LOWEST, _HIGHEST = -32768, 32767
_ONE = 32767  # of F0, whose numbers end just below 1


def _constant(of_32_bits: int) -> int:
    """A constant that gemmlowp notes in 32 bits, in 16."""
    return int(_halved(np.array(of_32_bits), 16))


def _halved(x: np.ndarray, exponent: int) -> np.ndarray:
    """RoundingDivideByPOT: `x / 2^exponent`, halves away from zero."""
    mask = (1 << exponent) - 1
    rest = x & mask
    return (x >> exponent) + (rest > (mask >> 1) + (x < 0))


def _times(a: np.ndarray, b: np.ndarray | int) -> np.ndarray:
    """SaturatingRoundingDoublingHighMul: the product of two fractions, rounded; halves go up."""
    return np.minimum((a * b + (1 << 14)) >> 15, _HIGHEST)


def _scaled(x: np.ndarray, exponent: int) -> np.ndarray:
    """SaturatingRoundingMultiplyByPOT."""
    return _halved(x, -exponent) if exponent < 0 else np.clip(x << exponent, _LOWEST, _HIGHEST)


def _saturated(x: np.ndarray) -> np.ndarray:
    return np.clip(x, _LOWEST, _HIGHEST)


def _wrapped(x: np.ndarray) -> np.ndarray:
    """Sums of int16 wrap."""
    return x.astype(np.int16).astype(np.int64)


def _exp_near_zero(a: np.ndarray) -> np.ndarray:
    """exp of F0 from -1/4 up to 0: a polynomial of the fourth degree around -1/8."""
    x = _wrapped(a + (1 << 12))  # a + 1/8
    x2 = _times(x, x)
    x3, x4 = _times(x2, x), _times(x2, x2)
    third = _wrapped(_times(_wrapped(_scaled(x4, -2) + x3), _constant(715827883)) + x2)
    constant = _constant(1895147668)  # exp(-1/8)
    return _saturated(constant + _times(_wrapped(x + _scaled(third, -1)), constant))


_POWERS = ((-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535), (3, 720401), (4, 242))
"""exp(-2^exponent), by exponent."""


def _exp_of_negative(a: np.ndarray, integer_bits: int) -> np.ndarray:
    """exp of numbers up to 0 with so many integer bits, as F0: near 0 by the polynomial, times a power for each bit."""
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2)
    near = (a & (quarter - 1)) - quarter
    made = _exp_near_zero(_scaled(near, integer_bits))
    rest = near - a
    for exponent, power in _POWERS:
        if integer_bits > exponent:
            made = np.where(rest & (1 << (fraction + exponent)), _times(made, _constant(power)), made)
    if integer_bits > 5:
        made = np.where(a < -(1 << (fraction + 5)), 0, made)
    return np.where(a == 0, _ONE, made)


def _inverse_of_mean(a: np.ndarray) -> np.ndarray:
    """`2 / (1 + a)` of F0, as F2: three steps of Newton's method."""
    both = a + _ONE
    half = np.where(both < 0, both - 1, both + 1)
    half = np.where(half < 0, -(-half // 2), half // 2)  # RoundingHalfSum
    x = _wrapped(_constant(1515870810) + _times(half, _constant(-1010580540)))
    for _ in range(3):
        rest = _wrapped((1 << 13) - _times(half, x))
        x = _wrapped(x + _scaled(_times(x, rest), 2))
    return x


def _sigmoid(a: np.ndarray, integer_bits: int) -> np.ndarray:
    inverse = _inverse_of_mean(_exp_of_negative(-np.abs(a), integer_bits))
    positive = _scaled(inverse, 1)  # half of it, an F1 in the same bits, as F0
    return np.where(a == 0, 1 << 14, np.where(a > 0, positive, _wrapped(_ONE - positive)))


def _tanh(a: np.ndarray, integer_bits: int) -> np.ndarray:
    """`(1 - e) / (1 + e)` with `e = exp(-2 |a|)`; doubling is one more integer bit."""
    inverse = _inverse_of_mean(_exp_of_negative(-np.abs(a), integer_bits + 1))
    size = _scaled(_wrapped(inverse - (1 << 13)), 2)
    return np.where(a == 0, 0, np.where(a < 0, -size, size))


@cache
def table_of(function: str, integer_bits: int) -> np.ndarray:
    """The results of "sigmoid" or "tanh" for all numbers of int16 with so many integer bits, from -32768 on.

    Results are int16 in steps of 2^-15.
    """
    numbers = np.arange(_LOWEST, _HIGHEST + 1, dtype=np.int64)
    return (_sigmoid if function == "sigmoid" else _tanh)(numbers, integer_bits).astype(np.int16)

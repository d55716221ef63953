"""Powers of integers as products, which wrap round as integers do: runtimes compute theirs in floats of 64 bits.

A power by squaring goes over the bits of the exponent (Knuth, The Art of Computer Programming, volume 2, 4.6.3):

    x^e = product of x^(2^k) over the bits k of e that are 1
"""

from __future__ import annotations

import numpy as np

from transload.ir import BOOL, I32, I64, IntegerType, Value
from transload.ir.build import Builder, constant_of

from ..build import cast, scalar_like
from ..tables import distinct

__all__ = ["whole_power"]


def whole_power(build: Builder, base: Value, exponent: Value, bits: int | None = None) -> Value:
    """`base ** exponent` of plain integers by ops of `top`, modulo the base's range: the shape that both broadcast to, of the
    base's type. `bits` is how many bits the exponents that are 0 or more take, where that is known.

    It is computed in i32, or i64 where the base is wider: lower bits are the same. Of a negative exponent the quotient is cut:
    powers of 1 and -1 are left, as in `top.Pow`.
    """
    wide = I64 if _width(base) > 32 else I32
    x = cast(build, base, wide)
    dense = constant_of(exponent)
    numbers = None if dense is None else dense.numpy()
    if numbers is not None:
        least = int(distinct(numbers).min(initial=0))
        bits = max(int(distinct(numbers).max(initial=0)).bit_length(), 1)
    else:
        least = 0 if exponent.element.unsigned else -1  # type: ignore[attr-defined]
        bits = min(bits or 64, _width(exponent) + min(least, 0))
    made = _by_squaring(build, x, exponent, numbers, bits)
    if least < 0:
        made = _of_negative_exponents(build, x, exponent, made)
    return cast(build, made, base.element)


def _width(value: Value) -> int:
    element = value.element
    assert isinstance(element, IntegerType)
    return element.width


def _by_squaring(build: Builder, x: Value, exponent: Value, numbers: np.ndarray | None, bits: int) -> Value:
    """The product of the squares that the lowest `bits` of an exponent ask for; of one below 0, any number."""
    if numbers is None and not exponent.element.unsigned:  # type: ignore[attr-defined]
        exponent = build.emit("top.Max", exponent, scalar_like(build, exponent, 0))
    one, made, square = scalar_like(build, x, 1), None, x
    for place in range(bits):
        if place:
            square = build.emit("top.Mul", square, square)
        if numbers is None:
            factor = build.emit("top.Where", _is_odd(build, exponent), square, one)
            if place + 1 < bits:
                exponent = build.emit("top.Div", exponent, scalar_like(build, exponent, 2))
        else:
            is_set = distinct(numbers).astype(np.int64) >> place & 1 == 1
            if made is not None and not is_set.any():
                continue
            # A number without dimensions broadcasts to the base's, others perhaps beyond them.
            whole = is_set.all() and (made is not None or (numbers.size == 1 and numbers.ndim <= (x.rank or 0)))
            factor = square if whole else build.emit(
                "top.Where", build.constant(np.broadcast_to(is_set, numbers.shape), BOOL), square, one)
        made = factor if made is None else build.emit("top.Mul", made, factor)
    assert made is not None
    return made


def _is_odd(build: Builder, x: Value) -> Value:
    """Whether integers are odd, those below 0 too."""
    rest = build.emit("top.FloorMod", x, scalar_like(build, x, 2))
    return build.emit("top.Compare", rest, scalar_like(build, x, 1), mode="Equal")


def _of_negative_exponents(build: Builder, x: Value, exponent: Value, made: Value) -> Value:
    """`made` where exponents are not below 0; else 0, but for 1 and -1 themselves, or 1 where the exponent is even."""
    one, less, none = (scalar_like(build, x, number) for number in (1, -1, 0))
    is_unit = build.emit("top.LogicalOr", *(build.emit("top.Compare", x, each, mode="Equal") for each in (one, less)))
    of_unit = build.emit("top.Where", _is_odd(build, exponent), x, one)
    is_negative = build.emit("top.Compare", exponent, scalar_like(build, exponent, 0), mode="Less")
    return build.emit("top.Where", is_negative, build.emit("top.Where", is_unit, of_unit, none), made)

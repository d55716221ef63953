"""The pass `iree-special-numbers`: powers, angles and roots where IREE's own formulas for them give NaN.

IREE computes `x ^ y` as `exp(y * log(x))`, which is NaN for a base below 0 whatever the exponent, and `0 * inf` where the base is
0, infinite or 1; angles by quotients, which are NaN for two numbers that are 0 or infinite. (Measured with IREE 3: 82 of 225
pairs of special numbers; constant exponents from -2 to 3 it writes out.) Here it is given absolute values, and of the rest is
chosen what IEEE 754-2019, 9.2.1 says (`pow`, `atan2`), which StableHLO's `power`, `atan2` and `cbrt` follow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transload.ir import Module, Op, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload.ir.constants import SplatData

__all__ = ["write_out_special_numbers"]

_WRITTEN_OUT = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
"""Exponents of which IREE makes products and quotients."""


def write_out_special_numbers(module: Module) -> bool:
    """Write out powers, angles and cubic roots of floats, of static sizes, by those of absolute values."""
    ops = [op for op in module.walk() if op.name in _FORMS and op.operands[0].is_float and op.operands[0].is_static
           and not _is_written_out(op)]
    for op in ops:
        made = _FORMS[op.name](_Floats(op), *op.operands)
        op.results[0].replace_all_uses_with(made)
        op.erase()
    return bool(ops)


def _is_written_out(op: Op) -> bool:
    """Whether it is a power with one of the constant exponents that IREE knows."""
    held = constant_of(op.operands[1]) if op.name == "stablehlo.power" else None
    number = held.splat_value() if held is not None else None
    return number is not None and float(number) in _WRITTEN_OUT


class _Floats:
    """What is computed of floats in the place of an op, number by number."""

    def __init__(self, op: Op) -> None:
        self.rw = Builder(op.parent, op, op.location)  # type: ignore[arg-type]
        self.shape, self.element = op.operands[0].static_shape, op.operands[0].element

    def __call__(self, name: str, *operands: Value) -> Value:
        made: Value = self.rw.emit(f"stablehlo.{name}", *operands)
        return made

    def number(self, value: float) -> Value:
        data = SplatData(value, self.shape, dtype_of(self.element))
        return self.rw.constant(data, self.element, dialect="stablehlo")

    def compare(self, a: Value, direction: str, b: Value) -> Value:
        made: Value = self.rw.emit("stablehlo.compare", a, b, comparison_direction=direction, compare_type="FLOAT")
        return made

    def is_whole(self, value: Value) -> Value:
        return self.compare(self("floor", value), "EQ", value)

    def has_sign(self, value: Value) -> Value:
        """Whether a number is below 0, or is -0, which is 1 over negative infinity."""
        zero = self.number(0.0)
        behind = self.compare(self("divide", self.number(1.0), value), "LT", zero)
        return self("or", self.compare(value, "LT", zero), behind)


def _power(floats: _Floats, base: Value, exponent: Value) -> Value:
    """`pow`: 1 for an exponent of 0 and a base of 1, and NaN for a power that is not whole of a finite number below 0."""
    size, zero, one = floats("abs", base), floats.number(0.0), floats.number(1.0)
    is_one = floats("or", floats.compare(size, "EQ", one), floats.compare(exponent, "EQ", zero))
    power = floats("select", is_one, one, floats("power", size, exponent))
    is_whole, is_even = floats.is_whole(exponent), floats.is_whole(floats("multiply", exponent, floats.number(0.5)))
    is_odd = floats("and", is_whole, floats("not", is_even))
    signed = floats("select", floats("and", is_odd, floats.has_sign(base)), floats("negate", power), power)
    is_finite = floats("not", floats.compare(size, "EQ", floats.number(np.inf)))
    is_none = floats("and", floats("and", floats.compare(base, "LT", zero), is_finite), floats("not", is_whole))
    return floats("select", is_none, floats.number(np.nan), signed)


def _angle(floats: _Floats, y: Value, x: Value) -> Value:
    """`atan2`: of absolute values it is in the first quadrant, 0 of two zeros, and a quarter of pi of two infinities."""
    height, width = floats("abs", y), floats("abs", x)
    angle = floats("atan2", height, width)
    for both, of_both in ((0.0, 0.0), (np.inf, np.pi / 4)):
        number = floats.number(both)
        are = floats("and", floats.compare(height, "EQ", number), floats.compare(width, "EQ", number))
        angle = floats("select", are, floats.number(of_both), angle)
    angle = floats("select", floats.has_sign(x), floats("subtract", floats.number(np.pi), angle), angle)
    return floats("select", floats.has_sign(y), floats("negate", angle), angle)


def _cubic_root(floats: _Floats, x: Value) -> Value:
    """`cbrt`: an infinity is its own."""
    is_endless = floats.compare(floats("abs", x), "EQ", floats.number(np.inf))
    return floats("select", is_endless, x, floats("cbrt", x))


_FORMS: dict[str, Callable[..., Value]] = {
    "stablehlo.power": _power, "stablehlo.atan2": _angle, "stablehlo.cbrt": _cubic_root}
"""What an op is written as."""

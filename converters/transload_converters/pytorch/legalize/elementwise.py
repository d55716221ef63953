"""Arithmetic, comparison and logic of several tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F16, F32, F64, Type, Value, dtype_of
from transload.rewrite import Rewriter

from ..schemas import NARROW, is_one_of
from .table import AtenTable, Call, Taken, cast, common_element, compared_element, is_float, number_in, number_like, shape_of

__all__ = ["TABLE", "operand", "pair"]

TABLE = AtenTable()


def pair(
    call: Call, rw: Rewriter, element: Type, first: str = "self", second: str = "other", taken: Taken = "wrapped",
) -> tuple[Value, Value]:
    """Two arguments, tensors or numbers, as tensors of an element type."""
    return operand(call.get(first), rw, element, taken), operand(call.get(second), rw, element, taken)


def operand(given: Any, rw: Rewriter, element: Type, taken: Taken = "wrapped") -> Value:
    """An argument, a tensor or a number, as a tensor of an element type."""
    return cast(rw, given, element) if isinstance(given, Value) else number_like(rw, given, element, taken)


def _names(bases: str, *overloads: str) -> tuple[str, ...]:
    return tuple(f"{base}.{overload}" for base in bases.split() for overload in overloads)


@TABLE(*_names("add sub subtract", "Tensor", "Scalar"), *_names("rsub", "Tensor", "Scalar"),
       rounded=lambda call: "each" if call.alpha == 1 else "once")
def add(call: Call, rw: Rewriter) -> Value:
    """The sum or difference, the second operand times alpha; of truth values whether one is true.

    PyTorch rounds numbers and alpha to the result's own floats, and nothing else on the way.
    """
    def rounded(given: Any) -> Value:
        if not isinstance(given, Value) or given.rank == 0:
            given = operand(given, rw, call.op.results[0].element)
        return cast(rw, given, call.element)

    a, b = rounded(call.self), rounded(call.other)
    alpha = call.alpha
    if call.element == BOOL:
        return rw.emit("top.LogicalOr", a, b)
    if call.base == "rsub":
        a, b = b, a
    if alpha != 1:
        number_in(alpha if call.base == "add" else -alpha, call.element, "held")  # PyTorch adds numbers times -alpha
        b = rw.emit("top.Mul", b, rounded(alpha))
    return rw.emit("top.Add" if call.base == "add" else "top.Sub", a, b)


def _factor_rounded(call: Call) -> str:
    """Of 16-bit floats PyTorch multiplies and divides by one number, whatever its type, in f32: it does not round that before."""
    if call.element not in NARROW:
        return "each"
    other = call.other
    if isinstance(other, Value):
        finer = math.prod(shape_of(other)) == 1 and other.element not in (call.element, BOOL)
    else:
        finer = not is_one_of(call.element, other)
    return "once" if finer else "each"


@TABLE(*_names("mul multiply", "Tensor", "Scalar"), rounded=_factor_rounded)
def mul(call: Call, rw: Rewriter) -> Value:
    """The product; of truth values whether both are true."""
    a, b = pair(call, rw, call.element)
    return rw.emit("top.LogicalAnd" if call.element == BOOL else "top.Mul", a, b)


def _mode_of(call: Call) -> str | None:
    """How a division rounds."""
    mode: str | None = "floor" if call.base == "floor_divide" else call.choice("rounding_mode", (None, "floor", "trunc"))
    return mode


def _division_rounded(call: Call) -> str:
    """Of 16-bit floats PyTorch divides tensors step by step, each of which is rounded, and by one number in f32."""
    if call.element not in NARROW or _mode_of(call) is None:
        return _factor_rounded(call)
    return "each" if isinstance(call.other, Value) and math.prod(shape_of(call.other)) != 1 else "once"


@TABLE(*_names("div divide", "Tensor", "Scalar", "Tensor_mode", "Scalar_mode"), "true_divide.Tensor", "true_divide.Scalar",
       *_names("floor_divide", "default", "Scalar"), rounded=_division_rounded)
def div(call: Call, rw: Rewriter) -> Value:
    """The quotient, exact, or rounded down or towards zero."""
    mode = _mode_of(call)
    a, b = pair(call, rw, call.element)
    if mode == "floor":
        return rw.emit("top.FloorDiv", a, b, quotient="fmod" if is_float(call.element) else "rounded")
    quotient = rw.emit("top.Div", a, b)
    return quotient if mode is None or not is_float(call.element) else _towards_zero(rw, quotient)


def _towards_zero(rw: Rewriter, value: Value) -> Value:
    """Without what is behind the point."""
    zero = number_like(rw, 0, value.element)
    negative = rw.emit("top.Compare", value, zero, mode="Less")
    return rw.emit("top.Where", negative, rw.emit("top.Ceil", value), rw.emit("top.Floor", value))


@TABLE("trunc.default", "fix.default")
def trunc(call: Call, rw: Rewriter) -> Value:
    """Rounding towards zero."""
    return _towards_zero(rw, call.self) if is_float(call.element) else call.self


@TABLE("frac.default")
def frac(call: Call, rw: Rewriter) -> Value:
    """What is behind the point, with the sign."""
    return rw.emit("top.Sub", call.self, _towards_zero(rw, call.self))


@TABLE(*_names("remainder", "Tensor", "Scalar", "Scalar_Tensor"), *_names("fmod", "Tensor", "Scalar"))
def remainder(call: Call, rw: Rewriter) -> Value:
    """What is left of a division rounded down (remainder) or towards zero (fmod)."""
    a, b = pair(call, rw, call.element)
    return rw.emit("top.FloorMod" if call.base == "remainder" else "top.TruncMod", a, b)


def _power_rounded(call: Call) -> str:
    """PyTorch rounds a cube of f16 once, and one of bf16 after each product."""
    return "once" if call.element == F16 and call.exponent == 3 else "each"


@TABLE(*_names("pow", "Tensor_Tensor", "Tensor_Scalar", "Scalar"),
       *_names("float_power", "Tensor_Tensor", "Tensor_Scalar", "Scalar"), rounded=_power_rounded)
def power(call: Call, rw: Rewriter) -> Value:
    """A power; common exponents as what they are. ATen takes roots for 1/2 and -1/2 where they are no tensors."""
    element = call.element
    base, exponent = (call.self, call.exponent)
    known = exponent if not isinstance(exponent, Value) else rw.constant_of(exponent)
    number = float(known) if known is not None and np.size(known) == 1 and np.ndim(known) == 0 else None
    if isinstance(base, Value) and number == 1.0:
        return cast(rw, base, element)
    if isinstance(base, Value) and number is not None and is_float(element):
        value = cast(rw, base, element)
        simple = {2.0: "top.Square", -1.0: "top.Reciprocal"}.get(number)
        if not isinstance(exponent, Value):
            simple = {0.5: "top.Sqrt", -0.5: "top.Rsqrt"}.get(number, simple)
        if simple is not None:
            return rw.emit(simple, value)
        if number == 3.0:
            return rw.emit("top.Mul", rw.emit("top.Square", value), value)
    a, b = operand(base, rw, element), operand(exponent, rw, element, "held")
    return rw.emit("top.Pow", a, b)


@TABLE("ldexp.Tensor")
def ldexp(call: Call, rw: Rewriter) -> Value:
    """`x * 2 ** other`; of whole exponents the power is an f32."""
    exponent = call.other if is_float(call.other.element) else cast(rw, call.other, F32)
    power = rw.emit("top.Pow", number_like(rw, 2.0, exponent.element), exponent)
    return rw.emit("top.Mul", cast(rw, call.self, call.element), cast(rw, power, call.element))


_COMPARE = {"eq": "Equal", "ne": "NotEqual", "not_equal": "NotEqual", "gt": "Greater", "greater": "Greater",
            "ge": "GreaterOrEqual",
            "greater_equal": "GreaterOrEqual", "lt": "Less", "less": "Less", "le": "LessOrEqual", "less_equal": "LessOrEqual"}


@TABLE(*_names(" ".join(_COMPARE), "Tensor", "Scalar"))
def compare(call: Call, rw: Rewriter) -> Value:
    """A relation, in the element type that both operands have in common."""
    a, b = pair(call, rw, compared_element(call.self, call.other))
    return rw.emit("top.Compare", a, b, mode=_COMPARE[call.base])


_EXTREMES = {"maximum": "top.Max", "minimum": "top.Min", "fmax": "top.Max", "fmin": "top.Min", "max": "top.Max", "min": "top.Min"}


@TABLE("maximum.default", "minimum.default", "fmax.default", "fmin.default", "max.other", "min.other")
def extreme(call: Call, rw: Rewriter) -> Value:
    """The greater or lesser of two; fmax and fmin take the number where the other is none."""
    if call.element == BOOL:
        a, b = pair(call, rw, BOOL)
        return rw.emit("top.LogicalOr" if "max" in call.base else "top.LogicalAnd", a, b)
    a, b = pair(call, rw, call.element)
    if call.base.startswith("f") and is_float(call.element):
        a, b = (rw.emit("top.Where", rw.emit("top.IsNaN", x), y, x) for x, y in ((a, b), (b, a)))
    return rw.emit(_EXTREMES[call.base], a, b)


@TABLE("atan2.default", "arctan2.default")
def atan2(call: Call, rw: Rewriter) -> Value:
    """The angle of a point."""
    return rw.emit("top.Atan2", *pair(call, rw, call.element))


_LOGIC = {"logical_and": "top.LogicalAnd", "logical_or": "top.LogicalOr", "logical_xor": "top.LogicalXor"}


@TABLE(*_names(" ".join(_LOGIC), "default"))
def logical(call: Call, rw: Rewriter) -> Value:
    """Logic on what is not zero."""
    return rw.emit(_LOGIC[call.base], cast(rw, call.self, BOOL), cast(rw, call.other, BOOL))


_BITS = {"and": ("top.BitwiseAnd", "top.LogicalAnd"), "or": ("top.BitwiseOr", "top.LogicalOr"),
         "xor": ("top.BitwiseXor", "top.LogicalXor")}


@TABLE(*_names("bitwise_and bitwise_or bitwise_xor", "Tensor", "Scalar", "Scalar_Tensor"),
       *_names("__and__ __or__ __xor__", "Tensor", "Scalar"))
def bitwise(call: Call, rw: Rewriter) -> Value:
    """Logic on bits, or on truth values."""
    bits, truth = _BITS[call.base.strip("_").removeprefix("bitwise_")]
    return rw.emit(truth if call.element == BOOL else bits, *pair(call, rw, call.element))


@TABLE(*_names("bitwise_left_shift bitwise_right_shift", "Tensor", "Tensor_Scalar", "Scalar_Tensor"),
       *_names("__lshift__ __rshift__", "Tensor", "Scalar"))
def shift(call: Call, rw: Rewriter) -> Value:
    """Bits moved."""
    if is_float(call.element):
        raise Unsupported("shifts floats", "multiply by a power of two")
    left = call.base in ("bitwise_left_shift", "__lshift__")
    return rw.emit("top.ShiftLeft" if left else "top.ShiftRight", *pair(call, rw, call.element))


@TABLE("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(call: Call, rw: Rewriter) -> Value:
    """One of two, by a condition."""
    return rw.emit("top.Where", cast(rw, call.condition, BOOL), *pair(call, rw, call.element, taken="held"))


@TABLE("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(call: Call, rw: Rewriter) -> Value:
    """A number where the mask is true."""
    return rw.emit("top.Where", cast(rw, call.mask, BOOL), operand(call.value, rw, call.element, "cut"), call.self)


@TABLE(*_names("clamp clip", "default", "Tensor"), *_names("clamp_min clamp_max", "default", "Tensor"))
def clamp(call: Call, rw: Rewriter) -> Value:
    """Kept between limits, either of which may be left out."""
    element = call.element
    value, low, high = cast(rw, call.self, element), call.get("min"), call.get("max")
    numbers = all(not isinstance(limit, Value) for limit in (low, high))
    if numbers and is_float(element):
        least, most = -math.inf if low is None else float(low), math.inf if high is None else float(high)
        return rw.emit("top.Clip", value, min=least, max=most)
    names = ("top.LogicalOr", "top.LogicalAnd") if element == BOOL else ("top.Max", "top.Min")
    for limit, name in zip((low, high), names, strict=True):
        if limit is not None:
            value = rw.emit(name, value, operand(limit, rw, element, "held"))
    return value


@TABLE("addcmul.default", "addcdiv.default", rounded="once")
def addcmul(call: Call, rw: Rewriter) -> Value:
    """`self + value * tensor1 * tensor2`, or divided by tensor2."""
    element = call.element
    a, b = (cast(rw, each, element) for each in (call.tensor1, call.tensor2))
    part = rw.emit("top.Mul" if call.base == "addcmul" else "top.Div", a, b)
    if call.value != 1:
        part = rw.emit("top.Mul", part, number_like(rw, call.value, element, "held"))
    return rw.emit("top.Add", cast(rw, call.self, element), part)


@TABLE("lerp.Scalar", "lerp.Tensor", rounded="once")
def lerp(call: Call, rw: Rewriter) -> Value:
    """`self + weight * (end - self)`; from a weight of 1/2 on the same from the other end, so that a weight of 1 is exact."""
    way = rw.emit("top.Sub", call.end, call.self)
    weight, rest = call.weight, None
    if not isinstance(weight, Value):
        weight, rest = (number_like(rw, number, call.element) for number in (weight, 1.0 - weight))
    known = rw.constant_of(weight)
    sizes = None if known is None else np.abs(np.asarray(known, np.float64))

    def from_self() -> Value:
        return rw.emit("top.Add", call.self, rw.emit("top.Mul", way, weight))

    def from_end() -> Value:
        left = rw.emit("top.Sub", number_like(rw, 1.0, call.element), weight) if rest is None else rest
        return rw.emit("top.Sub", call.end, rw.emit("top.Mul", way, left))

    if sizes is not None and ((sizes < 0.5).all() or (sizes >= 0.5).all()):
        return from_self() if (sizes < 0.5).all() else from_end()
    near = rw.emit("top.Compare", rw.emit("top.Abs", weight), number_like(rw, 0.5, call.element), mode="Less")
    return rw.emit("top.Where", near, from_self(), from_end())


@TABLE(*_names("xlogy", "Tensor", "Scalar_Other", "Scalar_Self"),
       *_names("special_xlogy", "default", "other_scalar", "self_scalar"), "special_xlog1py.default")
def xlogy(call: Call, rw: Rewriter) -> Value:
    """`x * log(y)`, 0 where x is 0 and y a number."""
    x, y = pair(call, rw, call.element)
    zero = number_like(rw, 0, call.element)
    product = rw.emit("top.Mul", x, rw.emit("top.Log" if call.base.endswith("xlogy") else "top.Log1p", y))
    nothing = rw.emit("top.LogicalAnd", rw.emit("top.Compare", x, zero, mode="Equal"),
                      rw.emit("top.LogicalNot", rw.emit("top.IsNaN", y)))
    return rw.emit("top.Where", nothing, zero, product)


@TABLE("hypot.default", rounded="once")
def hypot(call: Call, rw: Rewriter) -> Value:
    """The length of (a, b), by the greater one, as squares may be out of range; infinite where one is, even beside NaN."""
    a, b = pair(call, rw, call.element)
    sizes = [rw.emit("top.Abs", each) for each in (a, b)]
    greater, lesser = (rw.emit(name, *sizes) for name in ("top.Max", "top.Min"))
    zero, one = (number_like(rw, number, call.element) for number in (0, 1))
    unit = rw.emit("top.Where", rw.emit("top.Compare", greater, zero, mode="Equal"), one, greater)
    slope = rw.emit("top.AddConst", rw.emit("top.Square", rw.emit("top.Div", lesser, unit)), const_val=1.0)
    made = rw.emit("top.Mul", greater, rw.emit("top.Sqrt", slope))
    endless = rw.emit("top.LogicalOr", *(rw.emit("top.IsInf", each) for each in (a, b)))
    return rw.emit("top.Where", endless, number_like(rw, math.inf, call.element), made)


@TABLE("copysign.Tensor", "copysign.Scalar")
def copysign(call: Call, rw: Rewriter) -> Value:
    """The size of one number with the sign of another; that of zeros is looked up in their reciprocal."""
    a, b = pair(call, rw, call.element)
    size = rw.emit("top.Abs", a)
    zero = number_like(rw, 0, call.element)
    signed = rw.emit("top.Where", rw.emit("top.Compare", b, zero, mode="Equal"), rw.emit("top.Reciprocal", b), b)
    return rw.emit("top.Where", rw.emit("top.Compare", signed, zero, mode="Less"), rw.emit("top.Neg", size), size)


@TABLE("logaddexp.default", "logaddexp2.default", rounded="once")
def logaddexp(call: Call, rw: Rewriter) -> Value:
    """The logarithm of a sum of powers; of two infinities alike, of which there is no difference, the infinity."""
    a, b = pair(call, rw, call.element)
    scale = 1.0 if call.base == "logaddexp" else math.log(2.0)
    high = rw.emit("top.Max", a, b)
    same = rw.emit("top.Compare", a, b, mode="Equal")
    distance = rw.emit("top.Neg", rw.emit("top.Abs", rw.emit("top.Sub", a, b)))
    apart = rw.emit("top.Where", same, number_like(rw, 0, call.element), distance)
    more = rw.emit("top.Log1p", rw.emit("top.Exp", rw.emit("top.MulConst", apart, const_val=scale)))
    return rw.emit("top.Add", high, rw.emit("top.MulConst", more, const_val=1.0 / scale))


@TABLE("heaviside.default")
def heaviside(call: Call, rw: Rewriter) -> Value:
    """0 below zero, 1 above, `values` at it."""
    value, at_zero = pair(call, rw, call.element, "self", "values")
    zero, one = (number_like(rw, n, call.element) for n in (0, 1))
    above = rw.emit("top.Where", rw.emit("top.Compare", value, zero, mode="Greater"), one, zero)
    return rw.emit("top.Where", rw.emit("top.Compare", value, zero, mode="Equal"), at_zero, above)


@TABLE("isclose.default")
def isclose(call: Call, rw: Rewriter) -> Value:
    """Whether two numbers are equal, or less than infinitely apart, by up to `atol + rtol * |other|`; or both NaN, if asked."""
    element = common_element(call.self, call.other)
    element = element if is_float(element) else F64
    a, b = pair(call, rw, element)
    room = rw.emit("top.MulConst", rw.emit("top.Abs", b), const_val=call.rtol)
    room = rw.emit("top.AddConst", room, const_val=call.atol)
    apart = rw.emit("top.Abs", rw.emit("top.Sub", a, b))
    finite = rw.emit("top.Compare", apart, number_like(rw, math.inf, element), mode="Less")
    near = rw.emit("top.LogicalAnd", finite, rw.emit("top.Compare", apart, room, mode="LessOrEqual"))
    close = rw.emit("top.LogicalOr", near, rw.emit("top.Compare", a, b, mode="Equal"))
    if not call.equal_nan:
        return close
    return rw.emit("top.LogicalOr", close, rw.emit("top.LogicalAnd", rw.emit("top.IsNaN", a), rw.emit("top.IsNaN", b)))


def finite_range(element: Type) -> tuple[float, float]:
    """The least and greatest finite number of a float type."""
    import ml_dtypes

    info = ml_dtypes.finfo(dtype_of(element))
    return float(info.min), float(info.max)

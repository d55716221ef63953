"""Activation functions: of floats by TOSA's operators, of quantized numbers by tables and LiteRT's formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.ir import FloatType, I8, I16, I32, IntegerType, Op, QuantType, Value
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .. import build
from ..dialect.base import storage_of
from . import fixed_tables
from .rescaling import dequantize, i32, narrow, quant, requantize, scaled, widen
from .arith import scale32
from .tables import Function, fits, int8_table, int16_table, lookup, steep

__all__ = ["FALLBACK", "TABLE"]

TABLE = RewriteTable()
FALLBACK = RewriteTable()

MOST = float(np.finfo(np.float32).max)


# --- quantized


def _exactly(function: Any) -> Function:
    """A function of float32 numbers, computed in float64 and rounded once."""
    return lambda x: np.asarray(function(np.asarray(x, np.float64)), np.float32)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    one = np.float32(1.0)
    return one / (one + np.exp(-x.astype(np.float64)).astype(np.float32))


def _log(target: QuantType) -> Function:
    """The logarithm; of what has none, the least number of the result."""
    least = np.float32(target.storage_min - target.zero_point) * np.float32(target.scale)

    def log(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, np.log(np.maximum(x, np.float32(1e-38)).astype(np.float64)).astype(np.float32), least)

    return log


def _rsqrt(target: QuantType) -> Function:
    """1 / sqrt(x); of what has none, the greatest number of the result."""
    most = np.float32(target.storage_max - target.zero_point) * np.float32(target.scale)

    def rsqrt(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, (1.0 / np.sqrt(np.maximum(x, np.float32(1e-38)).astype(np.float64))).astype(np.float32), most)

    return rsqrt


def _function(op: Op, target: QuantType) -> Function | None:
    """What an op computes of one real number, as LiteRT does where it can; None where its kernel is to say."""
    if op.name == "top.Sigmoid" and (op.scale, op.bias, op.log) == (1.0, 0.0, False):
        return _sigmoid
    if op.name == "top.Elu":
        return _exactly(lambda x: np.where(x < 0, op.alpha * np.expm1(np.minimum(x, 0)), x))
    plain: dict[str, Any] = {"top.Tanh": np.tanh, "top.Exp": np.exp}
    if op.name in plain:
        return _exactly(plain[op.name])
    made = {"top.Log": _log, "top.Rsqrt": _rsqrt}.get(op.name)
    return made(target) if made is not None else None


def _kernel_function(op: Op, rw: Rewriter, moving: Value) -> Function | None:
    """What the op's kernel computes of `moving`, its other operands being constant numbers; None where they are not."""
    from transload.engine.quantized import dequantize as reals

    found = host().kernel(op.name)
    declaration = op.declaration
    if found is None or declaration is None or "elementwise" not in declaration.traits or len(op.results) != 1:
        return None
    held: list[Any] = []
    for value in op.operands:
        if value is moving:
            held.append(None)
            continue
        array = rw.constant_of(value)
        if array is None or array.size != 1:
            return None
        type_ = quant(value)
        held.append(np.asarray(array if type_ is None else reals(array, type_)).reshape(-1))
    kernel = found[0]

    def function(x: np.ndarray) -> np.ndarray:
        return np.asarray(kernel(op, *(x if array is None else array for array in held)))

    return function


@FALLBACK("top.*")
def through_table(op: Op, rw: Rewriter) -> Value | None:
    """Any elementwise function of one quantized operand."""
    target = quant(op.result) if len(op.results) == 1 else None
    if target is None or op.name == "top.Cast":
        return None
    moving = {value for value in op.operands if rw.constant_of(value) is None}
    if len(moving) != 1:
        return None
    x = moving.pop()
    source = quant(x)
    if not fits(source, target) or x.type.shape != op.result.type.shape:  # type: ignore[attr-defined]
        return None
    function = _function(op, target) or _kernel_function(op, rw, x)
    if function is None:
        return None
    if target.storage == I8:
        return lookup(rw, x, int8_table(source, target, function), target)  # type: ignore[arg-type]
    entries = int16_table(source, target, function)  # type: ignore[arg-type]
    return None if steep(entries) else lookup(rw, x, entries, target)


@TABLE("top.Sigmoid", "top.Tanh")
def sigmoid_int16(op: Op, rw: Rewriter) -> Value | None:
    """LiteRT's int16 kernels, which interpolate a table of their own: exact where the result has a scale of 2**-15."""
    source, target = quant(op.input), quant(op.result)
    if not fits(source, target) or source.storage != I16 or target.scale != 2.0**-15:  # type: ignore[union-attr]
        return None
    if op.name == "top.Sigmoid" and (op.scale, op.bias, op.log) != (1.0, 0.0, False):
        return None
    return fixed_tables.sigmoid_or_tanh(rw, op.input, source, target, tanh=op.name == "top.Tanh")  # type: ignore[arg-type]


def _ratio(source: QuantType, target: QuantType, factor: float = 1.0) -> float:
    """Input scale by output scale, divided in float32 as LiteRT's activations do."""
    return float(np.float32(source.scale) * np.float32(factor) / np.float32(target.scale))


@TABLE("top.Relu", "top.Clip")
def relu(op: Op, rw: Rewriter) -> Value | None:
    """A clamp; quantized, requantized first."""
    if op.name == "top.Relu":
        low, high = 0.0, op.relu_limit if op.relu_limit >= 0 else math.inf
    else:
        low, high = op.min, op.max
    x = op.input
    source, target = quant(x), op.result.element
    if source is not None and isinstance(target, QuantType):
        if source.per_axis or target.per_axis or source.storage not in (I8, I16, I32):
            return None
        return requantize(rw, x, target, (low, high))
    if source is not None or isinstance(target, QuantType):
        return None
    element = storage_of(x)
    if isinstance(element, FloatType):
        return build.clamp(rw, x, max(low, -_most(element)), min(high, _most(element)))
    if isinstance(element, IntegerType):
        least, most = element.range
        return build.clamp(rw, x, max(least, math.ceil(low) if math.isfinite(low) else least),
                           min(most, math.floor(high) if math.isfinite(high) else most))
    raise Unsupported(f"a clamp of {element}")


def _most(element: FloatType) -> float:
    """The greatest finite number of a float type."""
    import ml_dtypes

    from transload.ir import dtype_of

    return float(ml_dtypes.finfo(dtype_of(element)).max)


@TABLE("top.LeakyRelu")
def leaky_relu_quantized(op: Op, rw: Rewriter) -> Value | None:
    """Two factors, one for each sign."""
    source, target = quant(op.input), quant(op.result)
    if not fits(source, target):
        return None
    up, down = _ratio(source, target), _ratio(source, target, abs(op.alpha))  # type: ignore[arg-type]
    if source.storage == I8:  # type: ignore[union-attr]
        return lookup(rw, op.input, fixed_tables.leaky_relu(source, target, up, down, op.alpha < 0), target)  # type: ignore[arg-type]
    x = widen(rw, op.input)
    negative = scaled(rw, x, scale32(down))
    if op.alpha < 0:
        negative = build.negate(rw, negative)
    return narrow(rw, _by_sign(rw, x, scaled(rw, x, scale32(up)), negative), 1.0, target)  # type: ignore[arg-type]


def _by_sign(rw: Rewriter, x: Value, positive: Value, negative: Value) -> Value:
    """`positive` where `x` is not negative, `negative` elsewhere."""
    zero = i32(rw, 0, x) if storage_of(x) == I32 else build.float_scalar_like(rw, x, 0.0)
    return rw.emit("tosa.select", rw.emit("tosa.greater_equal", x, zero), positive, negative)


@TABLE("top.PRelu")
def prelu_quantized(op: Op, rw: Rewriter) -> Value | None:
    source, slope, target = quant(op.input), quant(op.slope), quant(op.result)
    if source is None or slope is None or target is None:
        return None
    if any(type_.per_axis or type_.storage not in (I8, I16) for type_ in (source, slope, target)):
        return None
    x, factor = build.equal_rank(rw, widen(rw, op.input), widen(rw, op.slope))
    positive = scaled(rw, x, scale32(_ratio(source, target)))
    real = np.float32(source.scale) * np.float32(slope.scale) / np.float32(target.scale)
    negative = scaled(rw, build.mul(rw, x, factor, element=I32), scale32(float(real)))
    return narrow(rw, _by_sign(rw, x, positive, negative), 1.0, target)


@TABLE("top.HardSwish")
def hard_swish_quantized(op: Op, rw: Rewriter) -> Value | None:
    source, target = quant(op.input), quant(op.result)
    if not fits(source, target) or source.storage != I8:  # type: ignore[union-attr]
        return None
    entries = fixed_tables.hard_swish(source, target)  # type: ignore[arg-type]
    return None if entries is None else lookup(rw, op.input, entries, target)  # type: ignore[arg-type]


@TABLE("top.Abs")
def abs_quantized(op: Op, rw: Rewriter) -> Value | None:
    source, target = quant(op.input), quant(op.result)
    if source is None or target is None or source.per_axis or target.per_axis or source.storage not in (I8, I16):
        return None
    if fits(source, target) and source.storage == I8:
        return lookup(rw, op.input, fixed_tables.absolute(source, target, _ratio(source, target)), target)
    return narrow(rw, rw.emit("tosa.abs", widen(rw, op.input)), _ratio(source, target), target)


# --- float


def _float(op: Op) -> Value | None:
    """The operand of an op on floats; None where anything is quantized or an integer."""
    x = op.operands[0]
    return x if isinstance(x.element, FloatType) and isinstance(op.result.element, FloatType) else None


class _Floats:
    """Arithmetic on float values, with numbers as operands."""

    def __init__(self, rw: Rewriter, like: Value) -> None:
        self.rw = rw
        self.like = like

    def number(self, value: float) -> Value:
        return build.float_scalar_like(self.rw, self.like, value)

    def _value(self, x: Value | float) -> Value:
        return x if isinstance(x, Value) else self.number(x)

    def add(self, a: Value | float, b: Value | float) -> Value:
        return self.rw.emit("tosa.add", self._value(a), self._value(b))

    def sub(self, a: Value | float, b: Value | float) -> Value:
        return self.rw.emit("tosa.sub", self._value(a), self._value(b))

    def mul(self, a: Value | float, b: Value | float) -> Value:
        a, b = self._value(a), self._value(b)
        if build.is_splat(b, 1.0):
            return a
        return build.mul(self.rw, a, b)

    def min(self, a: Value | float, b: Value | float) -> Value:
        return self.rw.emit("tosa.minimum", self._value(a), self._value(b))

    def max(self, a: Value | float, b: Value | float) -> Value:
        return self.rw.emit("tosa.maximum", self._value(a), self._value(b))

    def greater(self, a: Value, b: float) -> Value:
        return self.rw.emit("tosa.greater", a, self.number(b))

    def select(self, condition: Value, a: Value | float, b: Value | float) -> Value:
        return self.rw.emit("tosa.select", condition, self._value(a), self._value(b))

    def unary(self, name: str, x: Value) -> Value:
        return self.rw.emit(f"tosa.{name}", x)

    def clamp(self, x: Value, low: float, high: float) -> Value:
        return build.clamp(self.rw, x, low, high)

    def expm1(self, x: Value) -> Value:
        """`exp(min(x, 0)) - 1`."""
        return self.sub(self.unary("exp", self.min(x, 0.0)), 1.0)

    def softplus(self, x: Value) -> Value:
        """`log(1 + exp(x))`, without overflow."""
        small = self.unary("exp", build.negate(self.rw, self.unary("abs", x)))
        return self.add(self.max(x, 0.0), self.unary("log", self.add(small, 1.0)))


@TABLE("top.Sigmoid")
def sigmoid(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    if op.log and (op.scale, op.bias) == (1.0, 0.0):  # log(1 / (1 + exp(-x))) = -softplus(-x)
        return build.negate(rw, f.softplus(build.negate(rw, x)))
    y = f.mul(f.unary("sigmoid", x), op.scale)
    y = f.add(y, op.bias) if op.bias else y
    return f.unary("log", y) if op.log else y


@TABLE("top.Tanh", "top.Erf")
def direct(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    return None if x is None else rw.emit(f"tosa.{op.name.partition('.')[2].lower()}", x)


@TABLE("top.SiLU")
def silu(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    return None if x is None else build.mul(rw, x, rw.emit("tosa.sigmoid", x))


@TABLE("top.HardSigmoid")
def hard_sigmoid(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    return f.clamp(f.add(f.mul(x, op.alpha), op.beta), 0.0, 1.0)


@TABLE("top.HardSwish")
def hard_swish(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    return f.mul(f.mul(x, f.clamp(f.add(x, 3.0), 0.0, 6.0)), 1.0 / 6.0)


@TABLE("top.GELU")
def gelu(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    if op.approx:
        cubic = f.mul(f.mul(f.mul(x, x), x), 0.044715)
        inner = f.unary("tanh", f.mul(f.add(x, cubic), math.sqrt(2.0 / math.pi)))
    else:
        inner = f.unary("erf", f.mul(x, math.sqrt(0.5)))
    return f.mul(f.mul(x, 0.5), f.add(inner, 1.0))


@TABLE("top.Elu", "top.Selu", "top.Celu")
def elu(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    below = f.expm1(f.mul(x, 1.0 / op.alpha) if op.name == "top.Celu" else x)
    y = f.select(f.greater(x, 0.0), x, f.mul(below, op.alpha))
    return f.mul(y, op.gamma) if op.name == "top.Selu" else y


@TABLE("top.Softplus")
def softplus(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    return None if x is None else _Floats(rw, x).softplus(x)


@TABLE("top.Softsign")
def softsign(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    return f.mul(x, f.unary("reciprocal", f.add(f.unary("abs", x), 1.0)))


@TABLE("top.Mish")
def mish(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    return f.mul(x, f.unary("tanh", f.softplus(x)))


@TABLE("top.ThresholdedRelu")
def thresholded_relu(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    return f.select(f.greater(x, op.alpha), x, 0.0)


@TABLE("top.Shrink")
def shrink(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    below = f.rw.emit("tosa.greater", f.number(-op.lambd), x)
    inner = f.select(below, f.add(x, op.bias), 0.0)
    return f.select(f.greater(x, op.lambd), f.sub(x, op.bias), inner)


@TABLE("top.LeakyRelu")
def leaky_relu(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None:
        return None
    f = _Floats(rw, x)
    scaled_down = f.mul(x, op.alpha)
    return f.max(x, scaled_down) if 0.0 <= op.alpha <= 1.0 else f.select(f.greater(x, 0.0), x, scaled_down)


@TABLE("top.PRelu")
def prelu(op: Op, rw: Rewriter) -> Value | None:
    x = _float(op)
    if x is None or quant(op.slope) is not None and rw.constant_of(op.slope) is None:
        return None
    slope = dequantize(rw, op.slope, x.element)
    product = build.mul(rw, x, slope)
    return _by_sign(rw, x, x, product)

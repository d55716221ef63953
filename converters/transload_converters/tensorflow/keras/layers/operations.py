"""Operations between layers, `keras.ops` of Keras 3: `x + y`, `ops.mean(x)`.

The rule of an operation is `operation_NAME`, NAME the class that Keras 3 has for it. Here are those that compute; those that move
numbers are in `movement`, those that take many together in `reductions` and `products`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any

import ml_dtypes
import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I32, FloatType, Type, Value, dtype_of, element_type_of

from ..graph import Graph, shape_of
from ..layer import LAYERS, Call
from ..promotion import WEAK_FLOAT
from .activations import FUNCTIONS, options_of

__all__ = ["axis_of", "element_of", "floats", "operation", "option", "saturated", "tensors", "to_value"]


def operation(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function as the rule of operations. What it neither has a parameter for nor asks for is refused, if it is said."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        taken = set(signature(function).parameters)

        @wraps(function)
        def rule(call: Call, *given: Any, **named: Any) -> Any:
            made = function(call, *tensors(call.g, function, given), **named)
            known = taken | call.read | _OF_ALL
            for name, value in {**call.config, **call.arguments}.items():
                if name not in known and value is not None and value is not False:
                    raise Unsupported(f"its argument {name[:40]}={str(value)[:80]} is not known here")
            return made

        LAYERS.layer(*(f"operation_{name}" for name in names), casts=False, tensors=False)(rule)
        return function

    return add


def tensors(g: Graph, function: Callable[..., Any], given: Sequence[Any]) -> list[Any]:
    """Arguments by place; arrays and numbers are constants where a function has a `Value`, since a file may have them there."""
    kinds = [each.annotation for each in list(signature(function).parameters.values())[1:]]
    kinds += [None] * (len(given) - len(kinds))
    return [g.constant(each) if kind == "Value" and isinstance(each, np.ndarray | int | float | list) else each
            for each, kind in zip(given, kinds, strict=False)]


_OF_ALL = frozenset(("name", "trainable"))
"""What says nothing of how an operation computes."""


def option(call: Call, name: str, default: Any = None) -> Any:
    """What an operation was made with, or is called with."""
    call.read.add(name)
    found = call.arguments.get(name, call.config.get(name))
    return default if found is None else found


def axis_of(call: Call, default: Any) -> Any:
    """A dimension, or several; None where the file says that there is none, which is not the default."""
    found = option(call, "axis", default)
    return None if {**call.config, **call.arguments}.get("axis", default) is None else found


def to_value(g: Graph, x: Any, beside: Value | None = None) -> Value:
    return x if isinstance(x, Value) else g.like(x, beside) if beside is not None else g.constant(x)


def element_of(dtype: Any) -> Type:
    if isinstance(dtype, Mapping):
        dtype = dtype.get("config")
        dtype = dtype.get("name") if isinstance(dtype, Mapping) else dtype
    try:
        return BOOL if dtype == "bool" else element_type_of(np.dtype(str(dtype)))
    except TypeError:
        raise Unsupported(f"it makes numbers of type {str(dtype)[:80]!r}") from None


# --- elementwise

_ONE = {
    "Absolute": "Abs", "Abs": "Abs", "Negative": "Neg", "Sign": "Sign",
    "Square": "Square", "Isfinite": "IsFinite", "Isinf": "IsInf", "Isnan": "IsNan", "LogicalNot": "LogicalNot",
    "Copy": "Identity", "StopGradient": "Identity"}
_ONE_FLOAT = {
    "Arccos": "Acos", "Arccosh": "Acosh", "Arcsin": "Asin", "Arcsinh": "Asinh", "Arctan": "Atan", "Arctanh": "Atanh",
    "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh", "Erf": "Erf", "Erfinv": "Erfinv", "Exp": "Exp", "Expm1": "Expm1",
    "Fabs": "Abs", "Floor": "Floor", "Log": "Log", "Log1p": "Log1p", "Reciprocal": "Reciprocal", "Rsqrt": "Rsqrt",
    "Sin": "Sin", "Sinh": "Sinh", "Sqrt": "Sqrt", "Tan": "Tan", "Tanh": "Tanh"}
_OF_WHOLE = {"Isfinite": True, "Isinf": False, "Isnan": False}
"""What integers and truth values are."""
TWO = {
    "Add": "AddV2", "Subtract": "Sub", "Multiply": "Mul", "Maximum": "Maximum", "Minimum": "Minimum", "Power": "Pow",
    "FloorDivide": "FloorDiv", "Mod": "FloorMod", "Equal": "Equal", "NotEqual": "NotEqual", "Greater": "Greater",
    "GreaterEqual": "GreaterEqual", "Less": "Less", "LessEqual": "LessEqual", "BitwiseAnd": "BitwiseAnd",
    "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor"}


@operation(*_ONE, *_ONE_FLOAT)
def one(call: Call, x: Value) -> Value:
    g, name = call.g, call.layer.class_name.removeprefix("operation_")
    if not isinstance(x.element, FloatType) and name in _OF_WHOLE:
        return g.broadcast_to(g.constant(_OF_WHOLE[name], BOOL), shape_of(x))
    if dtype_of(x.element).kind in "ub" and name in ("Absolute", "Abs"):
        return x
    if dtype_of(x.element).kind == "u" and name == "Sign":
        return g.Minimum(x, 1)
    x = g.cast(x, BOOL) if name == "LogicalNot" else x
    made: Value = getattr(g, _ONE[name])(x) if name in _ONE else getattr(g, _ONE_FLOAT[name])(g.to_float(x))
    return made


@operation(*TWO)
def two(call: Call, x: Any, y: Any) -> Value:
    """Of the type that both have together; sums of truth values are whether any is true."""
    g, name = call.g, call.layer.class_name.removeprefix("operation_")
    first, second = g.pair(x, y)
    if first.element == BOOL and name == "Add":
        return g.LogicalOr(first, second)
    if first.element == BOOL and name == "Mod":
        first, second = g.cast(first, I32), g.cast(second, I32)
    if name == "Power" and dtype_of(first.element).kind == "u":  # `tf.pow` has none: Keras takes those of 32 bits with a sign
        return g.cast(g.Pow(g.cast(first, I32), g.cast(second, I32)), first.element)
    made: Value = getattr(g, TWO[name])(first, second)
    return made


@operation("LogicalAnd", "LogicalOr", "LogicalXor")
def logical(call: Call, x: Any, y: Any) -> Value:
    g, name = call.g, call.layer.class_name.removeprefix("operation_")
    x, y = (g.cast(to_value(g, each), BOOL) for each in (x, y))
    made: Value = g.NotEqual(x, y) if name == "LogicalXor" else getattr(g, name)(x, y)
    return made


def floats(g: Graph, *values: Any) -> list[Value]:
    """Operands as floats of the type that they have together."""
    return g.promoted(*values, WEAK_FLOAT)[:-1]


@operation("Divide", "TrueDivide", "DivideNoNan")
def divide(call: Call, x: Any, y: Any) -> Value:
    g = call.g
    return (g.DivNoNan if call.layer.class_name.endswith("NoNan") else g.RealDiv)(*floats(g, x, y))


@operation("Log2", "Log10")
def logarithm(call: Call, x: Value) -> Value:
    return call.g.RealDiv(call.g.Log(call.g.to_float(x)), math.log(10 if call.layer.class_name.endswith("10") else 2))


@operation("Exp2")
def exp2(call: Call, x: Value) -> Value:
    return call.g.Exp(call.g.Mul(call.g.to_float(x), math.log(2)))


@operation("Round")
def rounded(call: Call, x: Value) -> Value:
    """Integers have no digits behind the point; those before it are rounded as floats."""
    g, decimals = call.g, int(option(call, "decimals", 0))
    if not isinstance(x.element, FloatType) and decimals >= 0:
        return x
    factor, y = 10.0**decimals, g.to_float(x)
    return g.Round(y) if factor == 1 else g.cast(g.RealDiv(g.Round(g.Mul(y, factor)), factor), x.element)


@operation("Arctan2")
def arctan2(call: Call, y: Any, x: Any) -> Value:
    return call.g.Atan2(*floats(call.g, y, x))


@operation("Clip")
def clip(call: Call, x: Value, least: Any = None, most: Any = None) -> Value:
    g = call.g
    least = option(call, "x_min", least)
    most = option(call, "x_max", most)
    return g.Minimum(g.Maximum(x, least), most)


@operation("Where")
def where(call: Call, condition: Value, x: Any = None, y: Any = None) -> Value:
    x, y = option(call, "x1", x), option(call, "x2", y)
    if x is None or y is None:
        raise Unsupported("it gives the places that are true, and how many these are only the data says")
    return call.g.select(call.g.cast(to_value(call.g, condition), BOOL), x, y)


@operation("Cast", "ConvertToTensor")
def cast(call: Call, x: Any, dtype: Any = None) -> Value:
    wanted = option(call, "dtype", dtype)
    x = to_value(call.g, x)
    return x if wanted is None else call.g.cast(x, element_of(wanted))


@operation("SaturateCast")
def saturate_cast(call: Call, x: Any, dtype: Any = None) -> Value:
    return saturated(call.g, to_value(call.g, x), element_of(option(call, "dtype", dtype)))


def saturated(g: Graph, x: Value, wanted: Type) -> Value:
    """What the wanted type does not hold becomes the next that both types hold."""
    return g.cast(x if x.element == BOOL else _limited(g, x, wanted), wanted)


def _limited(g: Graph, x: Value, wanted: Type) -> Value:
    """A tensor, no less and no more than a type holds; a limit that its own type does not hold is moved inward."""
    own = dtype_of(x.element)
    for kind, op in (("min", "Maximum"), ("max", "Minimum")):
        limit, there = _limit(wanted, kind), _limit(x.element, kind)
        if (there < limit) if kind == "min" else (there > limit):
            number = np.asarray(limit).astype(own)
            if own.kind not in "iub" and (float(number) < limit if kind == "min" else float(number) > limit):
                number = np.nextafter(number, own.type(0))
            x = getattr(g, op)(x, g.constant(number, x.element))
    return x


def _limit(element: Type, kind: str) -> Any:
    """The least or greatest number of a type."""
    if element == BOOL:
        return int(kind == "max")
    dtype = dtype_of(element)
    info = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)
    return int(getattr(info, kind)) if dtype.kind in "iu" else float(getattr(info, kind))


_ACTIVATIONS = {
    "Relu": "relu", "ReLU": "relu", "Relu6": "relu6", "Sigmoid": "sigmoid", "Softplus": "softplus", "Softsign": "softsign",
    "Silu": "silu", "LogSigmoid": "log_sigmoid", "LeakyRelu": "leaky_relu", "HardSigmoid": "hard_sigmoid",
    "HardSilu": "hard_silu", "Elu": "elu", "Selu": "selu", "Gelu": "gelu", "Celu": "celu", "Glu": "glu",
    "HardTanh": "hard_tanh", "HardShrink": "hard_shrink", "SoftShrink": "soft_shrink", "TanhShrink": "tanh_shrink",
    "LogSoftmax": "log_softmax", "Squareplus": "squareplus", "SparsePlus": "sparse_plus", "SparseSigmoid": "sparse_sigmoid",
    "Softmax": "softmax", "Sparsemax": "sparsemax"}


@operation(*_ACTIVATIONS)
def activation(call: Call, x: Value) -> Value:
    """Those of `activations`; gelu is the approximate one where nothing is said, which it is not as a layer's activation."""
    function = FUNCTIONS[_ACTIVATIONS[call.layer.class_name.removeprefix("operation_")]]
    options = {name: option(call, name) for name in options_of(function)}
    whole = "axis" in options and axis_of(call, -1) is None
    if call.layer.class_name == "operation_Gelu" and options["approximate"] is None:
        options["approximate"] = True
    given = {key: value for key, value in options.items() if value is not None}
    y = function(call.g, call.g.reshape(x, [-1]) if whole else x, **given)
    return call.g.reshape(y, shape_of(x)) if whole else y


@operation("Threshold")
def threshold(call: Call, x: Value) -> Value:
    beyond = call.g.Greater(x, call.g.like(option(call, "threshold"), x))
    return call.g.select(beyond, x, option(call, "default_value"))

"""Operations between layers, `keras.ops` of Keras 3: `x + y`, `ops.mean(x)`.

The rule of an operation is `operation_NAME`, NAME the class that Keras 3 has for it. Here are those that compute; those that move
numbers are in `movement`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, I32, FloatType, TensorType, Type, Value, element_type_of

from ..graph import Graph, shape_of
from ..layer import LAYERS, Call
from .activations import FUNCTIONS

__all__ = ["operation"]


def operation(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function as the rule of operations."""
    return LAYERS.layer(*(f"operation_{name}" for name in names), casts=False)


def option(call: Call, name: str, default: Any = None) -> Any:
    """What an operation was made with, or is called with."""
    found = call.arguments.get(name, call.config.get(name))
    return default if found is None else found


def to_value(g: Graph, x: Any, beside: Value | None = None) -> Value:
    return x if isinstance(x, Value) else g.like(x, beside) if beside is not None else g.constant(np.asarray(x))


def to_float(g: Graph, x: Value) -> Value:
    """Integers and truth values as 32-bit floats."""
    return x if isinstance(x.element, FloatType) else g.cast(x, F32)


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
    "Absolute": "Abs", "Abs": "Abs", "Fabs": "Abs", "Ceil": "Ceil", "Floor": "Floor", "Negative": "Neg", "Sign": "Sign",
    "Square": "Square", "Isfinite": "IsFinite", "Isinf": "IsInf", "Isnan": "IsNan", "LogicalNot": "LogicalNot",
    "Copy": "Identity", "StopGradient": "Identity"}
_ONE_FLOAT = {
    "Arccos": "Acos", "Arccosh": "Acosh", "Arcsin": "Asin", "Arcsinh": "Asinh", "Arctan": "Atan", "Arctanh": "Atanh",
    "Cos": "Cos", "Cosh": "Cosh", "Exp": "Exp", "Expm1": "Expm1", "Log": "Log", "Log1p": "Log1p", "Reciprocal": "Reciprocal",
    "Rsqrt": "Rsqrt", "Sin": "Sin", "Sinh": "Sinh", "Sqrt": "Sqrt", "Tan": "Tan", "Tanh": "Tanh", "Erf": "Erf",
    "Erfinv": "Erfinv"}
TWO = {
    "Add": "AddV2", "Subtract": "Sub", "Multiply": "Mul", "Maximum": "Maximum", "Minimum": "Minimum", "Power": "Pow",
    "FloorDivide": "FloorDiv", "Mod": "FloorMod", "Equal": "Equal", "NotEqual": "NotEqual", "Greater": "Greater",
    "GreaterEqual": "GreaterEqual", "Less": "Less", "LessEqual": "LessEqual", "BitwiseAnd": "BitwiseAnd",
    "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor"}


@operation(*_ONE, *_ONE_FLOAT)
def one(call: Call, x: Value) -> Value:
    name = call.layer.class_name.removeprefix("operation_")
    x = call.g.cast(x, BOOL) if name == "LogicalNot" else x
    made: Value = getattr(call.g, _ONE[name])(x) if name in _ONE else getattr(call.g, _ONE_FLOAT[name])(to_float(call.g, x))
    return made


@operation(*TWO)
def two(call: Call, x: Any, y: Any) -> Value:
    made: Value = getattr(call.g, TWO[call.layer.class_name.removeprefix("operation_")])(x, y)
    return made


@operation("LogicalAnd", "LogicalOr", "LogicalXor")
def logical(call: Call, x: Any, y: Any) -> Value:
    g, name = call.g, call.layer.class_name.removeprefix("operation_")
    x, y = (g.cast(to_value(g, each), BOOL) for each in (x, y))
    made: Value = g.NotEqual(x, y) if name == "LogicalXor" else getattr(g, name)(x, y)
    return made


@operation("Divide", "TrueDivide", "DivideNoNan")
def divide(call: Call, x: Any, y: Any) -> Value:
    g = call.g
    x, y = (to_float(g, each) if isinstance(each, Value) else each for each in (x, y))
    made: Value = (g.DivNoNan if call.layer.class_name.endswith("NoNan") else g.RealDiv)(x, y)
    return made


@operation("Log2", "Log10")
def logarithm(call: Call, x: Value) -> Value:
    return call.g.RealDiv(call.g.Log(to_float(call.g, x)), math.log(10 if call.layer.class_name.endswith("10") else 2))


@operation("Exp2")
def exp2(call: Call, x: Value) -> Value:
    return call.g.Exp(call.g.Mul(to_float(call.g, x), math.log(2)))


@operation("Round")
def rounded(call: Call, x: Value) -> Value:
    factor = 10.0 ** int(option(call, "decimals", 0))
    return call.g.Round(x) if factor == 1 else call.g.RealDiv(call.g.Round(call.g.Mul(x, factor)), factor)


@operation("Arctan2")
def arctan2(call: Call, y: Any, x: Any) -> Value:
    return call.g.Atan2(y, x)


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
    return call.g.select(call.g.cast(condition, BOOL), x, y)


@operation("Cast", "SaturateCast", "ConvertToTensor")
def cast(call: Call, x: Any, dtype: Any = None) -> Value:
    wanted = option(call, "dtype", dtype)
    x = to_value(call.g, x)
    return x if wanted is None else call.g.cast(x, element_of(wanted))


_ACTIVATIONS = {
    "Relu": "relu", "ReLU": "relu", "Relu6": "relu6", "Sigmoid": "sigmoid", "Softplus": "softplus", "Softsign": "softsign",
    "Silu": "silu", "LogSigmoid": "log_sigmoid", "LeakyRelu": "leaky_relu", "HardSigmoid": "hard_sigmoid",
    "HardSilu": "hard_silu", "Elu": "elu", "Selu": "selu", "Gelu": "gelu", "Celu": "celu", "Glu": "glu",
    "HardTanh": "hard_tanh", "HardShrink": "hard_shrink", "SoftShrink": "soft_shrink", "TanhShrink": "tanh_shrink",
    "LogSoftmax": "log_softmax", "Squareplus": "squareplus", "SparsePlus": "sparse_plus", "SparseSigmoid": "sparse_sigmoid",
    "Softmax": "softmax"}


@operation(*_ACTIVATIONS)
def activation(call: Call, x: Value, *_: Any) -> Value:
    given = {**call.config, **call.arguments}
    options = {key: value for key, value in given.items() if key not in ("name", "dtype", "trainable") and value is not None}
    if call.layer.class_name == "operation_Gelu":
        options.setdefault("approximate", True)
    return FUNCTIONS[_ACTIVATIONS[call.layer.class_name.removeprefix("operation_")]](call.g, x, **options)


# --- reductions

_REDUCTIONS = {"Sum": "Sum", "Max": "Max", "Min": "Min", "Amax": "Max", "Amin": "Min", "Prod": "Prod", "All": "All", "Any": "Any",
               "Mean": "Mean"}


@operation(*_REDUCTIONS)
def reduction(call: Call, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    g, name = call.g, _REDUCTIONS[call.layer.class_name.removeprefix("operation_")]
    if name in ("All", "Any"):
        x = g.cast(x, BOOL)
    elif name == "Mean":
        x = to_float(g, x)
    elif x.element == BOOL:
        x = g.cast(x, I32)
    return g.reduce(name, x, option(call, "axis", axis), bool(option(call, "keepdims", keepdims)))


@operation("Var", "Std")
def variance(call: Call, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    g, axes, keep = call.g, option(call, "axis", axis), bool(option(call, "keepdims", keepdims))
    x = to_float(g, x)
    y = g.reduce("Mean", g.SquaredDifference(x, g.reduce("Mean", x, axes, True)), axes, keep)
    return g.Sqrt(y) if call.layer.class_name.endswith("Std") else y


@operation("Logsumexp")
def logsumexp(call: Call, x: Value) -> Value:
    g, axes, keep = call.g, option(call, "axis"), bool(option(call, "keepdims", False))
    most = g.reduce("Max", x, axes, True)
    total = g.AddV2(g.Log(g.reduce("Sum", g.Exp(g.Sub(x, most)), axes, True)), most)
    return total if keep else g.reduce("Max", total, axes)


@operation("Norm")
def norm(call: Call, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    g, axes, keep = call.g, option(call, "axis", axis), bool(option(call, "keepdims", keepdims))
    order = option(call, "ord", "euclidean")
    if order in ("euclidean", 2, "fro"):
        return g.Sqrt(g.reduce("Sum", g.Square(x), axes, keep))
    if order == 1:
        return g.reduce("Sum", g.Abs(x), axes, keep)
    raise Unsupported(f"a norm of order {order!r} is not known here")


@operation("Normalize")
def normalize(call: Call, x: Value) -> Value:
    g = call.g
    if int(option(call, "order", 2)) != 2:
        raise Unsupported("it normalizes by another norm than the Euclidean")
    square = g.reduce("Sum", g.Square(x), g.axes(option(call, "axis", -1), x.rank), True)
    epsilon = float(option(call, "epsilon", 1e-12))
    return g.Mul(x, g.Rsqrt(g.Maximum(square, epsilon)))


@operation("Argmax", "Argmin")
def arg(call: Call, x: Value, axis: Any = None) -> Value:
    g, axis = call.g, option(call, "axis", axis)
    flat = g.reshape(x, [-1]) if axis is None else x
    y = g.arg("ArgMax" if call.layer.class_name.endswith("max") else "ArgMin", flat, 0 if axis is None else axis)
    return g.expand(y, axis) if option(call, "keepdims", False) and axis is not None else y


@operation("Cumsum", "Cumprod")
def cumulative(call: Call, x: Value, axis: Any = None) -> Value:
    g, axis = call.g, option(call, "axis", axis)
    if axis is None:
        x, axis = g.reshape(x, [-1]), 0
    return g.emit(call.layer.class_name.removeprefix("operation_"), (x, g.constant(g.axis(axis, x.rank))), shape_of(x))


@operation("TopK")
def top_k(call: Call, x: Value, k: Any = None) -> Any:
    shape = (*shape_of(x)[:-1], int(option(call, "k", k)))
    types = (TensorType(shape, x.element), TensorType(shape, I32))
    return list(call.g.emit_many("TopKV2", (x, call.g.constant(shape[-1])), types, sorted=bool(option(call, "sorted", True))))


# --- products


@operation("Matmul", "Dot")
def matmul(call: Call, x: Any, y: Any) -> Value:
    g = call.g
    x = to_value(g, x, y if isinstance(y, Value) else None)
    y = to_value(g, y, x)
    if x.rank == 1 or y.rank == 1:
        a, b = (g.expand(x, 0) if x.rank == 1 else x), (g.expand(y, -1) if y.rank == 1 else y)
        product = g.matmul(a, b)
        if y.rank == 1:
            product = g.squeeze(product, -1)
        return g.squeeze(product, -2 if y.rank > 1 else -1) if x.rank == 1 else product
    if call.layer.class_name.endswith("Dot") and y.rank > 2:
        raise Unsupported("a dot product of tensors of more than two dimensions is not known here")
    turned = [any(option(call, f"{how}_{side}", False) for how in ("transpose", "adjoint")) for side in "ab"]
    return g.matmul(x, y, *turned)


@operation("Einsum")
def einsum(call: Call, *values: Any) -> Value:
    equation, tensors = (values[0], values[1:]) if values and isinstance(values[0], str) else (option(call, "subscripts"), values)
    if not tensors:
        raise Unsupported("the file does not say of which tensors: Keras 2 does not write them")
    return call.g.einsum(str(equation), *tensors)


@operation("Tensordot")
def tensordot(call: Call, x: Value, y: Value, axes: Any = None) -> Value:
    axes = option(call, "axes", axes if axes is not None else 2)
    g = call.g
    first, second = (list(range(x.rank - axes, x.rank)), list(range(axes))) if isinstance(axes, int) else (
        [each] if isinstance(each, int) else list(each) for each in axes)
    first, second = ([g.axis(axis, value.rank) for axis in places] for places, value in ((first, x), (second, y)))
    letters = "abcdefghijklmnopqrstuvwxyz"
    left, right = list(letters[: x.rank]), list(letters[x.rank : x.rank + y.rank])
    for a, b in zip(first, second, strict=True):
        right[b] = left[a]
    made = [letter for place, letter in enumerate(left) if place not in first]
    made += [letter for place, letter in enumerate(right) if place not in second]
    return g.einsum(f"{''.join(left)},{''.join(right)}->{''.join(made)}", x, y)

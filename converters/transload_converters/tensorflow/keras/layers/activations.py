"""Activations: the functions that `activation=` names, and the layers that are nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from transload.errors import Unsupported
from transload.ir import BOOL, F16, I32, FloatType, Value
from transload_hub import tables

from ..graph import Graph, f32, shape_of
from ..layer import LAYERS, Call, element_named, foreign

__all__ = ["FUNCTIONS", "activate", "activated", "masked_softmax", "options_of", "softmax"]


def activate(g: Graph, named: Any, x: Value) -> Value:
    """The activation that a config names (nothing, a name, or a serialized function or layer) of a value."""
    options: Mapping[str, Any] = {}
    if isinstance(named, Mapping):
        config = named.get("config")
        if own := foreign(named):
            named = own
        elif isinstance(config, str):
            named = config
        else:
            named, options = named.get("class_name"), config if isinstance(config, Mapping) else {}
            if named in _OF_CLASS or named == "Activation":
                x = _as_given(g, x, options)
            if named == "Activation":
                return activate(g, options.get("activation"), x)
            if named == "PReLU":
                raise Unsupported("its activation is a PReLU layer, which has weights of its own",
                                  "make the PReLU a layer behind this one")
            named = _OF_CLASS.get(str(named), named)
    if named is None:
        return x
    function = FUNCTIONS.get(named) if isinstance(named, str) else None
    if function is None:
        raise Unsupported(f"its activation {str(named)[:80]!r} is none of Keras's own, and code is not run",
                          "export the model as a SavedModel or to ONNX, where the function is defined")
    known = options_of(function)
    for key, value in options.items():
        if key not in known and key not in _OF_LAYERS and value is not None and value is not False:
            raise Unsupported(f"the option {key[:40]}={str(value)[:40]} of its activation {named} is not known here")
    return function(g, x, **{key: value for key, value in options.items() if key in known and value is not None})


def _as_given(g: Graph, x: Value, config: Mapping[str, Any]) -> Value:
    """A value as a layer is given it: floats are cast to what it computes with."""
    element = element_named(config["dtype"]) if config.get("dtype") is not None else None
    return g.cast(x, element) if element is not None and isinstance(x.element, FloatType) else x


def options_of(function: Callable[..., Value]) -> list[str]:
    """What a function of `FUNCTIONS` can be told beside the value."""
    return [each.name for each in list(signature(function).parameters.values())[2:] if each.kind is each.POSITIONAL_OR_KEYWORD]


_OF_LAYERS = ("name", "trainable", "dtype", "batch_input_shape", "batch_shape")
"""What the config of a layer says that is no option of its function."""
_OF_CLASS = {"LeakyReLU": "leaky_relu", "ReLU": "relu", "ELU": "elu", "Softmax": "softmax", "ThresholdedReLU": "thresholded_relu"}


def activated(call: Call, x: Value, name: str = "activation") -> Value:
    """The activation that a layer's config names, of a value."""
    return activate(call.g, call.config.get(name), x)


def _simple(name: str) -> Callable[..., Value]:
    return lambda g, x, **_: getattr(g, name)(x)


def _of_floats(name: str) -> Callable[..., Value]:
    """Those that Keras knows of integers, too, which become floats."""
    return lambda g, x, **_: getattr(g, name)(g.to_float(x))


def relu(
    g: Graph, x: Value, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0, **_: Any,
) -> Value:
    """`x` beyond `threshold`, between 0 and `max_value`; below it, `negative_slope` of the distance to it is added.

    At the threshold itself `x` is not beyond it.
    """
    if negative_slope and max_value is None and not threshold:
        return leaky(g, x, negative_slope)
    if threshold:
        y = _beyond(g, x, threshold) if g.keras < 3 else g.select(g.Greater(x, g.like(threshold, x)), x, 0.0)
    else:
        y = g.Relu6(x) if max_value == 6 else g.Relu(x)
    if max_value is not None and (threshold or max_value != 6):
        y = g.Minimum(y, g.constant(max_value, x.element))
        y = g.Maximum(y, 0.0) if threshold < 0 or max_value < 0 else y  # above 0 it is that already
    if not negative_slope:
        return y
    below = g.Relu(g.Sub(threshold, x) if threshold else g.Neg(x))
    return g.Sub(y, g.Mul(below, negative_slope))


def _beyond(g: Graph, x: Value, least: float) -> Value:
    """`x` beyond a number, and elsewhere 0 times `x`: what is no number or has no end is no number then."""
    return g.Mul(x, g.cast(g.Greater(x, g.like(least, x)), x.element))


def leaky(g: Graph, x: Value, negative_slope: float = 0.2, alpha: float | None = None, **_: Any) -> Value:
    return g.unary("LeakyRelu", g.to_float(x), alpha=f32(negative_slope if alpha is None else alpha))


def elu(g: Graph, x: Value, alpha: float = 1.0, **_: Any) -> Value:
    y = g.Elu(x)
    return y if alpha == 1 else g.select(g.Greater(x, g.like(0, x)), x, g.Mul(y, float(alpha)))


def gelu(g: Graph, x: Value, approximate: bool = False, **_: Any) -> Value:
    if approximate:
        inner = g.Mul(g.AddV2(x, g.Mul(g.Mul(g.Mul(x, x), x), 0.044715)), math.sqrt(2 / math.pi))
        return g.Mul(g.Mul(x, 0.5), g.AddV2(g.Tanh(inner), 1.0))
    return g.Mul(g.Mul(x, 0.5), g.AddV2(g.Erf(g.Mul(x, math.sqrt(0.5))), 1.0))


def hard_sigmoid(g: Graph, x: Value, **_: Any) -> Value:
    """Of Keras 3, `relu6(x + 3) / 6`; before it was `0.2 x + 0.5` between 0 and 1."""
    if g.keras < 3:
        return g.Minimum(g.Maximum(g.AddV2(g.Mul(x, 0.2), 0.5), 0.0), 1.0)
    return g.RealDiv(g.Relu6(g.AddV2(x, 3.0)), 6.0)


def softmax(g: Graph, x: Value, axis: Any = -1, **_: Any) -> Value:
    """Over one dimension, or several together."""
    rank = x.rank
    axes = g.axes(axis, rank) if isinstance(axis, list | tuple) else [g.axis(axis, rank)]
    if axes == [rank - 1]:
        return g.Softmax(x)
    order = [place for place in range(rank) if place not in axes] + axes
    turned = g.transpose(x, order)
    if len(axes) == 1:
        y = g.Softmax(turned)
    else:
        shape = shape_of(turned)
        y = g.reshape(g.Softmax(g.reshape(turned, [*shape[: rank - len(axes)], math.prod(shape[rank - len(axes) :])])), shape)
    return g.transpose(y, [order.index(place) for place in range(rank)])


def log_softmax(g: Graph, x: Value, axis: int = -1, **_: Any) -> Value:
    rank = x.rank
    if g.axis(axis, rank) == rank - 1:
        return g.LogSoftmax(x)
    order = [place for place in range(rank) if place != axis % rank] + [axis % rank]
    return g.transpose(g.LogSoftmax(g.transpose(x, order)), [order.index(place) for place in range(rank)])


def clip(g: Graph, x: Value, least: float, most: float) -> Value:
    return g.Minimum(g.Maximum(x, least), most)


def glu(g: Graph, x: Value, axis: int = -1, **_: Any) -> Value:
    first, second = g.split(x, 2, axis)
    return g.Mul(first, g.Sigmoid(second))


def celu(g: Graph, x: Value, alpha: float = 1.0, **_: Any) -> Value:
    return g.AddV2(g.Maximum(x, 0.0), g.Mul(g.Expm1(g.RealDiv(g.Minimum(x, 0.0), alpha)), alpha))


def hard_shrink(g: Graph, x: Value, threshold: float = 0.5, **_: Any) -> Value:
    return g.select(g.Greater(g.Abs(x), g.like(threshold, x)), x, 0.0)


def soft_shrink(g: Graph, x: Value, threshold: float = 0.5, **_: Any) -> Value:
    """Less by `threshold` beyond it, to both sides, and 0 elsewhere: of NaN, too."""
    below = g.select(g.Less(x, g.like(-threshold, x)), g.AddV2(x, threshold), 0.0)
    return g.select(g.Greater(x, g.like(threshold, x)), g.Sub(x, threshold), below)


def thresholded_relu(g: Graph, x: Value, theta: float = 1.0, **_: Any) -> Value:
    return _beyond(g, x, theta)


def squareplus(g: Graph, x: Value, b: float = 4.0, **_: Any) -> Value:
    return g.Mul(g.AddV2(x, g.Sqrt(g.AddV2(g.Square(x), float(b)))), 0.5)


def sparse_plus(g: Graph, x: Value, **_: Any) -> Value:
    """0 up to -1, a parabola between, `x` from 1 on."""
    curve = g.Mul(g.Square(g.AddV2(clip(g, x, -1.0, 1.0), 1.0)), 0.25)
    return g.AddV2(curve, g.Relu(g.Sub(x, 1.0)))


def sparsemax(g: Graph, x: Value, axis: int = -1, **_: Any) -> Value:
    """What stands above a threshold of its row, less the threshold.

    Keras has it of the sums of the first number, the first two, and so on to `k`, where https://arxiv.org/abs/1602.02068 has the
    sum of the `k` alone: rows need not sum to 1.
    """
    last, rank = g.axis(axis, x.rank), x.rank
    order = [*(place for place in range(rank) if place != last), last]
    y = g.transpose(x, order)
    size = shape_of(y)[-1]
    sorted_ = g.emit_many("TopKV2", (y, g.constant(size)), (y.tensor_type, y.tensor_type.with_element(I32)), sorted=True)[0]
    sums = g.emit("Cumsum", (sorted_, g.constant(rank - 1)), shape_of(y))
    counts = g.constant(tables.arange(1, size + 1), x.element)
    above = g.Greater(sorted_, g.RealDiv(g.Sub(sums, 1.0), counts))
    total = g.reduce("Sum", g.select(above, sums, 0.0), -1, True)
    least = g.RealDiv(g.Sub(total, 1.0), g.reduce("Sum", g.cast(above, x.element), -1, True))
    return g.transpose(g.Maximum(g.Sub(y, least), 0.0), [order.index(place) for place in range(rank)])


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "linear": lambda g, x, **_: x,
    "relu": relu,
    "relu6": _simple("Relu6"),
    "leaky_relu": leaky,
    "elu": elu,
    "selu": _simple("Selu"),
    "celu": celu,
    "glu": glu,
    "gelu": gelu,
    "sigmoid": _simple("Sigmoid"),
    "hard_sigmoid": hard_sigmoid,
    "hard_silu": lambda g, x, **_: g.Mul(x, hard_sigmoid(g, x)),
    "hard_swish": lambda g, x, **_: g.Mul(x, hard_sigmoid(g, x)),
    "silu": lambda g, x, **_: g.Mul(x, g.Sigmoid(x)),
    "swish": lambda g, x, **_: g.Mul(x, g.Sigmoid(x)),
    "tanh": _of_floats("Tanh"),
    "hard_tanh": lambda g, x, **_: clip(g, x, -1.0, 1.0),
    "tanh_shrink": lambda g, x, **_: g.Sub(x, g.Tanh(x)),
    "softplus": _simple("Softplus"),
    "softsign": _simple("Softsign"),
    "exponential": _of_floats("Exp"),
    "mish": lambda g, x, **_: g.Mul(x, g.Tanh(g.Softplus(x))),
    "softmax": softmax,
    "log_softmax": log_softmax,
    "log_sigmoid": lambda g, x, **_: g.Neg(g.Softplus(g.Neg(x))),
    "hard_shrink": hard_shrink,
    "soft_shrink": soft_shrink,
    "thresholded_relu": thresholded_relu,
    "squareplus": squareplus,
    "sparsemax": sparsemax,
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": lambda g, x, **_: clip(g, g.Mul(g.AddV2(x, 1.0), 0.5), 0.0, 1.0),
}
"""By their names in `keras.activations`."""


@LAYERS.layer("Activation", passes_mask=True)
def activation_layer(call: Call, x: Value) -> Value:
    return activated(call, x)


@LAYERS.layer("ReLU", passes_mask=True)
def relu_layer(call: Call, x: Value) -> Value:
    return relu(call.g, x, call.option("negative_slope", 0.0), call.option("max_value"), call.option("threshold", 0.0))


@LAYERS.layer("LeakyReLU", passes_mask=True)
def leaky_relu_layer(call: Call, x: Value) -> Value:
    return leaky(call.g, x, call.option("negative_slope", call.option("alpha", 0.3)))


@LAYERS.layer("ELU", passes_mask=True)
def elu_layer(call: Call, x: Value) -> Value:
    return elu(call.g, x, call.option("alpha", 1.0))


@LAYERS.layer("ThresholdedReLU", passes_mask=True)
def thresholded_relu_layer(call: Call, x: Value) -> Value:
    return thresholded_relu(call.g, x, call.option("theta", 1.0))


@LAYERS.layer("PReLU", variables=("alpha",), passes_mask=True)
def prelu_layer(call: Call, x: Value) -> Value:
    """A slope for each element below 0, or for those of `shared_axes` together."""
    g, shape = call.g, list(shape_of(x)[1:])
    for axis in call.option("shared_axes", ()):
        shape[axis - 1] = 1
    alpha = call.weight("alpha", tuple(shape))
    return g.AddV2(g.Relu(x), g.Mul(alpha, g.Minimum(x, 0.0)))


def masked_softmax(g: Graph, x: Value, mask: Value | None, axis: Any = -1, zeros: bool = True) -> Value:
    """What a mask leaves out counts nothing, and is 0; without `zeros` all are equal where it leaves nothing."""
    if mask is None:
        return softmax(g, x, axis)
    mask = g.cast(mask, BOOL) if mask.element != BOOL else mask
    low = -3e4 if x.element == F16 else -1e9
    y = softmax(g, g.select(mask, x, low), axis)
    return g.select(mask, y, 0.0) if zeros else y


@LAYERS.layer("Softmax", passes_mask=True)
def softmax_layer(call: Call, x: Value, mask: Value | None = None) -> Value:
    """Where there is a mask, given or that of `x`, what it leaves out counts nothing."""
    return masked_softmax(call.g, x, mask if mask is not None else call.mask(x), call.option("axis", -1), zeros=call.g.keras >= 3)

"""Convolutions: plain, depthwise, separable, transposed, in one, two and three dimensions.

TensorFlow's ops have two or three: those of one dimension become of two, whose first is of size 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from transload.errors import Unsupported
from transload.ir import Value

from ..graph import Graph, conv_size, shape_of
from ..layer import LAYERS, Call
from .activations import activated

__all__ = ["convolve"]


class _Window:
    """The sizes that a convolution is of, from its config; of one dimension they are made two."""

    def __init__(self, call: Call, x: Value) -> None:
        self.rank = int(re.search(r"([123])D", call.layer.class_name)[1])  # type: ignore[index]
        if x.rank != self.rank + 2:
            raise Unsupported(
                f"it is called with a tensor of shape {list(shape_of(x))}, where {self.rank + 2} dimensions are needed")
        self.kernel = call.numbers("kernel_size", self.rank)
        self.strides = call.numbers("strides", self.rank)
        self.dilations = call.numbers("dilation_rate", self.rank)
        if min((*self.kernel, *self.strides, *self.dilations)) < 1:
            raise Unsupported("a size of its window is not positive")
        self.padding = str(call.option("padding", "valid")).upper()
        self.first = call.channels_first
        shape = shape_of(x)
        self.channels = shape[1] if self.first else shape[-1]


def _wide(values: Sequence[int]) -> tuple[int, ...]:
    return (1, *values) if len(values) == 1 else tuple(values)


def convolve(
    g: Graph, op: str, x: Value, kernel: Value, strides: Sequence[int], padding: str, dilations: Sequence[int], first: bool,
    channels: int,
) -> Value:
    """A convolution by `op` (`Conv` or `DepthwiseConv`) of one, two or three dimensions; `channels` of the result."""
    rank = len(strides)
    spatial = slice(2, None) if first else slice(1, -1)
    if padding == "CAUSAL":
        before = (shape_of(kernel)[0] - 1) * dilations[0]
        pads = [[0, 0]] * (rank + 2)
        pads[2 if first else 1] = [before, 0]
        x, padding = g.pad(x, pads), "VALID"
    if padding not in ("SAME", "VALID"):
        raise Unsupported(f"its padding {padding.lower()!r} is none that Keras has")
    if rank == 1:
        x, kernel = g.expand(x, 2 if first else 1), g.expand(kernel, 0)
    strides, dilations = _wide(strides), _wide(dilations)
    shape = shape_of(x)
    sizes = [conv_size(*each, padding) for each in zip(shape[spatial], shape_of(kernel), strides, dilations, strict=False)]
    made = (shape[0], channels, *sizes) if first else (shape[0], *sizes, channels)
    around = (lambda values: [1, 1, *values]) if first else (lambda values: [1, *values, 1])
    three = rank == 3
    name = {"Conv": "Conv3D" if three else "Conv2D", "DepthwiseConv": "DepthwiseConv2dNative"}[op]
    y = g.emit(name, (x, kernel), made, strides=around(strides), padding=padding, dilations=around(dilations),
               data_format=("NCDHW" if first else "NDHWC") if three else "NCHW" if first else "NHWC")
    return g.squeeze(y, 2 if first else 1) if rank == 1 else y


def _finish(call: Call, y: Value, first: bool, name: str = "bias") -> Value:
    """A bias for each channel, and the activation."""
    if call.has(name):
        channels = shape_of(y)[1 if first else -1]
        bias = call.weight(name, (channels,))
        if first:
            y = call.g.AddV2(y, call.g.reshape(bias, [channels, *[1] * (y.rank - 2)]))
        else:
            y = call.g.emit("BiasAdd", (y, bias), shape_of(y), data_format="NHWC")
    return activated(call, y)


@LAYERS.layer("Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D",
              variables=("kernel", "bias:use_bias"))
def conv(call: Call, x: Value) -> Value:
    """A kernel for each group of channels, where there are several."""
    w, filters = _Window(call, x), int(call.config["filters"])
    groups = int(call.option("groups", 1))
    if groups < 1 or w.channels % groups or filters % groups:
        raise Unsupported(f"{w.channels} channels and {filters} filters do not fall into {groups} groups")
    kernel = call.weight("kernel", (*w.kernel, w.channels // groups, filters))
    parts = [(x, kernel)]
    if groups > 1 and w.rank == 3:  # TensorFlow's op of three dimensions knows no groups
        axis = 1 if w.first else -1
        parts = list(zip(call.g.split(x, groups, axis), call.g.split(kernel, groups, -1), strict=True))
    made = [convolve(call.g, "Conv", part, each, w.strides, w.padding, w.dilations, w.first, filters // len(parts))
            for part, each in parts]
    return _finish(call, call.g.concat(made, 1 if w.first else -1), w.first)


@LAYERS.layer("DepthwiseConv1D", "DepthwiseConv2D", variables=("kernel", "bias:use_bias"))
def depthwise(call: Call, x: Value) -> Value:
    """Kernels for each channel."""
    w = _Window(call, x)
    return _finish(call, _depthwise(call, x, w, "kernel"), w.first)


def _depthwise(call: Call, x: Value, w: _Window, name: str) -> Value:
    each = int(call.option("depth_multiplier", 1))
    kernel = call.weight(name, (*w.kernel, w.channels, each))
    return convolve(call.g, "DepthwiseConv", x, kernel, w.strides, w.padding, w.dilations, w.first, w.channels * each)


@LAYERS.layer("SeparableConv1D", "SeparableConv2D", "SeparableConvolution1D", "SeparableConvolution2D",
              variables=("depthwise_kernel", "pointwise_kernel", "bias:use_bias"))
def separable(call: Call, x: Value) -> Value:
    """Kernels for each channel, and a product over the channels."""
    w, filters = _Window(call, x), int(call.config["filters"])
    if w.padding == "CAUSAL":
        pads = [[0, 0]] * x.rank
        pads[2 if w.first else 1] = [(w.kernel[0] - 1) * w.dilations[0], 0]
        x, w.padding = call.g.pad(x, pads), "VALID"
    y = _depthwise(call, x, w, "depthwise_kernel")
    ones = (1,) * w.rank
    pointwise = call.weight("pointwise_kernel", (*ones, shape_of(y)[1 if w.first else -1], filters))
    return _finish(call, convolve(call.g, "Conv", y, pointwise, ones, "VALID", ones, w.first, filters), w.first)


def _transposed_size(size: int, window: int, stride: int, dilation: int, padding: str, more: Any) -> int:
    """The size that a transposed convolution gives: Keras's `output_padding` is what is added at the end."""
    window = (window - 1) * dilation + 1
    if padding == "VALID":
        return (size - 1) * stride + window + (max(window, stride) - window if more is None else int(more))
    return size * stride if more is None else (size - 1) * stride + window % 2 + int(more)


@LAYERS.layer("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "Deconvolution2D", "Deconvolution3D",
              variables=("kernel", "bias:use_bias"))
def transposed(call: Call, x: Value) -> Value:
    """The gradient of a convolution to what it is given, which is what TensorFlow has an op for."""
    g, w, filters = call.g, _Window(call, x), int(call.config["filters"])
    kernel = call.weight("kernel", (*w.kernel, filters, w.channels))
    given = call.config.get("output_padding")
    more = [None] * w.rank if given is None else list(call.numbers("output_padding", w.rank))
    if w.padding not in ("SAME", "VALID"):
        raise Unsupported(f"its padding {w.padding.lower()!r} is none that Keras has")
    shape = shape_of(x)
    spatial = shape[2:] if w.first else shape[1:-1]
    sizes = [_transposed_size(size, window, stride, dilation, w.padding, extra) for size, window, stride, dilation, extra in
             zip(spatial, w.kernel, w.strides, w.dilations, more, strict=True)]
    if min(sizes) < 1:
        raise Unsupported("what it gives has no size")
    strides, dilations, sizes = _wide(w.strides), _wide(w.dilations), list(_wide(sizes))
    if w.rank == 1:
        x, kernel = g.expand(x, 2 if w.first else 1), g.expand(kernel, 0)
    made = [shape[0], filters, *sizes] if w.first else [shape[0], *sizes, filters]
    around = (lambda values: [1, 1, *values]) if w.first else (lambda values: [1, *values, 1])
    three = w.rank == 3
    y = g.emit("Conv3DBackpropInputV2" if three else "Conv2DBackpropInput", (g.constant(made), kernel, x), made, x.element,
               strides=around(strides), padding=w.padding, dilations=around(dilations),
               data_format=("NCDHW" if w.first else "NDHWC") if three else "NCHW" if w.first else "NHWC")
    if w.rank == 1:
        y = g.squeeze(y, 2 if w.first else 1)
    return _finish(call, y, w.first)

"""Convolutions bit by bit as LiteRT's reference kernels, for every combination of types that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(1)


def q(scale: Any, zero_point: int = 0, axis: int | None = None) -> tuple[Any, ...]:
    scales = [scale] if isinstance(scale, float) else list(scale)
    return (scales, [zero_point] * len(scales)) + (() if axis is None else (axis,))


TYPES = {
    "int8": ("int8", "int8", "int32", q(0.05, 3), 0, q(0.09, -4)),
    "int8 one scale": ("int8", "int8", "int32", q(0.05, 3), None, q(0.09, -4)),
    "int8 int4 weights": ("int8", "int4", "int32", q(0.05, 3), 0, q(0.02, -4)),
    "uint8": ("uint8", "uint8", "int32", q(0.05, 100), None, q(0.09, 120)),
    "int16": ("int16", "int8", "int64", q(0.0005), 0, q(0.0009)),
    "int16 32-bit sums": ("int16", "int8", "int32", q(0.0005), 0, q(0.0009)),
    "float": ("float32", "float32", "float32", None, None, None),
}


def weights_of(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    if kind == "float32":
        return RNG.normal(size=shape).astype(np.float32)
    low, high = {"int4": (-7, 7), "uint8": (0, 255)}.get(kind, (-127, 127))
    return RNG.integers(low, high, shape, endpoint=True).astype("uint8" if kind == "uint8" else "int8")


Shape = tuple[int, ...]


def case(types: str, x: Shape, w: Shape, channels_axis: int, made: Shape) -> tuple[list, list, dict[str, Any]]:
    """Inputs and outputs of a convolution, and what its options must say of the types."""
    dtype, weight_dtype, bias_dtype, x_type, per_channel, out_type = TYPES[types]
    channels = w[channels_axis]
    if x_type is None:
        w_type = bias_type = None
        bias = RNG.normal(size=channels).astype(np.float32)
    else:
        zero = 130 if weight_dtype == "uint8" else 0
        scales = np.linspace(0.002, 0.008, channels).tolist() if per_channel is not None else [0.005]
        w_type = q(scales, zero, channels_axis if per_channel is not None else None)
        bias_type = q([x_type[0][0] * s for s in scales], 0, 0 if per_channel is not None else None)
        bias = RNG.integers(-3000, 3000, channels).astype(bias_dtype)
    weights = weights_of(weight_dtype, w)
    inputs = [(x, dtype, x_type), (w, weight_dtype, w_type, weights), ((channels,), bias_dtype, bias_type, bias)]
    more = {"quantized_bias_type": "INT32"} if dtype == "int16" and bias_dtype == "int32" else {}
    return inputs, [(made, dtype, out_type)], more


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(
    ("x", "w", "stride", "dilation", "padding", "activation"), [
        ((1, 15, 17, 9), (16, 3, 3, 9), (2, 2), (1, 1), "SAME", "RELU6"),
        ((2, 15, 18, 8), (8, 3, 2, 8), (2, 3), (1, 1), "VALID", "NONE"),
        ((1, 12, 11, 5), (6, 3, 3, 5), (1, 1), (2, 3), "SAME", "RELU"),
        ((1, 9, 10, 12), (8, 1, 1, 12), (1, 1), (1, 1), "VALID", "NONE"),
        ((1, 9, 10, 12), (8, 3, 3, 3), (1, 2), (1, 1), "SAME", "NONE"),  # four groups
    ])
def test_convolution(
    judge: Callable, types: str, x: Any, w: Any, stride: Any, dilation: Any, padding: str, activation: str,
) -> None:
    if types == "uint8" and w[-1] != x[-1]:
        pytest.skip("LiteRT has no grouped convolution of uint8")
    made = output_sizes(x, w[1:3], stride, dilation, padding)
    inputs, outputs, more = case(types, x, w, 0, (x[0], *made, w[0]))
    options = {"stride_h": stride[0], "stride_w": stride[1], "dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1],
               "padding": padding, "fused_activation_function": activation, **more}
    judge("CONV_2D", inputs, outputs, options, version=5)


def output_sizes(x: Any, kernel: Any, stride: Any, dilation: Any, padding: str) -> list[int]:
    if padding == "SAME":
        return [-(-size // step) for size, step in zip(x[1:3], stride, strict=True)]
    return [(size - (k - 1) * d - 1) // step + 1 for size, k, d, step in zip(x[1:3], kernel, dilation, stride, strict=True)]


@pytest.mark.parametrize("types", [t for t in TYPES if t != "int16 32-bit sums"])
@pytest.mark.parametrize(("multiplier", "stride", "dilation"), [(1, (1, 1), (2, 2)), (2, (2, 2), (1, 1))])
def test_depthwise(judge: Callable, types: str, multiplier: int, stride: Any, dilation: Any) -> None:
    x, w = (1, 15, 17, 8), (1, 3, 3, 8 * multiplier)
    made = output_sizes(x, w[1:3], stride, dilation, "SAME")
    inputs, outputs, _ = case(types, x, w, 3, (1, *made, w[3]))
    options = {"stride_h": stride[0], "stride_w": stride[1], "dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1],
               "depth_multiplier": multiplier, "padding": "SAME", "fused_activation_function": "RELU6"}
    judge("DEPTHWISE_CONV_2D", inputs, outputs, options, version=6)


@pytest.mark.parametrize("types", [t for t in TYPES if t not in ("int8 int4 weights", "int16 32-bit sums")])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(3, 2, "SAME"), (4, 2, "VALID"), (2, 3, "SAME"), (5, 1, "VALID")])
def test_transposed(judge: Callable, types: str, kernel: int, stride: int, padding: str) -> None:
    x, w = (1, 7, 9, 5), (6, kernel, kernel, 5)
    made = [n * stride if padding == "SAME" else n * stride + max(kernel - stride, 0) for n in x[1:3]]
    (value, weights, bias), outputs, _ = case(types, x, w, 0, (1, *made, 6))
    shape = ((4,), "int32", None, np.array([1, *made, 6], np.int32))
    options = {"stride_h": stride, "stride_w": stride, "padding": padding}
    judge("TRANSPOSE_CONV", [shape, weights, value, bias], outputs, options, version=4)


def f(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("x", "w", "attributes"), [
    ((2, 20, 6), (8, 3, 6), {"strides": (2,), "pads": (1, 1)}),
    ((2, 20, 6), (9, 3, 2), {"group": 3, "pads": (1, 0), "dilations": (2,)}),
    ((2, 20, 6), (12, 3, 1), {"group": 6}),
    ((1, 7, 8, 9, 4), (5, 3, 2, 3, 4), {"strides": (2, 1, 3), "pads": (1, 0, 1, 1, 1, 0), "dilations": (1, 2, 1)}),
    ((1, 5, 6, 7, 4), (6, 3, 2, 3, 2), {"group": 2}),
    ((1, 10, 11, 3), (4, 3, 3, 3), {"strides": (4, 3)}),
    ((1, 10, 11, 3), (4, 3, 3, 3), {"strides": (2, 2), "pads": (-1, 0, -2, 1)}),
])
def test_geometry(lowered: Callable, x: Any, w: Any, attributes: dict[str, Any]) -> None:
    weights, bias = f(*w), f(w[0])
    lowered(lambda rw, value: rw.emit(
        "top.Conv", value, rw.constant(weights), rw.constant(bias), kernel_shape=w[1:-1], layout="NHWC", **attributes), f(*x))


@pytest.mark.parametrize(("x", "w", "attributes"), [
    ((2, 9, 6), (5, 4, 6), {"strides": (2,), "pads": (1, 1)}),
    ((1, 9, 8, 6), (5, 2, 2, 6), {"strides": (3, 2), "pads": (3, 2, 1, 3)}),  # padding of the kernel's size and more
    ((1, 9, 8, 6), (5, 3, 3, 6), {"strides": (3, 2), "pads": (1, 0, 1, 1), "output_padding": (2, 1)}),
    ((1, 9, 8, 6), (5, 3, 3, 6), {"strides": (2, 2), "dilations": (2, 3)}),
    ((1, 9, 8, 6), (5, 3, 3, 6), {"strides": (2, 2), "group": 2}),
    ((1, 9, 8, 6), (2, 4, 4, 6), {"strides": (2, 2), "pads": (1, 1, 1, 1), "group": 6}),  # depthwise
    ((1, 4, 5, 6, 3), (5, 3, 2, 3, 3), {"strides": (2, 1, 3), "dilations": (1, 2, 1), "output_padding": (1, 0, 2)}),
    ((1, 4, 5, 6, 4), (5, 3, 2, 3, 4), {"strides": (2, 1, 3), "group": 2}),
])
def test_transposed_geometry(lowered: Callable, x: Any, w: Any, attributes: dict[str, Any]) -> None:
    weights, bias = f(*w), f(w[0] * attributes.get("group", 1))
    lowered(lambda rw, value: rw.emit(
        "top.Deconv", value, rw.constant(weights), rw.constant(bias), kernel_shape=w[1:-1], layout="NHWC", **attributes), f(*x))


def test_quantized_depthwise_transposed(lowered: Callable) -> None:
    """Through a convolution of the input with zero points between its elements; within a step of real arithmetic."""
    from transload.ir import F32, I8, I32, QuantType, TensorType

    kind = QuantType(I8, F32, (0.05,), (7,))
    scales = tuple(np.linspace(0.002, 0.004, 2).tolist())
    weights = RNG.integers(-127, 127, (2, 4, 4, 6)).astype(np.int8)
    bias = RNG.integers(-300, 300, 12).astype(np.int32)
    x = RNG.integers(-128, 127, (1, 5, 6, 6)).astype(np.int8)
    bias_kind = QuantType(I32, F32, tuple(0.05 * s for s in scales * 6), (0,), 0)
    lowered(
        lambda rw, value: rw.emit(
            "top.Deconv", value, rw.constant(weights, QuantType(I8, F32, scales, (0,), 0)), rw.constant(bias, bias_kind),
            kernel_shape=(4, 4), strides=(2, 2), pads=(1, 1, 1, 1), group=6, layout="NHWC",
            element=QuantType(I8, F32, (0.1,), (-3,))),
        x, types=[TensorType(x.shape, kind)], steps=1)


def test_weights_only_quantized(lowered: Callable) -> None:
    from transload.ir import F32, I8, QuantType

    weights = RNG.integers(-127, 127, (4, 3, 3, 5)).astype(np.int8)
    element = QuantType(I8, F32, (0.01, 0.02, 0.03, 0.04), (0,), 0)
    lowered(lambda rw, value: rw.emit(
        "top.Conv", value, rw.emit("top.Cast", rw.constant(weights, element), element=F32), kernel_shape=(3, 3),
        layout="NHWC"), f(1, 6, 7, 5))

"""Hybrid operators: float activations with quantized weights ("dynamic range" quantization).

LiteRT does not multiply the activations by the real weights. It quantizes them when it runs, a batch element (or a
row) at a time with a scale from their own range, multiplies integers, and scales the sums back. The result
differs from float arithmetic by up to a percent, so the hub repeats what LiteRT does. The integers are held in
floats: sums of products of 8-bit integers are exact there up to 2^24, and any target with float arithmetic can
run them.

Source: `tensorflow/lite/kernels/conv.cc`, `depthwise_conv.cc`, `transpose_conv.cc`, `fully_connected.cc`,
`batch_matmul.cc` (the functions EvalHybrid and EvalHybridPerChannel), `internal/reference/portable_tensor_utils.cc`
(SymmetricQuantizeFloats and AsymmetricQuantizeFloats).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.ir import F32, I32, Op, QuantType, Value
from transload.rewrite import Rewriter

from .common import activate, scalar

__all__ = ["hybrid_conv", "hybrid_deconv", "hybrid_matmul", "hybrid_product", "weight_integers"]

_LEAST_RANGE = 1e-30
"""Stands for a range of 0, where all integers are 0 whatever the scale."""


def hybrid_conv(
    op: Op, rw: Rewriter, value: Value, weights: Value, bias: Value | None, geometry: dict[str, Any],
) -> Value:
    """A convolution; each image of the batch has a scale of its own.

    Where the weights have several scales (and always where it is depthwise), LiteRT quantizes the image
    asymmetrically, else symmetrically.
    """
    depthwise = op.name == "tfl.depthwise_conv_2d"
    per_channel = len(set(weights.element.scales)) > 1  # type: ignore[attr-defined]
    integers, scale = _quantize(rw, value, tuple(range(1, value.rank)), per_channel or depthwise)
    sums = rw.emit("top.Conv", integers, weight_integers(rw, weights), **geometry)
    if per_channel and not depthwise:
        # The one kernel that multiplies by one scale after the other, which rounds differently.
        return _finish(op, rw, rw.emit("top.Mul", rw.emit("top.Mul", sums, _scales(rw, weights)), scale), bias)
    return _finish(op, rw, _rescale(rw, sums, scale, weights), bias)


def hybrid_deconv(
    op: Op, rw: Rewriter, value: Value, weights: Value, bias: Value | None, geometry: dict[str, Any],
) -> Value:
    """A transposed convolution; each image of the batch is quantized asymmetrically, with a scale of its own."""
    integers, scale = _quantize(rw, value, tuple(range(1, value.rank)), asymmetric=True)
    sums = rw.emit("top.Deconv", integers, weight_integers(rw, weights), **geometry)
    return _finish(op, rw, _rescale(rw, sums, scale, weights), bias)


def hybrid_matmul(
    op: Op, rw: Rewriter, value: Value, weights: Value, bias: Value | None, right_transpose: bool = True,
) -> Value:
    """A matrix product with bias and activation; each row of the left operand has a scale of its own."""
    product = hybrid_product(op, rw, value, weights, right_transpose)
    return _finish(op, rw, product, bias)


def hybrid_product(op: Op, rw: Rewriter, value: Value, weights: Value, right_transpose: bool = True) -> Value:
    """The matrix product alone."""
    asymmetric = bool(op.attribute("asymmetric_quantize_inputs", False))
    integers, scale = _quantize(rw, value, (value.rank - 1,), asymmetric)
    sums = rw.emit("top.MatMul", integers, weight_integers(rw, weights), right_transpose=right_transpose)
    return _rescale(rw, sums, scale, weights)


def weight_integers(rw: Rewriter, weights: Value) -> Value:
    """The stored integers of weights, less their zero points, as floats."""
    array = rw.need_constant(weights, "the weights of a hybrid operator")
    element: QuantType = weights.element  # type: ignore[assignment]
    integers = array.astype(np.float32)
    if any(element.zero_points):
        shape = [1] * array.ndim
        if element.axis is not None:
            shape[element.axis] = -1
        integers -= np.asarray(element.zero_points, np.float32).reshape(shape)
    return rw.constant(integers)


def _scales(rw: Rewriter, weights: Value) -> Value:
    """The scales of the weights: a scalar, or one an output channel."""
    scales = np.asarray(weights.element.scales, np.float32)  # type: ignore[attr-defined]
    return rw.constant(scales if scales.size > 1 else scales.reshape(()))


def _rescale(rw: Rewriter, sums: Value, scale: Value, weights: Value) -> Value:
    """Real numbers: sums of products times both scales."""
    return rw.emit("top.Mul", sums, rw.emit("top.Mul", _scales(rw, weights), scale))


def _finish(op: Op, rw: Rewriter, product: Value, bias: Value | None) -> Value:
    """The bias and the fused activation."""
    if bias is not None:
        product = rw.emit("top.Add", product, bias)
    return activate(rw, op, product, op.attribute("fused_activation_function", "NONE"))


def _quantize(rw: Rewriter, value: Value, axes: tuple[int, ...], asymmetric: bool) -> tuple[Value, Value]:
    """The integers less their zero point, as floats, and the scale; both found over `axes`, which stay with size 1."""
    return _quantize_asymmetric(rw, value, axes) if asymmetric else _quantize_symmetric(rw, value, axes)


def _quantize_symmetric(rw: Rewriter, value: Value, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """To -127 .. 127: `round(x * 127 / max|x|)`."""
    greatest = rw.emit("top.Reduce", rw.emit("top.Abs", value), axes=axes, mode="ReduceMax")
    greatest = rw.emit("top.Max", greatest, scalar(rw, _LEAST_RANGE))
    steps = scalar(rw, 127.0)
    integers = _round(rw, rw.emit("top.Mul", value, rw.emit("top.Div", steps, greatest)))
    return integers, rw.emit("top.Div", greatest, steps)


def _quantize_asymmetric(rw: Rewriter, value: Value, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """To -128 .. 127, 0 being one of the steps: `round(x / scale + zero_point) - zero_point`."""
    zero = scalar(rw, 0.0)
    least = rw.emit("top.Min", rw.emit("top.Reduce", value, axes=axes, mode="ReduceMin"), zero)
    greatest = rw.emit("top.Max", rw.emit("top.Reduce", value, axes=axes, mode="ReduceMax"), zero)
    width = rw.emit("top.Max", rw.emit("top.Sub", greatest, least), scalar(rw, _LEAST_RANGE))
    scale = rw.emit("top.Div", width, scalar(rw, 255.0))
    inverse = rw.emit("top.Div", scalar(rw, 1.0), scale)
    zero_point = _round(rw, rw.emit("top.Sub", scalar(rw, -128.0), rw.emit("top.Div", least, scale)))
    stored = _round(rw, rw.emit("top.Add", rw.emit("top.Mul", value, inverse), zero_point))
    clamped = rw.emit("top.Clip", stored, min=-128.0, max=127.0)
    return rw.emit("top.Sub", clamped, zero_point), scale


def _round(rw: Rewriter, value: Value) -> Value:
    """The nearest integers, halves away from zero, as floats."""
    integers = rw.emit("top.Cast", value, element=I32, round_mode="HalfAwayFromZero")
    return rw.emit("top.Cast", integers, element=F32)

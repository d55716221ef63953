"""Hybrid operators: float activations with quantized weights ("dynamic range" quantization).

LiteRT does not multiply the activations by the real weights. It quantizes them when it runs, a batch element (or a
row) at a time with a scale from their own range, multiplies integers, and scales the sums back. The result
differs from float arithmetic by up to a percent, so the hub repeats what LiteRT does. The integers are held in
floats: sums of products of 8-bit integers are exact there up to 2^24, and any target with float arithmetic can
run them.

With the option `hybrid=float` the weights are dequantized instead, and the operator is one of floats. Each result
then differs from LiteRT's by at most the step of the activations' quantization times the sum of the absolute values of
the weights that it is made of; the hub op says by the attribute `DYNAMIC` how LiteRT would have quantized, so that
a verification can allow exactly that.

Source: `tensorflow/lite/kernels/conv.cc`, `depthwise_conv.cc`, `transpose_conv.cc`, `fully_connected.cc`,
`batch_matmul.cc` (the functions EvalHybrid and EvalHybridPerChannel), `lstm_eval.cc`, `kernel_utils.cc` (recurrent layers),
`internal/reference/portable_tensor_utils.cc` (SymmetricQuantizeFloats and AsymmetricQuantizeFloats).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.analysis.intervals import Interval, Intervals
from transload.errors import Unsupported
from transload.ir import F32, I8, I32, UI8, Op, QuantType, Value
from transload.rewrite import Rewriter
from transload.verification.bounds import DYNAMIC
from transload_hub import tables

from ..choices import chosen
from ..dialect import BLOCKWISE
from .common import activate, is_hybrid, scalar, static_shape

__all__ = [
    "hybrid_conv", "hybrid_deconv", "hybrid_matmul", "hybrid_product", "is_asymmetric", "is_emulated", "products",
    "real", "real_weights", "weight_integers",
]

_LEAST_RANGE = 1e-28
"""Stands for a range of 0, where all integers are 0 whatever the scale."""

_FRACTION_OF_127, _FRACTION_OF_255 = 24, 23
"""How many bits of fraction numbers up to 127 or 255 may have in 32 bits, with room for half a step."""


def is_emulated(rw: Rewriter, value: Value, weights: Value) -> bool:
    """Whether an operator is hybrid, and to be computed as LiteRT's own kernels do.

    They have none for weights quantized in blocks: there XNNPACK quantizes the activations, and what it does is within a bound.
    """
    blockwise = _in_blocks(weights) or rw.op.attribute(BLOCKWISE, False)
    return is_hybrid(value, weights) and not blockwise and chosen(rw, "hybrid") == "exact"


def _in_blocks(weights: Value) -> bool:
    return weights.quant is not None and weights.quant.blocks is not None


def real(rw: Rewriter, value: Value) -> Value:
    """Weights as floats, dequantized where they are quantized; those in blocks are kept as they are stored."""
    if value.is_float:
        return value
    fold, rw.fold = rw.fold, rw.fold and not _in_blocks(value)
    try:
        return rw.emit("top.Cast", as_kernels_read(rw, value), element=F32)
    finally:
        rw.fold = fold


def real_weights(op: Op, rw: Rewriter, value: Value, weights: Value) -> tuple[Value, str | None]:
    """Weights for an operator of floats, and its attribute `DYNAMIC` where it is hybrid; others as they are, and None."""
    if not is_hybrid(value, weights):
        return weights, None
    return real(rw, weights), "asymmetric" if is_asymmetric(op, weights) else "symmetric"


def is_asymmetric(op: Op, weights: Value) -> bool:
    """Whether LiteRT quantizes the activations of an operator so that 0 need not be in the middle."""
    if op.name in ("tfl.depthwise_conv_2d", "tfl.transpose_conv", "tfl.custom") or op.attribute(BLOCKWISE, False):
        return True
    if op.name in ("tfl.conv_2d", "tfl.conv_3d"):
        return len(set(weights.element.scales)) > 1  # type: ignore[attr-defined]
    return bool(op.attribute("asymmetric_quantize_inputs", False))


def hybrid_conv(
    op: Op, rw: Rewriter, value: Value, weights: Value, bias: Value | None, geometry: dict[str, Any],
) -> Value:
    """A convolution; each image of the batch has a scale of its own.

    Where the weights have several scales (and always where it is depthwise), LiteRT quantizes the image
    asymmetrically, else symmetrically.
    """
    depthwise = op.name == "tfl.depthwise_conv_2d"
    per_channel = len(set(weights.element.scales)) > 1  # type: ignore[attr-defined]
    integers, scale = _quantize(rw, value, tuple(range(1, value.rank)), is_asymmetric(op, weights))
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
    integers, scale = _quantize(rw, value, (value.rank - 1,), is_asymmetric(op, weights))
    sums = rw.emit("top.MatMul", integers, weight_integers(rw, weights), right_transpose=right_transpose)
    return _rescale(rw, sums, scale, weights)


def products(op: Op, rw: Rewriter, value: Value, matrices: Sequence[Value]) -> Value:
    """The products of one activation [.., I] with matrices [H, I], side by side: [.., n * H].

    This is how recurrent layers multiply. The activation is quantized once; each hybrid matrix has one scale.
    """
    if not is_emulated(rw, value, matrices[0]):
        floats = [real(rw, matrix) for matrix in matrices]
        joined = floats[0] if len(floats) == 1 else rw.emit("top.Concat", *floats, axis=0)
        attributes: dict[str, Any] = {"right_transpose": True, DYNAMIC: real_weights(op, rw, value, matrices[0])[1]}
        return rw.emit("top.MatMul", value, joined, **attributes)
    integers, scale = _quantize(rw, value, (value.rank - 1,), is_asymmetric(op, matrices[0]))
    held = [weight_integers(rw, matrix) for matrix in matrices]
    joined = held[0] if len(held) == 1 else rw.emit("top.Concat", *held, axis=0)
    sums = rw.emit("top.MatMul", integers, joined, right_transpose=True)
    rows = [static_shape(matrix, "the weights", 2)[0] for matrix in matrices]
    scales = [np.float32(matrix.element.scales[0]) for matrix in matrices]  # type: ignore[attr-defined]
    each = rw.constant(tables.repeat(scales, rows)) if len(set(scales)) > 1 else rw.constant(np.asarray(scales[0]))
    return rw.emit("top.Mul", sums, rw.emit("top.Mul", each, scale))


def weight_integers(rw: Rewriter, weights: Value) -> Value:
    """The stored integers of weights, as the kernels read them, as floats."""
    array = rw.need_constant(as_kernels_read(rw, weights), "the weights of a hybrid operator")
    return rw.constant(array.astype(np.float32))


def as_kernels_read(rw: Rewriter, weights: Value) -> Value:
    """Constant weights as hybrid kernels read them: the bytes as int8, even those of uint8, and without zero points.

    The first converters wrote signed weights of models like these as uint8.
    """
    element = weights.element
    if not isinstance(element, QuantType):
        raise Unsupported(f"weights are {element}, and have to be quantized, as others of the same operator are, or floats")
    array = rw.constant_of(weights)
    if array is None or not (element.storage.unsigned or any(element.zero_points)):
        return weights
    signed = array.view(np.int8) if array.dtype == np.uint8 else array
    storage = I8 if element.storage == UI8 else element.storage
    return rw.constant(signed, element=element.replace(
        storage=storage, zero_points=(0,) * len(element.scales), storage_min=storage.range[0], storage_max=storage.range[1]))


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
    """To -127 .. 127: `round(x * (127 / max|x|))`, and `max|x| / 127`."""
    nonnegative = is_nonnegative(value)
    size = value if nonnegative else rw.emit("top.Abs", value)
    greatest = rw.emit("top.Max", _reduced(rw, size, axes, "ReduceMax"), scalar(rw, _LEAST_RANGE))
    # The fraction bits that rounding needs are multiplied in where it costs nothing; powers of 2 change no other bit.
    inverse = rw.emit("top.Div", scalar(rw, 127.0 * 2.0**_FRACTION_OF_127), greatest)
    integers = _round(rw, rw.emit("top.Mul", value, inverse), _FRACTION_OF_127, nonnegative)
    return rw.emit("top.Cast", integers, element=F32), rw.emit("top.Div", greatest, scalar(rw, 127.0))


def _quantize_asymmetric(rw: Rewriter, value: Value, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """To -128 .. 127, 0 being one of the steps: `round(x / scale)`, clamped so that the zero point can be added."""
    zero, fraction = scalar(rw, 0.0), scalar(rw, 2.0**_FRACTION_OF_255)
    greatest = _reduced(rw, value, axes, "ReduceMax")
    if is_nonnegative(value):
        # The zero point is -128, and the greatest number becomes 255 more than that.
        scale = _two_hundred_fifty_fifth(rw, greatest)
        inverse = rw.emit("top.Mul", rw.emit("top.Reciprocal", scale), fraction)
        steps = _round(rw, rw.emit("top.Mul", value, inverse), _FRACTION_OF_255, nonnegative=True)
        return rw.emit("top.Cast", steps, element=F32), scale
    greatest = rw.emit("top.Max", greatest, zero)
    least = rw.emit("top.Min", _reduced(rw, value, axes, "ReduceMin"), zero)
    scale = _two_hundred_fifty_fifth(rw, rw.emit("top.Sub", greatest, least))
    inverse = rw.emit("top.Mul", rw.emit("top.Reciprocal", scale), fraction)
    # round(-128 - least / scale), written so that a range with 0 in its middle gives -0.5 exactly before it is rounded
    middle = rw.emit("top.Mul", rw.emit("top.Add", greatest, least), scalar(rw, 0.5))
    offset = rw.emit("top.Sub", scalar(rw, -(2.0 ** (_FRACTION_OF_255 - 1))), rw.emit("top.Mul", middle, inverse))
    zero_point = _round(rw, offset, _FRACTION_OF_255)
    steps = _round(rw, rw.emit("top.Mul", value, inverse), _FRACTION_OF_255)
    lowest, highest = (rw.emit("top.Sub", scalar(rw, bound, I32), zero_point) for bound in (-128, 127))
    clamped = rw.emit("top.Min", rw.emit("top.Max", steps, lowest), highest)
    return rw.emit("top.Cast", clamped, element=F32), scale


def _two_hundred_fifty_fifth(rw: Rewriter, width: Value) -> Value:
    """`width / 255`, rounded once, where division is a product with a reciprocal.

    The remainder `width - 255 * quotient` is exact as `(width - 256 * quotient) + quotient`, and says by how much to mend
    the quotient. A last bit of the scale moves one activation in 100,000 by a step, and that the next layer's range.
    """
    part = scalar(rw, 1 / 255)
    width = rw.emit("top.Max", width, scalar(rw, _LEAST_RANGE))
    quotient = rw.emit("top.Mul", width, part)
    over = rw.emit("top.Sub", width, rw.emit("top.Mul", quotient, scalar(rw, 256.0)))
    return rw.emit("top.Add", quotient, rw.emit("top.Mul", rw.emit("top.Add", over, quotient), part))


def _reduced(rw: Rewriter, value: Value, axes: tuple[int, ...], mode: str) -> Value:
    """The greatest or least number over `axes`, which stay with size 1."""
    return rw.emit("top.Reduce", value, axes=axes, keepdims=True, mode=mode)


def _round(rw: Rewriter, value: Value, fraction: int, nonnegative: bool = False) -> Value:
    """`round(value / 2^fraction)`, halves away from zero, in i32, in which the value has to lie with half a step to spare.

    Halves are rounded up after 1 was taken from negative numbers. What gets lost of numbers near 0 when they become
    integers matters for the one or two floats next to half a step, 0.49999997, alone.
    """
    whole = rw.emit("top.Cast", value, element=I32, round_mode="HalfToEven")
    half = scalar(rw, 1 << (fraction - 1), I32)
    if not nonnegative:
        half = rw.emit("top.Add", rw.emit("top.ShiftRight", whole, scalar(rw, 31, I32)), half)
    return rw.emit("top.ShiftRight", rw.emit("top.Add", whole, half), scalar(rw, fraction, I32))


_MOST_LOOKED_AT = 64


def is_nonnegative(value: Value) -> bool:
    """Whether no number of a float tensor can be below 0, as after a ReLU; False where that takes long to find out."""
    return _not_below_zero(Intervals(_MOST_LOOKED_AT, largest=1 << 12, enough=_not_below_zero).of(value))


def _not_below_zero(interval: Interval) -> bool:
    return bool(interval[0] >= 0)

"""Convolutions and products of matrices: of integers by floats that hold all sums.

onnxruntime multiplies floats far faster than the integers of ConvInteger and MatMulInteger, and sums of integers that stay below
2^24 (2^53) in magnitude are the same in f32 (f64), in whatever order they are formed. How great they can be the weights say.
Where f32 is not enough, convolutions, which are of f32 only, are written as several, over some of the channels each, and numbers
of 16 bits as two bytes; products of matrices are in f64, or, where there are no numbers of 64 bits, in such parts as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import F32, F64, I8, I16, I32, IntegerType, Type, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables

from ..lowering.common import cast, constant, emit, ints, static_shape, transposed
from ..types import element_code
from .common import CHANNELS_LAST, CHANNELS_SECOND, along, as_float, broadcast, held, number, scalar_like, turned
from .narrow import is_narrow
from .rescale import Magnitudes

if TYPE_CHECKING:
    from transload.ir import Op

__all__ = ["TABLE", "window_sums"]

TABLE = RewriteTable()

EXACT = 1 << 24
"""Up to which all integers are numbers of f32."""
_OTHERWISE = "--option form=qdq writes QDQ, which rounds otherwise"


@TABLE("tosa.conv2d", "tosa.conv3d")
def conv(op: Op, rw: Rewriter) -> Value:
    """Weights OC,KH,KW,IC become OC,IC,KH,KW."""
    rank = len(static_shape(op.operands[0]))
    return _convolved(op, rw, (0, rank - 1, *range(1, rank - 1)), 1)


@TABLE("tosa.depthwise_conv2d")
def depthwise(op: Op, rw: Rewriter) -> Value:
    """Weights KH,KW,C,M become C*M,1,KH,KW, in as many groups as there are channels."""
    return _convolved(op, rw, None, static_shape(op.operands[0])[-1])


def _convolved(op: Op, rw: Rewriter, order: Sequence[int] | None, groups: int) -> Value:
    x, weight, bias = op.operands[:3]
    rank = len(static_shape(x))
    x = turned(rw, x, (0, rank - 1, *range(1, rank - 1)))
    pad = op.attributes["pad"]
    settings = {
        "kernel_shape": static_shape(weight)[1:-1] if order else static_shape(weight)[:2], "strides": op.attributes["stride"],
        "pads": (*pad[::2], *pad[1::2]), "dilations": op.attributes["dilation"], "group": groups}
    shape = static_shape(op.results[0])
    shape = (shape[0], shape[-1], *shape[1:-1])
    if not isinstance(x.element, IntegerType):
        kernel = transposed(rw, weight, order) if order else _grouped(rw, weight)
        y = _with_bias(rw, emit(rw, "Conv", x, kernel, shape=shape, **settings), bias)
    else:
        y = _integers(op, rw, x, _kernel(op, weight, order), "Conv", shape, any(pad), settings)
    return turned(rw, y, (0, *range(2, rank), 1))


def _grouped(rw: Rewriter, weight: Value) -> Value:
    rows, columns, channels, each = static_shape(weight)
    kernel = transposed(rw, weight, (2, 3, 0, 1))
    shape = (channels * each, 1, rows, columns)
    return emit(rw, "Reshape", kernel, ints(rw, shape), shape=shape)


def _kernel(op: Op, weight: Value, order: Sequence[int] | None) -> np.ndarray:
    """The weights less their zero point, in ONNX's order, as int64."""
    dense = constant_of(weight)
    if dense is None:
        raise Unsupported("the weights of a convolution of integers must be constants, and are computed at run time")
    numbers = dense.numpy().astype(np.int64) - number(op.operands[4], "the zero point of the weights")
    if order is not None:
        return np.ascontiguousarray(numbers.transpose(order))
    rows, columns, channels, each = numbers.shape
    return np.ascontiguousarray(numbers.transpose(2, 3, 0, 1)).reshape(channels * each, 1, rows, columns)


def _with_bias(rw: Rewriter, y: Value, bias: Value) -> Value:
    """`y` with a number added to each channel, its dimension 1."""
    dense = constant_of(bias)
    if dense is not None and not tables.distinct(dense.numpy()).any():
        return y
    if dense is not None:
        return broadcast(rw, "Add", y, along(rw, dense.numpy(), y.element, len(static_shape(y)), 1))
    shape = (-1 if static_shape(bias) != (1,) else 1, *(1,) * (len(static_shape(y)) - 2))
    sizes = (*static_shape(bias), *shape[1:])
    return broadcast(rw, "Add", y, emit(rw, "Reshape", bias, ints(rw, sizes), shape=sizes))


def _integers(
    op: Op, rw: Rewriter, x: Value, kernel: np.ndarray, name: str, shape: Sequence[int], padded: bool, settings: dict[str, Any],
) -> Value:
    """Sums of products of integers, channels second, in the type that holds those of TOSA."""
    bias = rw.need_constant(op.operands[2], "the bias of a convolution of integers").astype(np.int64)
    zero = number(op.operands[3], "the zero point of the input")
    element = held(op.results[0].element)
    channels = shape[1]
    outputs = 1 if name == "ConvTranspose" else 0  # the dimension of the kernel with what comes out
    total = np.abs(kernel).sum(axis=tuple(axis for axis in range(kernel.ndim) if axis != outputs))
    least, most = x.element.range  # type: ignore[attr-defined]
    if zero and not padded:  # a part of the bias then; what is padded is none, and a 0 less the zero point otherwise
        bias = np.broadcast_to(bias, (channels,)) - zero * kernel.sum(
            axis=tuple(axis for axis in range(kernel.ndim) if axis != outputs))
        zero = 0
    greatest = max(most - zero, zero - least)
    magnitude = int((total * greatest + np.abs(bias)).max(initial=0))
    if magnitude < EXACT:
        operands = [_real(rw, x, zero), _weights(rw, kernel)]
        if bias.any():
            operands.append(constant(rw, np.broadcast_to(bias, (channels,)), F32))
        y = cast(rw, emit(rw, name, *operands, shape=shape, **settings), element)
    else:
        y = _in_parts(rw, x, zero, kernel, name, shape, settings, magnitude)
        y = cast(rw, broadcast(rw, "Add", y, along(rw, bias, y.element, len(shape), 1)) if bias.any() else y, element)
    rw.scratch(Magnitudes).known[y] = magnitude
    return y


def _weights(rw: Rewriter, kernel: np.ndarray) -> Value:
    """Integers as f32, stored in as few bits as hold them."""
    least, most = kernel.min(initial=0), kernel.max(initial=0)
    element = next((each for each in (I8, I16) if each.range[0] <= least and most <= each.range[1]), I32)
    return emit(rw, "Cast", constant(rw, kernel, element), element=F32, to=element_code(F32))


def _real(rw: Rewriter, x: Value, zero: int, element: Type = F32) -> Value:
    """`x` less a zero point, as floats."""
    x = as_float(rw, x, element)
    return emit(rw, "Sub", x, scalar_like(rw, zero, x)) if zero else x


def _in_parts(
    rw: Rewriter, x: Value, zero: int, kernel: np.ndarray, name: str, shape: Sequence[int], settings: dict[str, Any],
    magnitude: int,
) -> Value:
    """The sums, of at most this magnitude, as f64 or i32, of sums in f32: over bytes of `x`, over some of the channels each."""
    sums = _element_of_sums(rw, magnitude)
    y: Value | None = None
    for value, greatest, weight in _bytes(rw, x, zero):
        for begin, end in _slices(kernel, greatest, name):
            piece, inner = _part(rw, value, kernel, begin, end, name)
            made = cast(rw, emit(rw, name, piece, _weights(rw, inner), shape=shape, **settings), sums)
            made = emit(rw, "Mul", made, scalar_like(rw, weight, made)) if weight != 1 else made
            y = made if y is None else emit(rw, "Add", y, made)
    assert y is not None
    return y


def _bytes(rw: Rewriter, x: Value, zero: int) -> list[tuple[Value, int, int]]:
    """Integers less a zero point as f32, of 16 bits in two parts: the greatest magnitude of each, and times what it counts."""
    assert isinstance(x.element, IntegerType)
    least, most = x.element.range
    greatest, whole = max(most - zero, zero - least), _real(rw, x, zero)
    if x.element.width <= 8:
        return [(whole, greatest, 1)]
    high = emit(rw, "Floor", emit(rw, "Mul", whole, scalar_like(rw, 2.0**-8, whole)))
    low = emit(rw, "Sub", whole, emit(rw, "Mul", high, scalar_like(rw, 256, high)))
    return [(high, (greatest >> 8) + 1, 256), (low, 255, 1)]


def _element_of_sums(rw: Rewriter, magnitude: int) -> Type:
    """In what sums beyond 2^24 are added."""
    if not is_narrow(rw):
        return F64
    if magnitude >= 1 << 31:
        raise Unsupported("sums of its products may need more than 32 bits", _OTHERWISE)
    return I32


def _slices(kernel: np.ndarray, greatest: int, name: str) -> Iterator[tuple[int, int]]:
    """Ranges of the channels that are summed over, as long as their sums are exact."""
    axis = 0 if name == "ConvTranspose" else 1
    rest = tuple(range(2, kernel.ndim))
    sums = np.abs(kernel).sum(axis=rest).swapaxes(0, axis)  # summed channels first
    begin, channels = 0, sums.shape[0]
    while begin < channels:
        reached = np.cumsum(sums[begin:], axis=0).max(axis=1) * greatest
        count = int(np.searchsorted(reached, EXACT))
        if not count:
            raise Unsupported("sums over one channel need more than the 24 bits of an f32, and ONNX's convolutions have no more")
        yield begin, begin + count
        begin += count


def _part(rw: Rewriter, x: Value, kernel: np.ndarray, begin: int, end: int, name: str) -> tuple[Value, np.ndarray]:
    """Some of the channels of a tensor, and the kernel's share of them."""
    axis = 0 if name == "ConvTranspose" else 1
    if end - begin == kernel.shape[axis]:  # as of each channel by itself
        return x, kernel
    return _stretch(rw, x, 1, begin, end), np.take(kernel, range(begin, end), axis)


def _stretch(rw: Rewriter, x: Value, axis: int, begin: int, end: int) -> Value:
    """What lies from one place of a dimension to another; `x` itself where that is all."""
    shape = list(static_shape(x))
    if end - begin == shape[axis]:
        return x
    shape[axis] = end - begin
    return emit(rw, "Slice", x, *(ints(rw, (place,)) for place in (begin, end, axis)), shape=shape)


@TABLE("tosa.transpose_conv2d")
def transpose_conv(op: Op, rw: Rewriter) -> Value:
    """ConvTranspose of weights IC,OC,KH,KW, then what `out_pad` adds or takes away, and the bias."""
    x, weight, bias = op.operands[:3]
    x = turned(rw, x, CHANNELS_SECOND)
    top, bottom, left, right = op.attributes["out_pad"]
    batch, height, width, channels = static_shape(op.results[0])
    shape = (batch, channels, height - top - bottom, width - left - right)
    settings = {"kernel_shape": static_shape(weight)[1:3], "strides": op.attributes["stride"], "group": 1}
    if not isinstance(x.element, IntegerType):
        y = emit(rw, "ConvTranspose", x, transposed(rw, weight, (3, 0, 1, 2)), shape=shape, **settings)
    else:
        zero = number(op.operands[3], "the zero point of the input")
        kernel = _kernel(op, weight, (3, 0, 1, 2))
        magnitude = int(np.abs(kernel).sum(axis=(0, 2, 3)).max(initial=0)) * ((1 << (x.element.width - 1)) + abs(zero))
        if magnitude < EXACT:
            y = cast(rw, emit(rw, "ConvTranspose", _real(rw, x, zero), _weights(rw, kernel), shape=shape, **settings),
                     _element_of_sums(rw, magnitude))
        else:
            y = _in_parts(rw, x, zero, kernel, "ConvTranspose", shape, settings, magnitude)
    if any((top, bottom, left, right)):
        y = emit(rw, "Pad", y, ints(rw, (0, 0, top, left, 0, 0, bottom, right)), scalar_like(rw, 0, y),
                 shape=(batch, channels, height, width))
    y = _with_bias(rw, y, bias)
    return turned(rw, cast(rw, y, held(op.results[0].element)), CHANNELS_LAST)


@TABLE("tosa.matmul", "tosa.matmul_t")
def matmul(op: Op, rw: Rewriter) -> Value:
    a, b, *zero_points = op.operands
    if op.name == "tosa.matmul_t":
        b = turned(rw, b, (0, 2, 1))
    if not isinstance(a.element, IntegerType):
        wide = op.results[0].element
        return emit(rw, "MatMul", cast(rw, a, wide), cast(rw, b, wide), like=op.results[0])
    zeros = [number(value, "a zero point") for value in zero_points]
    greatest = 1
    for value, zero in zip((a, b), zeros, strict=True):
        greatest *= (1 << (value.element.width - 1)) + abs(zero)  # type: ignore[attr-defined]
    magnitude = static_shape(a)[2] * greatest
    if magnitude >= 1 << 53:
        raise Unsupported("sums of its products may need more than the 53 bits of an f64")
    if is_narrow(rw) and magnitude >= EXACT:
        y = _multiplied_in_parts(rw, (a, b), zeros, op.results[0], magnitude)
    else:
        wide = F32 if magnitude < EXACT else F64
        factors = [_real(rw, value, zero, wide) for value, zero in zip((a, b), zeros, strict=True)]
        y = emit(rw, "MatMul", *factors, like=op.results[0], element=wide)
    y = cast(rw, y, held(op.results[0].element))
    rw.scratch(Magnitudes).known[y] = magnitude
    return y


def _multiplied_in_parts(rw: Rewriter, factors: Sequence[Value], zeros: Sequence[int], like: Value, magnitude: int) -> Value:
    """A product of matrices, of at most this magnitude, as i32: sums of such in f32, of bytes, over some of the columns each."""
    sums, length = _element_of_sums(rw, magnitude), static_shape(factors[0])[-1]
    left, right = (_bytes(rw, factor, zero) for factor, zero in zip(factors, zeros, strict=True))
    y: Value | None = None
    for (a, greatest_a, weight_a), (b, greatest_b, weight_b) in product(left, right):
        step = (EXACT - 1) // (greatest_a * greatest_b)
        for begin in range(0, length, step):
            end, weight = min(begin + step, length), weight_a * weight_b
            made = emit(rw, "MatMul", _stretch(rw, a, 2, begin, end), _stretch(rw, b, 1, begin, end), like=like, element=F32)
            made = cast(rw, made, sums)
            made = emit(rw, "Mul", made, scalar_like(rw, weight, made)) if weight != 1 else made
            y = made if y is None else emit(rw, "Add", y, made)
    assert y is not None
    return y


def window_sums(rw: Rewriter, x: Value, window: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
    """Sums over windows of a tensor of f32, channels second: the convolution of each channel with ones."""
    batch, channels, height, width = static_shape(x)
    shape = (batch, channels, (height + pad[0] + pad[1] - window[0]) // stride[0] + 1,
             (width + pad[2] + pad[3] - window[1]) // stride[1] + 1)
    ones = constant(rw, tables.ones((channels, 1, *window)), F32)
    return emit(rw, "Conv", x, ones, shape=shape, kernel_shape=tuple(window), strides=tuple(stride),
                pads=(*pad[::2], *pad[1::2]), group=channels)



"""Fourier transforms, as products with constant matrices, and the matrix of the mel scale."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import FloatType, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.spectral import basis, mirrored_basis, transformed

from ..types import element_of
from .movement import slice_along
from .table import (
    MAX_CONSTANT,
    OnnxTable,
    attr,
    axis_of,
    constant_int,
    flag,
    need,
    operand,
    opset,
    permute,
    reshape,
    shape_of,
)

TABLE = OnnxTable()


@TABLE("onnx.DFT")
def dft(op: Op, rw: Rewriter) -> Value:
    """DFT along an axis; the last dimension is (real, imaginary), or real alone."""
    value = need(op, 0)
    shape = shape_of(value)
    rank = len(shape)
    if opset(op) < 20:
        axis = attr(op, "axis", 1)
    else:
        axis = -2 if operand(op, 2) is None else constant_int(rw, operand(op, 2), "the axis")
    axis = axis_of(axis, rank)
    if rank < 2 or axis == rank - 1 or shape[-1] not in (1, 2):
        raise Unsupported(f"transforms axis {axis} of a tensor of shape {shape}, whose last dimension is not (real, imaginary)")
    length = shape[axis] if operand(op, 1) is None else constant_int(rw, operand(op, 1), "the length")
    inverse, onesided = flag(op, "inverse", 0), flag(op, "onesided", 0)
    if inverse and onesided:
        return _real_inverse(op, rw, value, axis, length)
    frequencies = length // 2 + 1 if onesided else length
    return transformed(rw, _resized(rw, value, axis, length), axis, basis(length, frequencies, shape[-1], inverse))


def _real_inverse(op: Op, rw: Rewriter, value: Value, axis: int, length: int) -> Value:
    """The real signal of one half of its spectrum: the other half is its mirror image."""
    half = shape_of(value)[axis]
    if operand(op, 1) is None:
        length = 2 * (half - 1)
    return transformed(rw, _resized(rw, value, axis, length // 2 + 1), axis, mirrored_basis(length))


def _resized(rw: Rewriter, value: Value, axis: int, length: int) -> Value:
    """The first `length` elements of an axis, or with zeros behind."""
    shape = shape_of(value)
    if length <= shape[axis]:
        return value if length == shape[axis] else slice_along(rw, value, axis, 0, length)
    pads = [0] * 2 * len(shape)
    pads[len(shape) + axis] = length - shape[axis]
    return rw.emit("top.Pad", value, paddings=tuple(pads), mode="constant")


@TABLE("onnx.STFT")
def stft(op: Op, rw: Rewriter) -> Value:
    """STFT: a convolution in time, whose filters are the windowed waves of each frequency."""
    signal = need(op, 0)
    shape = shape_of(signal)
    if len(shape) != 3 or shape[2] not in (1, 2):
        raise Unsupported(f"transforms a signal of shape {shape}, and needs [batch, length, 1 or 2]")
    step = constant_int(rw, need(op, 1), "the frame step")
    given = operand(op, 2)
    window = None if given is None else np.asarray(rw.need_constant(given, "the window"))
    if operand(op, 3) is not None:
        length = constant_int(rw, operand(op, 3), "the frame length")
    elif window is not None:
        length = window.size
    else:
        raise Unsupported("has neither a window nor a frame length")
    if step < 1 or not 0 < length <= shape[1] or (window is not None and window.size != length):
        raise Unsupported(f"cuts a signal of {shape[1]} into frames of {length}, each {step} further")
    frequencies = length // 2 + 1 if flag(op, "onesided", 1) else length
    waves = basis(length, frequencies, shape[2])
    if window is not None:
        waves = waves * window.astype(np.float64).reshape(length, 1, 1, 1)
    filters = waves.transpose(2, 3, 1, 0).reshape(frequencies * 2, shape[2], length)
    held = rw.constant(np.ascontiguousarray(filters.astype(dtype_of(signal.element))))
    found = rw.emit("top.Conv", permute(rw, signal, (0, 2, 1)), held, kernel_shape=(length,), strides=(step,), layout="NCHW")
    batch, _, frames = shape_of(found)
    return reshape(rw, permute(rw, found, (0, 2, 1)), (batch, frames, frequencies, 2))


@TABLE("onnx.MelWeightMatrix")
def mel_weight_matrix(op: Op, rw: Rewriter) -> Value:
    """MelWeightMatrix: a constant [frequencies, bands], a triangle a band between places that are even on the mel scale."""
    bands, length, rate, low, high = (
        rw.need_number(need(op, i), what) for i, what in enumerate(
            ("the number of bands", "the length of the transform", "the sample rate", "the lower edge", "the upper edge")))
    element = element_of(attr(op, "output_datatype", 1))
    if not isinstance(element, FloatType) or min(bands, length, rate) < 1 or not 0 <= low < high:
        raise Unsupported(f"makes {bands} bands from {low} to {high} Hz of {length} samples at {rate} Hz")
    frequencies = int(length) // 2 + 1
    if frequencies * bands > MAX_CONSTANT >> 2:
        raise Unsupported(f"makes a matrix of {frequencies:,} frequencies and {bands:,} bands")
    ends = [2595 * math.log10(1 + edge / 700) for edge in (low, high)]
    mels = ends[0] + tables.arange(bands + 2) * ((ends[1] - ends[0]) / (bands + 2))
    places = ((length + 1) * (700 * (10 ** (mels / 2595) - 1)) // rate).astype(np.int64)
    if places.max() >= frequencies:
        raise Unsupported(f"has bands up to {high} Hz, above what {length} samples at {rate} Hz have")
    matrix = tables.zeros((frequencies, int(bands)))
    for band, (left, middle, right) in enumerate(zip(places, places[1:], places[2:], strict=False)):
        up, down = tables.arange(left, middle + 1), tables.arange(middle, right)
        matrix[up, band] = (up - left) / (middle - left) if middle > left else 1.0
        matrix[down, band] = (right - down) / max(right - middle, 1)
    return rw.constant(matrix.astype(dtype_of(element)), element=element)

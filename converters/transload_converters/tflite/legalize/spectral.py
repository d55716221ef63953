"""RFFT2D, and what follows it on complex numbers.

The hub has no complex numbers: a complex tensor is a real one with a last dimension of two, the real and the
imaginary part. A Fourier transform is a matrix product, which every target has.

Source: `tensorflow/lite/kernels/rfft2d.cc`, `complex_support.cc`.
"""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import ComplexType, Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import axis_of, constant_ints, limited, static_shape

TABLE = RewriteTable()
"""Tried before the rules for real tensors, which the ops on complex ones share their names with."""

_LONGEST = 1 << 13


def _is_complex(op: Op) -> bool:
    """Whether the result is complex; as a result of the model it has no place in the hub."""
    if not isinstance(op.results[0].element, ComplexType):
        return False
    if any(user.name == "func.return" for user in op.results[0].uses):
        raise Unsupported("complex numbers cannot be a result of the model", "give their real and imaginary parts, or their size")
    return True


def _pair(op: Op) -> Value:
    """The operand as pairs of real numbers."""
    value = op.operands[0]
    if isinstance(value.element, ComplexType):
        raise Unsupported("complex numbers from outside the model, or constant ones, are not supported")
    return value


@TABLE("tfl.rfft2d")
def rfft2d(op: Op, rw: Rewriter) -> Value:
    """RFFT2D: the last two dimensions cut or filled up with zeros to fft_length, then transformed; half of the columns."""
    _is_complex(op)
    lengths = constant_ints(rw, op.operands[1], "the lengths of the transform")
    sizes = static_shape(op.operands[0], "the input", least=2)
    if len(lengths) != 2:
        raise Unsupported(f"the lengths of the transform are {list(lengths)}; two are wanted")
    height, width = (limited(length, "the length of a transform", _LONGEST) for length in lengths)
    if not height or not width:
        raise Unsupported("a transform of no numbers is not supported")
    value = _fitted(rw, op.operands[0], sizes, (height, width))
    angles = 2 * np.pi / width * (tables.outer(tables.arange(width), tables.arange(width // 2 + 1)) % width)
    real, imaginary = (
        rw.emit("top.MatMul", value, rw.constant(part.astype(np.float32))) for part in (np.cos(angles), -np.sin(angles)))
    if height > 1:
        angles = 2 * np.pi / height * (tables.outer(tables.arange(height), tables.arange(height)) % height)
        cosine, sine = (rw.constant(part.astype(np.float32)) for part in (np.cos(angles), np.sin(angles)))
        real, imaginary = (
            rw.emit("top.Add", rw.emit("top.MatMul", cosine, real), rw.emit("top.MatMul", sine, imaginary)),
            rw.emit("top.Sub", rw.emit("top.MatMul", cosine, imaginary), rw.emit("top.MatMul", sine, real)))
    return rw.emit("top.Pack", real, imaginary, axis=-1)


def _fitted(rw: Rewriter, value: Value, sizes: tuple[int, ...], lengths: tuple[int, int]) -> Value:
    """The last two dimensions with the given sizes."""
    kept = (*sizes[:-2], *(min(size, length) for size, length in zip(sizes[-2:], lengths, strict=True)))
    if kept != sizes:
        value = rw.emit("top.Slice", value, offset=(0,) * len(kept), ends=kept, steps=(1,) * len(kept))
    missing = tuple(length - size for size, length in zip(kept[-2:], lengths, strict=True))
    if any(missing):
        value = rw.emit("top.Pad", value, paddings=(0,) * (2 * len(kept) - 2) + missing)
    return value


@TABLE("tfl.complex_abs")
def complex_abs(op: Op, rw: Rewriter) -> Value:
    """COMPLEX_ABS: the length of the pair."""
    return rw.emit("top.Reduce", _pair(op), axes=(-1,), keepdims=False, mode="ReduceL2")


@TABLE("tfl.real", "tfl.imag")
def part(op: Op, rw: Rewriter) -> Value:
    """REAL, IMAG: one of the pair."""
    sizes = static_shape(_pair(op), "the input", least=1)
    first = 0 if op.name == "tfl.real" else 1
    one = rw.emit(
        "top.Slice", op.operands[0], offset=(0,) * (len(sizes) - 1) + (first,), ends=(*sizes[:-1], first + 1),
        steps=(1,) * len(sizes))
    return rw.emit("top.Reshape", one, shape=sizes[:-1])


@TABLE("tfl.reshape", "tfl.squeeze", "tfl.expand_dims")
def reshape(op: Op, rw: Rewriter) -> Value | None:
    """RESHAPE, SQUEEZE, EXPAND_DIMS of complex numbers: the pair stays last."""
    if not _is_complex(op):
        return None
    sizes = static_shape(_pair(op), "the input", least=1)[:-1]
    if op.name == "tfl.reshape":
        wanted = constant_ints(rw, op.operands[1], "the new shape") if len(op.operands) > 1 else tuple(op.attribute("new_shape"))
    elif op.name == "tfl.squeeze":
        dropped = {axis % max(len(sizes), 1) for axis in op.attribute("squeeze_dims")}
        wanted = tuple(size for axis, size in enumerate(sizes) if axis not in dropped and (dropped or size != 1))
    else:
        axis = axis_of(rw, op.operands[1])
        axis += len(sizes) + 1 if axis < 0 else 0
        wanted = (*sizes[:axis], 1, *sizes[axis:])
    return rw.emit("top.Reshape", op.operands[0], shape=(*wanted, 2))


@TABLE("tfl.mul", "tfl.add", "tfl.sub", "tfl.transpose", "tfl.strided_slice", "tfl.slice", "tfl.concatenation", "tfl.cast")
def other(op: Op, rw: Rewriter) -> Value | None:
    """Sums of complex numbers are those of the pairs; nothing else is known here."""
    if not _is_complex(op) and not any(isinstance(value.element, ComplexType) for value in op.operands):
        return None
    if op.name in ("tfl.add", "tfl.sub") and op.operands[0].shape == op.operands[1].shape:
        return rw.emit("top.Add" if op.name == "tfl.add" else "top.Sub", *op.operands)
    raise Unsupported("of complex numbers only RFFT2D, REAL, IMAG, COMPLEX_ABS and changes of shape are supported")

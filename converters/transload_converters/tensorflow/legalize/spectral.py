"""Fourier transforms and complex numbers.

The hub has none of these: complex numbers are pairs (`transload_hub.complex_numbers`), and a transform is a product with a
constant matrix. What leaves the model must be real.
"""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub.build import cast, permute, reshape, slice_along, splat
from transload_hub.complex_numbers import as_complex, by_parts, imaginary_zero, is_complex, pair_of, product
from transload_hub.spectral import basis, mirrored_basis, transformed

from . import elementwise, gather, movement, reduce, shape
from .table import TfTable, axis_of, constant_int, constant_ints, constant_sizes, element_of, shape_of

__all__ = ["TABLE"]

TABLE = TfTable()

# --- to and from real numbers

@TABLE("Complex")
def complex_(op: Op, rw: Rewriter) -> Value:
    """Complex of two real tensors, which are broadcast."""
    try:
        wanted = np.broadcast_shapes(*map(shape_of, op.operands))
    except ValueError:
        sizes = " and ".join(str(list(shape_of(value))) for value in op.operands)
        raise Unsupported(f"the shapes {sizes} do not broadcast") from None
    parts = (value if value.shape == wanted else rw.emit("top.Expand", value, shape=wanted) for value in op.operands)
    return as_complex(rw, rw.emit("top.Pack", *parts, axis=-1))


@TABLE("Real", "Imag", anything=True)
def part(op: Op, rw: Rewriter) -> Value:
    """Real, Imag; of real numbers they are themselves, and 0."""
    value = op.operands[0]
    if not is_complex(value):
        return value if op.name == "tf.Real" else splat(rw, 0, shape_of(value), value.element)
    real, imaginary = rw.emit("top.Unpack", pair_of(rw, value), axis=-1)
    return real if op.name == "tf.Real" else imaginary


@TABLE("ComplexAbs", anything=True)
def complex_abs(op: Op, rw: Rewriter) -> Value:
    """ComplexAbs: the length of the pair."""
    return rw.emit("top.Reduce", pair_of(rw, op.operands[0]), axes=(-1,), keepdims=False, mode="ReduceL2")


@TABLE("Angle", anything=True)
def angle(op: Op, rw: Rewriter) -> Value:
    """Angle of complex numbers."""
    real, imaginary = rw.emit("top.Unpack", pair_of(rw, op.operands[0]), axis=-1)
    return rw.emit("top.Atan2", imaginary, real)


@TABLE("Conj", anything=True)
def conj(op: Op, rw: Rewriter) -> Value:
    """Conj; real numbers are their own."""
    value = op.operands[0]
    if not is_complex(value):
        return value
    pair = pair_of(rw, value)
    return as_complex(rw, rw.emit("top.Mul", pair, rw.constant(np.array([1, -1], dtype_of(pair.element)), element=pair.element)))


# --- transforms

_FORWARD = {"FFT": 1, "FFT2D": 2, "FFT3D": 3, "IFFT": 1, "IFFT2D": 2, "IFFT3D": 3}
_REAL = {"RFFT": 1, "RFFT2D": 2, "RFFT3D": 3}
_INVERSE_REAL = {"IRFFT": 1, "IRFFT2D": 2, "IRFFT3D": 3}


@TABLE(*_FORWARD, anything=True)
def fft(op: Op, rw: Rewriter) -> Value:
    """FFT, FFT2D, FFT3D and their inverses, over the last one, two or three dimensions."""
    name = op.name.removeprefix("tf.")
    pair = pair_of(rw, op.operands[0])
    sizes = shape_of(pair, least=1 + _FORWARD[name], what="the pairs that the numbers are,")
    for axis in range(len(sizes) - 1 - _FORWARD[name], len(sizes) - 1):
        pair = transformed(rw, pair, axis, basis(sizes[axis], sizes[axis], 2, name.startswith("I")))
    return as_complex(rw, pair)


@TABLE(*_REAL)
def rfft(op: Op, rw: Rewriter) -> Value:
    """RFFT, RFFT2D, RFFT3D of constant lengths: the input is cut or filled up with zeros; half of the last dimension."""
    count = _REAL[op.name.removeprefix("tf.")]
    lengths = constant_sizes(rw, op.operands[1], "the lengths of the transform", count, least=1)
    value = _fitted(rw, op.operands[0], lengths)
    sizes = shape_of(value, least=count)
    pair = transformed(rw, reshape(rw, value, (*sizes, 1)), len(sizes) - 1, basis(lengths[-1], lengths[-1] // 2 + 1, 1))
    for axis in range(len(sizes) - count, len(sizes) - 1):
        pair = transformed(rw, pair, axis, basis(sizes[axis], sizes[axis], 2))
    return as_complex(rw, pair)


@TABLE(*_INVERSE_REAL, anything=True)
def irfft(op: Op, rw: Rewriter) -> Value:
    """IRFFT, IRFFT2D, IRFFT3D of constant lengths: of one half of the spectrum, the other being its mirror image."""
    count = _INVERSE_REAL[op.name.removeprefix("tf.")]
    lengths = constant_sizes(rw, op.operands[1], "the lengths of the transform", count, least=1)
    needed = (*lengths[:-1], lengths[-1] // 2 + 1)
    pair = pair_of(rw, op.operands[0])
    rank = len(shape_of(pair)) - 1
    pair = _fitted(rw, pair, needed, behind=1)
    for axis in range(rank - count, rank - 1):
        pair = transformed(rw, pair, axis, basis(shape_of(pair)[axis], shape_of(pair)[axis], 2, True))
    length = lengths[-1]
    real = transformed(rw, pair, rank - 1, mirrored_basis(length))
    return cast(rw, reshape(rw, real, shape_of(real)[:-1]), element_of(op))


def _fitted(rw: Rewriter, value: Value, lengths: tuple[int, ...], behind: int = 0) -> Value:
    """The last dimensions (but `behind` of them) cut or filled up with zeros to lengths."""
    sizes = shape_of(value, least=len(lengths) + behind)
    first = len(sizes) - behind - len(lengths)
    paddings = [0] * (2 * len(sizes))
    for axis, length in enumerate(lengths, first):
        value = slice_along(rw, value, axis, 0, min(length, sizes[axis]))
        paddings[len(sizes) + axis] = max(length - sizes[axis], 0)
    return rw.emit("top.Pad", value, paddings=tuple(paddings)) if any(paddings) else value


# --- ops that have rules for real numbers, of complex ones

SHARED = TfTable()
"""Tried before the rules for real tensors."""


@SHARED("Add", "AddV2", "Sub", "Neg", anything=True)
def sums(op: Op, rw: Rewriter) -> Value | None:
    """Add, AddV2, Sub, Neg of complex numbers: those of the pairs."""
    if not is_complex(op.results[0]):
        return None
    pairs = [pair_of(rw, value) for value in op.operands]
    rank = max(len(shape_of(pair)) for pair in pairs)
    pairs = [reshape(rw, pair, ((1,) * (rank - len(shape_of(pair))) + shape_of(pair))) for pair in pairs]
    hub = {"tf.Sub": "top.Sub", "tf.Neg": "top.Neg"}.get(op.name, "top.Add")
    return as_complex(rw, rw.emit(hub, *pairs))


@SHARED("Mul", anything=True)
def mul(op: Op, rw: Rewriter) -> Value | None:
    """Mul of complex numbers."""
    return product(rw, *op.operands) if is_complex(op.results[0]) else None


@SHARED("Exp", anything=True)
def exp(op: Op, rw: Rewriter) -> Value | None:
    """Exp of complex numbers: the length is that of the real part, the angle the imaginary part."""
    if not is_complex(op.results[0]):
        return None
    real, imaginary = rw.emit("top.Unpack", pair_of(rw, op.operands[0]), axis=-1)
    length = rw.emit("top.Exp", real)
    parts = [rw.emit("top.Mul", length, rw.emit(name, imaginary)) for name in ("top.Cos", "top.Sin")]
    return as_complex(rw, rw.emit("top.Pack", *parts, axis=-1))


@SHARED("Div", "RealDiv", anything=True)
def quotient(op: Op, rw: Rewriter) -> Value | None:
    """Div, RealDiv of complex numbers: the product with the conjugate, divided by the square of the length."""
    if not is_complex(op.results[0]):
        return None
    (a, b), (c, d) = (rw.emit("top.Unpack", pair_of(rw, value), axis=-1) for value in op.operands)

    def times(one: Value, other: Value) -> Value:
        return rw.emit("top.Mul", one, other)

    square = rw.emit("top.Add", rw.emit("top.Square", c), rw.emit("top.Square", d))
    parts = (rw.emit("top.Add", times(a, c), times(b, d)), rw.emit("top.Sub", times(b, c), times(a, d)))
    return as_complex(rw, rw.emit("top.Pack", *(rw.emit("top.Div", part, square) for part in parts), axis=-1))


_BY_PARTS = (
    "StridedSlice", "Slice", "Pad", "Concat", "ConcatV2", "Pack", "Unpack", "Split", "SplitV", "Gather", "GatherV2", "GatherNd",
        "Tile",
    "BroadcastTo", "ReverseV2", "Roll", "Sum", "Mean", "Cumsum", "Select", "SelectV2")
"""Ops that do to real and imaginary parts what they do to real numbers."""
_OF_REAL = movement.TABLE + gather.TABLE + reduce.TABLE + shape.TABLE + elementwise.TABLE


@SHARED(*_BY_PARTS, anything=True)
def moved_by_parts(op: Op, rw: Rewriter) -> list[Value] | None:
    """Ops that move or add complex numbers: by the rules for real ones, part by part."""
    return by_parts(op, rw, _OF_REAL) if op.results and is_complex(op.results[0]) else None


@SHARED("Identity", "Snapshot", "StopGradient", anything=True)
def passed(op: Op, rw: Rewriter) -> Value | None:
    """Identity, Snapshot, StopGradient of complex numbers."""
    return as_complex(rw, pair_of(rw, op.operands[0])) if is_complex(op.results[0]) else None


@SHARED("Reshape", "ExpandDims", "Squeeze", "Transpose", anything=True)
def moved(op: Op, rw: Rewriter) -> Value | None:
    """Reshape, ExpandDims, Squeeze, Transpose of complex numbers: the pair stays last."""
    if not is_complex(op.results[0]):
        return None
    pair = pair_of(rw, op.operands[0])
    sizes = shape_of(pair)[:-1]
    if op.name == "tf.Squeeze":
        named = {axis_of(int(axis), len(sizes)) for axis in op.attribute("squeeze_dims") or ()}
        wanted = tuple(size for axis, size in enumerate(sizes) if (axis not in named if named else size != 1))
        return as_complex(rw, reshape(rw, pair, (*wanted, 2)))
    if op.name == "tf.ExpandDims":
        axis = axis_of(constant_int(rw, op.operands[1], "the dimension"), len(sizes) + 1)
        return as_complex(rw, reshape(rw, pair, (*sizes[:axis], 1, *sizes[axis:], 2)))
    numbers = constant_ints(rw, op.operands[1], "the shape or order")
    if op.name == "tf.Transpose":
        return as_complex(rw, permute(rw, pair, (*(axis_of(axis, len(sizes)) for axis in numbers), len(sizes))))
    return as_complex(rw, rw.emit("top.Reshape", pair, shape=(*numbers, 2)))


@SHARED("Cast", anything=True)
def cast_(op: Op, rw: Rewriter) -> Value | None:
    """Cast of complex numbers to real ones (the real part), of real ones to complex."""
    value = op.operands[0]
    if is_complex(value):
        real = rw.emit("top.Unpack", pair_of(rw, value), axis=-1)[0]
        if is_complex(op.results[0]):
            return as_complex(rw, cast(rw, pair_of(rw, value), element_of(op).element))  # type: ignore[attr-defined]
        return cast(rw, real, element_of(op))
    if not is_complex(op.results[0]):
        return None
    real = cast(rw, value, element_of(op).element)  # type: ignore[attr-defined]
    return imaginary_zero(rw, real)


@SHARED("Const", anything=True)
def const(op: Op, rw: Rewriter) -> Value | None:
    """Const of complex numbers."""
    held = op.attributes.get("value")
    if not is_complex(op.results[0]) or held is None:
        return None
    array = held.numpy()
    return as_complex(rw, rw.constant(np.ascontiguousarray(np.stack([array.real, array.imag], axis=-1))))

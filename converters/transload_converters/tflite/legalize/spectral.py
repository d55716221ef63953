"""RFFT2D, and what LiteRT computes of complex numbers, which the hub has as pairs (`transload_hub.complex_numbers`).

A Fourier transform is a matrix product, which every target has.

Source: `tensorflow/lite/kernels/rfft2d.cc`, `complex_support.cc`, `cast.cc`, `mul.cc`.
"""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.complex_numbers import as_complex, by_parts, imaginary_zero, is_complex, pair_of, product
from transload_hub.spectral import waves

from . import constants, elementwise, gather, movement, slicing
from .common import constant_ints, limited, static_shape
from .quantization import cast as real_cast
from .storage import applied

__all__ = ["TABLE", "refusing"]

TABLE = RewriteTable()
"""Tried before the rules for real tensors, which the ops on complex ones share their names with."""

_LONGEST = 1 << 13


@TABLE("tfl.rfft2d")
def rfft2d(op: Op, rw: Rewriter) -> Value:
    """RFFT2D: the last two dimensions cut or filled up with zeros to fft_length, then transformed; half of the columns."""
    lengths = constant_ints(rw, op.operands[1], "the lengths of the transform")
    sizes = static_shape(op.operands[0], "the input", least=2)
    if len(lengths) != 2:
        raise Unsupported(f"the lengths of the transform are {list(lengths)}; two are wanted")
    height, width = (limited(length, "the length of a transform", _LONGEST) for length in lengths)
    if not height or not width:
        raise Unsupported("a transform of no numbers is not supported")
    value = _fitted(rw, op.operands[0], sizes, (height, width))
    cosines, sines = waves(width, width // 2 + 1, width)
    real, imaginary = (
        rw.emit("top.MatMul", value, rw.constant(part.astype(np.float32))) for part in (cosines, 0.0 - sines))
    if height > 1:
        cosine, sine = (rw.constant(part.astype(np.float32)) for part in waves(height, height, height))
        real, imaginary = (
            rw.emit("top.Add", rw.emit("top.MatMul", cosine, real), rw.emit("top.MatMul", sine, imaginary)),
            rw.emit("top.Sub", rw.emit("top.MatMul", cosine, imaginary), rw.emit("top.MatMul", sine, real)))
    return as_complex(rw, rw.emit("top.Pack", real, imaginary, axis=-1))


def _fitted(rw: Rewriter, value: Value, sizes: tuple[int, ...], lengths: tuple[int, int]) -> Value:
    """The last two dimensions with the given sizes."""
    kept = (*sizes[:-2], *(min(size, length) for size, length in zip(sizes[-2:], lengths, strict=True)))
    if kept != sizes:
        value = rw.emit("top.Slice", value, offset=(0,) * len(kept), ends=kept, steps=(1,) * len(kept))
    missing = tuple(length - size for size, length in zip(kept[-2:], lengths, strict=True))
    if any(missing):
        value = rw.emit("top.Pad", value, paddings=(0,) * (2 * len(kept) - 2) + missing)
    return value


# --- to and from real numbers

@TABLE("tfl.pseudo_const")
def constant(op: Op, rw: Rewriter) -> Value | None:
    """A constant of complex numbers: of pairs."""
    return as_complex(rw, pair_of(rw, op.results[0])) if is_complex(op.results[0]) else None


@TABLE("tfl.complex_abs")
def complex_abs(op: Op, rw: Rewriter) -> Value:
    """COMPLEX_ABS: the length of the pair."""
    return rw.emit("top.Reduce", pair_of(rw, op.operands[0]), axes=(-1,), keepdims=False, mode="ReduceL2")


@TABLE("tfl.real", "tfl.imag")
def part(op: Op, rw: Rewriter) -> Value:
    """REAL, IMAG: one of the pair."""
    real, imaginary = rw.emit("top.Unpack", pair_of(rw, op.operands[0]), axis=-1)
    return real if op.name == "tfl.real" else imaginary


@TABLE("tfl.cast")
def cast(op: Op, rw: Rewriter) -> Value | None:
    """CAST: of complex numbers the real part is kept; real ones have no imaginary part (`cast.cc`, copyCast)."""
    value, result = op.operands[0], op.results[0]
    if is_complex(value):
        pair = pair_of(rw, value)
        if is_complex(result):
            return as_complex(rw, rw.emit("top.Cast", pair, element=result.element.element))  # type: ignore[attr-defined]
        return applied(real_cast, op, rw, [rw.emit("top.Unpack", pair, axis=-1)[0]], None)
    if not is_complex(result):
        return None
    return imaginary_zero(rw, rw.emit("top.Cast", value, element=result.element.element))  # type: ignore[attr-defined]


# --- ops that have rules for real numbers, of complex ones

_OF_REAL = constants.TABLE + elementwise.TABLE + movement.TABLE + slicing.TABLE + gather.TABLE


@TABLE("tfl.reshape", "tfl.squeeze", "tfl.expand_dims", "tfl.transpose", "tfl.slice", "tfl.strided_slice", "tfl.tile",
       "tfl.select_v2", "tfl.dynamic_update_slice", "tfl.add", "tfl.sub")
def moved(op: Op, rw: Rewriter) -> list[Value] | None:
    """What moves complex numbers or adds them: by the rules for real ones, part by part."""
    return by_parts(op, rw, _OF_REAL) if is_complex(op.results[0]) else None


@TABLE("tfl.mul")
def mul(op: Op, rw: Rewriter) -> Value | None:
    """MUL (`mul.cc`, EvalMul of complex numbers)."""
    return product(rw, *op.operands) if is_complex(op.results[0]) else None


def refusing(rules: RewriteTable) -> RewriteTable:
    """Refuses what is complex in the ops of `rules`, which are for real numbers; but for those that ask for the shape alone."""
    table = RewriteTable()
    table(*(name for name in rules.functions if name not in ("tfl.shape", "tfl.rank")))(_refused)
    return table


def _refused(op: Op, rw: Rewriter) -> None:
    if any(is_complex(value) for value in (*op.operands, *op.results)):
        raise Unsupported("works on complex numbers, which LiteRT has no kernel for here, either",
                          "take them apart before, by REAL, IMAG or COMPLEX_ABS")

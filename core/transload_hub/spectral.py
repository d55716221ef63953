"""Fourier transforms as products with constant matrices, which every target has; complex numbers are pairs in a last dimension.

`X[k] = sum over n of x[n] * exp(-2 pi i k n / N)`; the inverse has the other sign and is divided by N.
"""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import Value, dtype_of
from transload.ir.build import Builder

from . import tables
from .build import MAX_CONSTANT, permute, reshape

__all__ = ["basis", "mirrored_basis", "transformed", "waves"]


def waves(rows: int, columns: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of `row * column / length` turns, `[rows, columns]`, float64.

    Those of quarter turns are exact, and what has the same size by symmetry is the same number: some results of real signals
    are real, not nearly so, and which way a number next to 0 lies would decide on phases of half a turn.
    """
    length = max(length, 1)
    quarter, rest = np.divmod(4 * tables.arange(length), length)  # a turn is 4 quarters, each of `length` steps
    beyond = 2 * rest > length  # half of a quarter, from where one is the other
    angle = (math.pi / 2) * np.where(beyond, length - rest, rest) / length
    near = np.cos(angle), np.where(2 * rest == length, np.cos(angle), np.sin(angle))
    cosine, sine = np.where(beyond, near[::-1], near)
    turned = np.stack([cosine, -sine, -cosine, sine]) + 0.0, np.stack([sine, cosine, -sine, -cosine]) + 0.0  # no -0.0
    places = tables.outer(tables.arange(rows), tables.arange(columns)) % length
    return tuple(np.take_along_axis(each, quarter[None], 0)[0][places] for each in turned)


def basis(length: int, frequencies: int, parts: int, inverse: bool = False) -> np.ndarray:
    """`[length, parts, frequencies, 2]`, float64: what each element, real (and imaginary), adds to real and imaginary results.

    `parts` is 1 of real elements, 2 of complex ones. `Unsupported` where it would be too large.
    """
    if length * parts * frequencies * 2 > MAX_CONSTANT >> 2:
        raise Unsupported(f"transforms {length:,} elements; the matrix for it would be too large")
    cosine, sine = waves(length, frequencies, length)
    sine = sine if inverse else -sine
    made = np.stack([np.stack([cosine, sine], -1), np.stack([-sine, cosine], -1)][:parts], axis=1) + 0.0  # no -0.0
    return made / length if inverse else made


def mirrored_basis(length: int) -> np.ndarray:
    """`[length // 2 + 1, 2, length, 1]`: the real signal of half of its spectrum, of which the other half is the mirror image."""
    needed = length // 2 + 1
    made = basis(length, length, 2, True)[:needed, :, :, :1].copy()
    made[1 : needed if length % 2 else needed - 1] *= 2.0
    return made


def transformed(build: Builder, value: Value, axis: int, matrix: np.ndarray) -> Value:
    """The product of an axis of `value`, and of the parts in its last dimension, with a `[length, parts, frequencies, made]`."""
    shape = value.static_shape
    rank = len(shape)
    order = [*(i for i in range(rank - 1) if i != axis), axis, rank - 1]
    outer = [shape[i] for i in order[:-2]]
    length, parts, frequencies, made = matrix.shape
    held = build.constant(
        matrix.reshape(length * parts, frequencies * made).astype(dtype_of(value.element)), element=value.element)
    flat = reshape(build, permute(build, value, order), (math.prod(outer), length * parts))
    result = reshape(build, build.emit("top.MatMul", flat, held), (*outer, frequencies, made))
    return permute(build, result, [order.index(i) for i in range(rank)])

"""`tosa.resize`: nearest and bilinear, integers with the fraction in the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .base import float_of, is_float, kernel, result_dtype, to_result

if TYPE_CHECKING:
    from ..dialect.movement import Resize


def _positions(size: int, out: int, n: int, d: int, offset: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each output place: the input before it, the one after it, and how far it lies between, in units of 1/n."""
    position = np.arange(out, dtype=np.int64) * d + offset
    before = np.floor_divide(position, n)
    fraction = position - before * n
    return np.clip(before, 0, size - 1), np.clip(before + 1, 0, size - 1), fraction


@kernel("tosa.resize")
def resize(op: Resize, x: np.ndarray, scale: np.ndarray, offset: np.ndarray, border: np.ndarray) -> np.ndarray:
    """Samples `x` at `(o * scale_d + offset) / scale_n` in both directions."""
    y_n, y_d, x_n, x_d = map(int, scale)
    height, width = x.shape[1:3]
    out_h = ((height - 1) * y_n - int(offset[0]) + int(border[0])) // y_d + 1
    out_w = ((width - 1) * x_n - int(offset[1]) + int(border[1])) // x_d + 1
    y0, y1, dy = _positions(height, out_h, y_n, y_d, int(offset[0]))
    x0, x1, dx = _positions(width, out_w, x_n, x_d, int(offset[1]))
    if op.attributes["mode"] != "BILINEAR":
        rows = np.where(2 * dy >= y_n, y1, y0)
        columns = np.where(2 * dx >= x_n, x1, x0)
        return x[:, rows][:, :, columns]
    # Along the height first, then the width: sums of products, the same whichever comes first.
    if is_float(op.operands[0]):
        wide = float_of(x)
        wy = (dy / y_n).astype(np.float32)[:, None, None]
        wx = (dx / x_n).astype(np.float32)[:, None]
        rows_ = wide[:, y0] * (1 - wy) + wide[:, y1] * wy
        return to_result(op, rows_[:, :, x0] * (1 - wx) + rows_[:, :, x1] * wx)
    # At most 2^15 * 2048 * 2048 < 2^63: int64 holds i48 sums, int32 those of i8 (2^7 * 2^22).
    dtype = result_dtype(op)
    wide = x.astype(dtype)
    wy, wx = dy.astype(dtype)[:, None, None], dx.astype(dtype)[:, None]
    lines = wide[:, y0] * (dtype.type(y_n) - wy) + wide[:, y1] * wy
    return lines[:, :, x0] * (dtype.type(x_n) - wx) + lines[:, :, x1] * wx

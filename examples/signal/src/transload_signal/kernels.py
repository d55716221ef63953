"""What executes the ops: numpy functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload import KernelTable

__all__ = ["KERNELS"]

KERNELS = KernelTable()


@KERNELS("signal.Delta")
def delta(op: Any, x: np.ndarray) -> np.ndarray:
    return np.diff(x, axis=op.axis)


@KERNELS("signal.Interleave", quantized="storage")
def interleave(op: Any, x: np.ndarray) -> np.ndarray:
    axis = op.axis % x.ndim
    parts = x.reshape(*x.shape[:axis], op.ways, -1, *x.shape[axis + 1 :])
    return np.swapaxes(parts, axis, axis + 1).reshape(x.shape)


@KERNELS("signal.Extremes", quantized="storage")
def extremes(op: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x.min(axis=op.axis), x.max(axis=op.axis)

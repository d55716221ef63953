"""Fourier transforms."""

from __future__ import annotations

import numpy as np

from transload.ir import Op

from .base import kernel


@kernel("tosa.fft2d")
def fft2d(op: Op, real: np.ndarray, imaginary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both directions unscaled."""
    whole = real.astype(np.float64) + 1j * imaginary.astype(np.float64)
    inverse = op.attributes["inverse"]
    out = np.fft.ifft2(whole, axes=(1, 2), norm="forward") if inverse else np.fft.fft2(whole, axes=(1, 2))
    return out.real.astype(np.float32), out.imag.astype(np.float32)


@kernel("tosa.rfft2d")
def rfft2d(op: Op, real: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The half of the spectrum that real input leaves free."""
    out = np.fft.rfft2(real.astype(np.float64), axes=(1, 2))
    return out.real.astype(np.float32), out.imag.astype(np.float32)

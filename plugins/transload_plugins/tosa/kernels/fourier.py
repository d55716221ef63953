"""Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .base import kernel

if TYPE_CHECKING:
    from ..dialect.product import Fft2d, Rfft2d


@kernel("tosa.fft2d")
def fft2d(op: Fft2d, real: np.ndarray, imaginary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both directions unscaled."""
    whole = real.astype(np.float64) + 1j * imaginary.astype(np.float64)
    inverse = op.attributes["inverse"]
    out = np.fft.ifft2(whole, axes=(1, 2), norm="forward") if inverse else np.fft.fft2(whole, axes=(1, 2))
    return out.real.astype(np.float32), out.imag.astype(np.float32)


@kernel("tosa.rfft2d")
def rfft2d(op: Rfft2d, real: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The half of the spectrum that real input leaves free."""
    out = np.fft.rfft2(real.astype(np.float64), axes=(1, 2))
    return out.real.astype(np.float32), out.imag.astype(np.float32)

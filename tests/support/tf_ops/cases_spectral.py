"""Fourier transforms and complex numbers."""

from __future__ import annotations

from .spec import cases, each, ints, x

_C = "complex64"

CASES = [
    *cases("FFT IFFT", each(x(8), x(2, 6), x(2, 3, 5)), types=_C),
    *cases("FFT2D IFFT2D", each(x(4, 6), x(2, 3, 5)), types=_C),
    *cases("FFT3D IFFT3D", x(2, 3, 4), types=_C),
    *cases("RFFT", each(x(8), x(2, 6)), each(ints(6), ints(5))),
    *cases("RFFT2D", x(2, 4, 6), each(ints(4, 6), ints(3, 5))),
    *cases("RFFT3D", x(3, 4, 6), ints(3, 4, 6)),
    *cases("IRFFT", each(x(5), x(2, 7)), each(ints(8), ints(7)), types=_C),
    *cases("IRFFT2D", x(2, 4, 4), each(ints(4, 6), ints(3, 5)), types=_C),
    *cases("IRFFT3D", x(3, 4, 4), ints(3, 4, 6), types=_C),
    *cases("Real Imag ComplexAbs Angle Conj", x(3, 4), types=_C),
    *cases("Complex", x(3, 4), x(3, 4)),
    *cases("Add AddV2 Sub Mul", x(3, 4), each(x(3, 4), x(4)), types=_C),
    *cases("Neg Identity", x(3, 4), types=_C),
    *cases("Reshape", x(3, 4), ints(2, -1), types=_C),
    *cases("Transpose", x(3, 4), ints(1, 0), types=_C),
    *cases("ExpandDims", x(3, 4), ints(1), types=_C),
    *cases("Squeeze", x(3, 1, 4), types=_C),
    *cases("Cast", x(3, 4), types=_C, DstT="float32"),
    *cases("Cast", x(3, 4), types="float32", DstT=_C),
]

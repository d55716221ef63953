"""Fourier transforms and complex numbers."""

from __future__ import annotations

from .spec import cases, each, ints, scalar, values, x

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
    *cases("Exp", x(3, 4), types=_C),
    *cases("Div RealDiv", x(3, 4), each(x(3, 4), x(4)), types=_C),
    *cases("StridedSlice", x(3, 4), ints(0, 1), ints(2, 4), ints(1, 2), types=_C),
    *cases("Slice", x(3, 4), ints(1, 0), ints(2, 2), types=_C),
    *cases("Pad", x(2, 3), values([[1, 0], [0, 2]], "int32").const, types=_C),
    *cases("ConcatV2", x(2, 3), x(2, 2), scalar(1), types=_C),
    *cases("Pack", x(2, 3), x(2, 3), axis=1, types=_C),
    *cases("Unpack", x(2, 3), num=2, types=_C),
    *cases("Split", scalar(1), x(2, 4), num_split=2, types=_C),
    *cases("GatherV2", x(4, 3), values([2, 0], "int32"), scalar(0), types=_C),
    *cases("Tile", x(2, 3), ints(1, 2), types=_C),
    *cases("ReverseV2", x(2, 3), ints(1), types=_C),
    *cases("Sum Mean", x(2, 3), ints(1), types=_C),
    *cases("Cumsum", x(2, 3), scalar(1), types=_C),
    *cases("SelectV2", values([True, False, True], "bool"), x(2, 3), x(3), types=_C),
    *cases("Neg Identity", x(3, 4), types=_C),
    *cases("Reshape", x(3, 4), ints(2, -1), types=_C),
    *cases("Transpose", x(3, 4), ints(1, 0), types=_C),
    *cases("ExpandDims", x(3, 4), ints(1), types=_C),
    *cases("Squeeze", x(3, 1, 4), types=_C),
    *cases("Cast", x(3, 4), types=_C, DstT="float32"),
    *cases("Cast", x(3, 4), types="float32", DstT=_C),
]

"""numpy kernels of all TOSA ops: integers bit for bit as the specification's pseudo-code, floats to its tolerance."""

from . import control, conversion, convolution, elementwise, fourier, matrix, movement, pooling, reduction, resize, shapes
from .base import KERNELS

__all__ = [
    "KERNELS", "control", "conversion", "convolution", "elementwise", "fourier", "matrix", "movement", "pooling", "reduction",
    "resize", "shapes",
]

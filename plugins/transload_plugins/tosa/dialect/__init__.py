"""The `tosa` dialect: Tensor Operator Set Architecture 1.0, with the operators 1.1 adds, named as in MLIR.

Each module declares one chapter of the specification. Section numbers in docstrings are those of the
TOSA 0.30 specification; where 1.0 differs (zero points, shapes and scales became operands), the
docstring says how.
"""

from . import control, conversion, elementwise, movement, product, reduction, shapes, spatial
from .base import SHAPE, TOSA, dims_of, shape_rank, shape_type, storage

__all__ = [
    "SHAPE", "TOSA", "control", "conversion", "dims_of", "elementwise", "movement", "product", "reduction", "shape_rank",
    "shape_type", "shapes", "spatial", "storage",
]

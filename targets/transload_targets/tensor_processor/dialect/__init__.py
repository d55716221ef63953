"""Dialect `tpu`: the operations of a tensor processor, after chapter 8 of the TPU-MLIR manual.

A module a family of ops. Importing the package declares all of them.
"""

from . import conversion, elementwise, functions, movement, pooling, products, resizing, rows, tables
from .base import TPU

__all__ = ["TPU"]

FAMILIES = (products, elementwise, functions, pooling, resizing, rows, tables, conversion, movement)

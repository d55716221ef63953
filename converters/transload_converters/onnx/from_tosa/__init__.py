"""From TOSA to ONNX, operator by operator: integers to the last bit, at every level of onnxruntime's optimizer.

TOSA says of each operator on integers which number it gives; here that is said in operators of ONNX on numbers that are exact,
integers or floats that hold them. A module a family of operators, each with a `RewriteTable`.
"""

from __future__ import annotations

from transload.rewrite import RewriteTable

from . import control, movement, pointwise, pooling, products, rescale

__all__ = ["TABLE"]

TABLE: RewriteTable = sum((family.TABLE for family in (movement, pointwise, rescale, products, pooling, control)), RewriteTable())

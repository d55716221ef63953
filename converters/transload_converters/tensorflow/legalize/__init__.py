"""`tf` to `top`: one function an op of TensorFlow, by family."""

from __future__ import annotations

from transload.rewrite import RewriteTable

from . import activation, control, conv, elementwise, lists, matmul, movement, normalization, pool, reduce, shape

__all__ = ["TABLE"]

TABLE = RewriteTable()
for _family in (activation, control, conv, elementwise, lists, matmul, movement, normalization, pool, reduce, shape):
    TABLE = TABLE + _family.TABLE

"""Caffe to `top`: one small function a type of layer.

The functions are grouped by subject; `common` holds what they share.
"""

from __future__ import annotations

from functools import reduce as _join
from operator import add
from typing import Any

from transload.errors import Unsupported
from transload.ir import ElidedData, Op, Value
from transload.rewrite import Rewriter, RewriteTable

from . import convolution, detection, detectors, elementwise, movement, normalization, pooling, recurrent, regions

__all__ = ["TABLE"]

_FAMILIES = (convolution, detection, detectors, elementwise, movement, normalization, pooling, recurrent, regions)

_CONSTANTS = RewriteTable()


@_CONSTANTS("caffe.Blob")
def blob(op: Any, rw: Rewriter) -> Value:
    """Weights; where a network was read without them, there is nothing to convert."""
    if isinstance(op.value.data, ElidedData):
        raise Unsupported("these weights are missing: the network was read without them",
                          "--weights FILE.caffemodel says where they are")
    return rw.constant(op.value)


@_CONSTANTS("caffe.NoValue")
def no_value(op: Op, rw: Rewriter) -> Value:
    """An absent operand."""
    return rw.none("top")


TABLE: RewriteTable = _join(add, (family.TABLE for family in _FAMILIES), _CONSTANTS)

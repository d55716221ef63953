"""Shapes, which are values in TOSA (`!tosa.shape`), and operators on them (since 1.1).

All sizes are known: an operator on shapes becomes the constant that it computes, and constants stay until the
operators that read them are converted, whose attributes they become.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import OpenSizes, RunError
from transload.ir import Dense, Op, TensorType, Value
from transload.ir.build import constant_of
from transload.ir.types import INDEX
from transload.plugin_host import host
from transload.rewrite import CHANGED, Rewriter, RewriteTable, Unsupported

if TYPE_CHECKING:
    from ...tosa.dialect.conversion import ConstShape

__all__ = ["TABLE"]

TABLE = RewriteTable()

OPERATORS = tuple(f"tosa.{name}" for name in (
    "add_shape", "sub_shape", "mul_shape", "div_ceil_shape", "div_floor_shape", "mod_shape", "max_shape", "min_shape",
    "exp2_shape", "log2_ceil_shape", "log2_floor_shape", "concat_shape", "slice_shape", "dim", "assert_equal_shape"))


@TABLE("tosa.const_shape")
def const_shape(op: ConstShape, rw: Rewriter) -> Any:
    """Stays; the conversion removes it at its end."""
    return CHANGED


@TABLE(*OPERATORS)
def operator(op: Op, rw: Rewriter) -> list[Value]:
    """What the operator's kernel computes."""
    found = host().kernel(op.name)
    inputs = [_known(value) for value in op.operands]
    if found is None or any(array is None for array in inputs):
        raise OpenSizes("sizes are computed at run time")
    try:
        sizes = found[0](op, *inputs)
    except RunError as error:
        raise Unsupported(error.message) from None
    if not op.results:
        return []
    dense = Dense(np.asarray(sizes, np.int64).reshape(-1), TensorType((len(sizes),), INDEX))
    return [rw.create("tosa.const_shape", (), (op.results[0].type,), {"values": dense}).results[0]]


def _known(value: Value) -> Any:
    """What a constant holds; of a tensor of known shape, an array of that shape that takes no memory."""
    dense = constant_of(value)
    if dense is not None:
        return dense.numpy()
    type_ = value.type
    if isinstance(type_, TensorType) and type_.is_static:
        return np.broadcast_to(np.zeros((), np.int8), type_.shape)  # type: ignore[arg-type]
    return None

"""What several parts of `arrange-for-lanes` ask of a tensor or an op."""

from __future__ import annotations

import numpy as np

from transload.ir import Op, QuantType, Value, dtype_of, is_absent
from transload.ir.build import constant_of

from ..instructions import ELEMENTS

__all__ = ["MOVES", "bits_of", "by_channel", "elements_of", "is_elementwise", "is_move", "one_number"]

MOVES = ("tpu.reshape", "tpu.permute", "tpu.slice")


def by_channel(value: Value) -> bool:
    """Whether a tensor's numbers have a scale for each index of a dimension, which a move would have to turn, too."""
    return not is_absent(value) and isinstance(value.element, QuantType) and value.element.axis is not None


def bits_of(value: Value) -> int:
    """Bits of a tensor's element as it is stored."""
    element = value.stored_element
    return 0 if element is None else ELEMENTS[str(dtype_of(element))].bits


def is_elementwise(op: Op) -> bool:
    """Whether an op of dialect `tpu` makes each element of its result of the elements at the same place."""
    declaration = op.declaration
    return op.dialect == "tpu" and declaration is not None and "elementwise" in declaration.traits


def is_move(op: Op) -> bool:
    """Whether an op gives elements as they are at other places; a reshape that reads their bits as other numbers does not."""
    return op.name in MOVES and op.operands[0].element == op.results[0].element


def elements_of(op: Op) -> int:
    """How many of an elementwise op's operands, the first ones, have an element for each of the result."""
    return 1 if op.name == "tpu.table" else len(op.operands)


def one_number(value: Value) -> np.ndarray | None:
    """The one number of a constant that has no other, as an array of one element; None of all else."""
    dense = None if is_absent(value) else constant_of(value)
    if dense is None:
        return None
    array = dense.numpy().reshape(-1)
    return array[:1] if array.size and (array == array[0]).all() else None

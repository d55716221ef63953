"""Which operands and results of a hub op hold the same kind of numbers.

Ops of the hub do not convert: what they compute with has one element type, and their results have it too. Scales and zero
points may differ. Apart from those are operands and results that the declaration itself says hold integers or flags (indices,
lengths, conditions), and ops with the trait "retypes", whose result has a type of its own. Products have the trait "widens":
their sums, and a bias, may be of wider numbers than what is multiplied, as of int8 in int32.
"""

from __future__ import annotations

from typing import Any

from transload.analysis.movement import moves_of
from transload.ir.constants import dtype_of
from transload.ir.core import Op, Value
from transload.ir.declare import INT_TENSOR, OpDeclaration, constraint
from transload.ir.types import ComplexType, FloatType, IndexType, IntegerType, QuantType, TensorType, Type

from .base import FLAG_TENSOR, OWN_NUMBER_TENSOR

__all__ = ["declare_element_types"]

_APART = (INT_TENSOR, FLAG_TENSOR, OWN_NUMBER_TENSOR)
_NUMBERS = (FloatType, IntegerType, QuantType, ComplexType, IndexType)


def declare_element_types(declaration: OpDeclaration) -> None:
    """Add to a declaration that its op holds numbers, and of one element type, where it has tensors that do."""
    if declaration.regions or declaration.traits & {"terminator", "shape_only"}:
        return
    operands, results = _places(declaration.operands), _places(declaration.results)
    if operands == []:  # all are integers, as of ShiftLeft
        operands = range(len(declaration.operands))
    retypes, widens = "retypes" in declaration.traits, "widens" in declaration.traits
    computes = "constant" not in declaration.traits

    @constraint
    def one_element_type(op: Op) -> bool | str:
        """operands and results hold numbers of one element type, but for scales and zero points"""
        held = op.operands
        values: list[Value] = [*held] if operands is None else [held[place] for place in operands if place < len(held)]
        values += op.results if results is None else [op.results[place] for place in results]
        first = None
        for value in values:
            type_ = value.type
            if type(type_) is not TensorType:
                continue
            element = type_.element
            if element is first:
                continue
            if not isinstance(element, _NUMBERS):
                return f"there is {element}"
            if first is None or retypes:
                first = element
            elif not (isinstance(first, QuantType) and isinstance(element, QuantType)) and element != first:
                if widens and value not in op.operands[:2] and _is_wider(element, first):
                    continue
                return f"there are {first} and {element}"
            elif _moves_other_storage(op, first, element):
                return f"{op.name} moves numbers, and there are {first} and {element}"
        for result in op.results if computes else ():
            quant = result.quant
            if quant is not None and quant.storage.width > 32:
                return f"there is {quant}, and nothing computes quantized numbers of 64 bits"
        return True

    declaration.constraints.append(one_element_type)


def _moves_other_storage(op: Op, first: Type | None, element: Type) -> bool:
    """Whether an op that moves quantized numbers would have to store them in another type."""
    if not isinstance(first, QuantType) or not isinstance(element, QuantType) or first.storage == element.storage:
        return False
    moves = moves_of(op)
    return moves is not None and not moves.by_value


def _is_wider(element: Type, first: Type | None) -> bool:
    """Whether an element type holds the sums of products of another: more bits of the same kind of number."""
    same_kind = any(isinstance(element, kind) and isinstance(first, kind) for kind in (IntegerType, FloatType))
    return same_kind and first is not None and dtype_of(element).itemsize > dtype_of(first).itemsize


def _places(slots: list[Any]) -> list[int] | range | None:
    """The places of operands or results that hold numbers of the op's element type; None for all of them."""
    if any(slot.variadic for slot in slots):
        return None
    return [place for place, slot in enumerate(slots) if slot.type not in _APART]

"""Functions by tables."""

from __future__ import annotations

from transload.ir import Type
from transload.ir.declare import DeclaredOp, constraint, operand, result

from .base import TPU, shape_of

__all__: list[str] = []


@TPU.op("table")
class Table(DeclaredOp):
    """A function of one stored number.

    Of 8 bits: `table[x - least]`. Of 16 bits, with `i = x - least`: between `table[i // 128]` and the next entry, linearly,
    rounded, halves up.
    """

    input = operand("int8, uint8 or int16")
    table = operand("[256], of the result's stored type; for int16 [513]")
    output = result("of the input's shape; the element type is the caller's")
    traits = ("elementwise",)

    @constraint
    def entries(op) -> bool | str:
        """the table has 256 entries for elements of 8 bits, 513 for those of 16"""
        count = {8: 256, 16: 513}.get(getattr(op.input.stored_element, "width", 0))
        return shape_of(op.table, op) == (count,) or f"{op.table.type} for {op.input.type}"

    def infer(op) -> Type:
        return op.input.type

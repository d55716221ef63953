"""Images of other sizes."""

from __future__ import annotations

from transload.ir import TensorType, Type
from transload.ir.declare import INTS, DeclaredOp, attribute, constraint, enum, operand, result

from .base import TPU, shape_of

__all__: list[str] = []


@TPU.op("resize")
class Resize(DeclaredOp):
    """Resampled to other heights and widths.

    Place p of a dimension lies at `(p * d + offset) / n` of the input. `nearest` takes the element there, halves to the one
    behind; `linear` what lies between two, of integers with exact weights of nths, rounded once. Beyond the border is the border.
    """

    input = operand("[N, C, H, W]")
    output = result("[N, C, *sizes]")
    sizes = attribute(INTS, "height and width of the result")
    rows = attribute(INTS, "n, d and offset of rows")
    columns = attribute(INTS, "n, d and offset of columns")
    mode = attribute(enum("nearest", "linear"), "how elements are made")
    rounding = attribute(enum("half-away", "half-up"), "how integers are rounded", default="half-away")

    @constraint
    def grids(op) -> bool:
        """two sizes of at least 1, and of rows and columns three numbers each, n and d positive"""
        return (len(op.sizes) == 2 and min(op.sizes) >= 1 and len(op.rows) == len(op.columns) == 3
                and min(*op.rows[:2], *op.columns[:2]) > 0)

    def infer(op) -> Type:
        n, c, _, _ = shape_of(op.input, op, 4)
        return TensorType((n, c, *op.sizes), op.input.element)

"""Means and maxima of windows."""

from __future__ import annotations

from transload.ir import TensorType, Type
from transload.ir.declare import INT, INTS, attribute, constraint, operand, result

from .base import TPU, Clamped, fail, shape_of

__all__: list[str] = []


class Pool(Clamped):
    """Base of both poolings."""

    input = operand("[N, C, H, W]")
    output = result("[N, C, OH, OW]")
    kernel = attribute(INTS, "the window: height, width")
    strides = attribute(INTS, "vertical, horizontal", default=(1, 1))
    pads = attribute(INTS, "top, left, bottom, right; does not count among the elements", default=(0, 0, 0, 0))

    @constraint
    def geometry(op) -> bool:
        """a window and strides of at least 1, four pads that are not negative"""
        return (len(op.kernel) == len(op.strides) == 2 and len(op.pads) == 4 and min(op.kernel + op.strides) >= 1
                and min(op.pads) >= 0)

    def infer(op) -> Type:
        n, c, *spatial = shape_of(op.input, op, 4)
        extra, dilations = op.attribute("padded", (0, 0, 0, 0)), op.attribute("dilations", (1, 1))
        sizes = [
            (spatial[i] + op.pads[i] + op.pads[i + 2] + extra[i] + extra[i + 2] - (op.kernel[i] - 1) * dilations[i] - 1)
            // op.strides[i] + 1 for i in range(2)]
        if min(sizes) < 1:
            raise fail(op, f"a window of {op.kernel} does not fit {tuple(spatial)} with pads {op.pads}")
        return TensorType((n, c, *sizes), op.input.element)


@TPU.op("avg_pool2d")
class AvgPool2d(Pool):
    """The mean of each window (TPU-MLIR manual 6.3.4); of integers rounded, halves away from zero.

    A window of padding alone gives 0.
    """

    padded = attribute(INTS, "padding that counts, with the number `input_zero`: top, left, bottom, right", default=(0, 0, 0, 0))
    input_zero = attribute(INT, "what `padded` holds", default=0)


@TPU.op("max_pool2d")
class MaxPool2d(Pool):
    """The greatest element of each window."""

    dilations = attribute(INTS, "distance between elements: vertical, horizontal", default=(1, 1))

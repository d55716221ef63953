"""Convolutions of which some kernel elements meet padding alone: without these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable

from ..build import slice_along

if TYPE_CHECKING:
    from ..ops.conv import Conv

__all__ = ["TABLE", "Taps", "taps_met"]

TABLE = RewriteTable()


class Taps(NamedTuple):
    """Kernel elements `first` to `last` along a dimension, and the padding for these alone."""

    first: int
    last: int
    begin: int
    end: int


@TABLE("top.Conv")
def leave_out_taps(op: Conv, rw: Rewriter) -> Any:
    """Leave out the kernel elements at both ends that meet padding alone.

    A kernel that is dilated as widely as its input, or more, is a smaller one: of 3 x 3 elements 12 apart, on an image of
    10 x 10, the one in the middle is left. Whoever computes with all of them multiplies zeros, and pads an image for them.
    """
    n, x = len(op.kernel_shape), op.input
    if not x.is_static or constant_of(op.filter) is None:
        return None
    first = 1 if op.layout == "NHWC" else 2
    along = [taps for each in zip(
        x.static_shape[first : first + n], op.kernel_shape, op.strides, op.dilations, op.pads[:n], op.pads[n:], strict=True)
        if (taps := taps_met(*each)) is not None]
    kernel = tuple(taps.last - taps.first + 1 for taps in along)
    if len(along) < n or kernel == tuple(op.kernel_shape):
        return None
    filter_ = op.filter
    for axis, taps in enumerate(along, first):
        filter_ = slice_along(rw, filter_, axis, taps.first, taps.last + 1)
    pads = (*(taps.begin for taps in along), *(taps.end for taps in along))
    attributes = {**op.attributes, "kernel_shape": kernel, "pads": pads}
    return rw.emit("top.Conv", x, filter_, *op.operands[2:], element=op.results[0].element, **attributes)


def taps_met(size: int, kernel: int, stride: int, dilation: int, begin: int, end: int) -> Taps | None:
    """The kernel elements along a dimension from the first to the last that meets the input for some output.

    Element `k` meets the input's element `p * stride + k * dilation - begin` for output `p`. None where none meets any, or
    where the padding for the rest would have to cut the input.
    """
    outputs = (size + begin + end - (kernel - 1) * dilation - 1) // stride + 1
    met = []
    for tap in range(kernel):
        earliest = max(0, -((tap * dilation - begin) // stride))  # the first output for which it is not in front of the input
        if earliest < outputs and earliest * stride + tap * dilation - begin < size:
            met.append(tap)
    if not met:
        return None
    first, last = met[0], met[-1]
    begin -= first * dilation
    least = (outputs - 1) * stride + (last - first) * dilation + 1 - size - begin
    end = max(least, 0)
    return Taps(first, last, begin, end) if begin >= 0 and end < least + stride else None

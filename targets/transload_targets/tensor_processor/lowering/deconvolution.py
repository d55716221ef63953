"""Transposed convolutions: convolutions of an input that is stretched by its strides (TPU-MLIR manual 13.1, DeconvOp)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Value
from transload.rewrite import Rewriter, RewriteTable

from .common import need, quantized, reshape, static
from .products import operands_of

if TYPE_CHECKING:
    from transload_hub.ops.conv import Deconv

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Deconv")
def deconv(op: Deconv, rw: Rewriter) -> Value:
    """Zeros between the elements, then a convolution with the filter turned round and its channels exchanged."""
    if op.layout != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    spatial = len(op.kernel_shape)
    if spatial > 2:
        raise Unsupported("convolutions of three dimensions")
    w = op.filter
    array = rw.constant_of(w)
    if array is None:
        raise Unsupported("a filter that is computed")
    if w.quant is not None and w.quant.axis is not None and (w.quant.axis != 1 or op.group > 1):
        raise Unsupported("weights with a scale for each channel, but those of the result")
    channels = static(op.result)[1]
    turned = _turned(array, op.group)
    element = w.element if w.quant is None or w.quant.axis is None else w.quant.replace(axis=0)
    x, shape = op.input, static(op.input)
    kernel, strides, dilations, pads, extra = (
        _planar(numbers, spatial, fill) for numbers, fill in (
            (op.kernel_shape, 1), (op.strides, 1), (op.dilations, 1), (op.pads, 0), (op.output_padding, 0)))
    if spatial == 1:
        x, turned = reshape(rw, x, (*shape[:2], 1, shape[2])), turned[:, :, None]
    x, behind = _stretched(rw, x, strides)
    reach = [(size - 1) * by for size, by in zip(kernel, dilations, strict=True)]
    before = [reach[i] - pads[i] for i in range(2)]
    after = [reach[i] - pads[2 + i] + extra[i] - behind[i] for i in range(2)]
    x = _cropped(rw, x, before, after)
    operands, attributes = operands_of(op, rw, "conv2d", x, rw.constant(turned, element=element), channels)
    made: Value = rw.emit(
        "tpu.conv2d", x, *operands, element=op.result.element, strides=(1, 1), dilations=tuple(dilations), groups=op.group,
        pads=tuple(max(pad, 0) for pad in (*before, *after)), **attributes)
    return reshape(rw, made, static(op.result))


def _planar(numbers: Sequence[int], spatial: int, fill: int) -> list[int]:
    """Numbers of one dimension (or of both its ends) as those of two, the first of size 1."""
    if spatial == 2:
        return list(numbers)
    return [each for number in numbers for each in (fill, number)]


def _turned(array: np.ndarray, group: int) -> np.ndarray:
    """A filter [I, O/group, kernel..] as that of the convolution, [O, I/group, kernel..], from its last place to its first."""
    inputs, each, *kernel = array.shape
    parts = array.reshape(group, inputs // group, each, *kernel).swapaxes(1, 2)
    return np.ascontiguousarray(np.flip(parts.reshape(group * each, inputs // group, *kernel), tuple(range(2, 2 + len(kernel)))))


def _stretched(rw: Rewriter, x: Value, strides: Sequence[int]) -> tuple[Value, list[int]]:
    """An image [N, C, H, W] with zeros behind each element, as many as a stride leaves out; and how many of these end it."""
    if list(strides) == [1, 1]:
        return x, [0, 0]
    for operation in ("reshape", "pad"):
        need(rw, operation, x)
    n, c, h, w = static(x)
    behind = [stride - 1 for stride in strides]
    pads: Any = (0,) * 6 + (0, 0, 0, behind[0], 0, behind[1])
    type_ = quantized(x)
    zero = float(0 if type_ is None else type_.zero_point)
    apart = rw.emit("tpu.pad", reshape(rw, x, (n, c, h, 1, w, 1)), pads=pads, value=zero)
    return reshape(rw, apart, (n, c, h * strides[0], w * strides[1])), behind


def _cropped(rw: Rewriter, x: Value, before: Sequence[int], after: Sequence[int]) -> Value:
    """The image without what negative padding takes away."""
    if min(*before, *after) >= 0:
        return x
    need(rw, "slice", x)
    n, c, *sizes = static(x)
    starts = [max(-pad, 0) for pad in before]
    left = [size - start - max(-pad, 0) for size, start, pad in zip(sizes, starts, after, strict=True)]
    made: Value = rw.emit("tpu.slice", x, starts=(0, 0, *starts), sizes=(n, c, *left), steps=(1,) * 4)
    return made

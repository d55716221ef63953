"""Windows: how the hub's explicit padding becomes TFLite's SAME or VALID, with a PAD before where it is neither.

Source: `tensorflow/lite/kernels/padding.h`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from transload.errors import Unsupported
from transload.ir import Value
from transload.rewrite import Rewriter

from .common import constant, emit, ints, reshape, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv, Deconv
    from transload_hub.ops.pool import AvgPool, MaxPool

__all__ = ["Window", "need_channels_last", "pad", "padded", "same_padding", "window_of", "with_height", "without_height"]


class Window(NamedTuple):
    """A window: for each spatial dimension its size, step, distance between elements, and (before, after) padding."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    def extent(self, dim: int) -> int:
        """How far the window reaches in one dimension."""
        return (self.kernel[dim] - 1) * self.dilations[dim] + 1

    def with_height(self) -> Window:
        """A one-dimensional window as a two-dimensional one of height 1."""
        return Window((1, *self.kernel), (1, *self.strides), (1, *self.dilations), ((0, 0), *self.pads))

    def padding(self, sizes: tuple[int, ...]) -> str | None:
        """`SAME` or `VALID`, where over an input of these sizes one of them is the padding; else None."""
        if not any(before or after for before, after in self.pads):
            return "VALID"
        same = all(
            self.pads[dim] == same_padding(size, self.extent(dim), self.strides[dim]) for dim, size in enumerate(sizes))
        return "SAME" if same else None


def same_padding(size: int, extent: int, stride: int) -> tuple[int, int]:
    """Padding before and after so that there are `ceil(size / stride)` windows; the odd one goes behind."""
    total = max((-(-size // stride) - 1) * stride + extent - size, 0)
    return total // 2, total - total // 2


def window_of(op: AvgPool | Conv | Deconv | MaxPool) -> Window:
    """The window of a convolution or pooling of the hub."""
    n = len(op.kernel_shape)
    dilations = op.attribute("dilations", (1,) * n)
    return Window(
        tuple(op.kernel_shape), tuple(op.strides), tuple(dilations), tuple((op.pads[i], op.pads[n + i]) for i in range(n)))


def need_channels_last(op: AvgPool | Conv | Deconv | MaxPool) -> None:
    """Refuse an op in another layout than NHWC."""
    if op.layout != "NHWC":
        raise Unsupported("TFLite's windows are channels last", "run the pass layout{to=NHWC} first")


def with_height(rw: Rewriter, value: Value) -> Value:
    """`[N, W, C]` as `[N, 1, W, C]`."""
    shape = static_shape(value)
    return reshape(rw, value, (shape[0], 1, *shape[1:]))


def without_height(rw: Rewriter, value: Value) -> Value:
    """`[N, 1, W, C]` as `[N, W, C]`."""
    shape = static_shape(value)
    return reshape(rw, value, (shape[0], *shape[2:]))


def padded(rw: Rewriter, value: Value, window: Window) -> tuple[Value, str]:
    """`value`, and the padding that is left to the operator: what is neither SAME nor VALID is padded before, by zeros.

    Negative padding takes elements away.
    """
    shape = static_shape(value)
    padding = window.padding(shape[1:-1])
    if padding is not None:
        return value, padding
    if any(min(pair) < 0 for pair in window.pads):
        begins = (0, *(max(-before, 0) for before, _ in window.pads), 0)
        sizes = [size - begin - max(-after, 0) for size, begin, (_, after) in zip(
            shape, begins, ((0, 0), *window.pads, (0, 0)), strict=True)]
        if min(sizes) < 1:
            raise Unsupported("its padding takes all of the input away")
        value = emit(rw, "slice", value, ints(rw, *begins), ints(rw, *sizes), like=value, shape=sizes)
        window = window._replace(pads=tuple((max(before, 0), max(after, 0)) for before, after in window.pads))
        return padded(rw, value, window)
    return pad(rw, value, ((0, 0), *window.pads, (0, 0))), "VALID"


def pad(rw: Rewriter, value: Value, pads: tuple[tuple[int, int], ...]) -> Value:
    """PAD: `value` with real zeros around it."""
    shape = [size + before + after for size, (before, after) in zip(static_shape(value), pads, strict=True)]
    return emit(rw, "pad", value, constant(rw, np.array(pads, np.int32)), like=value, shape=shape)

"""The geometry of windows: what convolutions and poolings need to make their input fit TOSA's rules.

TOSA's windows must cover the padded input without rest, are two-dimensional (convolutions three, too), and
pad on each side of each dimension in turn. All tensors here are channels last.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from transload.ir import Op, Value
from transload.rewrite import Rewriter, Unsupported

from ... import build
from .common import static_shape

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv, Deconv
    from transload_hub.ops.pool import AvgPool, MaxPool

__all__ = [
    "Window", "counts", "fit", "lies_in_padding", "need_channels_last", "squeeze_height", "subsample", "unsqueeze_height",
    "window_of",
]


class Window(NamedTuple):
    """A window: for each spatial dimension its size, step, distance between elements, and (before, after) padding."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @property
    def rank(self) -> int:
        return len(self.kernel)

    @property
    def flat_pads(self) -> tuple[int, ...]:
        """Padding as TOSA has it: before and after of each dimension, one dimension after another."""
        return tuple(chain.from_iterable(self.pads))

    def extent(self, dim: int) -> int:
        """How far the window reaches in one dimension."""
        return (self.kernel[dim] - 1) * self.dilations[dim] + 1

    def with_height(self) -> Window:
        """A one-dimensional window as a two-dimensional one of height 1."""
        return Window((1, *self.kernel), (1, *self.strides), (1, *self.dilations), ((0, 0), *self.pads))

    def part(self, first: int, last: int) -> Window:
        """The window in some of its dimensions."""
        dims = slice(first, last)
        return Window(self.kernel[dims], self.strides[dims], self.dilations[dims], self.pads[dims])

    def with_width(self) -> Window:
        """A one-dimensional window as a two-dimensional one of width 1."""
        return Window((*self.kernel, 1), (*self.strides, 1), (*self.dilations, 1), (*self.pads, (0, 0)))


def window_of(op: Op) -> Window:
    """The window of a convolution or pooling of `top`."""
    kernel, pads = op.kernel_shape, op.pads
    n = len(kernel)
    dilations = op.dilations if "dilations" in op.declaration.attributes else (1,) * n
    return Window(tuple(kernel), tuple(op.strides), tuple(dilations), tuple(zip(pads[:n], pads[n:], strict=True)))


def need_channels_last(op: AvgPool | Conv | Deconv | MaxPool) -> None:
    """Refuse an op in another layout than NHWC, and one of unknown shape."""
    if op.layout != "NHWC":
        raise Unsupported("TOSA's windows are channels last", "run the pass layout{to=NHWC} first")
    static_shape(op.input, "the input")


def unsqueeze_height(rw: Rewriter, x: Value, axis: int = 1) -> Value:
    """`[N, W, C]` as `[N, 1, W, C]`."""
    shape = static_shape(x)
    return build.reshape(rw, x, (*shape[:axis], 1, *shape[axis:]))


def squeeze_height(rw: Rewriter, x: Value) -> Value:
    """`[N, 1, W, C]` as `[N, W, C]`."""
    shape = static_shape(x)
    return build.reshape(rw, x, (shape[0], *shape[2:]))


def fit(rw: Rewriter, x: Value, window: Window) -> tuple[Value, Window]:
    """`x` and the window such that windows cover the padded input without rest, and no padding is negative.

    What the last window does not reach is taken from the padding behind, then from the input.
    """
    start, size, pads = _reached(x, window)
    if min(size[1:-1]) < 1:
        raise Unsupported("every window lies in the padding")
    if not size[-1]:
        raise Unsupported("the input has no channels", "sums of nothing are constants, and maxima of nothing are none")
    return build.slice_(rw, x, start, size), Window(window.kernel, window.strides, window.dilations, tuple(pads))


def lies_in_padding(x: Value, window: Window) -> bool:
    """Whether no window reaches any of `x`."""
    return min(_reached(x, window)[1][1:-1]) < 1


def counts(x: Value, window: Window) -> tuple[int, ...]:
    """How many windows there are in each spatial dimension."""
    return tuple((size + sum(pads) - window.extent(dim)) // window.strides[dim] + 1 for dim, (size, pads) in enumerate(
        zip(static_shape(x)[1:-1], window.pads, strict=True)))


def _reached(x: Value, window: Window) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Where the part of `x` begins that windows reach, its sizes, less than 1 where there is none, and the padding left."""
    shape = static_shape(x)
    start, size, pads = [0] * len(shape), list(shape), []
    for dim, (before, after) in enumerate(window.pads):
        axis = dim + 1
        after -= (shape[axis] + before + after - window.extent(dim)) % window.strides[dim]
        start[axis] = max(0, -before)
        size[axis] = shape[axis] - max(0, -before) - max(0, -after)
        pads.append((max(0, before), max(0, after)))
    return start, size, pads


def subsample(rw: Rewriter, x: Value, strides: tuple[int, ...]) -> Value:
    """Every `stride`-th place of the spatial dimensions, from the first."""
    for dim, stride in enumerate(strides):
        if stride == 1:
            continue
        axis = dim + 1
        shape = list(static_shape(x))
        count = -(-shape[axis] // stride)
        missing = count * stride - shape[axis]
        if missing:
            padding = [0] * (2 * len(shape))
            padding[2 * axis + 1] = missing
            x = build.pad(rw, x, padding, 0)
        x = build.reshape(rw, x, (*shape[:axis], count, stride, *shape[axis + 1 :]))
        start = [0] * (len(shape) + 1)
        x = build.slice_(rw, x, start, (*shape[:axis], count, 1, *shape[axis + 1 :]))
        x = build.reshape(rw, x, (*shape[:axis], count, *shape[axis + 1 :]))
    return x

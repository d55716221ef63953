"""Convolution and transposed convolution, of one to three spatial dimensions, and their padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import Window

from .table import OnnxTable, attr, choice, need, operand, shape_of

__all__ = ["TABLE", "auto_pads", "conv_attributes", "read_window"]

TABLE = OnnxTable()


def read_window(op: Op, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
    """The window of a Conv or pooling op over spatial `sizes`, with `auto_pad` worked out."""
    n = len(sizes)
    kernel = tuple(attr(op, "kernel_shape", kernel))
    strides = tuple(attr(op, "strides") or (1,) * n)
    dilations = tuple(attr(op, "dilations") or (1,) * n)
    pads = tuple(attr(op, "pads") or (0,) * 2 * n)
    if not (len(kernel) == len(strides) == len(dilations) == n and len(pads) == 2 * n):
        raise Unsupported(f"kernel {kernel}, strides {strides}, dilations {dilations} and pads {pads} do not fit "
                          f"{n} spatial dimensions")
    if min((*kernel, *strides, *dilations), default=1) < 1:
        raise Unsupported(f"kernel {kernel}, strides {strides} and dilations {dilations} must be positive")
    return Window(kernel, strides, auto_pads(attr(op, "auto_pad", "NOTSET"), sizes, kernel, strides, dilations, pads), dilations)


_AUTO_PADS = ("NOTSET", "", "VALID", "SAME_UPPER", "SAME_LOWER")


def auto_pads(
    mode: str, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int],
) -> tuple[int, ...]:
    """The padding that `auto_pad` means: SAME_* makes `ceil(size / stride)` windows, the odd element at the end or the begin."""
    if mode in ("NOTSET", ""):
        return tuple(pads)
    if mode == "VALID":
        return (0,) * len(pads)
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"auto_pad is {mode!r}, and must be NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    begins, ends = [], []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        extent = (k - 1) * dilation + 1
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        small, large = total // 2, total - total // 2
        begins.append(small if mode == "SAME_UPPER" else large)
        ends.append(large if mode == "SAME_UPPER" else small)
    return (*begins, *ends)


def spatial_sizes(value: Value, what: str, most: int = 3) -> tuple[int, ...]:
    """The spatial sizes of [N, C, spatial..]."""
    sizes = shape_of(value)[2:]
    if not 1 <= len(sizes) <= most:
        raise Unsupported(f"{what} of {len(sizes)} spatial dimensions; 1 to {most} can be converted")
    return sizes


def conv_attributes(op: Op, value: Value, weights: Value) -> dict[str, Any]:
    """The attributes of `top.Conv` for an ONNX convolution of `value` [N, C, ..] by `weights` [O, C/group, ..]."""
    sizes = spatial_sizes(value, "a convolution")
    window = read_window(op, sizes, shape_of(weights)[2:])
    return {"kernel_shape": window.kernel, "strides": window.strides, "pads": window.pads, "dilations": window.dilations,
            "group": attr(op, "group", 1), "layout": "NCHW"}


@TABLE("onnx.Conv")
def conv(op: Op, rw: Rewriter) -> Value:
    """Conv."""
    value, weights = need(op, 0, "X"), need(op, 1, "W")
    attributes = conv_attributes(op, value, weights)
    value, attributes["pads"] = crop_negative_pads(rw, value, attributes["pads"])
    return rw.emit("top.Conv", value, weights, operand(op, 2), **attributes)


def crop_negative_pads(rw: Rewriter, value: Value, pads: Sequence[int]) -> tuple[Value, tuple[int, ...]]:
    """Negative padding takes elements away; it is done before the op, which then has none."""
    if min(pads, default=0) >= 0:
        return value, tuple(pads)
    n = len(pads) // 2
    cropped = tuple(min(p, 0) for p in pads)
    value = rw.emit("top.Pad", value, paddings=(0, 0, *cropped[:n], 0, 0, *cropped[n:]), mode="constant")
    return value, tuple(max(p, 0) for p in pads)


@TABLE("onnx.ConvTranspose")
def conv_transpose(op: Op, rw: Rewriter) -> Value:
    """ConvTranspose; an output_shape fixes the padding."""
    value, weights = need(op, 0, "X"), need(op, 1, "W")
    sizes = spatial_sizes(value, "a transposed convolution")
    n = len(sizes)
    kernel = tuple(attr(op, "kernel_shape", shape_of(weights)[2:]))
    strides = tuple(attr(op, "strides") or (1,) * n)
    dilations = tuple(attr(op, "dilations") or (1,) * n)
    extra = list(attr(op, "output_padding") or (0,) * n)
    pads = list(attr(op, "pads") or (0,) * 2 * n)
    mode = choice(op, "auto_pad", _AUTO_PADS, "NOTSET")
    wanted = attr(op, "output_shape")
    if not (len(kernel) == len(strides) == len(dilations) == len(extra) == n and len(pads) == 2 * n):
        raise Unsupported(f"kernel {kernel}, strides {strides}, dilations {dilations}, pads {pads} and output_padding {extra} "
                          f"do not fit {n} spatial dimensions")
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = tuple(size * stride for size, stride in zip(sizes, strides, strict=True))
    if wanted is not None and len(wanted) < n:
        raise Unsupported(f"output_shape {wanted} does not fit {n} spatial dimensions")
    if wanted is not None:
        pads = _pads_for_output(tuple(wanted)[-n:], mode, sizes, kernel, strides, dilations, extra)
    elif mode == "VALID":
        pads = [0] * 2 * n
    for i in range(n):  # what is negative at the end is more output; at the begin it has no counterpart
        if pads[n + i] < 0:
            extra[i] -= pads[n + i]
            pads[n + i] = 0
    if min(pads) < 0:
        raise Unsupported(f"its padding comes to {pads}: negative at a begin")
    return rw.emit(
        "top.Deconv", value, weights, operand(op, 2), kernel_shape=kernel, strides=strides, pads=tuple(pads), dilations=dilations,
        output_padding=tuple(extra), group=attr(op, "group", 1), layout="NCHW")


def _pads_for_output(
    wanted: Sequence[int], mode: str, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int], extra: Sequence[int],
) -> list[int]:
    """The padding that makes a transposed convolution's output as large as wanted."""
    begins, ends = [], []
    for want, size, k, stride, dilation, more in zip(wanted, sizes, kernel, strides, dilations, extra, strict=True):
        total = stride * (size - 1) + more + (k - 1) * dilation + 1 - want
        small, large = total // 2, total - total // 2
        if total < 0:
            small, large = 0, total
        begins.append(small if mode == "SAME_UPPER" or total < 0 else large)
        ends.append(large if mode == "SAME_UPPER" or total < 0 else small)
    return [*begins, *ends]


def ones_filter(channels: int, kernel: Sequence[int], number: float = 1.0) -> np.ndarray:
    """A depthwise filter [C, 1, kernel..] with one number everywhere: its convolution sums windows."""
    return tables.full((channels, 1, *kernel), number, np.float32)

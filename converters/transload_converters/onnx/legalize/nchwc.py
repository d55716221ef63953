"""Operators of domain `com.microsoft.nchwc`: what onnxruntime's optimizer writes for one kind of processor.

Tensors between ReorderInput and ReorderOutput have their channels in blocks, as many as the processor computes at once, and their
number rounded up. How they lie in memory is nobody's matter here: they stay [N, C, spatial..] with channels of zeros behind, and
only filters, whose numbers are in the file, are put in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter

from .contrib import activated
from .convolution import conv_attributes
from .movement import slice_along
from .pooling import average_pool, global_average_pool, global_max_pool, max_pool
from .table import OnnxTable, attr, need, need_attr, operand, permute, shape_of

__all__ = ["TABLE"]

TABLE = OnnxTable()

_NCHWC = "onnx.com.microsoft.nchwc"
_LARGE, _SMALL = 16, 8
"""Channels in a block: of processors with AVX-512, and of others."""

for _name, _function in {"MaxPool": max_pool, "AveragePool": average_pool, "GlobalAveragePool": global_average_pool,
                         "GlobalMaxPool": global_max_pool}.items():
    TABLE(f"{_NCHWC}.{_name}", stored="native")(_function)


@dataclass
class _Block:
    """What a run of the table notes: how many channels a block has, of each graph (known by its block of ops)."""

    sizes: dict[object, int] = field(default_factory=dict)


def _block(op: Op, rw: Rewriter) -> int:
    """How many channels a block has: the file does not say it. Where a filter has 8, or 24, results, it is 8."""
    sizes = rw.scratch(_Block).sizes
    if op.parent not in sizes:
        filters = [shape_of(each.operands[1]) for each in op.parent or () if each.name == f"{_NCHWC}.Conv"]
        sizes[op.parent] = _SMALL if any(shape[0] % _LARGE for shape in filters) else _LARGE
        rw.note(f"the model was optimized for one kind of processor: channels are taken to be in blocks of {sizes[op.parent]}")
    return sizes[op.parent]


@TABLE(f"{_NCHWC}.ReorderInput")
def reorder_input(op: Op, rw: Rewriter) -> Value:
    """ReorderInput: channels of zeros behind the others, so that all are blocks."""
    value = need(op, 0)
    rank = len(shape_of(value, least=3))
    if attr(op, "channels_last", 0):
        value = permute(rw, value, (0, rank - 1, *range(1, rank - 1)))
    more = -shape_of(value)[1] % _block(op, rw)
    pads = (*(0,) * rank, 0, more, *(0,) * (rank - 2))
    return rw.emit("top.Pad", value, paddings=pads, mode="constant") if more else value


@TABLE(f"{_NCHWC}.ReorderOutput")
def reorder_output(op: Op, rw: Rewriter) -> Value:
    """ReorderOutput: the channels that are not there for the sake of blocks."""
    value, channels = need(op, 0), need_attr(op, "channels")
    shape = shape_of(value, least=3)
    if not 0 < channels <= shape[1]:
        raise Unsupported(f"takes {channels} channels of {shape[1]}")
    if channels < shape[1]:
        value = slice_along(rw, value, 1, 0, channels)
    return permute(rw, value, (0, *range(2, len(shape)), 1)) if attr(op, "channels_last", 0) else value


@TABLE(f"{_NCHWC}.Conv")
def conv(op: Op, rw: Rewriter) -> Value:
    """Conv, plus another tensor, then an activation."""
    value = need(op, 0)
    stored = np.asarray(rw.need_constant(need(op, 1), "the filter"))
    weights = rw.constant(_in_order(stored, _block(op, rw)))
    result = rw.emit("top.Conv", value, weights, operand(op, 2), **conv_attributes(op, value, weights))
    if operand(op, 3) is not None:
        result = rw.emit("top.Add", result, operand(op, 3))
    return activated(rw, result, attr(op, "activation"), attr(op, "activation_params", ()))


def _in_order(stored: np.ndarray, block: int) -> np.ndarray:
    """A filter [O, I, spatial..] whose numbers lie as [O / block, I.., spatial.., I in a block, O in a block].

    Filters of less inputs than a block (the first of a network, and of convolutions by channels) have blocks of results alone.
    """
    outputs, inputs, *spatial = stored.shape
    if outputs % block or (inputs >= block and inputs % block):
        raise Unsupported(f"has a filter of shape {stored.shape}, which is not of blocks of {block}")
    places = list(range(2, 2 + len(spatial)))
    if inputs < block:
        blocks = stored.reshape(outputs // block, inputs, *spatial, block)
        turned = blocks.transpose(0, blocks.ndim - 1, 1, *places)
    else:
        blocks = stored.reshape(outputs // block, inputs // block, *spatial, block, block)
        turned = blocks.transpose(0, blocks.ndim - 1, 1, blocks.ndim - 2, *places)
    return np.ascontiguousarray(turned.reshape(stored.shape))


@TABLE(f"{_NCHWC}.Upsample")
def upsample(op: Op, rw: Rewriter) -> Value:
    """Upsample by whole scales, by the nearest or linearly."""
    value, scales = need(op, 0), tuple(attr(op, "scales") or ())
    shape = shape_of(value, 4)
    mode, coordinates = attr(op, "mode", "nearest"), attr(op, "coordinate_transformation_mode", "asymmetric")
    if len(scales) != 4 or scales[:2] != (1, 1) or min(scales) < 1 or mode not in ("nearest", "linear"):
        raise Unsupported(f"scales {scales} of {shape} by {mode!r}")
    if mode == "nearest":
        return rw.emit("top.Upsample", value, scale_h=scales[2], scale_w=scales[3], layout="NCHW")
    sizes = tuple(size * scale for size, scale in zip(shape[2:], scales[2:], strict=True))
    return rw.emit("top.Interp", value, sizes=sizes, mode="linear", coord_mode=coordinates, layout="NCHW")

"""The pass `iree-cut-leftovers`: rows and columns that no window reaches, where one window is all that fits along them.

IREE leaves a dimension of one window out of what it loops over, and then infers from the window alone how large the input is:
one that is larger it refuses as an input of the wrong shape. (Measured with IREE 3.13: pooling and convolutions of 3x3 by windows
of 2x2 with steps of 2.) Here the input ends where the window does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from transload.ir import Dense, Module, Op, Value
from transload.ir.build import Builder

__all__ = ["cut_leftovers"]


class _Windows(NamedTuple):
    """The windows of an op, along `axes` of its first `inputs` operands, in whose order all other numbers are."""

    inputs: int
    axes: Sequence[int]
    counts: Sequence[int]
    sizes: Sequence[int]
    dilations: Sequence[int]
    spread: Sequence[int]
    """How far apart the input's elements lie."""


def cut_leftovers(module: Module) -> bool:
    """Cut what lies behind the only window of a dimension off the padding, then off the inputs, of static sizes."""
    found = [op for op in module.walk() if op.name in _FORMS and all(value.is_static for value in (*op.operands, *op.results))]
    cut = [_cut(op, _FORMS[op.name](op)) for op in found]
    return any(cut)


def _pooling(op: Any) -> _Windows:
    axes, counts = range(op.operands[0].rank), op.results[0].static_shape
    return _Windows(len(op.results), axes, counts, op.window_dimensions, op.window_dilations, op.base_dilations)


def _convolution(op: Any) -> _Windows:
    d, out, kernel = op.dimension_numbers, op.results[0].static_shape, op.operands[1].static_shape
    return _Windows(1, d.input_spatial_dimensions, [out[axis] for axis in d.output_spatial_dimensions],
                    [kernel[axis] for axis in d.kernel_spatial_dimensions], op.rhs_dilation, op.lhs_dilation)


_FORMS: dict[str, Callable[[Any], _Windows]] = {"stablehlo.reduce_window": _pooling, "stablehlo.convolution": _convolution}


def _cut(op: Op, windows: _Windows) -> bool:
    """Give the op inputs and padding without leftovers; whether there were any."""
    shape, held = op.operands[0].static_shape, op.attribute("padding")
    padding: list[list[int]] = held.numpy().tolist() if held is not None else [[0, 0] for _ in windows.axes]
    limits = list(shape)
    for place, axis in enumerate(windows.axes):
        if windows.counts[place] != 1 or windows.spread[place] != 1:
            continue
        low, high = padding[place]
        left = low + shape[axis] + high - (windows.sizes[place] - 1) * windows.dilations[place] - 1
        of_padding = min(left, max(high, 0))
        padding[place][1] = high - of_padding
        # A window of padding alone still has an input: of no size, it would be another model.
        limits[axis] = max(shape[axis] - (left - of_padding), min(shape[axis], 1))
    if held is not None and padding != held.numpy().tolist():
        op.attributes["padding"] = Dense(np.array(padding, np.int64).reshape(-1, 2))
    elif limits == list(shape):
        return False
    for index in range(windows.inputs):
        op.set_operand(index, _start_of(op, op.operands[index], limits))
    return True


def _start_of(op: Op, value: Value, limits: Sequence[int]) -> Value:
    """What is below the limits of a value; itself, where that is all."""
    if tuple(limits) == value.static_shape:
        return value
    cut: Value = Builder(op.parent, op, op.location).emit(  # type: ignore[arg-type]
        "stablehlo.slice", value, start_indices=(0,) * len(limits), limit_indices=tuple(limits), strides=(1,) * len(limits))
    return cut

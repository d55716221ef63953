"""Scaling and shifting per channel as a product with weights: the pass `scales-to-products`.

A batch normalization that nothing before it takes in, as those in front of the convolutions of a DenseNet or of a ResNet v2, is a
depthwise convolution with a kernel of one place. Integers have a scale for each channel of its weights, and a bias in 32 bits; as
a product with one tensor and a sum with another they would have one scale for all factors, and round twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import FloatType, Module, Op, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

if TYPE_CHECKING:
    from ..ops.elementwise import Mul, Scale

__all__ = ["scales_to_products"]

TABLE = RewriteTable()
UNLIKE = 16.0
"""How many times as far as half of them the farthest factor reaches, for factors alone to be weights: in steps of the farthest's
scale, less than eight are left of the others."""


def scales_to_products(module: Module) -> bool:
    """Scales of floats per channel become depthwise convolutions, others products and sums. Returns whether there were any."""
    return apply_greedily(module, TABLE)


@TABLE("top.Scale")
def scale(op: Scale, rw: Rewriter) -> Value | None:
    """`x * scale + bias`."""
    if not isinstance(op.output.element_or_none, FloatType) or not op.input.is_static or op.input.type != op.output.type:
        return None
    relu = _relu(op)
    name = f"{op.output.name}/scaled" if op.output.name else None
    made = _convolution(rw, op.input, op.scale, op.bias, relu, name)
    if made is not None:
        return made
    return rw.emit("top.Add", rw.emit("top.Mul", op.input, op.scale, location=name), op.bias, **relu)


@TABLE("top.Mul")
def unlike_factors(op: Mul, rw: Rewriter) -> Value | None:
    """Factors per channel that one scale would not serve."""
    if len(op.operands) != 2:
        return None
    for source, factors in (op.operands, op.operands[::-1]):
        dense = constant_of(factors)
        if dense is None or not isinstance(op.output.element_or_none, FloatType) or not source.is_static \
                or source.type != op.output.type or constant_of(source) is not None:
            continue
        sizes = np.sort(np.abs(dense.numpy().astype(np.float64)), axis=None)
        half = sizes[[(sizes.size - 1) // 2, sizes.size // 2]].mean() if sizes.size else 0.0
        if sizes.size > 1 and np.isfinite(sizes).all() and sizes[-1] > UNLIKE * half > 0.0:
            return _convolution(rw, source, factors, None, _relu(op), f"{op.output.name}/scaled" if op.output.name else None)
    return None


def _relu(op: Op) -> dict[str, Any]:
    return {name: value for name, value in op.attributes.items() if name in ("do_relu", "relu_limit")}


def _convolution(
    rw: Rewriter, source: Value, factors: Value, shifts: Value | None, relu: dict[str, Any], name: str | None,
) -> Value | None:
    """A depthwise convolution of factors, and shifts, that differ along the channels alone; None where they do not.

    `name` is what it is called where it is reshaped to what the op gave.
    """
    shape = source.static_shape
    arrays = [None if value is None else constant_of(value) for value in (factors, shifts)]
    if len(shape) < 2 or len(shape) > 4 or arrays[0] is None or (shifts is not None and arrays[1] is None):
        return None
    axis = _channel_axis(shape, [array.numpy().shape for array in arrays if array is not None])
    if axis is None:
        return None
    dtype, count = dtype_of(source.element), shape[axis]
    vectors = [None if array is None else np.broadcast_to(array.numpy().reshape(-1), count).astype(dtype) for array in arrays]
    spatial = len(shape) - 2 or 1
    layout = "NCHW" if axis == 1 and len(shape) > 2 else "NHWC"
    weights = vectors[0].reshape((count, 1, *(1,) * spatial) if layout == "NCHW" else (count, *(1,) * spatial, 1))  # type: ignore[union-attr]
    taken = source if len(shape) > 2 else rw.emit("top.Reshape", source, shape=(shape[0], 1, count))
    bias = [] if vectors[1] is None else [rw.constant(vectors[1])]
    options: dict[str, Any] = relu if len(shape) > 2 else {**relu, "location": name}
    made: Value = rw.emit(
        "top.Conv", taken, rw.constant(weights), *bias, kernel_shape=(1,) * spatial, group=count, layout=layout, **options)
    return made if len(shape) > 2 else rw.emit("top.Reshape", made, shape=shape)


def _channel_axis(shape: tuple[int, ...], others: list[tuple[int, ...]]) -> int | None:
    """The one dimension along which constants of these shapes differ: the second, or the last. None where it is another."""
    wide = {axis for other in others for axis, size in enumerate((1,) * (len(shape) - len(other)) + other) if size != 1}
    if len(wide) != 1:
        return None
    (axis,) = wide
    return axis if axis in (1, len(shape) - 1) else None

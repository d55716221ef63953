"""Casts: to and from quantized numbers, between them, between floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, FloatType, IntegerType, QuantType, Value, dtype_of
from transload.rewrite import CHANGED, Rewriter, RewriteTable

from ..arithmetic.conversion import requantize as requantize_numbers
from .common import chip_of, need, quantized, same_numbers
from .scaling import rescale

if TYPE_CHECKING:
    from transload_hub.ops.cast import Cast
    from transload_hub.ops.constant import Absent, Input, Weight

__all__ = ["TABLE", "requantized"]

TABLE = RewriteTable()

_MODES = {"HalfAwayFromZero": "half-away", "HalfToEven": "half-even", "Trunc": "truncate"}


@TABLE("top.Weight", "top.None")
def constant(op: Weight | Absent, rw: Rewriter) -> Any:
    """Constants, and what stands for absent operands, stay."""
    return CHANGED


@TABLE("top.Input")
def marked_input(op: Input, rw: Rewriter) -> Value:
    return op.input


def requantized(
    rw: Rewriter, x: Value, target: QuantType, rounding: str, factor: float | None = None, **bounds: float,
) -> Value:
    """A quantized value in another quantized type, kept between stored numbers; a constant at once.

    Of 8 bits to 8 on a chip with multipliers of 8 bits by a table, which is exact.
    """
    source = quantized(x)
    if source is None or not target.per_tensor:
        raise Unsupported(f"{x.element} cannot become {target} on integers alone")
    same = same_numbers(source, target)
    if same and not bounds:
        return x
    chip = chip_of(rw)
    attributes: dict[str, Any] = {"input_zero": source.zero_point, "output_zero": target.zero_point, **bounds}
    if not same:
        if factor is None:
            factor = float(np.float64(np.float32(source.scale)) / np.float64(np.float32(target.scale)))
        attributes.update(rescale(chip, factor, rounding).attributes)
    dtype = str(dtype_of(target.storage))
    array = rw.constant_of(x)
    if array is not None:
        return rw.constant(requantize_numbers(array, dtype=dtype, **attributes), element=target)
    need(rw, "requantize", x)
    made: Value = rw.emit("tpu.requantize", x, element=target, **attributes)
    return made


@TABLE("top.Cast")
def cast(op: Cast, rw: Rewriter) -> Value:
    x, target = op.input, op.result.element
    source = x.element
    if isinstance(source, QuantType) and isinstance(target, QuantType):
        return requantized(rw, x, target, str(op.rounding))
    need(rw, "cast", x, op.result)
    mode = _MODES[str(op.round_mode)]
    if isinstance(target, QuantType) or isinstance(source, QuantType):
        quant = quantized(op.result if isinstance(target, QuantType) else x)
        real = source if isinstance(target, QuantType) else target
        if quant is None or not isinstance(real, FloatType):
            raise Unsupported(f"{source} cannot become {target} with one scale for all")
        return rw.emit("tpu.cast", x, element=target, scale=quant.scale, zero=quant.zero_point, mode=mode)
    if isinstance(source, FloatType) and isinstance(target, IntegerType) and target != BOOL and not op.saturate:
        raise Unsupported("a cast of floats that wraps round where they are too large")
    wraps = isinstance(source, IntegerType) and isinstance(target, IntegerType) and not op.saturate
    return rw.emit("tpu.cast", x, element=target, mode=mode, wrap=wraps)

"""Casts: to and from quantized numbers, between them, between floats."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, FloatType, IntegerType, QuantType, Value, dtype_of
from transload.rewrite import CHANGED, Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.build import quantized_as_stored
from transload_hub.ops.cast import OF_STORED
from transload_hub.requantizing import COUNTED, meant, scaled_as
from transload_hub.scales import activation_bounds

from ..arithmetic.conversion import requantize as requantize_numbers
from ..chip.description import ROUNDINGS
from .common import chip_of, dtype_of_value, need, quantized, same_numbers, static
from .scaling import rescale, rounds

if TYPE_CHECKING:
    from transload_hub.ops.cast import Bitcast, Cast
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

    Of 8 bits to 8 on a chip with multipliers of 8 bits, or one that rounds in other ways, by a table, which is exact.
    """
    source = quantized(x)
    if source is None or not target.per_tensor:
        raise Unsupported(f"{x.element} cannot become {target} on integers alone")
    if not bounds and (held := activation_bounds(target)) is not None and held != activation_bounds(source):
        bounds = {"low": float(held[0]), "high": float(held[1])}
    same = same_numbers(source, target)
    if same and not bounds:
        return x
    chip = chip_of(rw)
    looked_up = not same and source.storage.width == target.storage.width == 8 and (
        chip.multiplier_bits == 8 or not rounds(chip, rounding))
    if looked_up:
        chip = replace(chip, multiplier_bits=32, shift_bits=6, roundings=ROUNDINGS)
    attributes: dict[str, Any] = {"input_zero": source.zero_point, "output_zero": target.zero_point, **bounds}
    if not same:
        if factor is None:
            factor = float(np.float64(np.float32(source.scale)) / np.float64(np.float32(target.scale)))
        attributes.update(rescale(chip, factor, rounding).attributes)
    dtype = str(dtype_of(target.storage))
    array = rw.constant_of(x)
    if array is not None:
        return rw.constant(requantize_numbers(array, dtype=dtype, **attributes), element=target)
    if looked_up:
        need(rw, "table", x)
        numbers = tables.arange(source.storage.range[0], source.storage.range[1] + 1).astype(dtype_of(source.storage))
        entries = requantize_numbers(numbers, dtype=dtype, **attributes)
        looked: Value = rw.emit("tpu.table", x, rw.constant(entries), element=target)
        return looked
    need(rw, "requantize", x)
    made: Value = rw.emit("tpu.requantize", x, element=target, **attributes)
    return made


def _rounded(op: Cast, rw: Rewriter, source: QuantType, target: QuantType) -> Value:
    """Quantized numbers in another quantized type as the cast's `round_mode` says: scaled, where that makes the same of each of
    them, of bytes a table, else by way of floats."""
    if source.per_tensor and target.per_tensor and source.storage.width <= COUNTED:
        wanted = meant(op)
        if (way := scaled_as(wanted, source, target)) is not None:
            return requantized(rw, op.input, target, way)
        if source.storage.width == target.storage.width == 8:
            need(rw, "table", op.input)
            looked: Value = rw.emit("tpu.table", op.input, rw.constant(wanted), element=target)
            return looked
    real = rw.emit("top.Cast", op.input, element=source.expressed)
    made: Value = rw.emit("top.Cast", real, element=target, round_mode=op.round_mode)
    return made


@TABLE("top.Cast")
def cast(op: Cast, rw: Rewriter) -> Value:
    x, target = op.input, op.result.element
    source = x.element
    if isinstance(source, QuantType) and isinstance(target, QuantType):
        if op.round_mode == "HalfAwayFromZero":
            return requantized(rw, x, target, str(op.rounding))
        return _rounded(op, rw, source, target)
    if isinstance(target, QuantType) and op.round_mode in OF_STORED:
        return quantized_as_stored(rw, x, target, op.round_mode)
    need(rw, "cast", x, op.result)
    mode = _MODES[str(op.round_mode)]
    if isinstance(target, QuantType) or isinstance(source, QuantType):
        quant = quantized(op.result if isinstance(target, QuantType) else x)
        real = source if isinstance(target, QuantType) else target
        if quant is None or not isinstance(real, FloatType):
            raise Unsupported(f"{source} cannot become {target} with one scale for all")
        held = activation_bounds(target) if isinstance(target, QuantType) else None
        if held is not None:  # the cast saturates to bytes
            need(rw, "unary", x)
            low, high = ((step - quant.zero_point) * quant.scale for step in held)
            x = rw.emit("tpu.unary", x, function="identity", alpha=0.0, low=low, high=high)
        return rw.emit("tpu.cast", x, element=target, scale=quant.scale, zero=quant.zero_point, mode=mode)
    wraps = isinstance(target, IntegerType) and target != BOOL and source != BOOL and not op.saturate
    return rw.emit("tpu.cast", x, element=target, mode=mode, wrap=wraps)


@TABLE("top.Bitcast")
def bitcast(op: Bitcast, rw: Rewriter) -> Value:
    """The same bytes, where only what they mean differs."""
    x, result = op.operands[0], op.results[0]
    if dtype_of_value(x) != dtype_of_value(result):
        raise Unsupported(f"the bits of {x.element} are read as {result.element}")
    need(rw, "reshape", x)
    made: Value = rw.emit("tpu.reshape", x, shape=static(x), element=result.element)
    return made

"""Numbers of quantized types: from stored integers to reals and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import Op, QuantType, TensorType, Type, dtype_of
from ..ir.quantization import split_shapes, spread

__all__ = [
    "dequantize", "goes_through_reals", "is_quantized", "keeps_stored", "quantize", "quantized_kernel", "round_half_away",
]


def round_half_away(x: np.ndarray) -> np.ndarray:
    """Round floats to the nearest integer, halves away from zero (C's `round`, TFLite's rule).

    What is added is the number before a half: a half itself takes 0.49999997 to 1, and of great odd numbers makes others.
    """
    number = x.dtype.type
    return np.trunc(x + np.copysign(np.nextafter(number(0.5), number(0)), x))


def dequantize(stored: np.ndarray, type_: QuantType, dtype: Any = np.float32) -> np.ndarray:
    """`scale * (stored - zero_point)` as an array of the float `dtype`."""
    if type_.blocks is not None:  # a scale is not copied for each number of its block
        tensor, grid = split_shapes(type_, stored.shape)
        scale, zero_point = np.array(type_.scales, dtype).reshape(grid), np.array(type_.zero_points).reshape(grid)
        blocks = stored.reshape(tensor)
        return ((blocks.astype(np.int64) - zero_point).astype(dtype) * scale).astype(dtype, copy=False).reshape(stored.shape)
    scale = spread(type_.scales, type_, stored.ndim, dtype)
    zero_point = spread(type_.zero_points, type_, stored.ndim, np.int64)
    return ((stored.astype(np.int64) - zero_point).astype(dtype) * scale).astype(dtype, copy=False)


def quantize(
    real: np.ndarray,
    type_: QuantType,
    rounding: Callable[[np.ndarray], np.ndarray] = round_half_away,
) -> np.ndarray:
    """`real / scale + zero_point`, rounded and saturated to the storage range; NaN becomes the zero point."""
    real = np.asarray(real)
    scale = spread(type_.scales, type_, real.ndim, np.float64)
    zero_point = spread(type_.zero_points, type_, real.ndim, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = rounding(np.nan_to_num(real.astype(np.float64) / scale, posinf=np.inf, neginf=-np.inf)) + zero_point
    return np.clip(scaled, type_.storage_min, type_.storage_max).astype(dtype_of(type_.storage))


def _element(type_: Type) -> Type | None:
    return type_.element if isinstance(type_, TensorType) else None


def _moves_axis_only(op: Op, quantized: list[QuantType]) -> bool:
    """Whether the stored numbers keep their meaning, though the axis of their scales is another in the result.

    So it is where the result has the type that inference gives an op that only moves numbers.
    """
    source, *others = quantized
    infer = op.declaration.infer if op.declaration is not None else None
    if source.axis is None or len(op.operands) != 1 or len(others) != 1 or infer is None:
        return False
    target = others[0]
    if target.blocks is not None or (source.storage, source.scales) != (target.storage, target.scales):
        return False
    return source.zero_points == target.zero_points and bool(infer(op) == op.results[0].type)


def _quantized(op: Op) -> list[QuantType]:
    """The quantized types of an op's operands and results, in order."""
    elements = (_element(value.type) for value in (*op.operands, *op.results))
    return [element for element in elements if isinstance(element, QuantType)]


def is_quantized(op: Op) -> bool:
    """Whether an operand or a result of an op is quantized."""
    return bool(_quantized(op))


def keeps_stored(op: Op, mode: str) -> bool:
    """Whether the kernel of a quantized op, of this mode, may work on the stored numbers: it moves them, and they mean the same.

    Which scale is a number's depends on its place, where there is more than one: through reals, moved numbers are right.
    """
    quantized = _quantized(op)
    return mode == "storage" and quantized[0].blocks is None and (
        all(element == quantized[0] for element in quantized) or _moves_axis_only(op, quantized))


def goes_through_reals(op: Op, mode: str) -> bool:
    """Whether the kernel of an op, of this mode, is given real numbers in place of stored ones."""
    return mode != "native" and is_quantized(op) and not keeps_stored(op, mode)


def quantized_kernel(op: Op, kernel: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """The kernel as it is to be called for `op`, whose operands or results may be quantized.

    See `transload.plugin.KernelTable` for the modes.
    """
    if not goes_through_reals(op, mode):
        return kernel
    operands = [_element(value.type) for value in op.operands]
    results = [_element(value.type) for value in op.results]

    def through_reals(op: Op, *arrays: Any, **more: Any) -> Any:
        # In float64 the reals are exact to far below half a step, so that rounding decides as in exact arithmetic.
        reals = [
            dequantize(array, element, np.float64) if isinstance(element, QuantType) and array is not None else array
            for array, element in zip(arrays, operands, strict=True)
        ]
        computed = kernel(op, *reals, **more)
        outputs = computed if isinstance(computed, tuple | list) else (computed,)
        stored = tuple(
            quantize(array, element)
            if isinstance(element, QuantType)
            else np.asarray(array).astype(dtype_of(element), copy=False)  # type: ignore[arg-type]
            for array, element in zip(outputs, results, strict=True)
        )
        return stored if isinstance(computed, tuple | list) else stored[0]

    return through_reals

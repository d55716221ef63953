"""Where LiteRT's integers do not fit what it counts with: nothing can be judged by what it gives there.

It scales sums by shifts and products of 32 bits, and saturates to the type afterwards. What is thousands of times beyond the type
does not fit (`MultiplyByQuantizedMultiplier` in `tensorflow/lite/kernels/internal/common.h`, and `(int64_t, ..)` beside it, which
cuts the upper bits off): any number comes of it. Neither do entries of a table, the exponentials of an int16 that are infinite,
nor products of many numbers. The hub saturates the real number. Of 14,000 forms with other scales and zero points, LiteRT 2.3
gave another number in 164, each beyond `_FAR`.

A quotient of 8 bits it scales by shifts to the right, of more than 31 places where it is less than half a step: these have no
meaning, and the least or the greatest number comes of most such quotients (`RoundingDivideByPOT` in
`tensorflow/lite/kernels/internal/reference/div.h`). The hub rounds them to 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.api import run
from transload.engine.quantized import dequantize
from transload.errors import TransloadError
from transload.ir import F64, I16, Module, Op, QuantType, TensorType, Value, is_absent, new_module, set_results
from transload.ir.build import Builder, constant_of

__all__ = ["overflows"]

_MOST = (1 << 31) - 1
_FAR, _FAR_SUMS = 1 << 29, 1 << 19
"""Steps of a result from which on LiteRT may not count any more; of sums, whose operands it shifts at first, the second figure.
"""
_PRODUCTS = ("top.Conv", "top.Deconv", "top.MatMul")
_SUMS = ("top.Add", "top.Sub")
_TABLES = ("top.Exp", "top.GELU", "top.Log", "top.Rsqrt")
"""Functions that LiteRT looks up in tables of 16 bits."""
_AFTER = ("do_relu", "relu_limit", "rounding")
"""Attributes that say what becomes of sums."""


def overflows(hub: Module | None, given: Mapping[str, Any]) -> str:
    """The ops of a model of which LiteRT's integers overflow on these inputs, in words; nothing where there are none."""
    ops = [op for op in hub.body_of_main if _is_counted(op)] if hub is not None else []
    if hub is None or not ops:
        return ""
    held = _held(hub, given, ops)
    far = [
        f"those of {op.origin or op.name} come to {most:,.0f}" for op in ops
        if op in held and (most := _greatest(op, held[op])) > (_FAR_SUMS if op.name in _SUMS else _FAR)]
    small = [str(op.origin or op.name) for op in ops if op in held and op.name == "top.Div" and _has_small(op, *held[op])]
    steep = [str(op.origin or op.name) for op in ops if op.name in _TABLES and _is_steep(op)]
    found = [f"LiteRT counts steps in 32 bits, which end at {_MOST:,}: {'; '.join(far[:3])}"] if far else []
    found += [f"LiteRT's quotients of less than half a step are any number: {', '.join(small[:3])} has such"] if small else []
    found += [f"LiteRT looks {', '.join(steep[:3])} up in a table of 16 bits, for which it rises too fast"] if steep else []
    return "; ".join(found)


def _held(hub: Module, given: Mapping[str, Any], ops: Sequence[Op]) -> dict[Op, list[Any]]:
    """What some ops computed with, on these inputs; of those that were executed."""
    wanted: dict[Value, Any] = {value: None for op in ops for value in op.operands}
    for value in wanted:
        if (dense := constant_of(value)) is not None:
            wanted[value] = dense.numpy()

    def keep(value: Value, array: np.ndarray) -> None:
        if value in wanted:
            wanted[value] = array

    arguments = dict(zip(hub.body_of_main.arguments, given.values(), strict=False))
    run(hub, dict(given), engine="reference", watch=keep)
    held = {op: [arguments.get(value) if wanted[value] is None else wanted[value] for value in _given(op)] for op in ops}
    return {op: arrays for op, arrays in held.items() if all(array is not None for array in arrays)}


def _is_counted(op: Op) -> bool:
    """Whether an op makes integers of 8 or 16 bits and one scale from floats, or from integers that have scales."""
    if not op.results or constant_of(op.results[0]) is not None or (made := op.results[0].quant) is None:
        return False
    if not made.per_tensor or made.storage.width > 16:
        return False
    return any(operand.quant is not None or operand.is_float for operand in _given(op))


def _given(op: Op) -> list[Value]:
    """What it computes with: weights, and a bias where it has one."""
    return [value for value in op.operands if not is_absent(value)]


def _greatest(op: Op, operands: Sequence[Any]) -> float:
    """The greatest result, in steps, as real numbers before they are cut; 0 where floats do not say it."""
    real = [_real(value.quant, array) for value, array in zip(_given(op), operands, strict=True)]
    made = op.results[0].quant
    assert made is not None
    if op.name in _PRODUCTS:
        x, weights, *bias = map(np.abs, real)
        if weights.sum() * x.max(initial=0.0) + sum(each.max(initial=0.0) for each in bias) < _FAR * made.scale:
            return 0.0  # no sum of these products is more
    try:
        steps = real[0] / made.scale if op.name == "top.Clip" else _steps(op, real)
    except TransloadError:  # what integers mean is all that the op says: their bits, a table
        return 0.0
    greatest = float(np.nan_to_num(np.abs(steps), nan=0.0, posinf=np.inf).max(initial=0.0))
    return max(greatest, op.attribute("relu_limit", 0.0) / made.scale)


def _is_steep(op: Op) -> bool:
    """Whether a function of int16 rises or falls too fast for the 513 entries of its table, between which LiteRT interpolates.

    What it adds to entries so that the middle between two is right is up to half of their difference, which int16 has to hold.
    """
    given, made = op.operands[0].quant, op.result.quant
    if given is None or made is None or given.storage != I16 or made.storage != I16:
        return False
    places = np.minimum(np.arange(-32768, 32769, 128), 32767).astype(np.int16)
    entries = np.clip(np.nan_to_num(_steps(op, [_real(given, places)])), -1e9, 1e9)
    in_range = np.minimum(np.abs(entries[1:]), np.abs(entries[:-1])) < 32768
    return bool((np.abs(np.diff(entries))[in_range] > 16384).any())


def _steps(op: Op, real: Sequence[Any]) -> np.ndarray:
    """What an op makes of real numbers, in steps of its result."""
    module = new_module()
    shapes = [np.shape(array) for array in real]
    function = module.add_function("main", [
        TensorType(shape, F64 if value.quant is not None else value.element)
        for value, shape in zip(_given(op), shapes, strict=True)])
    attributes = {key: value for key, value in op.attributes.items() if key not in _AFTER}
    is_tabled = op.name in _TABLES
    step = op.results[0].quant
    assert step is not None
    made = Builder(module.body_of_main).emit(
        op.name, *module.body_of_main.arguments,
        types=[TensorType(shapes[0] if is_tabled else value.shape, F64) for value in op.results], **attributes)
    set_results(function, [made] if isinstance(made, Value) else list(made)[:1])
    found = next(iter(run(module, dict(zip(module.inputs, real, strict=True)), engine="reference").values()))
    with np.errstate(all="ignore"):
        return np.asarray(found / step.scale)


def _real(quant: QuantType | None, array: Any) -> Any:
    """What stored numbers stand for."""
    return array if quant is None else dequantize(np.asarray(array), quant, np.float64)


def _has_small(op: Op, a: Any, b: Any) -> bool:
    """Whether a quotient is less than half a step, and not 0."""
    made = op.result.quant
    assert made is not None
    top, half = np.abs(_real(op.operands[0].quant, a)), np.abs(_real(op.operands[1].quant, b)) * (made.scale / 2)
    return bool(((top > 0.0) & (top < half)).any())

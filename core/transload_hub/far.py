"""How far results of quantized ops are beyond their types, as real numbers, on some inputs.

Integers saturate, so that what they are does not say it. Runtimes that count in 32 bits give any number for what is far beyond
them, or for what is no number, where frameworks do not say what an integer of it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.api import run
from transload.engine.quantized import dequantize
from transload.errors import TransloadError
from transload.ir import F64, Module, Op, QuantType, TensorType, Value, is_absent, new_module, set_results
from transload.ir.build import Builder, constant_of

__all__ = ["greatest", "held", "is_counted", "real_of", "steps_of"]

_PRODUCTS = ("top.Conv", "top.Deconv", "top.MatMul")
_AFTER = ("do_relu", "relu_limit", "rounding")
"""Attributes that say what becomes of sums."""


def is_counted(op: Op) -> bool:
    """Whether an op makes integers of 8 or 16 bits and one scale from floats, or from integers that have scales."""
    if not op.results or constant_of(op.results[0]) is not None or (made := op.results[0].quant) is None:
        return False
    if not made.per_tensor or made.storage.width > 16:
        return False
    return any(operand.quant is not None or operand.is_float for operand in _given(op))


def held(hub: Module, given: Mapping[str, Any], ops: Sequence[Op]) -> dict[Op, list[Any]]:
    """What some ops of a module computed with, without absent operands, on inputs in its order; of those that were executed."""
    wanted: dict[Value, Any] = {value: None for op in ops for value in op.operands}
    for value in wanted:
        if (dense := constant_of(value)) is not None:
            wanted[value] = dense.numpy()

    def keep(value: Value, array: np.ndarray) -> None:
        if value in wanted:
            wanted[value] = array

    arguments = dict(zip(hub.body_of_main.arguments, given.values(), strict=False))
    run(hub, dict(given), engine="reference", watch=keep)
    found = {op: [arguments.get(value) if wanted[value] is None else wanted[value] for value in _given(op)] for op in ops}
    return {op: arrays for op, arrays in found.items() if all(array is not None for array in arrays)}


def greatest(op: Op, operands: Sequence[Any], most: float) -> float:
    """The greatest result, in steps, as real numbers before they are cut; infinite where one is no number.

    0 where floats do not say what the op computes, and where sums of products are less than `most` whatever they are.
    """
    real = [real_of(value.quant, array) for value, array in zip(_given(op), operands, strict=True)]
    made = op.results[0].quant
    assert made is not None
    if op.name in _PRODUCTS:
        x, weights, *bias = map(np.abs, real)
        if weights.sum() * x.max(initial=0.0) + sum(each.max(initial=0.0) for each in bias) < most * made.scale:
            return 0.0
    try:
        steps = real[0] / made.scale if op.name == "top.Clip" else steps_of(op, real)
    except TransloadError:  # what integers mean is all that the op says: their bits, a table
        return 0.0
    found = float(np.nan_to_num(np.abs(steps), nan=math.inf, posinf=math.inf).max(initial=0.0))
    return max(found, op.attribute("relu_limit", 0.0) / made.scale)


def steps_of(op: Op, real: Sequence[Any]) -> np.ndarray:
    """What an op makes of real numbers, of its operands' shapes or of others, in steps of its result."""
    module = new_module()
    shapes = [np.shape(array) for array in real]
    function = module.add_function("main", [
        TensorType(shape, F64 if value.quant is not None else value.element)
        for value, shape in zip(_given(op), shapes, strict=True)])
    attributes = {key: value for key, value in op.attributes.items() if key not in _AFTER}
    step = op.results[0].quant
    assert step is not None
    as_given = shapes[0] != _given(op)[0].static_shape
    made = Builder(module.body_of_main).emit(
        op.name, *module.body_of_main.arguments,
        types=[TensorType(shapes[0] if as_given else value.shape, F64) for value in op.results], **attributes)
    set_results(function, [made] if isinstance(made, Value) else list(made)[:1])
    found = next(iter(run(module, dict(zip(module.inputs, real, strict=True)), engine="reference").values()))
    with np.errstate(all="ignore"):
        return np.asarray(found / step.scale)


def real_of(quant: QuantType | None, array: Any) -> Any:
    """What stored numbers stand for; what is not quantized as it is."""
    return array if quant is None else dequantize(np.asarray(array), quant, np.float64)


def _given(op: Op) -> list[Value]:
    """What it computes with: weights, and a bias where it has one."""
    return [value for value in op.operands if not is_absent(value)]

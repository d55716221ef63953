"""How far results of quantized ops are beyond their types, as real numbers, on some inputs.

Integers saturate, so that what they are does not say it. Runtimes that count in 32 bits give any number for what is far beyond
them, or for what is no number, where frameworks do not say what an integer of it is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from transload.api import run
from transload.engine.quantized import dequantize
from transload.errors import TransloadError
from transload.ir import F64, Module, Op, QuantType, TensorType, Value, is_absent, new_module, set_results
from transload.ir.build import Builder, constant_of

__all__ = [
    "PRODUCTS", "greatest", "is_counted", "is_power_beyond", "is_whole_power", "looked_at", "real_of", "steps_of"]

Found = TypeVar("Found")

PRODUCTS = ("top.Conv", "top.Deconv", "top.MatMul")
_AFTER = ("do_relu", "relu_limit", "rounding")
"""Attributes that say what becomes of sums."""


def is_counted(op: Op) -> bool:
    """Whether an op makes integers of 8 or 16 bits and one scale from floats, or from integers that have scales."""
    if not op.results or constant_of(op.results[0]) is not None or (made := op.results[0].quant) is None:
        return False
    if not made.per_tensor or made.storage.width > 16:
        return False
    return any(operand.quant is not None or operand.is_float for operand in _given(op))


def looked_at(
    hub: Module, given: Mapping[str, Any], ops: Iterable[Op], look: Callable[[Op, list[Any]], Found],
) -> dict[Op, Found]:
    """What `look(op, operands)` finds of some ops as they are executed, on inputs in the module's order; absent operands are left
    out. Of an op in a loop the last time counts. What no op is going to compute with is let go.
    """
    wanted = set(ops)
    uses = Counter(value for op in wanted for value in set(_given(op)))
    there: dict[Value, Any] = {
        value: array for value, array in zip(hub.body_of_main.arguments, given.values(), strict=False) if value in uses}
    found: dict[Op, Found] = {}

    def array_of(value: Value) -> Any:
        dense = constant_of(value)
        return there.get(value) if dense is None else dense.numpy()

    def keep(value: Value, array: np.ndarray) -> None:
        if value in uses:
            there[value] = array
        op = value.op
        if op is None or op not in wanted or value is not op.results[0]:
            return
        operands = [array_of(each) for each in _given(op)]
        if any(each is None for each in operands):
            return
        found[op] = look(op, operands)
        if op.parent is hub.body_of_main:
            uses.subtract(set(_given(op)))
            for each in _given(op):
                if uses[each] <= 0:
                    there.pop(each, None)

    run(hub, dict(given), engine="reference", watch=keep)
    return found


def is_whole_power(op: Op) -> bool:
    """Whether an op raises integers to powers."""
    return op.name == "top.Pow" and op.operands[0].is_integer


def is_power_beyond(op: Op, operands: Sequence[Any]) -> bool:
    """Whether one of the powers is no integer of their type: beyond it, or a negative power of 0."""
    base, exponent = (np.asarray(each, np.float64) for each in operands)
    low, high = op.result.element.range  # type: ignore[attr-defined]
    with np.errstate(all="ignore"):
        made = np.power(base, exponent)
    return not bool(((made >= low) & (made <= high)).all())


def greatest(op: Op, operands: Sequence[Any], most: float) -> float:
    """The greatest result, in steps, as real numbers before they are cut; infinite where one is no number.

    0 where floats do not say what the op computes, and where sums of products are less than `most` whatever they are.
    """
    real = [real_of(value.quant, array) for value, array in zip(_given(op), operands, strict=True)]
    made = op.results[0].quant
    assert made is not None
    if op.name in PRODUCTS:
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

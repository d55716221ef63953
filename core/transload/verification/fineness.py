"""How fine the outputs of a module are: the steps between the integers, or the narrow floats, of which they were made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

from ..analysis.movement import is_cast, origins
from ..ir import BF16, F16, FloatType, IntegerType, Module, QuantType, TensorType, Value, dtype_of
from ..ir.build import constant_of
from .bounds import DYNAMIC

__all__ = ["coarse_outputs", "narrow_steps", "output_steps", "plain_outputs", "step_of"]


def output_steps(hub: Module, which: Callable[[list[float]], float] = max) -> list[float | None]:
    """For each output, the step between its numbers where it is a dequantized integer, else None.

    Such a float output is as exact as the integer behind it: one step of that is one step of it. `which` is taken of several.
    """
    return [step_of(value, which) for value in hub.body_of_main.terminator.operands]


def step_of(value: Value, which: Callable[[list[float]], float]) -> float | None:
    """One of the steps of the quantized tensors of whose dequantized elements a value consists; None where of others, too."""
    steps = [_step_behind(origin, which) for origin in origins(value) if constant_of(origin) is None]
    return which(steps) if steps and None not in steps else None  # type: ignore[arg-type]


def _step_behind(value: Value, which: Callable[[list[float]], float]) -> float | None:
    """The step of a quantized tensor, cast to floats; None of what is computed otherwise."""
    maker = value.op
    if maker is None or not is_cast(maker) or not isinstance(value.type, TensorType):
        return None
    before = maker.operands[0].type
    if not isinstance(value.type.element, FloatType) or not isinstance(before, TensorType):
        return None
    element = before.element
    return which(list(element.scales)) if isinstance(element, QuantType) else None


def plain_outputs(hub: Module) -> frozenset[int]:
    """The places of the outputs of integers that nothing quantizes: no value of the main function has a scale."""
    if any(value.is_quantized for op in hub.walk() for value in (*op.operands, *op.results)):
        return frozenset()
    outputs = enumerate(hub.body_of_main.terminator.operands)
    return frozenset(place for place, value in outputs if isinstance(value.element_or_none, IntegerType))


def coarse_outputs(hub: Module) -> frozenset[int]:
    """The places of the outputs on whose way numbers are rounded to steps: quantized, by the model or by its runtime as it runs.

    Constants that are held as integers are the numbers that they stand for.
    """
    coarse = set[Value]()
    for op in hub.body_of_main:
        parts = list(op.walk())
        rounds = any(DYNAMIC in each.attributes for each in parts) or any(
            value.is_quantized and constant_of(value) is None for each in parts for value in each.results)
        if rounds or any(operand in coarse for each in parts for operand in each.operands):
            coarse.update(op.results)
    outputs = enumerate(hub.body_of_main.terminator.operands)
    return frozenset(place for place, value in outputs if value in coarse)


def narrow_steps(hub: Module, outputs: Mapping[str, np.ndarray]) -> list[float]:
    """For each output of integers that floats of 16 bits were rounded to, how many of them the step of the largest such float is.

    0 of all others.
    """
    values = hub.body_of_main.terminator.operands
    return [_narrow_step(value, array) for value, array in zip(values, outputs.values(), strict=False)]


def _narrow_step(value: Value, array: np.ndarray) -> float:
    maker, quant = value.op, value.quant
    if maker is None or quant is None or not quant.per_tensor or not is_cast(maker):
        return 0.0
    element = maker.operands[0].element_or_none
    if element not in (F16, BF16) or not array.size:
        return 0.0
    largest = np.abs(array.astype(np.float64) - quant.zero_point).max() * quant.scale
    narrow = dtype_of(element)
    ends = ml_dtypes.finfo(narrow)
    _, exponent = math.frexp(float(narrow.type(min(largest, float(ends.max)))))
    step = math.ldexp(float(ends.eps), exponent - 1) if largest else 0.0
    return max(step, float(ends.smallest_subnormal)) / quant.scale

"""Where onnxruntime's results say nothing of a model: by its operators (`undefined_ops`), or by numbers that they meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from transload.ir import IntegerType, Module, Op
from transload_hub.far import greatest, is_counted, is_power_beyond, is_whole_power, looked_at

from .undefined_ops import UNDEFINED, hides_what_a_mask_says

__all__ = ["undefined"]

_MOST = float((1 << 31) - 1)
_STEPS = 8
"""Ops between the bits of a float and the power that is made of them, at most."""


def _is_cast(op: Op) -> bool:
    """Whether an op makes integers of floats."""
    return op.name == "top.Cast" and op.operands[0].is_float and op.results[0].is_integer


def _is_cast_beyond(op: Op, operands: Sequence[Any]) -> bool:
    """Whether a number is none, or beyond integers of 32 bits."""
    return bool((~(np.abs(np.asarray(operands[0], np.float64)) <= _MOST)).any())


def _is_narrow_cast(op: Op) -> bool:
    """Whether an op makes integers of 4 bits, or fewer, of floats."""
    element = op.results[0].element_or_none if op.name == "top.Cast" else None
    return isinstance(element, IntegerType) and 1 < element.width < 8 and op.operands[0].is_float


def _is_no_whole_number(op: Op, operands: Sequence[Any]) -> bool:
    array = np.asarray(operands[0], np.float64)
    return bool((array != np.trunc(array)).any()) or _is_cast_beyond(op, operands)


def _is_of_a_power(op: Op) -> bool:
    """Whether an op reads the bits of a float of which a power of two (float8e8m0) is made."""
    if op.name != "top.Bitcast" or not op.operands[0].is_float:
        return False
    reached = {op}
    for _ in range(_STEPS):
        reached |= {user for each in reached for value in each.results for user in value.uses}
    return any(each.name == "top.Bitcast" and str(each.results[0].element_or_none) == "f8E8M0FNU" for each in reached)


def _has_a_sign(op: Op, operands: Sequence[Any]) -> bool:
    return bool(np.signbit(np.asarray(operands[0], np.float64)).any())


def _is_counted_beyond(op: Op, operands: Sequence[Any]) -> bool:
    return greatest(op, operands, _MOST) > _MOST


def _is_logarithm(op: Op) -> bool:
    """Whether an op gives logarithms of sums of integers as integers."""
    return op.name == "top.Reduce" and op.attribute("mode") == "ReduceLogSum" and op.operands[0].is_integer


def _is_logarithm_beyond(op: Op, operands: Sequence[Any]) -> bool:
    """Whether a sum is 0 or below, of which there is no logarithm; of no dimensions each number is a sum."""
    array, axes = np.asarray(operands[0]), op.attribute("axes")
    return bool((array.astype(np.float64).sum(tuple(axes) if axes is not None else None) <= 0).any())


_TOTALS: Mapping[str, Callable[..., Any]] = {
    "ReduceSum": np.sum, "ReduceProd": np.prod, "ReduceL1": lambda array, axes: np.abs(array).sum(axes),
    "ReduceSumSquare": lambda array, axes: np.square(array).sum(axes)}


def _is_total(op: Op) -> bool:
    """Whether an op makes one integer of several."""
    return op.name == "top.Reduce" and op.attribute("mode") in _TOTALS and op.operands[0].is_integer


def _is_total_beyond(op: Op, operands: Sequence[Any]) -> bool:
    axes = op.attribute("axes")
    array = np.asarray(operands[0], np.float64)
    total = _TOTALS[op.attribute("mode")](array, tuple(axes) if axes is not None else None)
    return bool((np.abs(total) > _MOST).any())


def _is_extreme(op: Op) -> bool:
    """Whether an op gives the greatest or the least of several floats, or where that is."""
    kinds = {"top.Reduce": ("ReduceMax", "ReduceMin"), "top.Arg": ("ArgMax", "ArgMin"), "top.MaxPool": (None,)}
    return op.name in kinds and op.operands[0].is_float and op.attribute("mode") in kinds[op.name]


def _is_no_number(op: Op, operands: Sequence[Any]) -> bool:
    return bool(np.isnan(np.asarray(operands[0]).astype(np.float32)).any())


_MET: tuple[tuple[Callable[[Op], bool], Callable[[Op, Sequence[Any]], bool], str], ...] = (
    (is_whole_power, is_power_beyond,
     "powers of integers that no integer is: negative ones of 0, or beyond what the type holds"),
    (_is_logarithm, _is_logarithm_beyond,
     "integers are made of logarithms of sums that are 0 or below, which no integer is; give inputs with greater sums with "
     "--input NAME=FILE"),
    (_is_cast, _is_cast_beyond,
     "integers are made of numbers that no integer of 32 bits is, of which ONNX does not say which"),
    (_is_narrow_cast, _is_no_whole_number,
     "integers of few bits are made of numbers that are no whole ones, or beyond: "
     "onnxruntime rounds them, and ONNX's reference cuts them off"),
    (_is_total, _is_total_beyond,
     "integers are added or multiplied beyond 32 bits; ONNX does not say what they become, and onnxruntime gives the greatest"),
    (_is_extreme, _is_no_number,
     "the greatest or the least of numbers of which one is NaN: ONNX leaves open which that is, and onnxruntime drops NaN but "
     "where it comes first"),
    (_is_of_a_power, _has_a_sign, "numbers below zero are made powers of two (float8e8m0), which ONNX leaves open"),
    (is_counted, _is_counted_beyond,
     "what QuantizeLinear is given is no number, or more than 2^31 steps; ONNX does not say what becomes of it, and onnxruntime "
     "gives the least number, or any"),
)
"""Which ops of the hub are looked at, what their operands may hold, and why nothing is judged then."""


def undefined(source: Module, hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Why onnxruntime's results cannot be compared on these inputs; nothing where they can."""
    ops = list(source.walk())
    told = [(_named(filter(holds, ops)), why) for holds, why in UNDEFINED]
    if any(array.dtype.kind == "f" and not (array < np.inf).all() for array in map(np.asarray, inputs.values())):
        told.append((_named(filter(hides_what_a_mask_says, ops)), "onnxruntime does not look at what a mask holds "
                     "where is_causal hides it, also at NaN or infinity, which ONNX adds"))
    there = list(hub.walk()) if hub is not None else []
    looks = {op: (beyond, why) for kind, beyond, why in _MET for op in there if kind(op)}
    if hub is not None and looks:
        met = looked_at(hub, inputs, looks, lambda op, operands: looks[op][0](op, operands))
        told += [(_named(op for op, is_beyond in met.items() if is_beyond and looks[op][1] is why), why) for *_, why in _MET]
    return "; ".join(f"{names}: {why}" for names, why in told if names)


def _named(ops: Iterable[Op]) -> str:
    return ", ".join(list(dict.fromkeys(str(op.origin or op.name) for op in ops))[:3])

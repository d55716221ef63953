"""Which outputs have to be the same to the bit: those on whose way from the inputs nothing is rounded.

An integer may be a step away where a float behind it was rounded near a half, or is the place of one of two that are nearly
equal. Where numbers are but moved, or integers computed of integers, no runtime has a reason to be a step away. Nor has one where
floats are moved: they are rounded once, where a program holds them in another type than the model does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..analysis.movement import moves_of
from ..ir import BOOL, Dense, IntegerType, Module, NoneType, Op, TensorType, Value
from ..ir.build import constant_of
from ..metrics import comparable
from ..plugin_host import host
from .offsets import unit_of

__all__ = ["EXACT", "exact_outputs", "share_of_same"]

EXACT = (bool, Callable)
"""What a fact of kind "exact" may be: True where results are exact if operands are, or a function of the op that says whether."""


def exact_outputs(hub: Module, floats: bool = True, source: Module | None = None) -> list[bool]:
    """For each output, whether no rounding of floats, and no quantized number, has reached it.

    Without `floats`, any float may be rounded: a target computes in fewer bits, or each side makes them of pixels on its own.
    With the model's `source`, constants of the hub that were computed of others count as rounded.
    """

    def holds(value: Value) -> bool:
        if value in exact or isinstance(value.type, NoneType):
            return True
        constant = constant_of(value) if _is_plain(value, floats) else None
        return constant is not None and (source is None or not value.is_float or _is_of(source, constant))

    body = hub.body_of_main
    exact = {value for value in body.arguments if _is_plain(value, floats)}
    for op in body:
        if not op.regions and all(map(holds, op.operands)) and _keeps(op):
            exact.update(value for value in op.results if _is_plain(value, floats))
    return [isinstance(value.type, TensorType) and holds(value) for value in body.terminator.operands]


def _is_of(source: Module, constant: Dense) -> bool:
    """Whether all numbers of a constant are among those that a model holds, or whole, so that none was computed by rounding."""
    left = np.unique(_wide(constant.numpy()))
    left = left[np.isfinite(left) & (left != np.round(left))]
    for op in source.walk() if left.size else ():
        held = [dense.numpy() for value in op.results if (dense := constant_of(value)) is not None]
        said = np.array([each for each in op.attributes.values() if isinstance(each, float)])
        for array in (*held, said):
            left = left[~np.isin(left, _wide(array).astype(left.dtype))] if array.dtype.kind not in "biuc" else left
        if not left.size:
            break
    return not left.size


def _wide(array: np.ndarray) -> np.ndarray:
    """Floats in a type that numpy sorts."""
    return array if array.dtype == np.float64 else array.astype(np.float32)


def share_of_same(reference: np.ndarray, actual: np.ndarray) -> float | None:
    """The share of elements of two arrays of a shape that are the same, of floats but for one rounding to float32, or to the type
    that `actual` has, and but for numbers so small that processors take them for 0. None of complex numbers and of no elements.
    """
    if not reference.size or "c" in (reference.dtype.kind, actual.dtype.kind):
        return None
    if reference.dtype.kind in "iub":
        return float(np.mean(reference == actual))
    a, b = (each.astype(np.promote_types(each.dtype, np.float32), copy=False) for each in (reference, actual))
    unit = unit_of(np.dtype(np.float32), actual.dtype)
    with np.errstate(all="ignore"):
        near = np.abs(a) * a.dtype.type(unit) + a.dtype.type(np.finfo(np.float32).tiny)
        others = ~(np.abs(a - b) <= near) | np.isinf(near)
        apart = np.count_nonzero(others)
        if apart and not np.isfinite(a[others]).all():  # the same infinity is no distance
            apart = np.count_nonzero(np.not_equal(*comparable(a[others], b[others])))
    return 1.0 - apart / reference.size


def _keeps(op: Op) -> bool:
    """Whether an op rounds nothing: it moves numbers, or says so of itself."""
    moves = moves_of(op)
    if moves is not None:
        whole = all(number == round(number) for number in moves.constants if abs(number) < float("inf"))
        return whole or not any(_is_whole(value) for value in op.results)  # a limit of integers that is none
    fact = host().facts("exact")[op.name]
    return bool(fact(op) if callable(fact) else fact)


def _is_plain(value: Value, floats: bool) -> bool:
    return isinstance(value.type, TensorType) and value.quant is None and (floats or not value.is_float)


def _is_whole(value: Value) -> bool:
    element = value.element_or_none
    return element == BOOL or isinstance(element, IntegerType)

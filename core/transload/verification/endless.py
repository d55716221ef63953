"""What in a model makes numbers that are none: factors without an end, halves beyond their type, weights that are NaN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from ..engine.steps import is_product
from ..ir import BOOL, F16, F64, DialectType, Module, Op, TensorType
from ..ir.build import constant_of

__all__ = ["beyond_singles", "is_finite", "may_hold_doubles", "weights_of_no_numbers", "why_no_numbers"]

_ENDLESS = 1e30


def is_finite(array: np.ndarray) -> bool:
    numbers = np.asarray(array)
    return numbers.dtype.kind not in "fc" or bool(np.isfinite(numbers).all())


def may_hold_doubles(module: Module) -> bool:
    """Whether a module computes in f64, or with elements that it does not tell."""
    return any(isinstance(value.type, TensorType) and (value.type.element == F64 or isinstance(value.type.element, DialectType))
               for op in module.walk() for value in op.results)


def beyond_singles(tensors: Mapping[str, np.ndarray]) -> list[str]:
    """The names of tensors of f64 with finite numbers that f32 does not hold: the first three."""
    most = np.finfo(np.float32).max
    found = (name for name, array in tensors.items() if (numbers := np.asarray(array)).dtype == np.float64
             and (np.isfinite(numbers) & (np.abs(numbers) > most)).any())
    return [*islice(found, 3)]


def why_no_numbers(source: Module, hub: Module | None, endless: bool) -> str:
    """Why two right results may differ, as numbers on the way are none; with `endless`, outputs are none, too. Empty where
    nothing says so."""
    if names := weights_of_no_numbers(hub) or weights_of_no_numbers(source):
        return (f"weights of {', '.join(names)} are NaN or infinite, and runtimes differ in what they make of "
                "them: 0 times them, in padding, is NaN where it is computed")
    if names := _halves_beyond(source):
        return f"{', '.join(names)} computes in f16, and has a factor that is infinite there"
    if endless and (names := _endless_factors(source, hub)):
        return (f"{', '.join(names)} has a factor or a power that is infinite, or nearly, and results are no numbers: "
                "runtimes differ in what they multiply first")
    return ""


def _halves_beyond(source: Module) -> list[str]:
    """The first operators on f16 with a factor that is none; the greatest numbers of f32 and f64 are limits."""
    greatest = float(np.finfo(np.float16).max)
    found = [
        str(op.origin or op.name) for op in source.walk() if any(value.tensor_type.element == F16 for value in op.results
                                                                 if isinstance(value.type, TensorType))
        for value in op.attributes.values() if isinstance(value, float) and greatest < abs(value) < _ENDLESS]
    return list(dict.fromkeys(found))[:3]


def _endless_factors(source: Module, hub: Module | None) -> list[str]:
    """The first operators with a number of which products are infinite; the greatest float is a limit that is none."""
    found = [
        str(op.origin or op.name) for op in source.walk() for value in op.attributes.values() if isinstance(value, float)
        and not abs(value) < _ENDLESS and abs(value) != float(np.finfo(np.float32).max)]
    found += [
        str(op.origin or op.name) for op, place, held in _constants(hub)
        if ((np.abs(held) >= _ENDLESS) & (np.abs(held) < np.finfo(np.float32).max)).any()
        or (place == 1 and _POWER.search(op.name) and (np.abs(held) >= _HIGH).any())]
    return list(dict.fromkeys(found))[:3]


_POWER, _HIGH = re.compile(r"\.pow$", re.IGNORECASE), 30
"""Powers, and the exponent from which on those of numbers like 10 are infinite."""
_RECURRENT = re.compile(r"lstm|gru|rnn|svdf", re.IGNORECASE)
"""Layers whose weights' products are within: of a state that is 0 some runtimes do not compute them."""
_WIDENING = re.compile(r"dequantize|(?<!broad)cast", re.IGNORECASE)
"""Between a constant of fewer bits and what it is given to."""
_PLACING = re.compile(r"grid_?sample|suppression|roi_?align|crop_and_resize|deform", re.IGNORECASE)
"""Ops with constants that are places in an image."""


def _constants(module: Module | None) -> Iterator[tuple[Op, int, np.ndarray]]:
    """The constant floats that ops of a module are given: by which op, and as which operand."""
    for op in module.ops() if module is not None else ():
        for place, value in enumerate(op.operands):
            maker = value.op
            if maker is not None and len(maker.operands) == 1 and _WIDENING.search(maker.name):
                value = maker.operands[0]
            held = constant_of(value) if isinstance(value.type, TensorType) and value.is_float else None
            if held is not None:
                with np.errstate(over="ignore"):  # of f64 what f32 does not hold is infinite
                    numbers = held.numpy().astype(np.float32)
                yield op, place, numbers


def weights_of_no_numbers(hub: Module | None) -> list[str]:
    """The ops of a module, three at most, by name, with a constant that holds NaN, or, where it is multiplied, an infinity.

    Other ops may well have infinities: a mask is added to scores. And whether something is equal to NaN, or
    less, no runtime doubts.
    """
    found: dict[str, None] = {}
    for op, place, numbers in _constants(hub):
        multiplied = (place < 2 and is_product(op.name)) or _RECURRENT.search(op.name) is not None
        placed = _PLACING.search(op.name) is not None and (np.abs(numbers) >= _ENDLESS).any()
        if all(value.element_or_none == BOOL for value in op.results):
            continue
        if np.isnan(numbers).any() or (multiplied and np.isinf(numbers).any()) or placed:
            found[str(op.origin or op.name)] = None
    return list(found)[:3]

"""Intermediate tensors of two runs side by side: numbers that mean the same, whatever they are stored as.

An artifact may hold a tensor in another order of dimensions than the model (channels last), and one of unsigned quantized
numbers as signed ones, all less by half their range. What a number means is said by the quantized types of the model's hub form.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, permutations

import numpy as np

from ..engine.quantized import dequantize
from ..ir import Module, QuantType, TensorType
from .differences import TensorDifference, difference

__all__ = ["layer_differences", "quantized_elements"]

_ORDERS = 24
"""How many orders of dimensions are tried at most."""


def layer_differences(
    reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], elements: Mapping[str, QuantType],
) -> list[TensorDifference]:
    """The differences of the tensors that are in both, by name; `elements` are the types of the model's quantized tensors."""
    return [
        difference(name, array, _in_its_order(_as_stored(actual[name], array, elements.get(name)), array))
        for name, array in ((name, np.asarray(array)) for name, array in reference.items()) if name in actual]


def quantized_elements(*modules: Module) -> dict[str, QuantType]:
    """The element types of all quantized tensors that have a name, by it; of one that several modules have, the last's."""
    return {
        result.name: result.type.element
        for module in modules for op in module.walk() for result in op.results
        if result.name and isinstance(result.type, TensorType) and isinstance(result.type.element, QuantType)}


def _as_stored(actual: np.ndarray, reference: np.ndarray, element: QuantType | None) -> np.ndarray:
    """The numbers of an artifact as the model's runtime gives them: unsigned where it does, real where it does."""
    if actual.dtype.kind not in "iu" or element is None:
        return actual
    if element.storage.unsigned and actual.dtype.kind == "i" and element.storage.width in (8, 16):
        actual = (actual.astype(np.int32) + (1 << (element.storage.width - 1))).astype(f"u{actual.dtype.itemsize}")
    if reference.dtype.kind == "f" and element.per_tensor:
        return dequantize(actual, element)
    return actual


def _in_its_order(actual: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """`actual` with its dimensions in the order in which it is nearest to the reference; as it is, where it fits in none."""
    if actual.ndim != reference.ndim or (actual.shape == reference.shape and np.array_equal(actual, reference, equal_nan=False)):
        return actual
    fitting = (
        turned for order in permutations(range(actual.ndim)) if (turned := actual.transpose(order)).shape == reference.shape)
    tried = list(islice(fitting, _ORDERS))
    if len(tried) < 2:
        return tried[0] if tried else actual
    wanted = reference.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        distances = [np.square(turned.astype(np.float64) - wanted).sum() for turned in tried]
    return tried[int(np.argmin(np.nan_to_num(distances, nan=np.inf)))]

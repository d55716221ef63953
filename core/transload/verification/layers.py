"""Intermediate tensors of two runs side by side: numbers that mean the same, whatever they are stored as.

An artifact may hold a tensor in another order of dimensions than the model (channels last), and one of unsigned quantized
numbers as signed ones, all less by half their range. What a number means is said by the quantized types of the model's hub form,
and where a quantizer of ours made it, by those of the artifact's report. Outputs are in the model's order: one that is not is
wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations

import numpy as np

from ..engine.quantized import dequantize
from ..ir import Module, QuantType, TensorType, dtype_of
from ..meanings import Changes, real_numbers
from .differences import TensorDifference, difference, incomparable, of_plain
from .offsets import measure_offset, unit_of

__all__ = ["layer_differences", "meant_difference", "quantized_elements"]

_ORDERS = 24
"""How many orders of dimensions are tried at most."""
_FAR = 0.02
"""Beside the size of a tensor: what is nearer is in the order of the model's, as `euclid` has it."""
_NEARER = 4.0
"""How many times as near another order of equal sizes has to be: of one tensor of noise the nearest of two dozen orders is little
nearer than any."""


def layer_differences(
    reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], elements: Mapping[str, QuantType],
    stored: Mapping[str, QuantType] | None = None, changes: Changes | None = None,
) -> list[TensorDifference]:
    """The differences of the tensors that are in both, by name.

    `elements` are the types of the model's quantized tensors, `stored` those of the artifact's, where they are others; `changes`
    says which of these are not those of the model.
    """
    stored, changes = stored or {}, changes or Changes()
    return [
        meant_difference(name, array, actual[name], elements.get(name), stored.get(name, elements.get(name)), changes)
        for name, array in reference.items() if name in actual]


def meant_difference(
    name: str, reference: np.ndarray, actual: np.ndarray, element: QuantType | None, stored: QuantType | None,
    changes: Changes | None = None, is_output: bool = False,
) -> TensorDifference:
    """How two tensors differ in what they mean; `element` and `stored` are the types of the model's and of the artifact's.

    One between others is turned to the model's order of dimensions; where both are of one shape, only if it is far from the
    model's as it is and near when turned, which `TensorDifference.turned` tells. An output (`is_output`) is taken as it is given.

    Integers beside floats are compared as the real numbers that they stand for, and not at all where nothing says of what scale.
    Integers that stand for no real numbers are compared by how many are equal (`of_plain`).
    Channels that were divided are multiplied, and what ends with the type of the artifact's ends there in the model's, too.
    """
    reference, actual = np.asarray(reference), _as_stored(np.asarray(actual), np.asarray(reference), stored)
    if reference.dtype.kind == "f" and actual.dtype.kind in "iu":
        return incomparable(name, reference, f"integers ({actual.dtype}) without a scale")
    if reference.dtype.kind in "iu" and actual.dtype.kind == "f" and element is not None:
        real = real_numbers(reference, element)
        reference = real if real is not None else reference
    along = _factors_along(reference, *changes.factors[name]) if changes is not None and name in changes.factors else 1.0
    if changes is not None and name in changes.cut and stored is not None and stored.per_tensor and reference.dtype.kind == "f":
        ends = dequantize(np.array([stored.storage_min, stored.storage_max], dtype_of(stored.storage)), stored)
        reference = np.clip(reference / along, *ends) * along
    beside = reference / along if np.ndim(along) else reference
    scaled, is_turned = (actual, False) if is_output else _in_its_order(actual, beside)
    found = difference(name, reference, scaled * along if np.ndim(along) and scaled.shape == reference.shape else scaled)
    found = replace(found, turned=is_turned)
    return found if element is not None or stored is not None else of_plain(found)


def _factors_along(reference: np.ndarray, axis: int, factors: np.ndarray) -> np.ndarray | float:
    """Factors of channels as they broadcast to the reference, whose dimension `axis` counts these; 1 where it does not."""
    if axis >= reference.ndim or reference.shape[axis] != factors.size or not (factors > 0.0).all():
        return 1.0
    return factors.reshape([-1 if dimension == axis else 1 for dimension in range(reference.ndim)])


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
    real = real_numbers(actual, element) if reference.dtype.kind == "f" else None
    return real if real is not None else actual


def _in_its_order(actual: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, bool]:
    """`actual` with its dimensions in the order in which it is nearest to the reference, and whether it is of that shape in its
    own order, too, in which it is far; as it is, where it fits in none, not even with some of them merged."""
    is_fitting = actual.shape == reference.shape
    if is_fitting and np.array_equal(actual, reference, equal_nan=False):
        return actual, False
    tried = list(islice(_in_orders(actual, reference.shape), _ORDERS))  # the first is the own order, where that fits
    tried = tried or list(islice(_split(actual, reference.shape), _ORDERS))
    if len(tried) < 2:
        return (tried[0] if tried else actual), False
    wanted = reference.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        distances = np.nan_to_num([np.square(turned.astype(np.float64) - wanted).sum() for turned in tried], nan=np.inf)
        size = float(np.square(wanted).sum())
    nearest, offset = int(np.argmin(distances)), measure_offset(reference, tried[0])
    is_far = distances[0] > _FAR**2 * size
    if offset is not None:  # of floats beside what varies, as outputs are judged
        is_far = offset.near(unit_of(np.dtype(np.float32), reference.dtype, actual.dtype)) < 1.0 - _FAR
    if is_fitting and not (is_far and distances[0] > _NEARER**2 * distances[nearest]):
        return actual, False
    return tried[nearest], is_fitting


def _in_orders(actual: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """`actual` in all orders of its dimensions in which it has a shape."""
    if actual.ndim == len(shape):
        turned = (actual.transpose(order) for order in permutations(range(actual.ndim)))
        yield from (each for each in turned if each.shape == shape)


def _split(actual: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """`actual` in a shape some of whose dimensions, in one order or another, are one in it: a layer computes rows of all images
    together. Sizes of 1 are nowhere."""
    sizes = [size for size in shape if size != 1]
    if math.prod(sizes) != actual.size or not actual.size:
        return
    for order in permutations(range(len(sizes))):
        held = [sizes[dimension] for dimension in order]
        if _are_merged(held, actual.shape):
            yield actual.reshape(held).transpose(np.argsort(order)).reshape(shape)


def _are_merged(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether a shape has these sizes, of a tensor of as many elements, some of them in a row multiplied."""
    ends = {math.prod(sizes[:place]) for place in range(len(sizes) + 1)}
    return all(math.prod(shape[:place]) in ends for place in range(len(shape)))

"""Computing ops whose operands are all constant."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import described
from ..budget import budget
from ..guard import FOREIGN, goes_through, kernel_failed
from ..ir import NoneType, Op, QuantType, TensorType, dtype_of
from ..ir.build import constant_of, may_fold
from .absent import given_absent
from .integers import exact_kernel
from .quantized import goes_through_reals, quantize
from .work import FactsOf, work_by

__all__ = ["computed_of", "fold_op"]

KernelOf = Callable[[str], tuple[Callable[..., Any], str] | None]
"""From an op's name to its kernel and how that treats quantized operands, or None: `transload.plugin_host.Host.kernel`."""

GROWTH_LIMIT = 1 << 20
"""Bytes by which a folded result may exceed what it is made of: expanding a scalar is not worth storing."""


def fold_op(op: Op, kernel_of: KernelOf, facts_of: FactsOf) -> list[np.ndarray] | None:
    """The results of an op whose operands are all constant, or None where it should stay.

    Who works in a context asks that: `transload.context.current().fold(op)`.

    It stays where it has effects, regions, dynamic results or no kernel, or where the result is much
    larger than the operands.
    """
    declaration = op.declaration
    if op.regions or declaration is None or not may_fold(op, declaration):
        return None
    held = [constant_of(operand) for operand in op.operands]
    if any(dense is None and not isinstance(operand.type, NoneType) for dense, operand in zip(held, op.operands, strict=True)):
        return _fold_shape(op, kernel_of)
    size = sum({id(dense): dense.nbytes for dense in held if dense is not None}.values())  # a constant twice is there once
    made = 0
    for result in op.results:
        type_ = result.type
        if not isinstance(type_, TensorType) or not type_.is_static:
            return None
        try:
            made += math.prod(type_.static_shape) * dtype_of(type_.element).itemsize
        except ValueError:
            return None
    if made > 4 * size + GROWTH_LIMIT:
        return None
    found = kernel_of(op.name)
    if found is None or not budget().may_fold(size, made, work_by(op, facts_of)):
        return None
    inputs = [None if dense is None else dense.numpy() for dense in held]
    return _results(op, exact_kernel(op, *found)[0], inputs, found[0])


def computed_of(op: Op, kernel_of: KernelOf, inputs: Sequence[np.ndarray | None]) -> list[np.ndarray] | None:
    """The results of an op of these arrays, None for absent operands; None where it has effects, regions or no kernel."""
    declaration = op.declaration
    if op.regions or declaration is None or not declaration.folds:
        return None
    found = kernel_of(op.name)
    if found is None:
        return None
    kernel, _ = exact_kernel(op, *found)
    return None if hasattr(kernel, "plans") else _results(op, kernel, [*inputs], found[0])


def _fold_shape(op: Op, kernel_of: KernelOf) -> list[np.ndarray] | None:
    """An op that asks only for its operand's type (trait "shape_only") folds where that is static."""
    if not all(isinstance(v.type, TensorType) and v.type.is_static for v in op.operands):
        return None
    found = kernel_of(op.name)
    if found is None:
        return None
    # The kernel reads shapes alone, so arrays that occupy no memory will do.
    stand_ins = [np.broadcast_to(np.zeros((), np.int8), v.static_shape) for v in op.operands]
    kernel, mode = found
    return _results(op, _quantizing(op, given_absent(op, kernel), mode), stand_ins, kernel)


def _quantizing(op: Op, kernel: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """A kernel that gives the stored numbers of quantized results, where it computes real ones; it is given what it is given."""
    if not goes_through_reals(op, mode):
        return kernel
    elements = [value.element_or_none for value in op.results]

    def quantizing(op: Op, *arrays: Any) -> tuple[Any, ...]:
        computed = kernel(op, *arrays)
        outputs = computed if isinstance(computed, tuple | list) else (computed,)
        return tuple(quantize(array, element) if isinstance(element, QuantType) else array
                     for array, element in zip(outputs, elements, strict=True))

    return quantizing


def _results(op: Op, kernel: Callable[..., Any], inputs: list[Any], registered: Callable[..., Any]) -> list[np.ndarray]:
    """What a kernel computes, in the storage types of the results; `registered` is the kernel as a plugin registered it."""
    try:
        with np.errstate(all="ignore"):
            return _in_storage(op, kernel(op, *inputs), registered)
    except FOREIGN as error:
        if goes_through(error, registered):
            raise
        raise kernel_failed(registered, op, error) from error


def _in_storage(op: Op, computed: Any, registered: Callable[..., Any]) -> list[np.ndarray]:
    """What a kernel gave, looked at, in the storage types of the results."""
    outputs = computed if isinstance(computed, tuple | list) else (computed,)
    if len(outputs) != len(op.results):
        wrong = f"gives {len(outputs)} results, where the op has {len(op.results)}"
        raise kernel_failed(registered, op, TypeError(wrong))
    made = []
    for array, result in zip(outputs, op.results, strict=True):
        type_ = result.type
        fits = hasattr(array, "shape") and (
            not isinstance(type_, TensorType) or not type_.is_static or array.shape == type_.static_shape)
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise kernel_failed(registered, op, TypeError("gives a masked array: behind a mask there are no numbers"))
        if not fits:
            raise kernel_failed(registered, op, TypeError(f"gives {described(array)}, where {type_} is wanted"))
        made.append(np.asarray(array).astype(dtype_of(_stored(type_)), copy=False))
    return made


def _stored(type_: Any) -> Any:
    return type_.element.storage if isinstance(type_.element, QuantType) else type_.element

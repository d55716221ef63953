"""What is written or combined by subscripts: scatters into a ground of one number, segments, sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import FloatType, IntegerType, Type, Value, dtype_of
from transload.ir.build import Builder, constant_of

from .tables import distinct

__all__ = ["neutral", "scattered", "sparse_to_dense", "unsorted_segments"]


def neutral(element: Type, reduction: str) -> Any:
    """What changes nothing when it is combined ("add", "mul", "max", "min"): 0, 1, the least or greatest finite number."""
    if reduction in ("add", "mul"):
        return 0 if reduction == "add" else 1
    if isinstance(element, IntegerType):
        return element.range[0 if reduction == "max" else 1]
    if isinstance(element, FloatType):
        import ml_dtypes

        limits = ml_dtypes.finfo(dtype_of(element))
        return limits.min if reduction == "max" else limits.max
    raise Unsupported(f"numbers of {element} cannot be combined by {reduction}")


def scattered(
    build: Builder, shape: Sequence[int], start: Any, indices: Value, updates: Value, reduction: str, element: Type | None = None,
) -> Value:
    """Updates written ("none") or combined into a tensor that holds `start` everywhere."""
    element = updates.element if element is None else element
    ground = build.emit("top.Fill", build.constant(np.asarray(start, dtype_of(element)), element=element), shape=tuple(shape))
    return build.emit("top.ScatterND", ground, indices, updates, reduction=reduction, element=element)


def unsorted_segments(build: Builder, value: Value, ids: Value, count: int, reduction: str, element: Type | None = None) -> Value:
    """Slices [ids.., rest..] combined by id to [count, rest..]; a segment without slices has the neutral number, a slice with
    a negative id is left out."""
    sizes, held = value.tensor_type.static_shape, ids.tensor_type.static_shape
    element = value.element if element is None else element
    shape = (count, *sizes[len(held) :])
    start = neutral(element, reduction)
    known = constant_of(ids)
    if known is not None and np.all(distinct(known.numpy()) >= 0):
        return scattered(build, shape, start, build.emit("top.Unsqueeze", ids, axes=(-1,)), value, reduction, element)
    # Slices of a negative id are left out: the neutral number goes to the first segment in their place.
    zero = build.constant(np.asarray(0, dtype_of(ids.element)), element=ids.element)
    left_out = build.emit("top.Compare", ids, zero, mode="Less")
    if len(sizes) > len(held):
        left_out = build.emit("top.Unsqueeze", left_out, axes=tuple(range(len(held), len(sizes))))
    nothing = build.constant(np.asarray(start, dtype_of(element)), element=element)
    value = build.emit("top.Where", left_out, nothing, value, element=element)
    places = build.emit("top.Unsqueeze", build.emit("top.Max", ids, zero), axes=(-1,))
    return scattered(build, shape, start, places, value, reduction, element)


def sparse_to_dense(
    build: Builder, indices: Value, shape: Sequence[int], values: Value, default: Value, element: Type | None = None,
) -> Value:
    """Values written into a tensor of `default`: at one subscript, at places in a vector, or at [count, rank] subscripts."""
    if len(indices.tensor_type.static_shape) < 2:
        indices = build.emit("top.Reshape", indices, shape=(-1, 1))
    count = indices.tensor_type.static_shape[0]
    if values.rank == 0:
        values = build.emit("top.Expand", values, shape=(count,))
    ground = build.emit("top.Fill", build.emit("top.Reshape", default, shape=()), shape=tuple(shape))
    return build.emit("top.ScatterND", ground, indices, values, element=element)

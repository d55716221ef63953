"""Moving numbers: repeats of pixels are an Upsample, gathers in order a Reshape, of all an Expand, repeated matrices one.

Exact for every type.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import ElidedData, TensorType, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.affine import used_once
from ..algebra.match import made_by
from ..build import whole_for_each
from ..ops.infer import spatial_axes

if TYPE_CHECKING:
    from ..ops.gather import Gather, GatherElements, GatherND
    from ..ops.matmul import MatMul
    from ..ops.movement import Expand, Reshape, Slice

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static


@TABLE("top.Expand")
def expand_that_repeats_nothing(op: Expand, rw: Rewriter) -> Value | None:
    """New dimensions of size 1 alone are a reshape."""
    if not _static(op.input) or op.input.type == op.output.type:
        return None
    if math.prod(op.input.static_shape) != math.prod(op.output.static_shape):
        return None
    return rw.emit("top.Reshape", op.input, shape=tuple(op.output.shape), element=op.output.element)


@TABLE("top.GatherND")
def gather_in_order(op: GatherND, rw: Rewriter) -> Value | None:
    """All elements, gathered in the order in which they lie, are a reshape."""
    dense = constant_of(op.indices)
    if dense is None or isinstance(dense.data, ElidedData) or op.batch_dims or not _static(op.input):
        return None
    shape = op.input.static_shape
    indices = dense.numpy()
    if indices.ndim < 1 or indices.shape[-1] != len(shape) or indices.size != len(shape) * math.prod(shape):
        return None
    numbers = np.moveaxis(indices.astype(np.int64), -1, 0).reshape(len(shape), -1)
    sizes = np.array(shape, np.int64)[:, None]
    if ((numbers < 0) | (numbers >= sizes)).any():
        return None
    if (np.ravel_multi_index(tuple(numbers), shape) != np.arange(math.prod(shape))).any():
        return None
    return rw.emit("top.Reshape", op.input, shape=tuple(op.output.shape), element=op.output.element)


@TABLE("top.GatherND")
def gather_by_nothing(op: GatherND, rw: Rewriter) -> Value | None:
    """Without subscripts (StableHLO's empty `start_index_map`) each row is all that there is: an Expand."""
    if not _static(op.input) or not _static(op.indices) or op.indices.static_shape[-1] != 0:
        return None
    return whole_for_each(rw, op.input, op.indices.static_shape[:-1], op.batch_dims, op.output.element)


@TABLE("top.Gather")
def repeated_pixels(op: Gather, rw: Rewriter) -> Value | None:
    """Rows and columns gathered several times each, in order, are an Upsample: JAX's resize to whole multiples."""
    if not _static(op.input) or op.input.rank != 4:
        return None
    scale, inner = _repeat_of(op), made_by(op.input, "Gather")
    if scale is None:
        return None
    axis = op.axis % 4
    before = _repeat_of(inner) if inner is not None and used_once(op.input) and _static(inner.input) else None
    for layout in ("NHWC", "NCHW"):
        axes = spatial_axes(layout, 4)
        if axis != axes[1] or before is None or inner.input.rank != 4 or inner.axis % 4 != axes[0]:
            continue
        return rw.emit("top.Upsample", inner.input, scale_h=before, scale_w=scale, layout=layout, element=op.output.element)
    return None


def _repeat_of(op: Gather) -> int | None:
    """How often a Gather repeats each element of a dimension, in order; None of others."""
    dense = constant_of(op.indices)
    if dense is None or isinstance(dense.data, ElidedData) or op.batch_dims or len(dense.shape) != 1:
        return None
    size, count = op.input.shape[op.axis % op.input.rank], dense.shape[0]
    if not size or count % size or count == size:
        return None
    scale: int = count // size
    return scale if (dense.numpy() == np.arange(count) // scale).all() else None


@TABLE("top.Reshape")
def expanded_pixels(op: Reshape, rw: Rewriter) -> Value | None:
    """`[N, C, H, 1, W, 1]` expanded and reshaped to `[N, C, H*a, W*b]` is an Upsample; so is `[N, H, 1, W, 1, C]`."""
    expand = made_by(op.input, "Expand")
    apart = made_by(expand.input, "Reshape", "Unsqueeze") if expand is not None else None
    if apart is None or not _static(op.output) or not _static(apart.operands[0]) or not used_once(op.input):
        return None
    x: Value = apart.operands[0]
    if x.rank != 4 or expand.input.rank != 6 or expand.output.rank != 6 or op.output.rank != 4:
        return None
    for layout, places in (("NCHW", (3, 5)), ("NHWC", (2, 4))):
        kept = tuple(size for place, size in enumerate(expand.input.shape) if place not in places)
        if any(expand.input.shape[place] != 1 for place in places) or kept != tuple(x.shape):
            continue
        scales = [expand.output.shape[place] for place in places]
        wanted = list(x.shape)
        for axis, scale in zip(spatial_axes(layout, 4), scales, strict=True):
            wanted[axis] = x.shape[axis] * scale
        others = [place for place in range(6) if place not in places]
        if tuple(wanted) == tuple(op.output.shape) and all(expand.output.shape[p] == expand.input.shape[p] for p in others):
            return rw.emit("top.Upsample", x, scale_h=scales[0], scale_w=scales[1], layout=layout, element=op.output.element)
    return None


@TABLE("top.MatMul")
def one_matrix_for_all(op: MatMul, rw: Rewriter) -> Value | None:
    """A right operand repeated for every matrix of a batch is one matrix: PyTorch's exporter expands the weight of a layer."""
    if not _static(op.input) or not _static(op.right) or op.right.rank < 3 or op.input.rank < op.right.rank:
        return None
    shape = tuple(op.right.shape)
    expand = made_by(op.right, "Expand")
    matrix: Value | None = None
    if expand is not None and _static(expand.input) and expand.input.rank >= 2:
        inner = tuple(expand.input.shape)
        if inner[-2:] == shape[-2:] and math.prod(inner[:-2]) == 1:
            matrix = expand.input if len(inner) == 2 else rw.emit("top.Reshape", expand.input, shape=shape[-2:])
    dense = constant_of(op.right)
    if dense is not None and not isinstance(dense.data, ElidedData) and dense.type.element == op.right.element:
        array = dense.numpy().reshape(-1, *shape[-2:])
        if len(array) and all(other.tobytes() == array[0].tobytes() for other in array[1:]):
            matrix = rw.constant(array[0], op.right.element)
    if matrix is None or _batch(op.input) != tuple(op.output.shape[:-2]):
        return None
    return rw.emit("top.MatMul", op.input, matrix, op.bias, element=op.output.element, **op.attributes)


def _batch(value: Value) -> tuple[Any, ...]:
    return tuple(value.shape[:-2])


@TABLE("top.GatherElements")
def gathered_numbers_of_places(op: GatherElements, rw: Rewriter) -> Value | None:
    """0, 1, 2, ... gathered along their dimension are the indices, where those are known to be in range: JAX's sort and top_k."""
    dense, indices = constant_of(op.input), op.indices
    if dense is None or isinstance(dense.data, ElidedData) or not _static(op.output) or indices.shape != op.input.shape:
        return None
    maker = indices.op
    if maker is None or maker.name != "top.TopK" or indices.index != 1 or maker.axis % indices.rank != op.axis % indices.rank:
        return None
    line = np.arange(dense.shape[op.axis % indices.rank]).reshape(
        [-1 if place == op.axis % indices.rank else 1 for place in range(indices.rank)])
    if (dense.numpy() != line).any():
        return None
    return indices if indices.element == op.output.element else rw.emit("top.Cast", indices, element=op.output.element)


@TABLE("top.Slice")
def first_of_ordered(op: Slice, rw: Rewriter) -> Value | None:
    """The first ones of elements put in order are the greatest (or least): fewer need to be found."""
    maker = made_by(op.input, "TopK")
    if maker is None or not _static(op.output) or not maker.sorted or any(op.offset) or any(step != 1 for step in op.steps):
        return None
    axis = maker.axis % op.input.rank
    shape: tuple[Any, ...] = tuple(op.output.shape)
    count = shape[axis]
    whole = (*shape[:axis], op.input.shape[axis], *shape[axis + 1:])
    if not 0 < count < op.input.shape[axis] or whole != tuple(op.input.shape):
        return None
    users = [user for result in maker.results for user in result.uses]
    if any(user.name != "top.Slice" or any(user.offset) or user.results[0].shape != shape for user in users):
        return None  # all of them are needed anyway
    attributes = {**maker.attributes, "k": count, "sorted": True}
    fewer = rw.emit("top.TopK", maker.input, types=tuple(
        TensorType(shape, result.element) for result in maker.results), **attributes)
    chosen: Value = fewer[op.input.index]
    return chosen

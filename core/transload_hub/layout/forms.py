"""Forms: the orders in which a tensor's dimensions can lie in memory, and what it costs to change them.

A *form* of a tensor of rank r is a permutation of `range(r)`: dimension `j` of what is stored is
dimension `form[j]` of the tensor as the model has it. The identity is the *plain* form. A feature map
`[N, C, H, W]` stored as `[N, H, W, C]` has the form `(0, 2, 3, 1)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

__all__ = [
    "Form", "Shape", "after_permute", "channels_first", "channels_last", "compose", "dropping", "extended", "inserting",
    "inverse", "is_plain", "order_between", "plain", "reshape_groups", "reshaped_form", "same_memory", "stored_shape", "volume",
]

Form = tuple[int, ...]
Shape = tuple[int | None, ...]

_remembered = lru_cache(maxsize=4096)  # a network has few shapes and fewer forms, asked for again and again


@_remembered
def plain(rank: int) -> Form:
    """The identity."""
    return tuple(range(rank))


@_remembered
def is_plain(form: Form) -> bool:
    return all(index == dim for index, dim in enumerate(form))


def channels_last(rank: int) -> Form:
    """The form that stores channels-first data (`NCHW`) with the channels last."""
    return (0, *range(2, rank), 1) if rank > 2 else plain(rank)


def channels_first(rank: int) -> Form:
    """The form that stores channels-last data (`NHWC`) with the channels second."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 2 else plain(rank)


@_remembered
def inverse(form: Form) -> Form:
    back = [0] * len(form)
    for index, dim in enumerate(form):
        back[dim] = index
    return tuple(back)


@_remembered
def compose(outer: Form, inner: Form) -> Form:
    """`result[j] = outer[inner[j]]`: the form of x that stores `Permute(x, outer)` in the form `inner`."""
    return tuple(outer[dim] for dim in inner)


@_remembered
def after_permute(form: Form, order: Form) -> Form:
    """The form that `Permute(x, order)` has where x is stored in `form` and nothing is moved."""
    return compose(inverse(order), form)


def order_between(source: Form, target: Form) -> Form:
    """The order of the Permute that turns a tensor stored in `source` into one stored in `target`."""
    return compose(inverse(source), target)


@_remembered
def stored_shape(shape: Shape, form: Form) -> Shape:
    return tuple(shape[dim] for dim in form)


@_remembered
def same_memory(shape: Shape, a: Form, b: Form) -> bool:
    """Whether two forms lie alike in memory: they differ only in where dimensions of size 1 stand."""
    return a == b or [dim for dim in a if shape[dim] != 1] == [dim for dim in b if shape[dim] != 1]


@_remembered
def volume(shape: Shape) -> int:
    """How many elements, an unknown dimension counted as 1: a weight for costs, not a size."""
    return math.prod(1 if size is None else size for size in shape)


# --- forms of results, from forms of operands

def dropping(form: Form, axes: Sequence[int]) -> Form:
    """The form left when dimensions `axes` are removed (a reduction without `keepdims`)."""
    kept = [dim for dim in range(len(form)) if dim not in axes]
    place = {dim: index for index, dim in enumerate(kept)}
    return tuple(place[dim] for dim in form if dim in place)


def inserting(form: Form, axis: int, position: int) -> Form:
    """The form with a new dimension `axis`, stored at `position`."""
    shifted = [dim + (dim >= axis) for dim in form]
    shifted.insert(position, axis)
    return tuple(shifted)


def extended(form: Form, rank: int) -> Form | None:
    """What `form` of a result means for an operand of lower `rank`, broadcast from the right.

    The form of the operand itself where the leading dimensions, which it lacks, stay in front; None
    where it must be reshaped to the result's rank first.
    """
    missing = len(form) - rank
    if form[:missing] != tuple(range(missing)):
        return None
    return tuple(dim - missing for dim in form[missing:])


def reshape_groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]] | None:
    """The finest split of a reshape into independent ones: lists of dimensions with equal products.

    Dimensions of size 1 belong to none. None where a size is 0 (then everything is the same memory).
    """
    if 0 in before or 0 in after:
        return None
    ins = [dim for dim, size in enumerate(before) if size != 1]
    outs = [dim for dim, size in enumerate(after) if size != 1]
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(ins) and j < len(outs):
        left, right = [ins[i]], [outs[j]]
        have, want = before[ins[i]], after[outs[j]]
        i, j = i + 1, j + 1
        while have != want:
            if have < want:
                if i == len(ins):
                    return None
                have *= before[ins[i]]
                left.append(ins[i])
                i += 1
            else:
                if j == len(outs):
                    return None
                want *= after[outs[j]]
                right.append(outs[j])
                j += 1
        groups.append((left, right))
    return groups if i == len(ins) and j == len(outs) else None


def reshaped_form(form: Form, before: Sequence[int], after: Sequence[int], wished: Sequence[Form]) -> Form | None:
    """The form of a reshape's result where its operand is stored in `form` and nothing is moved.

    None where the stored data is no reshape of the result in any form. Where dimensions of size 1
    leave a choice, one of `wished` is taken if it fits.
    """
    groups = reshape_groups(before, after)
    if groups is None:
        return None
    order = [dim for dim in form if before[dim] != 1]
    of_first = {left[0]: (left, right) for left, right in groups}
    sequence: list[int] = []
    at = 0
    while at < len(order):
        group = of_first.get(order[at])
        if group is None or order[at : at + len(group[0])] != group[0]:
            return None
        sequence += group[1]
        at += len(group[0])
    for wish in wished:
        if [dim for dim in wish if after[dim] != 1] == sequence:
            return wish
    result = sequence.copy()
    for dim, size in enumerate(after):
        if size == 1:  # behind the dimension that precedes it in the plain form
            result.insert(result.index(dim - 1) + 1 if dim else 0, dim)
    return tuple(result)

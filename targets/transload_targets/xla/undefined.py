"""Where XLA computes otherwise than the specification of StableHLO: a verification that fails there is not conclusive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from transload.api import run
from transload.errors import TransloadError
from transload.ir import Module, Op, Value
from transload.ir.build import constant_of
from transload.ir.types import FloatType, TensorType

from .undefined_orders import combined, depends_on_order, reductions

if TYPE_CHECKING:
    from transload_plugins.stablehlo.dialect.indexing import Scatter

__all__ = ["undefined"]

_TOLD = 3
"""Ops that are named."""
_COMPARED = 512
"""Windows of which each is compared with each."""
_IDENTITIES = {"stablehlo.add": 0, "stablehlo.multiply": 1, "stablehlo.xor": 0}
"""Functions, with what each leaves as it is, to whose result it matters how often an initial value is taken."""
_CHOOSING = {f"stablehlo.{name}" for name in ("maximum", "minimum", "and", "or", "compare", "select", "return")}
"""Of which a window's function gives an initial value for that value and itself: how often it is taken does not matter."""


def undefined(source: Module, hub: Module | None, inputs: Mapping[str, Any]) -> str:
    """Why XLA's results cannot be compared on these inputs; nothing where they can."""
    return _of_scatters(source, inputs) or _of_paddings(source, inputs) or _of_orders(source, inputs)


def _of_scatters(source: Module, inputs: Mapping[str, Any]) -> str:
    scatters = [op for op in source.walk() if op.name == "stablehlo.scatter" and _has_wide_windows(op)]
    if not scatters:
        return ""
    names = list(dict.fromkeys(str(op.origin or op.name) for op in _partly_outside(source, scatters, inputs)))
    return "" if not names else (
        f"{', '.join(names[:_TOLD])}: windows of a scatter lie partly outside of its operand, or are not known to lie inside; "
        "XLA leaves out the whole of such a window, and the specification what is outside alone (docs/stablehlo.md)")


def _of_paddings(source: Module, inputs: Mapping[str, Any]) -> str:
    ops = [op for op in source.walk() if _pads_with_what_may_count(op)]
    names = list(dict.fromkeys(str(op.origin or op.name) for op in _without_identity(source, ops, inputs)))
    return "" if not names else (
        f"{', '.join(names[:_TOLD])}: windows are padded with an initial value that is no identity of what combines them, or is "
        "not known to be one; XLA leaves out what is padded, and the specification counts it (docs/stablehlo.md)")


def _of_orders(source: Module, inputs: Mapping[str, Any]) -> str:
    combining = {op: _initial(op) for op in reductions(source)}
    places = {op.operands[len(op.results)]: op for op in combining if op.name == "stablehlo.scatter"}
    initial = {value for values in combining.values() for value in values}
    elements = {value for op in combining for value in combined(op) if _are_floats(value)}
    seen, once, nan = dict[Value, set[Any]](), set[Op](), set[Value]()

    def look(value: Value, array: Any) -> None:
        if value in initial:
            seen.setdefault(value, set()).add(np.asarray(array).item())
        if value in elements and np.isnan(np.asarray(array).astype(np.float32)).any():
            nan.add(value)
        if value in places and not _meet_twice(places[value], np.asarray(array)):
            once.add(places[value])

    _watch(source, inputs, {*places, *initial, *elements}, look)
    names = list(dict.fromkeys(
        str(op.origin or op.name) for op, values in combining.items()
        if op not in once and depends_on_order(op, _single(seen, values), not nan.isdisjoint(combined(op)))))
    return "" if not names else (
        f"{', '.join(names[:_TOLD])}: combines elements by a function that is not associative, or with an initial value that is "
        "not its identity, or not known to be; the specification leaves open in which order, and how often the initial value "
        "counts: XLA leaves it out of a single element (docs/stablehlo.md)")


def _are_floats(value: Value) -> bool:
    return isinstance(value.type, TensorType) and isinstance(value.type.element, FloatType)


def _initial(op: Op) -> list[Value]:
    """Initial values that a runtime may leave out, or take more than once; those of windows are looked at by themselves."""
    return list(op.operands[-len(op.results):]) if op.name in {"stablehlo.reduce", "stablehlo.select_and_scatter"} else []


def _single(seen: Mapping[Value, set[Any]], values: list[Value]) -> list[Any] | None:
    """The one number that each value was; None where one was not seen, or was several."""
    numbers = [seen.get(value, set()) for value in values]
    return [next(iter(each)) for each in numbers] if all(len(each) == 1 for each in numbers) else None


def _pads_with_what_may_count(op: Op) -> bool:
    """Whether it is a reduction of windows, padded or dilated, to whose result it matters how often initial values are taken."""
    if op.name != "stablehlo.reduce_window" or all(each.name in _CHOOSING for each in op.regions[0].block):
        return False
    padding, dilations = op.attribute("padding"), op.attribute("base_dilations") or ()
    return bool(np.any(padding)) or any(number > 1 for number in dilations)


def _without_identity(source: Module, ops: list[Op], inputs: Mapping[str, Any]) -> list[Op]:
    """Those of which an initial value is no identity as the program runs, or is not known to be one."""
    identities: dict[Op, list[tuple[Value, int | None]]] = {}
    for op in ops:
        *_, end = op.regions[0].block
        made = [value.op for value in end.operands]
        identities[op] = [
            (value, _IDENTITIES.get(each.name) if each is not None else None)
            for value, each in zip(op.operands[len(op.results):], made, strict=True)
            if each is None or each.name not in _CHOOSING or any(value.op is not None for value in each.operands)]
    others = dict[Value, set[Any]]()

    def look(value: Value, array: Any) -> None:
        others.setdefault(value, set()).add(np.asarray(array).item())

    _watch(source, inputs, {value for each in identities.values() for value, _ in each}, look)
    return [op for op, each in identities.items() if any(others.get(value) != {number} for value, number in each)]


def _has_wide_windows(op: Op) -> bool:
    """Whether a window may lie partly outside: it has several elements along a dimension in which it is placed."""
    return any(size is None or size > 1 for size, _ in _extents(op))


def _extents(op: Op) -> list[tuple[int | None, int | None]]:
    """Sizes of the windows, and of the operand, along the dimensions in which indices place them."""
    numbers = cast("Scatter", op).scatter_dimension_numbers
    sizes, updates = (op.operands[place].tensor_type.shape or () for place in (0, -1))
    gone = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    kept = [axis for axis in range(len(sizes)) if axis not in gone]
    window = dict(zip(kept, numbers.update_window_dims, strict=True))
    return [(updates[window[axis]] if axis in window else 1, sizes[axis]) for axis in numbers.scatter_dims_to_operand_dims]


def _partly_outside(source: Module, scatters: list[Op], inputs: Mapping[str, Any]) -> list[Op]:
    """Those that have a window partly outside as the program runs, or whose indices are not seen: what a loop hands on."""
    users: dict[Value, list[Op]] = {}
    for op in scatters:
        users.setdefault(op.operands[len(op.results)], []).append(op)
    inside = dict[Op, bool]()

    def look(value: Value, array: Any) -> None:
        for op in users[value]:
            inside[op] = inside.get(op, True) and not _has_cut_window(op, np.asarray(array))

    if not _watch(source, inputs, set(users), look):
        return scatters  # nothing is known of their indices
    return [op for op in scatters if not inside.get(op, False)]


def _watch(source: Module, inputs: Mapping[str, Any], values: set[Value], look: Callable[[Value, Any], None]) -> bool:
    """Call `look` with what those of the values are that are seen as the program runs; False where it does not run."""
    def seen(value: Value, array: Any) -> None:
        if value in values:
            look(value, array)

    for value, array in zip(source.body_of_main.arguments, inputs.values(), strict=False):
        seen(value, array)
    constants = {value: dense.numpy() for value in values if (dense := constant_of(value)) is not None}
    for value, array in constants.items():
        look(value, array)
    try:
        if len(constants) < len(values):
            run(source, dict(inputs), engine="reference", watch=seen)
    except TransloadError:
        return False
    return True


def _starts(op: Op, indices: np.ndarray) -> np.ndarray:
    """Where the windows of a scatter start, along the dimensions in which indices place them, which are the last axis."""
    axis = cast("Scatter", op).scatter_dimension_numbers.index_vector_dim
    return (indices[..., None] if axis == indices.ndim else np.moveaxis(indices, axis, -1)).astype(np.int64)


def _meet_twice(op: Op, indices: np.ndarray) -> bool:
    """Whether two windows of a scatter have an element in common, or there are too many to say."""
    numbers, starts = cast("Scatter", op).scatter_dimension_numbers, _starts(op, indices)
    batches = [axis - (axis > numbers.index_vector_dim) for axis in numbers.scatter_indices_batching_dims]
    starts = np.concatenate([starts, np.moveaxis(np.indices(starts.shape[:-1])[batches], 0, -1)], -1)
    starts = starts.reshape(-1, starts.shape[-1])
    sizes = np.array([size or np.iinfo(np.int32).max for size, _ in _extents(op)] + [1] * len(batches))
    if len(starts) > _COMPARED:
        return bool((sizes > 1).any()) or len(np.unique(starts, axis=0)) < len(starts)
    near = (np.abs(starts[:, None] - starts[None]) < sizes).all(-1)
    return int(near.sum()) > len(starts)


def _has_cut_window(op: Op, indices: np.ndarray) -> bool:
    """Whether a window has elements inside of the operand, and others outside."""
    starts = _starts(op, indices)
    met, whole = np.ones(starts.shape[:-1], bool), np.ones(starts.shape[:-1], bool)
    for place, (window, size) in enumerate(_extents(op)):
        if window is None or size is None:
            return True
        start = starts[..., place]
        met &= (start < size) & (start + window > 0)
        whole &= (start >= 0) & (start + window <= size)
    return bool((met & ~whole).any())

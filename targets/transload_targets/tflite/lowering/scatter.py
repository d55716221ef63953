"""SCATTER_ND, which adds updates to zeros, and DYNAMIC_UPDATE_SLICE, which writes one of them.

Of updates that are written to one place the last stays. Where the subscripts are constant it is known which those are; computed
ones are written one after the other where they are few, and compared with each other where they are more; what is combined
otherwise than by adding is compared with all places. Subscripts that are
outside of the tensor are an error of our engine and of SCATTER_ND; DYNAMIC_UPDATE_SLICE moves them inside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, I8, I16, I32, I64, UI8, Dense, IntegerType, QuantType, Type, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.build import need_place

from .common import constant, emit, int32, ints, quantized_result, reshape, retyped, static_shape
from .gather import element_places, subscripts

if TYPE_CHECKING:
    from transload_hub.ops.gather import ScatterElements, ScatterND

__all__ = ["TABLE"]

TABLE = RewriteTable()

_ADDED = (F32, I8, UI8, I32, I64, BOOL)
"""What SCATTER_ND has kernels of."""
_WRITTEN = (F32, BOOL, I8, I16, I32, I64)
"""What DYNAMIC_UPDATE_SLICE has kernels of."""
_SUMMED = (F32, I32, I64)
_NARROW = (I8, UI8, I16)
"""What is combined as int32, and wraps round when it is cast back; and moved so, where an operator has no kernel of it."""
_FEW = 8
"""So many updates are written one after the other."""
_MOST_COMPARED = 2048
"""So many updates are compared each with each."""
_MOST_MASKED = 1 << 24
"""How many numbers all updates for each of the places may be."""
_REDUCED = {"mul": "reduce_prod", "max": "reduce_max", "min": "reduce_min", "add": "sum"}
_COMBINED = {"mul": "mul", "max": "maximum", "min": "minimum", "add": "add"}


@TABLE("top.ScatterND")
def scatter_nd(op: ScatterND, rw: Rewriter) -> Value:
    """Written, or combined with what is there: see above."""
    shape, element = static_shape(op.input), op.input.element
    stored = element.storage if isinstance(element, QuantType) else element
    if 0 in static_shape(op.updates) or 0 in shape:
        return retyped(rw, op.input, op.output.element)
    if op.reduction == "none":
        value, updates = (retyped(rw, each, op.output.element) for each in (op.input, op.updates))
        return _written(op, rw, value, updates, stored)
    if quantized_result(op) is not None:
        raise Unsupported(f"LiteRT's SCATTER_ND adds stored numbers, and this is to combine real ones by {op.reduction!r}")
    if stored in _NARROW and not (op.reduction == "add" and stored in _ADDED and _is_zero(rw, op.input)):
        narrow = _combined(op, rw, int32(rw, op.input), int32(rw, op.updates))
        return emit(rw, "cast", narrow, like=op.output)
    return _combined(op, rw, op.input, op.updates)


@TABLE("top.ScatterElements")
def scatter_elements(op: ScatterElements, rw: Rewriter) -> Value:
    """ScatterND of single elements."""
    places = element_places(rw, op.indices, static_shape(op.input), op.axis)
    made: Value = rw.emit("top.ScatterND", op.input, places, op.updates, reduction=op.reduction, element=op.output.element)
    return made


def _is_zero(rw: Rewriter, value: Value) -> bool:
    held = rw.constant_of(value)
    return held is not None and not held.any()


def _combined(op: ScatterND, rw: Rewriter, value: Value, updates: Value) -> Value:
    """The updates combined with what is at their places; sums by SCATTER_ND, others one after the other, or all at once."""
    shape, stored, places = static_shape(value), value.element, static_shape(op.indices)
    count, n = math.prod(places[:-1]), places[-1]
    is_alone = _is_zero(rw, value)
    if op.reduction == "add" and n and stored in (_ADDED if is_alone else _SUMMED):
        where = int32(rw, subscripts(rw, op.indices, shape))
        made = _spread(rw, where, updates, value)
        return made if is_alone else emit(rw, "add", value, made, like=value)
    if stored not in _SUMMED:
        raise Unsupported(f"LiteRT has no kernel that combines numbers of {stored}", "cast to int32")
    if count > _FEW:
        return _reduced(op, rw, value, updates, n)
    return _one_by_one(op, rw, value, updates, count, n)


def _reduced(op: ScatterND, rw: Rewriter, value: Value, updates: Value, n: int) -> Value:
    """Each place combined with a reduction over all updates, of which those for other places change nothing."""
    shape = static_shape(value)
    size, count, inner = math.prod(shape[:n]), math.prod(static_shape(op.indices)[:-1]), math.prod(shape[n:])
    if size * count * inner > _MOST_MASKED:
        raise Unsupported(
            f"{count} updates at places that are computed, combined by {op.reduction!r} with {size} places of {inner}, are too "
            f"many: LiteRT's SCATTER_ND adds, and {_MOST_MASKED:,} numbers are compared at most",
            "combine by adding, or make the updates or the places fewer")
    updates = reshape(rw, updates, (1, count, inner))
    if n:
        places = reshape(rw, int32(rw, subscripts(rw, op.indices, shape)), (count, n))
        rows = constant(rw, tables.arange(size, dtype=np.int32).reshape(size, 1, 1))
        numbers = reshape(rw, _row_numbers(rw, places, shape), (1, count, 1))
        hit = emit(rw, "equal", rows, numbers, shape=(size, count, 1), element=BOOL)
        neutral = constant(rw, np.array(_neutral(op.reduction, value.element), dtype_of(value.element)))
        updates = emit(rw, "select_v2", hit, updates, neutral, like=updates, shape=(size, count, inner))
    made = emit(rw, _REDUCED[op.reduction], updates, ints(rw, 1), like=updates, shape=(size, inner))
    return emit(rw, _COMBINED[op.reduction], value, reshape(rw, made, shape), like=value)


def _neutral(reduction: str, element: Type) -> float:
    """The number that changes nothing."""
    if reduction in ("add", "mul"):
        return float(reduction == "mul")
    low, high = (-math.inf, math.inf) if element == F32 else element.range  # type: ignore[attr-defined]
    return low if reduction == "max" else high


def _row_numbers(rw: Rewriter, places: Value, shape: tuple[int, ...]) -> Value:
    """The numbers of the rows that subscripts, one after the other, are of."""
    count, n = static_shape(places)
    if n == 1:
        return reshape(rw, places, (count,))
    strides = constant(rw, np.array([math.prod(shape[i + 1:n]) for i in range(n)], np.int32))
    products = emit(rw, "mul", places, strides, like=places)
    return emit(rw, "sum", products, ints(rw, 1), like=products, shape=(count,))


def _written(op: ScatterND, rw: Rewriter, value: Value, updates: Value, stored: Type) -> Value:
    """The updates at their places, and the input elsewhere."""
    shape, places = static_shape(value), static_shape(op.indices)
    count, n = math.prod(places[:-1]), places[-1]
    start = _start_of_a_part(op)
    if start is not None and stored in _WRITTEN:
        return emit(rw, "dynamic_update_slice", value, updates, start, like=op.output)
    if n == 0:
        return _row(rw, reshape(rw, updates, (count, *static_shape(value))), count - 1, static_shape(value))
    held = rw.constant_of(op.indices)
    if held is not None and stored in _ADDED:
        return _at_constants(op, rw, held.astype(np.int64).reshape(count, n), value, updates)
    held = rw.constant_of(updates)
    number = Dense(held).splat_value() if held is not None and count > 1 else None
    if number is not None:  # which of them stays does not matter
        where = reshape(rw, int32(rw, subscripts(rw, op.indices, shape)), (count, n))
        same = constant(rw, number, updates.element)
        return emit(rw, "select_v2", _hit(rw, where, shape, n), same, value, like=value)
    put, kernels = (_one_by_one, _WRITTEN) if count <= _FEW else (_compared, _ADDED)
    if stored in kernels:
        return put(op, rw, value, updates, count, n)
    if stored not in _NARROW:
        operator = "SCATTER_ND" if put is _compared else "DYNAMIC_UPDATE_SLICE"
        wide = I32 if isinstance(stored, IntegerType) else F32
        raise Unsupported(f"LiteRT's {operator} has no kernel of {stored}", f"cast to {wide}")
    return emit(rw, "cast", put(op, rw, int32(rw, value), int32(rw, updates), count, n), like=op.output)


def _spread(rw: Rewriter, places: Value, updates: Value, like: Value) -> Value:
    """SCATTER_ND of as many numbers as `like` has. It takes no update without dimensions (`scatter_nd.cc`): one is a row."""
    shape, found = static_shape(like), static_shape(places)
    if len(found) == 1:
        places, updates = reshape(rw, places, (1, *found)), reshape(rw, updates, (1, *shape[found[0]:]))
    return emit(rw, "scatter_nd", places, updates, ints(rw, *shape), like=like)


def _start_of_a_part(op: ScatterND) -> Value | None:
    """Where the part begins that is written, where it is one: places that count on from a start which is kept so that it fits.

    The hub has no op for that, and DYNAMIC_UPDATE_SLICE is read as this.
    """
    shape, part, added = static_shape(op.input), static_shape(op.updates), op.indices.op
    if static_shape(op.indices) != (*part, len(shape)) or added is None or added.name != "tfl.add":
        return None
    inside, grid = added.operands[0], constant_of(added.operands[1])
    if grid is None or inside.shape != (len(shape),) or not np.array_equal(
            grid.numpy(), np.stack(tables.meshgrid(*map(np.arange, part), indexing="ij"), axis=-1)):
        return None
    room = np.subtract(shape, part)
    for name, limit in (("tfl.maximum", np.zeros_like(room)), ("tfl.minimum", room)):
        maker = inside.op
        if maker is None or maker.name != name:
            return None
        held = constant_of(maker.operands[1])
        if held is None or not np.array_equal(held.numpy().reshape(-1), limit):
            return None
        inside = maker.operands[0]
    return inside if inside.element in (I32, I64) else None


def _row(rw: Rewriter, value: Value, place: int, shape: tuple[int, ...]) -> Value:
    """One entry of the first dimension, in a shape."""
    whole = static_shape(value)
    if whole[0] > 1:
        made = (1, *whole[1:])
        begin = ints(rw, place, *(0 for _ in whole[1:]))
        value = emit(rw, "slice", value, begin, ints(rw, *made), like=value, shape=made)
    return reshape(rw, value, shape)


def _one_by_one(op: ScatterND, rw: Rewriter, value: Value, updates: Value, count: int, n: int) -> Value:
    """DYNAMIC_UPDATE_SLICE by each of the updates, combined with what is there."""
    shape = static_shape(value)
    rest = shape[n:]
    places = reshape(rw, subscripts(rw, op.indices, shape), (count, n)) if n else None
    updates = reshape(rw, updates, (count, *rest))
    for number in range(count):
        update = _row(rw, updates, number, (*(1 for _ in range(n)), *rest))
        start = _row(rw, places, number, (n,)) if places is not None else None
        if op.reduction != "none":
            there = value if start is None else reshape(
                rw, emit(rw, "gather_nd", value, start, like=value, shape=rest), static_shape(update))
            update = emit(rw, _COMBINED[op.reduction], there, update, like=update)
        if start is None:
            value = update
            continue
        if rest:
            zeros = constant(rw, np.zeros(len(rest), dtype_of(start.element)))
            start = emit(rw, "concatenation", start, zeros, like=start, shape=(len(shape),), axis=0)
        value = emit(rw, "dynamic_update_slice", value, update, start, like=value)
    return value


def _at_constants(op: ScatterND, rw: Rewriter, places: np.ndarray, value: Value, updates: Value) -> Value:
    """SCATTER_ND of what stays, and a constant mask of where."""
    shape = static_shape(value)
    count, n = places.shape
    places = np.where(places < 0, places + np.array(shape[:n], np.int64), places)
    outside = ((places < 0) | (places >= np.array(shape[:n], np.int64))).any(1)
    if outside.any():
        raise Unsupported(f"a place that it writes, {tuple(places[outside.argmax()].tolist())}, lies outside of {shape}")
    _, last = np.unique(places[::-1], axis=0, return_index=True)
    if len(last) < count:
        staying = np.sort(count - 1 - last)
        updates = reshape(rw, updates, (count, *shape[n:]))
        updates = emit(rw, "gather", updates, ints(rw, *staying), like=updates, shape=(len(staying), *shape[n:]), axis=0)
        places = places[staying]
        where = constant(rw, places.astype(np.int32))
    else:
        where = int32(rw, subscripts(rw, op.indices, shape))
    need_place(*shape)
    mask = tables.zeros(shape, bool)
    mask[tuple(places.T)] = True
    spread = _spread(rw, where, updates, value)
    return emit(rw, "select_v2", constant(rw, mask), spread, value, like=value)


def _compared(op: ScatterND, rw: Rewriter, value: Value, updates: Value, count: int, n: int) -> Value:
    """SCATTER_ND of the updates that no later one is written over, and of ones, which say where."""
    if count > _MOST_COMPARED:
        raise Unsupported(
            f"of {count} updates at places that are computed the last at each place is to stay, and LiteRT's SCATTER_ND adds "
            f"them; so many as {_MOST_COMPARED} are compared with each other", "make the places constant, or the updates fewer")
    shape = static_shape(value)
    rest = shape[n:]
    places = reshape(rw, int32(rw, subscripts(rw, op.indices, shape)), (count, n))
    updates = reshape(rw, updates, (count, *rest))
    numbers = _row_numbers(rw, places, shape)
    square = (count, count)
    same = emit(rw, "equal", reshape(rw, numbers, (count, 1)), reshape(rw, numbers, (1, count)), shape=square, element=BOOL)
    later = constant(rw, np.triu(tables.ones(square, bool), 1))
    same_later = emit(rw, "logical_and", same, later, like=same)
    lost = emit(rw, "reduce_any", same_later, ints(rw, 1), like=same, shape=(count,))
    zero = constant(rw, np.zeros((), dtype_of(_stored(updates))), updates.element)
    kept = emit(rw, "select_v2", reshape(rw, lost, (count, *(1 for _ in rest))), zero, updates, like=updates)
    return emit(rw, "select_v2", _hit(rw, places, shape, n), _spread(rw, places, kept, value), value, like=value)


def _hit(rw: Rewriter, places: Value, shape: tuple[int, ...], n: int) -> Value:
    """Which rows are written to, for a selection."""
    count = static_shape(places)[0]
    ones = constant(rw, tables.ones(count, np.int32))
    hits = emit(rw, "scatter_nd", places, ones, ints(rw, *shape[:n]), shape=shape[:n], element=I32)
    hit = emit(rw, "not_equal", hits, constant(rw, np.int32(0)), like=hits, element=BOOL)
    return reshape(rw, hit, (*shape[:n], *(1 for _ in shape[n:])))


def _stored(value: Value) -> Type:
    element = value.element
    return element.storage if isinstance(element, QuantType) else element

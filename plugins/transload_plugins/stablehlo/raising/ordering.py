"""Sorting: by one key or several, the other tensors with them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as every
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BF16, F16, F32, F64, I32, UI32, FloatType, Op, Region, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from .bits import ordered_bits
from .bodies import constant_number, run_region
from .table import cast, empty, like, materialized, refuse_complex, static

if TYPE_CHECKING:
    from ..dialect.reduction import Sort

__all__ = ["TABLE", "in_total_order"]

TABLE = RewriteTable()

MOST_KEYS = 4


@TABLE("stablehlo.sort")
def sort(op: Sort, rw: Rewriter) -> list[Value]:
    """`top.TopK` of all elements, by the last key first; each keeps the order of those that it finds equal."""
    refuse_complex(op)
    nothing = empty(rw, op)
    if nothing:
        return nothing
    if any(value.is_quantized for value in op.operands):
        raise Unsupported("of quantized numbers", "dequantize first")
    inputs = list(op.operands)
    static(inputs[0], "the operand")
    axis = op.dimension % inputs[0].rank if inputs[0].rank else 0
    if inputs[0].rank == 0 or inputs[0].shape[axis] == 1:
        return inputs
    keys = _keys(op, len(inputs))
    if keys is None:
        raise Unsupported(
            "its comparator is not one of keys by their order",
            "compare elements by LT or GT, several keys one after the other where those before are equal")
    for number, largest in reversed(keys):
        key, total = inputs[number], _tells_zeros_apart(op.regions[0], number)
        ordered = cast(rw, key, I32) if key.is_bool else ordered_bits(rw, key) if key.element == UI32 else key
        form: dict[str, Any] = {"axis": axis, "k": key.shape[axis], "largest": largest}
        sorted_key: Value | None
        if total and key.is_float:
            sorted_key, places = in_total_order(rw, materialized(rw, key), **form)
        else:
            values, places = rw.emit("top.TopK", materialized(rw, ordered), **form)
            sorted_key = cast(rw, values, key.element) if key.element != UI32 else None
        inputs = [
            sorted_key if x is key and sorted_key is not None
            else rw.emit("top.GatherElements", materialized(rw, x), places, axis=axis)
            for x in inputs]
    return inputs


# --- the total order of floats

_POSITIVE = frozenset(f"top.{name}" for name in ("Exp", "Sigmoid", "Abs", "Softmax"))
_OF_POSITIVE = frozenset(f"top.{name}" for name in ("Add", "Mul", "Div", "Reduce", "Reshape", "Permute", "Expand", "Cast"))
_MOST_LOOKED_AT = 8


def in_total_order(rw: Rewriter, x: Value, axis: int, k: int, largest: bool) -> tuple[Value, Value]:
    """The first `k` numbers along an axis, and their places, in an order in which -0 is less than 0; of integers as `top.TopK`.

    A number below 0 stands for -0 meanwhile. Of 16 bits they are f32, which have room there; of f32 it is the least normal
    number, since devices take those that are still less for zeros. Doubles may become f32, of which no number lies between 0 and
    all doubles: they are sorted by the sign of zeros first, then by themselves. NaN stay greater than all numbers: their sign no
    arithmetic tells.
    """
    if not isinstance(x.element, FloatType) or not _may_be_negative_zero(x, _MOST_LOOKED_AT):
        values, places = rw.emit("top.TopK", x, axis=axis, k=k, largest=largest)
        return values, places
    if x.element == F64:
        signs = cast(rw, rw.emit("top.LogicalNot", _negative_zeros(rw, x)), I32)
        _, before = rw.emit("top.TopK", signs, axis=axis, k=x.shape[axis], largest=largest)
        taken = rw.emit("top.GatherElements", x, before, axis=axis)
        _, places = rw.emit("top.TopK", taken, axis=axis, k=k, largest=largest)
        return rw.emit("top.GatherElements", taken, places, axis=axis), rw.emit("top.GatherElements", before, places, axis=axis)
    wide = cast(rw, x, F32)
    least = -float(np.finfo(np.float32).tiny)
    apart = rw.emit("top.Where", _negative_zeros(rw, wide), like(rw, wide, least), wide)
    values, places = rw.emit("top.TopK", apart, axis=axis, k=k, largest=largest)
    stand_ins = rw.emit("top.Compare", values, like(rw, values, least), mode="Equal")
    return cast(rw, rw.emit("top.Where", stand_ins, like(rw, values, -0.0), values), x.element), places


def _negative_zeros(rw: Rewriter, x: Value) -> Value:
    """Which numbers are -0: of those that are zeros the reciprocal is less than 0."""
    zero = rw.emit("top.Compare", x, like(rw, x, 0), mode="Equal")
    probe = rw.emit("top.Where", zero, rw.emit("top.Reciprocal", x), like(rw, x, 1))
    return rw.emit("top.Compare", probe, like(rw, x, 0), mode="Less")


def _may_be_negative_zero(x: Value, depth: int) -> bool:
    """Whether a float may be -0: what is made of exponentials and sizes, as a softmax is, cannot."""
    maker = x.op
    if maker is None or depth == 0 or maker.name in _POSITIVE:
        return maker is None or depth == 0
    if maker.name not in _OF_POSITIVE or not all(value.is_float for value in maker.operands):
        return True
    return any(_may_be_negative_zero(value, depth - 1) for value in maker.operands)


def _tells_zeros_apart(region: Region, number: int) -> bool:
    """Whether a comparator compares a key by the total order, and has not made one zero of both before."""
    pair = region.block.arguments[2 * number : 2 * number + 2]
    return any(
        op.name == "stablehlo.compare" and op.attributes.get("compare_type") == "TOTALORDER"
        and any(_with_its_zeros(value) in pair for value in op.operands)
        for op in region.block)


def _with_its_zeros(x: Value) -> Value:
    """What `x` is made of by making it wider, or one NaN of all, by which both zeros stay."""
    while (maker := x.op) is not None:
        if maker.name == "stablehlo.select" and _keeps(maker) and constant_number(maker.operands[1]) != 0:
            x = maker.operands[2]
        elif maker.name == "stablehlo.convert":
            x = maker.operands[0]
        else:
            break
    return x


def _keys(op: Op, count: int) -> list[tuple[int, bool]] | None:
    """Which operands the comparator looks at, one after the other, and whether the greatest of each comes first.

    After what makes zeros and NaN equal is taken away, it must only order: then the relations of its pairs of
    arguments, less, equal or greater each, decide, and all of them are tried.
    """
    region = _without_canonical_numbers(op.regions[0])
    used = [i for i in range(count) if region.block.arguments[2 * i].uses or region.block.arguments[2 * i + 1].uses]
    if not used or len(used) > MOST_KEYS or not _only_orders_pairs(region):
        return None
    outcomes: dict[tuple[int, ...], bool] = {}
    for relations in every((-1, 0, 1), repeat=len(used)):
        arrays: list[Any] = []
        for i in range(count):
            first = relations[used.index(i)] if i in used else 0
            for number in (first > 0, first < 0):
                element = region.block.arguments[2 * i].element
                arrays.append(np.asarray(number).astype(dtype_of(element)))
        given = run_region(region, op, arrays)
        if given is None:
            return None
        outcomes[relations] = bool(given[0])
    return _as_keys(outcomes, used)


def _as_keys(outcomes: dict[tuple[int, ...], bool], used: Sequence[int]) -> list[tuple[int, bool]] | None:
    """The keys, one after the other, that decide as the comparator does."""
    keys: list[tuple[int, bool]] = []
    left = list(outcomes)
    while True:
        found = None
        for place in range(len(used)):
            if (used[place], True) in keys or (used[place], False) in keys:
                continue
            deciding = [relations for relations in left if relations[place] != 0]
            for largest in (False, True):
                if all(outcomes[relations] == ((relations[place] > 0) == largest) for relations in deciding):
                    found = (place, largest)
        if found is None:
            # all else must be equal: the comparator says that nothing comes first (or, not strictly, that all may)
            return keys if keys and len({outcomes[relations] for relations in left}) == 1 else None
        place, largest = found
        keys.append((used[place], largest))
        left = [relations for relations in left if relations[place] == 0]


_ORDERING = frozenset(f"stablehlo.{name}" for name in ("compare", "select", "and", "or", "xor", "not", "constant", "return"))


def _only_orders_pairs(region: Region) -> bool:
    """Whether arguments are only compared with the other one of their pair, and booleans combined."""
    place = {argument: argument.index for argument in region.block.arguments}
    for op in region.block:
        if op.name not in _ORDERING:
            return False
        if op.name == "stablehlo.compare":
            a, b = op.operands
            if a not in place or b not in place or place[a] // 2 != place[b] // 2:
                return False
            if a is b and op.comparison_direction not in ("EQ", "NE"):  # those ask for NaN, which goes where the hub has it
                return False
            continue
        numbers = any(operand in place and not operand.is_bool for operand in op.operands)
        if numbers or (op.name == "stablehlo.constant" and not op.results[0].is_bool):
            return False
    return True


def _without_canonical_numbers(region: Region) -> Region:
    """A copy of a comparator in which `select(x == 0, 0, x)` and `select(x != x, NaN, x)` are `x`.

    JAX puts these before a comparison in total order, so that it takes zeros, and NaN, as equal.
    """
    copy = Region()
    region.clone_into(copy, {})
    for op in list(copy.block):
        if op.name == "stablehlo.convert" and op.operands[0].element in (BF16, F16) and op.results[0].element == F32:
            op.results[0].replace_all_uses_with(op.operands[0])
        if op.name == "stablehlo.select" and _keeps(op):
            op.results[0].replace_all_uses_with(op.operands[2])
    changed = True
    while changed:
        changed = False
        for op in list(copy.block):
            if op is not copy.block.last and op.results and not any(result.uses for result in op.results):
                op.erase()
                changed = True
    return copy


def _keeps(op: Op) -> bool:
    """Whether a selection gives its last operand, but for the sign of zero and the bits of NaN."""
    question, canonical, x = op.operands
    maker, number = question.op, constant_number(canonical)
    if maker is None or maker.name != "stablehlo.compare" or number is None:
        return False
    a, b = maker.operands
    if maker.comparison_direction == "EQ" and number == 0:
        other = b if a is x else a
        held = constant_number(other)
        return x in (a, b) and held is not None and held == 0
    if maker.comparison_direction == "NE" and number != number:
        return a is x and b is x
    return False

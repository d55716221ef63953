"""Masks before a softmax, whose numbers only say "nothing of this", become as small as says the same.

An attention adds minus infinity, the least float or -10,000 to the scores of what it must not see, or puts it there. Integers
have no infinity, and a scale that reaches so far has but one step left for the scores. A softmax makes nothing of a number that
lies far below the greatest of its row: `n` numbers that are `ln(n) + MARGIN` below have `e^-MARGIN` of the whole together. So
that is how far down a mask has to reach, below the least greatest number of a row on samples, whatever else is added to it.

The float model is changed: what it computes is the same but for that share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from transload.analysis.movement import moves_of
from transload.ir import Dense, FloatType, Module, Op, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload.passes.dce import eliminate_dead_code
from transload.samples.owned import need_sample
from transload_hub.simplify.biases import PRODUCTS

from .observe import observed
from .running import Runner
from .thresholds import Range

__all__ = ["has_masks", "is_plain_sum", "parts_of_sum", "without_far_masks"]

MARGIN = 12.0
"""What is masked has at most `e^-12` of a sum, 2^-17: a step of a softmax of 8 bits is 2^-8, of 16 bits 2^-15."""
ADDED = 1e4
"""The least that is added to mute a number, or that a maximum starts at; what is less is a bias, or a limit."""
ROUNDINGS = 8
"""How many steps of floats as great as what something lies below it lies farther below: they tell no less apart."""
FAR = 2.0
"""How many times as far as is needed a number has to reach, for anything to be changed."""
BELOW = "/masked"
"""Behind the name of a tensor that is computed, in that of it cut off below."""
MOST = 64
"""Ops that are followed back from a softmax."""


@dataclass
class _Tree:
    """A softmax, and what is added up, chosen and moved, but not computed, on the way to it."""

    softmax: Op
    inner: list[Op] = field(default_factory=list)
    """The ops on the way, whose results nothing else takes."""

    @property
    def top(self) -> Value:
        return self.softmax.operands[0]

    @property
    def joins(self) -> bool:
        """Whether anything is added or chosen there, so that one part may be a mask of another."""
        return any(op.name in ("top.Add", "top.Where") for op in self.inner) or any(map(_has_far_bias, self.leaves))

    @property
    def leaves(self) -> Iterator[Op]:
        """What computes what is joined."""
        inner = {*self.inner}
        return (value.op for value in _inner_values(self) if value.op is not None and value.op not in inner)

    @property
    def is_chosen_from(self) -> bool:
        """Whether all who take the softmax put something else in place of some rows, as attention of those that see nothing."""
        return all(user.name == "top.Where" for user in self.softmax.results[0].uses)


def has_masks(module: Module) -> bool:
    """Whether something may be a mask: something is joined to what a softmax takes."""
    return any(tree.joins for tree in _trees(module))


def without_far_masks(
    module: Module, samples: Iterable[Mapping[str, Any]] = (), table: Mapping[str, Range] | None = None,
) -> Module:
    """A new float module with masks that reach no farther than they have to; the module itself where none reaches too far.

    How far that is says a `table` of ranges that were measured on such a module before, by tensor, or else the `samples`.
    """
    trees = [tree for tree in _trees(module) if tree.joins]
    if not trees:
        return module
    names = {value: name for name, value in observed(module).items()}
    seen = _by_table(trees, names, table) if table is not None else _by_samples(module, trees, samples)
    seen.names = names
    demands: dict[Value, list[_Demand]] = {}
    for tree in trees:
        bound = seen.bounds.get(tree.softmax)
        if bound is not None and math.isfinite(bound):
            for demand in _demands(tree, bound, seen.ranges):
                demands.setdefault(demand.value, []).append(demand)
    mapping: dict[Value, Value] = {}
    copy = module.clone(mapping)
    changed = [_applied(value, all_, seen, mapping) for value, all_ in demands.items()]
    if not any(changed):
        return module
    eliminate_dead_code(copy)
    return copy


def _has_far_bias(op: Op) -> bool:
    """Whether it is a layer whose bias mutes channels: a mask of constants was added to it."""
    held = constant_of(op.operands[2]) if op.name in PRODUCTS and len(op.operands) > 2 else None
    return held is not None and float(held.numpy().astype(np.float64).min(initial=0.0)) <= -ADDED


def _trees(module: Module) -> Iterator[_Tree]:
    for op in module.body_of_main:
        if op.name == "top.Softmax" and not op.attribute("log") and op.attribute("beta") == 1.0:
            tree, waiting = _Tree(op), [op.operands[0]]
            while waiting and len(tree.inner) < MOST:
                value = waiting.pop()
                if value.op is not None and sum(value.uses.values()) == 1 and constant_of(value) is None and _joined(value.op):
                    tree.inner.append(value.op)
                    waiting += _joined(value.op)
            yield tree


def _joined(op: Op) -> Sequence[Value]:
    """The operands that an op adds up, chooses from, moves to other places or multiplies by a number above 0; none of others."""
    if op.name == "top.Add":
        return op.operands if is_plain_sum(op) and not op.attribute("do_relu") else ()
    if op.name == "top.MulConst":
        return op.operands if op.attribute("const_val") > 0 and not op.attribute("do_relu") else ()
    moves = moves_of(op)
    return () if moves is None or moves.by_value or moves.constants or op.regions else moves.operands(op)


@dataclass
class _Seen:
    """What is known of the tensors of trees."""

    ranges: dict[Value, Range] = field(default_factory=dict)
    bounds: dict[Op, float] = field(default_factory=dict)
    """For each softmax, below what a number says nothing."""
    cut: set[str] | None = None
    """The names of computed tensors that are cut off below, where that is known."""
    names: Mapping[Value, str] = field(default_factory=dict)
    """Of computed tensors, as tables have them."""


@dataclass(frozen=True)
class _Demand:
    """Numbers of `value` below `bound` may as well be `bound`, for this user."""

    value: Value
    user: Op
    bound: float


def _inner_values(tree: _Tree) -> Iterator[Value]:
    for op in (tree.softmax, *tree.inner):
        for value in op.operands:
            if isinstance(value.element_or_none, FloatType):
                yield value


def _by_samples(module: Module, trees: Sequence[_Tree], samples: Iterable[Mapping[str, Any]]) -> _Seen:
    """What is finite of each tensor, and how far down the greatest of a row lies, on samples."""
    seen = _Seen()
    values = {f"{number}": value for number, value in enumerate(dict.fromkeys(
        value for tree in trees for value in _inner_values(tree) if constant_of(value) is None))}
    names = {value: name for name, value in values.items()}
    runner = Runner(module, values)

    def look(arrays: dict[str, np.ndarray]) -> tuple[dict[Value, Range], list[float]]:
        ranges = {value: _finite(arrays[name]) for name, value in values.items()}
        return ranges, [_least_greatest(arrays[names[tree.top]], tree) for tree in trees]

    given = list(samples)
    for number, sample in enumerate(given, 1):
        need_sample(sample, runner.inputs, number)
    for ranges, least in runner.each(given, look):
        for value, (low, high) in ranges.items():
            before = seen.ranges.get(value, (low, high))
            seen.ranges[value] = min(before[0], low), max(before[1], high)
        for tree, reached in zip(trees, least, strict=True):
            seen.bounds[tree.softmax] = min(seen.bounds.get(tree.softmax, math.inf), reached)
    for tree in trees:
        count = tree.top.static_shape[tree.softmax.attribute("axis")]
        lowest = seen.bounds.get(tree.softmax, -math.inf)
        seen.bounds[tree.softmax] = lowest - MARGIN - math.log(max(count, 1)) - _roundings(lowest, tree.top)
    return seen


def _finite(array: np.ndarray) -> Range:
    """The least number, which may be minus infinity, and the greatest that is finite, at least the least float."""
    numbers = array[np.isfinite(array)]
    high = float(numbers.max(initial=-np.inf))
    return float(array.min(initial=np.inf)), high


def _least_greatest(array: np.ndarray, tree: _Tree) -> float:
    """Of the greatest numbers of all rows the least; NaN where there is one. Rows of nothing but -inf, of which a softmax makes
    NaN, do not count where something else is put in their place."""
    if not array.size:
        return math.inf
    greatest = array.max(axis=tree.softmax.attribute("axis"))
    if tree.is_chosen_from:
        greatest = greatest[greatest != -np.inf]
    return float(greatest.min(initial=np.inf))


def _by_table(trees: Sequence[_Tree], names: Mapping[Value, str], table: Mapping[str, Range]) -> _Seen:
    """As a table has them, made on a module whose masks were cut: what a softmax takes begins where masks begin."""
    seen = _Seen(cut={name for name in table if name.endswith(BELOW)})
    for tree in trees:
        for value in _inner_values(tree):
            if names.get(value) in table:
                seen.ranges[value] = table[names[value]]
        if tree.top in seen.ranges:
            seen.bounds[tree.softmax] = seen.ranges[tree.top][0]
    return seen


def _demands(tree: _Tree, bound: float, ranges: Mapping[Value, Range]) -> Iterator[_Demand]:
    """What each leaf of a tree may be cut off at, where numbers of its top may be at `bound`."""
    inner, waiting = set(tree.inner), [(tree.top, tree.softmax, bound)]
    while waiting:
        value, user, bound = waiting.pop()
        op = value.op
        if op is None or op not in inner or constant_of(value) is not None:
            yield _Demand(value, user, bound)
        elif op.name == "top.Add":
            parts = parts_of_sum(bound, [_high(each, ranges) for each in op.operands], op.operands)
            waiting += [(each, op, part) for each, part in zip(op.operands, parts, strict=True)]
        elif op.name == "top.MulConst":
            waiting.append((op.operands[0], op, bound / op.attribute("const_val")))
        else:
            waiting += [(each, op, bound) for each in _joined(op)]


def is_plain_sum(op: Op) -> bool:
    """Whether an op adds its operands, each as it is."""
    return op.name == "top.Add" and all(factor == 1.0 for factor in op.attribute("coeff") or ())


def parts_of_sum(bound: float, highs: Sequence[float], values: Sequence[Value]) -> list[float]:
    """What each summand may be cut off at, all of them at once, so that no sum changes but one that is not above `bound` then.

    `highs` are the greatest numbers of the summands. Cut off as if alone, two may add up to more than what each was cut for: what
    is computed is cut off at no more than its greatest number. One constant may be, as far as 0: all of it may be a fill. That is
    the first, and where it is added again it is another summand. Floats beside great ones are rounded: parts reach farther there.
    """
    spare = next((index for index, value in enumerate(values) if constant_of(value) is not None), None)
    greatest = max(abs(bound), *(max(high, 0.0) if index == spare else abs(high) for index, high in enumerate(highs)))
    bound -= _roundings(greatest, values[0])
    found = []
    for index, high in enumerate(highs):
        rest = sum((*highs[:index], *highs[index + 1 :]))
        part = min(bound - rest, max(high, 0.0) if index == spare else high)
        found.append(-math.inf if math.isnan(part) else part)
    return found


def _roundings(number: float, value: Value) -> float:
    """How far floats of a tensor's type may be from `number`, which they are to be told from, after a few operations."""
    return ROUNDINGS * abs(number) * float(ml_dtypes.finfo(dtype_of(value.element)).eps)


def _high(value: Value, ranges: Mapping[Value, Range]) -> float:
    """The greatest number of a tensor; infinity where it is not known."""
    dense = constant_of(value)
    if dense is not None:
        return float(dense.numpy().astype(np.float64).max(initial=-np.inf))
    return ranges[value][1] if value in ranges else math.inf


def _applied(value: Value, demands: Sequence[_Demand], seen: _Seen, mapping: Mapping[Value, Value]) -> bool:
    """Cut a leaf off in the copy of the module, where that makes its range much less; whether it was."""
    made = mapping[value]
    bound = min(0.0, *(demand.bound for demand in demands))  # a range has 0 in it, and far above that floats are coarse
    dense = constant_of(value)
    if not math.isfinite(bound):
        return False
    users = [_copy_of(demand.user, mapping) for demand in demands]
    if dense is not None:
        numbers = dense.numpy()
        if not _far(float(numbers.min(initial=0.0)), float(numbers.max(initial=0.0)), bound):
            return False
        cut = np.maximum(numbers, np.asarray(bound, numbers.dtype))
        for user in dict.fromkeys(users):
            new = Builder(user.parent, before=user, location=value.name).constant(Dense(cut))  # type: ignore[arg-type]
            user.operands = tuple(new if operand is made else operand for operand in user.operands)
        return True
    return len(demands) == sum(value.uses.values()) and _clipped(value, made, bound, users, seen)


def _clipped(value: Value, made: Value, bound: float, users: Sequence[Op], seen: _Seen) -> bool:
    """A tensor that is computed or given, cut off below for all who take it."""
    if value not in seen.ranges or value not in seen.names:
        return False
    name = f"{seen.names[value]}{BELOW}"
    if not (name in seen.cut if seen.cut is not None else _far(*seen.ranges[value], bound)):
        return False
    block = users[0].parent
    first = made.op.next if made.op is not None else next(iter(block))  # type: ignore[arg-type]
    build = Builder(block, before=first, location=name)  # type: ignore[arg-type]
    new = build.emit("top.Clip", made, min=bound, max=math.inf)
    for user in dict.fromkeys(users):
        user.operands = tuple(new if operand is made else operand for operand in user.operands)
    return True


def _copy_of(op: Op, mapping: Mapping[Value, Value]) -> Op:
    """The op's copy, by what it gives."""
    copy = mapping[op.results[0]].op
    assert copy is not None
    return copy


def _far(low: float, high: float, bound: float) -> bool:
    """Whether a range that begins at `bound` would be much less."""
    return low < bound and max(high, 0.0) - low > FAR * (max(high, 0.0) - bound)

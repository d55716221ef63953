"""Constants that fill places so that a maximum takes none of them become as small as says the same.

A masked maximum puts -1e9, the least float or minus infinity where nothing is to be seen, and takes the greatest; a window that
reaches over the edge is padded so. Integers have one scale for what is filled and what fills, and such a scale has no step left
for the numbers. The maximum never shows the fill, as long as there is one number beside it: any fill will do that is no
greater than the numbers are. Likewise before a minimum with great ones, and before a limit, which shows none below it. A running
maximum starts so (-1e38), and exponentials of what such a start is less than the maximum are 0, however much that is.

Where a maximum does show its fill, as of a row that is masked throughout, the fill says something, and stays.

The float model is changed; it computes the same, on all samples and on what reaches no farther than they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from transload.analysis.movement import moves_of
from transload.ir import F64, Dense, FloatType, Module, Op, Value
from transload.ir.build import Builder, constant_of
from transload.samples.owned import need_sample

from .masks import ADDED, FAR, has_masks, is_plain_sum, parts_of_sum, without_far_masks
from .measure import Sample
from .observe import observed
from .running import Runner
from .thresholds import Range

__all__ = ["has_far_numbers", "lost_beside_fills", "without_far_numbers"]

Look = Callable[[Value, int | None], Range]
"""The least and the greatest number of a tensor, or, with an axis, of the extremes along it; infinities where unknown."""
Cuts = Mapping[int | None, float]
"""What constants of an op may be cut off at, by operand; None is a padding's own number."""
UNKNOWN: Range = (-math.inf, math.inf)
LEAST_EXPONENT = -104.0
"""From here on down, the exponential of a float32 is 0."""
APART = 1 / 32
"""How far below all that is shown a fill lies that has to differ, of its range: several steps of 8 bits."""


def has_far_numbers(module: Module) -> bool:
    """Whether something may be a mask before a softmax, or a fill before a maximum: samples say how far it has to reach."""
    return has_masks(module) or _has_fills(module)


def without_far_numbers(
    module: Module, samples: Sequence[Sample] = (), table: Mapping[str, Range] | None = None,
) -> Module:
    """A new float module with masks and fills that reach no farther than they have to; the module itself where none does.

    How far that is say the `samples`, or a `table` of ranges that were measured on such a module before, by tensor.
    """
    return _without_far_fills(without_far_masks(module, samples, table), samples, table)


def lost_beside_fills(module: Module, ranges: Mapping[str, Range], bits: Callable[[str], int | None]) -> list[str]:
    """What is to be told of tensors that show a fill so far away that a step is greater than all that lies beside it.

    `ranges` of tensors by name, and the `bits` that each is held in, None where it stays float, or becomes so again.
    """
    names, found = {value: name for name, value in observed(module).items()}, []
    for op in module.body_of_main:
        name = names.get(op.results[0], "") if op.results else ""
        joined, width = joined_by(op), bits(name) if name in ranges else None
        if joined is None or width is None:
            continue
        fills, data = joined
        far = max(_farthest(op.operands[index]) if index is not None else abs(number or 0.0) for index, number in fills.items())
        reach = max((max(map(abs, ranges[names[value]])) for value in data if names.get(value) in ranges), default=math.inf)
        low, high = ranges[name]
        step = (high - low) / ((1 << width) - 1)
        if 2 * reach < step and far > step:
            found.append(
                f"{name!r} is filled with numbers as far as {far:.3g}, and a step of {width} bits is {step:.3g} then: what is "
                f"computed there reaches {reach:.3g} and is lost (--quantizer-option islands=float leaves it float)")
    return found


@dataclass(frozen=True)
class _Floor:
    """What users of a tensor tell apart: numbers below the floor may as well lie on it."""

    safe: float
    """Below whatever they may have to show, with room for what samples do not show; minus infinity: they tell all apart."""
    seen: float
    """The least that they show on samples, of all places together."""

    def lower(self, other: _Floor | None) -> _Floor:
        """The floor for the users of both."""
        return self if other is None else _Floor(min(self.safe, other.safe), min(self.seen, other.seen))

    def raised(self, other: _Floor) -> _Floor:
        """The floor where what either does not tell apart is not told apart."""
        return _Floor(max(self.safe, other.safe), max(self.seen, other.seen))

    def below(self, high: float) -> _Floor:
        """The floor of what something that reaches up to `high` is added to."""
        return _Floor(self.safe - high, self.seen - high)


def _limit(number: float) -> _Floor:
    return _Floor(number, number)


_ALL = _limit(-math.inf)


class _Side:
    """Fills below, or above: there every number has the other sign."""

    def __init__(self, module: Module, sign: int, look: Look) -> None:
        self.sign = sign
        self._look = look
        self.floors: dict[Value, _Floor] = {}
        for op in reversed(list(module.body_of_main)):
            self._visit(op)

    def look(self, value: Value, axis: int | None = None) -> Range:
        """The range of a tensor, on this side."""
        dense = constant_of(value)
        low, high = self._look(value, axis) if dense is None else _range_of(dense.numpy())
        return (low, high) if self.sign > 0 else (-high, -low)

    def _visit(self, op: Op) -> None:
        for each in op.walk() if op.regions else ():
            self._ask(each.operands, _ALL)
        for index, value in enumerate(op.operands):
            self._ask((value,), _ALL if op.regions else self._of(op, index))

    def _ask(self, values: Iterable[Value], floor: _Floor) -> None:
        for value in values:
            if isinstance(value.element_or_none, FloatType):
                self.floors[value] = floor.lower(self.floors.get(value))

    def _of(self, op: Op, index: int) -> _Floor:
        """What an op tells apart of one of its operands."""
        value = op.operands[index]
        if not isinstance(value.element_or_none, FloatType) or not op.results:
            return _ALL
        result = reduce(_Floor.lower, (self.floors.get(each, _ALL) for each in op.results))
        up = self.sign > 0
        match op.name:
            case "top.Reduce" if op.attribute("mode") == ("ReduceMax" if up else "ReduceMin"):
                return _shown(self.look(op.results[0])).raised(result)
            case "top.MaxPool" if up and not op.attribute("do_relu"):
                return _shown(self.look(op.results[0])).raised(result)
            case "top.Arg" if op.attribute("mode") == ("ArgMax" if up else "ArgMin"):
                return _shown(self.look(value, op.attribute("axis")), apart=True)
            case "top.Relu" if up:
                return result.raised(_limit(0.0))
            case "top.Clip":
                return result.raised(_limit(op.attribute("min") if up else -op.attribute("max")))
            case "top.Max" | "top.Min" if (op.name == "top.Max") == up:
                others = [self.look(each)[0] for each in op.operands if each is not value and constant_of(each) is not None]
                shown = result.raised(_limit(max(others, default=-math.inf)))
                for each in op.operands if constant_of(value) is not None else ():
                    shown = shown if each is value else shown.raised(_shown(self.look(each)))
                return shown
            case "top.Exp" if up and value.element != F64:
                return _limit(LEAST_EXPONENT)  # whatever is told apart of the exponentials: these are other numbers
            case "top.Max" | "top.Min":
                return result
            case "top.Add" | "top.Sub" if math.isfinite(result.safe) and not op.attribute("do_relu"):
                return self._of_part(op, index, result)
        moves = moves_of(op)
        return _ALL if moves is None or moves.by_value or value not in moves.operands(op) else result

    def _of_part(self, op: Op, index: int, result: _Floor) -> _Floor:
        """The floor of an operand of a sum, or of what something is taken away from, beside that of the result."""
        if op.name == "top.Sub":
            return _ALL if index else result.below(-self.look(op.operands[1])[0])
        if not is_plain_sum(op):
            return _ALL
        highs = [self.look(value)[1] for value in op.operands]
        return _Floor(*(parts_of_sum(each, highs, op.operands)[index] for each in (result.safe, result.seen)))

    def cuts(self, op: Op) -> Cuts:
        """What constants that an op joins to something computed may be cut off at."""
        joined = joined_by(op)
        if joined is None:
            return {}
        fills, data = joined
        ranges = [self.look(value) for value in data]
        hides = op.name == ("top.Max" if self.sign > 0 else "top.Min")  # what is less than one of the others, by itself
        floor = reduce(_Floor.lower, (self._of(op, index or 0) for index in fills)) if hides else self.floors.get(
            op.results[0], _ALL)
        if not math.isfinite(floor.safe) or not ranges:
            return {}
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        adds = op.name in ("top.Add", "top.Sub")
        bound = floor.safe if hides or low < floor.safe else min(floor.seen, low)
        if adds:
            high = max(self.look(op.operands[index])[1] for index in fills if index is not None)
        found: dict[int | None, float] = {}
        for index, number in fills.items():
            if adds:
                bound = self._of_part(op, index or 0, floor).safe
            least = (number or 0.0) * self.sign if index is None else self.look(op.operands[index])[0]
            if (adds or hides) and least > -ADDED:
                continue
            if least < bound and max(high, 0.0) - least > FAR * (max(high, 0.0) - min(bound, 0.0)):
                found[index] = bound * self.sign
        return found


def _shown(range_: Range, *, apart: bool = False) -> _Floor:
    """What a maximum tells apart that gave numbers of a range: as far again below, where others may lie.

    With `apart` a fill must not equal what it is beside, not even rounded: where they lie is asked.
    """
    low, high = range_
    if not (math.isfinite(low) and math.isfinite(high)):
        return _ALL
    reach = max(high, 0.0) - min(low, 0.0)
    seen = low - (reach or 1.0) * APART if apart else low
    return _Floor(min(min(low, 0.0) - reach, seen), seen)


def _farthest(value: Value) -> float:
    """The greatest magnitude of a constant."""
    dense = constant_of(value)
    return 0.0 if dense is None else float(np.abs(dense.numpy()).max(initial=0.0))


def _range_of(array: np.ndarray) -> Range:
    return (float(array.min()), float(array.max())) if array.size else UNKNOWN


def joined_by(op: Op) -> tuple[dict[int | None, float | None], list[Value]] | None:
    """The constants that an op puts beside what is computed, and this; None where it joins no floats.

    By operand; a padding's own number has the key None, and is given.
    """
    if op.regions or not op.results or not isinstance(op.results[0].element_or_none, FloatType):
        return None
    moves = moves_of(op)
    if op.name == "top.Sub" or is_plain_sum(op):
        values: Sequence[Value] = op.operands
    elif moves is not None and (not moves.by_value or op.name in ("top.Max", "top.Min")):
        values = moves.operands(op)
    else:
        return None
    data = [value for value in values if constant_of(value) is None]
    fills: dict[int | None, float | None] = {
        index: None for index, value in enumerate(op.operands)
        if value in values and constant_of(value) is not None and not (index and op.name == "top.Sub")}
    if op.name == "top.Pad" and op.attribute("mode") == "constant" and len(values) == 1:
        fills[None] = float(op.attribute("val"))
    return (fills, data) if fills and data else None


def _nothing_known(value: Value, axis: int | None) -> Range:
    return 0.0, 0.0


def _has_fills(module: Module) -> bool:
    """Whether a constant that is joined to something computed may be one that nothing shows."""
    return any(_cuts(module, sign, _nothing_known) for sign in (1, -1))


def _cuts(module: Module, sign: int, look: Look) -> list[tuple[Op, Cuts]]:
    joins = [op for op in module.body_of_main if joined_by(op) is not None]
    if not joins:
        return []
    side = _Side(module, sign, look)
    return [(op, cuts) for op in joins if (cuts := side.cuts(op))]


def _without_far_fills(module: Module, samples: Sequence[Sample], table: Mapping[str, Range] | None) -> Module:
    for sign in (1, -1):
        if _cuts(module, sign, _nothing_known):
            look = _by_table(module, table) if table is not None else _by_samples(module, sign, samples)
            found = _cuts(module, sign, look)
            module = _applied(module, sign, found) if found else module
    return module


def _by_table(module: Module, table: Mapping[str, Range]) -> Look:
    names = {value: name for name, value in observed(module).items()}
    return lambda value, axis: table.get(names.get(value, ""), UNKNOWN)


def _by_samples(module: Module, sign: int, samples: Sequence[Sample]) -> Look:
    """Ranges on samples, of all that says how far fills have to reach."""
    asked: dict[tuple[Value, int | None], None] = {}

    def ask(value: Value, axis: int | None) -> Range:
        asked[value, axis] = None
        return 0.0, 0.0

    _cuts(module, sign, ask)
    runner = Runner(module, {f"{number}": value for number, (value, _) in enumerate(asked)})
    ranges: dict[tuple[Value, int | None], Range] = {}

    def look(arrays: dict[str, np.ndarray]) -> list[Range]:
        return [_range_of(array if axis is None or not array.size else (array * sign).max(axis=axis) * sign)
                for array, (_, axis) in zip(arrays.values(), asked, strict=True)]

    for number, sample in enumerate(samples, 1):
        need_sample(sample, runner.inputs, number)
    for found in runner.each(samples, look):
        for key, (low, high) in zip(asked, found, strict=True):
            before = ranges.get(key, (low, high))
            ranges[key] = min(before[0], low), max(before[1], high)
    return lambda value, axis: ranges.get((value, axis), UNKNOWN)


def _applied(module: Module, sign: int, found: Iterable[tuple[Op, Cuts]]) -> Module:
    mapping: dict[Value, Value] = {}
    copy = module.clone(mapping)
    for op, cuts in found:
        made = mapping[op.results[0]].op
        assert made is not None
        for index, bound in cuts.items():
            if index is None:
                made.attributes["val"] = bound
                continue
            dense = constant_of(op.operands[index])
            assert dense is not None
            numbers = dense.numpy()
            cut = (np.maximum if sign > 0 else np.minimum)(numbers, np.asarray(bound, numbers.dtype))
            build = Builder(made.parent, before=made, location=op.operands[index].name)  # type: ignore[arg-type]
            made.set_operand(index, build.constant(Dense(cut)))
    return copy

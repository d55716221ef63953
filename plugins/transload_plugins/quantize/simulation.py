"""A module and its quantized form, side by side in one float program: what each tensor loses, and by how much sums are shifted.

The program rounds to grids that are its inputs, so that one compilation serves every question: what if this tensor had 16 bits,
or were not quantized at all; what remains when biases are moved. Weights are rounded beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.analysis.movement import moves_of
from transload.budget import check_deadline
from transload.ir import (
    F32,
    Dense,
    FloatType,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    dtype_of,
    input_names,
    update_function_type,
)
from transload.ir.borders import NAME
from transload.ir.build import Builder, constant_of

from .groups import Groups, rule_of
from .masks import ADDED
from .observe import can_be_quantized
from .rules import Rule
from .running import Runner
from .scheme import Scheme, real, stored
from .sums import summed

__all__ = ["GRIDS", "Measured", "Parts", "Simulation", "Types", "channel_count", "hidden_in", "logarithms", "typical"]

FINEST = 2.0 ** -60
"""The step of a grid on which every float32 of some size lies: what is rounded to it is as it was."""
FARTHEST = 1e30
GRIDS = ("transload.steps", "transload.least", "transload.greatest", "transload.places")
SHIFTS, SHARE = "transload.shifts", "transload.share"
PLACES = 128.0
"""Numbers of 16 bits between two places of a table, which is interpolated there."""
TYPICAL = (1e-6, 10.0)
"""The least and the greatest noise that a sample counts for, relative to its signal."""
ENDS = ("top.Softmax", "top.Sigmoid", "top.Tanh")
"""Ops that hide noise where they give the ends of their range."""

MIXED = ("top.Add", "top.Sub", "top.Where")
"""Ops that put a mask to what it hides."""
SCALED = ("top.AddConst", "top.Clip", "top.Div", "top.Mul", "top.MulConst")
"""Ops that change both by a number."""

Types = Mapping[Value, QuantType]
Parts = Mapping[int, float]
"""Tensors that an output is made of, as indices of `Simulation.tensors`, and the share of its numbers that each has."""


@dataclass(frozen=True)
class Measured:
    """What a run of a simulation over samples found."""

    signal: np.ndarray
    """Sums of squares of each tensor as it is, in the order of `Simulation.tensors`."""
    noise: np.ndarray
    """Sums of squares of what quantization changes of each."""
    shifts: np.ndarray
    """By how much the mean of each channel of sums is too small, weighted op after weighted op."""
    errors: np.ndarray
    """The standard errors of these means, as they differ from sample to sample."""
    each: np.ndarray
    """The signal and the noise of each sample and tensor [S, T, 2]."""

    def decibels(self, index: int) -> float:
        """The signal-to-noise ratio of a tensor."""
        return float(10 * np.log10(max(self.signal[index], 1e-30)) - 10 * np.log10(max(self.noise[index], 1e-30)))

    @property
    def mean_decibels(self) -> float:
        """The signal-to-noise ratio of a tensor, in the mean of all: no few numbers decide it, as they may at an output."""
        return float(np.mean([self.decibels(index) for index in range(len(self.noise))]))

    def typical(self, outputs: Sequence[Parts]) -> float:
        """The noise of some outputs relative to what they are: of a typical sample, and in the mean of the outputs."""
        return typical(self.each, outputs)


def typical(each: np.ndarray, outputs: Sequence[Parts]) -> float:
    """The same from the signal and the noise of each sample and tensor [S, T, 2].

    The mean of samples is that of their decibels, so that no few samples decide it, nor those that come out all but exact.
    """
    return float(np.exp(logarithms(each, outputs).mean(axis=1)).mean())


def logarithms(each: np.ndarray, outputs: Sequence[Parts]) -> np.ndarray:
    """Those of the noise of each output and sample relative to its signal [outputs, S], from what `typical` takes."""
    ratios = each[:, :, 1] / np.maximum(each[:, :, 0], 1e-30)
    shared = np.stack([ratios[:, list(parts)] @ np.array(list(parts.values())) for parts in outputs])
    return np.log(np.clip(shared, *TYPICAL))


class Simulation:
    """The program for a module; `measure` runs it."""

    def __init__(
        self, module: Module, scheme: Scheme, groups: Groups, weights: Mapping[Value, np.ndarray] | None = None,
    ) -> None:
        """`weights` are those that were rounded otherwise than to the nearest, by what their op computes."""
        self.scheme = scheme
        self.groups = groups
        self.weights = weights or {}
        self.roots: list[Value] = []
        """The groups of tensors that have a grid, in the order of the rows of grids."""
        self.tensors: list[Value] = []
        """The values of the module that are measured."""
        self.corrected: list[tuple[Op, Rule]] = []
        """The ops whose sums can be moved by a bias."""
        self.module = module
        self._mine: dict[Value, Value] = {}
        self._held: dict[Value, Value] = {}
        self._sums: dict[Op, Value] = {}
        self._copy = module.clone(self._mine)
        self._block = self._copy.body_of_main
        self._end = self._block.terminator
        self._grids: dict[Value, tuple[Value, ...]] = {}
        """The grid of each group, as values of the program."""
        self._parts: dict[Op, Value] = {}
        """What is added to the sums of each corrected op."""
        self._channels = 0
        self._runner = self._built()

    def measure(
        self, types: Types, samples: Sequence[Mapping[str, Any]], shifts: np.ndarray | None = None,
        corrected: bool = False,
    ) -> Measured:
        """Run on samples, tensors held in `types` by the root of their group; where there is none, they are as they are.

        `shifts` are added to sums. `corrected` takes what each sample's sums are short of on average back at once, so that
        behind it sums are as if all biases before were right: then the shifts found are those to correct by, in one go.
        """
        parameters = self._parameters(types, shifts, corrected)
        totals: dict[str, np.ndarray] = {}
        squares = np.zeros(max(self._channels, 1))
        each = []
        given = ({**sample, **parameters} for sample in samples)
        places = {value: place for place, value in enumerate(self._by_rank)}
        order = [places[value] for value in self.tensors]
        for found in self._runner.each(given, dict):
            found.update((name, found[name][order]) for name in ("signal", "noise"))
            each.append(np.stack((found["signal"], found["noise"]), axis=-1))
            for name, array in found.items():
                totals[name] = totals.get(name, 0.0) + array.astype(np.float64)
                squares += array.astype(np.float64) ** 2 if name == "shifts" else 0.0
        count = len(samples)
        shifts = totals["shifts"] / count
        errors = np.sqrt(np.maximum(squares / count - shifts ** 2, 0.0) / max(count - 1, 1))
        noise = np.nan_to_num(totals["noise"], nan=np.inf, posinf=np.inf)
        energies = np.nan_to_num(np.stack(each).astype(np.float64), nan=np.inf, posinf=np.inf)
        infinite = ~np.isfinite(totals["signal"])  # as the model has it: nothing is to be said of these
        totals["signal"][infinite] = noise[infinite] = energies[:, infinite] = 0.0
        return Measured(totals["signal"], noise, shifts, errors, energies)

    def _parameters(self, types: Types, shifts: np.ndarray | None = None, corrected: bool = False) -> dict[str, np.ndarray]:
        """The inputs of the program beside those of the module; see `measure`."""
        grids = np.array([_grid(types.get(root)) for root in self.roots] or [_grid(None)], np.float32)
        parameters = dict(zip(GRIDS, grids.T.copy(), strict=True))
        parameters[SHIFTS] = np.zeros(max(self._channels, 1), np.float32) if shifts is None else shifts.astype(np.float32)
        parameters[SHARE] = np.full(1, corrected, np.float32)
        return parameters

    @property
    def channels(self) -> int:
        """How many channels the corrected ops have together."""
        return self._channels

    @property
    def outputs(self) -> list[int]:
        """Which of `tensors` the function returns; where it returns none of them, the last."""
        returned = self.module.body_of_main.terminator.operands
        return [index for index, value in enumerate(self.tensors) if value in returned] or [len(self.tensors) - 1]

    @property
    def judged(self) -> list[Parts]:
        """Which of `tensors` say how good each output is: itself, or what it is made of where noise is hidden in it."""
        index = {value: number for number, value in enumerate(self.tensors)}
        found: list[Parts] = []
        for output in self.outputs:
            parts: dict[int, int] = {}
            waiting = [self.tensors[output]]
            for value in waiting:
                shown = hidden_in(value)
                if shown and all(each in index for each in shown):
                    waiting += shown
                else:
                    parts[index[value]] = math.prod(value.static_shape)
            whole = sum(parts.values())
            shares = {part: size / whole if whole else 1.0 for part, size in parts.items()}
            if shares not in found:
                found.append(shares)
        return found

    def spans(self) -> list[tuple[Op, Rule, slice]]:
        """Where in `shifts` each corrected op has its channels."""
        spans, start = [], 0
        for op, rule in self.corrected:
            count = channel_count(op, rule)
            spans.append((op, rule, slice(start, start + count)))
            start += count
        return spans

    # --- building

    def _built(self) -> Runner:
        names = input_names(self._copy.main)
        rooted = dict.fromkeys(
            self.groups.root(value) for op in self.groups.ops for value in (*op.operands, *op.results)
            if constant_of(value) is None and can_be_quantized(value))
        self.roots = list(rooted)
        self.corrected = self._correctable()
        self._channels = sum(channel_count(op, rule) for op, rule in self.corrected)
        for op, _ in self.corrected:
            self._bare(op)
        grids = [self._argument((max(len(self.roots), 1),), name) for name in GRIDS]
        self._shifts = self._argument((max(self._channels, 1),), SHIFTS)
        self._share = self._argument((1,), SHARE)
        more = self._more_inputs()
        self._copy.main.attributes["arg_attrs"] = [{NAME: name} for name in (*names, *GRIDS, SHIFTS, SHARE, *more)]
        update_function_type(self._copy.main)
        ends = [self._cut(grid, [1] * len(self.roots)) for grid in grids]
        self._grids = dict(zip(self.roots, zip(*ends, strict=True), strict=True))
        parts = self._cut(self._shifts, [channel_count(*each) for each in self.corrected])
        self._parts = dict(zip((op for op, _ in self.corrected), parts, strict=True))
        arguments = self.module.body_of_main.arguments
        for value in arguments:
            self._held[value] = self._on_grid(value, self._mine[value])
        means = [mean for op in self.module.body_of_main if op.results for mean in self._simulated(op)]
        self.tensors = [
            value for value in self._held
            if can_be_quantized(value) and constant_of(value) is None and not self.groups.is_cut(value)]
        return Runner(self._copy, self._given(means))

    def _more_inputs(self) -> tuple[str, ...]:
        """Add inputs that a simulation of another kind has beside these; their names."""
        return ()

    def _correctable(self) -> list[tuple[Op, Rule]]:
        return [(op, rule) for op in self.groups.ops if (rule := rule_of(op)) is not None and _is_corrected(op, rule)]

    def _given(self, means: list[Value]) -> dict[str, Value]:
        """What the program gives, where `means` are by what each channel of sums is too small."""
        signal, noise = self._compared()
        shifts = self._build().emit("top.Concat", *means, axis=0) if len(means) > 1 else means[0] if means else self._shifts
        return {"signal": signal, "noise": noise, "shifts": shifts}

    def _build(self) -> Builder:
        return Builder(self._block, before=self._end)

    def _argument(self, shape: tuple[int, ...], name: str) -> Value:
        return self._block.add_argument(TensorType(shape, F32), name)

    def _cut(self, vector: Value, sizes: list[int]) -> list[Value]:
        """A vector in pieces."""
        if len(sizes) < 2:
            return [vector][:len(sizes)]
        return list(self._build().emit("top.Split", vector, axis=0, split_size=tuple(sizes)))

    def _simulated(self, op: Op) -> list[Value]:
        """Append an op as it is quantized; the means of the shift of its sums, where they are to be corrected."""
        check_deadline()
        if constant_of(op.results[0]) is not None:
            self._held.update((result, self._mine[result]) for result in op.results)
            return []
        chosen = op in self.groups.chosen
        rule = rule_of(op) if chosen else None
        operands = dict(self._held)
        if chosen:
            self._round_constants(op, rule, operands)
        self._block.insert(copy := op.clone(operands), self._end)
        means = []
        for result in op.results:
            held = self._tabled(op, operands) if rule is not None and rule.table else operands[result]
            if op in self._parts and rule is not None:
                held, mean = self._moved(op, rule, held)
                held = self._activated(op, held) if copy.attributes.pop("do_relu", False) else held
                means.append(mean)
            self._held[result] = self._on_grid(result, held) if chosen else held
        return means

    def _round_constants(self, op: Op, rule: Rule | None, operands: dict[Value, Value]) -> None:
        """Constant operands as the quantized op has them; biases have 32 bits and stay."""
        for index, value in enumerate(op.operands):
            dense = constant_of(value)
            if dense is None or not value.is_float or (rule is not None and index == rule.bias):
                continue
            rounded = self._rounded(op, rule, index, dense.numpy()).astype(dtype_of(value.element))
            operands[value] = self._build().constant(Dense(rounded), element=value.element)

    def _rounded(self, op: Op, rule: Rule | None, index: int, array: np.ndarray) -> np.ndarray:
        """What the integers of a constant operand stand for."""
        weights = rule is not None and index == rule.own(op)
        numbers = (self.weights.get(op.results[0], array) if weights else array).astype(np.float64)
        if rule is not None and weights:
            type_ = self.scheme.of_sums(summed(op)).weight_type(numbers, rule.channels(op))
        else:
            slopes = rule is not None and index == rule.slopes
            type_ = self.scheme.slope_type(numbers) if slopes else self.scheme.constant_type(numbers)
        return real(stored(numbers, type_), type_)

    def _bare(self, op: Op) -> None:
        """Split the activation that an op applies to its sums off the op as it is, so that there are sums to compare."""
        value = self._mine[op.result]
        exact = value.op
        assert exact is not None
        self._sums[op] = value
        if exact.attributes.pop("do_relu", False):
            users = list(value.uses)
            activated = self._activated(op, value, exact.next)
            for user in users:
                user.operands = tuple(activated if operand is value else operand for operand in user.operands)
            self._mine[op.result] = activated

    def _activated(self, op: Op, sums: Value, before: Op | None = None) -> Value:
        build = Builder(self._block, before=before or self._end)
        return build.emit("top.Relu", sums, relu_limit=op.attribute("relu_limit", -1.0))

    def _moved(self, op: Op, rule: Rule, held: Value) -> tuple[Value, Value]:
        """Sums with what is added to their bias, and the mean by which each channel is still too small."""
        axis = rule.result_channels(op) % held.rank
        count = channel_count(op, rule)
        build = self._build()
        part = build.emit("top.Reshape", self._parts[op], shape=tuple(count if d == axis else 1 for d in range(held.rank)))
        others = tuple(d for d in range(held.rank) if d != axis)
        single = self._as(held)
        wanted, there = (
            build.emit("top.Reduce", sums, axes=others, keepdims=True, mode="ReduceMean")
            for sums in (self._as(self._sums[op]), single))
        mean = build.emit("top.Sub", build.emit("top.Sub", wanted, there), part)
        moved = build.emit("top.Add", single, build.emit("top.Add", part, build.emit("top.Mul", mean, self._share)))
        return self._as(moved, held.element), build.emit("top.Reshape", mean, shape=(count,))

    def _on_grid(self, value: Value, held: Value) -> Value:
        """A tensor rounded to the grid of its group and saturated; as it is where an activation cuts it, or there is none."""
        grid = self._grids.get(self.groups.root(value))
        if grid is None or self.groups.is_cut(value) or not can_be_quantized(value):
            return held
        return self._as(self._in_shape(value, self._gridded(self._as(held), *grid[:3])), value.element)

    def _gridded(self, held: Value, step: Value, least: Value, greatest: Value) -> Value:
        build = self._build()
        number = build.emit("top.Round", build.emit("top.Div", held, step))
        number = build.emit("top.Min", build.emit("top.Max", number, least), greatest)
        made: Value = build.emit("top.Mul", number, step)
        return made

    def _as(self, value: Value, element: Type = F32) -> Value:
        """Numbers of other floats as those that grids are of, and back."""
        if value.element == element:
            return value
        return self._build().emit("top.Cast", value, types=[TensorType(value.tensor_type.shape, element)])

    def _in_shape(self, value: Value, made: Value) -> Value:
        """What was computed with a grid, which is of rank 1, as a tensor of rank 0 where `value` is one."""
        return made if value.rank else self._build().emit("top.Reshape", made, shape=())

    def _tabled(self, op: Op, operands: dict[Value, Value]) -> Value:
        """What a table gives: the function itself where there is an entry for each number, else a line between two places."""
        moving = next(value for value in op.operands if constant_of(value) is None)
        grid = self._grids.get(self.groups.root(moving))
        if grid is None:
            return operands[op.results[0]]
        build = self._build()
        step, _, greatest, places = grid
        number = build.emit("top.Div", self._as(operands[moving]), step)
        index = build.emit("top.Floor", build.emit("top.Div", build.emit("top.Round", number), places))
        start = build.emit("top.Mul", index, places)
        stop = build.emit("top.Min", build.emit("top.Add", start, places), greatest)
        ends = []
        for place in (start, stop):
            at = {**operands, moving: self._as(self._in_shape(moving, build.emit("top.Mul", place, step)), moving.element)}
            self._block.insert(op.clone(at), self._end)
            ends.append(self._as(self._on_grid(op.results[0], at[op.results[0]])))
        share = build.emit("top.Div", build.emit("top.Sub", number, start), places)
        made = build.emit("top.Add", ends[0], build.emit("top.Mul", build.emit("top.Sub", ends[1], ends[0]), share))
        return self._as(self._in_shape(op.results[0], made), op.results[0].element)

    def _compared(self) -> tuple[Value, Value]:
        """The energies of all tensors and of their changes, as two vectors."""
        build = self._build()
        energies: dict[int, tuple[list[Value], list[Value]]] = {}
        """Of the exact tensors of a rank and of what they are short of, each of that rank and of one number."""
        for value in self._by_rank:
            exact, held = self._as(self._mine[value]), self._as(self._held[value])
            short = build.emit("top.Sub", exact, held)
            for of, into in zip((exact, short), energies.setdefault(value.rank, ([], [])), strict=True):
                into.append(build.emit("top.Reduce", of, axes=tuple(range(value.rank)), keepdims=True, mode="ReduceSumSquare"))
        flat = [[self._flat(each[which], rank) for rank, each in energies.items()] for which in (0, 1)]
        joined = [build.emit("top.Concat", *each, axis=0) if len(each) > 1 else each[0] for each in flat]
        return joined[0], joined[1]

    @property
    def _by_rank(self) -> list[Value]:
        """The tensors that are measured, those of one rank together: they are joined before they become numbers of a vector."""
        return sorted(self.tensors, key=lambda value: value.rank)

    def _flat(self, numbers: list[Value], rank: int) -> Value:
        """Tensors of one number each and of one rank, as a vector."""
        build = self._build()
        if not rank:
            numbers, rank = [build.emit("top.Reshape", number, shape=(1,)) for number in numbers], 1
        joined = build.emit("top.Concat", *numbers, axis=0) if len(numbers) > 1 else numbers[0]
        return joined if rank == 1 else build.emit("top.Reshape", joined, shape=(len(numbers),))


def hidden_in(value: Value) -> list[Value]:
    """What a value only moves, or brings between two ends; nothing for a value that is computed otherwise."""
    if value.op is None or constant_of(value) is not None:
        return []
    if value.op.name in ENDS:
        return [] if _may_be_masked(value.op.operands[0]) else [value.op.operands[0]]
    moves = moves_of(value.op)
    return [] if moves is None or moves.by_value else \
        [each for each in moves.operands(value.op) if each.is_float and constant_of(each) is None]


def _may_be_masked(value: Value) -> bool:
    """Whether it is made of several tensors, one of which may put -1e9 where nothing is to be seen: beside that all noise is
    small, and what comes behind it shows more."""
    op = value.op
    if op is None:
        return False
    held = [constant_of(each) for each in op.operands]
    computed = [each for each, dense in zip(op.operands, held, strict=True) if dense is None]
    if op.name in MIXED and (len(computed) > 1 or any(dense is not None and _reaches_far(dense) for dense in held)):
        return True
    return (op.name in (*MIXED, *SCALED) or moves_of(op) is not None) and any(map(_may_be_masked, computed))


def _reaches_far(numbers: Dense) -> bool:
    is_float = isinstance(numbers.type.element, FloatType)
    return is_float and bool(np.abs(numbers.numpy().astype(np.float64)).max(initial=0.0) >= ADDED)


def _grid(type_: QuantType | None) -> tuple[float, float, float, float]:
    """The step of a type, its least and greatest number of steps, and those between places of a table; the finest for None."""
    if type_ is None:
        return FINEST, -FARTHEST, FARTHEST, 1.0
    places = PLACES if type_.storage.width > 8 else 1.0
    return type_.scale, type_.storage_min - type_.zero_point, type_.storage_max - type_.zero_point, places


def _is_corrected(op: Op, rule: Rule) -> bool:
    """Whether an op sums products with constant weights, onto a constant bias with an entry for each channel."""
    if rule.bias is None or rule.own(op) is None:
        return False
    bias = constant_of(op.operands[rule.bias]) if len(op.operands) > rule.bias else None
    return bias is not None and bias.numpy().ndim == 1


def channel_count(op: Op, rule: Rule) -> int:
    """How many channels the sums of a product with weights have."""
    return int(op.result.static_shape[rule.result_channels(op)])

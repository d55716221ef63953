"""Islands: the few tensors that eight bits cannot hold, found by what each alone costs at the outputs.

Where the quantized model is much worse than the float one, tensors are quantized by themselves, all others being float, and the
noise at the outputs is measured: of all suspects, then of halves of what makes much of it, and of single ones at last. A tensor
that alone makes half of all that is lost stays float, or gets 16 bits where these do; then the next, until none stands out. Only
what stands some ops before a loss is tried. What stands before a logarithm, a division or a normalization of small numbers is
found so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from transload.analysis.movement import moves_of
from transload.ir import Module, Value
from transload.ir.build import constant_of

from .observe import observed
from .simulation import Measured, Simulation, Types
from .thresholds import Range

__all__ = ["FORMS", "Form", "Islands", "find", "unlike"]

Form = Literal["float", "int16", "none"]
FORMS: tuple[Form, ...] = ("float", "int16", "none")
"""What tensors may become that stand out: float or 16 bits, whichever does, 16 bits alone, or nothing else."""

DROP = 10.0
"""Decibels that an op has to lose between its operands and its result to be looked into."""
POOR, ENOUGH = 15.0, 45.0
"""Decibels of an output: below the one the search begins, above the other it ends."""
FINE = 35.0
"""Decibels of a tensor with which what makes it is not looked into, and of all outputs with which nothing is."""
DEPTH = 6
"""How many ops back of one that is looked into tensors are tried."""
SHARE = 0.5
"""The share of the whole loss by which a tensor stands out."""
PART = 0.5
"""The share of what makes a tensor stand out that a half must make to be looked into: what is lost later counts the more."""
WORTH = 0.8
"""The share of a loss below which less loss is worth giving up more tensors."""
MOST, SOME = 0.25, 4
"""The share of all groups of tensors that may be given up, and how many may be however few there are."""
UNLIKE = 8.0
"""How much farther one operand of a concatenation reaches than another, for the lesser to lose three of eight bits or more."""


@dataclass
class Islands:
    """What was found: by root of a group, what a user should know of it."""

    floats: dict[Value, str] = field(default_factory=dict)
    wide: dict[Value, str] = field(default_factory=dict)
    """Those that get 16 bits."""


def find(
    simulation: Simulation, types: Types, wide: Types, samples: Sequence[Mapping[str, Any]], forms: Form = "float",
) -> Islands:
    """The groups of tensors that stand out when all are held in `types`; `wide` has the same in 16 bits."""
    outputs = simulation.outputs
    whole = simulation.measure(types, samples)
    suspects = [] if forms == "none" else _suspects(simulation, whole)
    if not suspects:
        return Islands()
    left = [root for root in suspects if root in types]
    most = max(SOME, int(MOST * len(left)))
    given_up: list[Value] = []
    alone: dict[Value, float] = {}
    loss = whole.loss(outputs)
    losses = [loss]
    least = len(outputs) * 10 ** (-ENOUGH / 10)
    while loss > least and len(given_up) < most:
        alone |= _standing_out(simulation, left, types, samples, SHARE * loss)
        first = max(left, key=lambda root: alone.get(root, 0.0), default=None)
        if first is None or alone.get(first, 0.0) < SHARE * loss:
            break
        left.remove(first)
        given_up.append(first)
        loss = _loss(simulation, {each: type_ for each, type_ in types.items() if each not in given_up}, samples)
        losses.append(loss)
    # The weights beside a tensor may be what loses so much; and what stands before a division helps only together.
    needed = next((count for count, remaining in enumerate(losses) if WORTH * remaining <= losses[-1]), len(given_up))
    given_up = given_up[:needed]
    return _formed(simulation, given_up, alone, types, wide, samples, forms, whole)


def unlike(module: Module, ranges: Mapping[str, Range]) -> dict[str, str]:
    """Concatenations at the end of a model whose operands reach unlike far, as boxes and scores do: the tensors, and why.

    One type for all would lose the lesser. Nothing computes behind them, so that they cost nothing as floats.
    """
    names = {value: name for name, value in observed(module).items()}
    found: dict[str, str] = {}
    for op in module.body_of_main:
        moves = moves_of(op) if op.results else None
        operands = [value for value in op.operands if value in names]
        if moves is None or moves.data is not None or moves.by_value or len(operands) < 2 or op.result not in names:
            continue
        reach = sorted((max(map(abs, ranges[names[value]])), names[value]) for value in operands)
        behind = _moved_to_the_end(op.result)
        if behind and reach[0][0] > 0.0 and reach[-1][0] > UNLIKE * reach[0][0]:
            (least, lesser), (most, farther) = reach[0], reach[-1]
            why = f"{farther!r} reaches to {most:.3g} and {lesser!r} to {least:.3g}, which one type of 8 bits would lose"
            found |= {names[value]: why for value in behind if value in names}
    return found


def _moved_to_the_end(value: Value) -> list[Value]:
    """A value and all that holds its elements, where these only move until they are given out; else nothing."""
    found = [value]
    for each in found:
        for user in each.uses:
            if user.name == "func.return":
                continue
            moves = moves_of(user)
            if moves is None or moves.by_value:
                return []
            found += [result for result in user.results if result not in found]
    return found


def _suspects(simulation: Simulation, whole: Measured) -> list[Value]:
    """The groups at and before ops that make much more of the noise than there was; all, where an output is poor."""
    if all(whole.decibels(index) >= FINE for index in simulation.outputs):
        return []
    levels = {value: whole.decibels(index) for index, value in enumerate(simulation.tensors)}
    reached: dict[Value, None] = {}
    for value, level in levels.items():
        if value.op is None or moves_of(value.op) is not None or level >= FINE:
            continue
        before = [levels[each] for each in value.op.operands if constant_of(each) is None and each in levels]
        if before and min(before) - level >= DROP:
            reached |= dict.fromkeys(_before(value))
    if reached:
        return [root for root in simulation.roots if root in {simulation.groups.root(value) for value in reached}]
    return list(simulation.roots) if any(whole.decibels(index) < POOR for index in simulation.outputs) else []


def _before(value: Value) -> list[Value]:
    """A value and what it is computed from, some ops back."""
    found, edge = [value], [value]
    for _ in range(DEPTH):
        edge = [each for of in edge if of.op is not None for each in of.op.operands if constant_of(each) is None]
        found += edge
    return found


def _loss(simulation: Simulation, types: Types, samples: Sequence[Mapping[str, Any]]) -> float:
    return simulation.measure(types, samples).loss(simulation.outputs)


def _standing_out(
    simulation: Simulation, suspects: Sequence[Value], types: Types, samples: Sequence[Mapping[str, Any]], least: float,
) -> dict[Value, float]:
    """What each tensor alone makes of the loss, of those that make `least`: sought for by halves, as losses add up.

    Few can make so much each, so that most halves need not be looked into: of n tensors some log n are measured, not all.
    """
    found: dict[Value, float] = {}
    halves = [list(suspects)]
    while halves:
        group = halves.pop()
        loss = _loss(simulation, {root: types[root] for root in group}, samples) if group else 0.0
        if len(group) > 1 and loss >= PART * least:
            halves += [group[: len(group) // 2], group[len(group) // 2 :]]
        elif len(group) == 1 and loss >= PART * least:
            found[group[0]] = loss
    return found


def _alone(simulation: Simulation, root: Value, types: Types, samples: Sequence[Mapping[str, Any]]) -> float:
    return _loss(simulation, {root: types[root]}, samples)


def _formed(
    simulation: Simulation, given_up: Sequence[Value], alone: Mapping[Value, float], types: Types, wide: Types,
    samples: Sequence[Mapping[str, Any]], forms: Form, whole: Measured,
) -> Islands:
    """Each group that is given up as 16 bits where they lose little, else as float; 16 bits where there is no float."""
    found = Islands()
    rest = {root: type_ for root, type_ in types.items() if root not in given_up}
    loss = _loss(simulation, rest, samples)
    for root in given_up:
        sixteen = _alone(simulation, root, wide, samples)
        why = f"{_decibels(alone[root])} at the outputs in 8 bits alone, {_decibels(sixteen)} in 16; " \
            f"{_decibels(whole.loss(simulation.outputs))} with all in 8 bits, {_decibels(loss)} without"
        (found.wide if forms == "int16" or sixteen <= 2 * loss else found.floats)[root] = why
    mixed = {**rest, **{root: wide[root] for root in found.wide}}
    if forms == "float" and found.wide and _loss(simulation, mixed, samples) > 4 * loss:  # together they lose more
        found.floats.update(found.wide)
        found.wide.clear()
    return found


def _decibels(loss: float) -> str:
    return "nothing left" if not np.isfinite(loss) else f"{-10 * np.log10(max(loss, 1e-30)):.1f} dB"

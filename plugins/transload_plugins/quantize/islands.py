"""Islands: the few tensors that eight bits cannot hold, found by what each alone costs at the outputs.

Where the quantized model is much worse than the float one, tensors are quantized by themselves, all others being float, and the
noise at the outputs is measured: of all tensors, then of halves of what makes much of it, and of single ones at last. Then the
worst are taken together, more and more of them, for where an output is lost already, a tensor alone that is given up changes
nothing. They get 16 bits, and those of them that 16 bits cannot hold either stay float. As many are given up as pay: 16 bits
everywhere have to gain `PRICE` decibels, some tensors their share of that (`prices`). So what stands before a logarithm, a
division or a normalization of small numbers is found, and what attention rounds to a few steps. What is all but free, sums that
no product with weights takes, is tried at first, all together.

Noise is judged before the softmax or the sigmoid that a model ends in, which hides it where it says 0 or 1.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from transload.analysis.movement import moves_of
from transload.ir import Module, QuantType, Value

from .at_outputs import OutputSimulation
from .observe import observed
from .price import LITTLE, prices
from .simulation import Measured, Simulation, Types, logarithms
from .thresholds import Range

__all__ = ["FINE", "FORMS", "Form", "Held", "Islands", "find", "unlike"]

Form = Literal["mixed", "float", "int16", "none"]
FORMS: tuple[Form, ...] = ("mixed", "float", "int16", "none")
"""What tensors may become that stand out: 16 bits, or float where these do not hold them; float alone; 16 bits alone; nothing
else."""

FINE = 35.0
"""Decibels of all outputs with which nothing is looked for, where the caller does not say others."""
LESS = 5.0
"""How many decibels less the mean of samples may have than a typical one has to."""
GAIN = 2.0
"""Decibels that have to be there to be gained, beside what rounded weights lose anyhow, for a search to be worth its time."""
PRICE = 15.0
"""Decibels that 16 bits for all tensors would have to gain; for some of them, their share of it."""
POOR = 25.0
"""Decibels of all outputs below which as much is paid as 16 bits for all tensors would gain, where that is less."""
LEAST = 0.25
"""Decibels that all groups that cost little have to be worth together."""
MOST, SOME = 0.25, 4
"""The share of all groups of tensors that may be given up, and how many may be however few there are."""
SEARCHED = 4
"""Samples that say whether a search is worth its time, and by which tensors are looked for, where they are of one mind."""
UNSURE = 3.0
"""Standard error, in decibels, of what these say of all tensors, above which all samples are taken."""
TRIES = 120
"""Measurements, at most, that look for what stands out."""
HOLDS = 0.5
"""The decibels that 16 bits may lose beside floats, all tensors together, for none of them to stay float."""
MORE = 8
"""Tensors, at most, that are looked for beside those that stand out in 16 bits by themselves."""
UNLIKE = 8.0
"""How much farther one operand of a concatenation reaches than another, for the lesser to lose three of eight bits or more."""


@dataclass
class Islands:
    """What was found: by root of a group, what a user should know of it."""

    floats: dict[Value, str] = field(default_factory=dict)
    wide: dict[Value, str] = field(default_factory=dict)
    """Those that get 16 bits."""
    whole: float = math.inf
    """Decibels of the outputs with all in 8 bits."""

    @property
    def usable(self) -> bool:
        """Whether the model is of use with all in 8 bits: then floats alone are nothing that was asked for."""
        return self.whole >= POOR


@dataclass(frozen=True)
class Held:
    """Islands that were found before, by the names of their tensors, with the reasons: nothing else is looked for."""

    form: Form
    """By which they were looked for."""
    floats: Mapping[str, str]
    wide: Mapping[str, str]
    """Those that get 16 bits."""


def find(
    simulation: Simulation, types: Types, wide: Types, samples: Sequence[Mapping[str, Any]], forms: Form = "mixed",
    outputs: bool = True, fine: float = FINE, fixed: Collection[Value] = (),
) -> Islands:
    """The groups of tensors to give up, of all that are held in `types`; `wide` has the same in 16 bits.

    From `fine` decibels of all outputs on nothing is looked for: then outputs alone may get 16 bits, if they are given as floats
    (`outputs`) and floats are no loss. Where all have `FINE`, 16 bits do, and nothing is to stay float. The groups that are
    `fixed` are integers, whatever they cost.
    """
    search = _Search(simulation, types, wide, samples, fine, () if forms == "none" else fixed)
    if forms == "none":
        return Islands()
    if not search.pays():
        return search.finer_outputs() if outputs and forms == "mixed" else Islands()
    floats = forms == "float" or (forms == "mixed" and not search.is_good)
    no_float = search.fixed if forms == "float" else frozenset()  # they may have 16 bits
    search.try_little(floats, no_float)
    out = {*search.little, *no_float}
    order = search.standing_out(search.types, [root for root in search.types if root not in out], search.most)
    chosen = search.paying(order, floats)
    left = chosen if forms == "float" else search.too_much_for_16_bits(chosen) if floats else []
    return search.told(chosen, [root for root in left if root not in search.fixed])


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


class _Search:
    """Measurements of one model on some samples: noise at what it gives, relative to that, in the mean of outputs."""

    def __init__(
        self, simulation: Simulation, types: Types, wide: Types, samples: Sequence[Mapping[str, Any]], fine: float = FINE,
        fixed: Collection[Value] = (),
    ) -> None:
        self.whole_simulation = simulation
        self.fine = fine
        self.fixed = frozenset(fixed)
        self.simulation: OutputSimulation
        self.whole: float
        """What all groups cost together in 8 bits."""
        self.bare: float
        """What rounded weights alone cost."""
        self.first: Measured
        """What was found on all samples at first, of all groups in 8 bits."""
        self.types = {root: types[root] for root in simulation.roots if root in types}
        self.wide = wide
        self.samples = samples
        self.most = max(SOME, int(MOST * len(self.types)))
        self.little: list[Value] = []
        """The groups that cost little, where these are given up."""
        self.alone: dict[Value, float] = {}
        """What a group of tensors alone costs in 8 bits."""
        self.alone_wide: dict[Value, float] = {}
        """What it costs in 16 bits, of those that cost much."""

    def loss(self, types: Types) -> float:
        return self.simulation.loss(types)

    @cached_property
    def prices(self) -> dict[Value, float]:
        return prices(self.whole_simulation.groups, self.types)

    def pays(self) -> bool:
        """Whether an output is below `fine`, and not by its weights."""
        judged = self.whole_simulation.judged
        self.first = self.whole_simulation.measure(self.types, self.samples)
        if self._all_have(self.fine):
            return False
        few = self.samples[:: max(1, len(self.samples) // SEARCHED)]
        unlike = np.std(10 / np.log(10) * logarithms(self.first.each, judged), axis=1, ddof=min(1, len(few) - 1)).max()
        if unlike > UNSURE * np.sqrt(len(few)):
            few = self.samples
        self.simulation = OutputSimulation(self.whole_simulation, few)
        self.whole, self.bare = self.loss(self.types), self.loss({})
        return _decibels(self.bare) - _decibels(self.whole) >= GAIN

    @property
    def is_good(self) -> bool:
        """Whether all outputs have `FINE` decibels in 8 bits."""
        return self._all_have(FINE)

    def _all_have(self, decibels: float) -> bool:
        """Whether each output has as much in a typical sample, and not much less in the mean of them.

        Where noise is a few samples' (a reciprocal root is steep near 0), a typical one says nothing of it.
        """
        logs = logarithms(self.first.each, self.whole_simulation.judged)
        typical, mean = np.exp(logs.mean(axis=1)).max(), np.exp(logs).mean(axis=1).max()
        return _decibels(typical) >= decibels and _decibels(mean) >= decibels - LESS

    def finer_outputs(self) -> Islands:
        """Outputs in 16 bits, where their own rounding is most of their noise: it need not be, of what is given as floats.

        They pay as all islands do. What alone they could gain is known without a measurement: the noise of a step.
        """
        simulation, judged = self.whole_simulation, self.whole_simulation.judged
        root_of = {index: simulation.groups.root(value) for index, value in enumerate(simulation.tensors)}
        shown = {root_of[part] for parts in judged for part in parts}  # a softmax hides what is before it
        chosen = [
            root for index in simulation.outputs
            if (root := root_of[index]) in shown and root in self.types and self._own(index, root) > PRICE * self.prices[root]]
        if not chosen:
            return Islands()
        found = simulation.measure(self._held(chosen, ()), self.samples).typical(judged)
        whole = self.first.typical(judged)
        if _decibels(found) - _decibels(whole) <= PRICE * sum(self.prices[root] for root in set(chosen)):
            return Islands()
        why = f"{_text(whole)} with an output of 8 bits, {_text(found)} with one of 16"
        return Islands(wide=dict.fromkeys(chosen, why))

    def _own(self, index: int, root: Value) -> float:
        """The decibels that an output would gain without its own rounding."""
        numbers = max(math.prod(self.whole_simulation.tensors[index].static_shape), 1)
        noise = float(np.exp(np.log(np.maximum(self.first.each[:, index, 1] / numbers, 1e-30)).mean()))
        own = self.types[root].scale ** 2 / 12
        return _decibels(max(1.0 - own / max(noise, own), 1e-3)) if noise > 0.0 else 0.0

    def standing_out(self, types: Types, groups: Sequence[Value], most: int) -> list[Value]:
        """The groups of tensors that alone cost most when held in `types`, the worst first, as many as `most`.

        They are looked for by halves, the half that costs most first: what costs less than a loss that is fine, shared by all,
        is not looked into. Of n tensors of which k stand out some k log n are measured.
        """
        fair = max(10 ** (-self.fine / 10), self.bare) / len(self.types)
        found: dict[Value, float] = {}
        alone = self.loss({root: types[root] for root in groups}) - self.bare if len(groups) == 1 else np.inf
        waiting = [(-alone, 0, list(groups))]
        tries = 0
        while waiting and tries < TRIES and len(found) < 2 * most:
            cost, _, group = heapq.heappop(waiting)
            if len(group) == 1:
                found[group[0]] = -cost
                continue
            for half in (group[: len(group) // 2], group[len(group) // 2 :]):
                tries += 1
                cost = self.loss({root: types[root] for root in half}) - self.bare
                if cost > len(half) * fair:
                    heapq.heappush(waiting, (-cost, tries, half))
        (self.alone if types is self.types else self.alone_wide).update(found)
        return sorted(found, key=found.__getitem__, reverse=True)[:most]

    def try_little(self, floats: bool, but: Collection[Value] = ()) -> None:
        """Give up all groups that cost little, where that is worth anything; none of inputs and outputs, all `but` some."""
        block, root_of = self.whole_simulation.module.body_of_main, self.whole_simulation.groups.root
        borders = {*but, *(root_of(value) for value in (*block.arguments, *block.terminator.operands))}
        little = [root for root, price in self.prices.items() if price * len(self.types) < LITTLE and root not in borders]
        if little and self._worth(little, floats) > LEAST:
            self.little = little

    def paying(self, order: Sequence[Value], floats: bool) -> list[Value]:
        """Those of the groups that stand out, the worst first, which pay for being given up, to floats or to 16 bits."""
        best = (self._worth(self.little, floats) if self.little else 0.0, self.little)
        for count in _counts(len(order)):
            chosen = [*order[:count], *self.little]
            worth = self._worth(chosen, floats)
            if worth > best[0]:
                best = (worth, chosen)
        worth, chosen = best
        if self.little:
            others = [root for root in chosen if root not in self.little]
            return others if self._worth(others, floats) > worth - LEAST else chosen
        return chosen

    def _worth(self, chosen: Sequence[Value], floats: bool) -> float:
        """The decibels that it gains to give up some groups, less their price."""
        whole = _decibels(self.whole)
        price = min(PRICE, _decibels(self.bare) - whole) if whole < POOR else PRICE
        gain = _decibels(self.loss(self._held(chosen, chosen if floats else ()))) - whole
        return gain - price * sum(self.prices[root] for root in chosen)

    def too_much_for_16_bits(self, chosen: Sequence[Value]) -> list[Value]:
        """Those of the groups that 16 bits cannot hold: the least number of the worst without which little is lost, and where
        these are not all, what costs much beside tensors of 8 bits alone."""
        if not chosen:
            return []
        enough = min(_decibels(self.loss(self._held(chosen, chosen))), FINE) - HOLDS
        if _decibels(self.loss(self._held(chosen, ()))) >= enough:
            return []
        order = self.standing_out(self.wide, chosen, len(chosen))
        if _decibels(self.loss(self._held(chosen, order))) < enough:
            return self._with_more(chosen, order, enough)
        few, many = 0, len(order)  # of which the first is too few, and the last enough
        while many - few > 1:
            middle = (few + many) // 2
            if _decibels(self.loss(self._held(chosen, order[:middle]))) >= enough:
                many = middle
            else:
                few = middle
        return order[:many]

    def _with_more(self, chosen: Sequence[Value], floats: list[Value], enough: float) -> list[Value]:
        """Groups that stay float, and as many more as it takes: each is looked for in the half of the others that gains more."""
        floats, left = list(floats), [root for root in chosen if root not in floats]
        for _ in range(MORE):
            group = left
            while len(group) > 1:
                halves = group[: len(group) // 2], group[len(group) // 2 :]
                group = min(halves, key=lambda half: self.loss(self._held(chosen, [*floats, *half])))
            floats += group
            left = [root for root in left if root not in group]
            if not left or _decibels(self.loss(self._held(chosen, floats))) >= enough:
                return floats
        return list(chosen)

    def _held(self, chosen: Sequence[Value], floats: Collection[Value]) -> dict[Value, QuantType]:
        """The types of all groups, where those that are chosen have 16 bits or are float."""
        given_up, away = set(chosen), set(floats) - self.fixed
        return {root: self.wide[root] if root in given_up else type_ for root, type_ in self.types.items() if root not in away}

    def told(self, chosen: Sequence[Value], floats: Sequence[Value]) -> Islands:
        """What a user should know of each."""
        loss = self.loss(self._held(chosen, floats))
        found = Islands(whole=_decibels(self.whole))
        for root in chosen:
            sixteen = f", {_text(self.alone_wide[root] + self.bare)} in 16" if root in self.alone_wide and root in floats else ""
            alone = f"{_text(self.alone[root] + self.bare)} at the outputs in 8 bits alone{sixteen}" if root in self.alone else \
                f"{self.prices[root]:.2%} of the work"
            why = f"{alone}; {_text(self.whole)} with all in 8 bits, {_text(loss)} with these islands"
            (found.floats if root in floats else found.wide)[root] = why
        return found


def _counts(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, 16, … up to `most`."""
    counts = [1, 2, 3]
    while counts[-1] < most:
        counts.append(counts[-2] * 2)
    return [count for count in counts if count < most] + ([most] if most else [])


def _decibels(loss: float) -> float:
    return float(-10 * np.log10(max(loss, 1e-30)))


def _text(loss: float) -> str:
    return f"{round(_decibels(loss), 1) + 0.0:.1f} dB"  # of what rounds to -0.0, too, 0.0

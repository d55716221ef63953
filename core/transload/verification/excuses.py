"""What excuses an output that breaks its limits: the runtime itself leaves open what is right, and by as much."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from itertools import product

import numpy as np

from ..errors import ReadError, RunError
from ..ir import Module, output_names
from ..plugin import resolve
from ..worker import ChildEnded
from .bounds import has_bounds
from .differences import TensorDifference, compare_outputs, distance_in_words, together
from .drawn import Drawn
from .edges import open_at_edges
from .kinds import OutputKinds
from .last_bits import excused_by_last_bits
from .limits import breaks_usual
from .reference import Reference
from .running import Running
from .runtimes import judged_format, other_runtimes, run_of
from .steps import check_steps_together, is_quantized, most_bits
from .ties import excused_by_ties
from .ways import Ways
from .within import moved_within

__all__ = ["Broken", "Excuse", "Excuses"]

Arrays = Mapping[str, np.ndarray]
Broken = dict[int, list[str]]
"""By place of the output, the limits that it breaks, in words."""
Excuse = Callable[[Sequence[Arrays], Broken], tuple[Broken, list[str]]]
"""What is broken all the same on inputs together, and notes on what is excused."""


_OF_ROUNDINGS = (10.0, 30.0)
"""Decibels that roundings of a runtime's own leave, of quantized numbers of up to 8 bits and of more."""


def _is_no_rounding(apart: TensorDifference, least: float) -> bool:
    """Whether numbers are farther from the reference than roundings bring them."""
    return apart.metrics.get("sqnr", math.inf) < least


class Excuses:
    """Asks one after another what may excuse outputs that break their limits; `hub` is None where its outputs are others."""

    def __init__(
        self, reference: Reference, hub: Module | None, running: Running, kinds: OutputKinds, engine: str,
        drawn: Drawn,
    ) -> None:
        self.reference, self.hub, self.running = reference, hub, running
        self.kinds, self.engine, self.drawn = kinds, engine, drawn
        self.runtime, self.tolerance = reference.runtime, kinds.tolerance

    def of(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], tensors: list[TensorDifference], broken: Broken,
    ) -> tuple[list[TensorDifference], Broken, list[str]]:
        """The tensors as they are judged, the limits that are broken all the same, and notes on what excused others."""
        tensors, broken, notes = self._by_nearest(given, actual, tensors, broken)
        by_its_own, by_last_bits, by_those_within = (
            partial(each, tensors=tensors) for each in (self._by_its_own, self._by_last_bits, self._by_last_bits_within))
        for excuse in (self._by_steps, self._by_ties, self._by_edges, by_its_own, by_last_bits, by_those_within):
            if broken:
                broken, further = excuse(given, actual, broken=broken)
                notes += further
        return tensors, broken, notes

    def _by_nearest(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], tensors: list[TensorDifference],
        broken: Broken,
    ) -> tuple[list[TensorDifference], Broken, list[str]]:
        """The same, judged by the nearest of the ways in which the runtime computes the model, where it has several (`ways`)."""
        alternatives, source = self.runtime.alternatives, self.reference.source
        others = resolve(alternatives)(source.source) if alternatives is not None and source.cut is None else {}
        if not others:
            return tensors, broken, []
        try:
            ways = {name: self.reference.of_model(run) for name, run in others.items()}
            all_ways = Ways({"node by node": self.reference.run, **ways})
            judged = all_ways.judge(given, actual, list(broken), self.drawn.of_ways, self.kinds.chosen)
        except ChildEnded as error:
            return tensors, broken, [f"{error.message}, computing the model in another way: judged by the one alone"]
        wrong = self.kinds.limits_broken(judged.tensors)
        notes = [
            f"{tensors[index].name}: {self.runtime.name} itself computes it in ways that are {distance_in_words(apart)} apart; "
            f"this is {distance_in_words(judged.tensors[index])} from what it gives {judged.nearest[index]}"
            for index, apart in judged.excused.items()]
        return judged.tensors, {index: reasons for index, reasons in wrong.items() if index not in judged.excused}, notes

    def _by_steps(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], broken: Broken,
    ) -> tuple[Broken, list[str]]:
        """The limits that are broken all the same where each quantized tensor is judged from the runtime's own numbers (`steps`).

        Asked where the runtime's roundings are not what its framework says (`_leaves_roundings_open`).
        """
        if self.hub is None or not is_quantized(self.hub) or not self._leaves_roundings_open():
            return broken, []
        return self._step_by_step(self.hub, [given], [actual], broken)

    def of_all(self, inputs: Sequence[Arrays], broken: Broken) -> tuple[Broken, list[str]]:
        """The limits of outputs on several inputs together, each of which passed, that are broken all the same step by step.

        What is a step away is counted over all of these of each quantized tensor, too.
        """
        if self.hub is None or not is_quantized(self.hub) or has_bounds(self.hub) or not self._leaves_roundings_open():
            return broken, []
        return self._step_by_step(self.hub, inputs, [self.running(given) for given in inputs], broken)

    def _leaves_roundings_open(self) -> bool:
        """Whether the runtime computes models in several ways, or this one by kernels that round on their own (`Runtime`)."""
        alone = self.runtime.rounds_alone
        return self.runtime.alternatives is not None or (alone is not None and bool(resolve(alone)(self.reference.source)))

    def _step_by_step(
        self, hub: Module, inputs: Sequence[Arrays], results: Sequence[Arrays], broken: Broken,
    ) -> tuple[Broken, list[str]]:
        """`_by_steps` of one input or of several, of what was given there in the end."""
        running, names = Running(hub, self.engine), output_names(hub.main)
        inside = [self.reference.inside(given) for given in inputs]
        of_hub = [dict(zip(names, running(dict(each)).values(), strict=False)) for each in inside]
        if self._broken_together(of_hub, results):
            return broken, []  # what was judged below would not be the result
        try:
            references = [self.reference.run(given, keep=True) for given in inputs]
        except RunError:  # with its intermediate tensors it does not run
            return broken, []
        outputs, steps = check_steps_together(
            hub, list(zip(inside, references, strict=True)), self.engine, self.tolerance.integer)
        name = self.runtime.name
        if steps.wrong:
            return broken, [f"from {name}'s own numbers before it, {wrong}" for wrong in steps.wrong]
        ends = [{key: reference[key] for key in made if key in reference}
                for made, reference in zip(outputs, references, strict=True)]
        wrong = self._broken_together(ends, outputs) if len(ends[0]) == len(outputs[0]) else broken
        note = (
            f"{name} rounds some numbers to the next step: from its own numbers before it, each of the {steps.tensors} quantized "
            f"tensors is what it computes, but for {steps.apart:,} of {steps.elements:,} numbers, which are a step away; in the "
            "outputs that adds up to what the table shows")
        return {index: reasons for index, reasons in wrong.items() if index in broken}, [note] if steps.tensors else []

    def _broken_together(self, references: Sequence[Arrays], results: Sequence[Arrays]) -> Broken:
        """The limits that several results together break beside their references."""
        compared = [compare_outputs(reference, result) for reference, result in zip(references, results, strict=True)]
        return self.kinds.limits_broken([reduce(together, each) for each in zip(*compared, strict=True)])

    def _by_ties(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], broken: Broken,
    ) -> tuple[Broken, list[str]]:
        """The limits that are broken all the same where scores that are nearly equal leave open which label is right (`ties`)."""
        suspects = [index for index in broken if index in self.kinds.chosen and index not in self.kinds.exact]
        if not suspects or self.hub is None or self.reference.fused is not None:
            return broken, []
        try:
            reference = self.reference.run(given, keep=True)
        except RunError:  # with its intermediate tensors it does not run
            return broken, []
        both = (self.reference.source, self.running.result)
        excused = excused_by_ties(self.hub, given, reference, actual, suspects, self.engine, self.tolerance, both)
        names = [*actual]
        notes = [f"{names[index]}: {share:.2%} of its labels are others, where scores in {self.runtime.name} are as near to one "
                 "another as the tolerance lets them be" for index, share in excused.items()]
        return {index: reasons for index, reasons in broken.items() if index not in excused}, notes

    def _by_edges(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], broken: Broken,
    ) -> tuple[Broken, list[str]]:
        """The limits that are broken all the same where all that is other is next to a border, and the rest tells (`edges`)."""
        suspects = broken.keys() - self.kinds.exact
        if not suspects or self.hub is None or self.reference.fused is not None:
            return broken, []
        try:
            reference = self.reference.run(given, keep=True)
            found = open_at_edges(self.hub, given, reference, actual, suspects, self.engine, self.tolerance)
        except RunError:  # with its intermediate tensors it does not run
            return broken, []
        excused = {index for index, tells in found.items() if tells}
        notes = [f"{name}: what is another number there is made of what is next to a border, as next to 0, where runtimes "
                 "round to either side" for index, name in enumerate(actual) if index in excused]
        return {index: reasons for index, reasons in broken.items() if index not in excused}, notes

    def _by_its_own(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], tensors: Sequence[TensorDifference],
        broken: Broken,
    ) -> tuple[Broken, list[str]]:
        """The limits that are broken all the same beside what the target's runtime gives of the source's own file.

        Runtimes round quantized numbers each in their own way. Where a model has none, or what is away is more than roundings of
        numbers of so many bits come to, the target's runtime takes an operator for another, in whichever file: that is told, and
        excuses nothing.
        """
        own, rounds = self.running.own, self.hub is not None and (is_quantized(self.hub) or has_bounds(self.hub))
        source = self.reference.source
        least = _OF_ROUNDINGS[self.hub is not None and most_bits(self.hub) > 8]
        for runtime in other_runtimes(judged_format(source), own.target, source.entry) if own is not None else ():
            try:
                reference = self.reference.of_model(run_of(runtime, source, self.hub))(given)
            except (RunError, ReadError):
                continue
            if len(reference) != len(actual):
                continue
            beside = compare_outputs(reference, actual)
            alike = broken.keys() - self.kinds.limits_broken(beside)
            far = {index for index in alike if rounds and _is_no_rounding(tensors[index], least)}
            notes = [
                f"{tensors[index].name}: of the source's own file {runtime.name} gives otherwise than {self.runtime.name}, too: "
                f"this is {distance_in_words(beside[index], 6)} from it"
                + ("; as nothing in the model is quantized, that is another meaning and no rounding" if not rounds else
                   f"; with less than {least:.0f} dB that is another meaning and no rounding" if index in far else "")
                for index in broken if index in alike]
            return {index: reasons for index, reasons in broken.items() if index not in alike - far or not rounds}, notes
        return broken, []

    def _by_last_bits(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], tensors: Sequence[TensorDifference],
        broken: Broken,
    ) -> tuple[Broken, list[str]]:
        """The limits that are broken all the same where the model moves as far by its inputs' last bits (`last_bits`)."""
        still = self.reference.still(given)
        excused = dict[int, TensorDifference]()
        for chosen, coarse in product((False, True), repeat=2):
            suspects = [index for index in broken if index not in self.kinds.exact
                        and (index in self.kinds.chosen, index in self.kinds.coarse) == (chosen, coarse)]
            if not suspects:
                continue
            breaks = partial(breaks_usual, chosen=chosen, unit=self.kinds.unit, coarse=coarse)
            excused |= excused_by_last_bits(
                self.reference.bare, self.reference.inside(given), actual, tensors, suspects, breaks, still=still, chosen=chosen)
        notes = [
            f"{tensors[index].name}: with its inputs' last bits moved, {self.runtime.name} itself gives what is "
            f"{distance_in_words(apart)} away; this is {distance_in_words(tensors[index])}" for index, apart in excused.items()]
        return {index: reasons for index, reasons in broken.items() if index not in excused}, notes

    def _by_last_bits_within(
        self, given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], tensors: Sequence[TensorDifference],
        broken: Broken,
    ) -> tuple[Broken, list[str]]:
        """The limits of floats that are broken all the same where the model's own ops move as far by last bits (`within`)."""
        open_ = self.kinds.exact | self.kinds.chosen | self.kinds.coarse
        suspects = [index for index in broken if index not in open_]
        if not suspects or self.hub is None or is_quantized(self.hub) or self.reference.fused is not None:
            return broken, []
        near = moved_within(self.reference.source, given, self.reference.bare(given))
        excused = excused_by_last_bits(
            self.reference.bare, given, actual, tensors, suspects, partial(breaks_usual, unit=self.kinds.unit), near)
        notes = [
            f"{tensors[index].name}: with the last bits of what the model computes moved, its outputs are "
            f"{distance_in_words(apart)} away; this is {distance_in_words(tensors[index])}" for index, apart in excused.items()]
        return {index: reasons for index, reasons in broken.items() if index not in excused}, notes

"""What a comparison asks of the outputs on one of its inputs: as `convert` does, with what excuses them, or leaves them open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from ..analysis.dataflow import has_loops
from ..errors import PluginFailure, RunError
from ..ir import Module
from ..plugin import Runtime, resolve
from ..worker import ChildEnded
from .bounds import has_bounds
from .choosing import MOST_TIED, choosing_inputs
from .differences import TensorDifference, compare_outputs
from .drawn import Drawn
from .edges import open_at_edges
from .endless import is_finite, why_no_numbers
from .excuses import Excuses
from .following import Inputs
from .further import further_inputs, in_time, many_inputs
from .halves import halves_inputs
from .information import is_nan_throughout
from .kinds import OutputKinds
from .larger import larger_inputs
from .last_bits import moved_by_roundings, still_inputs
from .reaching import reaching_inputs
from .reference import Reference, Run
from .running import Running
from .steps import is_quantized

__all__ = ["AsConverted", "Found"]


@dataclass
class Found:
    """What was found on some inputs."""

    broken: dict[int, list[str]]
    """By place of the output, the limits that it breaks, in words."""
    open: dict[int, str] = field(default_factory=dict)
    """By place of the output, why nothing says whether it is right."""
    notes: list[str] = field(default_factory=list)
    """What excused others."""


class AsConverted:
    """Judges a `result` by the runtime of its `source`, which `execute` runs, as a conversion is judged."""

    def __init__(
        self, source: Module, hub: Module, result: Module, runtime: Runtime, execute: Run, kinds: OutputKinds,
        of_ways: Iterable[Inputs] = (),
    ) -> None:
        self._source, self._hub, self._result, self._runtime, self.kinds = source, hub, result, runtime, kinds
        self._reference = Reference(source, runtime, hub)
        self._reference.take(execute)
        self._tied = 0
        """On how many inputs choices were others, and excused."""
        self._excuses = Excuses(self._reference, hub, Running(result, "auto"), kinds, "auto", Drawn(of_ways))

    def first(
        self, given: Inputs, reference: Inputs, actual: Inputs, tensors: Sequence[TensorDifference],
    ) -> Found:
        """What is found on the inputs that are compared."""
        limits = self.kinds.limits_broken(tensors)
        if not limits:
            return Found({})
        found = Found(limits)
        with suppress(RunError, PluginFailure, MemoryError, ChildEnded):  # with its intermediate tensors it may not run
            _, found.broken, found.notes = self._excuses.of(given, actual, [*tensors], limits)
            if found.broken:
                found.open = self._at_edges(given, actual, found.broken)
        found.broken = {place: reasons for place, reasons in found.broken.items() if place not in found.open}
        self._tied += bool(limits.keys() & self.kinds.chosen and not found.broken)
        return found

    def further(
        self, given: Inputs, reference: Inputs, actual: Inputs, compared: Callable[[Inputs, Inputs], list[TensorDifference]],
    ) -> dict[int, list[str]]:
        """The limits that outputs, as they are `compared`, break on inputs after the first, by place: where that says something
        of the result."""
        if any(map(is_nan_throughout, reference.values())):
            return {}
        broken = self.first(given, reference, actual, compared(reference, actual)).broken
        if not broken or self._is_undefined(given, reference, actual):
            return {}
        moved = moved_by_roundings(given, self.kinds.unit, still_inputs(self._hub, given))
        own = compare_outputs(reference, self._reference.run(moved))
        open_ = self.kinds.limits_broken(own, exact=frozenset())
        return {place: reasons for place, reasons in broken.items() if place not in open_}

    def drawn(self, seed: int) -> Iterator[Inputs]:
        """The inputs after the first that a conversion is judged on, too, where none are given."""
        about = self._source, self._hub, self._result
        yield from further_inputs(*about, seed)
        if self._is_of_floats:
            yield from in_time(many_inputs(*about, seed))
        self._tied = 0
        yield from takewhile(
            lambda _: self._tied < MOST_TIED, in_time(choosing_inputs(*about, self.kinds.chosen, seed)))
        yield from self._reaching(seed)
        if self._is_of_floats:
            yield from filter(self._has_numbers, halves_inputs(*about, seed))
            pictures = not self.kinds.tolerance.is_of_sizes
            yield from filter(self._has_numbers, in_time(larger_inputs(*about, seed, pictures)))

    @property
    def _is_of_floats(self) -> bool:
        is_coarse = is_quantized(self._hub) or has_bounds(self._hub)
        return not is_coarse and self.kinds.tolerance.keeps_floats and not has_loops(self._hub)

    def _has_numbers(self, given: Inputs) -> bool:
        """Whether the source gives finite numbers of some inputs."""
        with suppress(RunError, PluginFailure, MemoryError):
            return all(map(is_finite, self._reference.run(given).values()))
        return False

    def _reaching(self, seed: int) -> Iterator[Inputs]:
        """Inputs that reach what the model asks about (`reaching_inputs`), where its form at the hub makes numbers of them: of a
        place outside of a table that is anything."""
        for several in reaching_inputs(self._source, self._hub, self._result, seed, self._is_of_floats):
            for given in several:
                with suppress(RunError, PluginFailure, MemoryError):
                    if all(map(is_finite, Running(self._hub, "reference")(given).values())):
                        break
            else:
                continue
            yield given

    def _is_undefined(self, given: Inputs, reference: Inputs, actual: Inputs) -> bool:
        endless = not all(is_finite(array) for arrays in (reference, actual) for array in arrays.values())
        if why_no_numbers(self._source, self._hub, endless):
            return True
        undefined = self._runtime.undefined
        return undefined is not None and bool(resolve(undefined)(self._source, self._hub, given))

    def _at_edges(self, given: Inputs, actual: Inputs, broken: Collection[int]) -> dict[int, str]:
        suspects = {*broken} - self.kinds.exact
        if not suspects:
            return {}
        reference: Mapping[str, np.ndarray] = self._reference.run(given, keep=True)
        found = open_at_edges(self._hub, given, reference, actual, suspects, "auto", self.kinds.tolerance)
        names = [*actual]
        return {place: f"all numbers of {names[place]} that are others are made of what is next to a border, as next to 0, where "
                "runtimes round to either side" for place in found}

"""A conversion's result made ready to run: by the target's own runtime, or by an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..budget import TimeOver, timed
from ..engine.anew import begun_anew
from ..errors import ArtifactError, ConversionError, MissingKernel, RunError, UsageError
from ..ir import Module, initial_states, input_names, output_names
from ..plugin_host import host
from ..worker import ChildEnded
from .runtimes import OtherShape

__all__ = ["OwnRuntime", "Running", "refusal_of_all"]


@dataclass(frozen=True)
class OwnRuntime:
    """What runs a target's artifact: `run(inputs)` gives the outputs by name, in order (`Target.run`, `parts.Parts.run`)."""

    target: str
    run: Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
    title: str = ""
    """What it is called in reports."""
    rounds_alone: bool = False
    """See `Target.rounds_alone`."""
    tolerance: tuple[str, ...] = ()
    """See `Target.tolerance`."""
    files: tuple[Path, ...] = ()
    """The artifact's, which lie elsewhere until it is done: errors call them by their names alone."""

    @property
    def refusal(self) -> str:
        """That it does not run the artifact."""
        by_itself = f"{self.target}'s own runtime cannot run the artifact"
        return f"the artifact cannot be run as {self.title}" if self.title else by_itself

    def told(self, error: RunError) -> str:
        """What an error says."""
        return reduce(lambda text, file: text.replace(str(file), file.name), self.files, error.message)


class Running:
    """Runs a result on the model's inputs, given in the model's order: `own` where there is one, else the engine.

    The engine runs what was `written`, read back, where that can be had: so a writer is judged, too. `used` says what ran it,
    `notes` why it was not the target's own runtime, where that refused.
    """

    def __init__(self, result: Module, engine: str, own: OwnRuntime | None = None, written: Module | None = None) -> None:
        self.result, self.engine, self.own = result, engine, own
        self.ran = written if written is not None else result
        """The module that an engine runs."""
        self.used = ""
        self.notes: list[str] = []
        self._execute: Any = None
        self._refused: RunError | None = None

    def __call__(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The result's outputs, without its states. `ArtifactError` where the target's own runtime finds the artifact wrong."""
        # The source keeps its state itself, and starts from the same: what becomes of it is behind the outputs.
        # A source that says its state has it among what is given.
        names = input_names(self.result.main)
        fed = dict(zip(names, [*given.values(), *initial_states(self.result).values()][: len(names)], strict=True))
        if self.own is not None:
            self.used = self.own.title or f"{self.own.target}'s own runtime"
            try:
                return self._outputs(dict(self.own.run(fed)))
            except ArtifactError:
                raise
            except RunError as error:
                why = self.own.told(error)
                said = self.own.refusal
                self.notes.append(f"{said}; an engine ran the module instead: {why}")
                kind = MissingKernel if isinstance(error, MissingKernel) else RunError
                self._refused = kind(f"{said}: {why}")
                self.own = None
        if self._execute is None:
            self._execute = self._prepared()
        self.used = self.engine
        with begun_anew():  # as the source does
            actual = self._outputs(self._execute(dict(zip(input_names(self.ran.main), fed.values(), strict=True)), False))
        choice = getattr(self._execute, "choice", None)
        self.used = f"{choice.engine} ({choice.why})" if choice is not None else self.engine
        return actual if self.ran is self.result else dict(zip(output_names(self.result.main), actual.values(), strict=False))

    def alone(self, given: Mapping[str, np.ndarray]) -> None:
        """Run the result, and judge nothing. `RunError` where it runs by no numbers (`refusal_of_all`): it is broken, whoever
        could have said what it has to give."""
        with suppress(TimeOver, MemoryError, ChildEnded, MissingKernel), timed("seconds"):
            refused = refusal_of_all(lambda inputs: Running(self.result, self.engine, self.own, self.ran)(inputs), given)
            if refused is not None:
                raise refused

    def _prepared(self) -> Any:
        """The module in the engine. Where only the target's runtime runs its dialect, what that refused is the reason."""
        try:
            return host().engine(self.engine)(self.ran, "main")
        except RunError:
            if self._refused is None:
                raise
            raise self._refused from None
        except ConversionError as error:  # who converted the model did so: it is the engine that was asked for
            why = f"engine {self.engine!r} cannot run the result: {error.message}"
            raise UsageError(why, hint="leave --engine out") from None

    def _outputs(self, actual: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(islice(actual.items(), len(actual) - len(self.result.states)))

    @property
    def engine_notes(self) -> tuple[str, ...]:
        """What the engine says of the numbers that it gives."""
        return tuple(getattr(self._execute, "notes", ()))


def refusal_of_all(run: Callable[[Mapping[str, np.ndarray]], Any], given: Mapping[str, np.ndarray]) -> RunError | None:
    """Why what runs inputs takes none: not these numbers, nor zeros, which are in the range of every subscript, nor ones, which
    divide. None where it takes some; `ArtifactError` and `OtherShape`, of what ran, as they come."""
    refused: RunError | None = None
    for fill in (np.asarray, np.zeros_like, np.ones_like):
        try:
            run({name: fill(array) for name, array in given.items()})
            return None
        except (ArtifactError, MissingKernel, OtherShape):
            raise
        except RunError as error:
            refused = error
    return refused

"""A conversion's result made ready to run: by the target's own runtime, or by an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ..errors import RunError
from ..ir import Module, initial_states, input_names
from ..plugin import resolve
from ..plugin_host import host

__all__ = ["OwnRuntime", "Running"]


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


class Running:
    """Runs a result on the model's inputs, given in the model's order: `own` where there is one, else the engine.

    `used` says what ran it, `notes` why it was not the target's own runtime, where that refused.
    """

    def __init__(self, result: Module, engine: str, own: OwnRuntime | None = None) -> None:
        self.result, self.engine, self.own = result, engine, own
        self.used = ""
        self.notes: list[str] = []
        self._execute: Any = None

    def __call__(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The result's outputs, without its states."""
        # The source keeps its state itself, and starts from the same: what becomes of it is behind the outputs.
        fed = dict(zip(
            input_names(self.result.main), (*given.values(), *initial_states(self.result).values()), strict=True))
        if self.own is not None:
            self.used = self.own.title or f"{self.own.target}'s own runtime"
            try:
                return self._outputs(dict(self.own.run(fed)))
            except RunError as error:
                self.notes.append(f"{self.used} cannot run the artifact, an engine ran the module instead: {error.message}")
                self.own = None
        if self._execute is None:
            self._execute = resolve(host().get("engines", self.engine).prepare)(self.result, "main")
        self.used = self.engine
        actual = self._execute(fed, False)
        choice = getattr(self._execute, "choice", None)
        self.used = f"{choice.engine} ({choice.why})" if choice is not None else self.engine
        return self._outputs(actual)

    def _outputs(self, actual: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(islice(actual.items(), len(actual) - len(self.result.states)))

    @property
    def engine_notes(self) -> tuple[str, ...]:
        """What the engine says of the numbers that it gives."""
        return tuple(getattr(self._execute, "notes", ()))

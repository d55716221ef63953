"""Running what a conversion wrote in parts: each in its place, one after the other, tensors handed on by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .api import load, run
from .emission import readable_suffixes
from .errors import ReadError, RunError
from .ir import Module, TensorType, dtype_of
from .partitioning import TARGET
from .plugin import Emitted, EmittedPart, Target
from .verification.running import OwnRuntime

if TYPE_CHECKING:
    from .ir import Value

__all__ = ["Parts", "own_runtime", "program_among"]


def program_among(files: Sequence[Path]) -> Path | None:
    """The first of some files that a reader takes; None where none does."""
    readable = readable_suffixes()
    return next((file for file in files if file.name.lower().endswith(readable)), None)


@dataclass
class Parts:
    """The parts of an artifact, and which tensor each output of the model is.

    The target's are run by `target.run` where it has one, and else, as the host's, from a file of the part that a reader takes.
    Raises `ReadError` where a part has none.
    """

    target: Target | None
    parts: Sequence[EmittedPart]
    outputs: Mapping[str, str]
    programs: list[Module | None] = field(init=False)

    def __post_init__(self) -> None:
        files = [program_among(part.files) for part in self.parts]
        for part, file in zip(self.parts, files, strict=True):
            if file is None and not self._is_own(part):
                raise ReadError(
                    f"part {', '.join(file.name for file in part.files) or 'without files'} holds nothing that can be run here")
        self.programs = [load(file) if file is not None else None for file in files]

    @property
    def is_own(self) -> bool:
        """Whether the target's own runtime runs its parts."""
        return any(map(self._is_own, self.parts))

    def _is_own(self, part: EmittedPart) -> bool:
        return part.place == TARGET and self.target is not None and getattr(self.target, "run", None) is not None

    def run(
        self, inputs: Mapping[str, Any], *, engine: str = "auto", keep: bool = False,
        watch: Callable[[Value, np.ndarray], None] | None = None, own: bool = True,
    ) -> dict[str, np.ndarray]:
        """The outputs of the model by name, in order; with `keep`, every named tensor that the parts know, before them.

        The target's own runtime is left aside without `own` where there is a file to run in its place.
        """
        values: dict[str, np.ndarray] = dict(inputs)
        for part, program in zip(self.parts, self.programs, strict=True):
            missing = [name for name in part.inputs if name not in values]
            if missing:
                raise RunError(f"a part takes {', '.join(missing)}, which no part before it gives")
            given = {name: values[name] for name in part.inputs}
            if program is None or (own and self._is_own(part)):
                more = {"keep": True} if keep and getattr(self.target, "keeps", False) else {}
                found = self.target.run(Emitted(part.files, part.report), given, **more)  # type: ignore[union-attr,misc]
            else:
                found = run(program, _as_taken(program, given), engine=engine, keep=keep, watch=watch)
            absent = [name for name in part.outputs if name not in found]
            if absent:
                raise RunError(f"a part did not give {', '.join(absent)}, but {', '.join(found) or 'nothing'}")
            values.update(found)
        named = {name: values[wire] for name, wire in self.outputs.items()}
        inside = {name: array for name, array in values.items() if keep and name not in inputs and name not in named}
        return {**inside, **named}


def own_runtime(target: Target, emitted: Emitted, engine: str) -> OwnRuntime | None:
    """What runs an artifact as it was written, for verification: the target itself, or all parts of it in turn.

    None where it has one part and the target no runtime, or where a part is in no file that can be run here.
    """
    run_it = getattr(target, "run", None)
    said: dict[str, Any] = {
        "rounds_alone": getattr(target, "rounds_alone", False), "tolerance": tuple(getattr(target, "tolerance", ()))}
    if not emitted.parts:
        return OwnRuntime(target.name, partial(run_it, emitted), **said) if run_it is not None else None
    try:
        parts = Parts(target, emitted.parts, emitted.outputs)
    except ReadError:
        return None
    by = f"{target.name}'s own runtime, and an engine for the host" if parts.is_own else f"engine {engine}"
    title = f"{len(parts.parts)} parts in turn, by {by}"
    return OwnRuntime(target.name, partial(parts.run, engine=engine), title, **(said if parts.is_own else {}))


def _as_taken(program: Module, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays as a program takes them: bytes that another part gave as signed may be unsigned here, and are the same bytes."""
    taken = {}
    for (name, array), type_ in zip(given.items(), program.inputs.values(), strict=True):
        wanted = dtype_of(type_.element) if isinstance(type_, TensorType) else None
        have = array.dtype if isinstance(array, np.ndarray) else None
        is_other_sign = wanted is not None and have is not None and have != wanted and (
            have.kind in "iu" and wanted.kind in "iu" and have.itemsize == wanted.itemsize)
        taken[name] = array.view(wanted) if is_other_sign else array
    return dict(zip(program.inputs, taken.values(), strict=True))

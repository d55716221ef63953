"""What choices of types cost on samples, measured here or by workers, once each, and noted in a file where one is named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transload.apart import written_again
from transload.errors import ReadError, TransloadError, UsageError
from transload.files import exists, need_file, reason_of
from transload.ir import Module
from transload.scale import Crew
from transload.text import parse_module, print_module

from ..observe import observed
from ..quantize import types_of
from ..scheme import SCHEMES, Scheme
from ..thresholds import Range
from .promise import Quality
from .simulating import MixedSimulation
from .spending import Assignment, Units

__all__ = ["Measured", "Measuring", "Notes", "Simulated", "key_of"]

Sample = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """What was found of one choice of types."""

    loss: float
    """The noise of the outputs relative to what they are."""
    rows: tuple[tuple[Any, ...], ...]
    """Of each quality that is promised what was measured, sample by sample."""


def key_of(assignment: Assignment) -> str:
    """The same for the same choice."""
    return json.dumps(sorted(assignment.items()))


class Simulated:
    """In a worker: the simulation of a model, and samples; calling it measures one choice of types."""

    def __init__(
        self, module: bytes | Module, scheme: str, ranges: Mapping[str, Sequence[float]], weights: Mapping[str, np.ndarray],
        shifts: Mapping[str, np.ndarray], samples: Sequence[Sample], labels: Sequence[Any], qualities: Sequence[Sequence[Any]],
    ) -> None:
        """`weights` and `shifts` are by the name of what their op computes; qualities are their fields."""
        held = module if isinstance(module, Module) else parse_module(bytes(module))
        units, named = Units(held), observed(held)
        kind: Scheme = SCHEMES[scheme]
        kept: dict[str, Range] = {name: (low, high) for name, (low, high) in ranges.items()}
        rounded, moved = (
            {named[name]: np.asarray(array) for name, array in each.items()} for each in (weights, shifts))
        self._simulation = MixedSimulation(
            units, kind, rounded, moved,
            types_of(kind, units.groups, named, kept), types_of(kind, units.groups, named, kept, list(named)))
        self._samples, self._labels = samples, labels
        self._qualities = [Quality(*fields) for fields in qualities]
        self._exact = self._simulation.references(samples)

    def __call__(self, assignment: Assignment) -> dict[str, Any]:
        given = list(self._simulation.given(assignment, self._samples))
        outputs, exact = (list(map(self._simulation.named_outputs, each)) for each in (given, self._exact))
        rows = [
            [quality.measure(*each) for each in zip(outputs, self._labels, exact, strict=True)] for quality in self._qualities]
        return {"loss": self._simulation.loss(given, self._exact), "rows": rows}


class Notes:
    """What was measured so far, by key; with a file, read from it and written to it line by line.

    Raises `ReadError` for a file that is none such, `UsageError` for one of another search.
    """

    def __init__(self, file: Path | None, about: str) -> None:
        self.found: dict[str, Any] = {}
        self._file = file
        if file is None:
            return
        if not exists(file):
            self._write({"search": about})
            return
        with written_again():
            need_file(file)
        try:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            head = json.loads(lines[0])["search"] if lines else about
            whole = [json.loads(line) for line in lines[1:] if line.endswith("\n")]  # a kill may have cut the last one
            self.found = {entry["key"]: entry["found"] for entry in whole if entry["sum"] == _sum(entry["key"], entry["found"])}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ReadError(f"{file}: is not what a search saved: {error}", hint="name a file that is not there yet") from None
        if head != about:
            raise UsageError(f"{file} was saved by a search of another model, other samples or another promise",
                             hint="name a file that is not there yet")
        if lines and not lines[-1].endswith("\n"):
            self._rewrite(about)

    def add(self, key: str, found: Any) -> None:
        self.found[key] = found
        self._write(self._line(key))

    def _line(self, key: str) -> dict[str, Any]:
        return {"key": key, "found": self.found[key], "sum": _sum(key, self.found[key])}

    def _rewrite(self, about: str) -> None:
        assert self._file is not None
        lines = [{"search": about}, *map(self._line, self.found)]
        with _told_of(self._file):
            self._file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file is not None:
            with _told_of(self._file), self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")


@contextmanager
def _told_of(file: Path) -> Iterator[None]:
    """`TransloadError`, with the file's name, where it cannot be written."""
    try:
        yield
    except OSError as error:
        raise TransloadError(f"cannot write {file}: {reason_of(error, file)}",
                             hint="what was written stays, and the search goes on from there") from None


def _sum(key: str, found: Any) -> str:
    return hashlib.blake2b(f"{key} {json.dumps(found)}".encode(), digest_size=8).hexdigest()


class Measuring:
    """Measures choices of types by the simulation, each once: here, or by the workers of a crew."""

    def __init__(self, given: Sequence[Any], notes: Notes, workers: int | None = None, scheduler: Any = None) -> None:
        """`given` is what `Simulated` takes, with a module at first; it is made when there is something to measure."""
        self._given, self._notes = list(given), notes
        self._local: Callable[[Assignment], dict[str, Any]] | None = None
        self._open = ExitStack()
        self._crew: Crew | None = None
        self.count = 0
        """Measurements so far, those that were noted before with them."""
        if workers is not None or scheduler is not None:
            self._crew = self._open.enter_context(Crew(workers, scheduler))

    def __enter__(self) -> Measuring:
        return self

    def __exit__(self, *raised: object) -> None:
        self._open.close()

    def __call__(self, assignment: Assignment) -> Measured:
        return self.all([assignment])[0]

    def all(self, assignments: Iterable[Assignment]) -> list[Measured]:
        """What was found of each; a crew measures them side by side."""
        wanted = list(assignments)
        self.count += len(wanted)
        new = {key: each for each in wanted if (key := key_of(each)) not in self._notes.found}
        if self._crew is not None and new:
            module, *others = self._given
            text = print_module(module, constants="resource").encode()
            for number, answer in self._crew.called(f"{__name__}:Simulated", [text, *others], [(each,) for each in new.values()]):
                if isinstance(answer, TransloadError):
                    raise answer
                self._notes.add(list(new)[number], answer)
        for key, each in new.items():
            if key not in self._notes.found:
                self._local = self._local or Simulated(*self._given)
                self._notes.add(key, self._local(each))
        return [Measured(found["loss"], tuple(map(tuple, found["rows"])))
                for found in (self._notes.found[key_of(each)] for each in wanted)]

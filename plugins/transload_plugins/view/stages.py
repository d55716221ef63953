"""Running a model's journey and keeping what it is like at every stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transload.apart import note_read
from transload.api import load, loaded
from transload.artifact_set import REPORT
from transload.chosen_target import target_options, usable_target
from transload.contents import main_dialect
from transload.emission import check_for, emit_for, left_to_host
from transload.errors import TransloadError, UsageError, no_memory
from transload.files import is_file, is_folder
from transload.ir import Module
from transload.journey import HUB, PIPELINE, QUANTIZE, READ, Journey, Observer, Stage
from transload.json_text import of_json_text, plain
from transload.passes.steps import PassRecord, Step
from transload.plugin import Target
from transload.quantization import Quantization
from transload.report import error_report
from transload.scratch import ScratchFolder
from transload.trace import Link, trace_links
from transload.written import written_at

from .constants import Constants
from .graph import Graph
from .lineage import Lineage

__all__ = ["Journeyed", "Seen", "journey_of", "opened", "plain_error", "standing"]

_REPORT_BYTES = 1 << 24
_TITLES = {READ: "as it was read", HUB: "simplified", QUANTIZE: "quantized", PIPELINE: "for the target"}


@dataclass
class Seen:
    """A stage as the page is told of it."""

    title: str
    dialect: str
    about: str
    seconds: float
    steps: list[list[Any]]
    """Of each pass that ran: its text, its seconds, and whether it changed anything."""
    graph: dict[str, Any]
    lineage: list[list[Any]]
    counts: dict[str, int]


@dataclass
class Journeyed:
    """What came of a model's journey."""

    stages: list[Seen] = field(default_factory=list)
    hub: Module | None = None
    """The model at the hub, when it is simplified."""
    floats: Module | None = None
    """The float form that the quantizer's module was made from."""
    quantized: Module | None = None
    target: str = ""
    target_report: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refusal: dict[str, Any] | None = None
    """Why the journey ended before its end, with every finding."""


class _Watching(Observer):
    """Keeps what every stage leaves: its ops, what they came from, and the module itself where it is compared later."""

    def __init__(self, journeyed: Journeyed, constants: Constants, lineage: Lineage, links: list[Link]) -> None:
        self.journeyed, self.constants, self.lineage, self.links = journeyed, constants, lineage, links
        self.before: Graph | None = None
        self.steps: list[list[Any]] = []

    def enters(self, stage: Stage) -> None:
        self.steps = []

    def ran(self, stage: Stage, step: Step, record: PassRecord, module: Module) -> None:
        self.steps.append([str(step)[:400], record.seconds, record.modified])

    def leaves(self, stage: Stage, module: Module | None, seconds: float) -> None:
        if module is None:
            return
        if stage.name == PIPELINE and not any(changed for _, _, changed in self.steps):
            return  # it is what it was
        graph = Graph(module, self.constants)
        lineage = [] if self.before is None else self.lineage.between(self.before, graph, self.links)
        self.links.clear()
        self.before = graph
        self.journeyed.stages.append(_seen(
            _TITLES.get(stage.name, stage.name), stage.about, module, graph, lineage, self.steps, seconds))
        if stage.name == QUANTIZE:
            self.journeyed.quantized = module.clone()
        elif stage.name == HUB:
            self.journeyed.hub = module.clone()


def _seen(
    title: str, about: str, module: Module, graph: Graph, lineage: list[list[Any]], steps: list[list[Any]], seconds: float,
) -> Seen:
    counts = Counter(op.name for op in graph.ops)
    dialects = Counter(op.dialect for op in graph.ops)
    dialect = dialects.most_common(1)[0][0] if dialects else main_dialect(module)
    return Seen(title, dialect, about, seconds, steps, graph.plain(), lineage, dict(counts.most_common()))


def standing(module: Module, title: str, constants: Constants) -> Seen:
    """A module that is looked at as it is."""
    return _seen(title, "", module, Graph(module, constants), [], [], 0.0)


def journey_of(
    module: Module, target: str | None, constants: Constants, lineage: Lineage, *, options: Mapping[str, Any],
    quantization: Quantization | None = None, passes: str = "",
) -> Journeyed:
    """Take a module that was read to a target, in place, and keep every stage. What it refuses is in the result.

    Raises `UsageError` for a target or an option that there is not.
    """
    chosen = usable_target(target)
    settings = target_options(chosen, options)
    made = Journeyed(target=chosen.name)

    def quantize(given: Module) -> Module:
        """The quantizer's module; what it was made from goes when it takes that one's place, so that is kept apart."""
        assert quantization is not None
        module = quantization(given)
        if quantization.made is not None:
            made.floats = quantization.made.source.clone()
        return module

    quantizing = None if quantization is None else Stage(QUANTIZE, about=quantization.about, act=quantize)
    with trace_links() as links:
        watching = _Watching(made, constants, lineage, links)
        watching.leaves(Stage(READ, about=str(module.source_format or "")), module, 0.0)
        journey = Journey(
            chosen.accepts, options, passes=passes, target=chosen, settings=settings, quantize=quantizing, observers=[watching])
        try:
            journey.run(module)
            if target is not None:
                made.target_report = _emitted(chosen, module, settings, made)
        except UsageError:
            raise
        except MemoryError as error:  # what the target is given does not fit, where all before it did
            made.refusal = plain_error(no_memory(error))
        except TransloadError as error:
            made.refusal = plain_error(error)
    made.notes = [*map(str, module.notes), *made.notes]
    return made


def _emitted(target: Target, module: Module, settings: Mapping[str, Any], made: Journeyed) -> dict[str, Any]:
    """What a target says of what it writes: cycles, memory, what ran where. The files go again."""
    cut = check_for(target, module, settings)
    if cut is not None:
        made.notes.append(left_to_host(target, cut, module))
    with ScratchFolder() as folder:
        emitted = emit_for(target, module, cut, folder, "model", settings)
    parts = [{"place": part.place, **part.report} for part in emitted.parts if part.report]
    return {**emitted.report, **({"parts": parts} if parts else {})}


def plain_error(error: TransloadError) -> dict[str, Any]:
    """An error with all that it found, as JSON has it."""
    told: dict[str, Any] = plain(error_report(error))
    return told


def opened(path: Path, alone: bool = False, **how: Any) -> tuple[Module, dict[str, Any] | None, bool]:
    """The module at a path, the report of the conversion that wrote it, where one did, and whether it is an artifact.

    `how` is as in `transload.load`; an artifact that is looked at `alone` has to be of it. Raises `ReadError` for what is neither
    a model nor what `convert` wrote.
    """
    report = _report_of(path)
    written = written_at(path) if how.get("format") is None else None
    if written is not None:
        if alone:
            written.need_unasked(path, how.get("inputs"), how.get("function"), how.get("weights"))
        return loaded(written.module, "view", outputs=how.get("outputs", ()) if alone else ()), report, True
    return load(path, **how), report, report is not None


def _report_of(path: Path) -> dict[str, Any] | None:
    """The report of the conversion that wrote a file, or a folder; None where none did."""
    file = (path if is_folder(path) else path.parent) / REPORT
    if not is_file(file) or file.stat().st_size > _REPORT_BYTES:
        return None
    try:
        found = of_json_text(file.read_text(encoding="utf-8"))
        note_read(file)
        mine = isinstance(found, dict) and (is_folder(path) or path.name == REPORT or path.name in found["files"])
        return found if mine else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None

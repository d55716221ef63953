"""What a conversion wrote, opened again: its folder, its report, or a file in it that no reader takes.

A folder of artifacts says by its report which target they are for. Where that target has a runtime of its own (`Target.run`), the
artifact runs on that; where it has none, the file beside it that our engines can run stands for it, which is said. One in parts,
for target and host, runs as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .apart import note_read
from .api import load_artifact, run
from .artifact_set import IMAGES, REPORT
from .emission import is_program, program_among, readable_suffixes
from .engine.memory import machine_bytes
from .engine.run import fitted
from .errors import ArtifactError, ReadError, RunError, TransloadError, UsageError
from .files import is_file, is_folder
from .given import ONLY, by_own_names
from .input_shapes import SizesMissing, no_input, sizes_said
from .ir import (
    NONE,
    Dense,
    Module,
    Op,
    QuantType,
    State,
    TensorType,
    Type,
    Value,
    asked_inputs,
    dtype_of,
    initial_states,
    new_module,
    set_results,
)
from .ir.borders import name_borders
from .partitioning import TARGET
from .parts import Parts, by_target, runner_of, why_not_here
from .plugin import Emitted, EmittedPart
from .plugin_host import host
from .reported import need_as_written, relied_on, report_in
from .shell import quoted
from .sizes_of_data import sizes_from
from .sizes_text import sizes_text
from .text import parse_type

__all__ = ["Written", "opened_at", "with_batch_of", "with_sizes_of", "written_at"]


@dataclass(frozen=True)
class Written:
    """An artifact: `module` is what our engines can run of it, `run` the target's own runtime or None, `notes` what to know.

    Of one in several parts, and of one that only its target's runtime runs, `module` has the inputs and outputs alone; of one in
    parts, `run(inputs, engine=, keep=, watch=, own=)` runs all of them.
    """

    module: Module
    run: Callable[..., dict[str, np.ndarray]] | None
    notes: tuple[str, str]
    """By whom it is run, and by whom where an engine is asked for, or tells of tensors: see `said`."""
    in_parts: bool = False
    keeps: bool = False
    """Whether `run` takes `keep=`: the artifact's own tensors can be seen, where it is run by the target's own runtime."""
    format: str = ""
    """What its files are, where `module` is none of them: the target's name."""
    target: str = ""
    """Whose runtime is the only one that runs it, where no reader takes a file of it; else empty."""

    def need_program(self) -> None:
        """Raise `UsageError` where only its target's runtime runs the artifact, to whom wants another, or to look into it."""
        if self.target:
            raise UsageError(
                f"only {self.target}'s own runtime runs this artifact, and it gives the outputs alone",
                hint="convert the model once more with --dump steps: its .mlir files are the model at every step, and can be run "
                     "and compared in its place")

    def said(self, engine: str = "auto", keep: bool = False, watched: bool = False) -> str:
        """By whom `execute` runs it when it is asked so."""
        return self.notes[0 if self._by_itself(engine, keep, watched) else 1]

    def _by_itself(self, engine: str, keep: bool, watched: bool) -> bool:
        return engine == "auto" and not watched and (not keep or self.keeps)

    def need_unasked(
        self, path: Path, inputs: Mapping[str, Any] | None = None, function: str | None = None, weights: Any = None,
        sizes: bool = True,
    ) -> None:
        """Raise `UsageError` for what `load` takes and an artifact cannot be given: it is of one function and of known sizes.

        `sizes` says whether those that `sizes_given` has can only be meant for it.
        """
        if function not in (None, "main"):
            raise UsageError(f"{path} is an artifact, and has no function {function!r}: it is one function of the model",
                             hint="convert the model once more with that function")
        if weights is not None:
            raise UsageError(f"{path} is an artifact, and holds its weights: others are not for it")
        has = self.module.inputs
        for name, wanted in by_own_names(inputs or {}, has).items():
            if name == ONLY:
                if len(only := [*asked_inputs(self.module)]) != 1:
                    continue  # of several, whoever takes the array asks which is meant
                name = only[0]
            if name not in has:
                raise no_input(name, has, str(path))
            for is_now, asked in _unlike(has[name], wanted):
                raise UsageError(f"{path} is an artifact, whose input {name!r} is {is_now}, and was to be {asked}",
                                 hint="convert the model once more with that")
        named, batch = sizes_said() if sizes else ({}, None)
        if named or batch is not None:
            said = ", ".join([*(f"{name}={size}" for name, size in named.items()), *([f"a batch of {batch}"] if batch else [])])
            raise UsageError(f"{path} is an artifact, whose sizes are known: {said} is of no effect",
                             hint="convert the model once more with these sizes")

    def runner(self, keep: bool = False) -> Callable[..., dict[str, np.ndarray]] | None:
        """What runs it, where it is to give its own tensors with `keep`; None where an engine does (`need_program`)."""
        if self.run is not None and (self.in_parts or self.keeps or not keep):
            return self.run
        self.need_program()
        return None

    def execute(
        self, given: Mapping[str, Any], engine: str = "auto", keep: bool = False,
        watch: Callable[[Value, np.ndarray], None] | None = None, tell: Callable[[str], None] | None = None,
    ) -> dict[str, np.ndarray]:
        """Its outputs by name, by the target's own runtime, or an engine: the one asked for, or one that tells of tensors."""
        given = {**initial_states(self.module), **given}
        own = self._by_itself(engine, keep, watch is not None)
        if self.run is not None and self.in_parts:
            return self.run(fitted(self.module.main, given), engine=engine, keep=keep, watch=watch, own=own)
        if self.run is not None and own:
            arrays = fitted(self.module.main, given)
            return self.run(arrays, keep=True) if keep else self.run(arrays)
        self.need_program()
        return run(self.module, given, engine=engine, keep=keep, watch=watch, tell=tell)


def _unlike(type_: Type, wanted: Any) -> Iterator[tuple[str, str]]:
    """In what an input is not what was asked for, a type or sizes: what it is, and what it was to be."""
    shape = getattr(wanted, "shape", wanted)
    if not isinstance(type_, TensorType):
        return
    if shape is not None and tuple(shape) != type_.shape:
        sizes = [sizes_text(each) for each in (type_.shape or (), shape)]
        yield sizes[0], sizes[1]
    element = wanted.element if isinstance(wanted, TensorType) else NONE
    stored = type_.element.storage if isinstance(type_.element, QuantType) else type_.element
    if element not in (NONE, type_.element, stored):
        yield str(stored), str(element)


def opened_at(path: Path, types: Mapping[str, Sequence[int] | TensorType] | None = None) -> tuple[Written | None, Module]:
    """What a target wrote there, if one did, and the module that is run: a file that leaves sizes open is read with `types`."""
    written = written_at(path)
    return written, written.module if written is not None else _with_sizes(path, types or {})


def _with_sizes(path: Path, types: Mapping[str, Sequence[int] | TensorType]) -> Module:
    try:
        module = load_artifact(path)
    except ReadError:
        if types:
            with suppress(TransloadError):  # it may have other inputs: what was missing is said
                return load_artifact(path, inputs=types)
        raise
    if any(name in types and list(_unlike(type_, types[name])) for name, type_ in module.inputs.items()):
        with suppress(TransloadError):  # what was made of a model takes its sizes alone
            return load_artifact(path, inputs=types)
    return module


def with_sizes_of(
    artifact: Callable[[], Module | None], types: Mapping[str, Sequence[int] | TensorType],
    read: Callable[[Mapping[str, Any]], Module],
) -> Module:
    """The model, read with the shapes that its artifact has of inputs of the same name where it leaves sizes open.

    The sizes of data (`sizes_from`) are asked for where the artifact says none.
    """
    try:
        with sizes_from():
            return read(types)
    except ReadError as error:
        try:
            made = artifact()
            known = made.inputs.items() if made is not None else ()
            sizes = {name: type_.static_shape for name, type_ in known if isinstance(type_, TensorType) and type_.is_static}
            if not sizes.keys() <= types.keys():
                return read({**sizes, **types})
        except TransloadError:
            pass  # the artifact is of something else, or none: what was missing is said
        if isinstance(error, SizesMissing):
            return read(types)
        raise


def with_batch_of(
    artifact: Module | None, types: Mapping[str, Sequence[int] | TensorType], read: Callable[[Mapping[str, Any]], Module],
) -> Module:
    """`with_sizes_of`, with the batch that the artifact was made for, too, where nobody says one and the model took another."""
    model = with_sizes_of(lambda: artifact, types, read)
    made = artifact.inputs if artifact is not None else {}
    sizes = {
        name: there.static_shape for name, own in model.inputs.items() if name not in types
        and isinstance(own, TensorType) and isinstance(there := made.get(name), TensorType) and own.is_static and there.is_static
        and own.static_shape[:1] != there.static_shape[:1] and own.static_shape[1:] == there.static_shape[1:]}
    with suppress(TransloadError):  # the artifact is of another model: what differs is said
        return read({**sizes, **types}) if sizes else model
    return model


def written_at(path: Path) -> Written | None:
    """The artifact at a path; None for a file that a reader takes, or that no report beside it lists.

    Raises `ReadError` where the report is there and nothing that it lists can be run, or a file is not what was written.
    """
    readable = is_file(path) and path.name.lower().endswith(readable_suffixes())
    if readable and all(is_program(path, name) for name in host().targets):
        return None
    for folder in (path,) if is_folder(path) else (path.parent, path.parent.parent):
        report = report_in(folder)
        if report is not None and (path in (folder, folder / REPORT) or path in [folder / name for name in report["files"]]):
            note_read(*relied_on(folder, report))
            return None if readable and is_program(path, report["target"]) else _opened(path, folder, report)
    return None


def _opened(path: Path, folder: Path, report: dict[str, Any]) -> Written:
    name, files = report["target"], [folder / name for name in report["files"]]
    if not files:
        raise ReadError(f"{path}: the conversion for {name!r} was refused, and nothing was written", hint=f"{REPORT} says why")
    program = program_among(files, name)
    needed = _needed(path, folder, report, program)
    need_as_written(path, folder, report, readable_suffixes(), needed)
    if report["partition"] is not None:
        return _in_parts(folder, report)
    emitted = Emitted(files, report["target_report"])
    target, why = runner_of(name, emitted)
    if target is not None and target.run is not None:
        module = _read(program, report) if program is not None else _borders_of(report)
        ready = partial(_by_itself, partial(by_target, target, emitted, module.outputs), program)
        return Written(module, ready, (f"run by {name}", f"{program} is run, not by {name}"),
                       keeps=getattr(target, "keeps", False), format="" if program else name,
                       target="" if program else name)
    if program is None:
        why = why or why_not_here(name)
        raise ReadError(f"{path}: was written for {name!r}, and holds nothing that can be run here" + f": {why}" * bool(why))
    if why:
        note = f"{program} is run, not by {name}: {why}"
    elif path.name == REPORT or is_folder(path):
        note = f"{program} is run"
    else:
        note = f"{path} is for {name}, which nothing here runs; {program} beside it is run"
    module = _read(program, report)
    if needed is not None:  # weights beside it, which are known once it is read
        beside = {file.resolve() for file in module.beside}  # readers say them as they opened them, through links or not
        with_it = [name for name in report["files"] if (folder / name).resolve() in beside]
        need_as_written(path, folder, report, readable_suffixes(), with_it)
    return Written(module, None, (note, note))


def _needed(path: Path, folder: Path, report: Mapping[str, Any], program: Path | None) -> list[str] | None:
    """The files, of those that a report lists, without which a path cannot be run; None for all of them.

    All are where the whole folder is named, where each part is run, and where the target's own runtime may open any. Else a file
    that is named by itself needs the program that is run for it, and what becomes of images before that.
    """
    if path.name == REPORT or is_folder(path) or report["partition"] is not None or runner_of(report["target"])[0] is not None:
        return None
    return [name for name in report["files"] if folder / name in (path, program, folder / IMAGES)]


def _by_itself(
    ready: Callable[..., dict[str, np.ndarray]], program: Path | None, *given: Any, **how: Any,
) -> dict[str, np.ndarray]:
    """What the target's own runtime gives; where that stops, as for want of a device, the error says what runs all the same."""
    try:
        return ready(*given, **how)
    except RunError as error:
        if program is not None and not error.hint and not isinstance(error, ArtifactError):
            error.hint = f"an engine of ours runs {quoted(program)}: give that in its place"
        raise


def _in_parts(folder: Path, report: dict[str, Any]) -> Written:
    """An artifact of several parts: all of them are run, whichever file was named."""
    cut = report["partition"]
    parts = [EmittedPart(each["place"], [folder / name for name in each["files"]], each["inputs"], each["outputs"],
                         each["target_report"], _written_for(each, report), each.get("types", {})) for each in cut["parts"]]
    borders = _borders_of(report)
    ready = Parts(parts, cut["outputs"], borders.outputs)
    by = [f"{name}'s by its own runtime" for name in ready.runners]
    if None in ready.targets:
        by.append(f"{'the others ' if by else 'all ' if len(parts) > 1 else ''}by an engine")
    programs = [target is None or program_among(each.files, each.target) is not None
                for each, target in zip(parts, ready.targets, strict=True)]
    alone = dict.fromkeys(each.target for each, has_one in zip(parts, programs, strict=True) if not has_one)
    kept = [f"{name}'s by its own runtime" for name in alone]
    asked = f"{', but' if any(programs) else ','} {', '.join(kept)}" if kept else ""
    run = "1 part is run" if len(parts) == 1 else f"{len(parts)} parts are run"
    return Written(borders, ready.run, (
        f"{run}, {', '.join(by)}", f"{run}{' by an engine' if any(programs) else ''}{asked}"),
        in_parts=True, format=report["target"])


def _written_for(part: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """The target that a part was written for; empty where that is none. Older reports do not say it of each part."""
    said = part["target"] if "target" in part else report["target"] if part["place"] == TARGET else None
    return said or ""


def _borders_of(report: Mapping[str, Any]) -> Module:
    """A module that takes and gives what the model does, with its states, and says nothing of how."""
    inputs, outputs = ([(each["name"], parse_type(each["type"])) for each in report[side]] for side in ("inputs", "outputs"))
    module = new_module()
    function = module.add_function("main", [type_ for _, type_ in inputs], [name for name, _ in inputs])
    block = function.regions[0].block
    artifact = block.append(Op("transload.artifact", block.arguments, [type_ for _, type_ in outputs]))
    set_results(function, artifact.results, [name for name, _ in outputs])
    return _with_states(module, report)


def _read(program: Path, report: dict[str, Any]) -> Module:
    """The program, read, by the names that the report has: a format may not hold two outputs that are one tensor by two."""
    module = load_artifact(program)
    inputs, outputs = ([each["name"] for each in report[side]] for side in ("inputs", "outputs"))
    if not module.states and len(inputs) == len(module.inputs) and len(outputs) == len(module.outputs):
        name_borders(module.main, inputs, outputs)
    return _with_states(module, report)


def _with_states(module: Module, report: Mapping[str, Any]) -> Module:
    """A module that knows of its states what the report says: files keep them as inputs and outputs like others."""
    if module.states or not report["states"]:
        return module
    inputs = {each["name"]: own for each, own in zip(report["inputs"], module.inputs, strict=False)}
    outputs = {each["name"]: own for each, own in zip(report["outputs"], module.outputs, strict=False)}
    module.states = tuple(
        State(taken, given, _initial(each.get("initial"), module.inputs[taken])) for each in report["states"]
        if (taken := inputs.get(each["input"])) is not None and (given := outputs.get(each["output"])) is not None)
    return module


def _initial(numbers: Any, type_: Type) -> Dense:
    """What a state is at first, of a report: one number for all elements, or all of them."""
    try:
        if not isinstance(type_, TensorType) or type_.num_elements * 16 > machine_bytes():
            raise ValueError(f"a state of type {type_}")
        if numbers is None:
            raise ValueError("nothing is there")
        return Dense(np.broadcast_to(np.asarray(numbers, dtype_of(type_.element)), type_.static_shape).copy())
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ReadError(f"{REPORT} does not say what a state is at first: {error}") from None

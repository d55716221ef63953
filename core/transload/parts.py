"""Running what a conversion wrote in parts: each in its place, one after the other, tensors handed on by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .api import engine_for, load_artifact, run, runnable
from .borders import note_borders
from .contents import dialects_in
from .emission import program_among
from .engine import choice
from .errors import ArtifactError, ConversionError, MissingKernel, ReadError, RunError, TransloadError, UsageError, VerifyError
from .files import is_file
from .guard import failure
from .ir import Module, TensorType, Type, dtype_of
from .options import settings_of
from .outcomes import in_order, other_shape, wrong_outputs
from .plugin import Emitted, EmittedPart, Target, unavailable
from .plugin_host import host
from .reported import need_files
from .verification.running import OwnRuntime
from .wires import as_type, same_bits, type_in

if TYPE_CHECKING:
    from .ir import Value

__all__ = ["Parts", "by_target", "own_runtime", "read_back", "runner_of"]


class Parts:
    """The parts of an artifact, and which tensor each output of the model is, and of which type, where that is known.

    Tensors are handed on as the numbers that they are: each part takes and gives them in the types that its own file has.

    A part is run by the target that it was written for, where that has a runtime and can be used here, else from a file of the
    part that a reader takes, by an engine. Raises `ReadError` where neither can be.
    """

    def __init__(
        self, parts: Sequence[EmittedPart], outputs: Mapping[str, str], types: Mapping[str, Type] | None = None,
    ) -> None:
        self.parts, self.outputs, self.types = list(parts), dict(outputs), types or {}
        self.targets = [runner_of(part.target, Emitted(part.files, part.report))[0] for part in self.parts]
        self._programs: dict[int, Module] = {}
        self._ready: dict[tuple[int, str, int], Any] = {}
        for index, (part, target) in enumerate(zip(self.parts, self.targets, strict=True)):
            if target is None:
                self._program(index)
                continue
            missing = [file.name for file in part.files if not file.is_file()]
            if missing:
                raise ReadError(f"{_called(index, part)} has no {missing[0]}", hint="copy the whole folder of the conversion")

    @property
    def runners(self) -> list[str]:
        """The targets whose runtimes run parts, each once, in order."""
        return list(dict.fromkeys(target.name for target in self.targets if target is not None))

    def _program(self, index: int, needed: bool = True) -> Module | None:
        """What an engine can run of a part; `ReadError`, or None where that is not `needed`, where there is nothing."""
        if index not in self._programs:
            part = self.parts[index]
            file = program_among(part.files, part.target)
            if file is None and needed:
                raise ReadError(
                    f"part {', '.join(file.name for file in part.files) or 'without files'} holds nothing that can be run here")
            if file is None:
                return None
            self._programs[index] = load_artifact(file)
        return self._programs[index]

    def run(
        self, inputs: Mapping[str, Any], *, engine: str = "auto", keep: bool = False,
        watch: Callable[[Value, np.ndarray], None] | None = None, own: bool = True, runs: int = 1,
    ) -> dict[str, np.ndarray]:
        """The outputs of the model by name, in order; with `keep`, every named tensor that the parts know, before them.

        Engines are made ready once, for about so many `runs`. Without `own`, runtimes of targets are left aside where there
        is a file to run in their place; where there is none, an engine that is asked for by name is a `UsageError`. What a
        runtime does not tell with `keep` is computed by an engine, of what the part was given, where there is such a file.
        """
        values: dict[str, np.ndarray] = dict(inputs)
        inside: dict[str, np.ndarray] = {}
        for index, part in enumerate(self.parts):
            given = {name: _typed(values, name, index, part) for name in part.inputs}
            target = self.targets[index]
            program = self._program(index, needed=False) if target is None or not own else None
            if program is not None:
                taken = _as_taken(program, given, index, part)
                found = (run(program, taken, engine=engine, keep=keep, watch=watch) if watch is not None
                         else self._execute(index, program, engine, runs)(taken, keep))
            elif not own and engine != "auto":
                raise UsageError(f"{_called(index, part)} is in no file that engine {engine!r} runs", hint="leave --engine out")
            else:
                found = self._run_by_target(index, given, keep)
            given_back = _given_back(found, index, part)
            values.update({name: given_back[name] for name in part.outputs})
            inside.update(given_back if keep else {})
        missing = [wire for wire in self.outputs.values() if wire not in values]
        if missing:
            raise ArtifactError(f"no part gives {', '.join(missing)}, which the model gives")
        named = {name: as_type(values[wire], self.types.get(name), f"the model gives {name}")
                 for name, wire in self.outputs.items()}
        return {**{name: array for name, array in inside.items() if name not in inputs and name not in named}, **named}

    def _execute(self, index: int, program: Module, engine: str, runs: int) -> Any:
        """What runs a part by an engine: `execute(inputs, keep)`."""
        key = index, engine, runs
        if key not in self._ready:
            ready = runnable(program)
            self._ready[key] = choice.prepare(ready, runs=runs) if engine == "auto" else engine_for(engine)(ready, "main")
        return self._ready[key]

    def _run_by_target(self, index: int, given: Mapping[str, Any], keep: bool) -> dict[str, np.ndarray]:
        part, target = self.parts[index], self.targets[index]
        assert target is not None  # whose part it is
        emitted, types = Emitted(part.files, part.report), _types_of(part)
        if keep and getattr(target, "keeps", False):
            return by_target(target, emitted, types, given, keep=True)
        found = by_target(target, emitted, types, given)
        if keep and (program := self._program(index, needed=False)) is not None:
            with suppress(RunError):  # what it cannot tell stays untold
                return {**run(program, _as_taken(program, given, index, part), engine="reference", keep=True), **found}
        return found


def by_target(
    target: Target, emitted: Emitted, types: Mapping[str, Type | None], given: Mapping[str, Any], keep: bool = False,
) -> dict[str, np.ndarray]:
    """What a target's own runtime gives of what it wrote: outputs of these names, in order; with `keep`, others before them.

    `PluginFailure` where it gives others, or numbers of another kind than the types have, where they are known; `ArtifactError`
    where they are of another shape, as a file may say that contradicts itself; `MissingKernel` where it says that it cannot run
    here, or not this artifact.
    """
    need_files(emitted.files)
    if (why := _not_here(target, emitted)) is not None:
        raise MissingKernel(why)
    before = [_state_of(file) for file in emitted.files]
    found: Mapping[str, Any] = target.run(emitted, given, **({"keep": True} if keep else {}))  # type: ignore[misc]
    wrong = wrong_outputs(found, types, keep)
    removed = next((file.name for file in emitted.files if not is_file(file)), None)
    if removed is not None:
        wrong = f"removes {removed}, which the conversion wrote"
    elif changed := [file.name for file, state in zip(emitted.files, before, strict=True) if _state_of(file) != state]:
        wrong = f"writes into {changed[0]}, which the conversion wrote"
    if wrong is not None:
        raise failure(host().owner("targets", target.name), f"target {target.name!r}.run()", TypeError(wrong))
    if (otherwise := wrong_outputs(found, types, keep, other_shape)) is not None:
        owner = host().owner("targets", target.name)
        whose = f" ({owner})" if owner is not None and not owner.is_ours else ""
        raise ArtifactError(f"{target.name}'s own runtime{whose} {otherwise}",
                            hint="the sizes in the model's file contradict its operators, or the target or its runtime is wrong")
    return in_order(found, types)


def _state_of(file: Path) -> tuple[int, int, int]:
    """What changes of a file that is written anew or into."""
    found = file.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _types_of(part: EmittedPart) -> dict[str, Type | None]:
    """What a part gives, by name; None where a type is not said."""
    return {name: type_in(part, name) for name in part.outputs}


def runner_of(name: str, emitted: Emitted | None = None) -> tuple[Target | None, str]:
    """A target that runs here what was written for it, or None; and why it does not run this artifact, where others run here."""
    target = host().targets.get(name)
    if target is None or getattr(target, "run", None) is None or _not_here(target) is not None:
        return None, ""
    why = _not_here(target, emitted)
    return (target, "") if why is None else (None, why)


def why_not_here(name: str) -> str:
    """Why the runtime of the target of that name cannot be used here; nothing where it can, or there is none."""
    target = host().targets.get(name)
    return "" if target is None or getattr(target, "run", None) is None else _not_here(target) or ""


def _not_here(target: Target, emitted: Emitted | None = None) -> str | None:
    """Why a target's runtime cannot be used here, or, of an artifact, why it does not run that; None where it runs."""
    why = unavailable(getattr(target, "runs_here", target.available))
    asked = getattr(target, "cannot_run", None) if emitted is not None else None
    return why if why is not None or asked is None else unavailable(partial(asked, emitted))


def _called(index: int, part: EmittedPart) -> str:
    return f"part {index + 1} ({part.target or part.place})"


def own_runtime(
    target: Target, emitted: Emitted, engine: str, module: Module, settings: Mapping[str, Any] | None = None,
) -> OwnRuntime | None:
    """What runs an artifact as it was written of a `module`, for verification: the target itself, or all parts of it in turn.

    `settings` are the target's options, as they were for this artifact.

    None where it has one part and the target no runtime, or where a part is in no file that can be run here. An `engine` that is
    asked for by name runs all that it can, whatever runtimes there are, as in `run` and `evaluate`.
    """
    if not emitted.parts:
        return None if getattr(target, "run", None) is None or engine != "auto" else OwnRuntime(
            target.name, partial(by_target, target, emitted, module.outputs), files=tuple(emitted.files),
            **_said([target], module, {target.name: settings}))
    try:
        parts = Parts(emitted.parts, emitted.outputs, module.outputs)
    except (ReadError, VerifyError):  # `read_back` says why
        return None
    by = [f"{name}'s own runtime" for name in parts.runners if engine == "auto"]
    if None in parts.targets or engine != "auto":
        by.append(f"engine {engine}")
    title = f"{'1 part' if len(parts.parts) == 1 else f'{len(parts.parts)} parts in turn'}, by {' and '.join(by)}"
    runners = [host().targets[name] for name in parts.runners]
    return OwnRuntime(
        target.name, partial(parts.run, engine=engine, own=engine == "auto"), title,
        **_said(runners, settings={target.name: settings}))


def read_back(target: Target, emitted: Emitted, module: Module, engine: str = "auto") -> tuple[Module | None, str]:
    """What a target wrote of a module, as a reader has it, so that the writer is judged with the conversion.

    None where no reader takes it, it is in parts, or what it reads is of another dialect; with a note where our own reader
    refuses it, or a part. Where an `engine` was asked for in place of a runtime that the target has, it is what that can run, of
    whatever dialect; `UsageError` where only the target's runtime runs the module.
    """
    stands_in = engine != "auto" and not emitted.parts and getattr(target, "run", None) is not None
    written, note = _as_read(target, emitted, module, of_any_dialect=stands_in)
    if not stands_in:
        return written, note
    try:
        return runnable(written if written is not None else module), note
    except ConversionError:
        raise UsageError(f"only {target.name}'s own runtime runs this artifact, and not engine {engine!r}",
                         hint="leave --engine out") from None


def _as_read(target: Target, emitted: Emitted, module: Module, of_any_dialect: bool) -> tuple[Module | None, str]:
    """`read_back`, of the ops that the reader gives, which may be of another dialect than the module's where that is said."""
    if emitted.parts:
        return None, _unread(emitted)
    file = program_among(emitted.files, target.name)
    if file is None:
        return None, ""
    try:
        written = load_artifact(file)
    except (ReadError, VerifyError) as error:
        return None, _unreadable(file.name, file, error)
    is_other = set(dialects_in(written)) != set(dialects_in(module)) and not of_any_dialect
    if is_other or len(written.inputs) != len(module.inputs):
        return None, ""
    note_borders(written, module)
    return written, ""


def _unread(emitted: Emitted) -> str:
    """Why a part that an engine is to run cannot be read, for a note; empty where all can, or are in no file that can be."""
    for index, part in enumerate(emitted.parts):
        file = program_among(part.files, part.target)
        if file is None or runner_of(part.target, Emitted(part.files, part.report))[0] is not None:
            continue
        try:
            load_artifact(file)
        except (ReadError, VerifyError) as error:
            return _unreadable(_called(index, part), file, error)
    return ""


def _unreadable(called: str, file: Path, error: TransloadError) -> str:
    """That our own reader refuses a file. Of where it lies only its name is said: it is moved to its place after that."""
    why = error.message.replace(str(file), file.name)
    return f"{called} cannot be read back, and the module that it was made of is right: {why}"


def _said(
    targets: Sequence[Target], module: Module | None = None, settings: Mapping[str, Mapping[str, Any] | None] | None = None,
) -> dict[str, Any]:
    """What targets say of the numbers that their runtimes give, together; `settings` are their options, where known."""
    alone = [getattr(each, "rounds_alone", False) for each in targets]
    return {
        "rounds_alone": any(module is not None and each(module) if callable(each) else each for each in alone),
        "tolerance": tuple(limit for each in targets for limit in _near_enough(each, (settings or {}).get(each.name)))}


def _near_enough(target: Target, settings: Mapping[str, Any] | None) -> Sequence[str]:
    """What a target says is near enough, with its options as they are where nobody says."""
    near = getattr(target, "near_enough", None)
    if near is None:
        return getattr(target, "tolerance", ())
    said: Sequence[str] = near(settings_of(target.options(), {}) if settings is None else settings)
    return said


def _typed(values: Mapping[str, Any], name: str, index: int, part: EmittedPart) -> Any:
    """A tensor that a part takes, as its type says it; `ArtifactError` where nobody gave it, or it is another one."""
    if name not in values:
        raise ArtifactError(f"{_called(index, part)} takes {name}, which is no input and no part before it gives")
    return as_type(values[name], type_in(part, name), f"{_called(index, part)} takes {name}")


def _given_back(found: Mapping[str, Any], index: int, part: EmittedPart) -> dict[str, Any]:
    """What a part gave, by the names that the others know; `ArtifactError` where that is not what it is to give."""
    made = dict(found)
    absent = [name for name in part.outputs if name not in made]
    if absent and len(made) == len(part.outputs):  # a runtime with names of its own gives them in order
        made, absent = dict(zip(part.outputs, made.values(), strict=True)), []
    if absent:
        raise ArtifactError(f"{_called(index, part)} did not give {', '.join(absent)}, but {', '.join(made) or 'nothing'}")
    said = f"{_called(index, part)} gives"
    return {**made, **{name: as_type(made[name], type_in(part, name), f"{said} {name}") for name in part.outputs}}


def _as_taken(program: Module, given: Mapping[str, Any], index: int, part: EmittedPart) -> dict[str, Any]:
    """Arrays as a program takes them: bytes that another part gave as signed may be unsigned here, and are the same bytes."""
    if len(program.inputs) != len(given):
        raise RunError(f"{_called(index, part)} takes {len(given)} tensors, and its file {len(program.inputs)}")
    taken = {}
    for (name, array), type_ in zip(given.items(), program.inputs.values(), strict=True):
        wanted = dtype_of(type_.element) if isinstance(type_, TensorType) else None
        taken[name] = same_bits(array, wanted) if isinstance(array, np.ndarray) else array
    return dict(zip(program.inputs, taken.values(), strict=True))

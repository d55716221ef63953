"""The text of a module after every stage and pass of its journey, in a folder; and going on from there.

    transload convert model.tflite --dump steps
    transload convert model.tflite --dump steps --from hub     # the stage `hub` and all after it, once more

    steps/01-read.mlir
    steps/02-tfl-to-top.01-tfl-variables.mlir                  # stage, pass
    ...
    steps/constants.npz                                        # the constants of all texts, each once
    steps/index.json                                           # what is in which file, and what it took

A text is MLIR's generic form, which `transload opt` and every other command read with `constants.npz` beside it. A stage can be
started from, a pass within it cannot: passes of one stage may hand things on in memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .apart import need_free, written_again
from .digests import Digest, Digests
from .errors import ReadError, TransloadError, UsageError
from .files import atomic_path, need_directory, own_text, reason_of
from .foreign import need_own
from .ir import Dense, Module
from .ir.verify import check
from .journey import HUB, QUANTIZE, READ, Observer, Stage
from .json_text import json_text, of_json_text
from .made_with import need_made
from .passes.steps import PassRecord, Step
from .plugin import Source
from .read_again import command
from .roles import hub
from .suggest import nearest
from .text import write_module
from .text.carried import carrying, take_up
from .text.files import CONSTANTS, read_text
from .text.resources import ResourceKeys, save_constants

__all__ = ["INDEX", "Dump", "Dumped", "Start", "is_behind"]

INDEX = "index.json"
_TEXT = re.compile(r"\d\d+-[^/]*\.mlir", re.DOTALL)
"""What the texts of a dump are called: an index that names others is not obeyed."""


class Dump(Observer):
    """Writes the module after each stage and pass into a folder, which is made; texts of an earlier dump go with the first stage.

    With `start`, those of the stages before it stay, and the numbers go on. What is refused before any stage is entered leaves an
    earlier dump as it is. `digests` are those of the model's files, which tell
    whether they are the same when the journey goes on from here; `made` is what stages are made with beside their passes, by name
    (`transload.made_with`).
    """

    def __init__(
        self, directory: str | Path, model: str, start: Start | None = None, digests: Digests | None = None,
        made: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.directory = Path(directory)
        self.model, self.digests, self.made = model, digests, made or {}
        self.stages: list[dict[str, Any]] = list(start.stages) if start is not None else []
        self._start = start
        self._keys = ResourceKeys(digests=True)
        self._saved = 0
        self._gone = self._ready()
        """Texts of an earlier dump, which go when the first stage is entered."""

    def _ready(self) -> list[str]:
        """Make the folder, and see that it can be written; the texts in it that this dump takes the place of."""
        kept = {step["file"] for stage in self.stages for step in stage["steps"]} | {stage["file"] for stage in self.stages}
        need_directory(self.directory)
        need_own(self.directory / INDEX, "model", ["model", "stages"])
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            gone = [file for file in Dumped.files_of(self.directory) if file not in kept]
            need_free(*(self.directory / file for file in gone))
        except OSError as error:
            raise self._unwritable(error) from None
        return gone

    def _clear(self) -> None:
        """Have the texts go that this dump takes the place of; the index names none that is gone."""
        gone, self._gone = self._gone, []
        try:
            if gone:
                self._index()
            for file in gone:
                (self.directory / file).unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> TransloadError:
        return TransloadError(f"cannot write into {self.directory}: {reason_of(error, self.directory)}")

    def enters(self, stage: Stage) -> None:
        self._clear()
        target = stage.conversion.target if stage.conversion is not None else None
        self.stages.append({"stage": stage.name, "about": stage.about, "to": target, "file": None, "steps": []})
        if stage.name in self.made:
            self.stages[-1]["made"] = dict(self.made[stage.name])

    def ran(self, stage: Stage, step: Step, record: PassRecord, module: Module) -> None:
        entry = self.stages[-1]
        number = len(entry["steps"]) + 1
        file = f"{len(self.stages):02}-{stage.name}.{number:02}-{step.name}.mlir"
        self._write(module, file, done=number == len(stage.steps))
        entry["steps"].append({
            "pass": str(step), "file": file, "seconds": round(record.seconds, 6), "modified": record.modified})

    def leaves(self, stage: Stage, module: Module | None, seconds: float) -> None:
        entry = self.stages[-1]
        entry["seconds"] = round(seconds, 6)
        if entry["steps"]:
            entry["file"] = entry["steps"][-1]["file"]
        elif stage.name in (READ, QUANTIZE) and module is not None:
            entry["file"] = f"{len(self.stages):02}-{stage.name}.mlir"
            self._write(module, entry["file"], done=True)
        if entry["file"]:
            entry["digest"] = Digest(self.directory / entry["file"]).text()
        self._index()

    def stops(self, stage: Stage, error: BaseException) -> None:
        if self.stages and self.stages[-1]["stage"] == stage.name:
            self.stages[-1]["error"] = str(error)
            self._index()

    def _write(self, module: Module, file: str, done: bool) -> None:
        stages = [entry["stage"] for entry in (self.stages if done else self.stages[:-1])]
        with (
            atomic_path(self.directory / file) as temporary, temporary.open("w", encoding="utf-8") as out,
            carrying(module, self.model, stages),
        ):
            write_module(module, out, constants="file", keys=self._keys)

    def _index(self) -> None:
        if len(self._keys.constants) != self._saved:
            save_constants(self.directory / CONSTANTS, self._keys.constants, add=self._start is not None)
            self._saved = len(self._keys.constants)
        with atomic_path(self.directory / INDEX) as temporary:
            known = {"digest": None, "beside": {}} if self.digests is None else {
                "digest": self.digests.model.text(), "beside": self.digests.beside()}
            index = {"model": self.model, **known, "stages": self.stages}
            temporary.write_text(json_text(index) + "\n", encoding="utf-8")


@dataclass
class Start:
    """Where to go on: the module as it was before a stage, and what is behind it."""

    module: Module
    stage: str
    """The stage to go on with."""
    stages: list[dict[str, Any]]
    """Of the index, those that are done."""
    hub: Module | None
    """The module as it first was in the hub, where it has been there."""
    quantized: Module | None = None
    """The module as quantizing left it, where that is behind it."""
    floats: Module | None = None
    """The module as the passes of the hub left it, where these are behind it."""

    def take_the_place_of(self, source: Module) -> None:
        """Have the module come from where the model that was read comes from."""
        self.module.source, self.module.source_format, self.module.reading = source.source, source.source_format, source.reading

    @property
    def names(self) -> list[str]:
        return [entry["stage"] for entry in self.stages]


class Dumped:
    """A folder that `Dump` has written. Raises `ReadError` where its index does not read, which says what `writes` one."""

    def __init__(self, directory: str | Path, writes: str = "transload convert MODEL --dump DIR") -> None:
        self.directory = Path(directory)
        try:
            index = of_json_text(own_text(self.directory / INDEX))
            self.model, self.digest = str(index["model"]), index.get("digest")
            self.beside = {str(name): digest for name, digest in dict(index.get("beside") or {}).items()}
            self.stages = [_checked(entry) for entry in index["stages"]]
        except FileNotFoundError:
            raise ReadError(
                f"{self.directory} holds no dump", hint=f"`{writes}` writes one") from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise ReadError(f"{self.directory / INDEX} does not read") from None

    @staticmethod
    def files_of(directory: Path) -> list[str]:
        """The texts of a dump in a folder; none where there is none."""
        try:
            stages = Dumped(directory).stages
        except ReadError:
            return []
        named = [file for entry in stages for file in (entry["file"], *(step["file"] for step in entry["steps"])) if file]
        return [file for file in named if _TEXT.fullmatch(file)]

    def before(self, stage: str, model: str, digests: Digests | None = None, reading: Sequence[str] = ()) -> Start:
        """The module of `model` as it was before a stage; a note says where its text was changed since.

        `reading` says how the model was read (`Module.reading`).

        `UsageError` where the dump is another model's, or of files that have other `digests` now, or names the stages there are.
        """
        if Path(model).name != Path(self.model).name:
            raise UsageError(f"{self.directory} holds the dump of {self.model}, not of {model}")
        if (changed := self._changed(model, digests)) is not None:
            line = command("convert", model, reading=reading, more=("--dump", self.directory), without=("--from",))
            raise UsageError(
                f"{changed} is not the file that {self.directory} holds the dump of: it was changed, or is another of that name",
                hint=f"`{line}` writes it again")
        center = hub().name
        names = [entry["stage"] for entry in self.stages]
        if stage not in names[1:]:
            there = list(dict.fromkeys(names[1:]))
            guess = nearest(stage, there)
            raise UsageError(
                f"no stage {stage!r} to start from in {self.directory}",
                hint=(f"did you mean {guess!r}? " if guess else "") + f"stages: {', '.join(there) or 'none'}")
        done = self.stages[: names.index(stage)]
        texts = [entry for entry in done if entry["file"]]
        arrived = next((entry for entry in texts if entry["to"] == center), None)
        if not texts:
            raise ReadError(f"{self.directory} holds no module from before stage {stage!r}")
        module = self._module(texts[-1]["file"])
        known = texts[-1].get("digest")
        if known is not None and Digest(self.directory / texts[-1]["file"]).text() != known:
            note = (f"{self.directory / texts[-1]['file']}, from which this goes on, was changed since it was dumped; it is "
                    f"{model}, as it is, that verification compares the result with")
            module.notes = (*module.notes, note)
        quantized = next((entry for entry in texts if entry["stage"] == QUANTIZE), None)
        passed = next((entry for entry in texts if entry["stage"] == HUB), None)
        hub_module, behind, floats = (
            self._module(each["file"]) if each is not None else None for each in (arrived, quantized, passed))
        return Start(module, stage, done, hub_module, behind, floats)

    def _changed(self, model: str, digests: Digests | None) -> str | None:
        """Which of the model's files is another one than when it was dumped."""
        now = digests.model.text() if digests is not None else None
        if now is None or self.digest is None:  # of what is no file
            return None
        if now != self.digest:
            return model
        beside = digests.beside() if digests is not None else {}
        return next((name for name in sorted({*beside, *self.beside}) if beside.get(name) != self.beside.get(name)), None)

    def _module(self, file: str) -> Module:
        path = self.directory / file
        if not path.is_file():
            raise ReadError(f"{path}: there is no such file, and {INDEX} names it")
        with written_again():
            module = read_text(Source(path=path, name=str(path)))
        take_up(module, say=False)
        findings = check(module)
        if findings:
            raise ReadError(f"{path}: its ops break the rules of their dialects", findings)
        for op in module.ops():  # mapped now: the file of constants will be another one
            for value in op.attributes.values():
                if isinstance(value, Dense):
                    value.numpy()
        return module


def is_behind(directory: Path, stage: str, start: str) -> bool:
    """Whether a dump has a stage before the one to start from; not where none of them is there, which is said elsewhere."""
    try:
        names = [entry["stage"] for entry in Dumped(directory).stages]
    except ReadError:
        return False
    return start in names and stage in names[: names.index(start)]


def _checked(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the index, if it is one; its files are names in the folder."""
    files = [entry["file"], *(step["file"] for step in entry["steps"])]
    if not isinstance(entry["stage"], str) or any(file is not None and Path(file).name != file for file in files):
        raise ValueError
    if not all(isinstance(step["pass"], str) for step in entry["steps"]) or not isinstance(entry.get("about", ""), str):
        raise ValueError
    if (made := entry.get("made")) is not None:
        need_made(entry["stage"], made)
    return {"about": "", "to": None, **entry}

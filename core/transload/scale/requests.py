"""What is asked of a conversion, as one digest: the same digest gives the same artifact."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..digests import Digest
from ..errors import ReadError
from ..files import is_file, is_folder
from ..json_text import plain
from ..option_files import files_of_options, read_by_quantizer
from ..passes.manager import Pipeline
from ..plugin_host import host
from ..report import versions

__all__ = ["Request", "beside_is_same", "files_of_request"]

_LIST = 1 << 24
"""Bytes of a text that lists samples."""


class Request:
    """What is asked of the conversion of one model, as its files are now.

    `digest` is the SHA-256 of the model's content and what it is called, of all that is asked, of the files that options name and
    of samples by what they hold, and of all versions; None where samples come from a function, which may give others each time.
    Files that are read with the model are not a part of it: which these are is known when it was read (`beside_is_same`). Raises
    `ReadError` where the model is no file.
    """

    def __init__(self, model: Path, asked: Mapping[str, Any]) -> None:
        self._asked = asked
        self._model = Digest(model)
        content = self._model.text()
        if content is None:
            raise ReadError(f"{model}: cannot be read")
        self._files: dict[Path, Digest] = {}
        self.digest: str | None = None
        if (named := self._named()) is None:
            return
        for file in named:
            self._files[file] = Digest(file)
            self._files[file].text()  # one after the other: there may be many
        files = {str(file): digest.text() for file, digest in self._files.items()}
        parts = {
            "model": content, "called": _called(model), "asked": plain(asked), "files": files, "versions": versions()}
        self.digest = sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def has_changed(self) -> bool:
        """Whether a file is another one now, or there are more or fewer: what was made meanwhile may be of either."""
        named = self._named()
        return named is not None and (
            set(named) != self._files.keys() or any(each.has_changed() for each in (self._model, *self._files.values())))

    def _named(self) -> list[Path] | None:
        """The files that are asked for, each once; None where samples come from a function."""
        data = self._asked.get("data")
        samples = [] if data is None else _samples(data["source"])
        return None if samples is None else list(dict.fromkeys([*files_of_request(self._asked), *samples]))


def files_of_request(asked: Mapping[str, Any]) -> Iterator[Path]:
    """The files that options and passes read."""
    passes = [step.options for step in Pipeline.parse(asked.get("passes", "")).steps]
    quantizing = read_by_quantizer(asked["quantize"], asked["quantizer_options"]) if "quantizer_options" in asked else {}
    yield from files_of_options([asked.get("options"), quantizing, passes])


def _called(model: Path) -> list[str]:
    """What a model is called: artifacts have its name, or that of the folder that it is, and its suffix chooses the reader."""
    is_of_folder = any(model.name in reader.folder for reader in host().readers.values())
    return [model.name, *([model.parent.name] if is_of_folder else [])]


def beside_is_same(model: Path, beside: Mapping[str, str]) -> bool:
    """Whether the files that were read with a model are what they were, by a report's `beside`."""
    return all(Digest(model.parent / name).text() == digest for name, digest in beside.items())


def _samples(source: Any) -> list[Path] | None:
    """The files behind `--data`; None where it is a function."""
    paths = list(source.values()) if isinstance(source, Mapping) else [source]
    if any(str(path).startswith("python:") for path in paths):
        return None
    return [file for path in paths for file in _files(Path(path))]


def _files(path: Path) -> Iterator[Path]:
    if is_folder(path):
        yield from sorted(file for file in path.rglob("*") if file.is_file())
        return
    yield path
    if path.suffix.lower() in (".npy", ".npz") or not is_file(path) or path.stat().st_size > _LIST:
        return
    for line in path.read_bytes().decode("utf-8-sig", "replace").splitlines():  # a list of files, or an image, which names none
        for name in line.split(","):
            listed = path.parent / name.strip()
            if name.strip() and len(name) < 4096 and "\0" not in name and listed.is_file():
                yield listed

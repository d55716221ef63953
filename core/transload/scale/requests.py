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
from ..option_files import digests_of_options, read_by_quantizer
from ..passes.manager import Pipeline
from ..plugin_host import host
from ..report import versions

__all__ = ["beside_is_same", "digest_of_request", "digests_of_files"]

_LIST = 1 << 24
"""Bytes of a text that lists samples."""


def digest_of_request(model: Path, asked: Mapping[str, Any]) -> str | None:
    """The SHA-256 of a model's content and what it is called, of all that is asked, which has the digests of the files that
    options name (`digests_of_files`), of the contents of samples, and of all versions.

    None where samples come from a function, which may give others each time. Files that are read with the model are not a part
    of it: which these are is known when it was read (`beside_is_same`). Raises `ReadError` where the model is no file.
    """
    content = Digest(model).text()
    if content is None:
        raise ReadError(f"{model}: cannot be read")
    parts: dict[str, Any] = {"model": content, "called": _called(model), "asked": plain(asked), "versions": versions()}
    data = asked.get("data")
    if data is not None:
        digests = _samples(data["source"])
        if digests is None:
            return None
        parts["samples"] = digests
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def digests_of_files(asked: Mapping[str, Any]) -> dict[str, str | None]:
    """The digests of the files that options and passes read, by path: the same for all models, so they are computed once."""
    passes = [step.options for step in Pipeline.parse(asked.get("passes", "")).steps]
    quantizing = read_by_quantizer(asked["quantize"], asked["quantizer_options"]) if "quantizer_options" in asked else {}
    return digests_of_options([asked.get("options"), quantizing, passes])


def _called(model: Path) -> list[str]:
    """What a model is called: artifacts have its name, or that of the folder that it is, and its suffix chooses the reader."""
    is_of_folder = any(model.name in reader.folder for reader in host().readers.values())
    return [model.name, *([model.parent.name] if is_of_folder else [])]


def beside_is_same(model: Path, beside: Mapping[str, str]) -> bool:
    """Whether the files that were read with a model are what they were, by a report's `beside`."""
    return all(Digest(model.parent / name).text() == digest for name, digest in beside.items())


def _samples(source: Any) -> dict[str, str | None] | None:
    """The digests of the files behind `--data`, by path; None where it is a function."""
    paths = list(source.values()) if isinstance(source, Mapping) else [source]
    if any(str(path).startswith("python:") for path in paths):
        return None
    return {str(file): Digest(file).text() for path in paths for file in _files(Path(path))}


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

"""The files that options name: what is made with them depends on what they hold, and not on their names alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .digests import Digest
from .files import is_file
from .plugin_host import host

__all__ = ["digests_of_options", "files_of_options", "read_by_quantizer"]


def files_of_options(options: Any) -> Iterator[Path]:
    """The files that options name, and the arrays that are read with these, as a table's histograms are; no copies of them."""
    for file in sorted({Path(text) for text in _texts(options) if is_file(Path(text))}):
        yield file
        if is_file(arrays := file.with_name(f"{file.name}.npz")):
            yield arrays


def digests_of_options(options: Any) -> dict[str, str | None]:
    """The digests of these files, by path."""
    return {str(file): Digest(file).text() for file in files_of_options(options)}


def read_by_quantizer(quantizer: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a quantizer without those of files that it writes."""
    saves = host().get("quantizers", quantizer).saves
    return {key: value for key, value in options.items() if key not in saves}


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value that may be those of paths."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str | Path):
        yield str(value)

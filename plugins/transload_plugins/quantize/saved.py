"""What a long quantization found so far, in a file: one that is ended goes on from there, with the same result.

The file is written anew, as a whole, whenever there is more: a kill leaves the one of before. It is removed at the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transload.apart import written_again
from transload.arrays import as_array, read_arrays
from transload.errors import ReadError, UsageError
from transload.files import atomic_path, exists

from .state import digest_of_sample

__all__ = ["Saved", "digest_of"]

ABOUT = "about"
_HINT = "remove the file to begin anew"
Found = dict[str, np.ndarray]


class Saved:
    """Arrays by key and name; with a file they are kept there, too."""

    def __init__(self, file: Path | None = None, about: str = "") -> None:
        """Raises `ReadError` for a file that is none such, `UsageError` for one `about` something else."""
        self._file = file
        self._about = about
        self._found: dict[str, Found] = {}
        if file is None or not exists(file):
            return
        with written_again():
            held = {name: as_array(data).copy() for name, data in read_arrays(file).items()}
        told = held.pop(ABOUT, None)
        if told is None or told.dtype.kind != "U" or told.shape or not all("/" in name for name in held):
            raise ReadError(f"{file}: is not what a quantization saved", hint=_HINT)
        if str(told) != about:
            raise UsageError(f"{file}: was saved by a quantization of another model, other samples or other options", hint=_HINT)
        for name, array in held.items():
            key, _, part = name.rpartition("/")
            self._found.setdefault(key, {})[part] = array

    @classmethod
    def opened(cls, resume: Saved | str | Path | None, about: str) -> Saved:
        """What a caller gives to go on from: a file's path, or what is open already."""
        return resume if isinstance(resume, Saved) else cls(Path(resume) if resume is not None else None, about)

    def get(self, key: str, **shapes: tuple[int, ...]) -> Found | None:
        """The numbers that were put there last, of these shapes by name. Raises `ReadError` where the file has others."""
        found = self._found.get(key)
        if found is not None and not (found.keys() == shapes.keys() and all(
                found[name].shape == shape and found[name].dtype.kind in "if" for name, shape in shapes.items())):
            raise ReadError(f"{self._file}: has other numbers of {key!r} than a quantization saves", hint=_HINT)
        return found

    def put(self, key: str, **arrays: Any) -> None:
        """Keep arrays in place of those that were there; the file has them when this returns."""
        self._found[key] = {name: np.asarray(array) for name, array in arrays.items()}
        if self._file is None:
            return
        held: dict[str, Any] = {f"{key}/{name}": array for key, each in self._found.items() for name, array in each.items()}
        with atomic_path(self._file) as made, made.open("wb") as stream:
            np.savez(stream, **{**held, ABOUT: np.array(self._about)})

    def finish(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def digest_of(*parts: str | Mapping[str, Any]) -> str:
    """The same for the same texts and arrays by name."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update((part if isinstance(part, str) else digest_of_sample(part)).encode() + b"\n")
    return state.hexdigest()

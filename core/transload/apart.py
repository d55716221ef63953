"""What is read stays: nothing that is written takes the place of a file that is read meanwhile, or that was just written.

    with inputs_kept():
        module = load("net.onnx")      # notes the file, and those that it says its weights are in
        save(module, "net.onnx")       # UsageError: whoever puts a file in place asks `need_free`

Commands and conversions are such blocks. Outside of them a file may be written back: a script that does so means it. A file is
the same under every name that it has, by links too. `need_apart` says so of the files that a command names, before it begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from .errors import UsageError

__all__ = ["inputs_kept", "is_noted", "need_apart", "need_free", "note_read", "note_written", "written_again"]

_READ, _WRITTEN = "is read here", "has just been written"
_HINT = "write to another file or folder"


class _Kept:
    """Files that are to stay, with what was done with them; looked up by what the system knows them by."""

    def __init__(self) -> None:
        self._new: dict[Path, str] = {}
        self._known: dict[tuple[int, int], tuple[Path, str]] = {}

    def add(self, paths: Iterable[Path], why: str) -> None:
        self._new.update(dict.fromkeys(paths, why))

    def at(self, path: Path) -> tuple[Path, str] | None:
        """The file that is at a path, as it was named when it was noted, and why it is to stay; None where that is another."""
        place = _place(path)
        if place is None:
            return None
        while self._new:  # a folder of samples may have a million: they are looked up once, and where something is replaced
            noted, why = self._new.popitem()
            identity = _identity(noted)
            if identity is not None:
                self._known.setdefault(identity, (noted, why))
        found = self._known.get(place)
        return found if found is not None and _identity(found[0]) == place else None  # another file may have its number by now


def _identity(path: Path) -> tuple[int, int] | None:
    """The device and number of the file that a path leads to; None where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _place(path: Path) -> tuple[int, int] | None:
    """The same of a file that is to be written: `new/../file` is `file`, also before `new` is made."""
    try:
        return _identity(Path(os.path.realpath(path)))
    except (OSError, ValueError):
        return None


_kept: ContextVar[_Kept | None] = ContextVar("transload.kept", default=None)


@contextmanager
def inputs_kept() -> Iterator[None]:
    """Have what is read inside stay as it is; in such a block already, this is a part of that."""
    if _kept.get() is not None:
        yield
        return
    token = _kept.set(_Kept())
    try:
        yield
    finally:
        _kept.reset(token)


@contextmanager
def written_again() -> Iterator[None]:
    """What is read inside is not noted: a state to go on from, which is written as it goes."""
    token = _kept.set(None)
    try:
        yield
    finally:
        _kept.reset(token)


def note_read(*paths: Path | None) -> None:
    """Note files that are read, for `need_free`; nothing outside of `inputs_kept`."""
    _note(paths, _READ)


def note_written(*paths: Path) -> None:
    """Note files that are a result, which another output may not replace; nothing outside of `inputs_kept`."""
    _note((Path(os.path.realpath(path)) for path in paths), _WRITTEN)


def _note(paths: Iterable[Path | None], why: str) -> None:
    kept = _kept.get()
    if kept is not None:
        with suppress(FileNotFoundError):  # of the current folder: no file is in one that was removed
            kept.add((path.absolute() for path in paths if path is not None), why)  # with its `..`: what is above a link's end


def is_noted(path: Path) -> bool:
    """Whether a file is one that `need_free` refuses."""
    kept = _kept.get()
    return kept is not None and kept.at(path) is not None


def need_free(*paths: Path) -> None:
    """Raise `UsageError` where a file that is to be replaced, or removed, was noted by `note_read` or `note_written`."""
    kept = _kept.get()
    for path in paths if kept is not None else ():
        found = kept.at(path) if kept is not None else None
        if found is not None:
            raise _refusal(str(path), path, *found)


def need_apart(writes: Mapping[str, Path], reads: Iterable[Path]) -> None:
    """Raise `UsageError` where one of the files that are `written`, by what says so, is one that is read, or two of them are one.

    What is no file (yet) is none that is read. A file that is to be written may be there or not.
    """
    kept = _Kept()
    kept.add(reads, _READ)
    before: dict[str, tuple[str, Path]] = {}
    for said, path in writes.items():
        found = kept.at(path) if not os.path.isdir(path) else None  # noqa: PTH112 - False of what cannot be looked at
        if found is not None:
            raise _refusal(f"{said} {path}", path, *found)
        place = os.path.realpath(path)
        known = _place(path)
        linked = (one for one in before.values() if known is not None and _place(one[1]) == known)
        other = before.get(place) or next(linked, None)
        if other is not None:
            raise UsageError(f"{other[0]} {other[1]} and {said} {path} are one file: one would replace the other",
                             hint="give each a name of its own")
        before[place] = said, path


def _refusal(said: str, path: Path, noted: Path, why: str) -> UsageError:
    same = os.path.abspath(path) == os.path.abspath(noted)  # noqa: PTH100 - links stay links
    which = f"a file that {why}" if same else f"the file {noted}, which {why}"
    return UsageError(f"{said} would replace {which}", hint=_HINT)

"""Digests of files, by which one that was changed is told from what it was: of a model's, while it is converted, and of what
a conversion wrote."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

from .errors import ReadError
from .files import is_file

__all__ = ["MOST_READ", "Digest", "Digests", "digests_of", "is_as_written"]

MOST_READ = 16 << 30
"""Bytes of a file that are gone through for a digest: ten seconds or twenty."""
_CHUNK = 1 << 20
_SHA256 = "sha256:"


class Digest:
    """What tells a file's content from others: its SHA-256, computed while other things are done.

    Of a file of more than `MOST_READ` bytes it is its size and when it was changed: it may be sparse, and say a terabyte.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._text: str | None = None
        self._thread: Thread | None = None
        self._state = _state(path)
        if path is not None and is_file(path):
            self._thread = Thread(target=self._compute, args=(path,), daemon=True)
            self._thread.start()

    def _compute(self, path: Path) -> None:
        digest = sha256()
        try:
            known = path.stat()
            if known.st_size > MOST_READ:
                self._text = f"stat:{known.st_size}-{known.st_mtime_ns}"
                return
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        except OSError:
            return  # who reads the model says so
        self._text = f"{_SHA256}{digest.hexdigest()}"

    def text(self) -> str | None:
        """`sha256:` and the digest in hexadecimal, or `stat:`; None for what is no regular file. Waits until it is computed."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        return self._text

    def has_changed(self) -> bool:
        """Whether another file is there now, or other content in it."""
        return self._state is not None and _state(self.path) != self._state


def _state(path: Path | None) -> tuple[int, ...] | None:
    """What is another where a file is written to or replaced; None for what is no regular file, or not there."""
    if path is None or not is_file(path):
        return None
    with suppress(OSError):
        known = path.stat()
        return known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns
    return None


def digests_of(files: Mapping[str, Path]) -> dict[str, str]:
    """`sha256:` and the digests of files, by name: of those that are gone through, and are there."""
    texts = {name: Digest(path).text() for name, path in files.items()}
    return {name: text for name, text in texts.items() if text is not None and text.startswith(_SHA256)}


def is_as_written(folder: Path, report: Mapping[str, Any], name: str) -> bool:
    """Whether a file is what a conversion wrote, by its report, of which `files` are the sizes by name, and `digests` these.

    The size alone says it where there is no digest, of a file beyond `MOST_READ` or in a report of an earlier version.
    """
    if report["files"].get(name) != (folder / name).stat().st_size:
        return False
    digest = report.get("digests", {}).get(name)
    return digest is None or digests_of({name: folder / name}).get(name, digest) == digest


class Digests:
    """Those of a model: of its file, and of the files that are read with it."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.model = path, Digest(path)
        self._beside: dict[str, Digest] = {}

    def add(self, files: Iterable[Path]) -> None:
        """Begin with what lies beside the model."""
        folder = self.path.parent if self.path is not None else Path()
        for file in files:
            name = os.path.relpath(file.resolve(), folder.resolve())
            self._beside.setdefault(name.replace(os.sep, "/"), Digest(file))

    def beside(self) -> dict[str, str]:
        """By path from the model's folder; waits until they are computed."""
        return {name: text for name, digest in self._beside.items() if (text := digest.text()) is not None}

    def need_unchanged(self) -> None:
        """Raise `ReadError` where a file is not what it was: each part of a conversion, and who judges it, reads by itself."""
        if changed := [str(digest.path) for digest in (self.model, *self._beside.values()) if digest.has_changed()]:
            raise ReadError(
                f"{', '.join(changed)}: changed while it was converted, so what was read may be of either; nothing was written",
                hint="convert again when whoever writes the file is done")

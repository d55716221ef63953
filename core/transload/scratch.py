"""Folders in the making: locked for as long as they are used, and removed by the next process where one was killed.

The system lets go of a lock when its process ends, however it does. So a folder with our prefix that nobody holds was left
by a process that was killed, and whoever makes the next one in the same place removes it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from .errors import TransloadError

try:
    import fcntl
except ImportError:  # not on Windows: what is left there stays
    fcntl = None  # type: ignore[assignment]

__all__ = ["PREFIX", "ScratchFolder", "locked", "remove_all", "temporary"]

PREFIX = ".transload-"
"""Of the names of all such folders."""


@contextmanager
def temporary() -> Iterator[None]:
    """Where something is put among the system's temporary files. `TransloadError` where that cannot be: on a full disk, or on
    none that can be written."""
    try:
        yield
    except OSError as error:
        raise TransloadError(f"no temporary file can be written: {error.strerror or error}",
                             hint="TMPDIR=FOLDER says where they go, on a disk that has room") from error


class ScratchFolder:
    """A new, empty folder in `parent` (by default where the system has temporary files), locked until `remove`."""

    def __init__(self, parent: Path | None = None) -> None:
        if parent is None:
            with temporary():
                self._make(Path(tempfile.gettempdir()))
        else:
            self._make(parent)

    def _make(self, parent: Path) -> None:
        _remove_abandoned(parent)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            with suppress(FileNotFoundError):  # another process may take it for abandoned, before it is held
                self._handle = _hold(self.path)
                if self.path.exists():
                    _in_use.add(self)
                    break
                self._let_go()

    def remove(self) -> None:
        """Remove the folder with what is in it, where it is still there, and let go of it."""
        _remove(self.path)
        _in_use.discard(self)
        self._let_go()

    def _let_go(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *raised: object) -> None:
        self.remove()


_in_use: WeakSet[ScratchFolder] = WeakSet()


def remove_all() -> None:
    """Remove the folders that are still in use, for the process ends."""
    for folder in list(_in_use):
        _remove(folder.path)


def _remove(folder: Path) -> None:
    """Remove a folder with what is in it, as far as that can be; folders in it may be such that nothing is taken from them."""
    def make_writable(_: object, path: str, raised: object) -> None:
        blocked = Path(path)
        for place in (blocked.parent, blocked):
            with suppress(OSError):
                if place.is_relative_to(folder) and place.is_dir() and not place.is_symlink():
                    place.chmod(0o700)

    for _ in range(2):
        if folder.is_dir():
            shutil.rmtree(folder, onerror=make_writable)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process and thread; others wait."""
    handle = _hold(folder)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _hold(folder: Path) -> int | None:
    """A handle that holds the folder; None where the system has no such locks."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _remove_abandoned(parent: Path) -> None:
    """Remove what processes that were killed left here: our folders that nobody holds."""
    if fcntl is None:
        return
    for left in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(left)
            finally:
                os.close(handle)

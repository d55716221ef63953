"""Folders in the making: locked for as long as they are used, and removed by the next process where one was killed.

The system lets go of a lock when its process ends, however it does. So a folder with our prefix that nobody holds was left
by a process that was killed, and whoever makes the next one in the same place removes it.

Whoever makes one holds the folder around it for that moment, together with others; who takes that folder away (`exchange`)
holds it alone, and finds none in it. So what is being made is never taken away.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from weakref import WeakSet

from .errors import TransloadError
from .forks import in_forked

try:
    import fcntl
except ImportError:  # not on Windows: what is left there stays
    fcntl = None  # type: ignore[assignment]

__all__ = ["PREFIX", "Hold", "ScratchFolder", "locked", "remove_abandoned", "remove_all", "system_folder", "temporary"]

PREFIX = ".transload-"
"""Of the names of all such folders."""
_PATIENCE = 10.0
"""Seconds to wait for a folder in which one is made: who takes it away needs less, and another program may hold it for ever."""
_LONGEST = 60.0
"""Seconds to wait for who replaces files in a folder, which takes less than one: who was stopped may hold it for ever."""
_PAUSE = 0.002
"""Seconds between two looks at a folder that is held."""
_TRIES = 100
"""Folders that are made, or looked for, one after the other, each of which another process takes away: some at most, ever."""


@contextmanager
def temporary() -> Iterator[None]:
    """Where something is put among the system's temporary files. `TransloadError` where that cannot be: on a full disk, or on
    none that can be written."""
    try:
        yield
    except OSError as error:
        raise TransloadError(f"no temporary file can be written: {error.strerror or error}",
                             hint="TMPDIR=FOLDER says where they go, on a disk that has room") from error


def system_folder() -> Path:
    """Where the system has temporary files, as `tempfile` finds it, but that nothing stays of the look for it.

    `tempfile.gettempdir` writes into each place, in turn, whether that is possible; who is killed meanwhile leaves a file that
    nobody knows of. Here it is a folder with our prefix, which the next process removes.
    """
    if tempfile.tempdir is None and os.name == "posix":
        there = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
        for place in (*filter(None, there), "/tmp", "/var/tmp", "/usr/tmp"):  # as `tempfile` has them
            with suppress(OSError):
                tried = Path(tempfile.mkdtemp(prefix=PREFIX, dir=Path(place).absolute()))
                try:
                    (tried / "tried").write_bytes(b"tried")
                finally:
                    _remove(tried)
                tempfile.tempdir = str(tried.parent)
                break
    return Path(tempfile.gettempdir())


class ScratchFolder:
    """A new, empty folder in `parent` (by default where the system has temporary files), locked until `remove`."""

    def __init__(self, parent: Path | None = None) -> None:
        if parent is None:
            with temporary():
                self._make(system_folder(), lambda folder: nullcontext())
        else:
            self._make(parent, _staying)

    def _make(self, parent: Path, staying: Callable[[Path], AbstractContextManager[None]]) -> None:
        remove_abandoned(parent)
        for _ in range(_TRIES):
            with staying(parent):
                self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            with suppress(FileNotFoundError):  # another process may take it for abandoned, before it is held
                self._hold = Hold(self.path, shared=True)
                if self.path.exists():
                    _in_use.add(self)
                    return
                shutil.rmtree(self.path, ignore_errors=True)  # where it is there all the same, nothing stays of it
                self._hold.let_go()
        raise _never_stays(parent)

    def remove(self) -> None:
        """Remove the folder with what is in it, where it is still there, and let go of it; that is not for a forked process."""
        if self in _in_use:
            _remove(self.path)
            _in_use.discard(self)
            self._hold.let_go()

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


class Hold:
    """A folder that is held for this process and thread until `let_go`: alone, or `shared` with others that share it.

    Where the system has no such locks, or not for this folder, nothing is held. Raises `BlockingIOError` where others hold it
    for longer than `patience` seconds. A process that is forked off meanwhile holds nothing of it.
    """

    def __init__(self, folder: Path, shared: bool = False, patience: float | None = None) -> None:
        self._handle: int | None = None
        if fcntl is None:
            return
        try:
            self._handle = os.open(folder, os.O_RDONLY)
        except PermissionError:  # one that is written to may be one that is not read
            return
        _holding.add(self)
        try:
            self._take(self._handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, patience)
        except BaseException:
            self.let_go()
            raise

    def _take(self, handle: int, how: int, patience: float | None) -> None:
        end = None if patience is None else time.monotonic() + patience
        while True:
            try:
                fcntl.flock(handle, how if end is None else how | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if end is None or time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)
            except OSError:  # as file systems of other machines have no locks of folders
                return

    def is_of(self, folder: Path) -> bool:
        """Whether it is this folder that is held, and not another one that was in its place; or nothing is."""
        return self._handle is None or os.path.samestat(os.fstat(self._handle), folder.stat())

    def let_go(self) -> None:
        """Let others hold it, those too that a child of this process would keep out by its copy of the handle."""
        if self._handle is not None:
            with suppress(OSError):
                fcntl.flock(self._handle, fcntl.LOCK_UN)
        self.leave()

    def leave(self) -> None:
        """Close the handle; who has another of the same lock keeps that."""
        handle, self._handle = self._handle, None
        _holding.discard(self)
        if handle is not None:
            os.close(handle)


_holding: set[Hold] = set()


def _forked() -> None:
    """What the other threads and the process before it made and hold is not this process's."""
    global _in_use
    _in_use = WeakSet()
    for held in list(_holding):
        held.leave()


in_forked(_forked)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process and thread; others wait. Raises `TransloadError` where one of them has it for too long."""
    try:
        held = Hold(folder, patience=_LONGEST)
    except BlockingIOError:
        raise TransloadError(f"another process has held {folder} for {_LONGEST:g} seconds",
                             hint="end or continue it; it may have been stopped, or be no conversion at all") from None
    try:
        yield
    finally:
        held.let_go()


@contextmanager
def _staying(folder: Path) -> Iterator[None]:
    """Hold a folder for a moment in which nobody is to take it away. Raises `FileNotFoundError` where it is gone."""
    for _ in range(_TRIES):
        try:
            held = Hold(folder, shared=True, patience=_PATIENCE)
        except BlockingIOError:
            yield
            return
        try:
            if held.is_of(folder):
                yield
                return
        finally:
            held.let_go()
    raise _never_stays(folder)


def _never_stays(folder: Path) -> TransloadError:
    return TransloadError(
        f"{_TRIES} times what was made in {folder}, or this itself, was gone before it could be held",
        hint="another program removes it, or a plugin changes how Python sees files (`TRANSLOAD_PLUGINS=-NAME` leaves it out)")


def remove_abandoned(parent: Path) -> None:
    """Remove what processes that were killed left here: our folders that nobody holds."""
    if fcntl is None:
        return
    for left in parent.glob(PREFIX + 8 * "?"):  # as `mkdtemp` makes names
        with suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(left)
            finally:
                os.close(handle)

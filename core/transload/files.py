"""Writing files so that they are complete or not there; looking into archives."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import ReadError, TransloadError
from .scratch import ScratchFolder

__all__ = ["archive_names", "atomic_path", "current_directory", "is_file", "need_file"]


def need_file(path: Path) -> None:
    """Raise `ReadError` where there is no file to read: nothing, or a pipe, at which reading would wait for ever.

    A directory is left to the caller.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ReadError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:  # too long a name, a loop of links, a zero byte in the name
        raise ReadError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise ReadError(f"{path}: is a {kind}, not a file", hint="write what comes out of it to a file, and give that")


def is_file(path: Path) -> bool:
    """Whether there is a regular file: one that is read to its end, and not waited for."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def current_directory() -> Path | None:
    """Where this process stands; None where that was removed meanwhile."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it is renamed to `path` when the block ends well.

    Raises `TransloadError` where the place cannot be written (no room, no permission), and leaves
    nothing behind.
    """
    final = Path(path)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with ScratchFolder(final.parent) as folder:
            temporary = folder / final.name
            yield temporary
            temporary.chmod(0o644)
            temporary.replace(final)
    except OSError as error:
        raise TransloadError(f"cannot write {final}: {error.strerror or error}") from None


def archive_names(path: Path) -> list[str]:
    """The names in a zip archive; none where a file is no such archive, or a damaged one."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return []

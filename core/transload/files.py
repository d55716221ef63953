"""Writing files so that they are complete or not there; looking into archives."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import TransloadError

__all__ = ["archive_names", "atomic_path"]


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it is renamed to `path` when the block ends well.

    Raises `TransloadError` where the place cannot be written (no room, no permission), and leaves
    nothing behind.
    """
    final = Path(path)
    temporary: Path | None = None
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{final.name}.", dir=final.parent)
        os.close(handle)
        temporary = Path(name)
        temporary.chmod(0o644)
        yield temporary
        temporary.replace(final)
        temporary = None
    except OSError as error:
        raise TransloadError(f"cannot write {final}: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


def archive_names(path: Path) -> list[str]:
    """The names in a zip archive; none where a file is no such archive, or a damaged one."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return []

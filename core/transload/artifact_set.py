"""Several files that belong together, written so that a folder holds all of the old ones or all of the new.

    with replaced_folder("build") as folder:
        ...  # write into `folder`

A conversion writes a program, its weights and a report. Renamed into place one by one, they would be a mixture for anybody
who looks, or kills the process, in between. So a whole new folder is made beside the old one, with the old one's other
files linked into it, and the two change places by one system call. What killed processes leave is removed by the next
that writes beside it (`scratch`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .apart import need_free
from .errors import TransloadError, UsageError
from .files import current_directory, make_parents, need_directory, permitted, reason_of, remove_empty
from .scratch import ScratchFolder, locked

__all__ = ["REPORT", "replaced_folder"]

REPORT = "report.json"
"""The file that says what the others are."""
_OTHERS = 100
"""How many other files a folder may hold that is exchanged for a new one: one with more is somebody's own, and stays."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says where there is no room."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux's renameat2(2)."""


@contextmanager
def replaced_folder(place: str | Path, drop: Callable[[Path], Iterable[str]] = lambda place: ()) -> Iterator[Path]:
    """A new, empty folder to write to; when the block ends well, its files are those of `place`, together with the others there.

    Files of `place` that have the same names are replaced, those that `drop(place)` names removed, as one; it is asked when
    nobody else can replace the folder any more. Raises `UsageError` where `place` is a file, has a folder where a file is to
    be, or a file that is read meanwhile (`apart`) among those that go, and `TransloadError` where it cannot be written; then,
    and where the block raises, `place` is as it was.
    """
    try:
        final = Path(os.path.abspath(place))  # noqa: PTH100 - links stay links
    except FileNotFoundError:
        raise TransloadError(f"cannot write to {place}: the current directory is not there any more") from None
    if final.is_symlink():
        final = final.resolve()
    need_directory(final, place)
    made: list[Path] = []
    scratch: ScratchFolder | None = None
    try:
        made = make_parents(final.parent)
        scratch = ScratchFolder(final.parent)
        folder = scratch.path
        folder.chmod(permitted(0o777))
        yield folder
        with locked(final.parent):
            gone = {name for name in drop(final) if (final / name).resolve().is_relative_to(final.resolve())}
            need_free(*(final / name for name in sorted({*gone, *_entries(folder)})))
            _put_in_place(folder, final, gone)
            _remove_emptied(final, gone)
        made = []
    except OSError as error:
        what = "free space, or choose another -o" if error.errno in _FULL else "choose another -o"
        raise TransloadError(
            f"cannot write to {place}: {reason_of(error, final.parent)}", hint=f"nothing was left half-written; {what}") from None
    finally:
        if scratch is not None:
            scratch.remove()
        remove_empty(reversed(made))


def _remove_emptied(final: Path, gone: set[str]) -> None:
    """Remove the folders that were those of files which are gone alone, as of a conversion in parts."""
    within = {final / parent for name in gone for parent in Path(name).parents if parent != Path()}
    remove_empty(sorted(within, key=lambda folder: -len(folder.parts)))


def _put_in_place(folder: Path, final: Path, drop: set[str]) -> None:
    if not final.exists():
        folder.rename(final)
        return
    if not os.access(final, os.W_OK | os.X_OK):  # it could be exchanged, and then not be emptied
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(final))
    for entry in _entries(folder):
        if (final / entry).is_dir() and not (final / entry).is_symlink():
            raise UsageError(
                f"{final / entry} is a directory, where a file is to be written", hint="remove it, or choose another -o")
    entries = _entries(folder)
    if not (_can_be_exchanged(final) and _link_others(final, folder, drop) and _exchange(folder, final)):
        _move_files(folder, entries, final, drop)


def _entries(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir())


def _can_be_exchanged(final: Path) -> bool:
    """Whether a folder may become another one: not a mount point, and not where this process stands."""
    here = current_directory()
    return not os.path.ismount(final) and (here is None or final not in (here, *here.parents))


def _link_others(final: Path, folder: Path, drop: set[str]) -> bool:
    """Link what else there is in `final` into `folder`; False where that is much, or the file system has no links."""
    linked = 0
    for directory, folders, files in os.walk(final):
        here = Path(directory)
        for name in (*files, *(name for name in folders if (here / name).is_symlink())):
            target = folder / (here / name).relative_to(final)
            if str(target.relative_to(folder)) in drop or os.path.lexists(target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            linked += 1
            if linked > _OTHERS:
                return False
            try:
                os.link(here / name, target, follow_symlinks=False)
            except OSError:
                return False
        for name in folders:
            if not (here / name).is_symlink():
                (folder / (here / name).relative_to(final)).mkdir(parents=True, exist_ok=True)
    shutil.copystat(final, folder)
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where this system or file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here = -100  # AT_FDCWD: the paths are absolute
    if rename(here, os.fsencode(one), here, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES):
        return False
    raise OSError(number, os.strerror(number), str(other))


def _move_files(folder: Path, entries: list[str], final: Path, drop: set[str]) -> None:
    """File by file, where a folder cannot be exchanged: the report last, so that what has a report is whole."""
    with suppress(FileNotFoundError):
        (final / REPORT).unlink()
    for entry in drop - set(entries):
        with suppress(FileNotFoundError):
            (final / entry).unlink()
    for entry in sorted(entries, key=lambda entry: entry == REPORT):
        (final / entry).parent.mkdir(parents=True, exist_ok=True)
        (folder / entry).replace(final / entry)

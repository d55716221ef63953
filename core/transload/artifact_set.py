"""Several files that belong together, written so that a folder holds all of the old ones or all of the new.

    with replaced_folder("build") as folder:
        ...  # write into `folder`

A conversion writes a program, its weights and a report. Renamed into place one by one, they would be a mixture for anybody
who looks, or kills the process, in between. So a whole new folder is made beside the old one, and takes its place in one step
(`exchange`). What killed processes leave is removed by the next that writes beside it (`scratch`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from .apart import need_free
from .errors import TransloadError
from .exchange import exchanged, is_mounted, need_no_mount
from .files import leads_inside, need_directory, need_place, permitted, reason_of, remove_empty, scratch_in
from .scratch import ScratchFolder, locked

__all__ = ["IMAGES", "MANIFEST", "REPORT", "replaced_folder"]

REPORT = "report.json"
"""The file that says what the others are."""
IMAGES = "preprocess.toml"
"""The file that says what becomes of images before they are an input."""
MANIFEST = "conversions.json"
"""The file that says what became of each of many models, in the folder that has one for each."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says where there is no room."""


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
        final = Path(os.path.realpath(final))
    need_directory(final, place)
    made: list[Path] = []
    scratch: ScratchFolder | None = None
    try:
        scratch = _scratch_for(final, made)
        folder = scratch.path
        _set_permissions(folder, final)
        yield folder
        with locked(folder.parent):
            gone = {name for name in drop(final) if leads_inside(final / name, final)}
            need_free(*(final / name for name in sorted({*gone, *_entries(folder)})))
            _put_in_place(folder, final, gone)
            _remove_emptied(final, gone)
            scratch.remove()
        made = []
    except TransloadError as error:
        if scratch is not None:  # which is no folder of the user's
            error.message = error.message.replace(str(scratch.path), str(place))
        raise
    except OSError as error:
        what = "free space, or choose another -o" if error.errno in _FULL else "choose another -o"
        raise TransloadError(
            f"cannot write to {place}: {reason_of(error, final.parent)}", hint=f"nothing was left half-written; {what}") from None
    finally:
        if scratch is not None:
            scratch.remove()
        remove_empty(reversed(made))


def _scratch_for(final: Path, made: list[Path]) -> ScratchFolder:
    """A folder beside the one that it is to replace, or else in it: of a mount point, and where nothing may be made beside it."""
    if final.is_dir() and is_mounted(final):
        return ScratchFolder(final)
    try:
        return scratch_in(final.parent, made)
    except OSError:
        if not final.is_dir():
            raise
        return ScratchFolder(final)


def _set_permissions(folder: Path, final: Path) -> None:
    """Those that a folder made by anybody has; files in it get the group that they would get in the one that it replaces."""
    mode = permitted(0o777) | folder.stat().st_mode & stat.S_ISGID
    with suppress(OSError):  # there is none to replace, or the group is not ours
        was = final.stat()
        if was.st_mode & stat.S_ISGID:
            os.chown(folder, -1, was.st_gid)
            mode |= stat.S_ISGID
    folder.chmod(mode)


def _remove_emptied(final: Path, gone: set[str]) -> None:
    """Remove the folders that were those of files which are gone alone, as of a conversion in parts."""
    within = {final / parent for name in gone for parent in Path(name).parents if parent != Path()}
    remove_empty(sorted(within, key=lambda folder: -len(folder.parts)))


def _put_in_place(folder: Path, final: Path, drop: set[str]) -> None:
    if not final.exists():
        try:
            folder.rename(final)
            return
        except OSError:  # another process may have put something there
            if not final.exists():
                raise
    if not os.access(final, os.W_OK | os.X_OK):  # it could be exchanged, and then not be emptied
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(final))
    entries = _entries(folder)
    for entry in entries:
        if drop.isdisjoint(map(str, Path(entry).parents)):
            need_place(final / entry, "another -o")
    need_no_mount(final, sorted({*entries, *drop}))
    if folder.parent == final or not exchanged(final, folder, drop):
        _move_files(folder, entries, final, drop)


def _entries(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir())


def _move_files(folder: Path, entries: list[str], final: Path, drop: set[str]) -> None:
    """File by file, where a folder cannot be exchanged: the report last, so that what has a report is whole.

    Where one cannot be replaced, or removed, those before it are put back, and the report again last.
    """
    moves = _Moves(folder, final)
    try:
        moves.take(REPORT)
        for entry in sorted(drop - set(entries)):
            moves.take(entry)
        for entry in sorted(entries, key=lambda entry: entry == REPORT):
            moves.bring(entry)
    except BaseException:
        moves.undo()
        raise


class _Moves:
    """Files that are moved from one folder into another, and what undoes it; what was there is kept in the first one."""

    def __init__(self, folder: Path, final: Path) -> None:
        self.folder, self.final = folder, final
        self.kept = Path(mkdtemp(dir=folder))
        self.back: list[Callable[[], object]] = []

    def take(self, entry: str) -> None:
        """Move an earlier file away, where there is one."""
        place = self.final / entry
        if os.path.lexists(place):
            self._keep(place, Path.replace)

    def bring(self, entry: str) -> None:
        """Move a new file into its place, so that there always is one of the two."""
        place, made = self.final / entry, list[Path]()
        made += (parent for parent in place.parents if not parent.exists())
        self.back.append(partial(remove_empty, made))
        place.parent.mkdir(parents=True, exist_ok=True)
        was_there = os.path.lexists(place)
        if was_there:
            try:
                self._keep(place, lambda there, kept: os.link(there, kept, follow_symlinks=False))
            except OSError:  # no links here, or not to what is another's
                self._keep(place, Path.replace)
        (self.folder / entry).replace(place)
        if not was_there:
            self.back.append(partial(place.unlink, missing_ok=True))

    def _keep(self, place: Path, move: Callable[[Path, Path], object]) -> None:
        kept = self.kept / str(len(self.back))
        with suppress(FileNotFoundError):  # somebody removed it meanwhile
            move(place, kept)
            self.back.append(partial(kept.replace, place))

    def undo(self) -> None:
        """Put back what was there, as far as that can be: a file that stays another one leaves the folder without a report."""
        with suppress(OSError):
            for step in reversed(self.back):
                step()

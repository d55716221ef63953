"""A new folder takes the place of an old one in one step, and what else is in that stays, though it be written meanwhile.

The other files are linked into the new folder, the two change places by one system call, and what came into the old one
since it was looked at is moved over before that is removed. Whoever makes a file in it by `scratch` is waited for, or has
it left where it is. A folder that would be another one afterwards (a mount point in it, an owner that cannot be given,
much else in it) is not exchanged.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

from .errors import UsageError
from .files import current_directory
from .scratch import PREFIX, Hold, remove_abandoned

__all__ = ["exchanged", "is_mounted", "need_no_mount"]

_OTHERS = 100
"""How many other files and folders a folder may hold that is exchanged: one with more is somebody's own, and stays."""
_LOOKS = 100
"""How often to look whether something came into a folder that is being removed."""
_TAKEN = f"{PREFIX}taken"
"""What a file of the old folder is called while it is looked at."""
_PATIENCE = 1.0
"""Seconds to wait for somebody who holds one of the folders."""
_FREE, _EXCHANGE = 1, 2
"""RENAME_NOREPLACE and RENAME_EXCHANGE of Linux's renameat2(2)."""
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES, errno.EEXIST)
"""What the system says where it cannot exchange two folders, or what is in the place is not to be replaced."""


def exchanged(final: Path, folder: Path, drop: set[str]) -> bool:
    """Let `folder` take the place of `final`, together with the other files there but for those in `drop`.

    What was there and went is removed. False where that cannot be: then `final` is as it was.
    """
    if not _can_be_exchanged(final):
        return False
    with ExitStack() as held:
        others = _Others(final, folder, drop, held)
        if not (others.link() and exchange(folder, final)):
            return False
        others.settle()
    return True


def is_mounted(folder: Path) -> bool:
    """Whether a folder is a mount point: nothing can be renamed into it from beside it."""
    return os.path.ismount(folder) or Path(os.path.realpath(folder)) in _mounted_in(folder)


def need_no_mount(folder: Path, places: Iterable[str]) -> None:
    """Raise `UsageError` where something is mounted in a folder in the place of one of these files, or on the way there."""
    real, mounted = Path(os.path.realpath(folder)), _mounted_in(folder)
    for place in places:
        for part in (Path(place), *Path(place).parents[:-1]):
            if real / part in mounted:
                raise UsageError(f"{folder / part} is a mount point, where a file is to be written", hint="choose another -o")


def _can_be_exchanged(final: Path) -> bool:
    """Whether a folder may become another one: no mount point, with none in it, no link, and not where this process stands."""
    here = current_directory()
    stays = os.path.ismount(final) or final.is_symlink() or (here is not None and final in (here, *here.parents))
    return not (stays or _mounted_in(final))


def _mounted_in(folder: Path) -> set[Path]:
    """Mount points that a folder is and has in it, those of folders of the same file system, too, which nothing else tells."""
    real = os.path.realpath(folder)
    try:
        lines = os.fsdecode(Path("/proc/self/mountinfo").read_bytes()).splitlines()
    except OSError:
        return set()
    places = [line.split(" ")[4] for line in lines if line.count(" ") > 4]
    told = [re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place) for place in places]
    return {Path(place) for place in told if f"{place}/".startswith(f"{real}/")}


class _Others:
    """What is in `final` beside the new files, which are in `folder`; the folders that are looked at are `held`."""

    def __init__(self, final: Path, folder: Path, drop: set[str], held: ExitStack) -> None:
        self.final, self.folder, self.drop, self.held = final, folder, drop, held
        self.new: set[Path] = set()
        """The files of ours that take the place of others."""
        self.linked: dict[Path, tuple[int, int]] = {}
        """The files that are the new folder's, too, as they were last."""
        self.gone: dict[Path, tuple[int, int]] = {}
        """The files that are to go."""
        self.count = 0

    def link(self) -> bool:
        """Link all into the new folder; False where that cannot be."""
        try:
            return self._link(Path())
        except OSError:  # no links between these, no permission, or held by others
            return False

    def _link(self, within: Path) -> bool:
        old, new = self.final / within, self.folder / within
        hold = Hold(old, patience=_PATIENCE)
        self.held.callback(hold.let_go)
        if not hold.is_of(old):
            return False
        remove_abandoned(old)
        new.mkdir(mode=0o700, exist_ok=True)
        with os.scandir(old) as entries:
            for entry in entries:
                place = within / entry.name
                if not (self._link_folder(place) if entry.is_dir(follow_symlinks=False) else self._link_file(place)):
                    return False
        return _same_state(old, new)

    def _link_folder(self, place: Path) -> bool:
        self.count += 1
        is_free = self.count <= _OTHERS and not place.name.startswith(PREFIX)  # else somebody writes there
        return is_free and self._link(place)

    def _link_file(self, place: Path) -> bool:
        if str(place) in self.drop:
            self.gone[place] = _identity(self.final / place)
        elif os.path.lexists(self.folder / place):
            self.new.add(place)
        else:
            self.count += 1
            os.link(self.final / place, self.folder / place, follow_symlinks=False)
            self.linked[place] = _identity(self.folder / place)
        return self.count <= _OTHERS

    def settle(self) -> None:
        """Move over what came into the old folder since, which is where the new one was, and remove that; what went goes, too."""
        with suppress(OSError):
            for place, identity in self.linked.items():
                if not os.path.lexists(self.folder / place) and _identity(self.final / place) == identity:
                    (self.final / place).unlink()
            self._empty(Path())

    def _empty(self, within: Path) -> None:
        old = self.folder / within
        with suppress(OSError):
            old.chmod(0o700)
        for _ in range(_LOOKS):
            with os.scandir(old) as entries:
                for entry in list(entries):
                    with suppress(FileNotFoundError):
                        self._move(within / entry.name, entry.is_dir(follow_symlinks=False))
            try:
                old.rmdir()
                return
            except OSError as error:
                if error.errno != errno.ENOTEMPTY:
                    raise

    def _move(self, place: Path, is_folder: bool) -> None:
        old, new = self.folder / place, self.final / place
        if is_folder and new.is_dir() and not new.is_symlink():
            self._empty(place)
        elif is_folder:
            old.replace(new)
        else:
            taken = self.folder / _TAKEN  # before it is looked at, for others may write there at any moment
            old.replace(taken)
            if place not in self.new and _identity(taken) not in (self.linked.get(place), self.gone.get(place)):
                self._bring(taken, place)
            taken.unlink(missing_ok=True)

    def _bring(self, taken: Path, place: Path) -> None:
        """Let a file be the new folder's, in the place of one that is `linked` alone: another that is there is newer."""
        new, mine = self.final / place, _identity(taken)
        if not _renamed(taken, new, _FREE):
            with suppress(FileNotFoundError):  # it was removed meanwhile
                if _identity(new) != self.linked.get(place):
                    return
            taken.replace(new)
        self.linked[place] = mine  # for a still newer one, written by who found the old folder before it went


def _identity(path: Path) -> tuple[int, int]:
    """What is the same of a file under all its names, and of no later one, which may get the number alone of one that is gone."""
    found = path.lstat()
    return found.st_ino, found.st_mtime_ns


def _same_state(old: Path, new: Path) -> bool:
    """Give a folder the owner, permissions, times and attributes of another; False where that cannot be."""
    was, made = old.stat(), new.stat()
    if _owner(was) != _owner(made):
        os.chown(new, was.st_uid, was.st_gid)
    shutil.copystat(old, new)
    return stat.S_IMODE(was.st_mode) == stat.S_IMODE(new.stat().st_mode) and _attributes(old) == _attributes(new)


def _owner(found: os.stat_result) -> tuple[int, int]:
    return found.st_uid, found.st_gid


def _attributes(folder: Path) -> dict[str, bytes]:
    """Lists of who may do what, labels and others of users; none where the system or the file system has none."""
    if sys.platform != "linux":
        return {}
    try:
        return {name: os.getxattr(folder, name) for name in os.listxattr(folder)}
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return {}
        raise


def exchange(one: Path, other: Path) -> bool:
    """Let two folders, or files, change places in one step; False where this system or file system cannot."""
    return _renamed(one, other, _EXCHANGE)


def _renamed(one: Path, other: Path, how: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here = -100  # AT_FDCWD: the paths are absolute
    if rename(here, os.fsencode(one), here, os.fsencode(other), how) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))

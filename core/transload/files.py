"""Writing files so that they are complete or not there; looking into archives."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from .apart import need_free, note_read
from .errors import ReadError, TransloadError, UsageError
from .forks import thread_lock
from .scratch import ScratchFolder

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

__all__ = [
    "LOST", "archive_names", "atomic_path", "bytes_of", "current_directory", "end_of_links", "exists", "is_binary", "is_file",
    "is_folder", "kind_of", "leads_inside", "lost_directory", "mask_of_process", "need_directory", "need_file",
    "need_place", "need_svg", "open_member", "own_text", "permitted", "reason_of", "remove_empty", "scratch_in", "text_of",
]


_TRIES = 20
"""How often to make a folder that others take away."""
_LINKS = 40
"""Links of which each leads to the next: as many as Linux follows."""
_MOST_OWN = 1 << 30
"""Bytes of a text that Transload wrote of a run: far more than any has."""
_PICTURES = frozenset((
    ".bmp", ".eps", ".gif", ".jpeg", ".jpg", ".pdf", ".png", ".ppm", ".ps", ".svgz", ".tif", ".tiff", ".webp"))
"""Of pictures that are not written here."""
_mask_lock = thread_lock()
LOST = "the current directory is not there any more"


def lost_directory(error: OSError) -> bool:
    """Whether an error comes of that the directory in which this process stands was removed."""
    return isinstance(error, FileNotFoundError) and current_directory() is None and (
        not isinstance(error.filename, str | bytes) or not Path(os.fsdecode(error.filename)).is_absolute())


def reason_of(error: OSError, place: Path) -> str:
    """What the system said, with the name of the file that it is about where that is not in `place`, a file or a folder."""
    if lost_directory(error):
        return LOST
    said, other = error.strerror or str(error) or type(error).__name__, error.filename
    if not isinstance(other, str | bytes) or Path(os.fsdecode(other)).absolute().is_relative_to(place.absolute()):
        return said
    return f"{said}: {os.fsdecode(other)}"


def need_file(path: Path) -> None:
    """Raise `ReadError` where there is no file to read: nothing, or a pipe, at which reading would wait for ever.

    A directory is left to the caller. The file is noted as one that is read (`apart.note_read`).
    """
    note_read(path)
    try:
        found = path.stat()
        mode = found.st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ReadError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:  # too long a name, a loop of links, a zero byte in the name
        raise ReadError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ReadError(f"{path}: is a {kind_of(mode)}, not a file", hint="write what comes out of it to a file, and give that")
    if stat.S_ISREG(mode) and _is_of_the_kernel(found):
        raise ReadError(f"{path}: is what the kernel says, which may have no end, not a file",
                        hint="write what comes out of it to a file, and give that")


def _is_of_the_kernel(found: os.stat_result) -> bool:
    """Whether what calls itself a regular file is of `/proc`, of which some wait for more than there is."""
    try:
        return sys.platform == "linux" and found.st_size == 0 and found.st_dev == Path("/proc").stat().st_dev
    except OSError:
        return False


def text_of(path: str | Path, what: str) -> str:
    """The text of a file that is to be `what`. Raises `ReadError` where it is no text, or no file (`need_file`)."""
    file = Path(path)
    need_file(file)
    try:
        return file.read_text(encoding="utf-8-sig")  # without the mark that editors put before it
    except UnicodeDecodeError:
        raise ReadError(f"{path}: cannot be read as {what}: it is no text") from None
    except OSError as error:
        raise ReadError(f"{path}: cannot be read as {what}: {error.strerror or error}") from None


def own_text(path: Path) -> str:
    """The text of a file that an earlier run wrote, as a report, of which nobody said that it be read.

    Raises `OSError` where it cannot be read, or something else lies in its place: a pipe, which would be waited for, or more than
    was ever written.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"is a {kind_of(found.st_mode)}, not a file", str(path))
    if found.st_size > _MOST_OWN:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return path.read_text(encoding="utf-8")


def bytes_of(path: str | Path) -> bytes:
    """The bytes of a file. Raises `ReadError` where they cannot be read, or it is no file (`need_file`)."""
    need_file(Path(path))
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from None


def kind_of(mode: int) -> str:
    """What there is at a path, by its mode: a file, a directory, a pipe, a socket or a device."""
    kinds = {stat.S_ISREG: "file", stat.S_ISDIR: "directory", stat.S_ISFIFO: "pipe", stat.S_ISSOCK: "socket"}
    return next((kind for is_one, kind in kinds.items() if is_one(mode)), "device")


def _elsewhere(mode: int, what: str) -> str:
    """What to do where something is in the way: a device, a pipe and a socket are others', and not removed."""
    is_ours = stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
    return f"choose {what}, or remove it" if is_ours else f"choose {what}"


def need_place(path: Path, instead: str = "another name") -> None:
    """Raise `UsageError` where something else than a file is in the place of one, or where a link in it leads: a device would
    be replaced by a file.

    The error advises what to choose `instead`. Who writes what took long to compute asks before it is computed.
    """
    if not path.name:  # the root, or the current directory
        raise UsageError(f"{path} is a directory, where a file is to be written", hint="give a file's name")
    end = path
    try:
        end = end_of_links(path)
        if _is_in_the_kernel(end.parent):  # as /dev/stdout is: a file that this process writes to already would be replaced
            raise UsageError(f"{path} is what the kernel says, where a file is to be written", hint=f"choose {instead}")
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        _need_folders_above(end)
        return
    except (OSError, ValueError) as error:  # too long a name, a folder that may not be looked into, a zero byte in the name
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{str(path)[:80]!r} is no place to write a file to: {why}") from None
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is a {kind_of(mode)}, where a file is to be written", hint=_elsewhere(mode, instead))
    _need_rights(path, end.parent)


def need_svg(path: Path, or_table: bool = False) -> None:
    """Raise `UsageError` where a file's suffix is of something else than the SVG picture, or the table, that is to be in it."""
    suffix = path.suffix.lower()
    if suffix in _PICTURES if or_table else suffix not in ("", ".svg"):
        raise UsageError(f"{path} is to be an SVG picture, and {path.suffix} files are others",
                         hint=f"name it {path.with_suffix('.svg').name}{', or .tsv for a table' if or_table else ''}")


def end_of_links(path: Path) -> Path:
    """Where a path leads: itself, or what a link there names, and so on, up to the kernel's own links. `OSError` for a loop."""
    for _ in range(_LINKS):
        if not path.is_symlink() or _is_in_the_kernel(path.parent):
            return path
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _is_in_the_kernel(folder: Path) -> bool:
    """Whether a folder is of `/proc`, where that is not just a folder, as it may be in a container."""
    kernel = Path("/proc")
    try:
        return sys.platform == "linux" and kernel.is_mount() and folder.stat().st_dev == kernel.stat().st_dev
    except OSError:
        return False


def _is_no_disk(folder: Path) -> bool:
    """Whether a folder is of what the kernel says, where no files are for us: `/proc`, `/sys`, and `/dev`.

    But for `/dev/shm`, and for a disk that is mounted below `/dev`. Where one of these is just a folder, as where another root is
    set up, it is one as others are.
    """
    if sys.platform != "linux":
        return False
    try:
        end = folder.resolve()
    except (OSError, RuntimeError):  # a loop of links: told by who looks at it
        return False
    if end.is_relative_to("/dev/shm"):
        return False
    for kernel in map(Path, ("/sys", "/dev")):
        if end.is_relative_to(kernel):
            return kernel.is_mount() and not (kernel.name == "dev" and _is_a_disk_below(kernel, end))
    return _is_in_the_kernel(folder)


def leads_inside(path: Path, folder: Path) -> bool:
    """Whether what a path leads to, by the links on its way, lies in a folder; not so where links go round."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


def _is_a_disk_below(kernel: Path, folder: Path) -> bool:
    """Whether a folder is on something with room for files that is mounted there: `/dev/pts` and the like have none."""
    with suppress(OSError):
        return folder.stat().st_dev != kernel.stat().st_dev and os.statvfs(folder).f_blocks > 0
    return False


def need_directory(path: Path, named: object = None) -> None:
    """Raise `UsageError` where no directory is at a path, and none can be made there; `named` is how the user called it."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        _need_folders_above(path)
        return
    except (OSError, ValueError) as error:  # too long a name, a loop of links, a zero byte in the name
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{str(named or path)[:80]!r} is no directory to write to: {why}") from None
    if not stat.S_ISDIR(mode):
        raise UsageError(f"{named or path} is a {kind_of(mode)}; give a directory to write to")
    if _is_no_disk(path):
        raise _of_the_kernel(named or path, path)
    _need_rights(named or path, path)


def _need_folders_above(path: Path) -> None:
    """Raise `UsageError` where what is there of the way to a path is no directory, below which none can be made."""
    for parent in path.parents:
        with suppress(OSError, ValueError):  # what may not be looked at is told by who writes there
            if not stat.S_ISDIR(parent.lstat().st_mode) and not parent.is_dir():
                mode = parent.lstat().st_mode
                kind = "link that leads to no directory" if parent.is_symlink() else kind_of(mode)
                raise UsageError(f"{path} cannot be written: {parent} is a {kind}", hint=_elsewhere(mode, "another place"))
            if _is_no_disk(parent):
                raise _of_the_kernel(path, parent)
            _need_rights(path, parent)
            return


def _need_rights(path: object, folder: Path) -> None:
    """Raise `UsageError` where this process may not make files in a folder, or that lies on a disk that is only read."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{path} cannot be written: this process may not make files in {folder}", hint="choose another place")


def _of_the_kernel(path: object, folder: Path) -> UsageError:
    return UsageError(f"{path} cannot be written: {folder} is what the kernel says, and no place for files",
                      hint="choose a place on a disk, as -o out")


def is_file(path: Path) -> bool:
    """Whether there is a regular file: one that is read to its end, and not waited for."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether a path is a directory, which what cannot be looked at is not: who reads it says why."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text: it has control characters, as lengths of short names are."""
    return any(byte < 0x20 and byte not in b"\t\n\v\f\r" for byte in head)


def exists(path: Path) -> bool:
    """Whether there is something at a path, which there is not where no name may be as long."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def current_directory() -> Path | None:
    """Where this process stands; None where that was removed meanwhile."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def permitted(mode: int) -> int:
    """Those permissions of `mode` that whoever started the process gives to new files (`umask`)."""
    return mode & ~mask_of_process()


def mask_of_process() -> int:
    """The permissions that new files of this process do not get.

    Where the kernel does not say them, they can only be asked for by setting others, which a file has that another thread
    makes at that moment.
    """
    with suppress(OSError, ValueError):
        status = Path("/proc/self/status").read_bytes()
        if (at := status.find(b"\nUmask:")) >= 0:
            return int(status[at + 7:at + 16].split()[0], 8)
    with _mask_lock:  # of two threads that ask, one would take the other's for what was there, and leave it
        mask = os.umask(0o077)
        os.umask(mask)
    return mask


def scratch_in(parent: Path, made: list[Path]) -> ScratchFolder:
    """A scratch folder in a folder, which is made, too; `made` gets those that were not there.

    Another process may take the folder away meanwhile, and put another in its place: then it is in that.
    """
    tries = 0
    while True:
        made += [folder for folder in (*reversed(parent.parents), parent) if not folder.exists() and folder not in made]
        try:
            parent.mkdir(parents=True, exist_ok=True)
            return ScratchFolder(parent)
        except FileNotFoundError:
            tries += 1
            if tries == _TRIES:
                there = next(folder for folder in (parent, *parent.parents) if folder.exists() or folder == folder.parent)
                raise FileNotFoundError(errno.ENOENT, f"no folder can be made in {there}") from None


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those folders that are empty, in this order; the others stay."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it is renamed to `path` when the block ends well, after files beside it.

    Where `path` is a link, that stays, and what it leads to is written.

    Raises `TransloadError` where the place cannot be written (no room, no permission), `UsageError` where a device or a
    directory is there, or a file that is read meanwhile (`apart`), and leaves nothing behind.
    """
    final, made = Path(path), list[Path]()
    try:
        need_place(final)
        final = end_of_links(final)
        need_free(final)
        with scratch_in(final.parent, made) as folder:
            temporary = folder / final.name
            yield temporary
            beside = sorted(file for file in folder.iterdir() if file.is_file() and file != temporary)
            need_free(*(final.parent / file.name for file in beside))
            for file in (*beside, temporary):
                file.chmod(permitted(0o666))
                file.replace(final.parent / file.name)
    except OSError as error:
        raise TransloadError(f"cannot write {final}: {reason_of(error, final.parent)}") from None
    finally:
        remove_empty(reversed(made))


def open_member(archive: ZipFile, info: ZipInfo) -> IO[bytes]:
    """A member of a zip archive, of which no more is unpacked than is read.

    Raises `NotImplementedError`, as for methods that nobody knows, for those that become any size at once: a gigabyte, of one KB.
    """
    import zipfile

    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        method = zipfile.compressor_names.get(info.compress_type, str(info.compress_type))  # type: ignore[attr-defined]
        raise NotImplementedError(f"{info.filename!r:.100} is compressed by {method}; deflate is what is read")
    return archive.open(info)


def archive_names(path: Path) -> list[str]:
    """The names in a zip archive; none where a file is no such archive, or a damaged one."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return []

"""Which reader a file has, and which writer: by its suffix, by what is in it, or in the folder that it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .artifact_set import REPORT
from .contents import STRUCTURE
from .errors import PluginFailure, ReadError, TransloadError, UsageError
from .files import is_file, is_folder, reason_of
from .mistaken import knows, mistaken
from .plugin import Reader, Source, resolve
from .plugin_host import host
from .reported import in_its_place, need_as_written, one_of_these, report_in, unreported
from .shell import quoted

if TYPE_CHECKING:
    from .plugin import ForeignFormat, Writer

__all__ = ["HEAD", "file_as_written", "file_of", "file_of_folder", "foreign_content", "model_file", "reader_for", "writer_for"]

Named = TypeVar("Named", Reader, "Writer")
HEAD = 4096
"""Bytes of a file that tell its format."""


def model_file(folder: Path) -> Path:
    """The file that is the model in a folder which is one, or that of a conversion; `ReadError` for any other folder."""
    found = file_of_folder(folder) or _written_in(folder)
    if found is not None:
        return found
    failed: list[PluginFailure] = []
    foreign = _foreign(folder, b"", failed)
    raise foreign or (failed[0] if failed else None) or unreported(folder, _suffixes()) or ReadError(
        f"{folder}: is a directory, not a model file", hint=in_its_place(folder, _suffixes()))


def file_of_folder(folder: Path) -> Path | None:
    """The file that is the model in a folder which a framework keeps one in; None for any other folder."""
    names = (folder / name for reader in host().readers.values() for name in reader.folder)
    return next((file for file in names if is_file(file)), None)


def _written_in(folder: Path) -> Path | None:
    """The file that a conversion wrote to a folder, and a reader takes; None where there is none.

    Raises `ReadError` where it wrote one for each of several parts.
    """
    from .emission import program_among

    report = report_in(folder)
    if report is None:
        return None
    files = [folder / name for name in report["files"]]
    if report["partition"] is not None:
        raise ReadError(f"{folder}: is a conversion in parts, each of which is a model by itself",
                        hint=one_of_these(files, _suffixes()))
    return program_among([file for file in files if is_file(file)], report["target"])


def file_of(path: Path) -> Path:
    """The file that a model is read from: itself, or that in the folder that it is. `ReadError` for any other folder."""
    return model_file(path) if is_folder(path) else path


def file_as_written(path: Path) -> Path:
    """`file_of`, of the folder of a conversion where no file is another than it wrote: `ReadError` where one is."""
    file = file_of(path)
    if file != path and file_of_folder(path) is None and (report := report_in(path)) is not None:
        need_as_written(path, path, report, _suffixes())
    return file


def reader_for(source: Source) -> Reader:
    """The reader for a file, by its suffix, else by its first bytes. Of several that have the suffix, one that knows these comes
    first, then one that does not look at them: `ReadError` where more than one does not."""
    path = source.path
    if path is None:
        raise UsageError("a source without a path needs a format")
    readers = host().readers.values()
    by_suffix = [reader for reader in readers if path.name.lower().endswith(reader.suffixes)]
    if len(by_suffix) == 1:
        return by_suffix[0]
    if path.name == REPORT and report_in(path.parent) is not None:  # it may name ops, as text of them does
        raise ReadError(f"{path}: is the report of a conversion, and no model", hint=f"give its folder, {quoted(path.parent)}")
    try:
        head = bytes(source.data[:HEAD])
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from None
    failed: list[PluginFailure] = []
    if by_suffix and (foreign := _foreign(path, head, failed, _sharing(path))) is not None:
        raise foreign
    for reader in sorted(by_suffix or readers, key=lambda reader: reader.dialect == "builtin"):  # text of any dialect comes last
        try:
            if reader.detect is not None and resolve(reader.detect)(head, path):
                return reader
        except PluginFailure as error:  # one that cannot tell its files leaves them to others
            failed.append(error)
        except OSError as error:
            raise ReadError(f"{path}: cannot be read: {reason_of(error, path)}") from None
    if undecided := [reader for reader in by_suffix if reader.detect is None]:
        return _the_one(undecided, "read", path, ReadError, "--format")
    if (foreign := _foreign(path, head, failed)) is not None:
        raise foreign
    if failed:
        raise failed[-1]
    what = mistaken(head, path, None, [reader for reader in readers if reader not in by_suffix])
    if (not what or path.name == REPORT) and (written := unreported(path, _suffixes())) is not None:
        raise written
    known = ", ".join(f"{reader.name} ({' '.join(reader.suffixes)})" if reader.suffixes else reader.name for reader in readers)
    raise ReadError(
        f"{path}: no reader knows this format",
        hint=what or f"readers: {known}; or say which with --format{host().absent()}")


def _the_one(found: Sequence[Named], does: str, path: Path, error: type[TransloadError], option: str) -> Named:
    """What there is one of; the error where there are more, and a file's name does not say which of them is meant."""
    if len(found) > 1:
        suffix = next(each for each in found[0].suffixes if path.name.lower().endswith(each))
        raise error(f"{path}: {' and '.join(each.name for each in found)} {does} {suffix} files", hint=f"say which with {option}")
    return found[0]


def _suffixes() -> list[str]:
    return [suffix for reader in host().readers.values() for suffix in reader.suffixes]


def foreign_content(path: Path, head: bytes, refused: Reader) -> ReadError | None:
    """What to say of a file whose name is of a format that is read, where its reader `refused` it and what is in it is of a
    format that is known and not read; None for others."""
    if knows(refused, head, path):
        return None
    return _foreign(path, head, [], [format for format in host().formats.values() if format.detect is not None])


def _sharing(path: Path) -> list[ForeignFormat]:
    """The formats of a suffix that formats which are read have, too: those that say that they have it, and know their content."""
    return [format for format in host().formats.values()
            if format.detect is not None and path.name.lower().endswith(format.suffixes)]


def _foreign(
    path: Path, head: bytes, failed: list[PluginFailure], formats: Iterable[ForeignFormat] | None = None,
) -> ReadError | None:
    """What to say of a file, or directory, in a format that is known (of `formats`, or any) and not read; None where it is not
    known either.

    One that cannot tell leaves the file to others; its failure is added to `failed`, for where nobody knows it.
    """
    for format in host().formats.values() if formats is None else formats:
        try:
            if format.knows(head, path):
                folder = path if path.is_dir() else path.parent
                way = format.way.replace("{path}", quoted(path)).replace("{folder}", quoted(folder))
                return ReadError(f"{path}: is {format.title}, which is not read here", hint=way)
        except PluginFailure as error:
            failed.append(error)
        except OSError:
            continue
    return None


def writer_for(file: Path, dialects: Iterable[str]) -> Writer:
    """The writer of a file's suffix, of several that of a module of these dialects; `UsageError` where there is none, or more."""
    found = [writer for writer in host().writers.values() if file.name.lower().endswith(writer.suffixes)]
    if not found:
        suffixes = ", ".join(suffix for writer in host().writers.values() for suffix in writer.suffixes)
        raise UsageError(f"no writer for {file.suffix or file.name!r}", hint=f"suffixes: {suffixes}{host().absent()}")
    there = set(dialects)
    fit = [writer for writer in found if {writer.dialect} >= there > set()] or [
        writer for writer in found if writer.dialect in STRUCTURE] or (found[:1] if there else found)
    return _the_one(fit, "write", file, UsageError, "format=")

"""Which files in folders are models, and which only have the name of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..artifact_set import REPORT
from ..errors import ReadError, TransloadError, UsageError
from ..file_formats import file_of_folder, reader_for
from ..files import exists, is_folder, need_file
from ..plugin import Source
from ..plugin_host import host
from ..reported import is_report_of_others, report_in

__all__ = ["Found", "found_in", "holds_models", "models_in"]


@dataclass(frozen=True)
class Found:
    """A model, or what has the name of one."""

    name: str
    """Its path from the folder that was given."""
    path: Path
    why_not: TransloadError | None = None
    """Why it is none, or not converted: an empty file, a link that leads nowhere, a folder that may not be listed; its name."""


def models_in(places: Iterable[str | Path], format: str | None = None) -> Iterator[tuple[str, Path]]:
    """The models among files and folders, by name: the path of each from the folder that was given.

    A folder that is a model itself, or that a conversion wrote, is one; of any other, all files are that a reader takes, those of
    its folders, too. Raises `UsageError` where one is not there, holds none, or has the name of another.
    """
    yield from ((each.name, each.path) for each in found_in(places, format) if each.why_not is None)


def found_in(places: Iterable[str | Path], format: str | None = None) -> list[Found]:
    """What `models_in` gives, and what is passed over in folders although it has a model's name. Raises the same."""
    found: dict[str, Found] = {}
    for place in map(Path, places):
        need_file(place)
        inside = [Found(place.name, place)] if not is_folder(place) or _is_one(place) else list(_within(place, place))
        if not any(each.why_not is None for each in inside):
            why = "; ".join(each.why_not.in_a_line for each in inside[:3] if each.why_not is not None)
            raise UsageError(f"{place}: holds no file that a reader takes{': ' if why else ''}{why}",
                             hint=f"readers: {', '.join(host().readers)}")
        for each in inside:
            if found.setdefault(each.name, each).path.absolute() != each.path.absolute():
                raise UsageError(
                    f"{found[each.name].path} and {each.path} would both be written to {each.name!r}",
                    hint="convert them into two folders")
    if not found:
        raise UsageError("there are no models to convert")
    return list(found.values())


def holds_models(folder: Path) -> bool:
    """Whether a folder is no model, and has models in it, or what has the name of one."""
    return not _is_one(folder) and next(_within(folder, folder), None) is not None


def _is_one(folder: Path) -> bool:
    """Whether a folder is a model: one that a framework keeps in it, or what a conversion wrote, with no other beside it."""
    if file_of_folder(folder) is not None:
        return True
    report = report_in(folder)
    written = {folder / name for name in report["files"]} if report is not None else set()
    return bool(written) and all(each.path in written for each in _within(folder, folder))


def _within(folder: Path, root: Path) -> Iterator[Found]:
    """What is in a folder and its folders; a link to a folder is followed where that is a model, and is else no way: it may
    lead back.
    """
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        yield Found(str(folder.relative_to(root)), folder, ReadError(f"{folder}: cannot be listed: {error.strerror or error}"))
        return
    for path in inside:
        if path.name.startswith("."):
            continue
        name = str(path.relative_to(root))
        if path.is_dir():
            if file_of_folder(path) is not None:
                yield Found(name, path)
            elif not path.is_symlink() and not _is_written(path):
                yield from _within(path, root)
        elif _has_models_name(path):
            why_not = _why_unread(path)
            if why_not is not None or _is_model(path):
                yield Found(name, path, why_not)


def _is_written(folder: Path) -> bool:
    """Whether a folder is what a conversion wrote, by its report: no zoo."""
    report = folder / REPORT
    return exists(report) and not is_report_of_others(report)


def _has_models_name(path: Path) -> bool:
    """Whether a file has a reader's suffix: the first bytes alone say too little of what lies in a folder."""
    return any(path.name.lower().endswith(reader.suffixes) for reader in host().readers.values())


def _why_unread(path: Path) -> ReadError | None:
    """Why a file cannot be read at all; None where it can."""
    try:
        if path.is_symlink() and not exists(path):
            return ReadError(f"{path}: is a link that leads nowhere")
        need_file(path)
        with path.open("rb") as file:
            return None if file.read(1) else ReadError(f"{path}: is empty")
    except ReadError as error:
        return error
    except OSError as error:
        return ReadError(f"{path}: cannot be read: {error.strerror or error}")


def _is_model(path: Path) -> bool:
    """Whether a reader takes a file."""
    try:
        return reader_for(Source(path, name=str(path))) is not None
    except (TransloadError, OSError):
        return False

"""What the report in a folder says, where it is one of a conversion, as which files may go; and what to say where none is."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from .artifact_set import IMAGES, MANIFEST, REPORT
from .digests import is_as_written
from .errors import ReadError
from .files import is_file, is_folder, leads_inside
from .foreign import need_own
from .json_text import of_json_text
from .shell import quoted

__all__ = [
    "changed_since", "files_of_report", "in_its_place", "is_report_of_others", "need_as_written", "need_files", "one_of_these",
    "relied_on", "report_in", "unreported", "written_with"]

_FEW = 3
"""Files that a hint names."""
_REPORT_BYTES = 1 << 24
_TOLD = (
    ("inputs", "name"), ("inputs", "type"), ("outputs", "name"), ("outputs", "type"), ("states", "input"), ("states", "output"))
"""What a report says of a model's borders in words."""
_OWN = ("files", "target", "target_report")
"""What each report of a conversion has."""


def unreported(path: Path, suffixes: Sequence[str]) -> ReadError | None:
    """What to say of a folder, or a file of none of these `suffixes`, that a conversion may have written, and no report tells of.

    None where nothing speaks for a conversion, or its report is in order.
    """
    folder = path if is_folder(path) and path.name != REPORT else path.parent
    if path == folder and (made := _folders_of_many(path)):
        return ReadError(f"{path}: is what many models were converted to, and no model itself",
                         hint=f"a folder in it can be given: {' or '.join(map(quoted, made[:_FEW]))}")
    file = folder / REPORT
    there = os.path.lexists(file) and (path == file or not is_report_of_others(file))
    programs = in_its_place(folder, suffixes)
    if (not there and (path != folder or not programs)) or report_in(folder) is not None:
        return None
    if not there:
        said = f"{path}: is a directory, not a model file, and has no {REPORT} of a conversion"
    elif path in (folder, file):
        said = f"{file}: is damaged, or is no report of a conversion"
    else:
        said = f"{path}: no reader knows this format, and {REPORT} beside it is damaged, or is none of a conversion"
    return ReadError(said, hint=programs or "convert the model again")


def _folders_of_many(folder: Path) -> list[Path]:
    """The folders of the models that were converted together to a folder, by its table of them."""
    found = _json_of(folder / MANIFEST)
    models = found.get("models") if isinstance(found, dict) else None
    return [folder / name for name in models if is_file(folder / name / REPORT)] if isinstance(models, dict) else []


def in_its_place(folder: Path, suffixes: Sequence[str]) -> str:
    """A hint that names files of these suffixes in a folder that is no model itself; empty where none is there."""
    files: list[Path] = []
    with suppress(OSError):  # of a folder that may not be looked into nothing is known
        files = sorted(folder.iterdir())
    return one_of_these(files, suffixes)


def one_of_these(files: Sequence[Path], suffixes: Sequence[str]) -> str:
    """The same of files: a hint that names those of these suffixes that are there."""
    there = [each for each in files if is_file(each) and each.name.lower().endswith(tuple(suffixes))]
    named = " or ".join(quoted(each) for each in there[:_FEW])
    return f"a file can be given in its place: {named}" if named else ""


def is_report_of_others(file: Path) -> bool:
    """Whether a file is what another program reports, in order, which says nothing of what lies beside it."""
    found = _json_of(file)
    return isinstance(found, dict) and bool(found) and found.keys().isdisjoint(_OWN)


def _json_of(file: Path) -> Any:
    """What is in a file of JSON; None where it cannot be told."""
    if not is_file(file):  # at a pipe it would be waited for ever
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8")) if file.stat().st_size <= _REPORT_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None


def files_of_report(directory: Path, where: Callable[[Path], bool] = lambda file: True) -> list[str]:
    """The files of a directory that an earlier conversion wrote, by its report, as far as they are what it wrote.

    Those alone `where` that holds: of others no digest is computed, which of large files takes seconds.
    Raises `UsageError` where the report is another program's: it would be written over.
    """
    need_own(directory / REPORT, "schema", _OWN)
    report = report_in(directory) or {"files": {}}
    return [name for name in report["files"]
            if where(directory / name) and _is_in_place(directory, name) and is_as_written(directory, report, name)]


def _is_in_place(folder: Path, name: str) -> bool:
    """Whether a file is where a conversion may have written it: no link is in its place, or leads there."""
    if PurePath(name).is_absolute() or str(PurePath(name)) != name:
        return False
    try:
        found = (folder / name).lstat()
        there = (folder / name).parent.resolve() == (folder.resolve() / name).parent
    except (OSError, RuntimeError):  # links may go round
        return False
    return there and stat.S_ISREG(found.st_mode)


def changed_since(folder: Path, report: Mapping[str, Any], names: Collection[str] | None = None) -> list[Path]:
    """The files that are there, in a folder, and are not what a conversion wrote, by the digests in its report (`report_in`).

    With `names` those of them alone.
    """
    known = [name for name in report["digests"] if names is None or name in names]
    return [folder / name for name in known if is_file(folder / name) and not is_as_written(folder, report, name)]


def need_files(files: Iterable[Path]) -> None:
    """`ReadError` where a file of an artifact is not there any more, before anything is to open it."""
    missing = next((file for file in files if not is_file(file)), None)
    if missing is not None:
        raise ReadError(
            f"{missing}: the conversion wrote it, as its report says, and it is not there",
            hint="copy the whole folder of the conversion, or convert the model again")


def need_as_written(
    path: Path, folder: Path, report: Mapping[str, Any], suffixes: Sequence[str], names: Collection[str] | None = None,
) -> None:
    """Raise `ReadError` where a file of the folder that a `path` leads to is gone, or not what the conversion wrote.

    That is by the digests of its report (`changed_since`); with `names` of those of them alone. The hint names files of these
    `suffixes`, which can be given as they are.
    """
    need_files(folder / name for name in report["digests"] if names is None or name in names)
    if changed := changed_since(folder, report, names):
        since = "was changed since it was written" if len(changed) == 1 else "were changed since they were written"
        images = "".join(f" with a copy of {quoted(file)} as --preprocess" for file in changed if file.name == IMAGES)
        as_it_is = one_of_these([folder / name for name in report["files"]], suffixes)
        raise ReadError(
            f"{path}: {', '.join(map(quoted, changed))} {since}, by the digest in {REPORT}",
            hint=f"convert again{images}{f'; as it is now, {as_it_is}' if as_it_is else ''}")


def relied_on(folder: Path, report: Mapping[str, Any]) -> list[Path]:
    """What a conversion in a folder is opened by: its report, and all files that this lists."""
    return [folder / REPORT, *(folder / name for name in report["files"])]


def written_with(path: Path) -> list[Path]:
    """The same of the conversion that wrote a file, by the report beside it; nothing where none did."""
    report = report_in(path.parent)
    return relied_on(path.parent, report) if report is not None and path.name in report["files"] else []


def report_in(folder: Path) -> dict[str, Any] | None:
    """The report of a conversion in a folder; None where there is none that is one. Its `files` are sizes by name.

    Its `digests` are of them, by name; older reports have none.
    """
    file = folder / REPORT
    if not is_file(file) or file.stat().st_size > _REPORT_BYTES:
        return None
    try:
        found = of_json_text(file.read_text(encoding="utf-8"))
        files, name, more, cut = found["files"], found["target"], found["target_report"], found.get("partition")
        if found.get("status") == "refused":  # of parts that were written nowhere
            files, cut = {}, None
        plain = isinstance(files, dict) and isinstance(name, str) and isinstance(more, dict)
        inside = plain and all(leads_inside(folder / each, folder) for each in files)
        borders = {side: found.get(side, []) for side in ("inputs", "outputs", "states")}
        told = all(isinstance(each[key], str) for side, key in _TOLD for each in borders[side])
        if not (inside and told and (cut is None or _is_partition(cut, files, borders["inputs"]))):
            return None
        given = found.get("digests", {})
        if not _are_texts(given):
            return None
        digests = {each: given[each] for each in files if each in given}
        return {"files": dict(files), "digests": digests, "target": name, "target_report": more, "partition": cut, **borders}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _are_texts(given: Any) -> bool:
    """Whether something is an object whose values are texts."""
    return isinstance(given, dict) and all(isinstance(text, str) for text in given.values())


def _is_partition(cut: Any, files: Mapping[str, Any], inputs: Sequence[Any]) -> bool:
    """Whether something is what a report says of parts, of files of the artifact alone; nothing is given twice."""
    def are_names(given: Any) -> bool:
        return isinstance(given, list) and all(isinstance(name, str) for name in given)

    given = [each["name"] for each in inputs] + [name for each in cut["parts"] for name in each["outputs"]]
    return _are_texts(cut["outputs"]) and isinstance(cut["parts"], list) and len(set(given)) == len(given) and all(
        isinstance(each["place"], str) and isinstance(each.get("target"), str | None) and isinstance(each["target_report"], dict)
        and are_names(each["files"]) and set(each["files"]) <= set(files) and are_names(each["inputs"])
        and are_names(each["outputs"]) and _are_texts(each.get("types", {})) for each in cut["parts"])

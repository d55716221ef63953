"""A folder of conversions by what they were made of, which several processes may read and write at once.

Each entry holds the folder that a conversion wrote, and digests of its files; it comes into being whole, by one renaming, and is
never changed. One that was damaged since is none, and is replaced by whoever makes the conversion again.
"""

from __future__ import annotations

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..artifact_set import REPORT, replaced_folder
from ..digests import Digest, is_as_written
from ..errors import TransloadError
from ..file_formats import file_of
from ..files import leads_inside, need_directory, own_text
from ..json_text import json_text, of_json_text
from ..reported import files_of_report
from ..scratch import ScratchFolder, locked
from .requests import beside_is_same

__all__ = ["Cache", "entry_report", "report_in"]

CONVERSION = "conversion"
"""In an entry, the folder that was written."""
DIGESTS = "digests.json"
"""In an entry, the digest of each of its files by name: damage need not change a file's size."""


class Cache:
    """The conversions in a folder, which need not be there yet."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        need_directory(self.folder)

    def need_writable(self) -> None:
        """Raise `TransloadError` where nothing can be kept: before anything is converted, and not after."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            ScratchFolder(self.folder).remove()
        except OSError as error:
            raise TransloadError(f"cannot write to the cache {self.folder}: {error.strerror or error}") from None

    def find(self, request: str, model: Path, out: Path) -> dict[str, Any] | None:
        """The report of an earlier conversion, whose files lie in `out` now; None where there is none that is whole."""
        for entry in sorted(self._place(request).glob("*")):
            report = entry_report(entry)
            if report is None or not beside_is_same(file_of(model), report["beside"]):
                continue
            report["model"] = str(model)
            with replaced_folder(out, drop=files_of_report) as folder:
                for name in report["files"]:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(entry / CONVERSION / name, folder / name)
                (folder / REPORT).write_text(json_text(report) + "\n", encoding="utf-8")
            return report
        return None

    def keep(self, request: str, out: Path) -> None:
        """Take the conversion in `out` in. Raises `TransloadError` where the folder cannot be written."""
        report = report_in(out)
        if report is None:
            return
        place = self._place(request)
        beside = sha256(json.dumps(report["beside"], sort_keys=True).encode()).hexdigest()[:16]
        try:
            place.mkdir(parents=True, exist_ok=True)
            with ScratchFolder(place.parent) as scratch:
                made = _entry_of(out, report, scratch / "made")
                with locked(place):  # of several writers the first one's entry stays
                    entry = place / beside
                    if entry_report(entry) is not None:
                        return
                    if os.path.lexists(entry):
                        entry.rename(scratch / "damaged")
                    made.rename(entry)
        except OSError as error:
            raise TransloadError(f"cannot write to the cache {self.folder}: {error.strerror or error}") from None

    def _place(self, request: str) -> Path:
        return self.folder / request[:2] / request


def _entry_of(out: Path, report: dict[str, Any], made: Path) -> Path:
    """A new entry, with the conversion in `out`. Raises `OSError`."""
    digests = {}
    for name in (*report["files"], REPORT):
        file = made / CONVERSION / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(out / name, file)
        digests[name] = Digest(file).text()
    (made / DIGESTS).write_text(json_text(digests) + "\n", encoding="utf-8")
    return made


def entry_report(entry: Path) -> dict[str, Any] | None:
    """The report of an entry that is as it was made; None for any other."""
    report = report_in(entry / CONVERSION)
    if report is None:
        return None
    try:
        digests = of_json_text(own_text(entry / DIGESTS))
        unknown = report["files"].keys() - report.get("digests", {}).keys()
        as_made = all(digests[name] == Digest(entry / CONVERSION / name).text() for name in (*unknown, REPORT))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return report if as_made else None


def report_in(folder: Path) -> dict[str, Any] | None:
    """The report of a conversion whose files are all there, as they were written; None for any other folder."""
    try:
        report = of_json_text(own_text(folder / REPORT))
        files, beside = report["files"], report["beside"]
        whole = all(leads_inside(folder / name, folder) and is_as_written(folder, report, name)
                    for name in files)
        return report if whole and isinstance(beside, dict) and isinstance(report["exit_code"], int) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None

"""What a conversion wrote, opened again: its folder, its report, or a file in it that no reader takes.

A folder of artifacts says by its report which target they are for. Where that target has a runtime of its own (`Target.run`), the
artifact runs on that; where it has none, the file beside it that our engines can run stands for it, which is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .api import load
from .artifact_set import REPORT
from .errors import ReadError
from .files import is_file
from .ir import Module
from .plugin import Emitted
from .plugin_host import host

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Written", "written_at"]

_REPORT_BYTES = 1 << 24


@dataclass(frozen=True)
class Written:
    """An artifact: `module` is what our engines can run of it, `run` the target's own runtime or None, `note` what to know."""

    module: Module
    run: Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]] | None
    note: str


def written_at(path: Path) -> Written | None:
    """The artifact at a path; None for a file that a reader takes, or that no report beside it lists.

    Raises `ReadError` where the report is there and nothing that it lists can be run.
    """
    readable = tuple(suffix for reader in host().readers.values() for suffix in reader.suffixes)
    if is_file(path) and path.name.lower().endswith(readable):
        return None
    folder = path if path.is_dir() else path.parent
    report = _report(folder)
    if report is None or not (path.is_dir() or path.name == REPORT or path.name in report["files"]):
        return None
    name, files = report["target"], [folder / name for name in report["files"]]
    program = next((file for file in files if file.name.lower().endswith(readable)), None)
    if program is None:
        raise ReadError(f"{path}: was written for {name!r}, and holds nothing that can be run here")
    target = host().targets.get(name)
    if target is not None and target.run is not None and target.available() is None:
        return Written(load(program), partial(target.run, Emitted(files, report["target_report"])), f"run by {name}")
    if path.name == REPORT or path.is_dir():
        return Written(load(program), None, f"{program} is run")
    return Written(load(program), None, f"{path} is for {name}, which nothing here runs; {program} beside it is run")


def _report(folder: Path) -> dict[str, Any] | None:
    """The report of a conversion in a folder; None where there is none that is one."""
    file = folder / REPORT
    if not is_file(file) or file.stat().st_size > _REPORT_BYTES:
        return None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        files, name, more = found["files"], found["target"], found["target_report"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    plain = isinstance(files, dict) and isinstance(name, str) and isinstance(more, dict)
    inside = plain and all((folder / each).resolve().is_relative_to(folder.resolve()) for each in files)
    return {"files": list(files), "target": name, "target_report": more} if inside else None

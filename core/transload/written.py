"""What a conversion wrote, opened again: its folder, its report, or a file in it that no reader takes.

A folder of artifacts says by its report which target they are for. Where that target has a runtime of its own (`Target.run`), the
artifact runs on that; where it has none, the file beside it that our engines can run stands for it, which is said. One in parts,
for target and host, runs as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .api import load
from .artifact_set import REPORT
from .emission import readable_suffixes
from .errors import ReadError
from .files import is_file
from .ir import Module, new_module, set_results
from .parts import Parts, program_among
from .plugin import Emitted, EmittedPart, Target
from .plugin_host import host
from .text import parse_type

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Written", "written_at"]

_REPORT_BYTES = 1 << 24


@dataclass(frozen=True)
class Written:
    """An artifact: `module` is what our engines can run of it, `run` the target's own runtime or None, `note` what to know.

    Of one in several parts, `module` has its inputs alone, and `run(inputs, engine=, keep=, watch=, own=)` runs all parts.
    """

    module: Module
    run: Callable[..., dict[str, np.ndarray]] | None
    note: str
    in_parts: bool = False
    keeps: bool = False
    """Whether `run` takes `keep=`: the artifact's own tensors can be seen, where it is run by the target's own runtime."""


def written_at(path: Path) -> Written | None:
    """The artifact at a path; None for a file that a reader takes, or that no report beside it lists.

    Raises `ReadError` where the report is there and nothing that it lists can be run.
    """
    if is_file(path) and path.name.lower().endswith(readable_suffixes()):
        return None
    for folder in (path,) if path.is_dir() else (path.parent, path.parent.parent):
        report = _report(folder)
        if report is not None and (path in (folder, folder / REPORT) or path in [folder / name for name in report["files"]]):
            return _opened(path, folder, report)
    return None


def _opened(path: Path, folder: Path, report: dict[str, Any]) -> Written:
    name, files = report["target"], [folder / name for name in report["files"]]
    target = host().targets.get(name)
    if target is not None and target.available() is not None:
        target = None
    if report["partition"] is not None:
        return _in_parts(folder, target, report)
    program = program_among(files)
    if program is None:
        raise ReadError(f"{path}: was written for {name!r}, and holds nothing that can be run here")
    if target is not None and target.run is not None:
        ready = partial(target.run, Emitted(files, report["target_report"]))
        return Written(load(program), ready, f"run by {name}", keeps=getattr(target, "keeps", False))
    if path.name == REPORT or path.is_dir():
        return Written(load(program), None, f"{program} is run")
    return Written(load(program), None, f"{path} is for {name}, which nothing here runs; {program} beside it is run")


def _in_parts(folder: Path, target: Target | None, report: dict[str, Any]) -> Written:
    """An artifact of several parts: all of them are run, whichever file was named."""
    cut = report["partition"]
    parts = [EmittedPart(each["place"], [folder / name for name in each["files"]], each["inputs"], each["outputs"],
                         each["target_report"]) for each in cut["parts"]]
    ready = Parts(target, parts, cut["outputs"])
    by = f"{report['target']}'s by its own runtime" if ready.is_own else "all by an engine"
    return Written(_inputs_of(report), ready.run, f"{len(parts)} parts are run, {by}", in_parts=True)


def _inputs_of(report: dict[str, Any]) -> Module:
    """A module that takes what the model takes, and computes nothing."""
    module, entries = new_module(), report["inputs"]
    function = module.add_function("main", [parse_type(each["type"]) for each in entries], [each["name"] for each in entries])
    set_results(function, [])
    return module


def _report(folder: Path) -> dict[str, Any] | None:
    """The report of a conversion in a folder; None where there is none that is one."""
    file = folder / REPORT
    if not is_file(file) or file.stat().st_size > _REPORT_BYTES:
        return None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        files, name, more, cut = found["files"], found["target"], found["target_report"], found.get("partition")
        plain = isinstance(files, dict) and isinstance(name, str) and isinstance(more, dict)
        inside = plain and all((folder / each).resolve().is_relative_to(folder.resolve()) for each in files)
        whole = cut is None or all(
            isinstance(each["place"], str) and isinstance(each["target_report"], dict) and set(each["files"]) <= set(files)
            and all(isinstance(name, str) for name in (*each["inputs"], *each["outputs"])) for each in cut["parts"])
        if not (inside and whole and (cut is None or isinstance(cut["outputs"], dict))):
            return None
        return {"files": list(files), "target": name, "target_report": more, "partition": cut, "inputs": found.get("inputs", [])}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None

"""A target checks a model and writes it: whole, or, where it takes some ops and not others, in parts, the host's beside its own.

A folder then holds a folder for each part, `1-target/`, `2-host/`, ..., in the order in which they run. What is the host's is a
file of the dialect that the target takes, which our engines run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .artifact_set import REPORT
from .contents import dialects_in, main_dialect
from .errors import Finding, TargetError, merge_findings
from .files import is_file
from .guard import failure
from .ir import Module
from .ir.verify import verify
from .partitioning import HOST, TARGET, Partition, partition, work_of
from .plugin import Emitted, EmittedPart, Target, Writer, resolve
from .plugin_host import host
from .report import PartitionReport, PartReport
from .rewrite import names_of

__all__ = ["check_for", "cut_for", "emit_for", "left_to_host", "partition_report", "readable_suffixes"]


def cut_for(target: Target, module: Module, settings: Mapping[str, Any]) -> Partition | None:
    """The parts of a module for a target and the host; None where the target is to have all of it.

    Raises `TargetError` where the target takes no op.
    """
    takes = getattr(target, "takes", None)
    if takes is None:
        return None
    cut = partition(module, lambda op: takes(op, settings))
    places = {part.place for part in cut.parts}
    if places == {HOST}:
        raise TargetError(
            f"target {target.name!r} takes no op of this model",
            merge_findings([Finding(op.name, "the target does not take it", names_of([op])) for op in work_of(module)]))
    return cut if places == {TARGET, HOST} else None


def check_for(target: Target, module: Module, settings: Mapping[str, Any]) -> Partition | None:
    """Raise `TargetError` with everything in a module that a target cannot take; how it is to be cut, where it is."""
    verify(module)
    cut = cut_for(target, module, settings)
    given = [module] if cut is None else [part.module for part in cut.parts if part.place == TARGET]
    findings = merge_findings([finding for each in given for finding in target.check(each, settings)])
    if findings:
        raise TargetError(f"target {target.name!r} cannot take this model", findings)
    return cut


def emit_for(
    target: Target, module: Module, cut: Partition | None, directory: Path, stem: str, settings: Mapping[str, Any],
) -> Emitted:
    """Have a target write a module into a directory, with the host's parts where it is cut."""
    if cut is None:
        return _written(target, module, directory, stem, settings)
    written: list[EmittedPart] = []
    for number, part in enumerate(cut.parts, 1):
        folder = directory / f"{number}-{part.place}"
        folder.mkdir()
        if part.place == TARGET:
            emitted = _written(target, part.module, folder, stem, settings)
        else:
            writer, suffix = _writer_for(part.module)
            resolve(writer.write)(part.module, folder / f"{stem}{suffix}")
            emitted = Emitted([folder / f"{stem}{suffix}"])
        written.append(EmittedPart(
            part.place, emitted.files, list(part.module.inputs), list(part.module.outputs), emitted.report))
    return Emitted([file for part in written for file in part.files], {}, written, cut.outputs)


def _written(target: Target, module: Module, directory: Path, stem: str, settings: Mapping[str, Any]) -> Emitted:
    """What a target says that it wrote, after a look at whether that is so; a plugin's target is given a copy of the module."""
    owner = host().owner("targets", target.name)
    ours = owner is not None and owner.is_ours
    emitted = target.emit(module if ours else module.clone(), directory, stem, settings)
    wrong = _wrong_with(emitted, directory)
    if wrong is not None:
        raise failure(owner, f"target {target.name!r}.emit()", TypeError(wrong))
    return emitted


def _wrong_with(emitted: Emitted, directory: Path) -> str | None:
    """What is wrong with what a target says that it wrote into a directory, or None."""
    if not isinstance(emitted.files, list | tuple) or not all(isinstance(file, Path) for file in emitted.files):
        return f"files must be a list of paths, and are {emitted.files!r:.200}"
    if not isinstance(emitted.report, Mapping):
        return f"report must be a dictionary, and is {emitted.report!r:.200}"
    for file in emitted.files:
        if not file.is_relative_to(directory) or not is_file(file):
            return f"{file} is no file in the directory that was given"
        if file == directory / REPORT:
            return f"{REPORT} is written by Transload"
    there = {file for file in directory.rglob("*") if not file.is_dir()}
    if unlisted := there - set(emitted.files):
        return f"{min(unlisted).relative_to(directory)} was written, and is not among its files"
    return _wrong_with_parts(emitted)


def _wrong_with_parts(emitted: Emitted) -> str | None:
    known: set[str] = set()
    for part in emitted.parts:
        if not isinstance(part, EmittedPart) or part.place not in (TARGET, HOST):
            return f"each part must be an EmittedPart of {TARGET!r} or {HOST!r}, and one is {part!r:.200}"
        if not set(part.files) <= set(emitted.files):
            return f"a part has {min(set(part.files) - set(emitted.files))}, which is not among the files"
        known.update(part.outputs)
    if emitted.parts and not set(emitted.outputs.values()) <= known | {name for part in emitted.parts for name in part.inputs}:
        return f"the outputs are {', '.join(emitted.outputs.values())}, and the parts know {', '.join(sorted(known))}"
    return None


def left_to_host(target: Target, cut: Partition, module: Module) -> str:
    """Which ops stay on the host, for a note."""
    kinds = Counter(op.name for op in cut.on_host)
    named = ", ".join(f"{name} ({count})" for name, count in kinds.most_common(5)) + (", …" if len(kinds) > 5 else "")
    return f"{target.name} leaves {sum(kinds.values())} of {len(work_of(module))} ops to the host: {named}"


def partition_report(emitted: Emitted, folder: Path) -> PartitionReport:
    """What a report says of the parts that were written into a folder."""
    parts = [
        PartReport(part.place, [str(file.relative_to(folder)) for file in part.files],  # type: ignore[arg-type]
                   part.inputs, part.outputs, part.report)
        for part in emitted.parts]
    return PartitionReport(parts, dict(emitted.outputs))


def readable_suffixes() -> tuple[str, ...]:
    """Those of files that a reader takes."""
    return tuple(suffix for reader in host().readers.values() for suffix in reader.suffixes)


def _writer_for(module: Module) -> tuple[Writer, str]:
    """What writes a module so that it can be read again, and with which suffix: the format of its dialect, else MLIR text."""
    dialect, readable = main_dialect(module), readable_suffixes()
    for writer in host().writers.values():
        suffix = next((suffix for suffix in writer.suffixes if suffix in readable), None)
        if writer.dialect == dialect and suffix is not None and set(dialects_in(module)) <= {dialect}:
            return writer, suffix
    mlir = next(writer for writer in host().writers.values() if writer.dialect == "builtin")
    return mlir, mlir.suffixes[0]

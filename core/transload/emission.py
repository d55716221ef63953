"""A target checks a model and writes it: whole, or, where it takes some ops and not others, in parts, the host's beside its own.

A folder then holds a folder for each part, `1-target/`, `2-host/`, ..., in the order in which they run. What is the host's is a
file of the dialect that the target takes, which our engines run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .contents import dialects_in, main_dialect
from .errors import Finding, TargetError, merge_findings
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
        return target.emit(module, directory, stem, settings)
    written: list[EmittedPart] = []
    for number, part in enumerate(cut.parts, 1):
        folder = directory / f"{number}-{part.place}"
        folder.mkdir()
        if part.place == TARGET:
            emitted = target.emit(part.module, folder, stem, settings)
        else:
            writer, suffix = _writer_for(part.module)
            resolve(writer.write)(part.module, folder / f"{stem}{suffix}")
            emitted = Emitted([folder / f"{stem}{suffix}"])
        written.append(EmittedPart(
            part.place, emitted.files, list(part.module.inputs), list(part.module.outputs), emitted.report))
    return Emitted([file for part in written for file in part.files], {}, written, cut.outputs)


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

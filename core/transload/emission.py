"""A target checks a model and writes it: whole, or, where it takes some ops and not others, in parts, the host's beside its own.

A folder then holds a folder for each part, `1-target/`, `2-host/`, ..., in the order in which they run. What is the host's is
written by the host's target, where there is one, else a file of the dialect that the target takes, which our engines run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .artifact_set import REPORT
from .contents import dialects_in, main_dialect, op_counts
from .errors import TargetError, merge_findings
from .errors import written as told
from .files import is_file, leads_inside
from .guard import failure, looked_at
from .hosting import HostTarget, cut_for, made_for_host
from .ir import Module
from .ir.verify import verify
from .outcomes import plain_report, wrong_report
from .partitioning import HOST, TARGET, Part, Partition, work_of
from .plugin import Emitted, EmittedPart, Target, Writer, resolve
from .plugin_host import host
from .report import PartitionReport, PartReport
from .wires import types_in_files, wrong_texts, wrong_wires

__all__ = [
    "check_for", "emit_for", "is_program", "left_to_host", "looked_into", "need_nothing_left", "partition_report",
    "program_among", "readable_suffixes",
]


def check_for(
    target: Target, module: Module, settings: Mapping[str, Any], hosted: HostTarget | None = None,
) -> Partition | None:
    """Raise `TargetError` with everything in a module that a target cannot take; how it is to be cut, where it is.

    What the host's target, where there is one, cannot take of its parts is raised, too, in one error with the rest.
    """
    verify(module)
    cut = cut_for(target, module, settings, hosted)
    given = [module] if cut is None else [part.module for part in cut.parts if part.place == TARGET]
    findings = merge_findings([finding for each in given for finding in target.check(each, settings)])
    if cut is not None and hosted is not None:
        try:
            cut = made_for_host(cut, hosted)
        except TargetError as error:
            if findings:
                raise TargetError(f"target {target.name!r} and host {hosted.name!r} cannot take this model",
                                  merge_findings([*findings, *error.findings])) from None
            raise
    if findings:
        raise TargetError(f"target {target.name!r} cannot take this model", findings)
    return cut


def emit_for(
    target: Target, module: Module, cut: Partition | None, directory: Path, stem: str, settings: Mapping[str, Any],
    hosted: HostTarget | None = None,
) -> Emitted:
    """Have a target write a module into a directory, with the host's parts where it is cut."""
    if cut is None:
        return _written(target, module, directory, stem, settings)
    written: list[EmittedPart] = []
    for number, part in enumerate(cut.parts, 1):
        folder = directory / f"{number}-{part.place}"
        folder.mkdir()
        written.append(_written_part(part, target, folder, stem, settings, hosted))
    summary = getattr(target, "summary", None)
    report = dict(summary(cut, written)) if summary is not None else {}
    if (wrong := wrong_report(report)) is not None:
        raise failure(host().owner("targets", target.name), f"target {target.name!r}.summary()", TypeError(wrong))
    files = [file for part in written for file in part.files]
    if (other := _unlisted(directory, files)) is not None:  # beside the folder that its part was given
        wrong = f"{other.relative_to(directory)} was written, and is in no folder that was given"
        raise failure(host().owner("targets", target.name), f"target {target.name!r}.emit()", TypeError(wrong))
    return Emitted(files, report, written, cut.outputs)


def _written_part(
    part: Part, target: Target, folder: Path, stem: str, settings: Mapping[str, Any], hosted: HostTarget | None,
) -> EmittedPart:
    """A part, written by its target, or by the writer of its dialect."""
    by = target.name
    if part.place == TARGET:
        emitted = _written(target, part.module, folder, stem, settings)
        if emitted.parts:
            raise failure(host().owner("targets", by), f"target {by!r}.emit()", TypeError(
                "gives parts of what is a part already: `takes` or `leaves` says what it leaves, and the model is cut by that"))
    elif part.made is not None and hosted is not None:
        by = hosted.name
        emitted = _written(hosted.target, part.made, folder, stem, hosted.settings)
        if emitted.parts:
            raise TargetError(f"{by!r} cannot be a host: it leaves ops to a host itself")
        if getattr(hosted.target, "run", None) is None and program_among(emitted.files, hosted.name) is None:
            raise TargetError(f"{by!r} cannot be a host: nothing here runs what it writes")
    else:
        by = ""
        writer, suffix = _writer_for(part.module)
        resolve(writer.write)(part.module, folder / f"{stem}{suffix}")
        emitted = Emitted([folder / f"{stem}{suffix}"])
    made = part.module if part.made is None else part.made
    types = {**types_in_files(part.module.inputs, made.inputs.values()),
             **types_in_files(part.module.outputs, made.outputs.values())}
    return EmittedPart(
        part.place, emitted.files, list(part.module.inputs), list(part.module.outputs), emitted.report, by, types,
        op_counts(part.module))


def _written(target: Target, module: Module, directory: Path, stem: str, settings: Mapping[str, Any]) -> Emitted:
    """What a target says that it wrote, after a look at whether that is so; a plugin's target is given a copy of the module."""
    owner = host().owner("targets", target.name)
    ours = owner is not None and owner.is_ours
    try:
        emitted = target.emit(module if ours else module.clone(), directory, stem, settings)
    except FileNotFoundError as error:  # the directory was there, so it is none of the user's
        raise failure(owner, f"target {target.name!r}.emit()", error) from error
    with looked_at(owner, f"target {target.name!r}.emit()"):
        wrong = _wrong_with(emitted, directory, module)
    if wrong is not None:
        raise failure(owner, f"target {target.name!r}.emit()", TypeError(wrong))
    emitted.files = list(dict.fromkeys(emitted.files))  # one that is named twice is one
    for part in emitted.parts:
        part.files = list(dict.fromkeys(part.files))
    if emitted.parts:
        emitted.outputs = {name: emitted.outputs[name] for name in module.outputs}  # in the model's order
    return emitted


def _wrong_with(emitted: Emitted, directory: Path, module: Module) -> str | None:
    """What is wrong with what a target says that it wrote of a module into a directory, or None; reports become plain."""
    if not isinstance(emitted.files, list | tuple) or not all(isinstance(file, Path) for file in emitted.files):
        return f"files must be a list of paths, and are {told(emitted.files):.200}"
    emitted.report, wrong = plain_report(emitted.report)
    if wrong is not None:
        return wrong
    for file in emitted.files:
        if not _is_inside(file, directory) or not is_file(file):
            return f"{file} is no file in the directory that was given"
        if file.is_symlink():  # which would lead to where the directory was before it was moved into place
            return f"{file.relative_to(directory)} is a link, where a file is wanted"
        if file == directory / REPORT:
            return f"{REPORT} is written by Transload"
    if (other := _unlisted(directory, emitted.files)) is not None:
        return f"{other.relative_to(directory)} was written, and is not among its files"
    if (wrong := _wrong_with_parts(emitted, module)) is not None:
        return wrong
    return None if emitted.files else "gives no file: who converts for it has nothing then"


def _is_inside(file: Path, directory: Path) -> bool:
    """Whether a path leads into a directory, and by no way out of it: neither `..` nor a folder that is a link."""
    return (file.is_relative_to(directory) and ".." not in file.relative_to(directory).parts
            and leads_inside(file.parent, directory))


def _unlisted(directory: Path, files: Sequence[Path]) -> Path | None:
    """The first file in a directory that is none of these, or None."""
    return min({file for file in directory.rglob("*") if file.is_symlink() or not file.is_dir()} - set(files), default=None)


def need_nothing_left(target: Target, emitted: Emitted, directory: Path) -> None:
    """`PluginFailure` where a target's `run`, or that of a part's, left a file in the directory, which would go along, or
    removed one."""
    gone = next((file for file in emitted.files if not is_file(file)), None)
    other = gone or _unlisted(directory, emitted.files)
    if other is None:
        return
    of = {part.target for part in emitted.parts if part.target and any(other.is_relative_to(file.parent) for file in part.files)}
    name = of.pop() if len(of) == 1 else target.name
    wrong = f"leaves {other.relative_to(directory)} beside what the conversion wrote; a temporary folder is for what it writes"
    if gone is not None:
        wrong = f"removes {gone.relative_to(directory)}, which the conversion wrote"
    raise failure(host().owner("targets", name), f"target {name!r}.run()", TypeError(wrong))


def _wrong_part(part: Any) -> str | None:
    """What is wrong with a part by itself, or None; its report becomes plain."""
    if not isinstance(part, EmittedPart) or part.place not in (TARGET, HOST):
        return f"each part must be an EmittedPart of {TARGET!r} or {HOST!r}, and one is {told(part):.200}"
    for member in ("files", "inputs", "outputs"):
        kind, held = Path if member == "files" else str, getattr(part, member)
        if not isinstance(held, list | tuple) or not all(isinstance(each, kind) for each in held):
            return f"{member} of a part must be a list of {'paths' if kind is Path else 'names'}, and are {told(held):.200}"
    if not isinstance(part.types, Mapping) or not isinstance(part.ops, Mapping) or not isinstance(part.target, str):
        return f"types and ops of a part must be dictionaries and its target a name, and it is {told(part):.200}"
    part.report, wrong = plain_report(part.report)
    return wrong or wrong_report(part.ops, "ops of a part") or wrong_texts(part.types)


def _wrong_with_parts(emitted: Emitted, module: Module) -> str | None:
    if not isinstance(emitted.parts, list | tuple):
        return f"parts must be a list, and are {told(emitted.parts):.200}"
    outputs = emitted.outputs
    if not isinstance(outputs, Mapping) or not all(isinstance(name, str) for name in (*outputs, *outputs.values())):
        return f"outputs must be names of tensors by names, and are {told(outputs):.200}"
    for number, part in enumerate(emitted.parts, 1):
        wrong = _wrong_part(part)
        if wrong is not None:
            return wrong
        if not set(part.files) <= set(emitted.files):
            return f"a part has {min(set(part.files) - set(emitted.files))}, which is not among the files"
        if part.target and part.target not in host().targets:
            return f"part {number} was written for target {part.target!r}, and there is none called so{host().absent()}"
        if not part.target and program_among(part.files, "") is None:
            named = ", ".join(file.name for file in part.files) or "none"
            return f"part {number} names no target that runs it, and of its files ({named}) no reader takes one, for an engine to"
    return wrong_wires(emitted.parts, outputs, module) if emitted.parts else None


def left_to_host(target: Target, cut: Partition, module: Module, hosted: HostTarget | None = None) -> str:
    """Which ops stay on the host, for a note, in how many parts, and what crosses."""
    kinds = Counter(op.name for op in cut.on_host)
    named = ", ".join(f"{name} ({count})" for name, count in kinds.most_common(5)) + (", …" if len(kinds) > 5 else "")
    taken_by = f", {hosted.name}" if hosted is not None else ""
    parts = "1 part" if len(cut.parts) == 1 else f"{len(cut.parts)} parts in turn, {cut.bytes:,} bytes across"
    return f"{target.name} leaves {sum(kinds.values())} of {len(work_of(module))} ops to the host{taken_by}: {named}; {parts}"


def partition_report(emitted: Emitted, folder: Path, bytes_across: int | None) -> PartitionReport:
    """What a report says of the parts that were written into a folder."""
    parts = [
        PartReport(part.place, part.target or None, [str(file.relative_to(folder)) for file in part.files],  # type: ignore[arg-type]
                   part.inputs, part.outputs, part.types, part.ops, part.report)
        for part in emitted.parts]
    return PartitionReport(parts, dict(emitted.outputs), bytes_across)


def readable_suffixes() -> tuple[str, ...]:
    """Those of files that a reader takes."""
    return tuple(suffix for reader in host().readers.values() for suffix in reader.suffixes)


def is_program(file: Path, target: str) -> bool:
    """Whether a reader takes a file that was written for a target (empty: for none), by its name."""
    compiled = tuple(getattr(host().targets.get(target), "compiled", ()))
    return file.name.lower().endswith(readable_suffixes()) and not file.name.endswith(compiled)


def program_among(files: Sequence[Path], target: str) -> Path | None:
    """The first of some files, written for a target (empty: for none), that a reader takes; None where none does."""
    return next((file for file in files if is_program(file, target)), None)


def looked_into(target: Target | None, directory: Path, files: Sequence[Path], in_parts: bool) -> Path | None:
    """Where the tensors within a model that a target wrote can be seen: its folder, or a file in it; None where they cannot."""
    if in_parts or (target is not None and target.run is not None and getattr(target, "keeps", False)):
        return directory
    return program_among(files, target.name if target is not None else "")


def _writer_for(module: Module) -> tuple[Writer, str]:
    """What writes a module so that it can be read again, and with which suffix: the format of its dialect, else MLIR text."""
    dialect, readable = main_dialect(module), readable_suffixes()
    for writer in host().writers.values():
        suffix = next((suffix for suffix in writer.suffixes if suffix in readable), None)
        if writer.dialect == dialect and suffix is not None and set(dialects_in(module)) <= {dialect}:
            return writer, suffix
    mlir = next(writer for writer in host().writers.values() if writer.dialect == "builtin")
    return mlir, mlir.suffixes[0]

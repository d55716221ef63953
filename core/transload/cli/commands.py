"""The commands that work on models: convert, run, compare, inspect, opt."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ..api import load, run, runnable
from ..arrays import need_room, write_arrays
from ..convert_model import Artifact, convert, plan, usable_target
from ..errors import TargetError, UsageError, VerificationError
from ..files import need_file
from ..given import has_images, settled, shapes_of
from ..input_shapes import static_inputs
from ..ir import Blocks, Module, QuantType, TensorType, Type
from ..journey import Plan
from ..read_again import command
from ..report import ComparedOutput, PartReport, QuantizedOutput, TensorReport, error_report
from ..sizes_of_data import sizes_from
from ..sizes_text import sizes_text
from ..verification.asked import QUANTIZED, need_random, unverified
from .answer import print_data, print_json
from .arguments import parse_given, parse_options, taken_to_load
from .options import OF_SAMPLES, need_images, said_of_images, take_data, take_preprocess, take_quantizer
from .process import note_written
from .quantized import all_rows, need_page, save_page, seen_samples, show_layers
from .session import session
from .show import (
    bytes_text,
    console,
    error_console,
    number,
    seconds_text,
    short_names,
    show_error,
    show_findings,
    show_note,
    sized,
    table,
)
from .waiting import progress

if TYPE_CHECKING:
    from ..verification.differences import TensorDifference

__all__ = ["compare_command", "convert_command", "inspect_command", "opt_command", "run_command"]


PARTS, FILES = 8, 16
"""How many parts and files of an artifact are shown."""
_OF_CONVERSION = ("tolerance", "engine", "seed", "excepts", "dump", "trace_rewrites", "page")
"""What a plan has nothing of."""


def convert_command(
    model: Path,
    target: str | None,
    out: Path,
    option: Sequence[str],
    shape: Sequence[str],
    input: Sequence[str],
    verify: str,
    input_data: Path | None,
    tolerance: Sequence[str],
    engine: str, seed: int,
    format: str | None, function: str | None,
    json: bool,
    passes: str,
    dump: Path | None,
    start: str | None,
    trace_rewrites: str | None,
    show_pipeline: bool, excepts: Sequence[str],
    quantize: str | None,
    page: Path | None,
    **more: Any,
) -> int:
    from .trace import rewrites_traced_to

    need_page(page, quantize, more.get("data"), dump, start)
    shapes, data = parse_given(shape, input, input_data)
    preprocess, samples, fuse = take_preprocess(more), take_data(more), more.pop("fuse_preprocess")
    asked: dict[str, Any] = {
        "options": parse_options(option), "inputs": {**shapes_of(data or {}, fuse), **shapes}, "verify": verify,
        "format": format, "passes": passes, "function": function, "quantize": quantize,
        "quantizer_options": take_quantizer(more), "preprocess": preprocess, "fuse_preprocess": fuse,
        **{name: more.pop(name) for name in ("add_postprocess", "weights", "outputs", "host")}}
    if show_pipeline:
        _need_plan(verify == "require", start is not None)
        need_images(preprocess is not None and not fuse and samples is None, has_images(data))
        with sizes_from(data, samples, preprocess, fuse):
            return _show_plan(plan(model, target, dump=dump, start=start, **asked), json)
    doubt: VerificationError | None = None
    try:
        with progress(session().quiet or json) as tell, rewrites_traced_to(trace_rewrites):
            artifact = convert(
                model, target, out, tolerance=tolerance, input_data=data, data=samples, engine=engine, tell=tell, seed=seed,
                dump=dump, start=start, excepts=excepts, **asked)
        doubt = _doubt(artifact, model, _wishes(target, asked))
    except VerificationError as error:
        if error.artifact is None:
            raise
        artifact = error.artifact
        doubt = _doubt(artifact, model, _wishes(target, asked), verify == "require") or error
    note_written(out)
    if artifact.report.quantization is not None:
        save_page(artifact.report.quantization, page, f"{model} for {artifact.report.target}")
    if json:
        print_json(artifact.report)
    elif not session().quiet:
        _show_artifact(artifact, page, _scoring(artifact, model, out))
    if doubt is not None:
        show_error(doubt, session().verbose)
    return artifact.report.exit_code


def _doubt(artifact: Artifact, model: Path, wishes: Mapping[str, Any], required: bool = False) -> VerificationError | None:
    quantizing = _quantizing(artifact, model, wishes)
    return unverified(artifact.verification, required, model, artifact.looked_into, quantizing, artifact.module.reading)


def _wishes(target: str | None, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a quantizer got from the target alone: another command has none of it, and has to be told."""
    if asked["quantize"] is None:
        return {}
    from ..quantization import wished_by

    wished = wished_by(usable_target(target), asked["quantize"])
    return {name: value for name, value in wished.items() if name not in asked["quantizer_options"]}


def _quantizing(artifact: Artifact, model: Path, wishes: Mapping[str, Any]) -> str:
    """The command that writes the quantized module which a conversion was judged by, as it is asked for here."""
    wished = [word for name, value in wishes.items() for word in ("--quantizer-option", f"{name}={value}")]
    return f"`{command('quantize', model, reading=artifact.module.reading, more=[*wished, '--out', QUANTIZED])}`"


def _scoring(artifact: Artifact, model: Path, out: Path) -> str:
    """The command that scores a model and what was made of it, read as it was here; empty where that is a part of it."""
    if artifact.module.cut is not None:
        return ""
    outputs = artifact.verification.quantized if artifact.verification is not None else []
    metric = "equal" if outputs and not any("sqnr" in each.metrics for each in outputs) else "sqnr"
    line = command("eval", model, out, reading=artifact.module.reading, more=("--data", "SAMPLES", "--metric", metric),
                   without=OF_SAMPLES)
    return f"`{line}` scores both on other samples"


def _need_plan(required: bool, goes_on: bool) -> None:
    """Raise `UsageError` for what is said of a conversion, its files or its verification, where the plan alone is shown."""
    context = click.get_current_context()
    said = [max(option.opts, key=len) for option in context.command.params
            if option.name in _OF_CONVERSION and context.get_parameter_source(option.name) is not ParameterSource.DEFAULT
            and not (option.name == "dump" and goes_on)]
    flag = next(iter([*said, *["--verify=require"] * required]), None)
    if flag is not None:
        raise UsageError(f"{flag} is for a conversion, and --show-pipeline makes none", hint="leave out one of them")


def _show_plan(planned: Plan, json: bool) -> int:
    if not json:
        print_data(f"{planned}\n")
        return 0
    print_json({"pipeline": planned.passes, "certain": planned.is_certain, "stages": [
        {"name": stage.name, "about": stage.about, "unsure": stage.unsure, "passes": [str(step) for step in stage.steps]}
        for stage in planned.stages]})
    return 0


def _show_artifact(artifact: Artifact, page: Path | None, scoring: str) -> None:
    """What was written, how it was verified, and what it cost to quantize; `page` and `scoring` say more of that."""
    from rich.text import Text

    report, out = artifact.report, console()
    out.print(Text.assemble((str(report.model), "bold"), " → ", (report.target, "bold")))
    n_in, n_out = sum(report.ops_in.values()), sum(report.ops_out.values())
    rows = [
        ("inputs", _interface_text(report.inputs)),
        ("outputs", _interface_text(report.outputs)),
        *(all_rows(report.quantization) if report.quantization is not None else ()),
        *(("note", note) for note in report.notes),
        ("ops", f"{n_in} in, {n_out} {_dialects_out(artifact)} ops out ({_most_frequent(report.ops_out)})"),
        (
            "memory",
            f"{bytes_text(report.constant_bytes or 0)} of constants, "
            f"at most {bytes_text(report.peak_value_bytes or 0)} of values",
        ),
        ("time", ", ".join(f"{name} {seconds_text(s)}" for name, s in report.seconds.items())),
        *(
            (key, _report_value(value))
            for key, value in report.target_report.items()
            if not hasattr(report, key) and _is_summary(value)
        ),
        *_part_rows(report.partition.parts if report.partition is not None else ()),
        ("files", _files_text(artifact.files, artifact.sizes)),
    ]
    out.print(table(("", ""), rows))
    checked = artifact.verification
    if checked is None:
        out.print("verification: not asked for")
    elif checked.status == "skipped":
        out.print(Text.assemble("verification: ", ("skipped", "yellow"), f": {checked.why}"))
    else:
        words = {"passed": "[green]passed[/]", "failed": "[red]failed[/]", "inconclusive": "[yellow]not conclusive[/]"}
        of = f"{checked.samples:,} of " if checked.samples_of not in (None, checked.samples) else ""
        on = f" on {of}{sized(checked.samples_of or checked.samples, 'sample')}" if checked.samples else ""
        word = "[yellow]passed, but poor[/]" if checked.passed and checked.why else words[checked.status]
        out.print(f"verification against {checked.runtime}{on}: {word}")
        for said in (checked.why, *checked.notes):
            if said:
                out.print(f"  {said}", markup=False)
        if checked.tensors:
            out.print(_metric_table(checked.tensors, excepts=checked.excepts))
        if checked.quantized:
            seen = checked.samples_of if report.quantization is not None else None  # else they are another's, or random
            first = "the first " if seen and checked.samples < seen else ""
            title = f"what was written, on {first}{seen_samples(checked.samples, seen)}" if seen else None
            out.print(_beside(checked.quantized, title))
        if checked.bounds:
            kept = sum(bounded.kept for bounded in checked.bounds)
            out.print(f"tensors with a bound of their own: {len(checked.bounds)}, of which {kept} keep it (verification.bounds)")
    if report.quantization is not None:
        show_layers(report.quantization, page, scoring)


def _dialects_out(artifact: Artifact) -> str:
    """Of which dialects the ops are that the target was given, most of them first."""
    from ..partitioning import work_of

    counts = Counter(op.dialect for op in work_of(artifact.module))
    return " and ".join(name for name, _ in counts.most_common()) or str(artifact.report.dialect)


def _beside(outputs: Sequence[QuantizedOutput], title: str | None) -> Any:
    """What quantizing cost: a row an output, the metrics, and the share of rows with the same answer."""
    headings, measured = _measured(outputs)
    headings.append("agreement")
    rows = [
        (name, *measured(each), "" if each.agreement is None else f"{each.agreement:.1%}")
        for name, each in zip(short_names([each.name for each in outputs]), outputs, strict=True)]
    return table(("beside the float model", *headings), rows, title, right=headings)


def _interface_text(entries: Sequence[TensorReport]) -> str:
    shown = "; ".join(f"{entry.name} {entry.type}" for entry in entries[:6])
    return shown + (f"; and {len(entries) - 6} more" if len(entries) > 6 else "")


def _part_rows(parts: Sequence[PartReport]) -> list[tuple[str, str]]:
    more = [("", f"and {len(parts) - PARTS} more, in report.json")] if len(parts) > PARTS else []
    return [*(("part", _part_text(part)) for part in parts[:PARTS]), *more]


def _files_text(files: Sequence[Path], sizes: Sequence[int]) -> str:
    said = [f"{file} ({bytes_text(size)})" for file, size in zip(files, sizes, strict=True)]
    said = said if len(files) <= FILES else [*said[: FILES - 1], said[-1]]  # the last is the report
    return ", ".join(said if len(files) <= FILES else [*said[:-1], f"and {len(files) - FILES} more", said[-1]])


def _part_text(part: PartReport) -> str:
    where = part.place if part.target is None or part.place == "target" else f"{part.place} ({part.target})"
    return f"{where}: {', '.join(part.inputs)} → {', '.join(part.outputs)} ({', '.join(part.files)})"


def _most_frequent(counts: dict[str, int]) -> str:
    names = [f"{count} {name.partition('.')[2]}" for name, count in list(counts.items())[:5]]
    return ", ".join(names) + (", …" if len(counts) > 5 else "")


def _is_summary(value: Any) -> bool:
    return isinstance(value, str | int | float | bool) or (
        isinstance(value, list) and all(isinstance(v, str | int) for v in value)
    )


def _report_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool)
        else number(value)
        if isinstance(value, float)
        else str(value)
    )


def _measured(tensors: Sequence[TensorDifference | ComparedOutput]) -> tuple[list[str], Callable[[Any], list[str]]]:
    """Headings of what is measured of some tensors, and what gives the cells of one; of indices, how many are equal."""
    from ..plugin_host import host

    metrics = host().metrics
    headings = [metric.heading or name for name, metric in metrics.items()]
    has_indices = any(each.equal is not None and not metrics.keys() <= each.metrics.keys() for each in tensors)

    def cells(tensor: TensorDifference | ComparedOutput) -> list[str]:
        found = [number(tensor.metrics[name]) if name in tensor.metrics else "" for name in metrics]
        return found + ([] if not has_indices else ["" if tensor.equal is None else f"{tensor.equal:.1%}"])

    return headings + ["equal"] * has_indices, cells


def _metric_table(tensors: Sequence[Any], title: str | None = None, excepts: Sequence[str] = ()) -> Any:
    """A row a tensor, a column a metric: ours, and what plugins register."""
    headings, measured = _measured(tensors)
    names = [name + " (turned)" * t.turned + " (not judged)" * (t.name in excepts)
             for name, t in zip(short_names([t.name for t in tensors]), tensors, strict=True)]
    rows = [
        (name, t.dtype, sizes_text(t.shape), *measured(t))
        if not t.note else (name, t.dtype, t.note, *("" for _ in headings))
        for name, t in zip(names, tensors, strict=True)
    ]
    return table(("tensor", "dtype", "shape", *headings), rows, title, right=headings)


@static_inputs()
def run_command(
    artifact: Path,
    shape: Sequence[str],
    input: Sequence[str],
    out: Path | None,
    engine: str,
    all: bool,
    trace: bool,
    function: str | None,
    seed: int,
    format: str | None,
    weights: Path | None,
    **images: Any,
) -> int:
    from ..verification.inputs import random_inputs
    from ..written import written_at
    from .trace import Tracer

    shapes, data = parse_given(shape, input)
    need_images(said_of_images(images), has_images(data))
    need_random(seed, data is None)
    written = written_at(artifact) if format is None else None
    preprocess = take_preprocess(images, artifact) if data is not None else None
    if written is not None:
        written.need_unasked(artifact, {**shapes_of(data or {}), **shapes}, function, weights)
        show_note(written.said(engine, all, trace))
        module = written.module
    else:
        with sizes_from(data, preprocess=preprocess):
            module = load(artifact, format=format, inputs={**shapes_of(data or {}), **shapes}, function=function, weights=weights)
    need_room(out, module.outputs)
    pictures: list[str] = []
    if data is not None:
        data = settled(module, data, preprocess, pictures.append)
    for note in (*module.notes, *pictures):
        show_note(note)
    ready = runnable(module)
    given = data if data is not None else random_inputs(module, ready, seed)
    notes: list[str] = []
    execute = written.execute if written is not None else partial(run, ready)
    outputs = execute(given, engine=engine, keep=all, watch=Tracer() if trace else None, tell=notes.append)
    if out is not None:
        write_arrays(out, outputs)
        note_written(out)
    rows = [(name, array.dtype, sizes_text(array.shape), *_ends(array)) for name, array in outputs.items()]
    shown = console()
    shown.print(table(("tensor", "dtype", "shape", "min", "max", "mean"), rows, right=("min", "max", "mean")))
    for note in notes:
        shown.print(f"note: {note}", markup=False)
    if out is not None:
        shown.print(f"written to {out}", markup=False)
    return 0


def _ends(array: Any) -> list[str]:
    """The least, the greatest and the mean of an output; nothing of complex numbers, which have no order."""
    if array.dtype.kind == "c":
        return [""] * 3
    return [number(float(value)) for value in ((array.min(), array.max(), array.mean()) if array.size else (0, 0, 0))]


def compare_command(
    model: Path, artifact: Path, shape: Sequence[str], input: Sequence[str], per_layer: bool, seed: int, json: bool,
    format: str | None, function: str | None, weights: Path | None, outputs: Sequence[str], excepts: Sequence[str],
    tolerance: Sequence[str], **images: Any,
) -> int:
    from ..errors import VerificationError
    from ..verification.compare import compare

    shapes, data = parse_given(shape, input)
    need_images(said_of_images(images), has_images(data))
    preprocess = take_preprocess(images, artifact) if said_of_images(images) else None
    comparison = compare(model, artifact, data, per_layer=per_layer, seed=seed, shapes=shapes, preprocess=preprocess,
                         format=format, function=function, weights=weights, outputs=outputs, excepts=excepts, tolerance=tolerance)
    code = VerificationError.exit_code if comparison.is_judged and comparison.broken else 0
    if json:
        print_json(comparison.as_dict())
        return code
    out = console()
    out.print(
        _metric_table(comparison.tensors, f"{comparison.reference} and {artifact}", comparison.excepts)
    )
    for note in comparison.notes:
        out.print(f"note: {note}", markup=False)
    if comparison.only_in_reference:
        out.print(
            f"{len(comparison.only_in_reference)} intermediates of the model have no counterpart of their name (fused away)"
        )
    if comparison.is_judged:
        out.print("not near enough:" if comparison.broken else "near enough")
        for reason in comparison.broken:
            out.print(f"  {reason}", markup=False)
    return code


def inspect_command(model: Path, target: str | None, host: str | None, json: bool, **given: Any) -> int:
    from rich.text import Text

    from ..inspection import inspect

    found = inspect(model, target, host=host, **taken_to_load(given))
    description: dict[str, Any] = {
        "model": str(model),
        "format": found.format,
        "dialect": found.dialect,
        "inputs": _values(found.inputs),
        "outputs": _values(found.outputs),
        "ops": found.ops,
        "constant_bytes": found.constant_bytes,
        "functions": list(found.functions),
        "notes": list(found.notes),
    }
    error = found.refusal
    if target is not None:
        description["target"] = target
        description["findings"] = error_report(error).findings if error else []
        description["on_host"] = found.on_host
    if json:
        print_json(description)
        return error.exit_code if error else 0
    out = console()
    out.print(
        Text.assemble(
            (str(model), "bold"),
            f": {description['format']}, {sum(description['ops'].values())} ops, "
            f"{bytes_text(description['constant_bytes'])} of constants",
        )
    )
    out.print(
        table(
            ("", "name", "type", "quantization"),
            [
                *(("input", *row.values()) for row in description["inputs"]),
                *(("output", *row.values()) for row in description["outputs"]),
            ],
        )
    )
    out.print(table(("op", "count"), description["ops"].items(), right=("count",)))
    for note in found.notes:
        out.print(f"note: {note}", markup=False)
    if target is not None:
        if error is None:
            left = ", ".join(f"{name} ({count})" for name, count in found.on_host.items())
            out.print(Text(f"{target} takes all of it" + (f" but {left}, left to the host" if left else ""), "green"))
        else:
            why = "not as it is" if isinstance(error, TargetError) else error.message
            out.print(Text.assemble((f"{target} cannot take it: ", "red"), why))
            show_findings(out, error.findings, session().verbose)
            return error.exit_code
    return 0


def _values(types: Mapping[str, Type]) -> list[dict[str, str]]:
    rows = []
    for name, type_ in types.items():
        quantization = ""
        if isinstance(type_, TensorType) and isinstance(element := type_.element, QuantType):
            quantization = (
                f"scale {element.scale:.7g}, zero point {element.zero_point}"
                if element.per_tensor
                else f"{len(element.scales)} scales along axis {element.axis}"
                if element.blocks is None
                else f"{len(element.scales)} scales, of blocks of {_block(element.blocks)}"
            )
            type_ = type_.with_element(element.storage)
        rows.append({"name": name, "type": str(type_), "quantization": quantization})
    return rows


def _block(blocks: Blocks) -> str:
    """The size of a block in all dimensions: `1x32`; `all` where a dimension is not divided."""
    return "x".join("all" if size is None else str(size) for size in blocks.sizes)


def _module_in(text: str, file: str, verified: bool) -> Module:
    """What a file of MLIR text holds; what is wrong with it is the file's, of which no pass is to be blamed."""
    from ..errors import ReadError
    from ..ir.verify import check
    from ..text import parse_module
    from ..text.files import constants_beside

    try:
        module = parse_module(text, name=file, constants=None if file == "-" else constants_beside(Path(file), text))
    except ReadError as error:
        if error.hint.startswith("--format "):  # an option of commands that read all formats
            reader, others = error.hint.split()[1], error.hint.partition(", or ")[2]
            error.hint = (
                f"`transload extract {shlex.quote(file)} --format {reader} -o generic.mlir` writes it in MLIR's generic form"
                if file != "-" else others)
        raise
    if verified and (findings := check(module)):
        raise ReadError(
            f"{file}: its ops break the rules of their dialects", findings, hint="--no-verify-each takes it as it is")
    return module


def opt_command(
    file: str,
    passes: str,
    out: Path | None,
    timing: bool,
    print_after: bool,
    verify_each: bool,
    constants: str,
    locations: bool,
    trace_rewrites: str | None,
) -> int:
    from ..errors import ReadError
    from ..passes.manager import Pipeline
    from ..text import print_module
    from .trace import rewrites_traced_to

    if constants not in ("inline", "elided", "resource"):
        raise UsageError(f"--constants must be inline, elided or resource, not {constants!r}")
    if file != "-":
        need_file(Path(file))
    try:
        if file == "-" and sys.stdin is None:
            raise UsageError("standard input is closed")
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise ReadError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ReadError(f"{file}: is not text") from None
    module = _module_in(text, file, verify_each)
    pipeline = Pipeline.parse(passes)
    with rewrites_traced_to(trace_rewrites):
        records = pipeline.run(
            module,
            verify_each=verify_each,
            print_after=(
                (lambda name, current: print(
                    f"// ----- after {name}\n{print_module(current, constants='elided')}", file=sys.stderr))
                if print_after
                else None
            ),
        )
        if timing:
            error_console().print(
                table(
                    ("pass", "time", "changed"),
                    [(r.name, seconds_text(r.seconds), "yes" if r.modified else "no") for r in records],
                    right=("time",),
                )
            )
        printed = print_module(module, constants=constants, locations=locations)
        if out is None:
            print_data(printed if printed.endswith("\n") else printed + "\n")
        else:
            from ..files import atomic_path

            with atomic_path(out) as temporary:
                temporary.write_text(printed, encoding="utf-8")
    return 0

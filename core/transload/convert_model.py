"""Conversion as a whole: from a model's file to a target's artifact, with a report.

Stages: read, one per conversion on the route, pipeline, check, verify, emit. Nothing is written to the
output directory before all of it is there: artifacts are made in a temporary directory beside it and
renamed into place.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import roles
from .api import InputSpec, load
from .artifact_set import REPORT, replaced_folder
from .contents import constant_bytes, main_dialect, op_counts
from .context import pinned
from .conversion import convert_to, options_of, route_of
from .engine.memory import peak_bytes
from .errors import TargetError, UsageError, merge_findings
from .garbage import rare_collections
from .ir import Module, State, input_names, output_names
from .ir.verify import verify as verify_module
from .options import settings_of
from .passes.manager import Pipeline
from .plugin import Emitted, Target
from .plugin_host import host
from .suggest import nearest

if TYPE_CHECKING:
    from .verification.tolerance import Tolerance
    from .verification.verify import Verification

__all__ = ["Artifact", "convert"]


@dataclass
class Artifact:
    """What a conversion made."""

    target: str
    directory: Path
    files: list[Path]
    report: dict[str, Any]
    module: Module
    verification: Verification | None = None

    @property
    def verified(self) -> bool:
        """Whether it was compared with the source's runtime, and is near enough."""
        return self.verification is not None and self.verification.passed


@dataclass
class Stages:
    """Times of the stages, and whoever wants to be told of them (a progress bar)."""

    tell: Callable[[str], None] | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if self.tell is not None:
            self.tell(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@rare_collections()
@pinned()
def convert(
    model: str | Path | Module,
    target: str = "tosa",
    out: str | Path = "build",
    *,
    options: Mapping[str, Any] | None = None,
    inputs: Mapping[str, InputSpec] | None = None,
    verify: bool = True,
    tolerance: Tolerance | None = None,
    input_data: Mapping[str, Any] | None = None,
    engine: str = "auto",
    tell: Callable[[str], None] | None = None,
    seed: int = 0,
    format: str | None = None,
) -> Artifact:
    """Convert `model` for `target` and write its artifacts and `report.json` into directory `out`.

    `inputs` fixes shapes by input name; `options` are the target's and those of the conversions on the way;
    with `verify` the result is compared with the source framework's runtime on `input_data`, or on
    random inputs from the model's own ranges. A result that is not near enough is written, too, and says so
    in `verification`.

    Raises `UsageError` (unknown target or option), `ReadError`, `ConversionError` or `TargetError`
    with every finding; then nothing is written.
    """
    stages = Stages(tell)
    chosen: Target = host().get("targets", target)
    why = chosen.available()
    if why:
        raise UsageError(f"target {target!r} cannot be used: {why}")
    settings = target_options(chosen, options or {})
    directory = Path(out)
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; give a directory to write to")

    with stages("read"):
        source = model if isinstance(model, Module) else load(model, inputs=inputs, format=format)
    if verify:
        from .verification.compare import warm_runtime

        warm_runtime(source.source_format)
    module = source.clone()
    hub: Module | None = None
    center = roles.hub().name

    def stage(name: str) -> Callable[[Module], None]:
        context = stages(name)
        context.__enter__()

        def done(current: Module) -> None:
            nonlocal hub
            context.__exit__(None, None, None)
            if hub is None and main_dialect(current) == center:
                hub = current.clone()

        return done

    on_the_way = route_options(chosen, module, options or {})
    dialect = convert_to(module, chosen.accepts, stage=stage, **on_the_way)
    if chosen.pipeline:
        with stages("pipeline"):
            Pipeline.parse(chosen.pipeline).run(module)
    with stages("check"):
        verify_module(module)
        findings = merge_findings(list(chosen.check(module, settings)))
        if findings:
            raise TargetError(f"target {target!r} cannot take this model: {len(findings)} finding(s)", findings)

    checked: Verification | None = None
    if verify:
        from .verification.tolerance import Tolerance
        from .verification.verify import verify_conversion

        with stages("verify"):
            checked = verify_conversion(
                source, module, hub=hub, tolerance=tolerance or Tolerance(), inputs=input_data, engine=engine, seed=seed
            )

    stem = source.source.stem if source.source is not None else "model"
    report: dict[str, Any] = {
        "model": str(source.source) if source.source is not None else None,
        "format": source.source_format,
        "target": target,
        "dialect": dialect,
        "options": {**settings, **on_the_way},
        "inputs": _interface(module, input_names(module.main), 0),
        "outputs": _interface(module, output_names(module.main), 1),
        "notes": list(module.notes),
        "states": [_state(state) for state in module.states],
        "ops_in": op_counts(source),
        "ops_out": op_counts(module),
        "constant_bytes": constant_bytes(module),
        "peak_value_bytes": peak_bytes(module.body_of_main),
        "verification": checked.as_dict() if checked is not None else {"status": "not asked for"},
    }
    files, emitted = _emit(chosen, module, directory, stem, settings, report, stages)
    report["target_report"] = emitted.report
    return Artifact(target, directory, files, report, module, checked)


def _interface(module: Module, names: list[str], side: int) -> list[dict[str, str]]:
    block = module.body_of_main
    values = block.terminator.operands if side else block.arguments
    return [{"name": name, "type": str(value.type)} for name, value in zip(names, values, strict=True)]


def _state(state: State) -> dict[str, Any]:
    """A state for the report: its input and output, and what the first run is given: one number, or all of them."""
    initial = state.initial.numpy()
    same = initial.size and (initial == initial.flat[0]).all()
    return {"input": state.input, "output": state.output, "initial": initial.flat[0].item() if same else initial.tolist()}


def _emit(
    target: Target,
    module: Module,
    directory: Path,
    stem: str,
    settings: dict[str, Any],
    report: dict[str, Any],
    stages: Stages,
) -> tuple[list[Path], Emitted]:
    """Have the target write into a new directory, add the report, and let it take the place of the old one.

    What an earlier conversion wrote there goes: a directory holds one conversion, whose report lists its files.
    """
    with replaced_folder(directory, drop=_files_of_report(directory)) as folder:
        with stages("emit"):
            emitted = target.emit(module, folder, stem, settings)
        report["seconds"] = {name: round(seconds, 6) for name, seconds in stages.seconds.items()}
        names = [file.relative_to(folder) for file in emitted.files]
        report["files"] = {str(name): (folder / name).stat().st_size for name in names}
        report["target_report"] = emitted.report
        (folder / REPORT).write_text(json.dumps(report, indent=2, default=str) + "\n", encoding="utf-8")
    return [*(directory / name for name in names), directory / REPORT], emitted


def _files_of_report(directory: Path) -> list[str]:
    """The files that an earlier conversion wrote to a directory, by its report; none where there is no report that reads."""
    try:
        files = json.loads((directory / REPORT).read_text(encoding="utf-8"))["files"]
        return [name for name in files if isinstance(name, str)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def target_options(target: Target, given: Mapping[str, Any]) -> dict[str, Any]:
    """The target's options with their defaults, and those given, as text or values, in place of them."""
    return settings_of(target.options(), given)


def route_options(target: Target, module: Module, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options that are for the conversions on the way. `UsageError` for those that nobody has."""
    declared = dict(target.options())
    for conversion in route_of(module, target.accepts):
        declared.update(options_of(conversion))
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise UsageError(
            f"target {target.name!r} has no option {', '.join(unknown)}, and neither has a conversion on the way to it",
            hint=_did_you_mean(unknown, declared) + f"options: {', '.join(declared) or 'none'}",
        )
    return {name: value for name, value in given.items() if name not in target.options()}


def _did_you_mean(unknown: Iterable[str], declared: Iterable[str]) -> str:
    guesses = [guess for name in unknown if (guess := nearest(name, declared)) is not None]
    return f"did you mean {', '.join(guesses)}? " if guesses else ""

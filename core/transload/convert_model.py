"""Conversion as a whole: from a model's file to a target's artifact, with a report.

Stages: read, one per conversion on the route, pipeline, check, verify, emit. Nothing is written to the
output directory before all of it is there: artifacts are made in a temporary directory beside it and
renamed into place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import roles
from .api import InputSpec, load
from .artifact_set import REPORT, replaced_folder
from .contents import constant_bytes, main_dialect, op_counts
from .context import pinned
from .conversion import convert_to, options_of, route_of
from .engine.memory import peak_bytes
from .errors import Finding, TargetError, TransloadError, UsageError, VerificationError, merge_findings
from .garbage import rare_collections
from .ir import Module, State, Type
from .ir.verify import verify as verify_module
from .options import settings_of
from .passes.manager import Pipeline
from .plugin import Target
from .plugin_host import host
from .report import Digest, Report, StateReport, TensorReport, files_of_report, versions, write_refusal
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
    report: Report
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
    verify: bool | str = True,
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
    in `verification`; with `verify="require"` what was not compared, or is not near enough, raises `VerificationError`.

    Raises `UsageError` (unknown target or option), `ReadError`, `ConversionError` or `TargetError`
    with every finding. Where it is the model that cannot be converted, `out` then holds `report.json` alone, which says why
    (`error.report` in Python); after any other error it is as it was.
    """
    from .verification.tolerance import Tolerance

    mode = verify_mode(verify)
    stages = Stages(tell)
    limits = tolerance or Tolerance()
    directory = Path(out)
    path = model.source if isinstance(model, Module) else Path(model)
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; give a directory to write to")
    chosen: Target = host().get("targets", target)
    why = chosen.available()
    if why:
        raise UsageError(f"target {target!r} cannot be used: {why}")
    settings = target_options(chosen, options or {})

    report = Report(
        model=str(path) if path is not None else None, target=target, options=settings, seed=seed, tolerance=asdict(limits))
    digest = Digest(path)
    try:
        source, module, hub = _converted(model, chosen, settings, options or {}, inputs, format, mode != "no", report, stages)
        checked: Verification | None = None
        if mode != "no":
            from .verification.verify import verify_conversion

            with stages("verify"):
                checked = verify_conversion(
                    source, module, hub=hub, tolerance=limits, inputs=input_data, engine=engine, seed=seed)
            report.verification = checked.report()
        doubt = unverified(checked, required=mode == "require")
        report.exit_code = doubt.exit_code if doubt is not None else 0
        stem = source.source.stem if source.source is not None else "model"
        files = _emit(chosen, module, directory, stem, settings, report, digest, stages)
    except TransloadError as error:
        report.digest, report.versions = digest.text(), versions()
        report.refuse(error)
        if isinstance(model, Module) or Path(model).exists():
            write_refusal(report, error, directory)
        raise
    artifact = Artifact(target, directory, files, report, module, checked)
    if doubt is not None and mode == "require":
        doubt.report, doubt.artifact = report, artifact
        raise doubt
    return artifact


def verify_mode(verify: bool | str) -> str:
    """What `verify=` asks for: `yes` (or True), `no` (or False), `require`."""
    mode = {True: "yes", False: "no"}.get(verify, verify) if isinstance(verify, bool) else verify
    if mode not in ("yes", "no", "require"):
        raise UsageError(f"verify must be 'yes', 'no' or 'require', not {verify!r}")
    return mode


def unverified(verification: Verification | None, required: bool = False) -> VerificationError | None:
    """What is wrong with a result that was converted and written: it differs, or, where that is `required`, was not compared."""
    if verification is not None and verification.failed:
        return VerificationError(
            f"converted, but the result does not compute what {verification.runtime} computes",
            [Finding(what, why) for what, _, why in (reason.partition(": ") for reason in verification.broken)],
            hint="`transload compare MODEL ARTIFACT --per-layer` shows where it starts; --tolerance sets what is enough")
    if required and (verification is None or not verification.passed):
        said = verification.why if verification is not None else "not asked for"
        return VerificationError(f"converted, but not verified: {said}")
    return None


def _converted(
    model: str | Path | Module, target: Target, settings: dict[str, Any], options: Mapping[str, Any],
    inputs: Mapping[str, InputSpec] | None, format: str | None, verify: bool, report: Report, stages: Stages,
) -> tuple[Module, Module, Module | None]:
    """The model as it was read, as the target takes it, and in the hub dialect where it came through that."""
    with stages("read"):
        source = model if isinstance(model, Module) else load(model, inputs=inputs, format=format)
    report.format, report.ops_in = source.source_format, op_counts(source)
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

    on_the_way = route_options(target, module, options)
    report.options = {**settings, **on_the_way}
    report.dialect = convert_to(module, target.accepts, stage=stage, **on_the_way)
    if target.pipeline:
        with stages("pipeline"):
            Pipeline.parse(target.pipeline).run(module)
    _describe(module, report)
    with stages("check"):
        verify_module(module)
        findings = merge_findings(list(target.check(module, settings)))
        if findings:
            raise TargetError(f"target {target.name!r} cannot take this model: {len(findings)} finding(s)", findings)
    return source, module, hub


def _describe(module: Module, report: Report) -> None:
    """Enter into the report what can be said of a module as the target takes it."""
    report.inputs = _interface(module.inputs)
    report.outputs = _interface(module.outputs)
    report.notes = list(module.notes)
    report.states = [_state(state) for state in module.states]
    report.ops_out = op_counts(module)
    report.constant_bytes = constant_bytes(module)
    report.peak_value_bytes = peak_bytes(module.body_of_main)


def _interface(types: Mapping[str, Type]) -> list[TensorReport]:
    """What a module takes or gives, as its user sees it: `tensor<1x4xui8>` where the artifact holds the bytes in an `i8`."""
    return [TensorReport(name, str(type_)) for name, type_ in types.items()]


def _state(state: State) -> StateReport:
    initial = state.initial.numpy()
    same = initial.size and (initial == initial.flat[0]).all()
    return StateReport(state.input, state.output, initial.flat[0].item() if same else initial.tolist())


def _emit(
    target: Target, module: Module, directory: Path, stem: str, settings: dict[str, Any], report: Report, digest: Digest,
    stages: Stages,
) -> list[Path]:
    """Have the target write into a new directory, add the report, and let it take the place of the old one.

    What an earlier conversion wrote there goes: a directory holds one conversion, whose report lists its files.
    """
    with replaced_folder(directory, drop=files_of_report) as folder:
        with stages("emit"):
            emitted = target.emit(module, folder, stem, settings)
        report.seconds = {name: round(seconds, 6) for name, seconds in stages.seconds.items()}
        names = [file.relative_to(folder) for file in emitted.files]
        report.files = {str(name): (folder / name).stat().st_size for name in names}
        report.target_report = emitted.report
        report.digest, report.versions = digest.text(), versions()
        report.write(folder)
    return [*(directory / name for name in names), directory / REPORT]


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

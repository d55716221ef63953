"""Conversion as a whole: from a model's file to a target's artifact, with a report.

The stages are those of `journey`. Nothing is written to the output directory before all of it is there: artifacts are made
in a temporary directory beside it and renamed into place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .apart import inputs_kept, is_noted, need_free, note_read, note_written
from .api import InputSpec, loaded, model_of
from .artifact_set import REPORT, replaced_folder
from .chosen_target import limits_of, target_named, target_options, usable_target
from .contents import op_counts
from .context import pinned
from .conversion_notes import AtHub, Times
from .described import describe
from .digests import Digests, digests_of
from .edited import blame_edits, note_of_edits
from .emission import check_for, emit_for, left_to_host, looked_into, need_nothing_left, partition_report
from .errors import ReadError, TransloadError, UsageError, VerificationError
from .file_formats import file_of
from .files import exists, need_directory
from .garbage import rare_collections
from .given import has_images, open_given, settled
from .hosting import HostTarget, hosted_for
from .input_shapes import static_inputs
from .interrupts import interrupts_kept
from .ir import Module, TensorType
from .journey import CHECK, EMIT, QUANTIZE, READ, VERIFY, Journey, Observer, Plan, Stage
from .kinds import (
    CALLABLE,
    FLAG,
    LIMITS,
    MAPPING,
    MODEL,
    PATH,
    PREPROCESS,
    SAMPLES,
    SWITCH,
    TEXT,
    TEXTS,
    WHOLE,
    takes,
)
from .made_with import made_with, need_same
from .partitioning import Partition
from .plugin import Emitted, Target
from .plugin_host import host
from .read_again import command
from .report import Report, VerificationReport, versions, write_refusal
from .reported import files_of_report
from .sizes_of_data import sizes_from
from .telling import Tell, told_to
from .verification.asked import unverified, verify_mode

if TYPE_CHECKING:
    from .dump import Start
    from .postprocess import Postprocess
    from .quantization import Quantization
    from .samples.fused import Fused
    from .samples.preprocess import Preprocess
    from .samples.samples import Data, Samples
    from .verification.tolerance import Tolerance
    from .verification.verify import Verification

__all__ = ["Artifact", "convert", "need_possible", "plan"]


@dataclass
class Artifact:
    """What a conversion made."""

    target: str
    directory: Path
    files: list[Path]
    report: Report
    module: Module
    verification: Verification | None = None
    sizes: list[int] = field(default_factory=list)
    """Bytes of each of `files`, as they were written: others may lie there by now."""

    def __repr__(self) -> str:
        names = [file.name for file in self.files]
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        checked = "not asked for" if self.verification is None else self.verification.status
        return f"<artifact for {self.target!r} in {self.directory}: {', '.join(names[:4])}{more}; verification: {checked}>"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    @property
    def verified(self) -> bool:
        """Whether it was compared with the source's runtime, and is near enough."""
        return self.verification is not None and self.verification.passed

    @property
    def looked_into(self) -> Path | None:
        """What `compare` takes to see the tensors within it: its folder, or a file in that; None where they cannot be seen."""
        return looked_into(host().targets.get(self.target), self.directory, self.files, self.report.partition is not None)


@takes(
    model=MODEL, target=TEXT, out=PATH, host=TEXT, options=MAPPING, inputs=MAPPING, verify=SWITCH, tolerance=LIMITS,
    excepts=TEXTS, input_data=MAPPING, data=SAMPLES, preprocess=PREPROCESS, fuse_preprocess=FLAG, add_postprocess=TEXT,
    quantize=TEXT, quantizer_options=MAPPING, engine=TEXT, tell=CALLABLE, seed=WHOLE, format=TEXT, function=TEXT, weights=PATH,
    outputs=TEXTS, passes=TEXT, dump=PATH, start=TEXT)
@rare_collections()
@inputs_kept()
@pinned()
def convert(
    model: str | Path | Module,
    target: str | None = None,
    out: str | Path = "build",
    *, host: str | None = None, options: Mapping[str, Any] | None = None, inputs: Mapping[str, InputSpec] | None = None,
    verify: bool | str = True, tolerance: Tolerance | Mapping[str, float] | Sequence[str] | None = None,
    excepts: Sequence[str] = (), input_data: Mapping[str, Any] | None = None, data: Any = None,
    preprocess: Preprocess | None = None, fuse_preprocess: bool = False, add_postprocess: str | None = None,
    quantize: str | None = None, quantizer_options: Mapping[str, Any] | None = None,
    engine: str = "auto", tell: Tell | None = None, seed: int = 0,
    format: str | None = None, function: str | None = None,
    weights: str | Path | None = None, outputs: Sequence[str] = (), passes: str = "",
    dump: str | Path | None = None, start: str | None = None,
) -> Artifact:
    """Convert `model` for `target`, or for the default one, and write artifacts and `report.json` into the directory `out`.

    `model` is a file that a reader takes, or a module; `target` a name that `transload targets` lists. `inputs` fixes shapes by
    input name, as tuples of sizes or `TensorType`s; `function`, `weights` and `outputs` are as in `load`; `options` are those
    of the target and of the conversions on the way, as text or as Python values; `passes` is a pipeline to run in the hub.
    `host` names the target of what a target that takes a model in part leaves (`transload.hosting`); `{"HOST.KEY": value}` are
    its options. With `verify` the result is compared with the source framework's runtime on `input_data` (arrays, or files of
    them, by input name: `transload.given`; open sizes are theirs or those of `data`), or on random inputs. A result
    that is not near enough is written, too, and says so in `verification`; `verify="no"` (or False) leaves that out, with
    `verify="require"` what was not compared, or is not near enough, raises `VerificationError`. Outputs that `excepts` names
    are compared, and not judged. `quantize` names a quantizer that makes integers of the model at the hub, on the samples
    `data`: a `Data`, or what `open_samples` takes; `quantizer_options` are its own. The result is judged by the quantized
    module then, and a limit of `tolerance` that is given holds for how near it is to the float model. Without a quantizer
    `data` is what verification runs on: all samples that are asked for, or 16 where nobody says how many. `preprocess` says how
    images, of `data` and `input_data`, become what the inputs take; it is written beside the artifacts. With `fuse_preprocess`
    inputs that take images take uint8 pixels (1 x rows x columns x channels, red first), as do arrays that are given: what
    makes numbers of them is a part of the program, and verified as that (`transload.samples.fused`). `add_postprocess` names
    what makes boxes of a detector's outputs, as a part of it, too (`transload.postprocess`). `tell(stage, share)` is called as
    each stage begins, with the share of the stages that are done, or None while the model is read. `dump` is a folder for the
    module's text after every stage and pass (`transload.dump`); `start` a stage to go on from.

    Raises `UsageError` (unknown target or option; a file that is read and would be replaced), `ReadError`, `ConversionError` or
    `TargetError` with every finding. Where it is the model that cannot be converted, `out` then holds `report.json` alone, which
    says why (`error.report` in Python); after any other error it is as it was.
    """
    given = open_given(input_data) if input_data is not None else None
    quantization = _quantization(quantize, quantizer_options, target_named(target))
    mode = verify_mode(verify, tolerance=tolerance, excepts=excepts, engine=engine, data=data if quantize is None else None,
                       seed=seed, given=given is not None or data is not None, input_data=given)
    work = _Work(model, target, Path(out), options or {}, mode, tell, passes, quantization, host)
    limits = limits_of(work.target, tolerance, work.settings)
    with told_to(tell), work.refusals(seed, limits), sizes_from(given, data, preprocess, fuse_preprocess) as found:
        shapes = {} if isinstance(model, Module) else found.shapes
        work.read({**shapes, **(inputs or {})}, format, function, weights, outputs)
        work.add(preprocess, fuse_preprocess, add_postprocess)
        limits = limits.leaving_out(excepts, work.compared()) if excepts else limits
        work.open_data(given, found.data, preprocess)
        if dump is not None or start is not None:
            work.dump(_folder(dump, start), start, made_with(work.source, quantization, data, preprocess, add_postprocess))
        work.lower()
        with replaced_folder(out, drop=files_of_report) as folder:
            work.emit(folder)
            if work.mode != "no":
                work.verify(folder, limits, engine, seed, tolerance)
            work.close(folder)
    return work.artifact()


def need_possible(
    target: Target, *, host: str | None = None, options: Mapping[str, Any] | None = None, verify: bool | str = True,
    tolerance: Tolerance | Mapping[str, float] | Sequence[str] | None = None, data: Any = None, quantize: str | None = None,
    quantizer_options: Mapping[str, Any] | None = None, engine: str = "auto", seed: int = 0, passes: str = "",
) -> None:
    """Raise `UsageError` for arguments that `convert` refuses whatever the model is: who converts many asks before the first."""
    quantization = _quantization(quantize, quantizer_options, target)
    if quantization is not None:
        quantization.need_options()
    mode = verify_mode(verify, tolerance=tolerance, engine=engine, data=data if quantize is None else None, seed=seed,
                       given=data is not None)
    hosted, options = hosted_for(target, host, options or {})
    settings = target_options(target, options)
    limits_of(target, tolerance, settings)
    _journey(target, settings, options, mode != "no", passes, quantization=quantization, hosted=hosted)


class _Work:
    """One conversion: what was asked for, and what came of it so far."""

    def __init__(
        self, model: str | Path | Module, target: str | None, directory: Path, options: Mapping[str, Any], mode: str,
        tell: Tell | None = None, passes: str = "", quantization: Quantization | None = None, host: str | None = None,
    ) -> None:
        model = model_of(model)
        need_directory(directory)
        self.model, self.directory, self.mode = model, directory, mode
        self.path = model.source if isinstance(model, Module) else Path(model)
        self.target = usable_target(target)
        self.hosted, self.options = hosted_for(self.target, host, options)
        self.settings = target_options(self.target, self.options)
        self.times, self.at_hub = Times(tell), AtHub()
        self.quantization, self.passes = quantization, passes
        self.fused: Fused | None = None
        self.post: Postprocess | None = None
        self.journey = self._journey()
        self.is_read = False
        self.given: Mapping[str, Any] | None = None
        self.samples: Samples | None = None
        self.preprocess: Preprocess | None = None
        self.source: Module
        self.module: Module
        self.cut: Partition | None = None
        self.emitted: Emitted
        self.files: list[Path] = []
        self.sizes: list[int] = []
        self.report: Report
        self.digests: Digests
        self.verification: Verification | None = None
        self.doubt: VerificationError | None = None
        self.edits = ""

    def _journey(self) -> Journey:
        return _journey(
            self.target, self.settings, self.options, self.mode != "no", self.passes, [self.times, self.at_hub],
            self.quantization, self.fused, self.post, self.hosted)

    @contextmanager
    def refusals(self, seed: int, tolerance: Tolerance) -> Iterator[None]:
        """Open the report; where what is inside raises, complete it as that of a refusal."""
        self.report = Report(
            model=str(self.path) if self.path is not None else None, target=self.target.name, options=self.settings, seed=seed,
            tolerance=tolerance.limits(), host=self.hosted.name if self.hosted is not None else None)
        self.digests = Digests(_file_of(self.path))
        try:
            with interrupts_kept():
                yield
        except TransloadError as error:
            self._name_sources()
            if self.is_read:
                self.report.notes = list(self.source.notes)
            self.report.refuse(error)
            if self.is_read and isinstance(error, ReadError):  # samples or a table: it is not the model that is refused
                raise
            if isinstance(self.model, Module) or exists(Path(self.model)):
                write_refusal(self.report, error, self.directory)
            raise

    def read(
        self, inputs: Mapping[str, InputSpec] | None, format: str | None, function: str | None, weights: str | Path | None = None,
        outputs: Sequence[str] = (),
    ) -> None:
        """Read the model, and have its runtime start what takes time to start."""
        self.report.function = function
        with static_inputs():
            self.source = self.journey.through(READ, lambda: loaded(
                self.model, "convert", inputs=inputs, format=format, function=function, weights=weights, outputs=outputs))
        self.is_read = True
        if isinstance(self.model, Module):
            self.source = self.source.clone()  # what is noted of this conversion is not said of the caller's
        self.report.format, self.report.ops_in = self.source.source_format, op_counts(self.source)
        self.digests.add(self.source.beside)
        note_read(self.path, *self.source.beside)
        need_free(*(self.directory / name for name in files_of_report(self.directory, where=is_noted)))  # which go
        if self.mode != "no":
            from .verification.runtimes import judged_format, warm_runtime

            warm_runtime(judged_format(self.source))
        self.module = self.source.clone()
        if isinstance(self.model, Module) and self.mode != "no" and (note := note_of_edits(self.model)) is not None:
            self.module.notes, self.edits = (*self.module.notes, note), note
        if self.times.tell is not None:
            with suppress(TransloadError):  # said when it comes to that
                self.times.planned = [stage.name for stage in self.journey.plan(self.module, settle=False).stages]

    def add(self, preprocess: Preprocess | None, fuse: bool, post: str | None) -> None:
        """Have inputs take pixels where that is asked for, and outputs be what is made of them."""
        if not fuse and post is None:
            return
        self.fused, self.post = _around(self.source, preprocess, fuse, post)
        self.journey = self._journey()
        self._note(*(self.fused.notes if self.fused is not None else ()))

    def _note(self, *notes: str) -> None:
        """Have a report say them, whether the model is refused or not."""
        for module in (self.source, self.module):
            module.notes = (*module.notes, *notes)

    def compared(self) -> list[str]:
        """The outputs that verification compares, by name."""
        return list(self.source.outputs) if self.post is None else self.post.names

    @property
    def outside(self) -> Module:
        """The model as the users of the result see it."""
        return self.source if self.fused is None else self.fused.outside

    def open_data(self, given: Mapping[str, Any] | None, data: Data | None, preprocess: Preprocess | None) -> None:
        """Have images and samples become what the model takes, or what the program does, where that is fused into it."""
        from .samples.preprocess import Preprocess, need_images

        asked = preprocess is not None and self.fused is None and (given is not None or data is not None)
        self.preprocess = preprocess = preprocess if self.fused is None else self.fused.preprocess
        if given is not None:
            notes: list[str] = []
            self.given = settled(self.outside, given, preprocess, notes.append)
            self._note(*notes)
            if preprocess is None and has_images(given):
                self.preprocess = Preprocess()
        if data is not None:
            self.samples = data.open(self.outside, preprocess)
            self.preprocess = self.samples.preprocess or preprocess
        if asked:
            need_images(has_images(given) or (self.samples is not None and bool(self.samples.images)))
        if self.quantization is not None:
            self.quantization.samples = self.samples
        tell = self.times.tell
        if self.samples is not None and tell is not None:
            of = f" of {self.samples.known_length}" if self.samples.known_length is not None else ""
            self.samples.watch = lambda number: tell(f"sample {number}{of}", None)

    def dump(self, directory: str | Path, start: str | None, made: Mapping[str, Mapping[str, Any]]) -> None:
        """Have the stages and passes written into a folder, and go on from a stage of what is there, where one is named.

        `made` is what stages are made with (`made_with`).
        """
        from .dump import Dump

        begin = None
        if start is not None:
            begin = _gone_on_from(self.journey, self.module, directory, start, made, self.digests)
            self.module, self.at_hub.module = begin.module, begin.hub
            self.at_hub.floats, self.at_hub.quantized = begin.floats, begin.quantized
        dump = Dump(directory, _named(self.source), begin, self.digests, made)
        if begin is None:
            dump.enters(Stage(READ))
            dump.leaves(Stage(READ), self.module, self.times.seconds[READ])
        self.journey.observers.append(dump)

    def lower(self) -> None:
        """Make of the model what the target takes. Raises what keeps it from that, with every finding."""
        self.report.options = {**self.options, **self.settings, **_host_options(self.hosted)}
        self.report.dialect = self.journey.run(self.module)
        if self.quantization is not None:
            self.report.quantization = self.quantization.report()
        describe(self.module, self.report, self.at_hub.quantized or self.at_hub.module or self.source)
        self.cut = self.journey.through(
            CHECK, lambda: check_for(self.target, self.module, self.settings, self.hosted), self.module)
        if self.cut is not None:
            self.report.notes.append(left_to_host(self.target, self.cut, self.module, self.hosted))

    def emit(self, folder: Path) -> None:
        """Have the target write into a new folder.

        What an earlier conversion wrote goes: a directory holds one conversion, whose report lists its files.
        """
        stem = _stem(self.source)
        self.emitted = self.journey.through(
            EMIT, lambda: emit_for(self.target, self.module, self.cut, folder, stem, self.settings, self.hosted), self.module)
        self.report.target_report = self.emitted.report
        if self.emitted.parts:
            across = self.cut.bytes if self.cut is not None else None
            self.report.partition = partition_report(self.emitted, folder, across)

    def verify(
        self, folder: Path, tolerance: Tolerance, engine: str, seed: int,
        given: Tolerance | Mapping[str, float] | Sequence[str] | None,
    ) -> None:
        """Compare with the source's runtime what the target's own runtime gives, or the `engine` asked for, or one that suits.

        What was quantized is compared with the module that the quantizer made, and by the limits `given` with the source; what
        it was made of is compared with the source as without quantizing. Not so what takes other inputs than the source.
        """
        from .parts import own_runtime, read_back
        from .verification.quantized import SAMPLES, verify_quantized_conversion
        from .verification.verify import Verification, verify_conversion

        own = own_runtime(self.target, self.emitted, engine, self.module, self.settings)
        drawn = self.samples.at_most(SAMPLES) if self.samples is not None and self.quantization is None else self.samples
        inputs = self.given if self.given is not None else drawn
        written, note = read_back(self.target, self.emitted, self.module, engine) if own is None else (None, "")
        how: dict[str, Any] = {"tolerance": tolerance, "inputs": inputs, "engine": engine, "seed": seed, "own": own,
                               "written": written, "fused": self.fused, "post": self.post}
        hub, quantized = self.at_hub, self.at_hub.quantized

        def verified() -> Verification:
            if self.passes and (unlike := hub.other_inputs(self.fused)):
                return Verification("skipped", unlike)
            if quantized is None:
                made = verify_conversion(self.source, self.module, hub=hub.module, every=True, **how)
            else:
                made = verify_quantized_conversion(
                    self.source, self.module, hub=hub.module, floats=hub.floats, quantized=quantized, limits=given, **how)
            if made.samples and inputs is drawn and self.samples is not None:
                made.samples_of = self.samples.known_length
                made.notes += self.samples.left_out if self.quantization is None else ()
            need_nothing_left(self.target, self.emitted, folder)
            return made

        try:
            self.verification = self.journey.through(VERIFY, verified, self.module)
        except TransloadError as error:
            mistaken = isinstance(error, UsageError | ReadError)  # what was given, of which nothing could be compared
            self.report.verification = VerificationReport("skipped" if mistaken else "failed", error.message)
            raise
        if self.edits:
            blame_edits(self.verification, self.edits)
        if note and self.verification.passed:
            self.verification.status, self.verification.why = "inconclusive", note
        self.report.verification = self.verification.report()

    def close(self, folder: Path) -> None:
        """Write the report beside the files; `ReadError` where the model is another by now."""
        self.digests.need_unchanged()
        self.doubt = unverified(
            self.verification, self.mode == "require", self.path, looked_into(
                self.target, self.directory, [self.directory / file.relative_to(folder) for file in self.emitted.files],
                bool(self.emitted.parts)), reading=self.source.reading)
        report = self.report
        report.exit_code = self.doubt.exit_code if self.doubt is not None else 0
        report.seconds = {name: round(seconds, 6) for name, seconds in self.times.seconds.items()}
        names = [file.relative_to(folder) for file in (*self.emitted.files, *self._write_preprocess(folder))]
        report.files = {str(name): (folder / name).stat().st_size for name in names}
        report.digests = digests_of({str(name): folder / name for name in names})
        self._name_sources()
        report.write(folder)
        self.files = [*(self.directory / name for name in names), self.directory / REPORT]
        self.sizes = [*report.files.values(), (folder / REPORT).stat().st_size]

    def _name_sources(self) -> None:
        """Enter into the report what the model consists of, and what worked on it."""
        report = self.report
        report.digest, report.beside, report.versions = self.digests.model.text(), self.digests.beside(), versions()

    def _write_preprocess(self, folder: Path) -> list[Path]:
        """Have the file that says how images become inputs lie beside the artifacts, where there were some."""
        from .samples.preprocess import FILE, joined

        if self.preprocess is None:
            return []
        taken = (self.at_hub.quantized or self.outside).inputs
        types = {name: type_ for name, type_ in taken.items() if isinstance(type_, TensorType)}
        images = self.samples.images if self.samples is not None else {}
        return [(joined(images.values(), types) or self.preprocess).write(folder / FILE)]

    def artifact(self) -> Artifact:
        """What was made; `VerificationError` where it had to be verified, and is not."""
        note_written(*self.files)
        made = Artifact(self.target.name, self.directory, self.files, self.report, self.module, self.verification, self.sizes)
        if self.doubt is not None and self.mode == "require":
            self.doubt.report, self.doubt.artifact = self.report, made
            raise self.doubt
        return made


@takes(
    model=MODEL, target=TEXT, options=MAPPING, inputs=MAPPING, verify=SWITCH, format=TEXT, passes=TEXT, function=TEXT, dump=PATH,
    start=TEXT, quantize=TEXT, quantizer_options=MAPPING, preprocess=PREPROCESS, fuse_preprocess=FLAG, add_postprocess=TEXT,
    weights=PATH, outputs=TEXTS, host=TEXT)
def plan(
    model: str | Path | Module, target: str | None = None, *, options: Mapping[str, Any] | None = None,
    inputs: Mapping[str, InputSpec] | None = None, verify: bool | str = True, format: str | None = None, passes: str = "",
    function: str | None = None, dump: str | Path | None = None, start: str | None = None, quantize: str | None = None,
    quantizer_options: Mapping[str, Any] | None = None, preprocess: Preprocess | None = None, fuse_preprocess: bool = False,
    add_postprocess: str | None = None, weights: str | Path | None = None, outputs: Sequence[str] = (), host: str | None = None,
) -> Plan:
    """What `convert` would run, with the same arguments: stages, and the passes of each with their options.

    As text it is a pipeline that `transload opt` runs; nothing is written. Where the route depends on what a stage makes of the
    model, that stage is tried. With `start`, the plan begins with that stage, and `dump` is the folder to go on from.
    Raises `UsageError`, `ReadError`, or `ConversionError` where there is no way.
    """
    chosen = target_named(target)
    hosted, options = hosted_for(chosen, host, options or {})
    settings = target_options(chosen, options)
    with static_inputs():
        module = loaded(
            model_of(model), "plan", inputs=inputs, format=format, function=function, weights=weights, outputs=outputs)
    quantization = _quantization(quantize, quantizer_options, chosen)
    around = _around(module, preprocess, fuse_preprocess, add_postprocess)
    journey = _journey(chosen, settings, options, verify_mode(verify) != "no", passes, (), quantization, *around, hosted)
    if start is not None:
        made = made_with(module, quantization, None, preprocess, add_postprocess)
        module = _gone_on_from(journey, module, _folder(dump, start), start, made).module
    return journey.plan(module)


def _gone_on_from(
    journey: Journey, module: Module, dump: str | Path, start: str, made: Mapping[str, Mapping[str, Any]],
    digests: Digests | None = None,
) -> Start:
    """What a dump holds from before a stage, in place of a module that was just read; the journey goes on from there.

    `UsageError` where what is behind was not `made` with what is asked for.
    """
    from .dump import Dumped

    if digests is None:
        digests = Digests(module.source)
        digests.add(module.beside)
    writes = command("convert", _named(module), reading=module.reading, more=("--dump", dump), without=("--from",))
    begin = Dumped(dump, writes).before(start, _named(module), digests, module.reading)
    need_same(begin, journey, module, made, writes)
    begin.take_the_place_of(module)
    journey.go_on_from(begin.names)
    return begin


def _folder(dump: str | Path | None, start: str | None) -> str | Path:
    if dump is None:
        raise UsageError(f"where is the dump to go on from at stage {start!r}?", hint="--dump DIR, or dump= in Python")
    return dump


def _file_of(path: Path | None) -> Path | None:
    """What a model is read from, whose digest is the model's; a folder that is none, where reading says why."""
    with suppress(TransloadError):
        return file_of(path) if path is not None else None
    return path


def _stem(module: Module) -> str:
    """What artifacts of a model are called: as its file, or as the folder that it is, without dots that would hide them."""
    if module.source is None:
        return "model"
    reader = host().readers.get(module.source_format or "")
    is_folder = reader is not None and module.source.name in reader.folder
    return (module.source.parent.name if is_folder else module.source.stem).lstrip(".") or "model"


def _named(module: Module) -> str:
    return str(module.source) if module.source is not None else "a model made in memory"


def _journey(
    target: Target, settings: Mapping[str, Any], options: Mapping[str, Any], verify: bool, passes: str,
    observers: Sequence[Observer] = (), quantization: Quantization | None = None, fused: Fused | None = None,
    post: Postprocess | None = None, hosted: HostTarget | None = None,
) -> Journey:
    """The journey to a target, with what `convert` does around it.

    Images become numbers ahead of the user's passes at the hub; what is made of outputs is added behind them, and behind
    quantizing, for boxes are no numbers to be held in eight bits.
    """
    quantizing = None
    if quantization is not None:
        act = quantization if post is None else lambda module: post.added(quantization(module))
        quantizing = Stage(QUANTIZE, about=quantization.about, act=act)
    added = post.passes if post is not None and quantization is None else ""
    passes = ",".join(filter(None, [fused.passes if fused is not None else "", passes, added]))
    judge = f"by {target.name}'s own runtime" if target.run is not None else ""
    about = target.name + (f", and what it leaves for {hosted.name}" if hosted is not None else "")
    ends = [Stage(CHECK, about=about), Stage(EMIT, about=about), *([Stage(VERIFY, about=judge)] if verify else [])]
    return Journey(
        target.accepts, options, passes=passes, target=target, settings=settings, quantize=quantizing, by_hub=bool(fused or post),
        observers=observers, begins=[Stage(READ)], ends=ends)


def _around(
    module: Module, preprocess: Preprocess | None, fuse: bool, post: str | None,
) -> tuple[Fused | None, Postprocess | None]:
    """What is added before a model and behind it."""
    fused = after = None
    if fuse:
        from .samples.fused import Fused

        fused = Fused(module, preprocess)
    if post is not None:
        from .postprocess import Postprocess

        after = Postprocess(module, post)
    return fused, after


def _quantization(quantize: str | None, options: Mapping[str, Any] | None, target: Target) -> Quantization | None:
    """The quantizer that is asked for, with what the target wishes.

    `UsageError` for one that there is not, and for options of none.
    """
    if quantize is None:
        if options:
            raise UsageError(f"{', '.join(options)}: of which quantizer?", hint="name one: quantize=")
        return None
    from .quantization import Quantization, wished_by

    return Quantization(quantize, {**wished_by(target, quantize), **(options or {})})


def _host_options(hosted: HostTarget | None) -> dict[str, Any]:
    """The options of the host's target, as they are given."""
    if hosted is None:
        return {}
    return {f"{hosted.name}.{key}": value for key, value in {**hosted.options, **hosted.settings}.items()}

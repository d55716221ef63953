"""What a plugin registers.

Each hook of `transload.hookspecs` is given a function `register`; the plugin calls it with objects of
these classes. They are cheap to make: where a member is code that needs imports, give it as text,
`"package.module:name"`, and it is imported when first used.
"""

from __future__ import annotations

import inspect
import mmap
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import Finding, PluginFailure, ReadError, RunError, UsageError
from .guard import FOREIGN, Reference, failure, goes_through, imported, noted
from .measures import Metric, Score
from .options import Options, parameters_of
from .watched import Watched, told

if TYPE_CHECKING:
    import numpy as np

    from .ir import Module, Op, TensorType
    from .partitioning import Partition

__all__ = [
    "Calibrator", "Conversion", "DialectSpec", "Emitted", "EmittedPart", "Engine", "ForeignFormat", "KernelTable", "Metric",
    "Pass", "Quantized", "Quantizer", "Reader", "Runtime", "Score", "Source", "Target", "Writer", "resolve",
]

F = TypeVar("F", bound=Callable[..., Any])


def resolve(reference: Any) -> Any:
    """The object behind `"package.module:name"`; anything else is returned as it is. `PluginFailure` where there is none."""
    if isinstance(reference, Reference):
        return reference.load()
    return imported(reference) if isinstance(reference, str) else reference


def unavailable(available: Any) -> str | None:
    """Why something cannot be used here, as its `available` says, or None; what fails to say so cannot be used, for that reason.

    For what is one of several. Of what a user names, a failure of its plugin is the error.
    """
    try:
        why: str | None = resolve(available)() if available is not None else None
    except PluginFailure as error:
        return noted(error)
    return why


@dataclass(frozen=True)
class DialectSpec:
    """A dialect: `load` gives the `transload.ir.declare.Dialect`, `kernels` its `KernelTable` (or None).

    `canonicalize` gives a `RewriteTable` of simplifications, which the pass of that name applies. Both are facts about
    the dialect's ops (kinds "kernel" and "canonicalization"), as is what the hook `register_facts` says of them.
    """

    name: str
    load: Any
    kernels: Any = None
    doc: str = ""
    canonicalize: Any = None
    role: str | None = None
    """`"hub"`: every framework's model comes to it, and from it every target's starts. One dialect plays the part."""
    pipeline: str = ""
    """Of the hub: the passes, as pipeline text, between legalization and lowering."""


MAPPED_FROM = 1 << 26
"""Bytes of a file above which it is mapped, and not read: constants of hundreds of megabytes add nothing to memory."""


@dataclass
class Source:
    """What a reader reads: a file, or bytes that the caller has.

    `data` is the file's bytes, mapped where there are many (`MAPPED_FROM`); treat it as read-only and hostile. `function` is the
    one that the user asks for, where a file holds several; a reader that sees to it itself sets it to None, and `Module.entry`
    where it is not the one that it would have read without.
    `weights` is a second file that the caller named, for formats that keep the network in one and its weights in another
    (`Reader.weights`).
    `outputs` are the tensors at which the model will be cut (`extraction.cut_at`); a reader may leave out what only others need.
    `obeyed` are the shapes that the reader was asked for and kept to without an input of that name, as of an empty sequence.
    """

    path: Path | None = None
    _data: Any = None
    name: str = "<data>"
    function: str | None = None
    weights: Path | None = None
    outputs: tuple[str, ...] = ()
    obeyed: set[str] = field(default_factory=set)

    @property
    def data(self) -> memoryview:
        if self._data is None:
            with self.path.open("rb") as file:  # type: ignore[union-attr]
                # What is mapped and then cut short by somebody else ends the process: that is for what is too large to be read.
                if os.fstat(file.fileno()).st_size <= MAPPED_FROM:
                    self._data = file.read(MAPPED_FROM)
                else:
                    self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return memoryview(self._data)

    @property
    def size(self) -> int:
        """How many bytes the file has; 0 of a folder, and of a file that is gone."""
        if self._data is not None:
            return len(memoryview(self._data))
        try:
            return self.path.stat().st_size if self.path is not None and self.path.is_file() else 0
        except OSError:
            return 0


@dataclass(frozen=True)
class Reader:
    """Imports a file format, one op for one op.

    `read(source, inputs)` returns a `Module`; `inputs` maps input names to the `TensorType` that the
    user wants (static shape; the element may be `NONE` where only the shape is given). It raises
    `ReadError` for anything that is wrong with the file. `detect(head, path)` says from the first
    4 KiB whether a file is of this format, where the suffix does not decide: no reader has it, or several do.
    """

    name: str
    dialect: str
    suffixes: tuple[str, ...]
    read: Any
    detect: Any = None
    doc: str = ""
    quantizing: str = ""
    """How a float model of this format is quantized by its framework's own tools, for who needs integers."""
    warm: Any = None
    """`warm()` is called when a file is to be read, before what reads it is imported: it starts what takes time to start."""
    folder: tuple[str, ...] = ()
    """Names of files that are the model in a folder which is one (`saved_model.pb`): the reader is given that file."""
    weights: bool = False
    """Whether weights may lie in a file of their own, which a user can name: `Source.weights`."""

    def __call__(self, source: Source, inputs: Mapping[str, TensorType] | None = None) -> Module:
        return resolve(self.read)(source, dict(inputs or {}))


@dataclass(frozen=True)
class ForeignFormat:
    """A format of models that nobody here reads, and the way on which they come here all the same.

    It is known by its `suffixes`, or, where they do not decide or are none, by `detect(head, path)`, as a `Reader`'s; `path`
    may be a directory, and then `head` is empty. It is asked for where no reader knows a file; one that has both, and a suffix
    that several readers have (`.mlir`), is asked before these. `way` says what to do;
    `{path}` in it stands for the file and `{folder}` for its folder, quoted for a shell.
    """

    name: str
    title: str
    """What a file of it is: "a Keras model"."""
    way: str
    suffixes: tuple[str, ...] = ()
    detect: Any = None

    def knows(self, head: bytes, path: Path) -> bool:
        if self.detect is None:
            return path.name.lower().endswith(self.suffixes)
        return bool(resolve(self.detect)(head, path))


@dataclass(frozen=True)
class Writer:
    """Writes a module to a file format: `write(module, path)`, which must be atomic."""

    name: str
    dialect: str
    """The dialect whose modules it writes: no other is given to it. `builtin`: of any."""
    suffixes: tuple[str, ...]
    write: Any
    doc: str = ""


@dataclass(frozen=True)
class Conversion:
    """Turns a module of dialect `source` into one of dialect `target`: passes before, a table of rewrites, passes after.

    The passes are pipeline text, as in `transload opt`: `before="layout{to=NHWC},my-types{width=$width}"`. A `$name` stands for
    the value of the conversion's option of that name. `table` is the `RewriteTable`; what a plugin adds to it, by `extends`,
    comes first. A pass that finds what cannot be converted says so by `transload.findings.refuse`, and the rest goes on: one
    `ConversionError` lists what the passes before and the rewrites found.
    """

    name: str
    source: str
    target: str
    table: Any = None
    before: str = ""
    """Passes run before the rewrites, as pipeline text."""
    after: str = ""
    """Passes run after the rewrites, as pipeline text."""
    cost: float = 1.0
    """Weighs it when a route is looked for."""
    doc: str = ""
    extends: str | None = None
    """Name of the conversion whose table this one's is added to, instead of being one of its own."""
    options: Options = field(default_factory=dict)
    """Choices that a user has, as a target's: `--option key=value`. Rewrites get them in `rw.options`, passes by `$key`.

    Those of a conversion that `extends` another are options of that one.
    """
    before_quantizing: Mapping[str, Any] = field(default_factory=dict)
    """What options are where a quantizer comes after the conversion, unless the user says otherwise: it needs floats in plain."""
    entries: Any = None
    """`entries(module)` gives the functions to convert, where not all are. Rewrites copy ops of the others (`rw.function`),
    which are erased after."""
    retype: Any = None
    """`retype(module)` gives values types that the target has, where it lacks some, as the rewrites begin, and not in a pass
    before: an op with them may be valid in neither dialect."""
    joins: tuple[str, ...] = ()
    """Conversions whose tables are used, too, for ops of their source dialects that rewrites of this one make."""
    unfit: Any = None
    """`unfit(module)` gives None, or why the conversion is not meant for the module: a route then goes another way."""
    rough: bool = False
    """Whether what its rewrites make keeps to its declarations only after the passes `after`: it is looked at then, and not as it
    is made."""
    way_out: str = ""
    """What a user may do about ops that it has no rewrite for, before a plugin that adds one is thought of."""
    evidence: str | None = None
    """`"package:file.json"`, a file in that package: what tests measured of the conversion, see `transload.coverage_report`."""


@dataclass(frozen=True)
class Pass:
    """A named pass: `run(module, **options)` changes the module in place and returns whether it did.

    Options are the keyword parameters of `run`, typed by their annotations (bool, int, float, str).
    `requires` and `produces` are dialect or state names, checked and listed by `transload passes`.
    With `at="hub"` it runs, with the defaults that all its options have, after the hub's own pipeline in every journey that goes
    on from the hub.
    """

    name: str
    run: Any
    doc: str = ""
    requires: tuple[str, ...] = ()
    """What has to be there, all of it; `"acme|npu"` is one of both."""
    produces: tuple[str, ...] = ()
    at: str = ""

    def options(self) -> dict[str, inspect.Parameter]:
        """The parameters of `run` after the module, by name."""
        return self._options

    @cached_property
    def _options(self) -> dict[str, inspect.Parameter]:
        try:
            return {p.name: p for p in parameters_of(resolve(self.run), 1)}
        except FOREIGN as error:  # an annotation of something that is not there when it runs
            if goes_through(error):
                raise
            raise failure(getattr(self.run, "plugin", None), f"pass {self.name!r} (run)", error) from error


class KernelTable(Watched):
    """Functions that execute ops: `kernel(op, *arrays) -> array or tuple of arrays`.

    The arrays are read-only to the kernel, of the operands' storage dtype; absent operands are None, also those that an
    op leaves out at its end, unless the parameter has a default.
    How quantized operands are treated is said when a kernel is added:

    - `"float"` (the default): the engine dequantizes the inputs, and quantizes the result;
    - `"storage"`: the op only moves numbers, so it works on the stored integers where all quantized
      types of the op are the same, and as `"float"` where not;
    - `"native"`: the kernel reads the types itself.

    A kernel of an op with regions takes a keyword argument `run(region, *arrays) -> list of arrays`. One that prepares itself for
    an op has an attribute `plans`: `plans(op, plan)` gives, before anything is run, what executes the op, as a kernel does;
    `plan` is that of the block around it (`transload.engine.run.Plan`). Where that has `wants_values`, it is called with
    `values=` of the block and `watch=`, too, which is how regions are run that are not in program order.
    A name `"acme.*"` stands for all ops of a dialect that have no kernel of their own.
    """

    def __init__(self) -> None:
        self.kernels: dict[str, tuple[Callable[..., Any], str]] = {}

    def __repr__(self) -> str:
        return f"<table of kernels: of {told(self.kernels)}>"

    @property
    def facts(self) -> dict[str, tuple[Callable[..., Any], str]]:
        """The table as facts of kind "kernel"."""
        return self.kernels

    def __call__(self, *names: str, quantized: str = "float") -> Callable[[F], F]:
        if quantized not in ("float", "storage", "native"):
            raise UsageError(f"a kernel's quantized= must be 'float', 'storage' or 'native', not {quantized!r}")

        def add(kernel: F) -> F:
            for name in names:
                self.kernels[name] = (kernel, quantized)
            self.changed()
            return kernel

        return add


@dataclass(frozen=True)
class Engine:
    """Executes modules: `prepare(module, function)` gives `execute(inputs, keep) -> dict of arrays`.

    `keep` is True where every named intermediate is wanted too. `execute` may have `notes`: what a user should know of the
    numbers that it gives, in words.
    """

    name: str
    prepare: Any
    doc: str = ""
    available: Any = None
    """`available()` gives None, or the reason why the engine cannot be used here."""
    compiles: bool = False
    """Whether it compiles, for seconds, and then runs several times faster than the reference engine: the engine `auto` takes
    the first such one where that pays."""
    measures: bool = False
    """Whether it begins at once and computes floats several times faster than the reference engine: what runs modules of floats
    on many samples, as a quantizer does, takes it first. `auto` does not: its results are judged, maybe by the same kernels."""


@dataclass(frozen=True)
class Runtime:
    """A framework's own runtime, the judge of a conversion.

    `open(path)` gives `run(inputs: dict) -> dict of outputs`, by the names that the reader gives them and in the model's own
    dtypes; with `keep=True`, every intermediate tensor it can give, by name.
    """

    name: str
    format: str
    """Name of the reader whose files it runs."""
    open: Any
    available: Any
    """`available()` gives None, or the reason why it cannot be used here (what to install)."""
    doc: str = ""
    alternatives: Any = None
    """`alternatives(path)` gives, by name, other ways in which the runtime computes the model, each as right as `open`'s: a
    dict of functions that `run(inputs)`. Where they differ, a result is judged by the nearest."""
    warm: Any = None
    """`warm()` is called when a verification is to come, and starts what takes time to start; it returns at once."""
    fetches: bool = False
    """Whether `run` takes `outputs=`, names of tensors that it gives in place of the model's outputs."""
    beside: bool = False
    """Whether it is called as `open(path, beside)`, with the other files that the module was read from (`Module.beside`)."""

    undefined: Any = None
    """`undefined(source, hub, inputs)` is asked where a result differs: why the framework does not say what the outputs are, or
    its runtime computes them by what its language leaves undefined; an empty text where neither is so. The verdict is
    "inconclusive" then, with that as the reason. `source` is the model as it was read, `hub` its legalization or None."""

    of_target: str = ""
    """The target whose artifacts this runtime runs, where it is not the one that defines the format. It judges models that the
    format's own runtime does not run; and of that target a result that is what it gives of the source's own file is right."""

    padded: Any = None
    """`padded(source)` gives, by the names of outputs that may have fewer elements than what is made of them, as many as are
    found, the number that stands in the rest there, or None where it may be any: what is found is judged, and the rest."""

    rounds_alone: Any = None
    """`rounds_alone(module)` says of a module in the dialect of its format whether it runs that by kernels that round quantized
    numbers on their own, and not by those that say what the format means (`Target.rounds_alone`). Where a result is farther from
    it than is allowed, each quantized tensor is judged by itself then, from the runtime's own numbers before it."""

    functions: bool = False
    """Whether it is called with `function=`, the name of the function to run, where a file holds several."""

    text: bool = False
    """Whether it runs MLIR text of the dialect of its format, too, whatever suffixes that format has."""

    def opened(
        self, path: Path | None, beside: tuple[Path, ...] = (), function: str = "main",
    ) -> Callable[..., dict[str, np.ndarray]]:
        """What runs the model of a file, or a function of it; `beside` are the files that were read with it.

        Raises `RunError` for a function of a file of which it runs only the main one.
        """
        if function != "main" and not self.functions:
            raise RunError(f"{self.name} runs the function main of a file, and not {function!r}",
                           hint="compare with what is converted of the function main, or run the file in its own framework")
        how = {"function": function} if self.functions else {}
        run: Callable[..., dict[str, np.ndarray]] = (
            resolve(self.open)(path, beside, **how) if self.beside else resolve(self.open)(path, **how))
        return run


@dataclass
class EmittedPart:
    """A part of a model, and what was written of it: `place` is "target" or "host" (`transload.partitioning`).

    `inputs` and `outputs` are the names of the tensors that it takes and gives, of which each other part knows them, `types` what
    they are, as MLIR writes it. `target` is the name of the target that it was written for and that runs it; empty: an engine.
    """

    place: str
    files: list[Path]
    inputs: list[str]
    outputs: list[str]
    report: dict[str, Any] = field(default_factory=dict)
    target: str = ""
    types: dict[str, str] = field(default_factory=dict)
    ops: dict[str, int] = field(default_factory=dict)
    """How many there are of each op that it computes."""


@dataclass
class Emitted:
    """What a target wrote: files (inside the directory it was given) and what it reports.

    A target that leaves parts of a model to the host gives all `parts` in the order in which they run, and of each output of the
    model, by name, the name of the tensor that it is. One that has `takes` need not: its model is cut for it.
    """

    files: list[Path]
    report: dict[str, Any] = field(default_factory=dict)
    parts: list[EmittedPart] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)

    def file(self, suffix: str) -> Path:
        """The first file of that suffix. Raises `ReadError` where none is: a report may be edited, or another target's."""
        found = next((file for file in self.files if file.suffix == suffix), None)
        if found is None:
            names = ", ".join(each.name for each in self.files)
            raise ReadError(f"the artifact has no {suffix} file", hint=f"its report names {names or 'none'}")
        return found


class Target:
    """Something a model can be converted for. Derive from it, or write a class with the same members.

    A target is made once, when it is registered; keep its constructor cheap.
    """

    name: str = ""
    doc: str = ""
    accepts: tuple[str, ...] = ()
    """Dialects it takes, the preferred first. Say at least one."""
    default: bool = False
    """Whether it is what is converted for, and its dialect what is lowered to, where nobody says. One target is."""
    pipeline: str = ""
    """Passes to run on the module before `emit`. With `keep-main`, of a format of one graph, other functions need not convert."""
    tolerance: tuple[str, ...] = ()
    """What is near enough of its results where the user says nothing, in the words of `--tolerance`: `("cos=0.99",)`."""

    def __repr__(self) -> str:
        return f"<target {self.name!r}, which takes {' or '.join(self.accepts) or 'nothing'}>"

    def near_enough(self, options: Mapping[str, Any]) -> Sequence[str]:
        """What is near enough with these options, where that depends on them, as `tolerance` says it."""
        return self.tolerance

    def options(self) -> Options:
        """Options that `--option key=value` can set: name -> (type, default, what it does)."""
        return {}

    def by_hub(self, module: Module) -> bool:
        """Whether a module that is read in an accepted dialect goes by the hub all the same, as it cannot be taken as it is."""
        return False

    def check(self, module: Module, options: Mapping[str, Any]) -> Iterable[Finding]:
        """Everything in the module (in an accepted dialect, after the pipeline) that the target cannot take.

        A list, or one after the other, by `yield`.
        """
        return ()

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        """Write the artifacts into `directory`, an empty one, which is moved into place when all is well."""
        raise NotImplementedError(f"target {self.name!r} does not say how to emit")

    def available(self) -> str | None:
        """None, or the reason why the target cannot be used here (what to install)."""
        return None

    def runs_here(self) -> str | None:
        """None, or the reason why `run` cannot be used here, which may need less than emitting does: a runtime, no compiler."""
        return self.available()

    def cannot_run(self, emitted: Emitted) -> str | None:
        """None, or the reason why `run` cannot run this artifact: a file that was not made. What lies beside it runs then."""
        return None

    run: Callable[[Emitted, Mapping[str, np.ndarray]], dict[str, np.ndarray]] | None = None
    """Runs the artifact on a runtime or simulator, where there is one: gives all outputs of the module by name."""

    compiled: tuple[str, ...] = ()
    """How names of files end that the chip alone runs, where a reader takes others of that suffix: `("_acme.tflite",)`."""

    keeps: bool = False
    """Whether `run` takes `keep=True`, and then gives every tensor that the artifact computes, by name, before the outputs."""

    quantizing: Mapping[str, Any] = MappingProxyType({})
    """What options a quantizer has where the user says nothing: `{"islands": "int16"}` of a chip that computes with no floats."""

    converting: Mapping[str, Any] = MappingProxyType({})
    """What options of conversions on the way are where the user says nothing, by `conversion.option`: `{"top-to-tosa.bias":
    "plain"}` of a chip whose convolutions add the bias themselves. Conversions and options that there are not are refused."""

    rounds_alone: bool | Callable[[Module], bool] = False
    """Whether what `run` uses rounds quantized numbers on its own, as runtimes do that compute QDQ models in floats: its results
    have to be no farther from the integers than these are from the float model. `rounds_alone(module)` tells it of a module that
    the target was given, where it does so in some operators."""

    takes: Callable[[Op, Mapping[str, Any]], bool] | None = None
    """`takes(op, options)`: whether the target computes an op; what it does not stays on the host. `check` and `emit` are then
    given a part at a time. Without it the target is given the whole model. An op with regions is taken where all in them are."""

    leaves: Callable[[Module, Mapping[str, Any]], Iterable[Op]] | None = None
    """`leaves(module, options)`: the ops of the main function that stay on the host, in place of `takes`, where an op alone does
    not tell (`transload.partitioning.whole_origins`)."""

    host: str = ""
    """The target that the host's parts are for where the user names none and it can be used; empty: engines run them."""

    hosting: Mapping[str, Any] = MappingProxyType({})
    """What options of its own are where the user names a host, and says nothing of them."""

    summary: Callable[[Partition, Sequence[EmittedPart]], Mapping[str, Any]] | None = None
    """`summary(cut, parts)`: what the report says of an artifact in parts as a whole; `parts` are those written, in order."""


@dataclass(frozen=True)
class Quantizer:
    """Turns a float module of the hub into a quantized one: `run(module, samples, **options)` returns a new module.

    `samples` are dicts of arrays by input name, any iterable of them that can be gone through again, or None; see
    `transload.quantize`. Where there is more to tell, `run` returns `Quantized`.
    """

    name: str
    run: Any
    doc: str = ""
    options: tuple[str, ...] = ()
    """Its options of which a target may have a wish (`Target.quantizing`)."""
    refusal: tuple[str, str] | None = None
    """Of a name that users may well ask for, and that there is not: why, and what to take instead."""
    samples_do: str = ""
    """What samples do beside measuring what quantizing cost, as users are told who gave none: "corrects biases"."""
    files: tuple[str, ...] = ()
    """Its options that are paths of files which it reads, or may be."""
    saves: tuple[str, ...] = ()
    """Its options that are paths of files which it writes as it goes, to go on from: what is made does not depend on these."""
    finer: str = ""
    """What may lose less where the result is poor, beside more samples: options, other quantizers, with commas between."""


@dataclass(frozen=True)
class Quantized:
    """What a quantizer made, and what its user should know of it."""

    module: Any
    """The new module."""
    floats: Mapping[str, str] | None = None
    """Tensors whose ops stay float, by name, with the reason; None: all that there are."""
    report: Mapping[str, Any] = field(default_factory=dict)
    """What else goes into `report.json`: its options, measured errors. `notes`, a list of sentences, are told in the terminal.

    `scaled` says of tensors, by name, that their channels, which the dimension `axis` counts, were divided by `factors`, a list
    of numbers, and what takes them made up for it: `compare` has them as they were. `cut` names tensors that end where their type
    does, as a ReLU behind them would cut them: there `compare` cuts the model's, too.
    """
    source: Any = None
    """The float module whose tensors those of `module` stand for, by name; None: the one that was quantized."""
    wide: Mapping[str, str] = field(default_factory=dict)
    """Tensors that have more bits than the others, by name, with the reason."""
    given: Any = None
    """The float module that the quantizer was given, which core sets."""


@dataclass(frozen=True)
class Calibrator:
    """A method of calibration: `run(module, samples, name, **options)` gives ranges that are kept: it has `save(path)`.

    Quantizers take it as `calibration`: those that know it as it is, ours what it saves, where that is a table. The method is
    given a float module of the hub, samples as a `Quantizer` is, and the name it is registered under, so that one function may
    serve several.
    """

    name: str
    run: Any
    doc: str = ""

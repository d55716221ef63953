"""The library, step by step: load, legalize, lower, run, save. `convert_model` does all of it, `verification` compares.

Every function takes and returns ordinary objects, raises `TransloadError`, and changes no argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .apart import note_read
from .borders import note_borders
from .contents import STRUCTURE, dialects_in, main_dialect
from .engine.room import need_room
from .engine.steps import need_few_steps
from .errors import (
    ConversionError,
    Finding,
    ForeignContent,
    InvalidContent,
    MissingPackage,
    ReadError,
    TransloadError,
    UsageError,
    merge_findings,
)
from .file_formats import HEAD, file_as_written, foreign_content, reader_for, writer_for
from .files import atomic_path, is_file, need_file, reason_of
from .garbage import rare_collections
from .given import ONLY, by_own_names
from .guard import PluginInfo, failure
from .input_shapes import (
    NoInput,
    SizesMissing,
    may_stay_open,
    no_input,
    shapes_asked,
    sizes_of_another,
    sizes_said,
    static_shapes,
)
from .interrupts import interrupts_kept
from .ir import NONE, Module, Op, TensorType, Type, asked_inputs, initial_states, input_names, output_names
from .ir.verify import check, verify
from .kinds import MAPPING, MODULE, PATH, SAMPLES, TEXT, TEXTS, WHOLE, Kind, takes
from .limits import check_limits
from .meanings import as_stored
from .mistaken import mistaken
from .outcomes import need_right_module
from .plugin import Reader, Source
from .plugin_host import host
from .read_again import how_read
from .reported import written_with
from .roles import default_target, hub
from .sizes_of_data import sizes_in_data
from .sizes_that_fit import say_what_fits
from .valid import module_given

if TYPE_CHECKING:
    import numpy as np

    from .ir import Value
    from .plugin import Writer
    from .report import LayersReport

__all__ = [
    "InputSpec", "at_hub", "calibrate", "engine_for", "legalize", "load", "load_artifact", "loaded", "lower", "model_of",
    "quantization_report", "quantize", "run", "runnable", "save",
]

_TRIED_BYTES = 1 << 25
"""The size of a file up to which it is tried what sizes it takes, where it leaves them open."""
_NO_MEMORY = "the file claims more data than memory can hold, or this process may take too little (ulimit -v)"

_TEXT = Kind("a text", lambda value: isinstance(value, str | bytes | bytearray | memoryview))
InputSpec = TensorType | Sequence[int]


@takes(path=PATH, text=_TEXT, format=TEXT, inputs=MAPPING, function=TEXT, weights=PATH, outputs=TEXTS)
@rare_collections()
@interrupts_kept()
def load(
    path: str | Path | None = None,
    *,
    text: str | bytes | None = None,
    format: str | None = None,
    inputs: Mapping[str, InputSpec] | None = None,
    function: str | None = None,
    weights: str | Path | None = None,
    outputs: Sequence[str] = (),
) -> Module:
    """Read a model into its framework's dialect, one op for one op.

    Give a `path` (format by suffix, then by content), or `text` with a `format`. `inputs` fixes the
    shape of inputs by name: a tuple of sizes, or a `TensorType` to set the element type too; dynamic
    sizes that are not given become 1 where they are a batch; the shape of `""` is that of the only input. `function` names
    the one that is the model, where that is not `main`. `weights` is the file of the weights, for formats that keep them apart
    (Caffe), where it is not found beside the model. `outputs` cuts the model at these tensors, by the file's names
    (`extraction.cut_at`). Raises `ReadError`, and `UsageError` for names that are not there.
    """
    if (path is None) == (text is None):
        raise UsageError("give load() either a path or text=")
    if path is not None:
        file = Path(path)
        need_file(file)
        source = Source(path=file_as_written(file), name=str(file), function=function)
    else:
        if format is None:
            raise UsageError("load(text=...) needs a format=", hint=f"formats: {', '.join(sorted(host().readers))}")
        try:
            data = text.encode() if isinstance(text, str) else text
        except UnicodeEncodeError as error:
            raise ReadError(f"<{format} text>: holds what no text may, half of a character pair, at {error.start}") from None
        source = Source(_data=data, name=f"<{format} text>", function=function)
    source.outputs = tuple(outputs)
    reader = host().get("readers", format) if format is not None else reader_for(source)
    wanted = _wanted(inputs or {})
    if weights is not None:
        source.weights = _weights_for(reader, Path(weights))
    module = _read_by_data(reader, source, wanted)
    module.source, module.source_format = source.path, reader.name
    module.reading = how_read(wanted, format=format, function=function, weights=weights)
    note_read(source.path, *module.beside, *(written_with(source.path) if source.path is not None else ()))
    if source.function is not None:
        from .entry import choose_entry

        choose_entry(module, source.function)
    _refuse_unread(module, {name: wanted[name] for name in wanted.keys() - source.obeyed}, reader.name)
    note_borders(module)
    return _cut(module, outputs)


def _read_by_data(reader: Reader, source: Source, wanted: dict[str, TensorType]) -> Module:
    """What a reader makes of a source, missing sizes being those of the data (`sizes_from`), which `wanted` says then."""
    try:
        return _read_sized(reader, source, wanted)
    except SizesMissing as error:
        sizes, notes = sizes_in_data(error.inputs)
        if not sizes:
            if source.size <= _TRIED_BYTES:
                say_what_fits(error, partial(_attempted, reader, source, wanted))
            raise
    for name, shape in sizes.items():
        wanted[name] = TensorType(shape, wanted[name].element if name in wanted else NONE)
    module = _read_sized(reader, source, wanted)
    module.notes = (*module.notes, *notes)
    return module


def _attempted(
    reader: Reader, source: Source, wanted: Mapping[str, TensorType], shapes: Mapping[str, tuple[int, ...]],
) -> tuple[Module | None, str]:
    """What is read with inputs of these shapes, if anything is, and why that does not become the hub's."""
    module: Module | None = None
    asked = {name: TensorType(shape, wanted[name].element if name in wanted else NONE) for name, shape in shapes.items()}
    try:
        module = _read_sized(reader, source, {**wanted, **asked})
        at_hub(module)
    except (TransloadError, MemoryError) as error:
        return module, str(error) or type(error).__name__
    return module, ""


def _read_sized(reader: Reader, source: Source, wanted: dict[str, TensorType]) -> Module:
    """What a reader makes of a source, with all sizes that are known, or are to be (`_sized`)."""
    with shapes_asked() as asked:
        module = _read_whole(reader, source, wanted)
    return module if asked else _sized(module, reader, source, wanted)


def _read_whole(reader: Reader, source: Source, wanted: dict[str, TensorType]) -> Module:
    """What a reader makes of a source, with what is to be said where it makes nothing, or nothing right."""
    try:
        module = _read(reader, source, wanted)
    except MemoryError as error:
        owner = host().owner("readers", reader.name)
        whose = "" if owner is None or owner.is_ours else f" by reader {reader.name!r} of {owner}"
        raise ReadError(f"{source.name}: there is not enough memory to read it{whose}", hint=_NO_MEMORY) from error
    except OSError as error:
        raise ReadError(f"{source.name}: cannot be read: {reason_of(error, Path(source.name))}") from None
    except ReadError as error:
        _say_what_it_is(error, source, reader)
        raise
    _need_right(module, reader, source)
    return module


def _sized(module: Module, reader: Reader, source: Source, wanted: Mapping[str, TensorType]) -> Module:
    """A module whose reader left sizes open that are known, or to be known, read once more with these (`static_shapes`).

    Raises `UsageError` where the user said sizes, and the reader makes nothing of them.
    """
    if may_stay_open() or "main" not in module.functions:
        return module
    types = {name: type_ for name, type_ in module.inputs.items() if isinstance(type_, TensorType)}
    found = static_shapes({name: type_.shape for name, type_ in types.items()},
                          {name: type_.shape or () for name, type_ in wanted.items() if name in types}, source.name)
    sizes = {name: TensorType(shape, wanted[name].element if name in wanted else NONE)
             for name, shape in found.shapes.items() if types[name].shape != shape}
    if not sizes:
        return module
    again = _read_whole(reader, source, {**wanted, **sizes})
    if any(sizes_said()) or any(getattr(again.inputs.get(name), "shape", None) == type_.shape for name, type_ in sizes.items()):
        _refuse_unread(again, sizes, reader.name)
        again.notes = (*again.notes, *found.notes)
        return again
    return module  # a reader that takes no sizes: nobody said any


def _need_right(module: Module, reader: Reader, source: Source) -> None:
    """`PluginFailure` where somebody else's reader gives what is no module to convert, `ReadError` for sizes beyond limits.

    Ops that are not as declared are the file's, as our readers say it themselves, who know what a format once allowed.
    """
    owner = host().owner("readers", reader.name)
    if owner is not None and not owner.is_ours:
        need_right_module(module, owner, f"reader {reader.name!r} (read)", "gives", structure_alone=True)
        _need_elements(module, owner, reader.name)
        if findings := check(module):
            raise InvalidContent(f"{source.name}: its ops break the rules of their dialects", findings)
    check_limits(module, source.name, source.size)


def _need_elements(module: Module, owner: PluginInfo, reader: str) -> None:
    """`PluginFailure` where a reader took the types that it was asked for as they are, whose element types may be left to it."""
    for name, type_ in module.inputs.items() if "main" in module.functions else ():
        if isinstance(type_, TensorType) and type_.element == NONE:
            raise failure(owner, f"reader {reader!r} (read)", ValueError(
                f"gives input {name!r} the type {type_}: the element type none, in what it is given, stands for the file's own"))


def _say_what_it_is(error: ReadError, source: Source, reader: Reader) -> None:
    """Hint at what a file is that `reader` refused, where it is not what it is called.

    Raises the `ReadError` of its format, where that is known and nobody here reads it.
    """
    if isinstance(error, MissingPackage) or source.path is None or source.path.is_dir():
        return
    others = host().readers.values() if isinstance(error, ForeignContent) else ()
    with suppress(OSError):  # where it is not there any more
        head = bytes(source.data[:HEAD])
        if (foreign := foreign_content(source.path, head, reader)) is not None:
            raise foreign from None
        error.hint = mistaken(head, source.path, reader, others) or error.hint


def _read(reader: Reader, source: Source, wanted: dict[str, TensorType]) -> Module:
    """What a reader makes of a source. What is asked for without a name (`ONLY`) is asked of the model's input, if it has one.

    What is asked for by a name spelt out is asked of the input that the model has by it (`by_own_names`), and `wanted` says so.
    """
    only = wanted.pop(ONLY, None)
    if only is None:
        try:
            return reader(source, wanted)
        except NoInput as error:
            named = by_own_names(wanted, error.known)
            if named.keys() == wanted.keys():
                raise
            wanted.clear()
            wanted.update(named)
            return reader(source, wanted)
    module: Module | None = None
    try:
        module = reader(source, wanted)
        inputs: Mapping[str, Type | None] = asked_inputs(module) if "main" in module.functions else {}
    except SizesMissing as error:
        inputs = dict.fromkeys(error.inputs)
        if not inputs:
            raise
        if len(inputs) > 1:
            nameless = Finding("the file that is given", f"is for one input of {', '.join(inputs)}, and says not which",
                               hint="say it before the file: --input NAME=FILE")
            raise SizesMissing(error.message, [*error.findings, nameless], error.hint, error.inputs) from None
    for name, type_ in inputs.items() if len(inputs) == 1 and not inputs.keys() & wanted.keys() else ():
        if getattr(type_, "shape", None) != only.shape:
            wanted[name] = only
            return reader(source, wanted)
    assert module is not None
    return module


def load_artifact(path: str | Path, **how: Any) -> Module:
    """What was made of a model, read as a model: sizes that were given for that (`sizes_given`) need not be in this one."""
    with sizes_of_another():
        return load(path, **how)


def loaded(
    model: str | Path | Module, by: str, *, outputs: Sequence[str] = (), function: str | None = None, **reading: Any,
) -> Module:
    """What `load` reads, or a module that a function of the library was given, of the `function` that is named, cut at `outputs`.

    `reading` are the other arguments of `load`; `UsageError` where one is given for a module, which is read already.
    """
    if not isinstance(model, Module):
        return load(model, outputs=outputs, function=function, **reading)
    if (late := [name for name, value in reading.items() if value is not None and value != {}]):
        raise UsageError(
            f"{', '.join(f'{name}=' for name in late)} {'says' if len(late) == 1 else 'say'} how a file is read, "
            "and this is a module, which is read already",
            hint=f"transload.load(path, {', '.join(f'{name}=...' for name in late)}), or give the path in its place")
    model = module_given(model, by)
    if function is not None and list(model.functions) != [function]:
        from .entry import choose_entry

        model = model.clone()
        choose_entry(model, function)
    return _cut(model, outputs)


def _cut(model: Module, outputs: Sequence[str]) -> Module:
    if not outputs:
        return model
    from .extraction import cut_at

    return cut_at(model, outputs)


def model_of(given: Any) -> str | Path | Module:
    """A model that a function of the library was given, any kind of path as a `Path`; `UsageError` for what is none."""
    if isinstance(given, str | Path | Module):
        return given
    if not PATH.fits(given):
        raise UsageError(f"a model is a path or a Module, and this is a {type(given).__name__}")
    return Path(given)


def _weights_for(reader: Reader, weights: Path) -> Path:
    """The file of weights that a user names, which is there, and which the reader takes."""
    if not reader.weights:
        raise UsageError(
            f"models of format {reader.name!r} hold their weights, or say where they are: they take no other file of weights",
            hint="leave out --weights, or weights= in Python")
    need_file(weights)
    if weights.is_dir():
        raise ReadError(f"{weights}: is a directory, not a file of weights")
    return weights


def _wanted(inputs: Mapping[str, InputSpec]) -> dict[str, TensorType]:
    """The types that are asked for; `UsageError` for what is no shape."""
    if not isinstance(inputs, Mapping):
        raise UsageError(f"inputs must be a dictionary, and are {inputs!r:.100}", hint='inputs={"image": (1, 3, 224, 224)}')
    wanted = {}
    for name, spec in inputs.items():
        if isinstance(spec, TensorType):
            wanted[name] = spec
            continue
        try:
            shape = tuple(index(size) for size in spec)
        except TypeError:
            shape = (-1,)
        if min(shape, default=0) < 0:
            raise UsageError(
                f"the shape of input {name!r} must be whole numbers from 0 on, and is {spec!r:.100}", hint="as (1, 3, 224, 224)")
        wanted[name] = TensorType(shape, NONE)
    return wanted


def _refuse_unread(module: Module, wanted: Mapping[str, TensorType], reader: str) -> None:
    """`UsageError` for inputs that were asked for and that no function has, or not as they were asked for."""
    if not wanted:
        return
    types = {name: type_ for function in module.functions.values() if function.regions[0].blocks
             for name, type_ in _arguments(function).items()}
    with suppress(UsageError):  # where others have inputs called so, too
        types |= _arguments(module.main)
    for name, type_ in wanted.items():
        if name not in types:
            raise no_input(name, types, "the model")
        made = types[name]
        if isinstance(made, TensorType) and made.shape != type_.shape:
            raise UsageError(f"input {name!r} was to be of shape {type_.shape}, and reader {reader!r} made it {made}")


def _arguments(function: Op) -> dict[str, Type]:
    return {name: value.type for name, value in zip(input_names(function), function.regions[0].block.arguments, strict=True)}


@takes(module=MODULE, path=PATH, format=TEXT)
@rare_collections()
@interrupts_kept()
def save(module: Module, path: str | Path, format: str | None = None) -> Path:
    """Write a module to a file, by the writer of its suffix (or `format`, a writer's name); the file is complete or not there.

    Raises `UsageError` where no writer has the suffix, `ConversionError` where the module is in another dialect than the
    writer's or the format cannot hold it, and `TransloadError` where the place cannot be written. Returns the path.
    """
    file = Path(path)
    writer = writer_for(file, dialects_in(module_given(module, "save"))) if format is None else host().get("writers", format)
    from .plugin import resolve

    _refuse_other_dialects(module_given(module, "save"), writer)
    owner = host().owner("writers", writer.name)
    if owner is not None and owner.is_ours:  # which see to it themselves
        try:
            resolve(writer.write)(module, file)
        except OSError as error:
            raise TransloadError(f"cannot write {file}: {reason_of(error, file.parent)}") from None
        return file
    with atomic_path(file) as temporary:
        resolve(writer.write)(module, temporary)
        if not is_file(temporary):
            raise failure(owner, f"writer {writer.name!r} (write)", ValueError(f"{file} is no file, or was not written"))
    return file


def _refuse_other_dialects(module: Module, writer: Writer) -> None:
    """`ConversionError` where a module has ops that a writer does not write, with the way to what it does."""
    if writer.dialect in STRUCTURE or set(dialects_in(module)) <= {writer.dialect}:
        return
    from .rewrite import names_of
    from .routes import find_route

    findings = [
        Finding(op.name, f"is no op of {writer.dialect}", names_of([op])) for op in module.ops()
        if op.dialect not in (writer.dialect, *STRUCTURE)]
    try:
        find_route(main_dialect(module), (writer.dialect,), host().conversions)
        hint = f"transload.lower(module, to={writer.dialect!r}) gives what it writes"
    except ConversionError as error:
        hint = f"{error.message}; MLIR text (.mlir) holds any module"
    raise ConversionError(
        f"format {writer.name!r} holds modules in {writer.dialect}; this one is in {', '.join(sorted(dialects_in(module)))}",
        merge_findings(findings), hint)


@takes(module=MODULE, to=TEXT)
def legalize(module: Module, to: str | None = None, **options: Any) -> Module:
    """A module's meaning in the hub dialect, or in dialect `to`, by the shortest route of conversions. The argument is unchanged.

    `options` are as in `lower`.
    """
    return _lowered(module_given(module, "legalize"), hub().name if to is None else to, options)


@takes(module=MODULE, to=TEXT)
@rare_collections()
@interrupts_kept()
def lower(module: Module, to: str | None = None, **options: Any) -> Module:
    """A module converted to dialect `to`, or to that of the default target. The argument is unchanged.

    `options` are those of the conversions on the way, by name or as `{"top-to-tosa.int64": "assumed"}`; one that none of them
    has is a `UsageError`. Raises `ConversionError` that lists every op in the way.
    """
    return _lowered(module_given(module, "lower"), default_target().accepts[0] if to is None else to, options)


def _lowered(module: Module, to: str, options: Mapping[str, Any]) -> Module:
    """`lower` of a module that is known to be valid."""
    from .journey import Journey

    copy = module.clone()
    Journey((to,), options).run(copy)
    verify(copy)
    return copy


def run(
    module: Module, inputs: Mapping[str, Any], *, function: str = "main", engine: str = "auto", keep: bool = False,
    watch: Callable[[Value, np.ndarray], None] | None = None, tell: Callable[[str], None] | None = None,
) -> dict[str, np.ndarray]:
    """What `transload.run` (`execution.run`) does with a module and arrays."""
    ready = runnable(module)
    given = {**as_stored(initial_states(ready), ready.inputs), **inputs} if function == "main" and ready.states else inputs
    if engine == "auto" and watch is not None:
        engine = "reference"
    need_few_steps(ready)
    need_room(ready, function)
    execute, owner = engine_for(engine)(ready, function), host().owner("engines", engine)
    from .engine.run import fitted

    given = fitted(ready.function(function), given)  # before the engine is lent copies, which may be as large as a file says
    if watch is not None and engine != "reference":
        raise UsageError(f"engine {engine!r} computes all at once; only 'reference' tells of each value as it is computed")
    outputs: dict[str, np.ndarray] = execute(given, keep) if watch is None else execute(given, keep, watch)
    if not keep and len(outputs) > (wanted := len(output_names(ready.function(function)))):
        more = ", ".join(map(repr, list(outputs)[:-wanted or None][:8]))
        raise failure(owner, f"engine {engine!r} (prepare)", TypeError(f"gives {more}, which the model does not"))
    if tell is not None:
        for note in getattr(execute, "notes", ()):
            tell(note)
    return outputs


def engine_for(name: str) -> Callable[[Module, str], Any]:
    """What makes a module's function ready to be executed by an engine; `UsageError` for one that cannot be used here."""
    return host().engine(name)


@takes(module=MODULE, scheme=TEXT, samples=SAMPLES)
@interrupts_kept()
def quantize(
    module: Module, scheme: str = "int8", samples: Iterable[Mapping[str, np.ndarray]] | None = None, **options: Any,
) -> Module:
    """A float module as one of the hub that computes with integers, by the quantizer called `scheme`. The argument is unchanged.

    `samples` are what the model will see: dicts of arrays by input name, any iterable of them. A module of a framework is
    legalized first, and the hub's pipeline runs. What the quantizer cannot say in integers stays float. Options are the
    quantizer's own. Raises `UsageError` for a scheme or option that there is not, and for samples that do not fit.
    """
    from .quantization import quantize_at_hub

    made: Module = quantize_at_hub(at_hub(module_given(module, "quantize"), quantizing=True), scheme, samples, options).module
    return made


@takes(floats=MODULE, quantized=MODULE, samples=SAMPLES, count=WHOLE)
@interrupts_kept()
def quantization_report(
    floats: Module, quantized: Module, samples: Iterable[Mapping[str, np.ndarray]], count: int | None = None,
) -> LayersReport:
    """What quantizing cost, layer by layer: a float module and its quantized form, run on samples.

    Layers are the ops that compute, with an activation that is part of their range, and inputs that are quantized. Each has two
    errors: how far its tensor is from the float model's, and, its own, how far it is from what the float op gives of the operands
    that the quantized op has. Where the quantizer was given this float model, and changed it before (channels of like ranges),
    its own form of that is what tensors are compared with. `samples` are as for `quantize`; `count` of them are taken, evenly
    spread where they are a sequence, else the first; without it at most 8, and fewer of a model that takes long. Raises
    `UsageError` where there is no sample, and what running the modules raises.
    """
    from .ir.compare import same_structure
    from .layers import layers_report

    if count is not None and index(count) < 1:
        raise UsageError(f"{count} samples are asked for; 1 is the least")
    said = module_given(quantized, "quantization_report").quantization
    floats = module_given(floats, "quantization_report")
    made_of_it = said is not None and same_structure(at_hub(floats, quantizing=True), said.given, locations=False)
    return layers_report(said.source if said is not None and made_of_it else at_hub(floats), runnable(quantized), samples, count)


@takes(module=MODULE, samples=SAMPLES, method=TEXT)
@interrupts_kept()
def calibrate(
    module: Module, samples: Iterable[Mapping[str, np.ndarray]], method: str = "mse", **options: Any,
) -> Any:
    """The ranges of a float module's tensors on samples, chosen by a method that `transload plugins` lists.

    `samples` are dicts of arrays by input name, any iterable of them, gone through once. A module of a framework is brought to
    the hub as `quantize` does. The result is what quantizers take as `calibration=`, and has `save(path)`; options are the
    method's own. Raises `UsageError` for a method or option that there is not, and for samples that do not fit.
    """
    from .options import need_options
    from .plugin import resolve
    from .samples.owned import owned

    run = resolve(host().get("calibrators", method).run)
    need_options(f"method {method!r}", run, (module, samples, method), options)
    ready = at_hub(module_given(module, "calibrate"), quantizing=True)
    return run(ready, owned(samples, ready), method, **options)


def at_hub(module: Module, *, quantizing: bool = False) -> Module:
    """A module in the hub dialect as lowering would begin with it: legalized, and through the hub's pipeline.

    `quantizing`: as a quantizer is to have it (`Conversion.before_quantizing`).
    """
    from .passes.manager import Pipeline

    center = hub()
    ready = _lowered(module, center.name, _before_quantizing(module) if quantizing else {})
    Pipeline.parse(center.pipeline).run(ready)
    return ready


def _before_quantizing(module: Module) -> dict[str, Any]:
    """What the conversions from a module to the hub declare for where a quantizer comes next, as options of `lower`."""
    from .journey import Journey

    way = Journey((hub().name,)).conversions(module)
    return {f"{each.name}.{key}": value for each in way for key, value in each.before_quantizing.items()}


def runnable(module: Module, options: Mapping[str, Any] | None = None) -> Module:
    """The module, or its legalization to the hub where a dialect in it has no kernels.

    Of the `options` of a whole conversion those count that the conversions to the hub have.
    """
    from .contents import STRUCTURE, dialects_in

    there = host()
    kernels = there.facts("kernel")
    without = [d for d in dialects_in(module) if d not in STRUCTURE and d in there.dialects and not kernels.of_dialect(d)]
    return _lowered(module, hub().name, _of_the_way(module, options) if options else {}) if without else module


def _of_the_way(module: Module, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some options that conversions between a module and the hub declare, each by whose it is."""
    from .conversion import options_of
    from .journey import Journey
    from .options import Owner, own_options

    return {f"{each.name}.{key}": value for each in Journey((hub().name,)).conversions(module)
            for key, value in own_options(Owner(each.name, options_of(each)), options).items()}

"""Options that several commands have, plugins' commands too, and what their texts mean.

    @click.command(cls=OwnCommand)
    @model()
    @samples()
    @images()
    def mine(**given): ...
        preprocess, data = take_preprocess(given), take_data(given)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import reduce
from pathlib import Path
from typing import Any

import click

from ..apart import need_apart
from ..cores import MOST_WORKERS
from ..files import exists, is_file, need_place, need_svg
from .answer import data_alone, print_data
from .session import Session

__all__ = [
    "OF_SAMPLES", "OUT", "PATH", "PATH_TEXT", "Decorator", "OwnCommand", "OwnGroup", "engine", "excepts", "format",
    "function", "fusing", "grouped", "host", "images", "inputs", "is_of_images", "is_of_telling", "is_of_writing", "json",
    "model", "models", "names_of", "need_images", "of_all_commands", "outputs", "quantizing", "said_of_images", "samples",
    "scaling", "seed", "shapes", "take_data", "take_preprocess", "take_quantizer", "trace", "weights",
]


class _SomePath(click.Path):
    """A path that is not empty: `-o "$OUT"` of a variable that is not set would be the current directory.

    Whether it can be read is told by who reads it, as of any file that cannot; who writes there need not.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


class _Written(_SomePath):
    """A path that a command writes a file to."""


class _Drawn(_Written):
    """A path that a command writes an SVG picture to, or a table."""

    def __init__(self, or_table: bool = False) -> None:
        super().__init__()
        self.or_table = or_table


class _PathText(click.types.StringParamType):
    """A path as text, in which something else may be said, as `-`; it is not empty, either."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


class _WrittenOrPrinted(_PathText):
    """That of a file which a command writes, where `-` is the terminal."""


PATH = _SomePath()
PATH_TEXT = _PathText()
OUT = _Written()
"""That of a file which a command writes: it is refused, before anything is done, where it can be none, and where the command
reads the file (`OwnCommand`)."""
SVG = _Drawn()
"""That of a picture, which has no suffix of other files."""
SVG_OR_TABLE = _Drawn(or_table=True)
"""That of a picture where its suffix is `.svg`, and else of a table, which has no suffix of other pictures."""
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _GroupedOption(click.Option):
    """An option that help shows under a heading of its own."""

    def __init__(self, *given: Any, group: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.group = group


class _Helped(click.Command):
    """What prints its help as the answer that it is: standard output has it, also where all else there is data."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _print_help
        return option


def _print_help(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        print_data(ctx.get_help() + "\n")
        ctx.exit()


class OwnCommand(_Helped):
    """A command of ours: it takes the options that all of them take, each of one value once, and shows options in groups."""

    def __init__(self, name: str | None, **given: Any) -> None:
        given["params"] = [*(given.get("params") or ()), *of_all_commands()]
        super().__init__(name, **given)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)  # the parser takes them away
        left = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _need_once(self.make_parser(ctx).parse_args(typed)[2])
        return left

    def invoke(self, ctx: click.Context) -> Any:
        """Do it, where files can be where they are to be written, and none of them is one that is read, or another such."""
        writes, reads = _named_files(self.params, ctx.params)
        if writes:
            need_apart(writes, reads)
        for place in writes.values():
            need_place(place)
        for parameter in self.params:
            drawn = ctx.params.get(str(parameter.name))
            if drawn is not None and isinstance(parameter.type, _Drawn):
                need_svg(drawn, parameter.type.or_table)
        with data_alone() if ctx.params.get("json") is True else nullcontext():
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = dict[str, list[tuple[str, str]]]()
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and not isinstance(parameter, click.Argument):  # which click tells by itself
                groups.setdefault(getattr(parameter, "group", "Options"), []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _need_once(said: Sequence[click.Parameter]) -> None:
    """Raise `UsageError` where an option of one value, or one of two that say yes and no, is `said` twice.

    A flag that is said twice says the same.
    """
    counts = Counter(each for each in said if isinstance(each, click.Option) and not each.multiple and not each.count)
    twice = next((each for each, count in counts.items() if count > 1 and (not each.is_flag or each.secondary_opts)), None)
    if twice is not None:
        from ..errors import UsageError

        names = " or ".join([max(twice.opts, key=len), *twice.secondary_opts])
        raise UsageError(f"{names} is given twice", hint="say it once: the last one would silently count alone")


def _named_files(parameters: Sequence[click.Parameter], given: Mapping[str, Any]) -> tuple[dict[str, Path], list[Path]]:
    """The files that a command is to write, by what names them, and the paths that it may read: also behind the `=` of texts."""
    writes: dict[str, Path] = {}
    reads: list[Path] = []
    for parameter in parameters:
        values = given.get(str(parameter.name))
        for value in values if isinstance(values, tuple) else (values,):
            if isinstance(parameter.type, _Written | _WrittenOrPrinted):
                if value not in (None, "-"):
                    writes[parameter.opts[0] if isinstance(parameter, click.Option) else str(parameter.name)] = Path(value)
            elif isinstance(value, Path):
                reads.append(value)
            elif isinstance(value, str) and re.search("FILE|PATH|VALUE|CHIP", parameter.metavar or _word(parameter)):
                places = [place for place, letter in enumerate(value) if letter == "="]
                reads += [Path(value[start:]) for start in (0, *(place + 1 for place in places)) if value[start:]]
    return writes, reads


def _word(parameter: click.Parameter) -> str:
    """What help calls the value of a parameter that has no word of its own for it: text of an option says what, and no file."""
    return str(parameter.name).upper() if isinstance(parameter, click.Argument) else ""


class OwnGroup(_Helped, click.Group):
    """A command of ours that has commands: it takes the options that all of them take, and so do these."""

    command_class = OwnCommand

    def __init__(self, name: str | None = None, **given: Any) -> None:
        given["params"] = [*(given.get("params") or ()), *of_all_commands()]
        super().__init__(name, **given)


OwnGroup.group_class = OwnGroup


def of_all_commands() -> list[click.Parameter]:
    """The options that all commands have."""
    def note(context: click.Context, option: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Session), str(option.name), True)

    return [
        click.Option(["--verbose", "-v"], is_flag=True, expose_value=False, callback=note, help="Tell every detail."),
        click.Option(["--quiet", "-q"], is_flag=True, expose_value=False, callback=note, help="Print nothing but errors."),
    ]


def is_of_telling(option: click.Parameter) -> bool:
    """Whether an option says how much a command tells, which all commands have."""
    return option.name in [each.name for each in of_all_commands()]


def is_of_writing(option: click.Parameter) -> bool:
    """Whether an option says what a command writes, and in what form, or where it begins in what it wrote."""
    return isinstance(option.type, _Written | _WrittenOrPrinted) or option.name in ("out", "json", "dump", "start")


def grouped(group: str) -> Callable[..., Decorator]:
    """`click.option` for options under a heading."""
    def option(*names: str, **how: Any) -> Decorator:
        return click.option(*names, cls=_GroupedOption, group=group, **how)

    return option


def _all(*decorators: Decorator) -> Decorator:
    return lambda function: reduce(lambda made, decorator: decorator(made), reversed(decorators), function)


def names_of(kind: str) -> Callable[..., list[str]]:
    """Completes the names of what plugins registered, "targets", "engines", ..., but for those that are always refused."""
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from ..plugin_host import host

        return [name for name, each in getattr(host(), kind).items()
                if name.startswith(incomplete) and getattr(each, "refusal", None) is None]

    return complete


# --- the model and what it is given


def model(name: str = "model", help: str = "The model's file.") -> Decorator:
    return click.argument(name, type=PATH, help=help, callback=_warmed)


def models(help: str) -> Decorator:
    def warmed(context: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        if len(paths) == 1:
            _warmed(context, parameter, paths[0])
        return paths

    return click.argument("models", nargs=-1, required=True, type=PATH, metavar="MODEL...", help=help, callback=warmed)


def scaling() -> Decorator:
    option = grouped("Many models")
    return _all(
        option("--scheduler", metavar="ADDRESS", help="Dask's scheduler, whose workers do it: tcp://host:8786."),
        option("--cache", metavar="DIR", type=PATH,
               help="Take conversions from this folder by what they are made of, and keep them there."),
        option("--anew", is_flag=True, help="Convert again what the output folder holds already."))


def _warmed(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """A model's file, whose reader starts what takes time to start while the command is imported."""
    from ..plugin import resolve
    from ..plugin_host import host

    for reader in host().readers.values():
        if reader.warm is not None and path.name.lower().endswith(reader.suffixes) and is_file(path):
            resolve(reader.warm)()
    return path


def shapes() -> Decorator:
    return _all(
        click.option(
            "--shape", metavar="NAME:SHAPE[:DTYPE]", multiple=True,
            help="An input's shape: image:1x3x224x224, step:scalar:int64. Repeatable."),
        click.option(
            "--dim", metavar="NAME=SIZE", multiple=True, expose_value=False, callback=_give_sizes,
            help="The size of a dimension that the file only names: seq=128. Repeatable."),
        click.option(
            "--batch", type=click.IntRange(min=1), metavar="SIZE", expose_value=False, callback=_give_batch,
            help="The size of batches that are left open; 1 without it."))


def _give_sizes(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> None:
    """Have models read with these sizes while the command runs."""
    if not texts:
        return
    from ..digits import whole_number
    from ..errors import UsageError
    from ..input_shapes import sizes_given

    named: dict[str, int] = {}
    for text in texts:
        name, _, said = text.rpartition("=")
        size = whole_number(said)
        if not name or size is None:
            raise UsageError(f"--dim {text!r} says no size", hint="as NAME=SIZE, of 18 digits at most: --dim seq=128")
        if named.setdefault(name, size) != size:
            raise UsageError(f"--dim says two sizes of {name!r}: {named[name]} and {size}")
    context.with_resource(sizes_given(named))


def _give_batch(context: click.Context, parameter: click.Parameter, size: int | None) -> None:
    if size is not None:
        from ..input_shapes import sizes_given

        context.with_resource(sizes_given(batch=size))


def inputs() -> Decorator:
    return click.option(
        "--input", "-i", metavar="[NAME=]FILE", multiple=True,
        help="What an input is given: image=cat.jpg, x=x.npy, all.npz; random numbers without it. Repeatable.")


def format() -> Decorator:
    return click.option(
        "--format", shell_complete=names_of("readers"), help="Name of the reader, where the suffix does not tell.")


def function() -> Decorator:
    return click.option(
        "--function", "--signature", "function", metavar="NAME",
        help="Which function or signature is the model, where that is not the main one.")


def host() -> Decorator:
    return click.option(
        "--host", metavar="TARGET", shell_complete=names_of("targets"),
        help="The target of what a target that takes a model in part leaves; without it, engines run that.")


def weights() -> Decorator:
    return click.option(
        "--weights", metavar="FILE", type=PATH,
        help="The file of the weights, where the format keeps them apart (Caffe) and its name does not tell.")


def outputs() -> Decorator:
    return click.option(
        "--outputs", metavar="NAME[,NAME...]", multiple=True,
        help="Cut the model at these tensors, by the file's names; without, it ends at its own outputs. Repeatable.")


def loading() -> Decorator:
    """All that says how a model is read, of a command that is given no data but for its shapes; `taken_to_load` takes it."""
    return _all(
        shapes(),
        click.option("--input", "-i", metavar="[NAME=]FILE", multiple=True, help="Data whose shapes the inputs are to have."),
        format(), function(), weights(), outputs())


def excepts() -> Decorator:
    return click.option(
        "--excepts", metavar="NAME[,NAME...]", multiple=True, help="Tensors that are compared, and do not count. Repeatable.")


def seed() -> Decorator:
    return click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the random inputs.")


def engine(help: str) -> Decorator:
    return click.option("--engine", default="auto", shell_complete=names_of("engines"), help=help)


def trace() -> Decorator:
    return click.option(
        "--trace-rewrites", metavar="FILE", type=_WrittenOrPrinted(),
        help="Write which rule fired on which op, and what came of it, into FILE (.jsonl: as JSON); - is the terminal.")


def json() -> Decorator:
    return click.option("--json", is_flag=True, help="Print JSON instead of a table.")


# --- samples


OF_SAMPLES = ("--data", "--count", "--skip-damaged", "--workers")
"""What `samples` says, of which none holds for other samples."""

def samples(needed: bool = False) -> Decorator:
    option = grouped("Samples")
    return _all(
        option("--data", metavar="[NAME=]PATH", multiple=True, required=needed,
               help="A folder of images, .npy or .npz, a list of files, or python:MODULE:FUNCTION; NAME=PATH for each input."),
        option("--count", "-n", type=click.IntRange(min=0),
               help="How many samples to take, spread evenly; all for 0, or without it."),
        option("--skip-damaged", is_flag=True, help="Leave out files that cannot be read."),
        option("--workers", type=click.IntRange(1, MOST_WORKERS),
               help="Processes that decode images, or that convert many models; one a core without it."))


def take_data(given: dict[str, Any], many: bool = False) -> Any:
    """Take the options of `samples` out of a command's, as `Data`; None where no samples are given.

    Raises `UsageError` for options of samples without samples; with `many` models `--workers` is not one of them.
    """
    from ..errors import UsageError
    from ..samples.samples import Data

    texts, more = given.pop("data"), {name: given.pop(name) for name in ("count", "skip_damaged", "workers")}
    if not texts:
        said = next((
            name for name, value in more.items() if value not in (None, False) and not (many and name == "workers")), None)
        if said is not None:
            raise UsageError(f"--{said.replace('_', '-')} is for samples, and none are given", hint="--data PATH gives them")
        return None
    named = [_named(text) for text in texts]
    empty = next((text for text, (_, path) in zip(texts, named, strict=True) if not path), None)
    if empty is not None:
        raise UsageError(f"--data {empty!r} names no samples", hint="--data PATH, or --data NAME=PATH")
    more["count"] = more["count"] or None
    if len(named) == 1 and not named[0][0]:
        return Data(named[0][1], **more)
    unnamed = [path for name, path in named if not name]
    if unnamed:
        raise UsageError(f"--data {unnamed[0]}: for which input?", hint="--data NAME=PATH for each of them")
    names = [name for name, _ in named]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--data gives input {twice!r} twice", hint="one folder, or a list of files, has all of its samples")
    return Data(dict(named), **more)


def _named(text: str) -> tuple[str, str]:
    """The parts of `NAME=PATH`; no name where the whole is there, or a function."""
    if text.startswith("python:") or "=" not in text or exists(Path(text)):
        return "", text
    name, _, path = text.partition("=")
    return name, path


# --- images


_FIELDS = (
    "resize_dims", "keep_aspect_ratio", "keep_ratio_mode", "pad_value", "pad_type", "crop", "mean", "scale", "pixel_format",
    "channel_format")


_IMAGES = "Images, as the inputs want them"


def is_of_images(option: click.Parameter) -> bool:
    """Whether an option says what becomes of images."""
    return getattr(option, "group", None) == _IMAGES


def images() -> Decorator:
    option = grouped(_IMAGES)
    return _all(
        option("--resize", "resize_dims", metavar="ROWSxCOLUMNS", callback=_sizes,
               help="Resize images to this; to the input's size without it."),
        option("--keep-aspect-ratio", is_flag=True, default=None, help="Keep their shape, and pad what is left over."),
        option("--keep-ratio-mode", type=click.Choice(["letterbox", "short_side_scale"]),
               help="How their shape is kept: padded, or cut off."),
        option("--pad-value", type=click.IntRange(0, 255), help="Pixels to pad with."),
        option("--pad-type", type=click.Choice(["center", "normal"]), help="Pad on both sides, or to the right and below."),
        option("--crop", metavar="ROWSxCOLUMNS", callback=_sizes, help="Take the middle of this size."),
        option("--mean", metavar="X[,Y,Z]", callback=_numbers, help="Pixels become (x - mean) * scale, x being 0 to 255."),
        option("--scale", metavar="X[,Y,Z]", callback=_numbers, help="See --mean; without both, the input's range is spanned."),
        option("--pixel-format", type=click.Choice(["rgb", "bgr", "gray", "rgbd"]), help="What a pixel is; by its channels."),
        option("--channel-format", type=click.Choice(["nhwc", "nchw", "none"]), help="Where channels are; by the input's shape."),
        option("--preprocess", metavar="FILE", type=PATH, help="A preprocess.toml that says all this."))


def fusing() -> Decorator:
    option = grouped(_IMAGES)
    return _all(
        option("--fuse-preprocess", is_flag=True, help="Have the program take uint8 pixels, and make numbers of them itself."),
        option("--add-postprocess", metavar="NAME[{OPTIONS}]",
               help="Have it make boxes of a detector's outputs: yolov3, yolov3-tiny, yolov5, ssd."))


def _sizes(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = text.replace(",", "x").split("x")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        raise click.BadParameter(f"{text!r} does not read as ROWSxCOLUMNS, as 256x256")
    return tuple(map(int, parts))


def _numbers(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[float, ...] | None:
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number, or one for each channel with commas between") from None


def said_of_images(given: Mapping[str, Any]) -> bool:
    """Whether a command is told what becomes of images."""
    return any(given[name] is not None for name in (*_FIELDS, "preprocess"))


def need_images(said: bool, images: bool) -> None:
    """Raise `UsageError` where something is `said` of images, and nothing that is given is one."""
    if said:
        from ..samples.preprocess import need_images

        need_images(images)


def take_preprocess(given: dict[str, Any], beside: Path | None = None, *, models: Sequence[Path] = ()) -> Any:
    """Take the options of `images` out of a command's, as a `Preprocess`; None where nothing is said.

    What is said over what the file of `--preprocess` says, or else the one `beside` an artifact, where there is one; of several
    `models` that are given the same images, the first that there is (`beside_first`).
    Raises `UsageError` for what is said of images that keep their shape, where they do not.
    """
    said = {name: given.pop(name) for name in _FIELDS}
    said = {name: value for name, value in said.items() if value is not None}
    file = given.pop("preprocess")
    if file is None and beside is None and not models and not said:
        return None
    from ..samples.preprocess import Preprocess, beside_first, beside_of

    if file is not None:
        found: Preprocess | None = Preprocess.read(file).before(beside_of(beside) if beside is not None else None)
    else:
        found = beside_of(beside) if beside is not None else beside_first(models)
    if not said:
        return found
    of_file = found or Preprocess()
    made = of_file.with_said(said, fused=beside is None)
    each = (made, *made.inputs.values())
    lost = next((name for name in ("keep_ratio_mode", "pad_value", "pad_type") if name in said and not any(
        one.has_effect(name) for one in each)), None)
    if lost is not None:
        from ..errors import UsageError

        keeps = any(one.keep_aspect_ratio for one in each)
        raise UsageError(f"--{lost.replace('_', '-')} is for images that {'are padded' if keeps else 'keep their shape'}",
                         hint="leave it out; letterbox pads" if keeps else "--keep-aspect-ratio")
    return made


# --- quantizing


def quantizing(name: str, help: str, default: str | None = None) -> Decorator:
    option = grouped("Quantizing")
    return _all(
        option(name, "quantize", metavar="NAME", shell_complete=names_of("quantizers"), default=default, help=help),
        option("--table", metavar="FILE", type=PATH, help="A calibration table; without it ranges are measured on the samples."),
        option("--method", metavar="NAME", shell_complete=names_of("calibrators"),
               help="How ranges are chosen: mse, minmax, kl, ..."),
        option("--effort", type=click.Choice(["fast", "default", "best"]),
               help="fast leaves out what takes long; best tries more, and keeps what gains on samples held apart."),
        option("--quant-input", metavar="[NAMES]", is_flag=False, flag_value="all",
               help="Take integers: all inputs, or those named, with commas between."),
        option("--quant-output", metavar="[NAMES]", is_flag=False, flag_value="all", help="Give integers, likewise."),
        option("--floats", metavar="NAME[,NAME...]", help="Tensors that stay float, with the ops that make or take them."),
        option("--layers", metavar="FILE", type=PATH,
               help="A quantize table: in what layers are held, F32, INT16, INT8, F8E4M3 or F8E5M2; nothing else is looked for."),
        option("--report", "page", metavar="FILE", type=OUT, help="Write what it cost, layer by layer, as an HTML page."),
        option("--quantizer-option", metavar="KEY=VALUE", multiple=True, help="An option of the quantizer's own. Repeatable."))


def take_quantizer(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `quantizing` out of a command's, but for the quantizer's name, as options of the quantizer.

    Raises `UsageError` where the command that runs was given some, and no quantizer.
    """
    from .arguments import parse_options

    texts = {"calibration": given.pop("table"), **{name: given.pop(name) for name in ("method", "floats", "layers", "effort")}}
    borders = {name: given.pop(name) for name in ("quant_input", "quant_output")}
    said = {name: value for name, value in {**texts, **borders}.items() if value is not None}
    own = parse_options(given.pop("quantizer_option"), "quantizer-option")
    context = click.get_current_context(silent=True)
    if (said or own) and context is not None and context.params.get("quantize") is None:
        from ..errors import UsageError

        flags = [{"calibration": "--table"}.get(name, f"--{name.replace('_', '-')}") for name in said]
        flags += [f"--quantizer-option {name}" for name in own]
        raise UsageError(f"{', '.join(flags)}: of which quantizer?", hint="--quantize NAME")
    return {**said, **own}

"""The commands and their options. What they do is imported when they run, so that `--help` is quick."""

from __future__ import annotations

import sys
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..typed import typed_by
from . import options
from .answer import print_data
from .once_more import typed_again
from .options import OUT, PATH, PATH_TEXT, OwnGroup, names_of

__all__ = ["app"]

SETTINGS = {"show_default": True, "help_option_names": ["-h", "--help"]}


class _Commands(OwnGroup):
    """Our commands, and behind them those of plugins, which are asked for where they can matter: in help, and for other names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ..plugin_host import host

        return list(dict.fromkeys((*self.commands, *host().commands)))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if not (ctx.resilient_parsing or args[0].startswith("-")) and self.get_command(ctx, args[0]) is None:
            raise self._unknown(ctx, args[0])
        found = super().resolve_command(ctx, args)
        ctx.with_resource(typed_by(partial(typed_again, ctx, tuple(found[2]))))
        return found

    def _unknown(self, ctx: click.Context, name: str) -> Exception:
        from ..errors import UsageError
        from ..plugin_host import host
        from ..suggest import nearest

        guess = nearest(name, self.list_commands(ctx))
        return UsageError(f"no command is called {name!r}", hint=(
            f"did you mean {guess!r}? " if guess else "") + f"`transload --help` lists all{host().absent()}")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = self.commands.get(cmd_name)
        if own is not None:
            return own
        from ..plugin_host import host

        registered = host().commands.get(cmd_name)
        return _guarded(_command(*registered), cmd_name) if registered is not None else None


def _guarded(command: click.Command, name: str) -> click.Command:
    """A plugin's command, with the plugin's name on what it raises, but for what ends a command, and in lists of commands, which
    help and the shell's completion show, with control characters escaped; what it prints itself is its own."""
    from ..escapes import escaped
    from ..guard import Guarded
    from ..plugin_host import host

    plugin = host().owner("commands", name)
    if plugin is None:
        return command
    guarded = copy(command)
    guarded.invoke = Guarded(command.invoke, plugin, f"command {name!r}", lets=_ends())  # type: ignore[method-assign]
    guarded.get_short_help_str = lambda limit=45: escaped(command.get_short_help_str(limit))  # type: ignore[method-assign]
    return guarded


def _ends() -> tuple[type[BaseException], ...]:
    """What a command raises to end, or to say how it is called, and what its files do; typer has exceptions of its own."""
    ends: list[type[BaseException]] = [click.exceptions.Exit, click.Abort, click.ClickException, OSError]
    if (typer := sys.modules.get("typer")) is not None:
        ends += [typer.Exit, typer.Abort, *(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")]
    return tuple(ends)


def _command(name: str, registered: Any) -> click.Command:
    """What a plugin registered as a command: it is one, or a `typer.Typer`, which reads its arguments by itself."""
    if isinstance(registered, click.Command):
        return registered
    from typer.main import get_group

    inner = get_group(registered)

    def call(arguments: tuple[str, ...]) -> Any:
        return inner(args=list(arguments), prog_name=f"transload {name}", standalone_mode=False)

    return click.Command(
        name, callback=call, params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)], help=inner.help,
        add_help_option=False, context_settings={"ignore_unknown_options": True})


@click.group(cls=_Commands, invoke_without_command=True, context_settings=SETTINGS)
@click.option("--version", "-V", is_flag=True, help="Print the version and exit.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; wherever it stands in the line.")
@click.pass_context
def app(context: click.Context, version: bool, debug: bool) -> None:
    """Take a trained model from any framework, correct and fast, onto any chip."""
    if version:
        from .. import __version__

        print_data(f"transload {__version__}\n")
        context.exit()
    if context.invoked_subcommand is None:
        print_data(context.get_help() + "\n")
        context.exit()


@app.command()
@options.models("The model's file; or many of them, and folders of them.")
@click.option(
    "--target", "-t", shell_complete=names_of("targets"),
    help="What to convert for; `transload targets` lists them, and marks the one for which no name is needed.")
@options.host()
@click.option("--out", "-o", type=PATH, default=Path("build"), help="Directory to write to.")
@click.option(
    "--option", metavar="KEY=VALUE", multiple=True,
    help="An option of the target, or of a conversion on the way; OWNER.KEY=VALUE says whose. Repeatable.")
@options.shapes()
@options.inputs()
@click.option("--input-data", type=PATH, hidden=True)
@click.option(
    "--verify", type=click.Choice(["require", "yes", "no"]), is_flag=False, flag_value="yes", default="yes",
    help="Compare the result with the source framework's own runtime; with require, exit 4 where that is not possible.")
@click.option("--no-verify", is_flag=True, help="As --verify=no.")
@click.option(
    "--tolerance", metavar="NAME=NUMBER", multiple=True, help="How near is enough: cos=0.999, integer=2, ... Repeatable.")
@options.excepts()
@options.engine("What runs the result in verification.")
@options.seed()
@options.format()
@options.function()
@options.weights()
@options.outputs()
@options.json()
@click.option("--passes", "-p", metavar="PIPELINE", default="", show_default=False, help="Passes to run in the hub dialect.")
@click.option("--dump", metavar="DIR", type=PATH, help="Write the module's text after every stage and pass into this folder.")
@click.option("--from", "start", metavar="STAGE", help="Start at this stage, from what the folder of --dump holds.")
@options.trace()
@click.option("--show-pipeline", is_flag=True, help="Print the stages and passes that would run, as pipeline text, and stop.")
@options.quantizing("--quantize", "Make integers of a float model, by this quantizer, on the samples.")
@options.samples()
@options.images()
@options.fusing()
@options.scaling()
def convert(**given: Any) -> int:
    """Convert a model, or many, for a target, verify, report."""
    from .many import convert_each

    if given.pop("no_verify"):
        source = click.get_current_context().get_parameter_source("verify")
        if given["verify"] != "no" and source is not click.core.ParameterSource.DEFAULT:
            from ..errors import UsageError

            raise UsageError(f"--verify={given['verify']} and --no-verify say two things", hint="leave out one of them")
        given["verify"] = "no"
    return convert_each(**given)


@app.command(name="eval")
@click.argument("models", nargs=-1, required=True, type=PATH, metavar="MODEL...", help=(
    "Models, or what convert wrote: folders, or files in them. The first is what the others are compared with."))
@options.samples(needed=True)
@click.option(
    "--labels", metavar="PATH", type=PATH_TEXT,
    help="Labels: a text file, .npy, COCO's .json, a folder of masks; without it by the folders of the samples.")
@click.option("--classes", metavar="FILE", type=PATH, help="Names of the classes, one a line, in order.")
@click.option("--label-offset", metavar="N", type=int, default=0, help="Added to labels; 1 where class 0 is the background.")
@click.option(
    "--metric", metavar="NAMES", default="top1", shell_complete=names_of("scores"),
    help="With commas between: top1, top5, agreement, equal, sqnr, cos, euclid, psnr, pixels, miou, map, python:MODULE:FUNCTION.")
@click.option("--output", metavar="NAME", help="The output that counts; for top1 and the like the first without it.")
@click.option("--resume", metavar="FILE", type=OUT, help="Save what is measured here as it goes, and go on from it.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask's scheduler, whose workers run the models: tcp://host:8786.")
@options.shapes()
@options.engine("What runs models, and artifacts whose target has no runtime of its own.")
@options.format()
@options.function()
@options.weights()
@options.json()
@options.images()
def evaluate(**given: Any) -> int:
    """Score models side by side on samples."""
    from .evaluating import eval_command

    return eval_command(**given)


@app.command()
@options.model("artifact", "An artifact (.tosa, .mlir), the folder of a conversion, or a model.")
@options.shapes()
@options.inputs()
@click.option("--out", "-o", type=OUT, help="An .npz to write the outputs to, or an .npy of one.")
@options.engine("What runs it.")
@click.option("--all", is_flag=True, help="Every intermediate too, by original name, in the type that it is computed in.")
@click.option("--trace", is_flag=True, help="Print every value by name as it is computed, parts and regions too.")
@options.function()
@options.weights()
@options.seed()
@options.format()
@options.images()
def run(**given: Any) -> int:
    """Run an artifact or a model in an engine of ours."""
    from .commands import run_command

    return run_command(**given)


@app.command()
@options.model()
@options.model("artifact", "What it was converted to (.tosa, .mlir), or the folder.")
@options.shapes()
@options.inputs()
@click.option("--per-layer", is_flag=True, help="Intermediates too, by original name.")
@click.option(
    "--tolerance", metavar="NAME=NUMBER", multiple=True,
    help="How near outputs are to be: cos=0.999, integer=2, ... Exit code 4 where one is not. Repeatable.")
@options.excepts()
@options.format()
@options.function()
@options.outputs()
@options.weights()
@options.seed()
@options.json()
@options.images()
def compare(**given: Any) -> int:
    """How near an artifact is to the model's own runtime."""
    from .commands import compare_command

    return compare_command(**given)


@app.command()
@options.model()
@click.option("--target", "-t", shell_complete=names_of("targets"), help="Say what this target can and cannot take.")
@options.host()
@options.loading()
@options.json()
def inspect(**given: Any) -> int:
    """What a model holds, and what a target says of it."""
    from .commands import inspect_command

    return inspect_command(**given)


@app.command()
@options.model()
@click.option(
    "--inputs", metavar="NAME[=NEW]", multiple=True, help="A tensor that is to be an input, and what to call it. Repeatable.")
@click.option(
    "--outputs", metavar="NAME[=NEW]", multiple=True,
    help="A tensor that is to be an output; without, the model's own. Repeatable.")
@click.option("--out", "-o", type=OUT, required=True, help="Where to write: .mlir, or what the dialect's writer takes.")
@options.shapes()
@options.format()
@options.function()
@options.weights()
def extract(**given: Any) -> int:
    """Write the part of a model between tensors.

    Inputs and outputs may get other names, those of the whole model, too.
    """
    from .extract import extract_command

    return extract_command(**given)


@app.command(name="gen-input")
@options.model()
@click.option("--out", "-o", type=OUT, required=True, help="The .npz file to write, or an .npy of one input.")
@options.shapes()
@options.inputs()
@click.option(
    "--range", metavar="[NAME=]LOW:HIGH", multiple=True, help="Between which numbers an input's random ones lie. Repeatable.")
@options.seed()
@options.format()
@options.function()
@options.weights()
def gen_input(**given: Any) -> int:
    """Write an array for each input of a model."""
    from .npz import gen_input_command

    return gen_input_command(**given)


@app.group()
def npz() -> None:
    """Look at, compare and unpack files of arrays."""


_ARRAYS = click.argument("file", type=PATH, help="An .npz or .npy file.")
_ARRAY = click.argument("name", required=False, help="The array; where there is one, it need not be said.")


@npz.command()
@_ARRAYS
@_ARRAY
def dump(**given: Any) -> int:
    """What arrays a file holds, or the numbers of one."""
    from .npz import dump_command

    return dump_command(**given)


@npz.command(name="compare")
@click.argument("first", type=PATH, help="The reference.")
@click.argument("second", type=PATH, help="What is compared with it.")
@click.option(
    "--tolerance", metavar="NUMBERS", multiple=True, help="How near is enough: cos=0.99, euclid=0.9, or 0.99,0.9 for the two.")
@click.option("--excepts", metavar="NAME[,NAME...]", multiple=True, help="Arrays to leave out. Repeatable.")
def npz_compare(**given: Any) -> int:
    """How near arrays of the same names are; exit code 1 where one is not near enough."""
    from .npz import compare_command

    return compare_command(**given)


@npz.command(name="to-dat")
@_ARRAYS
@click.argument("out", type=OUT, help="The file to write.")
@_ARRAY
def to_dat(**given: Any) -> int:
    """Write the bytes of an array, without anything else."""
    from .npz import to_dat_command

    return to_dat_command(**given)


@app.command()
@click.argument("file", type=PATH_TEXT, help="MLIR text in generic form, or - for standard input.")
@click.option("--passes", "-p", default="", show_default=False, help='A pipeline: "canonicalize,layout{to=NHWC}".')
@click.option("--out", "-o", type=OUT, help="Where to write; standard output without it.")
@click.option("--timing", is_flag=True, help="Print what each pass took.")
@click.option("--print-after", is_flag=True, help="Print the module after each pass, to standard error.")
@click.option("--verify-each/--no-verify-each", default=True, help="Verify the module after each pass.")
@click.option("--constants", default="inline", help="How to print constants: inline, elided, resource.")
@click.option("--locations/--no-locations", default=True, help="Print locations.")
@options.trace()
def opt(**given: Any) -> int:
    """Run passes and conversions on MLIR text."""
    from .commands import opt_command

    return opt_command(**given)


@app.command()
@options.json()
def plugins(json: bool) -> int:
    """The plugins, and what failed to load and why."""
    from .listings import plugins_command

    return plugins_command(json)


@app.command()
@click.argument("name", required=False, help="One of them, to be told its options.", shell_complete=names_of("targets"))
@options.json()
def targets(name: str | None, json: bool) -> int:
    """The targets, and one's options."""
    from .listings import targets_command

    return targets_command(name, json)


@app.command()
@options.json()
def passes(json: bool) -> int:
    """The passes and conversions, with their options."""
    from .listings import passes_command

    return passes_command(json)


@app.command()
@click.argument("dialect", help="A dialect, or one op of it: DIALECT.OP.", shell_complete=names_of("dialects"))
@options.json()
def ops(dialect: str, json: bool) -> int:
    """The ops of a dialect, or one op's reference."""
    from .listings import ops_command

    return ops_command(dialect, json)


@app.command()
@click.option("--from", "source", help="A framework's dialect; without it, all that readers give.")
@click.option("--to", "target", help="A dialect or target; the default target without it.")
@options.json()
def coverage(source: str | None, target: str | None, json: bool) -> int:
    """Which ops of one dialect have a way to another."""
    from .listings import coverage_command

    return coverage_command(source, target, json)


@app.command("new-plugin")
@click.argument("name", help="The package's name.")
@click.option("--kind", default="op", help="What it adds: op, frontend, target or chip.")
@click.option("--out", "-o", type=PATH, default=Path(), help="Where to make the package's directory.")
def new_plugin(name: str, kind: str, out: Path) -> int:
    """Make a plugin package to start from, with tests."""
    from ..new_plugin import make_plugin
    from ..shell import quoted
    from .show import console

    directory = make_plugin(name, kind, out)
    said = f"made {directory}; try: pip install -e {quoted(f'{directory}[test]')} && pytest {quoted(directory)}"
    console().print(said, soft_wrap=True, markup=False)
    return 0


@app.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), help="Whose language to write.")
def completion(shell: str) -> int:
    """Print a script that completes what one types.

    For bash: eval "$(transload completion bash)", in ~/.bashrc to keep it.
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    from .answer import COMPLETION, print_data

    made = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    print_data(made(app, {}, "transload", COMPLETION).source() + "\n")
    return 0

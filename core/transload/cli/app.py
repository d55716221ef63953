"""The commands and their options. What they do is imported when they run, so that `--help` is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import click

from .session import Session

__all__ = ["app"]

PATH = click.Path(path_type=Path)

SETTINGS = {"show_default": True, "help_option_names": ["-h", "--help"]}

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def names_of(kind: str) -> Callable[..., list[str]]:
    """Completes the names of what plugins registered: "targets", "engines", ..."""
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from ..plugin_host import host

        return [name for name in getattr(host(), kind) if name.startswith(incomplete)]

    return complete


def _model(name: str = "model", help: str = "The model's file.") -> Decorator:
    return click.argument(name, type=PATH, help=help, callback=_warmed)


def _warmed(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """A model's file, whose reader starts what takes time to start while the command is imported."""
    from ..plugin import resolve
    from ..plugin_host import host

    for reader in host().readers.values():
        if reader.warm is not None and path.name.lower().endswith(reader.suffixes) and path.is_file():
            resolve(reader.warm)()
    return path


def _shapes() -> Decorator:
    return click.option(
        "--shape", metavar="NAME:SHAPE[:DTYPE]", multiple=True,
        help="An input's shape: image:1x3x224x224, step:scalar:int64. Repeatable.")


def _inputs() -> Decorator:
    return click.option(
        "--input", "-i", metavar="[NAME=]FILE", multiple=True,
        help="What an input is given: image=cat.jpg, x=x.npy, all.npz; random numbers without it. Repeatable.")


def _format() -> Decorator:
    return click.option(
        "--format", shell_complete=names_of("readers"), help="Name of the reader, where the suffix does not tell.")


def _function() -> Decorator:
    return click.option("--function", metavar="NAME", help="Which function is the model, where that is not main.")


def _seed() -> Decorator:
    return click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the random inputs.")


def _trace() -> Decorator:
    return click.option(
        "--trace-rewrites", metavar="FILE",
        help="Write which rule fired on which op, and what came of it, into FILE (.jsonl: as JSON); - is the terminal.")


def _json() -> Decorator:
    return click.option("--json", is_flag=True, help="Print JSON instead of a table.")


class _OwnCommand(click.Command):
    """A command of ours: it takes the options that all of them take."""

    def __init__(self, name: str | None, **given: Any) -> None:
        given["params"] = [*(given.get("params") or ()), *_of_all_commands()]
        super().__init__(name, **given)


def _of_all_commands() -> list[click.Parameter]:
    def note(context: click.Context, option: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Session), str(option.name), True)

    return [
        click.Option(["--verbose", "-v"], is_flag=True, expose_value=False, callback=note, help="Tell every detail."),
        click.Option(["--quiet", "-q"], is_flag=True, expose_value=False, callback=note, help="Print nothing but errors."),
    ]


class _Commands(click.Group):
    """Our commands, and behind them those of plugins, which are asked for where they can matter: in help, and for other names."""

    command_class = _OwnCommand

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ..plugin_host import host

        return list(dict.fromkeys((*self.commands, *host().commands)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = self.commands.get(cmd_name)
        if own is not None:
            return own
        from ..plugin_host import host

        registered = host().commands.get(cmd_name)
        return _guarded(_command(*registered), cmd_name) if registered is not None else None


def _guarded(command: click.Command, name: str) -> click.Command:
    """A plugin's command, with the plugin's name on what it raises, but for what ends a command."""
    from ..guard import Guarded
    from ..plugin_host import host

    plugin = host().owner("commands", name)
    if plugin is None:
        return command
    guarded = copy(command)
    guarded.invoke = Guarded(command.invoke, plugin, f"command {name!r}", lets=_ends())  # type: ignore[method-assign]
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


@click.group(cls=_Commands, invoke_without_command=True, context_settings=SETTINGS, params=_of_all_commands())
@click.option("--version", "-V", is_flag=True, help="Print the version and exit.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; wherever it stands in the line.")
@click.pass_context
def app(context: click.Context, version: bool, debug: bool) -> None:
    """Take a trained model from any framework, correct and fast, onto any chip."""
    if version:
        from .. import __version__

        click.echo(f"transload {__version__}")
        context.exit()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        context.exit()


@app.command()
@_model()
@click.option(
    "--target", "-t", shell_complete=names_of("targets"),
    help="What to convert for; `transload targets` lists them, and marks the one for which no name is needed.")
@click.option("--out", "-o", type=PATH, default=Path("build"), help="Directory to write to.")
@click.option(
    "--option", metavar="KEY=VALUE", multiple=True,
    help="An option of the target, or of a conversion on the way; OWNER.KEY=VALUE says whose. Repeatable.")
@_shapes()
@_inputs()
@click.option("--input-data", type=PATH, hidden=True)
@click.option(
    "--verify", type=click.Choice(["require", "yes", "no"]), is_flag=False, flag_value="yes", default="yes",
    help="Compare the result with the source framework's own runtime; with require, exit 4 where that is not possible.")
@click.option("--no-verify", "verify", flag_value="no", help="As --verify=no.")
@click.option(
    "--tolerance", metavar="NAME=NUMBER", multiple=True, help="How near is enough: cos=0.999, integer=2, ... Repeatable.")
@click.option("--engine", default="auto", shell_complete=names_of("engines"), help="What runs the result in verification.")
@_seed()
@_format()
@_function()
@_json()
@click.option("--passes", metavar="PIPELINE", default="", show_default=False, help="Passes to run in the hub dialect.")
@click.option("--dump", metavar="DIR", type=PATH, help="Write the module's text after every stage and pass into this folder.")
@click.option("--from", "start", metavar="STAGE", help="Start at this stage, from what the folder of --dump holds.")
@_trace()
@click.option("--show-pipeline", is_flag=True, help="Print the stages and passes that would run, as pipeline text, and stop.")
def convert(**given: Any) -> int:
    """Convert a model for a target, verify it, and report."""
    from .commands import convert_command

    return convert_command(**given)


@app.command()
@_model("artifact", "An artifact (.tosa, .mlir) or a model.")
@_shapes()
@_inputs()
@click.option("--out", "-o", type=PATH, help="An .npz to write the outputs to.")
@click.option("--engine", default="auto", shell_complete=names_of("engines"), help="What runs it.")
@click.option("--all", is_flag=True, help="Every intermediate too, by original name.")
@click.option("--trace", is_flag=True, help="Print every value by name as it is computed, parts and regions too.")
@_function()
@_seed()
@_format()
def run(**given: Any) -> int:
    """Run an artifact or a model in an engine of ours."""
    from .commands import run_command

    return run_command(**given)


@app.command()
@_model()
@_model("artifact", "What it was converted to (.tosa, .mlir).")
@_shapes()
@_inputs()
@click.option("--per-layer", is_flag=True, help="Intermediates too, by original name.")
@_seed()
@_json()
def compare(**given: Any) -> int:
    """How near an artifact is to the model's own runtime."""
    from .commands import compare_command

    return compare_command(**given)


@app.command()
@_model()
@click.option("--target", "-t", shell_complete=names_of("targets"), help="Say what this target can and cannot take.")
@_shapes()
@click.option("--input", metavar="[NAME=]FILE", multiple=True, help="Data whose shapes the inputs are to have.")
@_format()
@_function()
@_json()
def inspect(**given: Any) -> int:
    """What a model holds, and what a target says of it."""
    from .commands import inspect_command

    return inspect_command(**given)


@app.command()
@click.argument("file", help="MLIR text in generic form, or - for standard input.")
@click.option("--passes", "-p", default="", show_default=False, help='A pipeline: "canonicalize,layout{to=NHWC}".')
@click.option("--out", "-o", type=PATH, help="Where to write; standard output without it.")
@click.option("--timing", is_flag=True, help="Print what each pass took.")
@click.option("--print-after", is_flag=True, help="Print the module after each pass, to standard error.")
@click.option("--verify-each/--no-verify-each", default=True, help="Verify the module after each pass.")
@click.option("--constants", default="inline", help="How to print constants: inline, elided, resource.")
@click.option("--locations/--no-locations", default=True, help="Print locations.")
@_trace()
def opt(**given: Any) -> int:
    """Run passes and conversions on MLIR text."""
    from .commands import opt_command

    return opt_command(**given)


@app.command()
@_json()
def plugins(json: bool) -> int:
    """The plugins, and what failed to load and why."""
    from .listings import plugins_command

    return plugins_command(json)


@app.command()
@click.argument("name", required=False, help="One of them, to be told its options.", shell_complete=names_of("targets"))
@_json()
def targets(name: str | None, json: bool) -> int:
    """The targets, and one's options."""
    from .listings import targets_command

    return targets_command(name, json)


@app.command()
@_json()
def passes(json: bool) -> int:
    """The passes and conversions, with their options."""
    from .listings import passes_command

    return passes_command(json)


@app.command()
@click.argument("dialect", help="A dialect, or one op of it: DIALECT.OP.", shell_complete=names_of("dialects"))
@_json()
def ops(dialect: str, json: bool) -> int:
    """The ops of a dialect, or one op's reference."""
    from .listings import ops_command

    return ops_command(dialect, json)


@app.command()
@click.option("--from", "source", help="A framework's dialect; without it, all that readers give.")
@click.option("--to", "target", help="A dialect or target; the default target without it.")
@_json()
def coverage(source: str | None, target: str | None, json: bool) -> int:
    """Which ops of one dialect have a way to another."""
    from .listings import coverage_command

    return coverage_command(source, target, json)


@app.command("new-plugin")
@click.argument("name", help="The package's name.")
@click.option("--kind", default="op", help="What it adds: op, frontend or target.")
@click.option("--out", "-o", type=PATH, default=Path(), help="Where to make the package's directory.")
def new_plugin(name: str, kind: str, out: Path) -> int:
    """Make a plugin package to start from, with tests."""
    from ..new_plugin import make_plugin

    directory = make_plugin(name, kind, out)
    click.echo(f"made {directory}; try: pip install -e {directory} && pytest {directory}")
    return 0


@app.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), help="Whose language to write.")
def completion(shell: str) -> int:
    """Print a script that completes what one types.

    For bash: eval "$(transload completion bash)", in ~/.bashrc to keep it.
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    made = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(made(app, {}, "transload", "_TRANSLOAD_COMPLETE").source())
    return 0

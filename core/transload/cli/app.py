"""The commands and their options. What they do is imported when they run, so that `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["build"]

app = typer.Typer(
    name="transload",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Take a trained model from any framework, correct and fast, onto any chip.",
)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The model's file.", show_default=False)]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="NAME:SHAPE[:DTYPE]", help="Fix an input's shape: image:1x3x224x224, step:scalar:int64. Repeatable."
    ),
]
Format = Annotated[str | None, typer.Option("--format", help="Name of the reader, where the suffix does not tell.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from .. import __version__

        typer.echo(f"transload {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


@app.command()
def convert(
    model: Model,
    target: Annotated[str, typer.Option("--target", "-t", help="What to convert for; `transload targets` lists them.")] = "tosa",
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write to.")] = Path("build"),
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="An option of the target. Repeatable.")
    ] = None,
    input: Inputs = None,
    verify: Annotated[bool, typer.Option(help="Compare the result with the source framework's own runtime.")] = True,
    input_data: Annotated[
        Path | None, typer.Option(help="An .npz with the inputs to verify with, instead of random ones.")
    ] = None,
    tolerance: Annotated[
        list[str] | None, typer.Option(metavar="NAME=NUMBER", help="How near is enough: cos=0.999, integer=2, ... Repeatable.")
    ] = None,
    engine: Annotated[str, typer.Option(help="What runs the result in verification.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.")] = 0,
    format: Format = None,
    json: JsonFlag = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> int:
    """Convert a model for a target, verify it, and report."""
    from .commands import convert_command

    return convert_command(
        model, target, out, option or [], input or [], verify, input_data, tolerance or [], engine, seed, format, json, quiet
    )


@app.command()
def run(
    artifact: Annotated[Path, typer.Argument(help="An artifact (.tosa, .mlir) or a model.", show_default=False)],
    input: Annotated[
        Path | None, typer.Option("--input", "-i", help="An .npz with an array per input; random ones without it.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="An .npz to write the outputs to.")] = None,
    engine: Annotated[str, typer.Option(help="What runs it.")] = "auto",
    all: Annotated[bool, typer.Option("--all", help="Every intermediate too, by original name.")] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print every value by name as it is computed, parts and regions too.")
    ] = False,
    function: Annotated[str, typer.Option(help="Which function.")] = "main",
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.")] = 0,
    format: Format = None,
) -> int:
    """Run an artifact or a model in an engine of ours."""
    from .commands import run_command

    return run_command(artifact, input, out, engine, all, trace, function, seed, format)


@app.command()
def compare(
    model: Model,
    artifact: Annotated[Path, typer.Argument(help="What it was converted to (.tosa, .mlir).", show_default=False)],
    input: Annotated[
        Path | None, typer.Option("--input", "-i", help="An .npz with an array per input; random ones without it.")
    ] = None,
    per_layer: Annotated[bool, typer.Option("--per-layer", help="Intermediates too, by original name.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.")] = 0,
    json: JsonFlag = False,
) -> int:
    """How near an artifact computes to the model's own runtime."""
    from .commands import compare_command

    return compare_command(model, artifact, input, per_layer, seed, json)


@app.command()
def inspect(
    model: Model,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Say what this target can and cannot take.")] = None,
    input: Inputs = None,
    format: Format = None,
    json: JsonFlag = False,
) -> int:
    """A model's inputs, outputs, ops and sizes, and what a target makes of it."""
    from .commands import inspect_command

    return inspect_command(model, target, input or [], format, json)


@app.command()
def opt(
    file: Annotated[str, typer.Argument(help="MLIR text in generic form, or - for standard input.", show_default=False)],
    passes: Annotated[str, typer.Option("--passes", "-p", help='A pipeline: "canonicalize,layout{to=NHWC}".')] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write; standard output without it.")] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Print what each pass took.")] = False,
    print_after: Annotated[
        bool, typer.Option("--print-after", help="Print the module after each pass, to standard error.")
    ] = False,
    verify_each: Annotated[bool, typer.Option(help="Verify the module after each pass.")] = True,
    constants: Annotated[str, typer.Option(help="How to print constants: inline, elided, resource.")] = "inline",
    locations: Annotated[bool, typer.Option(help="Print locations.")] = True,
) -> int:
    """Run passes and conversions on MLIR text, as mlir-opt does."""
    from .commands import opt_command

    return opt_command(file, passes, out, timing, print_after, verify_each, constants, locations)


@app.command()
def plugins(json: JsonFlag = False) -> int:
    """What is loaded, from which distribution, and what failed to load and why."""
    from .listings import plugins_command

    return plugins_command(json)


@app.command()
def targets(json: JsonFlag = False) -> int:
    """The targets, their options, and whether they can be used here."""
    from .listings import targets_command

    return targets_command(json)


@app.command()
def passes(json: JsonFlag = False) -> int:
    """The passes and conversions, with their options."""
    from .listings import passes_command

    return passes_command(json)


@app.command()
def ops(
    dialect: Annotated[str, typer.Argument(help="A dialect: top, tosa, tfl, ...; or one op, as top.Conv.", show_default=False)],
    json: JsonFlag = False,
) -> int:
    """The ops of a dialect, or one op's reference."""
    from .listings import ops_command

    return ops_command(dialect, json)


@app.command()
def coverage(
    source: Annotated[str, typer.Option("--from", help="A framework's dialect.")] = "tfl",
    target: Annotated[str, typer.Option("--to", help="A dialect or target.")] = "tosa",
    json: JsonFlag = False,
) -> int:
    """Which ops of one dialect have a way to another."""
    from .listings import coverage_command

    return coverage_command(source, target, json)


@app.command("new-plugin")
def new_plugin(
    name: Annotated[str, typer.Argument(help="The package's name.", show_default=False)],
    kind: Annotated[str, typer.Option("--kind", help="What it adds: op, frontend or target.")] = "op",
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to make the package's directory.")] = Path(),
) -> int:
    """Make a plugin package that works, with its tests, to start from."""
    from ..new_plugin import make_plugin

    directory = make_plugin(name, kind, out)
    typer.echo(f"made {directory}; try: pip install -e {directory} && pytest {directory}")
    return 0


_OWN = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}  # type: ignore[union-attr]


def build(arguments: list[str]) -> Any:
    """The command tree; plugins' commands join it where they can matter: in help, and for names that are not ours."""
    tree: Any = typer.main.get_command(app)
    first = next((argument for argument in arguments if not argument.startswith("-")), None)
    if first not in _OWN:
        from ..plugin_host import host

        for name, (_, more) in host().commands.items():
            if name not in _OWN:
                tree.add_command(typer.main.get_group(more), name)
    return tree

"""The reference of the command line: every command with its arguments and options, as the program itself says them."""

from __future__ import annotations

from pathlib import Path

import click
from man_page import commands
from tables import table

from transload.cli.app import app

__all__ = ["write_commands"]


def write_commands(folder: Path) -> None:
    """Write `command-line.md`."""
    parts = [
        "# Command line\n",
        "`transload --help` and `transload COMMAND --help` say the same; [Errors and exit codes](../errors.md) says what a "
        "command ends with.\n",
        "## Options of all commands\n", options_of(app)]
    with click.Context(app) as context:
        for name, command, _ in commands(app, context):
            parts += section(name, command)
    (folder / "command-line.md").write_text("\n".join(parts), encoding="utf-8")


def section(name: str, command: click.Command) -> list[str]:
    """A command: what it does, how it is called, its options."""
    arguments = " ".join(
        parameter.make_metavar(click.Context(command)) for parameter in command.params if isinstance(parameter, click.Argument))
    return [
        f"## `transload {name}`\n", f"{command.help or command.short_help or ''}\n",
        f"```text\ntransload {name} [OPTIONS] {arguments}".rstrip() + "\n```\n", options_of(command)]


def options_of(command: click.Command) -> str:
    """A table of a command's options; empty where it has none."""
    context = click.Context(command)
    rows = []
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden:
            continue
        names = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
        value = "" if option.is_flag or option.count else option.make_metavar(context)
        shown = not option.is_flag and isinstance(option.default, str | int | float | Path) and option.default != ""
        rows.append([names, f"`{value}`" if value else "", f"`{option.default}`" if shown else "", option.help or ""])
    return table(["option", "value", "default", "what it does"], rows) if rows else ""

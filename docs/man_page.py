"""The manual page `transload.1`, made of what the commands say of themselves: `python docs/man_page.py` writes it.

It is installed as `share/man/man1/transload.1`. Source of the form: man-pages(7).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from transload.cli.app import app

__all__ = ["man_page"]

PAGE = Path(__file__).resolve().parent / "transload.1"
EXITS = {
    "0": "done", "1": "a defect, or a disk that cannot be written", "2": "an option or name that cannot be",
    "3": "the model cannot be converted; every reason is listed", "4": "converted, and not what the source computes",
    "128 + n": "ended by signal n"}
"""What commands end with; `errors.md` says more."""


def man_page() -> str:
    """The page in the language of troff's `man` macros."""
    context = click.Context(app, info_name="transload")
    lines = [
        '.TH TRANSLOAD 1 "" "Transload" "User Commands"', ".SH NAME",
        "transload \\- takes a trained neural network onto any chip",
        ".SH SYNOPSIS", ".B transload", "[OPTIONS] COMMAND [ARGS]...", ".SH DESCRIPTION", plain(app.help or ""), ".SH OPTIONS",
        *options(app, context), ".SH COMMANDS"]
    for path, command, inner in commands(app, context):
        arguments = " ".join(each.make_metavar(inner) for each in command.params if isinstance(each, click.Argument))
        lines += [f".SS transload {path} {plain(arguments)}".rstrip(), plain(command.help or ""), *options(command, inner)]
    lines += [
        ".SH EXIT STATUS", *(f".TP\n.B {code}\n{meaning}" for code, meaning in EXITS.items()),
        ".SH SEE ALSO", "transload COMMAND \\-\\-help"]
    return "\n".join(line for line in lines if line) + "\n"


def commands(group: click.Group, context: click.Context, before: str = "") -> Iterator[tuple[str, click.Command, click.Context]]:
    """All commands, those of groups by both names."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            inner = click.Context(command, parent=context, info_name=name)
            yield f"{before}{name}", command, inner
            if isinstance(command, click.Group):
                yield from commands(command, inner, f"{before}{name} ")


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """The options of a command, each a tagged paragraph."""
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) and not option.hidden else None
        if record is not None:
            yield f".TP\n.B {plain(record[0])}\n{plain(record[1])}"


def plain(text: str) -> str:
    """Text of which troff takes no character for a request."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    PAGE.write_text(man_page(), encoding="utf-8")

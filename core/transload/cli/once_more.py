"""What was asked of a command, asked of another: the same options, as they were typed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import click

from ..shell import quoted

__all__ = ["ARGUMENTS", "as_command"]

ARGUMENTS = "transload.arguments"
"""Under which a context has what was typed behind the name of the command."""


def as_command(name: str, model: Path, without: Collection[str], more: Iterable[str]) -> str | None:
    """The line of the command `name` on a model with those options of the one that runs which it has, too; None outside of one.

    `without` are those that mean something else there, by the names of their parameters; `more` is put behind.
    """
    context = click.get_current_context(silent=True)
    typed = context.meta.get(ARGUMENTS) if context is not None else None
    root = context.find_root() if context is not None else None
    other = root.command.get_command(root, name) if root is not None and isinstance(root.command, click.Group) else None
    if context is None or typed is None or other is None:
        return None
    flags = {option.name: max(option.opts, key=len) for option in other.params if isinstance(option, click.Option)}
    values, _, order = context.command.make_parser(context).parse_args(list(typed))
    words = ["transload", name, str(model)]
    for option in dict.fromkeys(order):
        key = option.name
        if key is None or key not in flags or key in without:
            continue
        value = values[key]
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [flags[key], each] if isinstance(each, str) else [flags[key]]  # a flag, or an option that needs no value
    return " ".join(map(quoted, [*words, *more]))

"""Numbers that options take have a range, in commands of plugins, too: what is out of it is the user's mistake, not a defect."""

from __future__ import annotations

from collections.abc import Iterator

import click

from transload.cli import app
from transload.plugin_host import host

ANY_NUMBER = {("eval", "label_offset")}
"""Options that take any number: labels may be moved either way."""


def numbers_without_range(name: str, command: click.Command) -> Iterator[tuple[str, str]]:
    for parameter in command.params:
        kind = type(parameter.type)
        if kind in (click.types.IntParamType, click.types.FloatParamType) and not getattr(parameter, "count", False):
            yield name, str(parameter.name)
    for below, each in (command.commands if isinstance(command, click.Group) else {}).items():
        yield from numbers_without_range(below, each)


def test_numbers_have_ranges() -> None:
    commands = [each for each in vars(app).values() if isinstance(each, click.Command)]
    commands += [each for each in host().commands.values() if isinstance(each, click.Command)]
    found = {pair for each in commands for pair in numbers_without_range(each.name or "", each)}
    assert found <= ANY_NUMBER

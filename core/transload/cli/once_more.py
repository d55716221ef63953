"""What was asked of a command, asked of another: the same options, as they were typed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

from .options import is_of_images, is_of_telling, is_of_writing

__all__ = ["typed_again"]

_SAMPLES = {"--data", "--input"}
"""What gives images: what is said of these is refused where there are none."""


def typed_again(
    context: click.Context, typed: Sequence[str], name: str, without: Collection[str], more: Collection[str],
    needs: Collection[str],
) -> list[str]:
    """The words that a command was `typed` with (behind its name, in the `context` of the group), as another one takes them.

    Those options which the command `name` has, too (see `transload.typed`). Of another command than the one that runs without
    what it writes, and without what becomes of images where nothing gives any.
    """
    group, running = context.command, context.invoked_subcommand or ""
    assert isinstance(group, click.Group)
    ran, other = group.get_command(context, running), group.get_command(context, name)
    if ran is None or other is None:
        return []
    has = {option.name: option for option in other.params if isinstance(option, click.Option)}
    values, _, order = ran.make_parser(ran.context_class(ran, context, **ran.context_settings)).parse_args(list(typed))
    taken = [has[option.name] for option in dict.fromkeys(order) if option.name in has and not is_of_telling(option)
             and (running == name or not is_of_writing(option))]
    taken = [option for option in taken if not set(option.opts).intersection(without if option.multiple else {*without, *more})]
    if running != name and not _SAMPLES.intersection((*more, *needs, *map(_flag, taken))):
        taken = [option for option in taken if not is_of_images(option)]
    words: list[str] = []
    for option in taken:
        value = values[str(option.name)]
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [_flag(option), each] if isinstance(each, str) else [_flag(option)]  # one that needs no value
    return words


def _flag(option: click.Parameter) -> str:
    return max(option.opts, key=len)

"""`transload explore MODEL --chip CHIP --sweep lmem=256k,512k --sweep dma=8,16`: what another chip would bring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transload.cli import options
from transload.digits import whole_number

if TYPE_CHECKING:
    from ..chip import Chip
    from .sweep import Explored

__all__ = ["explore"]


@click.command(cls=options.OwnCommand, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@options.model()
@click.option("--chip", metavar="CHIP", default="tp-small", help="The chip that is varied: its name, or its TOML file.")
@click.option("--sweep", "sweeps", metavar="NAME=V,V,...", multiple=True, required=True,
              help="A field of the chip, and its values: lmem, dma, banks, lanes...")
@click.option("--plot", metavar="FILE", type=options.SVG, help="Write a picture of time and bytes, an SVG file.")
@click.option("--table", "csv", metavar="FILE", type=options.OUT, help="Write all figures, a CSV file.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask's scheduler, whose workers compile: tcp://host:8786.")
@options.loading()
def explore(
    model: Path, chip: str, sweeps: tuple[str, ...], plot: Path | None, csv: Path | None, scheduler: str | None, **given: Any,
) -> int:
    """What other memories and rates of a chip would bring.

    A model is compiled for each combination of values; cycles, bytes and memory of each are told, by the cycle model.
    """
    from transload import api
    from transload.cli.arguments import taken_to_load
    from transload.cli.show import console
    from transload.errors import UsageError

    from ..chip import load_chip
    from . import sweep
    from .picture import save_picture

    machine = load_chip(chip)
    asked = _sweeps(sweeps)
    sweep.variations(machine, asked)  # what no chip can be is told before the model is read
    parts = sweep.parts_for(api.legalize(api.load(model, **taken_to_load(given))), chip)
    if not parts:
        raise UsageError(f"{machine.name} computes nothing of {model.name}", hint="`transload convert` says why, op by op")
    rows = sweep.explore(parts, machine, asked, scheduler=scheduler)
    console().print(_table(rows, machine))
    for note in _notes(rows, machine):
        console().print(note, markup=False, highlight=False)
    if plot is not None:
        save_picture(rows, plot, f"{model.name} on variations of {machine.name}")
    if csv is not None:
        _write(rows, csv)
    return 0


def _sweeps(words: Sequence[str]) -> dict[str, list[str | int]]:
    """What `name=value,value` says."""
    from transload.errors import UsageError

    made: dict[str, list[str | int]] = {}
    for word in words:
        for each in word.split():
            name, sign, values = each.partition("=")
            given = [value for value in values.split(",") if value]
            if not sign or not name or not given or name in made:
                raise UsageError(
                    f"--sweep {each}: is not a name with its values, each name once", hint="--sweep lmem=256k,512k,1M")
            made[name] = [_number(value) for value in dict.fromkeys(given)]
    return made


def _number(text: str) -> int | str:
    """The whole number that a text says; the text, where it says none."""
    number = whole_number(text.removeprefix("-"))
    return text if number is None else -number if text.startswith("-") else number


FIGURES = ("ms", "times", "bytes moved", "times least", "lanes", "busier", "groups")


def _table(rows: Sequence[Explored], machine: Chip) -> object:
    """A row a variation, the chip as it is first, with `=` behind it; a star where no cheaper one is as fast.

    `times` is the time in terms of that of the chip as it is, `times least` are the bytes in terms of those that any chip moves.
    """
    from transload.cli.show import table

    from .sweep import best_of

    names, best = list(rows[-1].settings), best_of(rows)
    base = rows[0].milliseconds
    lines = []
    for row in rows:
        shown = _shown(row, names, machine)
        if row.note:
            lines.append((*shown, "none", *[""] * len(FIGURES)))
            continue
        ratio = f"{row.milliseconds / base:.2f}" if base else ""
        compulsory = f"{row.bytes / row.compulsory:.2f}" if row.compulsory else ""
        mark = "=" if not row.settings else "*" if row in best else ""
        lines.append((*shown, f"{row.milliseconds:.3f}", ratio, f"{row.bytes:,}", compulsory, f"{row.utilisation:.0%}",
                      "dma" if row.bound == "memory" else "tiu", str(row.groups), mark))
    return table((*names, *FIGURES, ""), lines, title=machine.name, right=(*names, *FIGURES))


def _shown(row: Explored, names: Sequence[str], machine: Chip) -> list[str]:
    """The values of a variation, or of the chip as it is."""
    from .sweep import NAMES

    own = {name: getattr(machine, NAMES.get(name, name)) * (machine.lanes if name == "lmem" else 1) for name in names}
    return [_size({**own, **row.settings}[name]) for name in names]


def _notes(rows: Sequence[Explored], machine: Chip) -> list[str]:
    """Why variations take nothing, a line for each reason with those of which it is so."""
    names = list(rows[-1].settings)
    told: dict[str, list[str]] = {}
    for row in rows:
        if row.note:
            values = zip(names, _shown(row, names, machine), strict=True)
            told.setdefault(row.note, []).append(" ".join(f"{name}={value}" for name, value in values))
    return [f"{', '.join(which)}: {note}" for note, which in told.items()]


def _size(number: int) -> str:
    """A number as one writes it in a chip's file."""
    for unit, letter in ((1 << 20, "M"), (1 << 10, "k")):
        if number >= unit and not number % unit:
            return f"{number // unit}{letter}"
    return str(number)


def _write(rows: Sequence[Explored], path: Path) -> None:
    """All figures as a table of text."""
    import csv

    from transload.files import atomic_path

    names = list(rows[-1].settings)
    figures = ("cycles", "milliseconds", "bytes", "compulsory", "utilisation", "bound", "groups", "local_bytes", "global_bytes",
               "note")
    with atomic_path(path) as file, file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow([*names, *figures])
        for row in rows:
            writer.writerow([*(row.settings.get(name, "") for name in names), *(getattr(row, each) for each in figures)])

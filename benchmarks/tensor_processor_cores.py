"""What several cores bring: modelled cycles of networks on chips that come along, with as many cores as asked for.

    python benchmarks/tensor_processor_cores.py [FOLDER] [--chips tp-large,tp-small] [--cores 2,4] [--only NAME] [--check]
    [--page docs/tensor-processor-cores.md]

The networks are all of a folder (that of `TRANSLOAD_MODELS`), or those with `--only` in their names; what a chip leaves to the
host is cut off, and cycles of the parts are summed up. Columns: cycles of one core; for each number of cores how many times as
fast that is, the bytes moved in terms of those of one core, and how many times cores meet. `--check` executes programs in the
simulator, in an order by chance, beside those of one core. With `--page` the table of all chips is put into a page, between its
marks.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from model_samples import FOLDER, load, models
from peer import model_name
from rich.console import Console
from rich.table import Table
from tensor_processor import random_inputs

import transload
from transload.errors import TransloadError
from transload.ir import Module
from transload_targets.tensor_processor.chip import Chip, load_chip
from transload_targets.tensor_processor.codegen import Compiled, compile_function
from transload_targets.tensor_processor.cycles.timeline import timeline
from transload_targets.tensor_processor.explore.sweep import parts_for
from transload_targets.tensor_processor.simulator import Simulator

MARKS = "<!-- benchmarks/tensor_processor_cores.py writes from here -->", "<!-- to here -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--chips", default="tp-large,tp-small")
    parser.add_argument("--cores", default="2,4")
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.cores.split(",")]
    rows: dict[str, list[dict[str, Any]]] = {}
    for chip in map(load_chip, arguments.chips.split(",")):
        rows[chip.name] = list(networks(chip, counts, arguments))
        show(chip, counts, rows[chip.name])
    if arguments.page:
        write_page(arguments.page, counts, rows)


def networks(chip: Chip, counts: list[int], arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each network."""
    for path in models(arguments.folder):
        if arguments.only not in str(path):
            continue
        row: dict[str, Any] = {"name": model_name(path)}
        try:
            parts = parts_for(transload.legalize(load(path)), chip.name)
            yield {**row, **measured(parts, chip, counts, arguments.check)}
        except TransloadError as error:
            yield {**row, "note": str(error).partition("\n")[0][:60]}


def measured(parts: list[Module], chip: Chip, counts: list[int], check: bool) -> dict[str, Any]:
    """The figures of a network's parts, summed up."""
    row: dict[str, Any] = {}
    one: list[Compiled] = []
    for count in (1, *counts):
        several = replace(chip, cores=count)
        made = [compile_function(part.main, several) for part in parts]
        times = [timeline(compiled.program, several) for compiled in made]
        cycles, moved = sum(each.cycles for each in times), sum(each.bytes for each in times)
        if count == 1:
            one, row["cycles"], row["bytes"] = made, cycles, moved
            if not cycles:
                return {"note": "all of it is left to the host"}
        row[f"faster {count}"], row[f"moved {count}"] = row["cycles"] / cycles, moved / max(row["bytes"], 1)
        row[f"barriers {count}"] = sum(len(compiled.plan.spread.barriers) for compiled in made)
        if check and not all(map(_same, parts, one, made)):
            row["note"] = f"DIFFERENT on {count} cores"
    return row


def _same(part: Module, one: Compiled, several: Compiled) -> bool:
    inputs = random_inputs(part)
    given, found = (Simulator(compiled.program).run(inputs, seed=seed) for seed, compiled in enumerate((one, several)))
    return all(np.array_equal(array, found[name], equal_nan=array.dtype.kind == "f") for name, array in given.items())


def show(chip: Chip, counts: list[int], rows: list[dict[str, Any]]) -> None:
    """Print the table of a chip."""
    columns = [f"{what} {count}" for count in counts for what in ("faster", "moved", "barriers")]
    table = Table("network", "cycles", *columns, "", title=chip.name)
    for row in rows:
        table.add_row(row["name"], f"{row['cycles']:,.0f}" if "cycles" in row else "",
                      *(f"{row[column]:.3g}" if column in row else "" for column in columns), row.get("note", ""))
    table.add_row("median", "", *(f"{_median(rows, column):.3g}" for column in columns))
    Console(width=150).print(table)


def _median(rows: list[dict[str, Any]], column: str) -> float:
    return statistics.median([row[column] for row in rows if column in row] or [0.0])


def write_page(page: Path, counts: list[int], rows: dict[str, list[dict[str, Any]]]) -> None:
    """Put the table of how many times as fast networks are between the marks of a page."""
    columns = [(chip, f"faster {count}") for chip in rows for count in counts]
    lines = ["| network | " + " | ".join(f"`{chip}`, {column.split()[1]} cores" for chip, column in columns) + " |",
             "|---" * (1 + len(columns)) + "|"]
    by_name: dict[str, dict[tuple[str, str], float]] = {}
    for chip, column in columns:
        for row in rows[chip]:
            if column in row:
                by_name.setdefault(row["name"], {})[chip, column] = row[column]
    for name, held in sorted(by_name.items(), key=lambda item: -max(item[1].values())):
        lines.append(f"| {name} | " + " | ".join(f"{held[key]:.2f}" if key in held else "" for key in columns) + " |")
    lines.append("| median | " + " | ".join(f"{_median(rows[chip], column):.2f}" for chip, column in columns) + " |")
    text = page.read_text(encoding="utf-8")
    before, after = text.partition(MARKS[0])[0], text.partition(MARKS[1])[2]
    page.write_text(before + "\n".join([MARKS[0], "", *lines, "", MARKS[1]]) + after, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Placing buffers: how few bytes, in how many seconds, beside Arm's Vela and OR-Tools.

    python benchmarks/memory.py instances [FOLDER] [--seconds 60] [--seed 0] [--ways ours,greedy,hillclimb,cp-sat] [--json FILE]
    python benchmarks/memory.py generated
    python benchmarks/memory.py halved [FOLDER]
    python benchmarks/memory.py networks [FOLDER] [--only NAME]

`instances` are files `NAME.CAPACITY.csv` as minimalloc has them, in the folder that `TRANSLOAD_MEMORY` names: to be placed
within that capacity. `halved` are the same with 20, 60 and 150 more buffers, as some are cut in two: others of the same kind.
`generated` are of 50 to 10,000 buffers that fit without a gap, or with room where some were made smaller. `networks` are
the models of a folder (that of `TRANSLOAD_MODELS`), lowered to TOSA and at the hub: buffers of the values of their main function.

A cell is the peak in terms of the lower bound and the seconds of processor time that it took (OR-Tools: of all its threads).
`greedy` and `hillclimb` are the allocators of `ethosu.vela`, the latter with 1,000 iterations; `cp-sat` is a plain
model, without a hint, in OR-Tools. Our placements are checked by `transload.memory.check`, those of others, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memory_instances import Buffers, cut, halved, instances, instances_folder
from model_samples import FOLDER, load, models
from peer import model_name
from rich.console import Console
from rich.table import Table

import transload
from transload.errors import PlacementError, TransloadError
from transload.memory import Buffer, buffers_of, check, lower_bound, plan

ITERATIONS = 1000
"""Of Vela's hill-climb search; its usual limit is 99,999."""
Case = tuple[str, int | None, Buffers]
Way = Callable[[Buffers, int | None, float, int], dict[Any, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=CASES)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ways", default="ours", help=f"of {', '.join(WAYS)}, separated by commas")
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    rows = []
    for name, capacity, buffers in CASES[arguments.what](arguments.folder):
        if arguments.only not in name:
            continue
        row: dict[str, Any] = {
            "name": name, "buffers": len(buffers), "capacity": capacity, "bound": lower_bound(buffers).bytes, "ways": {}}
        for way in arguments.ways.split(","):
            row["ways"][way] = measured(WAYS[way], buffers, capacity, arguments.seconds, arguments.seed)
        rows.append(row)
        print(json.dumps(row), file=sys.stderr)
    show(rows, arguments.ways.split(","))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def measured(way: Way, buffers: Buffers, capacity: int | None, seconds: float, seed: int) -> dict[str, Any]:
    """Peak and seconds of one way to place buffers; where it failed, the best that it found."""
    begin = time.process_time()
    try:
        offsets = way(buffers, capacity, seconds, seed)
    except PlacementError as error:
        return {"peak": error.best, "fits": False, "seconds": time.process_time() - begin}
    spent = time.process_time() - begin
    if not offsets:
        return {"peak": None, "fits": False, "seconds": spent}
    wrong = check(buffers, offsets)
    if wrong:
        raise SystemExit(f"not a placement: {wrong[0]}")
    peak = max((offsets[name] + size for name, start, end, size, *_ in buffers if end > start), default=0)
    return {"peak": peak, "fits": capacity is None or peak <= capacity, "seconds": spent}


def ours(buffers: Buffers, capacity: int | None, seconds: float, seed: int) -> dict[Any, int]:
    return plan(buffers, capacity, seconds=seconds, seed=seed).offsets


def exact(buffers: Buffers, capacity: int | None, seconds: float, seed: int) -> dict[Any, int]:
    return plan(buffers, capacity, exact=True, seconds=seconds, seed=seed).offsets


class Range:
    """A buffer as Vela's allocators see it: its last step is inclusive."""

    def __init__(self, name: str, start: int, end: int, size: int) -> None:
        self.name, self.start_time, self.end_time, self.size = name, start, end - 1, size
        self.address = 0

    def get_alignment(self) -> int:
        return 1

    def set_address(self, address: int) -> int:
        self.address = address
        return address

    def __lt__(self, other: Range) -> bool:
        return str(self.name) < str(other.name)


def ranges_of(buffers: Buffers) -> list[Range]:
    """Buffers for Vela's allocators, which keep a list for each step: steps at which nothing begins or ends are left out."""
    steps = sorted({step for _, start, end, _ in buffers for step in (start, end)})
    number = {step: place for place, step in enumerate(steps)}
    return [Range(name, number[start], number[end], size) for name, start, end, size in buffers]


def vela_greedy(buffers: Buffers, capacity: int | None, seconds: float, seed: int) -> dict[Any, int]:
    from types import SimpleNamespace

    from ethosu.vela import greedy_allocation

    ranges = ranges_of(buffers)
    greedy_allocation.allocate_live_ranges(SimpleNamespace(lrs=ranges), 1)
    return {each.name: each.address for each in ranges}


def vela_hillclimb(buffers: Buffers, capacity: int | None, seconds: float, seed: int) -> dict[Any, int]:
    from ethosu.vela import hillclimb_allocation

    ranges = ranges_of(buffers)
    addresses = hillclimb_allocation.allocate_live_ranges(ranges, ITERATIONS, capacity or lower_bound(buffers).bytes)
    return {each.name: address for each, address in zip(ranges, addresses, strict=True)}


def cp_sat(buffers: Buffers, capacity: int | None, seconds: float, seed: int) -> dict[Any, int]:
    """As someone writes it who has read the first page about OR-Tools: rectangles that do not overlap, the least peak."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    most = capacity or sum(size for *_, size in buffers)
    places = {name: model.new_int_var(0, most - size, "") for name, _, _, size in buffers}
    model.add_no_overlap_2d(
        [model.new_fixed_size_interval_var(start, end - start, "") for _, start, end, _ in buffers],
        [model.new_fixed_size_interval_var(places[name], size, "") for name, _, _, size in buffers])
    if capacity is None:
        peak = model.new_int_var(0, most, "")
        for name, _, _, size in buffers:
            model.add(places[name] + size <= peak)
        model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.random_seed = seed
    found = solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return {name: solver.value(place) for name, place in places.items()} if found else {}


WAYS: dict[str, Way] = {"ours": ours, "exact": exact, "greedy": vela_greedy, "hillclimb": vela_hillclimb, "cp-sat": cp_sat}


def given(folder: Path | None) -> Iterator[Case]:
    found = folder or instances_folder()
    if found is None:
        raise SystemExit("no instances: name their folder, or set TRANSLOAD_MEMORY")
    yield from instances(found)


def cut_in_two(folder: Path | None) -> Iterator[Case]:
    for name, capacity, buffers in given(folder):
        for more in (20, 60, 150):
            yield f"{name}+{more}", capacity, halved(buffers, more, more)


def generated(folder: Path | None) -> Iterator[Case]:
    for count in (50, 100, 200, 1000, 10_000):
        for shrunk in (0.0, 0.1, 0.5):
            yield f"cut {count} {shrunk}", None, cut(count, 0, 1024 if count <= 200 else 1 << 20, max(60, count // 3), shrunk)


def networks(folder: Path | None) -> Iterator[Case]:
    for path in models(folder or FOLDER):
        try:
            hub = transload.legalize(load(path))
            forms = {"hub": hub, "lowered": transload.lower(hub.clone())}
        except TransloadError as error:
            print(f"{path}: {error.message}", file=sys.stderr)
            continue
        for form, module in forms.items():
            buffers = buffers_of(module.main.regions[0].block)
            numbered: list[Any] = [Buffer(str(number), *each[1:4]) for number, each in enumerate(buffers)]
            yield f"{model_name(path)} {form}", None, [tuple(each[:4]) for each in numbered]  # type: ignore[misc]


CASES: dict[str, Callable[[Path | None], Iterator[Case]]] = {
    "instances": given, "halved": cut_in_two, "generated": generated, "networks": networks}


def show(rows: list[dict[str, Any]], ways: list[str]) -> None:
    table = Table("", "buffers", "lower bound", *ways)
    for row in rows:
        cells = []
        for way in ways:
            of = row["ways"][way]
            ratio = "none" if of["peak"] is None else f"{of['peak'] / max(row['bound'], 1):.4f}"
            cells.append(f"{ratio}{'' if of['fits'] else ' too much'} {of['seconds']:.2f} s")
        table.add_row(row["name"], f"{row['buffers']:,}", f"{row['bound']:,}", *cells)
    console = Console(width=160)
    console.print(table)
    for way in ways:
        ratios = [row["ways"][way]["peak"] / max(row["bound"], 1) for row in rows if row["ways"][way]["peak"] is not None]
        seconds = [row["ways"][way]["seconds"] for row in rows]
        console.print(
            f"{way}: {sum(row['ways'][way]['fits'] for row in rows)} of {len(rows)} placed; peak of the bound: median "
            f"{statistics.median(ratios):.4f}, most {max(ratios):.4f}; seconds: median {statistics.median(seconds):.2f}, most "
            f"{max(seconds):.2f}" if ratios else f"{way}: none of {len(rows)} placed")


if __name__ == "__main__":
    main()

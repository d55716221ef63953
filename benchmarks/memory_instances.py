"""Buffers to be placed whose least memory is known, and instances of files; for benchmarks and tests of `transload.memory`."""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Buffers", "cut", "halved", "instances", "instances_folder", "read"]

Buffers = list[tuple[str, int, int, int]]
VARIABLE = "TRANSLOAD_MEMORY"


def instances_folder() -> Path | None:
    """The folder of instances as minimalloc has them: `TRANSLOAD_MEMORY`, or `memory` beside the folder of models."""
    models = os.environ.get("TRANSLOAD_MODELS")
    beside = Path(models) if models else Path(__file__).resolve().parents[2] / "shared" / "models"
    folder = Path(os.environ[VARIABLE]) if VARIABLE in os.environ else beside.parent / "memory"
    return folder if folder.is_dir() else None


def instances(folder: Path) -> Iterator[tuple[str, int, Buffers]]:
    """Name, capacity and buffers of the files `NAME.CAPACITY.csv` of a folder."""
    for path in sorted(folder.glob("*.*.csv")):
        name, capacity = path.stem.rsplit(".", 1)
        yield name, int(capacity), read(path)


def read(path: Path) -> Buffers:
    """The buffers of a file with columns id, lower, upper, size."""
    with path.open(newline="", encoding="utf-8") as file:
        return [(row["id"], int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file)]


def cut(count: int, seed: int, capacity: int = 1024, steps: int = 120, shrunk: float = 0.0) -> Buffers:
    """A rectangle of time and memory cut into about `count` buffers: they can be placed within `capacity`, without a gap.

    Cuts go through a part, or round about, as in a pinwheel. A share of buffers, `shrunk`, is made smaller by up to two fifths.
    """
    chance = random.Random(seed)
    parts = [(0, steps, 0, capacity)]
    while len(parts) < count:
        few = chance.sample(range(len(parts)), min(4, len(parts)))
        parts += _pieces(parts.pop(max(few, key=lambda i: (parts[i][1] - parts[i][0]) * (parts[i][3] - parts[i][2]))), chance)
    sizes = [high - low for _, _, low, high in parts]
    sizes = [max(1, int(size * chance.uniform(0.6, 1))) if chance.random() < shrunk else size for size in sizes]
    return [(str(i), part[0], part[1], size) for i, (part, size) in enumerate(zip(parts, sizes, strict=True))]


def _pieces(part: tuple[int, int, int, int], chance: random.Random) -> list[tuple[int, int, int, int]]:
    start, end, low, high = part
    kind = chance.random()
    if kind < 0.25 and end - start >= 3 and high - low >= 3:
        a, c = chance.randint(start + 1, end - 2), chance.randint(low + 1, high - 2)
        b, d = chance.randint(a + 1, end - 1), chance.randint(c + 1, high - 1)
        if chance.random() < 0.5:
            return [(start, b, low, c), (b, end, low, d), (a, end, d, high), (start, a, c, high), (a, b, c, d)]
        return [(a, end, low, c), (start, a, low, d), (start, b, d, high), (b, end, c, high), (a, b, c, d)]
    if high - low >= 2 and (kind < 0.6 or end - start < 2):
        c = chance.randint(low + 1, high - 1)
        return [(start, end, low, c), (start, end, c, high)]
    if end - start >= 2:
        c = chance.randint(start + 1, end - 1)
        return [(start, c, low, high), (c, end, low, high)]
    return [part]


def halved(buffers: Buffers, count: int, seed: int) -> Buffers:
    """Of an instance, one with `count` buffers more that fits where the first does: buffers are cut in two, in time or size."""
    chance = random.Random(seed)
    parts = list(buffers)
    for number in range(count):
        large = [place for place, (_, start, end, size) in enumerate(parts) if end - start > 1 or size > 1]
        name, start, end, size = parts.pop(chance.choice(large))
        if size == 1 or (end - start > 1 and chance.random() < 0.5):
            middle = chance.randint(start + 1, end - 1)
            parts += [(name, start, middle, size), (f"{name}.{number}", middle, end, size)]
        else:
            less = chance.randint(1, size - 1)
            parts += [(name, start, end, less), (f"{name}.{number}", start, end, size - less)]
    return parts

"""Draw cases of one promise, count how they end, and say which are wrong: `python -m tests.drawn KIND` (see the package)."""

from __future__ import annotations

import argparse
import json
import pkgutil
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path
from types import ModuleType

import tests.drawn
from tests.drawn import Outcome


def kinds() -> dict[str, ModuleType]:
    """The promises: modules of the package that draw."""
    names = sorted(info.name for info in pkgutil.iter_modules(tests.drawn.__path__) if info.name[0] != "_")
    modules = {name: import_module(f"tests.drawn.{name}") for name in names if not name.startswith("test_")}
    return {name: module for name, module in modules.items() if hasattr(module, "draw")}


def outcome(kind: ModuleType, number: int) -> Outcome:
    """Case `number` of `kind`, and what it raises as a finding."""
    with tempfile.TemporaryDirectory(prefix="drawn-") as folder:
        try:
            return kind.draw(number, Path(folder))
        except Exception as error:
            return Outcome("raised", f"raises {type(error).__name__}\n{traceback.format_exc()}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.drawn", description=__doc__)
    parser.add_argument("kind", nargs="?", help="a promise: without one, all are listed")
    parser.add_argument("--first", type=int, default=0, help="the number to begin with, where the folder knows no later one")
    parser.add_argument("--count", type=int, default=1000, help="cases to draw (1000)")
    parser.add_argument("--only", type=int, help="draw this case alone, and keep nothing")
    parser.add_argument("--folder", type=Path, default=Path("build/drawn"), help="where outcomes are kept (build/drawn)")
    given = parser.parse_args()
    known = kinds()
    if given.kind not in known:
        for name, module in known.items():
            print(f"{name:<12} {(module.__doc__ or '').splitlines()[0]}")
        return 0 if given.kind is None else 2
    kind = known[given.kind]
    if given.only is not None:
        with tempfile.TemporaryDirectory(prefix="drawn-") as folder:
            one = kind.draw(given.only, Path(folder))
        print(one.word, one.wrong or "", sep="\n")
        return 1 if one.wrong else 0
    given.folder.mkdir(parents=True, exist_ok=True)
    kept = given.folder / f"{given.kind}.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    first = max([given.first, *(row["number"] + 1 for row in rows)])
    with kept.open("a") as file:
        for number in range(first, first + given.count):
            one = outcome(kind, number)
            rows.append({"number": number, "word": one.word, "wrong": one.wrong})
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
    return summary(rows)


def summary(rows: list[dict[str, object]]) -> int:
    """Print how cases ended and the classes of what is wrong; 1 where anything is."""
    print(", ".join(f"{count} {word}" for word, count in Counter(str(row["word"]) for row in rows).most_common()))
    classes: dict[str, list[object]] = defaultdict(list)
    for row in rows:
        if row["wrong"]:
            classes[str(row["wrong"]).splitlines()[0]].append(row["number"])
    for line, numbers in sorted(classes.items(), key=lambda item: -len(item[1])):
        print(f"{len(numbers):>6}  {line}   e.g. {numbers[:4]}")
    return 1 if classes else 0


if __name__ == "__main__":
    sys.exit(main())

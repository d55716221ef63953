"""Run cases, count what becomes of them, keep those that fail: `python -m tests.fuzz --count 20000`.

A run goes on where the last one ended: the folder (`build/fuzz`) holds the state, the seeds, and for each class of failures the
files of a few cases, with the traceback. `--again` runs the cases of the classes that are known anew, and forgets those that
hold by now; `--only N` runs one case, here. `--unchanged` takes the files as they are, quantizes them and has the results
verified (`make sweep`), `--single` makes one edit in each, and has that judged (`make edits`), both in folders of their own.
Exit status 1 where a class of failures is left.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Case, attempt, case_of
from tests.fuzz.pool import CaseOf, Row, outcomes
from tests.fuzz.seeds import seed_files
from tests.fuzz.single import single_case_of
from tests.fuzz.unchanged import unchanged_case_of

_KEPT = 4
"""Files kept of each class of failures."""


class State:
    """What is known, in a file: the next number, how cases ended by format, and the classes of failures."""

    def __init__(self, folder: Path, first: int, case_of: CaseOf, options: str) -> None:
        self.folder, self.case_of, self.options = folder, case_of, options
        self.file = folder / "state.json"
        known = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.next: int = max(first, known.get("next", 0))
        self.counts: Counter[str] = Counter(known.get("counts", {}))
        self.classes: dict[str, dict[str, Any]] = known.get("classes", {})

    def save(self) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps({"next": self.next, "counts": self.counts, "classes": self.classes}, indent=1) + "\n")
        new.replace(self.file)

    def note(self, row: Row, seeds: dict[str, list[Path]], count: bool = True) -> None:
        """Count a case, where it was not before; keep it and its file where it failed."""
        number, format, kind, place, detail = row
        self.counts[f"{format} {kind}"] += count
        if kind not in ("failed", "differs"):
            return
        known = self.classes.setdefault(place, {"kind": kind, "count": 0, "numbers": []})
        known["count"] += 1
        if len(known["numbers"]) < _KEPT and number not in known["numbers"]:
            known["numbers"].append(number)
            name = re.sub(r"[^A-Za-z0-9]+", "-", place)[:60] + hashlib.sha1(place.encode()).hexdigest()[:6]
            there = self.folder / "failures" / name
            there.mkdir(parents=True, exist_ok=True)
            (there / f"{number}.txt").write_text(f"{place}\npython -m tests.fuzz{self.options} --only {number}\n\n{detail}\n")
            case = self.case_of(number, seeds)
            (there / f"{number}.{case.format}").write_bytes(case.content)

    def table(self) -> str:
        """How cases ended, by format, and the classes of failures, the most frequent first."""
        kinds = (
            "refused when read", "refused", "converted", "written", "viewed", "judge refused", "checked", "differs", "failed")
        formats = sorted({key.partition(" ")[0] for key in self.counts})
        lines = [f"{'':<10}" + "".join(f"{kind:>19}" for kind in kinds)]
        lines += [f"{name:<10}" + "".join(f"{self.counts[f'{name} {kind}']:>19,}" for kind in kinds) for name in formats]
        lines.append(f"{sum(self.counts.values()):,} files")
        for place, known in sorted(self.classes.items(), key=lambda item: -item[1]["count"]):
            lines.append(f"{known['count']:>6}  {place}   e.g. {known['numbers'][0]}")
        return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="default: build/fuzz, build/sweep or build/single")
    parser.add_argument("--count", type=int, default=20_000, help="how many cases")
    parser.add_argument("--first", type=int, default=0, help="the first number, where it is beyond what was run already")
    parser.add_argument("--formats", help="of these alone, with commas between; a number is another case then")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--unchanged", action="store_true", help="files as they are, by all schemes to all targets, verified")
    kinds.add_argument("--single", action="store_true", help="files with one edit, one after the other, judged")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="run the cases of known classes anew, and nothing else")
    parser.add_argument("--only", type=int, help="run one case in this process, and write its file")
    arguments = parser.parse_args()
    made, name, options = (
        (unchanged_case_of, "sweep", " --unchanged") if arguments.unchanged
        else (single_case_of, "single", " --single") if arguments.single else (case_of, "fuzz", ""))
    folder = arguments.folder or Path("build") / name
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    seeds = seed_files(folder / "seeds")
    if arguments.formats:
        asked = arguments.formats.split(",")
        if unknown := sorted(set(asked) - set(seeds)):
            parser.error(f"there are no files of format {', '.join(unknown)}: {', '.join(seeds)} are there")
        seeds = {name: files for name, files in seeds.items() if name in asked}
        options += f" --formats {arguments.formats}"
    if arguments.only is not None:
        return run_one(made(arguments.only, seeds), folder)
    state = State(folder, arguments.first, made, options)
    if arguments.again:
        numbers: Iterable[int] = sorted(number for known in state.classes.values() for number in known["numbers"])
        state.classes = {}
    else:
        numbers = range(state.next, state.next + arguments.count)
    saved = time.monotonic()
    for done, row in enumerate(outcomes(numbers, seeds, arguments.workers, made), 1):
        state.note(row, seeds, count=not arguments.again)
        if not arguments.again:
            state.next = max(state.next, row[0] + 1)
        if time.monotonic() - saved > 10:
            state.save()
            saved = time.monotonic()
            print(f"{done:,} cases, {len(state.classes)} classes of failures", file=sys.stderr)
    state.save()
    print(state.table())
    return int(bool(state.classes))


def run_one(case: Case, folder: Path) -> int:
    """One case, with its traceback."""
    file = folder / f"case-{case.number}.{case.format}"
    file.write_bytes(case.content)
    outcome = attempt(case)
    print(f"{file}: {outcome.kind} {outcome.place}\n{outcome.detail}")
    return int(outcome.kind in ("failed", "differs"))


if __name__ == "__main__":
    sys.exit(main())

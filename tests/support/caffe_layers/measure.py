"""Runs the generated cases of Caffe's layers through TOSA and writes what was measured, for `transload coverage`.

    python -m tests.support.caffe_layers.measure converters/transload_converters/caffe/coverage.json
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from transload.errors import TransloadError

from tests.support.caffe_layers.cases import all_cases
from tests.support.caffe_layers.harness import Case, difference, lowered
from tests.support.evidence import Taken, rounded_up, write_evidence

__all__ = ["FORMATS", "NEAR", "main", "measured", "op_of"]

JUDGE = (
    "Judged by a definition of each layer, written in numpy from Caffe's documentation, in double precision; relative "
    "to the size of a number and a tenth of the greatest.")
FORMATS = {"f32": "float32"}
NEAR = 1e-5
"""By how much single precision may be off."""


def op_of(case: Case) -> str:
    return f"caffe.{case.type}"


def measured(cases: list[Case]) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Op -> format -> how many cases and by how much the worst result is off; what targets take; cases that are wrong."""
    cells: dict[str, dict[str, Any]] = defaultdict(dict)
    taken = Taken("tosa")
    wrong = []
    for case in cases:
        op = op_of(case)
        try:
            module = lowered(case)
            off = difference(case, module)
        except TransloadError as error:
            wrong.append(f"{case.name}: {error.findings[0].why if error.findings else error.message}")
            continue
        if not off <= NEAR:
            wrong.append(f"{case.name}: off by {off:.1e}")
            continue
        cell = cells[op].setdefault("f32", {"cases": 0, "kind": "float", "off": 0.0})
        cell["cases"] += 1
        if off > cell["off"]:
            cell["off"] = rounded_up(off)
        taken.see(op, "f32", module)
    return cells, taken.record(), wrong


def main(path: Path) -> int:
    """Measure all, and write it; 1 where a case is wrong."""
    cases = all_cases()
    cells, targets, wrong = measured(cases)
    print(f"{len(cases)} cases of {len(cells)} layers; wrong: {'; '.join(wrong) or 'none'}")
    write_evidence(path, "caffe", "tosa", JUDGE, FORMATS, cells, targets)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

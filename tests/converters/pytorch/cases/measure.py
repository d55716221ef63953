"""Run the cases through TOSA and write what was measured, for `transload coverage`.

    python -m tests.converters.pytorch.cases.measure converters/transload_converters/pytorch/coverage.json
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import transload
from transload.errors import TransloadError

from .record import all_cases, recorded
from .run import TOLERANCES, distance, module_of, results_of
from tests.support.evidence import Taken, rounded_up, write_evidence

__all__ = ["measured"]

JUDGE = ("Judged by what PyTorch's own kernels give for calls of single operators: integers and truth values exactly, floats "
         "relative to "
         "the greatest number of the result, or 1. Integers of 64 bits are assumed to fit into 32 (int64=assumed).")
FORMATS = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "ui8": "uint8", "i32": "int32", "i64": "int64",
           "i1": "bool", "c64": "complex64"}


def measured() -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Op -> format -> how many cases and by how much the worst result is off, and what targets take."""
    cells: dict[str, dict[str, Any]] = defaultdict(dict)
    taken, wanted = Taken("tosa"), recorded()
    for case in all_cases():
        op, form = f"aten.{case.op}", case.form
        try:
            module = transload.lower(module_of(case, wanted[case.name]), "tosa", int64="assumed")
        except TransloadError as error:
            cells[op].setdefault(form, {"cases": 0, "why": error.findings[0].why if error.findings else error.message})
            continue
        off = distance(results_of(module, case), wanted[case.name], case.name)
        floats = str(wanted[case.name][0].dtype) in TOLERANCES
        cell = cells[op].get(form)
        if cell is None or not cell["cases"]:
            cell = cells[op][form] = {"cases": 0, "kind": "float" if floats else "integer", "off": 0}
        cell["cases"] += 1
        if off > cell["off"]:
            cell |= {"kind": "float", "off": rounded_up(off)}
        taken.see(op, form, module)
    return cells, taken.record()


def main(path: str) -> None:
    """Measure and write."""
    cells, targets = measured()
    write_evidence(Path(path), "aten", "tosa", JUDGE, FORMATS, cells, targets)


if __name__ == "__main__":
    main(*sys.argv[1:])

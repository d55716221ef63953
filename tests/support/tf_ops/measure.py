"""Runs every case and writes what was measured: the evidence that `transload coverage --from tf` shows.

    python -m tests.support.tf_ops.measure converters/transload_converters/tensorflow/coverage.json
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from transload.errors import TransloadError
from transload.ir import element_type_of

from .all_cases import all_cases
from .harness import judge
from .recorded import expected
from .spec import Case
from .tolerances import REASONS, STEPS
from tests.support.evidence import Taken, rounded_up, write_evidence

__all__ = ["FORMATS", "cell_of", "main", "measured"]

JUDGE = (
    "Judged by what tensorflow 2.18 computes for graphs of one op (kernels for CPUs; its compiler, XLA, where these lack a "
    "layout); integers in steps, floats relative to their size and a tenth of the greatest.")
FORMATS = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i8": "int8", "ui8": "uint8", "i16": "int16",
    "ui16": "uint16", "i32": "int32", "ui32": "uint32", "i64": "int64",
    "ui64": "uint64", "i1": "bool", "complex<f32>": "complex64",
}
"""The number formats, by the type of a case, in the order in which they are shown."""


def cell_of(case: Case) -> tuple[str, str]:
    """The op and the number format that a case is evidence for: that of its first tensor."""
    first = case.arrays[0].dtype if case.arrays else None
    return f"tf.{case.op}", str(element_type_of(first)) if first is not None else "f32"


def measured(cases: list[Case], taken: Taken) -> dict[str, dict[str, Any]]:
    """Op -> format -> how many cases, and by how much the worst result is off; `taken` notes which targets take them."""
    cells: dict[str, dict[str, Any]] = defaultdict(dict)
    for case in cases:
        op, form = cell_of(case)
        module, found = judge(case, expected(case))
        if case.hub_only:
            continue
        taken.see(op, form, module)
        cell = cells[op].setdefault(form, {"cases": 0, "kind": found[0][0] if found else "integer", "off": 0})
        cell["cases"] += 1
        for kind, off in found:
            if off > cell["off"]:
                cell |= {"kind": kind, "off": off if kind == "integer" else rounded_up(off)}
        why = STEPS.get(case.op) or REASONS.get(case.op)
        if why is not None:
            cell["why"] = why[1]
    return cells


def main(path: Path) -> int:
    """Measure all, and write it; 1 where a case is wrong."""
    cases, right, wrong = all_cases(), [], []
    for case in cases:
        try:
            judge(case, expected(case))
            right.append(case)
        except (AssertionError, TransloadError) as error:
            wrong.append(f"{case}: {error}")
    taken = Taken("tosa")
    cells = measured(right, taken)
    print(f"{len(cases)} cases of {len(cells)} ops; wrong: {len(wrong)}", *wrong, sep="\n")
    write_evidence(path, "tf", "tosa", JUDGE, FORMATS, cells, taken.record())
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

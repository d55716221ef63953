"""Runs every case and writes what was measured: the evidence that `transload coverage` shows.

    python -m tests.support.tflite_ops.measure converters/transload_converters/tflite/coverage.json

It also tries each operator in each number format that it has no case in: LiteRT must refuse such a model, or
`cases_refused.NO_MEANING` say why what it computes means nothing. LiteRT aborts on some; so that is tried in processes of
their own.
"""

from __future__ import annotations

import faulthandler
import importlib
import multiprocessing
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from transload_converters.tflite.schema import operators

from .build import build
from .cases_refused import NO_MEANING, UNSUPPORTED
from .harness import Refused, expected_results, is_assumed_small, judge, loaded, run_litert
from .spec import FORMATS, Case
from .tolerances import FLOATS, STEPS, USUAL_KERNELS, needs_usual_kernels
from tests.support.evidence import Taken, rounded_up, write_evidence

__all__ = ["NAMES", "all_cases", "cell_of", "holes", "main", "untried"]

JUDGE = (
    "Judged by LiteRT's reference kernels (operators that it has no kernel for: by their definition) on models of one "
    "operator; integers in steps, floats relative to their size and a tenth of the greatest.")
NAMES = {
    "f32": "float32", "f16": "float16 weights", "i8": "int8, weights per axis", "i8t": "int8", "u8": "uint8",
    "i16": "int16, int8 weights per axis", "i16t": "int16", "i4": "int8, int4 weights", "i2": "int8, int2 weights",
    "hybrid": "float, int8 weights", "hybrid_axis": "float, int8 weights per axis",
    "hybrid4": "float, int4 weights", "hybrid2": "float, int2 weights",
    "i32": "int32", "i64": "int64", "bool": "bool", "plain": "8 and 16 bit, uint32, not quantized",
}
"""The number formats as they are shown, in order."""

_WEIGHTS = ("f16", "i8", "i16", "i4", "i2", "hybrid", "hybrid_axis", "hybrid4", "hybrid2")
"""Formats that differ from others by their weights only."""
_FIXED = {"float32": "f32", "float16": "f16", "int32": "i32", "int64": "i64", "bool": "bool"}


def all_cases() -> list[Case]:
    """The cases of all families."""
    families = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py") if path.stem != "cases_refused")
    return [case for family in families for case in importlib.import_module(f"{__package__}.{family}").CASES]


def cell_of(case: Case) -> tuple[str, str]:
    """The op and the number format that a case is evidence for; of tensors of fixed types, the type of the first."""
    operator = "CUSTOM" if case.custom is not None else case.op
    basic = operator == "LSTM" and case.options.get("kernel_type") == "BASIC"
    op = "tfl.basic_lstm" if basic else f"tfl.{operator.lower()}"
    tensors = [tensor for tensor in (*case.inputs, *case.results) if tensor is not None]
    if any(len(tensor.role) == 1 for tensor in tensors):
        return op, "plain" if case.format.startswith("raw_") else case.format
    return op, _FIXED.get(tensors[0].role, "plain")


# --- measuring

ASSUMED = "with `int64=assumed`; without it, what may not fit in 32 bits is refused"


def measured(cases: list[Case], taken: Taken) -> dict[str, dict[str, Any]]:
    """Op -> format -> how many cases, and by how much the worst result is off; `taken` notes which targets take them."""
    cells: dict[str, dict[str, Any]] = defaultdict(dict)
    for case in cases:
        op, form = cell_of(case)
        module, found = judge(case)
        taken.see(op, form, module)
        cell = cells[op].setdefault(form, {"cases": 0, "kind": found[0][0], "off": 0})
        cell["cases"] += 1
        for kind, off in found:
            if off > cell["off"]:
                cell |= {"kind": kind, "off": off if kind == "integer" else rounded_up(off)}
        _note(cell, (case.op, case.format))
        if is_assumed_small(loaded(build(case, [array.shape for array in expected_results(case)]))):
            cell.setdefault("why", ASSUMED)
    return cells


def _note(cell: dict[str, Any], key: tuple[str, str]) -> None:
    """Say why a result is not, or need not be, LiteRT's; steps that are allowed count, even if no case takes them."""
    if key in STEPS:
        cell["off"], cell["why"] = max(cell["off"], STEPS[key][0]), STEPS[key][1]
    elif key in FLOATS:
        cell["why"] = FLOATS[key][1]
    if key in USUAL_KERNELS:
        cell["judge"] = f"LiteRT's usual kernels: {USUAL_KERNELS[key]}"


# --- what there is no case of

def untried(cases: list[Case]) -> dict[str, list[Case]]:
    """For each operator, its cases put in the number formats in which it has none."""
    by_operator: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.model is None and case.expect is None and case.custom is None:
            by_operator[case.op].append(case)
    found = {}
    for operator, own in by_operator.items():
        made, there = [], {name for case in own for name in (case.format, cell_of(case)[1])}
        forms: dict[tuple[str, ...], Case] = {}
        for case in own:
            roles = tuple(tensor.role if tensor is not None else "" for tensor in (*case.inputs, *case.results))
            forms.setdefault(roles, case)
        for roles, case in forms.items():
            if not any(len(role) == 1 for role in roles):
                continue
            weighted = {"w", "b"} & set(roles)
            formats = [
                name for name in FORMATS
                if name not in there and not name.startswith("raw_") and (weighted or name not in _WEIGHTS)]
            made += [replace(case, format=name) for name in formats]
        if made:
            found[operator] = made
    return found


def holes(cases: list[Case]) -> Iterator[tuple[Case, str]]:
    """Every untried case, and what LiteRT says to it: nothing where it runs."""
    context = multiprocessing.get_context("fork")
    for made in untried(cases).values():
        pending = made
        while pending:
            answers = context.SimpleQueue()
            process = context.Process(target=_answer, args=(pending, answers))
            process.start()
            process.join()
            said = []
            while not answers.empty():
                said.append(answers.get())
            yield from zip(pending, said, strict=False)
            pending = pending[len(said) :]
            if pending:
                yield pending[0], "LiteRT aborts on it"
                pending = pending[1:]


def _answer(cases: list[Case], answers: Any) -> None:
    faulthandler.disable()
    for case in cases:
        try:
            run_litert(build(case), needs_usual_kernels(case))
        except (Refused, ValueError, TypeError, KeyError, AttributeError):  # a kernel that it has not, or no such model
            answers.put("LiteRT has no kernel for it")
        else:
            answers.put("")


def main(path: Path) -> int:
    """Measure all, and write it; 1 where an operator runs in a format that no case is of."""
    cases = all_cases()
    taken = Taken("tosa")
    cells = measured(cases, taken)
    wrong = []
    for case, answer in holes(cases):
        op, form = cell_of(case)
        reason = NO_MEANING.get((case.op, case.format)) or answer
        if not reason:
            wrong.append(str(case))
        cells[op].setdefault(form, {"cases": 0, "why": reason})
    for operator in operators().values():
        cells.setdefault(f"tfl.{operator.lower()}", {})
    for operator in UNSUPPORTED:
        cells[f"tfl.{operator.lower()}"] = {}
    print(f"{len(cases)} cases of {len(cells)} ops; runs in LiteRT without a case: {', '.join(wrong) or 'nothing'}")
    if wrong:
        return 1
    write_evidence(path, "tfl", "tosa", JUDGE, NAMES, cells, taken.record())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

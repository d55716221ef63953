"""Runs ONNX's own tests of single operators through TOSA and writes what was measured, for `transload coverage`.

    python -m tests.support.onnx_ops.measure converters/transload_converters/onnx/coverage.json
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ml_dtypes import iinfo
from onnx import TensorProto, numpy_helper

from transload.api import lower, run
from transload.errors import TransloadError
from transload.ir import FloatType, IntegerType, Type, element_type_of
from transload_converters.onnx import backend

from tests.support.evidence import Taken, rounded_up, write_evidence
from tests.support.onnx_ops.own import own_cases
from tests.support.tflite_ops.harness import relative_difference

__all__ = ["FORMATS", "cell_of", "defined", "main", "measured", "node_cases"]

JUDGE = (
    "Judged by the results that ONNX's own tests of single operators (onnx.backend.test) expect, within the tolerances that they "
    "set, and of what these leave out by onnxruntime's; integers in steps, floats relative to their size and a tenth of the "
    "greatest.")
FORMATS = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i4": "int4", "ui4": "uint4", "i8": "int8",
    "ui8": "uint8",
    "i16": "int16", "ui16": "uint16", "i32": "int32", "ui32": "uint32", "i64": "int64", "ui64": "uint64", "i1": "bool",
}
"""The number formats, by the type of an operator's first tensor, in the order in which they are shown."""

DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training")

STEPS = {
    "onnx.DynamicQuantizeLinear": (1, "TOSA divides by a product with the reciprocal: what lies midway may round the other way"),
}
"""By how many steps integers may be off, and why."""


def node_cases() -> list[Any]:
    """ONNX's tests of models that are one operator, of its own domains; and ours of operators that these leave out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    single = [case for case in cases if len(case.model.graph.node) == 1 and case.model.graph.node[0].domain in DOMAINS]
    return [*map(defined, single), *own_cases()]


def defined(case: Any) -> Any:
    """A case without what the specification leaves undefined: of floats cast to integers, those beyond their type become 0.

    What is wanted of them is what the installed ml_dtypes gives, whose versions differ.
    """
    if case.model.graph.node[0].op_type not in ("Cast", "CastLike") or len(case.data_sets[0][1]) > 1:
        return case
    (given, *others), (wanted,) = case.data_sets[0]
    source, target = _array(given), _array(wanted)
    if source is None or target is None or not (
            isinstance(_element_of(source), FloatType) and isinstance(_element_of(target), IntegerType)):
        return case
    ends, whole = iinfo(target.dtype), np.trunc(source.astype(np.float64))
    beyond = ~((int(ends.min) <= whole) & (whole <= int(ends.max)))  # NaN, too
    zeros = (np.where(beyond, array.dtype.type(0), array) for array in (source, target))
    case.data_sets[0] = ([next(zeros), *others], [next(zeros)])
    return case


def _element_of(array: np.ndarray) -> Type | None:
    return None if array.dtype.kind in "OUS" else element_type_of(array.dtype)


def cell_of(case: Any) -> tuple[str, str] | None:
    """The op and the number format that a case is evidence for; None where its data are not all tensors of numbers."""
    given, wanted = case.data_sets[0]
    if any(value is None or isinstance(value, list) for value in (*given, *wanted)):
        return None
    first = next((array for array in map(_array, (*given, *wanted)) if array is not None), None)
    if first is None or first.dtype.kind in "OUSc":
        return None
    form = str(element_type_of(first.dtype))
    node = case.model.graph.node[0]
    return (".".join(filter(None, ("onnx", node.domain, node.op_type))), form) if form in FORMATS else None


def _array(value: Any) -> np.ndarray | None:
    """A tensor of a test; None for sequences and absent values. Types that numpy lacks come as `TensorProto`."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.ndarray | np.generic) else None


def measured(cases: list[Any]) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Op -> format -> how many cases and by how much the worst result is off; what targets take; cases that are wrong."""
    cells: dict[str, dict[str, Any]] = defaultdict(dict)
    taken = Taken("tosa")
    wrong = []
    for case in cases:
        where = cell_of(case)
        if where is None:
            continue
        op, form = where
        try:
            module, found = _run(case, STEPS[op][0] if op in STEPS else 0)
        except TransloadError as error:
            reason = error.findings[0].why if error.findings else error.message
            cells[op].setdefault(form, {"cases": 0, "why": reason})
            continue
        if found is None:
            wrong.append(case.name)
            continue
        kind, off = found
        cell = cells[op].get(form)
        if cell is None or not cell["cases"]:
            cell = cells[op][form] = {"cases": 0, "kind": kind, "off": 0}
        cell["cases"] += 1
        if off > cell["off"]:
            cell |= {"kind": kind, "off": off if kind == "integer" else rounded_up(off)}
            if kind == "integer":
                cell["why"] = STEPS[op][1]
        taken.see(op, form, module)
    return cells, taken.record(), wrong


def _run(case: Any, allowed: int) -> tuple[Any, tuple[str, float] | None]:
    """The TOSA that a case becomes, and by how much it is off; None where by more than the case allows, and so many steps."""
    rep = backend.prepare(case.model)
    worst: tuple[str, float] = ("integer", 0)
    module = None
    for given, wanted in case.data_sets:
        rep.run(given)  # finds which inputs have to be constants
        arrays = {name: _array(value) for name, value in zip(rep.inputs, given, strict=False)}
        constants = {name: arrays.pop(name) for name in rep.made_constant}
        module = lower(rep.module(arrays, constants), "tosa")
        outputs = tuple(map(_as_wanted, run(module, arrays).values(), map(_array, wanted)))
        found = list(_differences(outputs, wanted))
        steps = max((off for kind, off in found if kind == "integer"), default=0)
        if backend.difference(wanted, outputs, case.rtol, case.atol) and not 0 < steps <= allowed:
            return module, None
        worst = max(worst, *found, key=lambda difference: difference[1])
    return module, worst


def _as_wanted(mine: np.ndarray, theirs: np.ndarray | None) -> np.ndarray:
    """A result in the type that ONNX has: TOSA holds unsigned numbers by their bits, and those of 64 bits in 32."""
    if theirs is None or mine.dtype == theirs.dtype or (mine.dtype.kind == "f") != (theirs.dtype.kind == "f"):
        return mine
    narrow = mine.dtype.itemsize == theirs.dtype.itemsize
    return mine.view(theirs.dtype) if narrow and mine.dtype.kind in "iu" else mine.astype(theirs.dtype)


def _differences(outputs: tuple[Any, ...], wanted: Any) -> Iterator[tuple[str, float]]:
    for mine, theirs in zip(outputs, map(_array, wanted), strict=False):
        if theirs.dtype.kind in "iub":
            off = np.abs(np.asarray(mine).astype(np.int64) - theirs.astype(np.int64))
            yield "integer", int(off.max(initial=0))
        else:
            yield "float", float(relative_difference(np.asarray(mine, np.float64), theirs.astype(np.float64)).max(initial=0))


def main(path: Path) -> int:
    """Measure all, and write it; 1 where a case that converts is wrong."""
    cases = node_cases()
    cells, targets, wrong = measured(cases)
    print(f"{len(cases)} cases of {len(cells)} ops; wrong: {', '.join(wrong) or 'none'}")
    write_evidence(path, "onnx", "tosa", JUDGE, FORMATS, cells, targets)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

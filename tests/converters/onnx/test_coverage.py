"""The committed evidence is that of ONNX's own tests of operators, and a sample of them measures the same again."""

from __future__ import annotations

from typing import Any

import pytest

from transload import coverage
from transload.coverage_report import evidence

from tests.support.onnx_ops.measure import FORMATS, cell_of, measured, node_cases

AGAIN = "run `make coverage`"
EVERY = 12


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    pytest.importorskip("onnxruntime", reason="install onnxruntime, which judges the cases that ONNX has no results for")
    return node_cases()


def test_the_evidence_is_of_the_cases_that_there_are(cases: list[Any]) -> None:
    record = evidence("onnx", "tosa")
    written = {(op, form) for op, cells in record["results"].items() for form in cells}
    assert written == {cell for case in cases if (cell := cell_of(case)) is not None}, AGAIN
    assert record["formats"] == FORMATS, AGAIN


def test_a_sample_measures_the_same_again(cases: list[Any]) -> None:
    results = evidence("onnx", "tosa")["results"]
    cells, _, wrong = measured(cases[::EVERY])
    assert not wrong
    for op, forms in cells.items():
        for form, cell in forms.items():
            assert bool(cell["cases"]) <= bool(results[op][form]["cases"]), (op, form, AGAIN)
            assert cell.get("off", 0) <= results[op][form].get("off", 0) * 2, (op, form, AGAIN)


def test_a_chip_of_integers_takes_no_floats() -> None:
    rows = {row["op"]: row for row in coverage("onnx", "ethos-u85-256")}
    for name in ("Conv", "Gemm", "MatMul", "Relu"):
        row = rows[f"onnx.{name}"]
        if not row["covered"]:
            assert "floats" in row["why"]
        assert "f32" not in row["taken"]
    assert rows["onnx.QLinearMatMul"]["covered"] and rows["onnx.QLinearConv"]["covered"]

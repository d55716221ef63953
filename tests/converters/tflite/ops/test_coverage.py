"""The committed evidence is that of the cases that there are, and no operator runs in a number format without a case."""

import json
from collections import Counter
from importlib import resources

import pytest

from transload import coverage
from transload.coverage_report import evidence, verdict
from transload_converters.tflite.schema import operators

from tests.support.tflite_ops.cases_refused import NO_MEANING, UNSUPPORTED
from tests.support.tflite_ops.measure import NAMES, all_cases, cell_of, holes

AGAIN = "run `make coverage`"


@pytest.fixture(scope="module")
def record():
    return json.loads(resources.files("transload_converters.tflite").joinpath("coverage.json").read_text(encoding="utf-8"))


def test_the_evidence_is_of_the_cases_that_there_are(record):
    there = Counter(cell_of(case) for case in all_cases())
    written = {(op, form): cell["cases"] for op, cells in record["results"].items() for form, cell in cells.items()}
    assert {cell: count for cell, count in written.items() if count} == dict(there), AGAIN
    assert record["formats"] == NAMES, AGAIN


def test_every_format_without_a_case_has_a_reason(record):
    for op, cells in record["results"].items():
        for form, cell in cells.items():
            assert cell["cases"] or cell["why"], (op, form)


def test_every_op_is_measured_or_refused_with_a_reason():
    rows = {row["op"]: row for row in coverage("tfl", "tosa")}
    assert set(rows) >= {f"tfl.{operator.lower()}" for operator in operators().values()}
    for op, row in rows.items():
        assert row["covered"] != bool(row["why"]), op
        measured = any(cell["cases"] for cell in row["evidence"].values())
        assert measured == row["covered"], op
    assert {op for op, row in rows.items() if not row["covered"]} == {f"tfl.{operator.lower()}" for operator in UNSUPPORTED}


def test_integers_are_exact_or_within_one_with_a_reason():
    for op, cells in evidence("tfl", "tosa")["results"].items():
        for form, cell in cells.items():
            if cell["cases"] and cell["kind"] == "integer":
                assert cell["off"] <= 1, (op, form)
                assert verdict(cell) == "exact" or cell["why"], (op, form)


@pytest.mark.slow
def test_no_operator_runs_in_a_format_without_a_case():
    runs = [str(case) for case, answer in holes(all_cases()) if not answer and (case.op, case.format) not in NO_MEANING]
    assert not runs, "LiteRT runs these, and no case is like them"

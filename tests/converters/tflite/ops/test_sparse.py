"""Sparse constants against LiteRT, and damaged ones."""

from dataclasses import replace

import pytest

from transload.errors import ReadError

from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.cases_sparse import BLOCKS, CASES, FORMS, ROWS
from tests.support.tflite_ops.harness import convert, judge
from tests.support.tflite_ops.spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sparse(case: Case) -> None:
    judge(case)


@pytest.mark.parametrize(("broken", "shape", "stored", "says"), [
    (replace(ROWS, order=(0, 0)), (3, 4), 5, "has levels"),
    (replace(ROWS, levels=(2, ROWS.levels[1])), (3, 4), 5, "dense level of 2"),
    (replace(ROWS, levels=(3, ((0, 2, 1, 5), (1, 3, 0, 2, 3)))), (3, 4), 5, "do not divide"),
    (replace(ROWS, levels=(3, ((0, 2, 2, 5), (1, 3, 0, 2, 9)))), (3, 4), 5, "outside 0 to 3"),
    (ROWS, (3, 4), 6, "stores 6 numbers; its structure has 5"),
    (replace(BLOCKS, blocks=(0, 5)), (4, 4), 12, "blocks along"),
    (replace(BLOCKS, levels=(2, BLOCKS.levels[1], 3, 2)), (4, 4), 12, "blocks of"),
    (ROWS, (1 << 10, (1 << 10) + 1), 5, "stores 5 numbers only"),
])
def test_damaged_structure(monkeypatch, broken, shape, stored, says) -> None:
    monkeypatch.setitem(FORMS, "rows", (broken, shape, stored))
    with pytest.raises(ReadError, match=says):
        convert(build(CASES[0]))

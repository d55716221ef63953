"""Damaged models of operators with structures, computations and sparse constants end in an error that says why."""

import random

import pytest

from transload import legalize, load
from transload.errors import TransloadError

from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.cases_sparse import CASES as SPARSE
from tests.support.tflite_ops.cases_stablehlo import COMPUTING, INDEXING, PROGRAMS, WINDOWS
from tests.support.tflite_ops.spec import Case

VALUES = (0, 1, 2, 3, 4, 127, 128, 255)


@pytest.mark.parametrize("case", random.Random(5).sample(SPARSE + COMPUTING + INDEXING + PROGRAMS + WINDOWS, 24), ids=str)
def test_damaged_model(case: Case) -> None:
    choose = random.Random(str(case))
    content = build(case).content
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(choose.choice((1, 2, 4))):
            damaged[choose.randrange(8, len(damaged))] = choose.choice(VALUES)
        try:
            legalize(load(text=bytes(damaged), format="tflite"))
        except TransloadError as error:
            assert str(error)

"""Reductions, against LiteRT."""

import pytest

from tests.support.tflite_ops.cases_reduce import CASES
from tests.support.tflite_ops.harness import judge
from tests.support.tflite_ops.spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reduce(case: Case) -> None:
    judge(case)

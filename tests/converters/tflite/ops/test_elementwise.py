"""Elementwise operators, against LiteRT."""

import pytest

from tests.support.tflite_ops.cases_elementwise import CASES
from tests.support.tflite_ops.harness import judge
from tests.support.tflite_ops.spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_elementwise(case: Case) -> None:
    judge(case)

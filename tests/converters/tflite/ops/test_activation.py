"""Functions of one number, and softmax, against LiteRT."""

import pytest

from tests.support.tflite_ops.cases_activation import CASES
from tests.support.tflite_ops.harness import judge
from tests.support.tflite_ops.spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_activation(case: Case) -> None:
    judge(case)

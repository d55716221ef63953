"""Look-ups by index, against LiteRT."""

import pytest

from tests.support.tflite_ops.cases_gather import CASES
from tests.support.tflite_ops.harness import judge
from tests.support.tflite_ops.spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gather(case: Case) -> None:
    judge(case)

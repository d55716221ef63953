"""Fourier transforms and non-maximum suppression, against LiteRT."""

import pytest

from tests.support.tflite_ops.cases_signal import CASES
from tests.support.tflite_ops.harness import judge
from tests.support.tflite_ops.spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_signal(case: Case) -> None:
    judge(case)

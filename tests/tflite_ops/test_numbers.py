"""Casts, quantization, constants, against LiteRT."""

import pytest

from .cases_numbers import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers(case: Case) -> None:
    judge(case)

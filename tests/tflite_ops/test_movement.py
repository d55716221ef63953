"""Operators that move numbers, against LiteRT."""

import pytest

from .cases_movement import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_movement(case: Case) -> None:
    judge(case)

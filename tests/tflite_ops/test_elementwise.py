"""Elementwise operators, against LiteRT."""

import pytest

from .cases_elementwise import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_elementwise(case: Case) -> None:
    judge(case)

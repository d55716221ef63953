"""Reductions, against LiteRT."""

import pytest

from .cases_reduce import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reduce(case: Case) -> None:
    judge(case)

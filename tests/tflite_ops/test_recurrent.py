"""Recurrent layers, against LiteRT."""

import pytest

from .cases_recurrent import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_recurrent(case: Case) -> None:
    judge(case)

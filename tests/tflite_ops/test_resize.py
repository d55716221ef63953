"""Resizing, against LiteRT."""

import pytest

from .cases_resize import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_resize(case: Case) -> None:
    judge(case)

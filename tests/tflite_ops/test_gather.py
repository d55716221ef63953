"""Look-ups by index, against LiteRT."""

import pytest

from .cases_gather import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gather(case: Case) -> None:
    judge(case)

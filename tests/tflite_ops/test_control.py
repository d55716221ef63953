"""Control flow and variables, against LiteRT."""

import pytest

from .cases_control import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_control(case: Case) -> None:
    judge(case)

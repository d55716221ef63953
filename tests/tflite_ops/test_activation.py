"""Functions of one number, and softmax, against LiteRT."""

import pytest

from .cases_activation import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_activation(case: Case) -> None:
    judge(case)

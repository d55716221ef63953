"""Matrix products, against LiteRT."""

import pytest

from .cases_matmul import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_matmul(case: Case) -> None:
    judge(case)

"""StableHLO operations, against LiteRT."""

import pytest

from .cases_stablehlo import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_stablehlo(case: Case) -> None:
    judge(case)

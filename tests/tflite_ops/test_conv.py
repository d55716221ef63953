"""Convolutions and pooling, against LiteRT."""

import pytest

from .cases_conv import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_conv(case: Case) -> None:
    judge(case)

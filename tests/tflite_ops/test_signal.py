"""Fourier transforms and non-maximum suppression, against LiteRT."""

import pytest

from .cases_signal import CASES
from .harness import judge
from .spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_signal(case: Case) -> None:
    judge(case)

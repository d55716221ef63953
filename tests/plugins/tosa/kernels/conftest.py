"""The cases that kernels are tested with."""

from __future__ import annotations

import pytest

from tests.support import tosa_catalogue as catalogue


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `case` runs on each case of the catalogue."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", catalogue.all_cases(), ids=str)

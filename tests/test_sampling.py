"""Of tests that are marked `one_in(n)` each n-th case is part of a quick run."""

from __future__ import annotations

import pytest

from tests.support.sampling import leave_out


@pytest.mark.one_in(3)
def _a_case() -> None:
    """What pytest does not find by itself."""


def _cases(request: pytest.FixtureRequest, count: int) -> list[pytest.Function]:
    return [pytest.Function.from_parent(request.node.parent, name=f"case[{number}]", originalname="case", callobj=_a_case)
            for number in range(count)]


def test_each_third_case_is_kept_of_those_that_are_not_slow_anyway(request: pytest.FixtureRequest) -> None:
    cases = _cases(request, 9)
    cases[4].add_marker(pytest.mark.slow)
    leave_out(cases)
    assert [number for number, case in enumerate(cases) if case.get_closest_marker("slow") is None] == [0, 3, 7]


def test_a_case_alone_is_kept(request: pytest.FixtureRequest) -> None:
    cases = _cases(request, 6)[5:]
    leave_out(cases)
    assert cases[0].get_closest_marker("slow") is None

"""Products of matrices on one thread, and on as many as before behind that."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from transload import blas


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many threads a library has, the last number, and had before."""
    said = [4]
    monkeypatch.setattr(blas, "_functions", lambda: (lambda: said[-1], said.append))
    return said


def test_one_thread_inside_and_as_many_as_before_behind(threads: list[int]) -> None:
    with pytest.raises(ValueError, match="inside"), blas.one_thread():
        assert threads[-1] == 1
        with blas.one_thread():
            assert threads[-1] == 1
        assert threads[-1] == 1
        raise ValueError("inside")
    assert threads[-1] == 4


def test_who_leaves_first_leaves_it_to_the_last(threads: list[int]) -> None:
    first, second = blas.one_thread(), blas.one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads[-1] == 1
    second.__exit__(None, None, None)
    assert threads[-1] == 4


def test_a_library_that_is_not_known_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_functions", lambda: None)
    with blas.one_thread():
        pass


OPENBLAS = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"] == "scipy-openblas"
"""Whether numpy has the library with it that its wheels for Linux have."""


@pytest.mark.skipif(not (OPENBLAS and sys.platform == "linux"), reason="numpy has a library of matrices from elsewhere")
def test_numpys_own_is_found() -> None:
    functions = blas._functions()
    assert functions is not None
    before = functions[0]()
    with blas.one_thread():
        assert functions[0]() == 1
    assert functions[0]() == before

"""What becomes of an exception that no command caught."""

from __future__ import annotations

import pytest

from transload.cli.endings import ending
from transload.cli.session import Session
from transload.errors import RunError


@pytest.mark.parametrize("error", [
    MemoryError(), ImportError("x.so: failed to map segment from shared object"), ImportError("x.so: cannot allocate memory")])
def test_a_library_that_memory_does_not_hold_is_no_defect(error: BaseException) -> None:
    end = ending(error, Session(debug=False))
    assert isinstance(end.error, RunError) and "not enough memory" in str(end.error) and end.code == 3


def test_another_library_that_does_not_load_is_one() -> None:
    assert ending(ImportError("x.so: undefined symbol: f"), Session(debug=False)).code == 1

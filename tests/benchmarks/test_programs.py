"""Benchmarks are programs that are called by their path."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize("path", [
    path for path in sorted(BENCHMARKS.glob("*.py")) if re.search(r"^ *from tests[. ]", path.read_text(), re.M)
], ids=lambda path: path.stem)
def test_what_takes_something_of_the_tests_finds_them(path: Path) -> None:
    """Python puts the program's own folder on its path, and `tests` is beside that."""
    text = path.read_text()
    told = re.search(r"^ *sys\.path\.insert\(0, ", text, re.M)
    taken = re.search(r"^ *from tests[. ]", text, re.M)
    assert told is not None and taken is not None and told.start() < taken.start()

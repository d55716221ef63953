"""The cases of all families."""

from __future__ import annotations

import importlib
import zlib
from pathlib import Path

from .spec import Case

__all__ = ["all_cases", "sample"]


def all_cases() -> list[Case]:
    """The cases of all families, in order of their files."""
    families = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
    return [case for family in families for case in importlib.import_module(f"{__package__}.{family}").CASES]


def sample(cases: list[Case], one_of: int = 4) -> list[Case]:
    """The first case of each op in each type, and of the others one of so many."""
    seen: set[tuple[str, str]] = set()
    chosen = []
    for case in cases:
        is_new = (case.op, case.type) not in seen
        seen.add((case.op, case.type))
        if is_new or zlib.crc32(str(case).encode()) % one_of == 0:
            chosen.append(case)
    return chosen

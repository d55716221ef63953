"""The cases of all families."""

from __future__ import annotations

import importlib
from pathlib import Path

from .spec import Case

__all__ = ["all_cases"]


def all_cases() -> list[Case]:
    """The cases of all families, in order of their files."""
    families = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
    return [case for family in families for case in importlib.import_module(f"{__package__}.{family}").CASES]


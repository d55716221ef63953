"""What the last jaxlib for Python 3.10 does otherwise."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest

__all__ = ["newer_jaxlib"]


def newer_jaxlib(why: str) -> pytest.MarkDecorator:
    """A test that is skipped with jaxlib before 0.7, because of something that it does otherwise."""
    try:
        old = tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 7)
    except PackageNotFoundError:
        old = False
    return pytest.mark.skipif(old, reason=f"jaxlib before 0.7 {why}")

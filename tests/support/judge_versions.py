"""What the last releases of judges for Python 3.10 do otherwise: jaxlib 0.6.2 and onnxruntime 1.23.2."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest

__all__ = ["is_before", "newer_jaxlib", "newer_onnxruntime"]


def is_before(package: str, major: int, minor: int) -> bool:
    """Whether a release before this one is installed; no release is none."""
    try:
        first, second, *_ = version(package).split(".")
    except PackageNotFoundError:
        return False
    return (int(first), int(second)) < (major, minor)


def newer_jaxlib(why: str) -> pytest.MarkDecorator:
    """A test that is skipped with jaxlib before 0.7, because of something that it does otherwise."""
    return pytest.mark.skipif(is_before("jaxlib", 0, 7), reason=f"jaxlib before 0.7 {why}")


def newer_onnxruntime(why: str) -> pytest.MarkDecorator:
    """A test that is skipped with onnxruntime before 1.24, because of something that it does otherwise."""
    return pytest.mark.skipif(is_before("onnxruntime", 1, 24), reason=f"onnxruntime before 1.24 {why}")

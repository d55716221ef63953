"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support")
pytest_plugins = ["tests.support.judges"]

ROOT = Path(__file__).resolve().parent.parent


def models_directory() -> Path | None:
    """The folder of real models: TRANSLOAD_MODELS, or `../shared/models` beside the checkout."""
    folder = Path(os.environ.get("TRANSLOAD_MODELS") or ROOT.parent / "shared" / "models")
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of real models; the test is skipped where there is none."""
    folder = models_directory()
    if folder is None:
        pytest.skip("no real models: set TRANSLOAD_MODELS to their folder")
    return folder


@pytest.fixture(scope="session")
def examples() -> Path:
    return ROOT / "examples"


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT

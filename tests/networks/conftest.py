"""Fixtures for networks: their journey, and Arm's reference model as the judge of what they become."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.support import tosa_reference


@pytest.fixture(scope="session")
def journey() -> Any:
    """The class of journeys; the test is skipped where StableHLO's text cannot be read."""
    pytest.importorskip("jaxlib", reason="jaxlib reads StableHLO's pretty text; install transload[stablehlo]")
    from tests.networks.journey import Journey

    return Journey


@pytest.fixture(scope="session")
def judge() -> Any:
    """Arm's reference model on a TOSA module, through the flatbuffer that we write."""
    tosa_reference.reference_model()
    return partial(tosa_reference.run_module, level="NONE")

"""Fixtures for networks: their journey, and Arm's reference model as the judge of what they become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from transload.ir import Module


@pytest.fixture(scope="session")
def journey() -> Any:
    """The class of journeys; the test is skipped where StableHLO's text cannot be read."""
    pytest.importorskip("jaxlib", reason="jaxlib reads StableHLO's pretty text; install transload[stablehlo]")
    from tests.networks.journey import Journey

    return Journey


@pytest.fixture(scope="session")
def judge() -> Any:
    """Arm's reference model on a TOSA module, through the flatbuffer that we write."""
    arm = pytest.importorskip("tosa_reference_model", reason="install tosa-tools to judge against the TOSA reference model")

    def compute(module: Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        from journey import fitted

        from transload_plugins.tosa.flatbuffer.writer import serialize

        outputs, status = arm.run(bytes(serialize(module)), fitted(module, inputs))
        assert status == arm.GraphStatus.TOSA_VALID, f"reference model: {status.name}"
        results = module.body_of_main.terminator.operands
        return [np.asarray(array).reshape(value.shape) for array, value in zip(outputs, results, strict=True)]

    return compute

"""Attributes and types of the hub's ops on their way to Core ML: calls give of constants what the hub computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import transload
from transload.testing import build_op

from .folding import folded

pytest.importorskip("coremltools", reason="install transload[coreml] to write Core ML programs")

FLOATS = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32) * 3


def agrees(module: transload.Module, arrays: Sequence[np.ndarray]) -> None:
    wanted = transload.run(module, dict(zip(module.inputs, arrays, strict=True)))
    for one, other in zip(wanted.values(), folded(module, arrays), strict=True):
        assert other is not None and one.shape == other.shape
        np.testing.assert_allclose(other.astype(np.float64), one.astype(np.float64), rtol=2e-5, atol=2e-6)


def computes(name: str, *operands: np.ndarray, **attributes: Any) -> None:
    """Fails where the call of an op gives other numbers than the hub."""
    agrees(build_op(f"top.{name}", *operands, **attributes), operands)


@pytest.mark.parametrize("attributes", [
    {"scale": 2.0}, {"bias": 0.5}, {"log": True}, {"scale": 2.0, "bias": 1.0}, {"scale": 2.0, "bias": 1.0, "log": True}], ids=str)
def test_the_factor_and_addend_of_a_sigmoid_belong_to_its_result(attributes: dict[str, Any]) -> None:
    computes("Sigmoid", FLOATS, **attributes)

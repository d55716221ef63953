"""Where onnxruntime's results say nothing of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import transload

from tests.support.onnx_models import make_model, node

BASE = np.array([3, 0, -1, 0], np.int32)


@pytest.mark.parametrize(("exponents", "status"), [((-2, -1, -3, 2), "inconclusive"), ((-2, 0, -3, 2), "passed")])
def test_a_negative_power_of_the_integer_zero_is_not_judged(tmp_path: Path, exponents: tuple[int, ...], status: str) -> None:
    """onnxruntime gives what the processor makes of infinity."""
    exponent = np.array(exponents, np.int32)
    path = tmp_path / "power.onnx"
    onnx.save(make_model([node("Pow", ["x", "e"], ["y"])], {"x": BASE, "e": exponent}, ["y"]), path)
    inputs = {"x": BASE, "e": exponent}
    checked = transload.convert(path, "stablehlo", tmp_path / "out", input_data=inputs).verification
    assert checked is not None and checked.status == status
    assert ("power of the integer 0" in checked.why) == (status == "inconclusive")


def test_statistics_that_are_an_output_too_are_not_judged(tmp_path: Path) -> None:
    """onnxruntime writes the new variance over the old one, which is the second output."""
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    statistics = {name: np.ones(3, np.float32) for name in ("s", "b", "m", "v")}
    path = tmp_path / "norm.onnx"
    operator = node("BatchNormalization", ["x", *statistics], ["y", "mean", "variance"], training_mode=1)
    onnx.save(make_model([operator], {"x": x}, ["y", "v", "mean"], statistics), path)
    checked = transload.convert(path, "stablehlo", tmp_path / "out").verification
    assert checked is not None and checked.status == "inconclusive" and "over which onnxruntime writes" in checked.why

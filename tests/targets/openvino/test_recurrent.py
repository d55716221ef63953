"""Recurrent layers with activations that OpenVINO's plugin has not: refused with the way to write them out."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import TargetError

from tests.support.onnx_models import make_model, node

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="install transload[openvino] to run its models")


@pytest.mark.parametrize(("operator", "gates", "activations"), [
    ("RNN", 1, ["Elu"]), ("GRU", 3, ["HardSigmoid", "Tanh"]), ("LSTM", 4, ["Sigmoid", "Softsign", "Tanh"])])
def test_the_hint_leads_to_a_model_that_runs(operator: str, gates: int, activations: list[str], tmp_path: Path) -> None:
    """They ended in OpenVINO's own words, of a node of its own."""
    random = np.random.default_rng(0)
    weights = {"w": random.normal(size=(1, 3 * gates, 4)), "r": random.normal(size=(1, 3 * gates, 3))}
    layer = node(operator, ["x", "w", "r"], ["y"], hidden_size=3, activations=activations)
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model([layer], {"x": np.zeros((5, 2, 4), np.float32)}, ["y"],
                                {name: array.astype(np.float32) for name, array in weights.items()}).SerializeToString())
    with pytest.raises(TargetError) as caught:
        transload.convert(file, "openvino", tmp_path / "out")
    (finding,) = caught.value.findings
    assert finding.what == f"onnx.{operator}" and "--passes unroll-recurrent" in finding.hint
    assert transload.convert(file, "openvino", tmp_path / "out", passes="unroll-recurrent").verified


def test_usual_activations_stay(tmp_path: Path) -> None:
    layer = node("RNN", ["x", "w", "r"], ["y"], hidden_size=3, activations=["Relu"])
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model([layer], {"x": np.zeros((5, 2, 4), np.float32)}, ["y"], {
        "w": np.full((1, 3, 4), 0.25, np.float32), "r": np.full((1, 3, 3), -0.5, np.float32)}).SerializeToString())
    assert transload.convert(file, "openvino", tmp_path / "out").verified

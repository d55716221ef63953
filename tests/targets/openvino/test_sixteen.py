"""Quantized numbers of 16 bits, written out for OpenVINO: its plugin takes the operators for nothing, or does not load them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import onnx
import pytest

import transload
from transload_targets.openvino.sixteen import write_out_16_bits

from tests.support.onnx_models import make_model, node

needs_openvino = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="install transload[openvino] to run its models")
LARGE = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype(np.float32) * 20
LARGE.ravel()[:6] = [0.0005, 0.0015, -0.0005, 1e6, -1e6, 0.0025]


def model(path: Path, zero: np.ndarray, scale: np.ndarray, domain: str = "", **how: int) -> Path:
    """Numbers that are quantized, taken back, and multiplied by two."""
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"], domain=domain, **how),
             node("DequantizeLinear", ["q", "s", "z"], ["d"], domain=domain, **how), node("Add", ["d", "d"], ["y"])]
    made = make_model(nodes, {"x": LARGE}, ["y"], {"s": scale.astype(np.float32), "z": zero}, opset=21)
    if domain:
        made.opset_import.append(onnx.helper.make_opsetid(domain, 1))
    path.write_bytes(made.SerializeToString())
    return path


CASES = [
    (np.array(0, np.int16), np.array(0.001), "", {}), (np.array(32700, np.uint16), np.array(0.001), "", {}),
    (np.array([0, -3, 500], np.int16), np.array([0.001, 0.002, 0.01]), "", {"axis": 1}),
    (np.arange(5, dtype=np.uint16) * 9000, np.full(5, 0.002), "", {"axis": -1}),
    (np.array(5, np.int16), np.array(0.001), "com.microsoft", {}),
]


@pytest.mark.parametrize(("zero", "scale", "domain", "how"), CASES[:-1])  # of onnxruntime's own no types are inferred
def test_the_arithmetic_is_that_of_the_operators(
    zero: np.ndarray, scale: np.ndarray, domain: str, how: dict[str, int], tmp_path: Path,
) -> None:
    module = transload.load(model(tmp_path / "m.onnx", zero, scale, domain, **how))
    before = transload.run(module, {"x": LARGE})["y"]
    assert write_out_16_bits(module)
    assert not any("QuantizeLinear" in op.name or "Dequantize" in op.name for op in module.ops())
    np.testing.assert_array_equal(transload.run(module, {"x": LARGE})["y"], before)


def test_numbers_of_8_bits_stay(tmp_path: Path) -> None:
    module = transload.load(model(tmp_path / "m.onnx", np.array(3, np.int8), np.array(0.1)))
    assert not write_out_16_bits(module)


@needs_openvino
@pytest.mark.parametrize(("zero", "scale", "domain", "how"), CASES)
def test_they_saturate_and_round_there(
    zero: np.ndarray, scale: np.ndarray, domain: str, how: dict[str, int], tmp_path: Path,
) -> None:
    path = model(tmp_path / "m.onnx", zero, scale, domain, **how)
    made = transload.convert(path, "openvino", tmp_path / "out", input_data={"x": LARGE})
    assert made.verified, made.verification

"""What pt2e quantizes becomes integer arithmetic: products of quantized tensors, with a bias of i32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir import IntegerType, QuantType

from .cases.run import module_of, results_of
from .cases.spec import Cases, t
from .conftest import KEPT, arrays
from tests.networks.journey import fitted


def test_products_between_quantize_and_dequantize_are_of_integers() -> None:
    hub = transload.legalize(transload.load(KEPT / "quantized.pt2"))
    products = [op for op in hub.ops() if op.name in ("top.Conv", "top.MatMul")]
    assert len(products) == 3
    for op in products:
        assert isinstance(op.input.element, QuantType) and isinstance(op.results[0].element, QuantType)
        assert str(op.bias.element.storage) == "i32"


def test_plain_biases_are_what_moves_numbers() -> None:
    """Within 1e-5 with fine ones (`test_networks`); not so as chips add them, and never by more than a step."""
    inputs, outputs = arrays("quantized_layers")
    tosa = transload.lower(transload.legalize(transload.load(KEPT / "quantized_layers.pt2")), "tosa", bias="plain")
    results = list(transload.run(tosa, dict(zip(tosa.inputs, fitted(tosa, inputs), strict=True)), engine="reference").values())
    worst = [float(np.abs(result - wanted).max() / np.abs(wanted).max()) for result, wanted in zip(results, outputs, strict=True)]
    assert 1e-3 < max(worst) < 0.02


@pytest.mark.parametrize(("target", "options"), [
    ("tflite", {"rounding": "litert"}), ("onnx", {}), ("ethos-u85-256", {}), ("tosa", {"bias": "plain"})])
def test_targets_whose_products_add_them_get_plain_ones(tmp_path: Path, target: str, options: dict[str, str]) -> None:
    from transload.plugin_host import host

    if host().targets[target].available() is not None:
        pytest.skip(f"{target} is not to be used here")
    artifact = transload.convert(KEPT / "quantized.pt2", target, tmp_path, options=options, verify=False)
    assert any("3 biases, which are finer in the model, are rounded" in note for note in artifact.report.notes)


@pytest.mark.parametrize("target", ["tosa", "stablehlo"])
def test_others_get_them_as_they_are(tmp_path: Path, target: str) -> None:
    artifact = transload.convert(KEPT / "quantized.pt2", target, tmp_path, verify=False)
    assert not any("biases" in note for note in artifact.report.notes)


@pytest.mark.parametrize(("d", "least"), [("f32", 2.0**-23), ("f16", 2.0**-10), ("bf16", 2.0**-7)])
def test_scales_are_no_less_than_the_eps_of_the_floats(d: str, least: float) -> None:
    """As torchao's `choose_qparams_affine` has it where it is given none: `torch.finfo(input.dtype).eps`."""
    cases = Cases()
    zeros = t(2, 4, d=d, values=(0,) * 8)
    cases.add("torchao.choose_qparams_affine.default", zeros, "SYMMETRIC", [1, 4], IntegerType(8))
    wanted = [np.full((2, 1), least, np.float32), np.zeros((2, 1), np.int32)]
    scales, points = results_of(transload.legalize(module_of(cases.all[0], wanted)), cases.all[0])
    np.testing.assert_array_equal(scales, wanted[0])
    np.testing.assert_array_equal(points, wanted[1])

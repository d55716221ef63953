"""Real models: loaded, converted to `top`, run, and compared with onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError
from transload.ir import QuantType, input_names
from transload.plugin_host import host
from transload.verification.inputs import random_inputs
from transload_converters.onnx.runtime import open_model

pytestmark = pytest.mark.models

SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "silero_vad": {"input": (1, 576), "state": (2, 1, 128)}, "ppocr_cls_v2": {"x": (1, 3, 48, 192)},
    "derived_ppocr_cls_qoperator": {"x": (1, 3, 48, 192)}, "tract_byte_sb_bidi_lstm": {"input": (1, 16)},
}
FLOAT = (
    "derived_kwt1_transformer_f32", "derived_mobilenet_v1_0.25_224_f32", "dtln_1", "fastestdet", "gtcrn", "mnist_8",
    "ppocr_cls_v2", "silero_vad", "super_resolution", "tract_byte_sb_bidi_lstm", "ultraface_rfb_320",
    "ultraface_slim_320_simplified", "yunet_n_320")


def run_both(models: Path, name: str, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], Any]:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (file,) = models.glob(f"onnx/{name}/*.onnx")
    source = transload.load(file, inputs=SHAPES.get(name))
    hub = transload.legalize(source)
    inputs = random_inputs(source, hub, seed)
    if "sr" in inputs:
        inputs["sr"] = np.array(16000)
    return open_model(file)(inputs), transload.run(hub, inputs), hub


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FLOAT)
def test_float_models(models: Path, name: str) -> None:
    wanted, got, _ = run_both(models, name)
    assert list(got) == list(wanted)
    for key, value in wanted.items():
        np.testing.assert_allclose(got[key], value, rtol=1e-3, atol=2e-5, err_msg=key)


def test_a_model_of_ill_conditioned_normalizations(models: Path) -> None:
    wanted, got, _ = run_both(models, "magika_v3_3")  # E(x^2) - E(x)^2 of nearly equal numbers
    np.testing.assert_allclose(got["target_label"], wanted["target_label"], atol=1e-2)


def test_a_model_of_quantized_operators(models: Path) -> None:
    for seed in range(3):
        wanted, got, _ = run_both(models, "derived_ppocr_cls_qoperator", seed)
        np.testing.assert_array_equal(*(next(iter(outputs.values())) for outputs in (got, wanted)))


def test_a_model_of_quantized_operators_in_tosa(models: Path) -> None:
    """Integer arithmetic of TOSA from end to end, to the same bits as onnxruntime's."""
    if "top-to-tosa" not in host().conversions:
        pytest.skip("no conversion to TOSA is loaded")
    wanted, _, hub = run_both(models, "derived_ppocr_cls_qoperator")
    tosa, given = transload.lower(hub, "tosa"), random_inputs(hub, hub)
    got = transload.run(tosa, dict(zip(input_names(tosa.main), given.values(), strict=True)))
    np.testing.assert_array_equal(*(next(iter(outputs.values())) for outputs in (got, wanted)))


def test_a_model_in_qdq_form(models: Path) -> None:
    """onnxruntime with and without optimizations differs from itself by as much: up to two steps, cosine 0.992."""
    wanted, got, hub = run_both(models, "derived_mobilenet_v1_0.25_224_int8_qdq")
    (a,), (b,) = wanted.values(), got.values()
    assert np.abs(a - b).max() <= 2.5 / 255
    convs = [op for op in hub.ops() if op.name == "top.Conv"]
    assert len(convs) == 28 and all(isinstance(op.result.element,
        QuantType) and op.bias.element.storage.width == 32 for op in convs)
    assert sum(op.name == "top.Cast" for op in hub.ops()) == 2


@pytest.mark.parametrize("name", ["ppocr_cls_v2", "silero_vad", "tract_byte_sb_bidi_lstm"])
def test_models_that_need_shapes_say_so(models: Path, name: str) -> None:
    (file,) = models.glob(f"onnx/{name}/*.onnx")
    with pytest.raises(ReadError, match="--shape"):
        transload.load(file)


def test_a_batch_of_three(models: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (file,) = models.glob("onnx/super_resolution/*.onnx")
    hub = transload.legalize(transload.load(file, inputs={"input": (3, 1, 224, 224)}))
    assert hub.body_of_main.terminator.operands[0].shape == (3, 1, 672, 672)

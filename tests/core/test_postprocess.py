"""Conversions with `add_postprocess`: the program gives boxes, judged by those of the outputs of the model's own runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run as cli
from transload.errors import UsageError
from transload.postprocess import Postprocess

from tests.support.onnx_models import make_model, node

ASKED = "yolov3-tiny{boxes=6 score=0.2}"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A detector of two heads, 3 anchors and 2 classes, over 64x64 pixels."""
    rng = np.random.default_rng(5)
    nodes = [
        node("Conv", ["image", "w"], ["c"], strides=[16, 16]), node("Relu", ["c"], ["r"]), node("Conv", ["r", "v"], ["fine"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("Conv", ["p", "v"], ["coarse"])]
    constants = {
        "w": rng.normal(0, 0.05, (8, 3, 16, 16)).astype(np.float32), "v": rng.normal(0, 0.9, (21, 8, 1, 1)).astype(np.float32)}
    made = make_model(nodes, {"image": np.zeros((1, 3, 64, 64), np.float32)}, ["coarse", "fine"], constants)
    (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("target", ["tosa", "stablehlo", "onnx", "tflite"])
def test_the_program_gives_boxes_and_is_verified(model: Path, tmp_path: Path, target: str) -> None:
    made = transload.convert(model, target, tmp_path / "out", add_postprocess=ASKED)
    assert made.verified and list(made.module.outputs) == ["detections"]
    image = np.random.default_rng(0).normal(size=(1, 3, 64, 64)).astype(np.float32)
    [found] = transload.run(made.module, {"image": image}).values()
    wanted = Postprocess(transload.load(model), ASKED).outputs(transload.run(model, {"image": image}))["detections"]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)
    assert found.shape == (1, 1, 6, 7) and (found[..., 2] > 0).any()


def test_what_differs_is_found_in_the_boxes(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = Postprocess.outputs
    monkeypatch.setattr(
        Postprocess, "outputs", lambda self, given: {name: array + 1 for name, array in outputs(self, given).items()})
    made = transload.convert(model, "tosa", tmp_path / "out", add_postprocess=ASKED)
    assert made.verification is not None and made.verification.failed


def test_quantized_it_is_computed_with_floats_behind_the_integers(model: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    samples = [{"image": rng.integers(0, 256, (1, 64, 64, 3)).astype(np.uint8)} for _ in range(6)]
    made = transload.convert(
        model, "tosa", tmp_path / "out", data=samples, quantize="int8", add_postprocess=ASKED, fuse_preprocess=True,
        preprocess=transload.Preprocess(mean=128, scale=1 / 64))  # type: ignore[arg-type]
    assert made.verified and made.report.quantization is not None and not made.report.quantization.floats
    assert list(made.module.outputs) == ["detections"]


def test_what_is_no_detector(model: Path, tmp_path: Path) -> None:
    for asked, says in (("yolov3", "3 heads"), ("yolo", "no postprocessing"), ("yolov3-tiny{box=3}", "box")):
        with pytest.raises(UsageError, match=says):
            transload.convert(model, "tosa", tmp_path / "out", add_postprocess=asked)


def test_from_the_command_line(model: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["convert", str(model), "--add-postprocess", ASKED]
    assert cli([*asked, "-o", "out", "--verify=require"]) == 0, capsys.readouterr()
    capsys.readouterr()
    assert cli([*asked, "--show-pipeline"]) == 0 and "add-postprocess{type=yolov3-tiny boxes=6" in capsys.readouterr().out

"""Integers beside the float model that they were quantized from: compared and scored by what they stand for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import RunError
from transload.ir import F32, I8, QuantType, TensorType
from transload.meanings import as_stored, real_numbers, reported_types, with_meanings
from transload.text import print_module

BORDERS = [
    pytest.param({}, id="floats at the borders"), pytest.param({"quant_input": "all", "quant_output": "all"}, id="integers")]


@pytest.fixture(scope="module")
def samples(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    images = np.load(root / "examples" / "digits" / "test_images.npz")["images"][:32]
    path = tmp_path_factory.mktemp("samples") / "samples.npz"
    np.savez(path, image=(images / np.float32(16)).reshape(-1, 1, 8, 8))
    return path


@pytest.fixture(scope="module", params=BORDERS)
def artifact(request: pytest.FixtureRequest, root: Path, samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits network in integers as TOSA, whose `i8` have no scales."""
    model, out = root / "examples" / "digits" / "digits_float.onnx", tmp_path_factory.mktemp("made") / "out"
    data = transload.open_samples(samples, transload.load(model))
    transload.convert(model, "tosa", out, quantize="int8", data=data, quantizer_options=request.param, verify=False)
    return out


@pytest.mark.parametrize("file", ["", "digits_float.tosa", "report.json"])
def test_every_tensor_is_compared_as_real_numbers(root: Path, artifact: Path, file: str) -> None:
    pytest.importorskip("onnxruntime")
    found = transload.compare(root / "examples" / "digits" / "digits_float.onnx", artifact / file, per_layer=True)
    assert len(found.tensors) > 5
    assert [tensor.note for tensor in found.tensors if tensor.note] == []
    assert min(tensor.metrics["sqnr"] for tensor in found.tensors) > 15  # conv1 was at -39 dB as stored


def test_a_module_says_itself_what_its_integers_are(root: Path, samples: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = root / "examples" / "digits" / "digits_float.onnx"
    module = transload.load(model)
    made = transload.quantize(module, "int8", transload.open_samples(samples, module), quant_input="all", quant_output="all")
    (tmp_path / "made.mlir").write_text(print_module(made))
    for artifact in (made, tmp_path / "made.mlir"):
        found = transload.compare(model, artifact, per_layer=True)
        assert [tensor.note for tensor in found.tensors if tensor.note] == [] and len(found.tensors) > 5
        assert min(tensor.metrics["sqnr"] for tensor in found.tensors) > 15


def test_integers_of_which_nothing_says_what_they_mean_are_not_compared(root: Path, artifact: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    alone = tmp_path / "alone.tosa"
    alone.write_bytes((artifact / "digits_float.tosa").read_bytes())
    if "i8" in str(transload.load(alone).inputs["image"]):  # it does not take the model's inputs
        with pytest.raises(RunError, match="do not fit the function"):
            transload.compare(root / "examples" / "digits" / "digits_float.onnx", alone, per_layer=True)
        return
    found = transload.compare(root / "examples" / "digits" / "digits_float.onnx", alone, per_layer=True)
    (first, *_) = found.tensors
    assert first.name == "conv1"
    assert first.note == "integers (int8) without a scale"
    assert np.isnan(first.metrics["cos"])


def test_scores_of_integers_beside_floats(root: Path, artifact: Path, samples: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = root / "examples" / "digits" / "digits_float.onnx"
    found = transload.evaluate([model, artifact], samples, metrics=("agreement", "sqnr"))
    scores = found[str(artifact)]
    assert scores["agreement"].value > 0.95
    assert scores["sqnr"].value > 25


@pytest.mark.parametrize("types", [None, [], {"image": 3}, {"image": "nonsense"}, {"image": "tensor<1xi8>"}, "text"])
def test_a_report_that_says_nonsense_says_nothing(tmp_path: Path, types: object) -> None:
    (tmp_path / "report.json").write_text(json.dumps({"files": {"a.tosa": 1}, "quantization": {"types": types}}))
    assert reported_types(tmp_path) == {}
    assert reported_types(tmp_path / "a.tosa") == {}


def test_types_are_those_of_the_files_that_the_report_lists(tmp_path: Path) -> None:
    element = QuantType(I8, F32, (0.5,), (3,))
    (tmp_path / "report.json").write_text(json.dumps({"files": {"a.tosa": 1}, "quantization": {"types": {"x": str(element)}}}))
    assert reported_types(tmp_path / "a.tosa") == reported_types(tmp_path / "report.json") == {"x": element}
    assert reported_types(tmp_path / "other.tosa") == {}


def test_real_numbers_and_what_is_stored_of_them() -> None:
    element = QuantType(I8, F32, (0.5,), (3,))
    types = with_meanings({"x": TensorType((2,), I8), "y": TensorType((2,), F32)}, {"x": element, "y": element})
    assert types == {"x": TensorType((2,), element), "y": TensorType((2,), F32)}
    stored = as_stored({"x": np.float32([1, 100]), "y": np.float32([1, 2])}, types)
    assert stored["x"].dtype == np.int8
    assert stored["x"].tolist() == [5, 127]
    assert stored["y"].tolist() == [1, 2]
    assert real_numbers(np.int8([5, 127]), element).tolist() == [1, 62]  # type: ignore[union-attr]
    assert real_numbers(np.int32([5]), element) is None
    assert real_numbers(np.int8([5]), None) is None

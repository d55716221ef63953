"""The target `openvino`: files that OpenVINO runs beside the models' own runtimes, and what they do not take."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import RunError, TargetError
from transload.plugin import Emitted
from transload.plugin_host import host
from transload.verification.inputs import random_inputs
from transload.written import written_at

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="install transload[openvino] to run its models")


def ran(artifact: Any, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    files = [file for file in artifact.files if file.name != "report.json"]
    return host().targets["openvino"].run(Emitted(files, dict(artifact.report.target_report)), inputs)


@pytest.mark.parametrize("name", ["digits_float.onnx", "digits_float.tflite"])
def test_a_model_is_written_and_openvino_is_what_verification_runs(name: str, examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(examples / "digits" / name, "openvino", tmp_path)
    assert {file.suffix for file in artifact.files} == {".xml", ".bin", ".json"}
    assert artifact.verification is not None
    assert (artifact.verification.status, artifact.verification.engine) == ("passed", "openvino's own runtime")


def test_quantized_models_go_in_qdq_form_and_in_no_other(examples: Path, tmp_path: Path) -> None:
    """In their own integers they are scaled in f64, which OpenVINO computes in f32: other bits, without a word."""
    model = examples / "digits" / "digits_int8.tflite"
    with pytest.raises(TargetError) as caught:
        transload.convert(model, "openvino", tmp_path / "integers")
    assert all("f64" in finding.why and "form=qdq" in finding.hint for finding in caught.value.findings)
    assert not list((tmp_path / "integers").glob("*.xml"))
    artifact = transload.convert(model, "openvino", tmp_path / "qdq", options={"form": "qdq"})
    outputs = ran(artifact, random_inputs(artifact.module))
    assert [array.dtype for array in outputs.values()] == [np.int8]


def test_damaged_files_are_an_error_in_words(examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(examples / "digits" / "digits_float.onnx", "openvino", tmp_path, verify=False)
    inputs = random_inputs(artifact.module)
    graph = tmp_path / "digits_float.xml"
    whole = graph.read_bytes()
    for damaged in (b"", b"<net/>", whole[: len(whole) // 2]):
        graph.write_bytes(damaged)
        with pytest.raises(RunError):
            ran(artifact, inputs)
    graph.write_bytes(whole)
    with pytest.raises(RunError, match="inputs are missing: image"):
        ran(artifact, {})
    assert ran(artifact, inputs)["probabilities"].shape == (1, 10)


def test_a_folder_of_files_that_no_reader_takes_is_run(examples: Path, tmp_path: Path) -> None:
    artifact = transload.convert(examples / "digits" / "digits_float.onnx", "openvino", tmp_path / "out")
    inputs = random_inputs(artifact.module)
    np.testing.assert_array_equal(
        written_at(tmp_path / "out").run(inputs)["probabilities"], ran(artifact, inputs)["probabilities"])  # type: ignore[union-attr,misc]
    comparison = transload.compare(examples / "digits" / "digits_float.onnx", tmp_path / "out")
    assert comparison.actual == "run by openvino" and comparison.worst("cos") > 0.9999


def test_models_of_dynamic_range_are_computed_in_floats(models: Path, tmp_path: Path) -> None:
    (path,) = (models / "tflite" / "mlperf_ad_dynamic_range").glob("*.tflite")
    artifact = transload.convert(path, "openvino", tmp_path)
    assert artifact.verification is not None and artifact.verification.passed and artifact.verification.bounds
    assert not any("QuantizeLinear" in op.name for op in artifact.module.ops())

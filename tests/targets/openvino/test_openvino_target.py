"""The target `openvino`: files that OpenVINO runs beside the models' own runtimes, and what they do not take."""

from __future__ import annotations

import gc
import importlib.util
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import RunError, TargetError, TransloadError
from transload.plugin import Emitted
from transload.plugin_host import host
from transload.verification.inputs import random_inputs
from transload.written import written_at
from transload_targets.openvino.runtime import Session
from transload_targets.openvino.session import open_onnx

from tests.support.onnx_models import make_model, node
from tests.support.tflite_ops import harness
from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.measure import all_cases

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


def test_quantized_models_keep_their_integers_and_round_otherwise_where_that_is_asked(examples: Path, tmp_path: Path) -> None:
    """In digits that f32 holds, for OpenVINO computes f64 in f32; `form=qdq` leaves the rounding to OpenVINO."""
    model = examples / "digits" / "digits_int8.tflite"
    artifact = transload.convert(model, "openvino", tmp_path / "integers")
    assert artifact.verification is not None and artifact.verification.passed
    assert artifact.verification.engine == "openvino's own runtime" and artifact.verification.tensors[0].metrics["max_abs"] == 0
    artifact = transload.convert(model, "openvino", tmp_path / "qdq", options={"form": "qdq"})
    outputs = ran(artifact, random_inputs(artifact.module))
    assert [array.dtype for array in outputs.values()] == [np.int8]
    assert any(op.name == "onnx.QuantizeLinear" for op in artifact.module.ops())


def test_what_is_run_keeps_nothing_of_what_it_was_given(examples: Path, tmp_path: Path) -> None:
    """OpenVINO borrows arrays unless it is told to copy them, and reads them as if it had allocated them."""
    artifact = transload.convert(examples / "digits" / "digits_float.onnx", "openvino", tmp_path)
    (path,) = (file for file in artifact.files if file.suffix == ".xml")
    session = Session(str(path))
    given = [np.array(array) for array in random_inputs(artifact.module).values()]
    borrowed = [weakref.ref(array) for array in given]
    first = session(given)
    del given
    gc.collect()
    assert all(each() is None for each in borrowed)
    kept = [array.copy() for array in first]
    session([np.zeros_like(array) for array in random_inputs(artifact.module).values()])
    for before, after in zip(kept, first, strict=True):
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("operator", ["ADD", "CONV_2D", "FULLY_CONNECTED", "LOGISTIC", "MEAN", "RESIZE_BILINEAR", "SOFTMAX"])
def test_openvino_gives_the_integers_of_models_of_one_operator(operator: str, tmp_path: Path) -> None:
    judged = 0
    for case in [case for case in all_cases() if case.op == operator][::11]:
        built = build(case)
        hub = transload.legalize(harness.loaded(built))
        if not any(value.is_quantized for op in hub.walk() for value in op.results):
            continue
        file = tmp_path / f"{judged}.onnx"
        try:
            lowered = transload.lower(hub, "onnx", form="integers", bits="32")
        except TransloadError:
            continue
        transload.save(lowered, file)
        found = open_onnx(file)(dict(zip(lowered.inputs, built.feeds.values(), strict=True)))
        for wanted, given in zip(transload.run(harness.convert(built), built.feeds).values(), found.values(), strict=True):
            if wanted.dtype.kind in "iu":
                np.testing.assert_array_equal(given, wanted, err_msg=str(case)[:200])
        judged += 1
    assert judged


def test_what_is_computed_in_f64_is_refused(tmp_path: Path) -> None:
    model = make_model([node("Cast", ["x"], ["w"], to=11), node("Exp", ["w"], ["y"])], {"x": np.ones(4, np.float32)}, ["y"])
    (tmp_path / "wide.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(TargetError) as caught:
        transload.convert(tmp_path / "wide.onnx", "openvino", tmp_path / "out")
    assert any("f64" in finding.why for finding in caught.value.findings)
    assert not list((tmp_path / "out").glob("*.xml"))


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

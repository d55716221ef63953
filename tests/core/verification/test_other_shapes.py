"""What has another shape than the float model's output is not near to it, and numbers of both are not computed with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import transload
from transload.errors import UsageError
from transload.verification.quantized import _farther_than_quantizing
from transload.verification.several_runs import compare_runs, joined
from transload.verification.tolerance import Tolerance

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node

THREE, FIVE = np.ones((2, 3), np.float32), np.ones((2, 5), np.float32)


def test_runs_of_sizes_that_data_decide_are_compared_run_by_run() -> None:
    (same,) = compare_runs([{"y": THREE}, {"y": FIVE}], [{"y": THREE}, {"y": FIVE}])
    assert not same.note and same.metrics["max_abs"] == 0.0
    (other,) = compare_runs([{"y": THREE}, {"y": FIVE}], [{"y": FIVE}, {"y": THREE}])
    assert other.note == "shape (2, 5)" and other.shape == (2, 3)
    assert joined([{"y": THREE}, {"y": FIVE}])["y"].shape == (16,)
    with pytest.raises(UsageError, match="1 output"):
        compare_runs([{"y": THREE}], [{"y": THREE, "z": THREE}])


@pytest.mark.parametrize("other", ["floats", "rounded"])
def test_what_quantizing_loses_is_not_measured_of_other_shapes(other: str) -> None:
    graph = Graph((2, 3))
    module = graph.done(graph.Abs(graph.inputs[0]))
    (name,) = module.outputs
    floats = FIVE if other == "floats" else THREE
    rounded = {name: FIVE} if other == "rounded" else None
    assert not _farther_than_quantizing(module, {name: floats}, {name: THREE}, {name: THREE}, Tolerance(), None, rounded)
    assert _farther_than_quantizing(module, {name: floats}, {name: THREE}, {name: FIVE}, Tolerance(), None, rounded)


@pytest.mark.parametrize("target", ["tosa", "onnx", "stablehlo"])
def test_another_shape_than_the_float_models_is_no_pass(target: str, tmp_path: Path) -> None:
    """onnxruntime takes off where ONNX says that padding adds: quantized or not, nothing is judged of it."""
    pytest.importorskip("onnxruntime")
    image = np.random.default_rng(1).normal(size=(1, 1, 2, 7)).astype(np.float32)
    nodes = [node("ConvTranspose", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[1, 3], kernel_shape=[1, 1])]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": image}, ["y"], {"w": np.full((1, 1, 1, 1), 0.7, np.float32)}).SerializeToString())
    found = transload.convert(file, target, tmp_path / "out", quantize="int8", data=[{"x": image}]).verification
    assert found is not None and found.status == "inconclusive" and "ONNX says" in found.why
    asked = transload.convert(
        file, target, tmp_path / "asked", quantize="int8", data=[{"x": image}], tolerance=["sqnr=20"]).verification
    assert asked is not None and not asked.passed


@pytest.mark.parametrize("target", ["tosa", "onnx"])
def test_sizes_that_data_decide_are_verified_on_several_samples(target: str, tmp_path: Path) -> None:
    """NonZero's second size is how many there are: outputs of such sizes cannot be put behind one another as they are."""
    pytest.importorskip("onnxruntime")
    random = np.random.default_rng(0)
    samples = [{"x": np.where(np.arange(24).reshape(4, 6) < count, random.uniform(1, 2, (4, 6)), 0).astype(np.float32)}
               for count in (5, 12, 17)]
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("NonZero", ["y"], ["z"])]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, samples[0], ["y", "z"], {"w": np.ones((6, 3), np.float32)}).SerializeToString())
    found = transload.convert(
        file, target, tmp_path / "out", quantize="int8", data=samples, options={"found": "padded"}).verification
    assert found is not None and found.passed and found.samples == 3


def test_a_file_that_contradicts_its_operators_is_not_called_a_wrong_conversion(tmp_path: Path) -> None:
    """Nothing here reads a product with scales that are inputs: it is written again, and onnxruntime gives other sizes."""
    pytest.importorskip("onnxruntime")
    whole, one = onnx.TensorProto.UINT8, onnx.TensorProto.FLOAT
    inputs = [("a", whole, [2, 4]), ("b", whole, [4]), ("s", one, []), ("z", whole, [])]
    graph = onnx.helper.make_graph(
        [node("QLinearMatMul", ["a", "s", "z", "b", "s", "z", "s", "z"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info(*each) for each in inputs], [onnx.helper.make_tensor_value_info("y", whole, [2, 3])])
    file = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), file)
    found = transload.convert(file, "onnx", tmp_path / "out").verification
    assert found is not None and found.status == "inconclusive"
    assert found.why == "the sizes in the model's file contradict its operators"
    assert found.notes[0].startswith("y: onnxruntime gives [2]")

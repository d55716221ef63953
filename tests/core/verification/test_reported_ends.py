"""`report.json` says what integers of inputs and outputs stand for, whoever quantized them."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir import F32, I8, UI8, QuantType
from transload.meanings import reported_types


def test_of_a_model_that_was_quantized_already(root: Path, tmp_path: Path) -> None:
    """Its artifact is scored by real numbers, beside the float model, whose channels come first."""
    digits = root / "examples" / "digits"
    source = transload.load(digits / "digits_int8.tflite")
    made = transload.convert(digits / "digits_int8.tflite", "tosa", tmp_path / "out", verify=False)
    ends = {**source.inputs, **source.outputs}
    assert reported_types(tmp_path / "out") == {name: type_.element for name, type_ in ends.items()}
    said = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [each["quantization"] for each in said["inputs"]] == [str(source.inputs["image"].element)]
    assert made.report.quantization is None
    images = np.load(digits / "test_images.npz")["images"][:16].reshape(-1, 8, 8, 1) / np.float32(16)
    np.savez(tmp_path / "x.npz", image=images)
    found = transload.evaluate([digits / "digits_float.tflite", tmp_path / "out"], tmp_path / "x.npz", metrics=("sqnr",))
    assert found[str(tmp_path / "out")]["sqnr"].value > 15


def test_unsigned_ends_and_those_of_one_scale_alone(tmp_path: Path) -> None:
    """An ONNX file says of its outputs nothing but `uint8`: the hub knows what quantized them."""
    pytest.importorskip("onnxruntime")
    from tests.support.onnx_models import make_model, node

    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("ArgMax", ["x"], ["best"], axis=1)]
    path = tmp_path / "q.onnx"
    path.write_bytes(make_model(nodes, {"x": np.zeros((2, 6), np.float32)}, ["q", "best"],
                                {"s": np.float32(0.5), "z": np.uint8(100)}).SerializeToString())
    made = transload.convert(path, "tosa", tmp_path / "out")
    told = {each.name: (each.type, each.quantization) for each in (*made.report.inputs, *made.report.outputs)}
    assert reported_types(tmp_path / "out") == {"q": QuantType(UI8, F32, (0.5,), (100,))}
    assert told["x"] == ("tensor<2x6xf32>", None) and told["best"][1] is None and told["q"][0] == "tensor<2x6xui8>"


def test_of_a_model_that_is_quantized_on_the_way(root: Path, tmp_path: Path) -> None:
    digits = root / "examples" / "digits"
    image = np.load(digits / "test_images.npz")["images"][:4].reshape(-1, 1, 1, 8, 8) / np.float32(16)
    made = transload.convert(digits / "digits_float.onnx", "tosa", tmp_path / "out", verify=False, quantize="int8",
                             data=[{"image": each} for each in image], quantizer_options={"quant_input": "all"})
    (told,) = made.report.inputs
    assert told.quantization == made.report.quantization.types["image"] and told.quantization.startswith("!quant.uniform<i8")
    assert reported_types(tmp_path / "out")["image"].storage == I8


def test_floats_that_a_quantized_model_takes(root: Path, tmp_path: Path) -> None:
    """They are drawn of the range that its first quantization holds, whose tensor the artifact may call otherwise."""
    pytest.importorskip("onnxruntime")
    digits = root / "examples" / "digits"
    image = np.load(digits / "test_images.npz")["images"][:16].reshape(-1, 1, 1, 8, 8) / np.float32(100)
    float_model = transload.load(digits / "digits_float.onnx")
    made = transload.quantize(float_model, "int8", [{"image": each} for each in image])
    report = transload.convert(made, "tosa", tmp_path / "out", verify=False).report
    taken = report.inputs[0].taken_as
    assert report.quantization is None and taken is not None and report.inputs[0].quantization is None
    assert str(reported_types(tmp_path / "out")["image"]) == taken
    found = transload.compare(digits / "digits_float.onnx", tmp_path / "out").tensors[0].metrics["sqnr"]
    assert found == transload.compare(digits / "digits_float.onnx", made).tensors[0].metrics["sqnr"] > 15


def test_floats_that_a_file_quantizes_are_of_its_range_without_a_report(root: Path, tmp_path: Path) -> None:
    """Beside its float model, whose own noise around zero would be the last step or two of what the file takes."""
    pytest.importorskip("onnxruntime")
    digits = root / "examples" / "digits"
    image = np.load(digits / "test_images.npz")["images"][:16].reshape(-1, 1, 1, 8, 8) * np.float32(40 / 16)
    transload.convert(digits / "digits_float.onnx", "onnx", tmp_path / "out", verify=False, quantize="int8",
                      data=[{"image": each} for each in image])
    (made,) = (tmp_path / "out").glob("*.onnx")
    alone = Path(shutil.copy(made, tmp_path / "alone.onnx"))
    beside, without = (transload.compare(digits / "digits_float.onnx", each).tensors[0].metrics["sqnr"] for each in (made, alone))
    assert beside == without > 15


def test_other_scales_of_outputs_are_said_as_nothing_usual_judges_them(examples: Path, tmp_path: Path) -> None:
    path, outputs = examples / "digits" / "digits_int8.tflite", ["logits"]
    source = transload.load(path, outputs=outputs)
    element = source.outputs["logits"].element
    scale = struct.pack("<f", element.scales[0])
    assert path.read_bytes().count(scale) == 1
    (tmp_path / "other.tflite").write_bytes(path.read_bytes().replace(scale, struct.pack("<f", 0.25)))
    other = transload.load(tmp_path / "other.tflite", outputs=outputs)
    found = transload.compare(path, other, outputs=outputs)
    assert found.otherwise == [f"logits is {element} in the model, and {other.outputs['logits'].element} in the artifact"]
    assert any("--tolerance says one" in note for note in found.notes) and not found.is_judged
    assert not transload.compare(path, source, outputs=outputs).otherwise
    judged = transload.compare(path, other, outputs=outputs, tolerance={"cos": 0.9})
    assert not any("--tolerance" in note for note in judged.notes)

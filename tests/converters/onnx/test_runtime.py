"""onnxruntime as the judge."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, save

import transload
from transload.errors import RunError
from transload_converters.onnx import runtime

from tests.support.onnx_models import make_model, node

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

X = np.array([[-1, 2], [3, -4]], np.float32)


def write(tmp_path: Path, nodes: list, constants: dict | None = None) -> Path:
    file = tmp_path / "m.onnx"
    file.write_bytes(make_model(nodes, {"x": X}, ["y", "z"], constants).SerializeToString())
    return file


NODES = [node("Neg", ["x"], ["n"]), node("Relu", ["n"], ["z"]), node("Exp", ["z"], ["h"]),
    node("Split", ["h"], ["y", "rest"], axis=0)]


def test_outputs_in_the_model_s_order(tmp_path: Path) -> None:
    outputs = runtime.open_model(write(tmp_path, NODES))({"x": X})
    assert list(outputs) == ["y", "z"]
    np.testing.assert_allclose(outputs["z"], [[1, 0], [0, 4]])


def test_a_value_that_is_two_outputs(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    file.write_bytes(make_model([node("Neg", ["x"], ["y"])], {"x": X}, ["y", "y"]).SerializeToString())
    module = transload.load(file)
    assert list(runtime.open_model(file)({"x": X})) == list(transload.run(module, {"x": X})) == ["y", "y_1"]


def test_every_intermediate_value(tmp_path: Path) -> None:
    kept = runtime.open_model(write(tmp_path, NODES))({"x": X}, keep=True)
    assert list(kept)[-2:] == ["y", "z"] and set(kept) == {"n", "z", "h", "y", "rest"}
    np.testing.assert_allclose(kept["n"], -X)


def test_every_intermediate_value_with_external_data(tmp_path: Path) -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    (tmp_path / "w.bin").write_bytes(X.tobytes())
    file = write(tmp_path, [node("Add", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"]), node("Neg", ["y"], ["z"])], {"w": tensor})
    np.testing.assert_allclose(runtime.open_model(file)({"x": X}, keep=True)["h"], 2 * X)


def test_inputs_in_another_dtype_are_cast(tmp_path: Path) -> None:
    assert runtime.open_model(write(tmp_path, NODES))({"x": X.astype(np.float64)})["y"].dtype == np.float32


@pytest.mark.parametrize("nodes", [[node("Nothing", ["x"], ["y"]), node("Neg", ["x"], ["z"])]])
def test_a_model_that_onnxruntime_refuses(tmp_path: Path, nodes: list) -> None:
    with pytest.raises(RunError, match="cannot load"):
        runtime.open_model(write(tmp_path, nodes))({"x": X})


def test_inputs_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot run"):
        runtime.open_model(write(tmp_path, NODES))({"x": X[0]})


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtime.available() is None
    monkeypatch.setattr(runtime, "find_spec", lambda name: None if name == "onnxruntime" else object())
    assert "pip install" in str(runtime.available()) and "onnxruntime" in str(runtime.available())


@pytest.mark.parametrize("quantized", [True, False])
def test_what_it_has_no_kernel_for_is_not_judged_and_that_is_said(tmp_path: Path, quantized: bool) -> None:
    """ONNX has bf16, and onnxruntime few kernels of it: the file is right, and nothing here can run it."""
    file = tmp_path / "m.onnx"
    file.write_bytes(make_model([node("Neg", ["x"], ["n"]), node("Relu", ["n"], ["y"])], {"x": X}, ["y"]).SerializeToString())
    if quantized:
        made = transload.convert(file, "onnx", tmp_path / "out", quantize="bf16")
    else:
        (tmp_path / "m.mlir").write_text(
            "func.func @main(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>) -> tensor<2x4xbf16> {\n"
            "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
            "(tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>\n  return %0 : tensor<2x4xbf16>\n}\n")
        made = transload.convert(tmp_path / "m.mlir", "onnx", tmp_path / "out")
    assert made.verification is not None and made.verification.status == "skipped"
    assert "cannot load m.onnx: " in made.verification.why and "NOT_IMPLEMENTED" in made.verification.why


def test_a_model_with_text_is_cut_and_judged(tmp_path: Path) -> None:
    """Text that nothing asked for needs is empty, and what is computed of it is not looked at."""
    from onnx import TensorProto, helper

    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4]),
             helper.make_tensor_value_info("text", TensorProto.STRING, [2])]
    made = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4]),
            helper.make_tensor_value_info("same", TensorProto.STRING, [2])]
    graph = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Identity", ["text"], ["same"])], "text", given, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    converted = transload.convert(transload.load(tmp_path / "m.onnx", outputs=["y"]), out=tmp_path / "out", verify="require")
    assert converted.verification is not None and converted.verification.passed


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
def test_numbers_of_bf16_go_in_and_come_out(shape: tuple[int, ...], keep: bool, tmp_path: Path) -> None:
    """onnxruntime takes none from numpy, and gives it none: an input or output of them was told as a fault of the model."""
    some = np.random.default_rng(0).standard_normal(6).astype(ml_dtypes.bfloat16)
    x = np.resize(some, shape)
    nodes = [node("Cast", ["x"], ["f"], to=TensorProto.FLOAT), node("Mul", ["f", "k"], ["y"]),
             node("Cast", ["y"], ["z"], to=TensorProto.BFLOAT16)]
    model = make_model(nodes, {"x": np.zeros(shape, np.float32)}, ["y", "z"], {"k": np.array(3, np.float32)})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.BFLOAT16
    (file := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    found = runtime.open_model(file)({"x": x}, keep)
    wide = x.astype(np.float32)
    np.testing.assert_array_equal(found["y"], wide * 3)
    assert found["z"].dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found["z"].astype(np.float32), (wide * 3).astype(ml_dtypes.bfloat16).astype(np.float32))


SMALL = {"INT2": "int2", "UINT2": "uint2", "INT4": "int4", "UINT4": "uint4", "FLOAT8E4M3FN": "float8_e4m3fn",
         "FLOAT8E4M3FNUZ": "float8_e4m3fnuz", "FLOAT8E5M2": "float8_e5m2", "FLOAT8E5M2FNUZ": "float8_e5m2fnuz"}


@pytest.mark.parametrize("shape", [(3, 5), (2, 4), (), (0, 3)])
@pytest.mark.parametrize("name", SMALL)
def test_numbers_of_8_4_and_2_bits_go_in_and_come_out(name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    """onnxruntime takes none from numpy, and gives none of 4 and 2 bits to it, of which several are in a byte."""
    kind, dtype = getattr(TensorProto, name), np.dtype(getattr(ml_dtypes, SMALL[name]))
    numbers = {"UINT2": range(4), "INT2": range(-2, 2), "UINT4": range(8)}.get(name, range(-8, 8))
    x = np.resize(np.array(numbers), shape).astype(dtype)
    nodes = [node("Transpose", ["x"], ["y"]), node("Cast", ["x"], ["f"], to=TensorProto.FLOAT)]
    model = make_model(nodes, {"x": np.zeros(shape, np.float32)}, ["y", "f"], opset=25)
    model.graph.input[0].type.tensor_type.elem_type = kind
    (file := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    found = runtime.open_model(file)({"x": x})
    np.testing.assert_array_equal(found["f"], x.astype(np.float32))
    assert found["y"].dtype == dtype
    np.testing.assert_array_equal(found["y"].astype(np.float32), x.T.astype(np.float32))


def test_powers_of_two_go_in_and_come_out(tmp_path: Path) -> None:
    """FLOAT8E8M0, which onnxruntime only casts."""
    nodes = [node("Cast", ["x"], ["y"], to=TensorProto.FLOAT), node("Cast", ["y"], ["z"], to=TensorProto.FLOAT8E8M0)]
    model = make_model(nodes, {"x": np.zeros(3, np.float32)}, ["y", "z"], opset=25)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT8E8M0
    (file := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    x = np.array([1, 0.25, 2.0**100], ml_dtypes.float8_e8m0fnu)
    found = runtime.open_model(file)({"x": x})
    np.testing.assert_array_equal(found["y"], x.astype(np.float32))
    assert found["z"].dtype == x.dtype and found["z"].tolist() == x.tolist()


@pytest.mark.parametrize("element", ["i4", "f8E4M3FN"])
def test_files_that_take_numbers_of_few_bits_are_judged(element: str, tmp_path: Path) -> None:
    pytest.importorskip("jaxlib", reason="it judges StableHLO")
    (file := tmp_path / "m.mlir").write_text(
        f"func.func @main(%a: tensor<3x5x{element}>) -> tensor<5x3x{element}> {{\n"
        f"  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x5x{element}>) -> tensor<5x3x{element}>\n"
        f"  return %0 : tensor<5x3x{element}>\n}}\n")
    made = transload.convert(file, "onnx", tmp_path / "out", format="stablehlo", verify="require")
    assert made.verification is not None and made.verification.passed
    for target in ("tosa", "onnx"):
        again = transload.convert(made.files[0], target, tmp_path / "again", verify="require").verification
        assert again is not None and again.passed


def test_a_file_that_says_other_dimensions_than_it_computes_is_judged(tmp_path: Path) -> None:
    """Its runtime is not to blame: what computes the output says what it has."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4, 5])
    graph = helper.make_graph([helper.make_node("Sinh", ["x"], ["y"])], "g", [x], [y])
    path = tmp_path / "m.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    made = transload.convert(path, "tosa", tmp_path / "out").verification
    assert made is not None and made.passed
    assert "y: the file says that it is tensor<3x4x5xf32>, and what computes it gives tensor<1x2xf32>" in "".join(made.notes)
    samples = [{"x": np.ones((1, 2), np.float32)}]
    quantized = transload.convert(path, "tosa", tmp_path / "quantized", quantize="int8", data=samples)
    assert quantized.verification is not None and not any("before quantizing" in each for each in quantized.verification.broken)
    assert not transload.compare(path, tmp_path / "out", tolerance=["cos=0.999"]).broken

"""Products of u8 by i8 that are exact in onnxruntime, whatever the processor that the test runs on."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from transload_converters.onnx.saturation import made_exact, saturates

from tests.support.onnx_models import make_model, node

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

A = np.full((2, 8), 255, np.uint8)
B = np.random.default_rng(0).integers(100, 128, (8, 3)).astype(np.int8)
SUMS = A.astype(np.int32) @ B.astype(np.int32)


def run(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, inputs)[0]
    return result


def changed(model: onnx.ModelProto) -> onnx.ModelProto:
    assert made_exact(model)
    assert not any(each.data_type == TensorProto.INT8 and each.name in node.input
                   for each in model.graph.initializer for node in model.graph.node if "Mat" in node.op_type)
    return model


def test_this_processor_saturates_or_does_not() -> None:
    """The probe says what a product shows."""
    model = make_model([node("MatMulInteger", ["a", "b"], ["y"])], {"a": A, "b": B}, ["y"])
    assert saturates() == (run(model, {"a": A, "b": B}) != SUMS).any()


@pytest.mark.parametrize("constant", [True, False], ids=["constant", "computed"])
@pytest.mark.parametrize("zeros", [(), ("az",), ("az", "bz")], ids=len)
def test_products_of_integers(constant: bool, zeros: tuple[str, ...]) -> None:
    constants: dict[str, Any] = {"az": np.uint8(3), "bz": np.array([5, -7, 0], np.int8), **({"b": B} if constant else {})}
    constants = {name: array for name, array in constants.items() if name == "b" or name in zeros}
    inputs = {"a": A, **({} if constant else {"b": B})}
    model = make_model([node("MatMulInteger", ["a", "b", *zeros], ["y"])], inputs, ["y"], constants)
    wanted = (A.astype(np.int32) - 3 * bool(zeros)) @ (B.astype(np.int32) - ([5, -7, 0] if "bz" in zeros else 0))
    np.testing.assert_array_equal(run(changed(model), inputs), wanted)


def test_products_between_scales_and_in_branches() -> None:
    one = np.float32(1)
    constants = {"s": one, "az": np.uint8(0), "b": B, "bz": np.int8(0), "ys": np.float32(4000), "yz": np.uint8(0)}
    product = node("QLinearMatMul", ["a", "s", "az", "b", "s", "bz", "ys", "yz"], ["y"])
    given = helper.make_tensor_value_info("y", TensorProto.UINT8, None)
    branch = helper.make_graph([product], "branch", [], [given])
    model = make_model(
        [node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], {"a": A, "c": np.array(True)}, ["y"], constants)
    assert model.graph.initializer
    wanted = np.rint(SUMS / 4000).astype(np.uint8)
    np.testing.assert_array_equal(run(changed(model), {"a": A, "c": np.array(True)}), wanted)


def test_weights_in_qdq_form_are_the_same_numbers() -> None:
    constants = {"s": np.array([0.5, 2, 1], np.float32), "b": B}
    nodes = [node("DequantizeLinear", ["b", "s"], ["w"], axis=1), node("MatMul", ["x", "w"], ["y"])]
    x = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)
    model = make_model(nodes, {"x": x}, ["y"], constants)
    before = run(model, {"x": x})
    assert made_exact(model)
    np.testing.assert_array_equal(run(model, {"x": x}), before)
    held = [numpy_helper.to_array(each) for each in model.graph.initializer if each.name == "b/unsigned"]
    np.testing.assert_array_equal(held[0], B.astype(np.int16) + 128)


def test_other_models_stay_as_they_are() -> None:
    signed = make_model([node("MatMulInteger", ["a", "b"], ["y"])], {"a": B.T, "b": B}, ["y"])
    floats = make_model([node("Relu", ["x"], ["y"])], {"x": np.zeros(3, np.float32)}, ["y"])
    for model in (signed, floats):
        before = model.SerializeToString()
        assert not made_exact(model) and model.SerializeToString() == before

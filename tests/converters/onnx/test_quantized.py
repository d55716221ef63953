"""Quantized models: QDQ patterns, operators on quantized tensors, and integer products, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, I32, UI8, QuantType
from transload.plugin_host import host
from transload_converters.onnx.writer import model_of
from transload_hub.ops.base import TOP
from transload_hub.simplify.qdq import COMPUTE

from tests.support.judge_versions import newer_onnxruntime
from tests.support.onnx_models import make_model, node, op_names, read_model
from tests.support.onnx_out.roundtrip import run_model

G = np.random.default_rng(11)
MS = {"domain": "com.microsoft"}


def real(*shape: int) -> np.ndarray:
    return G.standard_normal(shape).astype(np.float32)


def whole(low: int, high: int, dtype: Any, *shape: int) -> np.ndarray:
    return G.integers(low, high, shape).astype(dtype)


def scale(value: Any) -> np.ndarray:
    return np.array(value, np.float32)


def q(source: str, target: str, kind: str = "a") -> Any:
    return node("QuantizeLinear", [source, f"{kind}_scale", f"{kind}_zero"], [target])


def dq(source: str, target: str, kind: str = "a", **attributes: Any) -> Any:
    return node("DequantizeLinear", [source, f"{kind}_scale", f"{kind}_zero"], [target], **attributes)


def around(nodes: list[Any], inputs: list[str], output: str) -> list[Any]:
    """Nodes on dequantized inputs whose output is quantized, as a quantizer leaves them."""
    before = [step for name in inputs for step in (q(name, f"{name}_q"), dq(f"{name}_q", f"{name}_d"))]
    return [*before, *nodes, q(output, f"{output}_q", "o"), dq(f"{output}_q", "y", "o")]


KINDS = {"a_scale": scale(0.02), "a_zero": np.int8(3), "o_scale": scale(0.04), "o_zero": np.int8(-5)}
UNSIGNED = {"a_scale": scale(0.02), "a_zero": np.uint8(120), "o_scale": scale(0.04), "o_zero": np.uint8(99)}


@pytest.mark.parametrize(("dtype", "zero"), [(np.int8, -3), (np.uint8, 100), (np.int16, 0), (np.uint16, 30000)])
def test_quantizing_and_back(compare: Callable[..., Any], dtype: Any, zero: int) -> None:
    constants = {"a_scale": scale(0.013), "a_zero": dtype(zero)}
    x = np.concatenate([np.arange(-40, 40, dtype=np.float32) * np.float32(0.0065), real(50) * 20])  # halves, and beyond the range
    hub = compare([q("x", "h"), dq("h", "y")], {"x": x}, ("h", "y"), constants, opset=21)
    assert op_names(hub) == ["Cast", "Cast"]
    assert isinstance(hub.body_of_main.terminator.operands[0].element, QuantType)


def test_a_convolution_in_qdq_form_is_one_op(compare: Callable[..., Any]) -> None:
    weights = {"w": whole(-127, 128, np.int8, 4, 3, 3, 3), "w_scale": scale([0.01, 0.02, 0.005, 0.03]),
        "w_zero": np.zeros(4, np.int8)}
    bias = {"b": whole(-3000, 3000, np.int32, 4), "b_scale": weights["w_scale"] * np.float32(0.02),
        "b_zero": np.zeros(4, np.int32)}
    nodes = [dq("w", "wd", "w", axis=0), dq("b", "bd", "b", axis=0), node("Conv", ["x_d", "wd", "bd"], ["c"], pads=[1, 1, 1, 1])]
    hub = compare(around(nodes, ["x"], "c"), {"x": real(1, 3, 6, 5)}, ("y",), {**KINDS, **weights, **bias}, atol=0.041)
    assert op_names(hub) == ["Cast", "Conv", "Cast"]
    conv = next(op for op in hub.ops() if op.name == "top.Conv")
    assert conv.result.element == QuantType(I8, F32, (float(scale(0.04)),), (-5,)) and conv.result.name == "c_q"
    assert conv.filter.element.axis == 0 and len(conv.filter.element.scales) == 4
    assert conv.bias.element.storage == I32
    assert conv.bias.owner.attributes["value"].numpy().tolist() == bias["b"].tolist()


def test_quantized_ops_say_that_they_round_once(compare: Callable[..., Any]) -> None:
    """Each op by itself; the module says nothing, and casts from floats need not."""
    constants = {**KINDS, "w": whole(-127, 128, np.int8, 3, 4), "w_scale": scale(0.01), "w_zero": np.int8(0)}
    nodes = [dq("w", "wd", "w"), node("MatMul", ["x_d", "wd"], ["m"]), q("m", "m_q", "o"), dq("m_q", "m_d", "o"),
        node("LeakyRelu", ["m_d"], ["r"])]
    hub = compare(around(nodes, ["x"], "r"), {"x": real(2, 3)}, ("y",), constants, atol=0.041)
    said = {op.name: op.attributes.get("rounding") for op in hub.ops() if op.name in ("top.MatMul", "top.LeakyRelu")}
    assert said == {"top.MatMul": "once", "top.LeakyRelu": "once"}
    assert [op.attributes.get("rounding") for op in hub.ops() if op.name == "top.Cast"] == [None, None]
    assert not [name for name in hub.attributes if name.startswith("transload.")]


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_padding_between_scales_is_rounded_once(compare: Callable[..., Any], mode: str) -> None:
    """All 256 numbers: gemmlowp's rounding, twice, gives another number for every ninth."""
    x = np.arange(-128, 128, dtype=np.int8)
    nodes = [dq("x", "d"), node("Pad", ["d", "p"], ["h"], mode=mode), q("h", "y", "o")]
    constants = {"a_scale": scale(0.02), "a_zero": np.int8(0), "o_scale": scale(0.1), "o_zero": np.int8(0), "p": np.array([2, 3])}
    hub = compare(nodes, {"x": x}, ("y",), constants, opset=21)
    (cast,) = [op for op in hub.ops() if op.name == "top.Cast" and op.operands[0].is_quantized and op.result.is_quantized]
    assert cast.rounding == "once"


@pytest.mark.parametrize(("given", "made"), [
    (np.uint8(128), np.int8(0)), (np.int8(3), np.uint8(131)), (np.uint16(0), np.int16(0)), (np.uint8(3), np.uint8(5))])
def test_the_nearest_elements_in_another_stored_type(compare: Callable[..., Any], given: Any, made: Any) -> None:
    """Not each is repeated as often as others, so that it is an Interp, which stores the numbers as they are."""
    nodes = [dq("x", "d"), node("Resize", ["d", "", "", "sizes"], ["r"], mode="nearest", nearest_mode="floor",
                                coordinate_transformation_mode="asymmetric"), q("r", "y", "o")]
    constants = {"a_scale": scale(0.5), "a_zero": given, "o_scale": scale(0.5), "o_zero": made, "sizes": np.array([1, 4, 3, 7])}
    ends = np.iinfo(given.dtype)
    hub = compare(nodes, {"x": whole(ends.min, ends.max + 1, given.dtype, 1, 4, 2, 3)}, ("y",), constants, opset=21)
    assert "top.Interp" in {op.name for op in hub.ops()}


def test_quantized_ops_say_how_they_round_or_only_move() -> None:
    """An op in between whose declaration has no rounding gets a cast in front, which is right of ops that move numbers alone."""
    computing = [name for name in COMPUTE if "rounding" not in TOP.ops[f"top.{name}"].attributes]
    assert all(host().facts("moves")[f"top.{name}"] is not None for name in computing)


@pytest.mark.parametrize("limit", [None, 0.9])
def test_relu_between_becomes_part_of_it(compare: Callable[..., Any], limit: float | None) -> None:
    kinds = {**KINDS, "o_zero": np.int8(0), "w": whole(-127, 128, np.int8, 5, 4), "w_scale": scale(0.01), "w_zero": np.int8(0),
             "zero": scale(0), "limit": scale(limit or 1)}
    clip = node("Clip", ["m", "zero", "limit"], ["r"]) if limit else node("Relu", ["m"], ["r"])
    hub = compare(around([dq("w", "wd", "w"), node("MatMul", ["x_d", "wd"], ["m"]), clip], ["x"], "r"), {"x": real(2, 5)},
        ("y",), kinds, atol=0.041)
    (product,) = (op for op in hub.ops() if op.name == "top.MatMul")
    assert product.do_relu and product.relu_limit == (pytest.approx(limit) if limit else -1.0)


def test_relu_that_saturation_does_vanishes(compare: Callable[..., Any]) -> None:
    kinds = {**UNSIGNED, "o_zero": np.uint8(0)}
    hub = compare(around([node("Add", ["x_d", "z_d"], ["s"]), node("Relu", ["s"], ["r"])], ["x", "z"], "r"),
                  {"x": real(2, 5), "z": real(2, 5)}, ("y",), kinds, atol=0.041)
    assert op_names(hub) == ["Cast", "Cast", "Add", "Cast"]


@pytest.mark.parametrize(("nodes", "names"), [
    ([node("Sigmoid", ["x_d"], ["r"])], ["Sigmoid"]),
    ([node("HardSwish", ["x_d"], ["r"])], ["HardSwish"]),
    ([node("AveragePool", ["x_d"], ["r"], kernel_shape=[2, 2])], ["AvgPool"]),
    ([node("MaxPool", ["x_d"], ["r"], kernel_shape=[2, 2])], ["MaxPool", "Cast"]),
    ([node("GlobalAveragePool", ["x_d"], ["r"])], ["Reduce"]),
    ([node("Softmax", ["x_d"], ["r"], axis=-1)], ["Softmax"]),
    ([node("Mul", ["x_d", "third"], ["r"])], ["Mul"]),
    ([node("Transpose", ["x_d"], ["t"], perm=[0, 2, 3, 1]), node("Relu", ["t"], ["r"])], ["Permute", "Relu"]),
    ([node("Reshape", ["x_d", "flat"], ["t"]), node("Softmax", ["t"], ["s"]), node("Reshape", ["s", "wide"], ["r"])],
     ["Reshape", "Softmax", "Reshape"]),
    ([node("Split", ["x_d"], ["p", "s"], axis=1), node("Concat", ["s", "p"], ["r"], axis=1)],
    ["Split", "Cast", "Cast", "Concat"]),
    ([node("Resize", ["x_d", "", "twice"], ["r"])], ["Upsample", "Cast"]),
])
def test_other_operators_between(compare: Callable[..., Any], nodes: list[Any], names: list[str]) -> None:
    constants = {**UNSIGNED, "third": scale(1 / 3), "flat": np.array([2, -1]), "wide": np.array([1, 2, 4, 6]),
                 "twice": np.array([1, 1, 2, 2], np.float32)}
    hub = compare(around(nodes, ["x"], "r"), {"x": real(1, 2, 4, 6)}, ("y",), constants, atol=0.041)
    assert op_names(hub) == ["Cast", *names, "Cast"]


def test_tensors_of_different_kinds_are_joined(compare: Callable[..., Any]) -> None:
    kinds = {**KINDS, "b_scale": scale(0.05), "b_zero": np.int8(7)}
    nodes = [q("x", "xq"), dq("xq", "xd"), q("z", "zq", "b"), dq("zq", "zd", "b"), node("Concat", ["xd", "zd"], ["c"], axis=1),
             q("c", "cq", "b"), dq("cq", "y", "b")]
    hub = compare(nodes, {"x": real(2, 3), "z": real(2, 4)}, ("y",), kinds, atol=0.051)
    assert op_names(hub) == ["Cast", "Cast", "Cast", "Concat", "Cast"]


def test_what_has_no_quantized_neighbours_stays_in_floats(compare: Callable[..., Any]) -> None:
    kinds = {**KINDS, "w": whole(-127, 128, np.int8, 5, 4), "w_scale": scale([0.1, 0.2, 0.3, 0.4]),
        "w_zero": np.array([1, -2, 3, 4], np.int8)}
    hub = compare([dq("w", "wd", "w", axis=1), node("MatMul", ["x", "wd"], ["y"])], {"x": real(2, 5)}, ("y",), kinds)
    assert op_names(hub) == ["MatMul"]
    assert all(result.element == F32 for op in hub.ops() for result in op.results)


def test_weights_with_a_zero_point_and_a_transpose_between(compare: Callable[..., Any]) -> None:
    kinds = {**KINDS, "w": whole(0, 256, np.uint8, 4, 5), "w_scale": scale([0.01, 0.02, 0.03, 0.01]),
        "w_zero": np.array([128, 120, 0, 9], np.uint8)}
    nodes = [dq("w", "wd", "w", axis=0), node("Transpose", ["wd"], ["t"]), node("MatMul", ["x_d", "t"], ["m"])]
    hub = compare(around(nodes, ["x"], "m"), {"x": real(2, 5)}, ("y",), kinds, atol=0.041)
    assert op_names(hub) == ["Cast", "MatMul", "Cast"]
    (product,) = (op for op in hub.ops() if op.name == "top.MatMul")
    assert product.right.element.axis == 1 and product.right.element.zero_points == (128, 120, 0, 9)


def test_a_float_bias_is_quantized(compare: Callable[..., Any]) -> None:
    kinds = {**KINDS, "w": whole(-127, 128, np.int8, 4, 3, 1, 1), "w_scale": scale(0.01), "w_zero": np.int8(0), "b": real(4)}
    nodes = [dq("w", "wd", "w"), node("Conv", ["x_d", "wd", "b"], ["c"])]
    hub = compare(around(nodes, ["x"], "c"), {"x": real(1, 3, 4, 4)}, ("y",), kinds, atol=0.041)
    assert op_names(hub) == ["Cast", "Conv", "Cast"]


def test_weights_that_are_quantized_in_the_graph(compare: Callable[..., Any]) -> None:
    kinds = {**KINDS, "w": real(5, 4), "w_scale": scale([0.01, 0.02, 0.03, 0.01]), "w_zero": np.zeros(4, np.int8)}
    weights = [node("QuantizeLinear", ["w", "w_scale", "w_zero"], ["wq"], axis=1), dq("wq", "wd", "w", axis=1)]
    hub = compare(around([*weights, node("MatMul", ["x_d", "wd"], ["m"])], ["x"], "m"), {"x": real(2, 5)}, ("y",), kinds,
        atol=0.041)
    assert op_names(hub) == ["Cast", "MatMul", "Cast"]


def test_a_result_used_in_floats_too_stays_in_floats(compare: Callable[..., Any]) -> None:
    nodes = [*around([node("Sigmoid", ["x_d"], ["r"])], ["x"], "r"), node("Neg", ["r"], ["z"])]
    hub = compare(nodes, {"x": real(2, 3)}, ("y", "z"), KINDS)
    (sigmoid,) = (op for op in hub.ops() if op.name == "top.Sigmoid")
    assert sigmoid.result.element == F32


@pytest.mark.parametrize(("operator", "inputs"), [
    ("Max", ["x_d", "k_d"]), ("Min", ["x_d", "k_d"]), ("Where", ["c", "x_d", "k_d"]), ("Concat", ["x_d", "k_d"])])
def test_constants_of_another_type_are_rounded_once(compare: Callable[..., Any], operator: str, inputs: list[str]) -> None:
    """52 steps are 13.49 of the result's: rounded to 31 bits and then again, they would be 14."""
    kinds = {
        "a_scale": scale(0.0389990024), "a_zero": np.uint8(251 if operator == "Max" else 0), "k_scale": scale(0.0073353448),
        "k_zero": np.uint8(128), "o_scale": scale(0.0282719191), "o_zero": np.uint8(14), "k": scale([[0.38] * 4]),
        "c": np.array(False)}
    joined = node(operator, inputs, ["m"], **({"axis": 0} if operator == "Concat" else {}))
    x = scale([[-1, -2, -3, -4]]) if operator == "Max" else scale([[1, 2, 3, 4]])
    hub = compare([q("k", "k_q", "k"), dq("k_q", "k_d", "k"), *around([joined], ["x"], "m")], {"x": x}, ("y", "m_q"), kinds)
    assert all(op.results[0].is_quantized for op in hub.ops() if op.name == f"top.{operator}")


def test_an_input_of_bytes_takes_the_quantized_type(compare: Callable[..., Any]) -> None:
    nodes = [dq("x", "xd"), node("Sigmoid", ["xd"], ["s"]), q("s", "y", "o")]
    hub = compare(nodes, {"x": whole(0, 256, np.uint8, 2, 9)}, ("y",), UNSIGNED, steps=1)
    assert op_names(hub) == ["Sigmoid"]
    assert hub.body_of_main.arguments[0].element == QuantType(UI8, F32, (float(scale(0.02)),), (120,))


def test_the_integers_of_a_quantized_tensor(compare: Callable[..., Any]) -> None:
    nodes = [q("x", "h"), node("Cast", ["h"], ["i"], to=6), node("Add", ["i", "i"], ["y"])]
    compare(nodes, {"x": real(30)}, ("y",), KINDS)


def test_moving_the_integers_of_a_quantized_tensor(compare: Callable[..., Any]) -> None:
    nodes = [q("x", "h"), node("Transpose", ["h"], ["t"]), node("ArgMax", ["t"], ["g"], axis=0, keepdims=0), dq("t", "y")]
    hub = compare(nodes, {"x": real(4, 6)}, ("y", "g"), KINDS)
    assert op_names(hub) == ["Cast", "Permute", "Arg", "Cast"]


def test_blocks_and_computed_scales_are_arithmetic(compare: Callable[..., Any]) -> None:
    constants = {"w": whole(-8, 8, np.int8, 4, 6), "s": np.abs(real(2, 6)) + 0.1}
    nodes = [node("DequantizeLinear", ["w", "s"], ["wd"], axis=0, block_size=2), node("MatMul", ["x", "wd"], ["y"])]
    compare(nodes, {"x": real(3, 4)}, ("y",), constants, opset=21)
    compare([node("QuantizeLinear", ["x", "s", "z"], ["h"]), node("DequantizeLinear", ["h", "s", "z"], ["y"])],
            {"x": real(3, 4), "s": np.array(0.02, np.float32), "z": np.array(3, np.uint8)}, ("y", "h"), opset=13)


# --- operators on quantized tensors


def test_qlinear_conv(compare: Callable[..., Any]) -> None:
    constants = {**UNSIGNED, "w": whole(-128, 128, np.int8, 4, 3, 3, 3), "ws": scale([0.01, 0.02, 0.005, 0.03]),
        "wz": np.zeros(4, np.int8),
                 "b": whole(-3000, 3000, np.int32, 4)}
    conv = node("QLinearConv", ["h", "a_scale", "a_zero", "w", "ws", "wz", "o_scale", "o_zero", "b"], ["y"], strides=[2, 2],
        pads=[1, 1, 0, 0])
    hub = compare([q("x", "h"), conv], {"x": real(2, 3, 6, 6)}, ("y",), constants, steps=1)
    assert op_names(hub) == ["Cast", "Conv"]


@pytest.mark.parametrize("per_column", [False, True])
def test_qlinear_matmul(compare: Callable[..., Any], per_column: bool) -> None:
    constants = {**KINDS, "w": whole(-128, 128, np.int8, 5, 4), "ws": scale([0.01, 0.02, 0.005, 0.03] if per_column else 0.01),
                 "wz": np.zeros(4, np.int8) if per_column else np.int8(2)}
    product = node("QLinearMatMul", ["h", "a_scale", "a_zero", "w", "ws", "wz", "o_scale", "o_zero"], ["y"])
    compare([q("x", "h"), product], {"x": real(3, 5)}, ("y",), constants, steps=1)


A, O = ["a_scale", "a_zero"], ["o_scale", "o_zero"]


@pytest.mark.parametrize(("operator", "names"), [
    (node("QLinearAdd", ["h", *A, "g", *A, *O], ["y"], **MS), ["Add"]),
    (node("QLinearMul", ["h", *A, "g", *A, *O], ["y"], **MS), ["Mul"]),
    (node("QLinearSigmoid", ["h", *A, *O], ["y"], **MS), ["Sigmoid"]),
    (node("QLinearLeakyRelu", ["h", *A, *O], ["y"], alpha=0.2, **MS), ["LeakyRelu"]),
    (node("QLinearSoftmax", ["h", *A, *O], ["y"], axis=-1, opset=13, **MS), ["Softmax"]),
    (node("QLinearAveragePool", ["h", *A, *O], ["y"], kernel_shape=[2, 2], pads=[1, 1, 0, 0], **MS), ["AvgPool"]),
    (node("QLinearGlobalAveragePool", ["h", *A, *O], ["y"], channels_last=1, **MS), ["Permute", "Reduce", "Permute"]),
    (node("QLinearConcat", [*O, "h", *A, "g", *A], ["y"], axis=1, **MS), ["Cast", "Cast", "Concat"]),
])
def test_operators_of_com_microsoft(compare: Callable[..., Any], operator: Any, names: list[str]) -> None:
    hub = compare([q("x", "h"), q("z", "g"), operator], {"x": real(1, 4, 6, 6), "z": real(1, 4, 6, 6)}, ("y",), UNSIGNED, steps=1)
    assert op_names(hub)[-len(names) :] == names


def test_constants_of_another_scale_are_rounded_once(compare: Callable[..., Any]) -> None:
    every = {"w": np.arange(-128, 128).reshape(1, 256).astype(np.int8), "w_scale": scale(0.00869), "w_zero": np.int8(0)}
    joined = node("QLinearConcat", [*O, "h", *A, "w", "w_scale", "w_zero"], ["y"], axis=0, **MS)
    compare([q("x", "h"), joined], {"x": real(1, 256)}, ("y",), {**KINDS, **every})


HALF = {**UNSIGNED, "o_scale": scale(0.04)}
"""Every other number of the one scale is in the middle of two of the other."""


@pytest.mark.parametrize(("operator", "more"), [
    (node("QLinearConcat", [*O, "h", *A, "g", *A], ["y"], axis=1, **MS), HALF),
    (node("QLinearWhere", ["c", "h", *A, "g", *A, *O], ["y"], **MS), {**HALF, "c": G.integers(0, 2, (1, 4, 6, 6)).astype(bool)}),
    (node("QLinearLeakyRelu", ["h", *A, *O], ["y"], alpha=0.5, **MS), HALF),
    (node("QLinearSoftmax", ["h", *A, *O], ["y"], axis=-1, opset=13, **MS), {**UNSIGNED, "o_scale": scale(1 / 255)}),
    (node("QLinearSoftmax", ["h", *A, *O], ["y"], axis=1, opset=12, **MS), {**UNSIGNED, "o_scale": scale(0.0157)}),
])
def test_operators_that_onnxruntime_tabulates_are_exact(compare: Callable[..., Any], operator: Any, more: dict[str, Any]) -> None:
    compare([q("x", "h"), q("z", "g"), operator], {"x": real(1, 4, 6, 6), "z": real(1, 4, 6, 6)}, ("y",), more)


@pytest.mark.parametrize(("made", "names"), [
    (0.04, ["tosa.table"]), (0.01, ["tosa.rescale"]), (0.0387, ["tosa.rescale"]),  # halves, whole numbers, and neither
    (0.17, ["tosa.rescale"])])  # 0.5 of a step comes of 4.25 steps, which no integer is
def test_a_cast_is_a_table_only_where_a_rescale_gives_others(tmp_path: Path, made: float, names: list[str]) -> None:
    file = tmp_path / "model.onnx"
    nodes = [node("DequantizeLinear", ["x", "s", "z"], ["r"]), node("QuantizeLinear", ["r", "o", "z"], ["y"])]
    x = {"x": np.arange(-128, 128).astype(np.int8)}
    known = {"s": scale(0.02), "o": scale(made), "z": np.int8(0)}
    file.write_bytes(make_model(nodes, x, ["y"], known).SerializeToString())
    tosa = transload.lower(transload.load(file), "tosa")
    assert [op.name for op in tosa.walk() if op.dialect == "tosa" and "const" not in op.name] == names
    wanted = np.clip(np.rint(x["x"].astype(np.float32) * scale(0.02) / scale(made)), -128, 127)
    np.testing.assert_array_equal(transload.run(tosa, x, engine="reference")["y"], wanted)


@pytest.mark.parametrize("quantized", [False, True])
def test_qgemm(compare: Callable[..., Any], quantized: bool) -> None:
    constants = {**UNSIGNED, "w": whole(-128, 128, np.int8, 4, 5), "ws": scale([0.01, 0.02, 0.005, 0.03]),
        "wz": np.zeros(4, np.int8),
                 "b": whole(-3000, 3000, np.int32, 4)}
    gemm = node("QGemm", ["h", *A, "w", "ws", "wz", "b", *(O if quantized else [])], ["y"], transB=1, **MS)
    hub = compare([q("x", "h"), gemm], {"x": real(3, 5)}, ("y",), constants, steps=1)
    assert op_names(hub)[-1] == "MatMul"


@pytest.mark.parametrize("shape", [(3, 4), (3, 1), (1,), (1, 4)])
def test_the_bias_of_qgemm_broadcasts(compare: Callable[..., Any], shape: tuple[int, ...]) -> None:
    constants = {**UNSIGNED, "w": whole(-128, 128, np.int8, 4, 5), "ws": np.float32(0.01), "wz": np.int8(0),
                 "b": whole(-3000, 3000, np.int32, *shape)}
    gemm = node("QGemm", ["h", *A, "w", "ws", "wz", "b", *O], ["y"], transB=1, **MS)
    compare([q("x", "h"), gemm], {"x": real(3, 5)}, ("y",), constants, steps=1)


def test_products_of_integers(compare: Callable[..., Any]) -> None:
    x, w = whole(0, 256, np.uint8, 3, 5), whole(-128, 128, np.int8, 5, 4)
    compare(node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"]), {"x": x}, ("y",),
        {"w": w, "xz": np.uint8(100), "wz": np.int8(3)})
    x, w = whole(0, 256, np.uint8, 1, 2, 5, 5), whole(0, 256, np.uint8, 3, 2, 3, 3)
    compare(node("ConvInteger", ["x", "w", "xz"], ["y"], pads=[1, 1, 1, 1]), {"x": x}, ("y",), {"w": w, "xz": np.uint8(7)})


@pytest.mark.parametrize("inner", [5, 3000])
@pytest.mark.parametrize(("left", "right"), [
    (np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8),
    pytest.param(np.int8, np.uint8, marks=newer_onnxruntime("has no kernel of signed by unsigned bytes"))])
@pytest.mark.parametrize("zeros", [(), ("az",), ("az", "bz"), ("az", "columns"), ("computed",)])
def test_products_of_integers_are_exact(
    compare: Callable[..., Any], inner: int, left: Any, right: Any, zeros: tuple[str, ...],
) -> None:
    """Sums beyond 2^24, which floats cannot hold: in the hub, and as 8-bit products in TOSA."""
    high = np.iinfo(left).max
    a, b = whole(high - 9, high, left, 3, inner), whole(np.iinfo(right).max - 7, np.iinfo(right).max, right, inner, 4)
    there = {"az": left(3), "computed": left(3), "bz": right(5), "columns": whole(0, 9, right, 4)}
    inputs = {"a": a} | {name: there[name] for name in zeros if name == "computed"}
    constants = {"b": b} | {name: there[name] for name in zeros if name != "computed"}
    hub = compare(node("MatMulInteger", ["a", "b", *zeros], ["y"]), inputs, ("y",), constants)
    tosa = transload.lower(hub)
    assert not any(value.is_float for op in tosa.ops() for value in op.results)
    expected = transload.run(hub, inputs)["y"]
    assert (inner < 3000 or np.abs(expected).max() > 1 << 24) and np.array_equal(transload.run(tosa, inputs)["y"], expected)


@pytest.mark.parametrize("computed", [False, True])
def test_convolutions_of_integers_are_exact(compare: Callable[..., Any], computed: bool) -> None:
    x, w = whole(230, 256, np.uint8, 1, 400, 5, 5), whole(100, 128, np.int8, 3, 400, 3, 3)
    inputs = {"x": x} | ({"xz": np.uint8(2)} if computed else {})
    constants = {"w": w} | ({} if computed else {"xz": np.uint8(2)})
    hub = compare(node("ConvInteger", ["x", "w", "xz"], ["y"], pads=[1, 1, 1, 1]), inputs, ("y",), constants)
    expected = transload.run(hub, inputs)["y"]
    assert expected.max() > 1 << 24 and np.array_equal(transload.run(transload.lower(hub), inputs)["y"], expected)


@pytest.mark.parametrize(("left", "right", "zero", "zeros"), [
    (np.uint8, np.int8, np.uint8(7), None), (np.uint8, np.uint8, np.uint8(200), np.uint8(3)),
    (np.uint8, np.int8, np.uint8(0), np.int8(-128)), (np.uint8, np.uint8, np.uint8(7), np.array([0, 9, 255], np.uint8))])
def test_convolutions_of_integers_are_written_in_their_bytes(left: Any, right: Any, zero: Any, zeros: Any) -> None:
    """A zero point that both kinds of bytes hold is of its tensor's kind; weights without theirs may need 9 bits.

    Those that each output has one of its own of are no bytes: onnxruntime has no kernel of them.
    """
    x = whole(np.iinfo(left).min, np.iinfo(left).max + 1, left, 1, 2, 5, 5)
    least, most = np.iinfo(right).min, np.iinfo(right).max
    w = whole(least, most + 1, right, 3, 2, 3, 3)
    w[:, 0, 0, :2] = least, most
    constants = {"w": w, "xz": zero} | ({} if zeros is None else {"wz": zeros})
    model = make_model([node("ConvInteger", ["x", *constants], ["y"], pads=[1, 1, 1, 1])], {"x": x}, ["y"], constants)
    hub = transload.legalize(read_model(model))
    written = model_of(transload.lower(hub, "onnx"))
    assert ("ConvInteger" in [each.op_type for each in written.graph.node]) == (np.ndim(zeros) == 0)
    onnx.checker.check_model(written, full_check=True)
    padded = np.pad(x.astype(np.int64) - zero.astype(np.int64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    pieces = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    taken = 0 if zeros is None else zeros.astype(np.int64).reshape(-1, 1, 1, 1)
    wanted = np.einsum("bchwij,ocij->bohw", pieces, w.astype(np.int64) - taken)
    np.testing.assert_array_equal(transload.run(read_model(written), {"x": x})["y"], wanted)
    np.testing.assert_array_equal(run_model(written, {"x": x})[0], wanted)


def test_products_of_integers_to_floats(compare: Callable[..., Any]) -> None:
    x, w = whole(230, 256, np.uint8, 3, 3000), whole(100, 128, np.int8, 3000, 4)
    constants = {"w": w, "xs": np.float32(0.02), "ws": np.abs(real(4)), "xz": np.uint8(3), "wz": np.int8(2), "c": real(4)}
    product = node("MatMulIntegerToFloat", ["x", "w", "xs", "ws", "xz", "wz", "c"], ["y"], **MS)
    compare(product, {"x": x}, ("y",), constants, rtol=1e-6)


def test_dynamic_quantization(compare: Callable[..., Any]) -> None:
    nodes = [node("DynamicQuantizeLinear", ["x"], ["h", "s", "z"]), node("MatMulInteger", ["h", "w", "z"], ["m"]),
        node("Cast", ["m"], ["f"], to=1),
             node("Mul", ["f", "s"], ["y"])]
    compare(nodes, {"x": real(3, 5)}, ("y", "h", "s", "z"), {"w": whole(-128, 128, np.int8, 5, 4)})


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_of_few_bits(compare: Callable[..., Any], bits: int) -> None:
    constants = {"w": whole(0, 256, np.uint8, 6, 2, 16 * bits // 8), "s": np.abs(real(12)) * np.float32(0.1)}
    product = node("MatMulNBits", ["x", "w", "s"], ["y"], K=32, N=6, bits=bits, block_size=16, **MS)
    compare(product, {"x": real(2, 32)}, ("y",), constants, rtol=1e-3, atol=1e-2 if bits == 8 else 1e-4)


@pytest.mark.parametrize(("operator", "constants"), [
    (node("FusedConv", ["x", "w"], ["y"], activation="LeakyRelu", activation_params=[0.1], **MS), {"w": real(2, 3, 2, 2)}),
    (node("FusedMatMul", ["x", "w"], ["y"], alpha=0.5, transB=1, **MS), {"w": real(6, 5)}),
    (node("BiasGelu", ["x", "w"], ["y"], **MS), {"w": real(5)}),
    (node("FastGelu", ["x"], ["y"], **MS), {}), (node("QuickGelu", ["x"], ["y"], alpha=1.5, **MS), {}),
    (node("Gelu", ["x"], ["y"], **MS), {}),
])
def test_fused_operators_of_com_microsoft(compare: Callable[..., Any], operator: Any, constants: dict[str, Any]) -> None:
    compare(operator, {"x": real(1, 3, 4, 5)}, ("y",), constants, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("group", [1, 2])
def test_convolutions_with_channels_last(tmp_path: Path, group: int) -> None:
    """onnxruntime has a kernel of NhwcConv on GPUs only: compared with Conv between transposes."""
    x, w, b = real(2, 7, 6, 4), real(6, 3, 2, 4 // group), real(6)
    geometry = {"strides": [2, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2], "group": group}
    found = []
    for number, nodes in enumerate((
            [node("NhwcConv", ["x", "w", "b"], ["y"], **geometry, **MS)],
            [node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), node("Transpose", ["w"], ["v"], perm=[0, 3, 1, 2]),
             node("Conv", ["t", "v", "b"], ["c"], **geometry), node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1])])):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(make_model(nodes, {"x": x}, ("y",), {"w": w, "b": b}).SerializeToString())
        found.append(transload.run(path, {"x": x}, engine="reference")["y"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("transposed", [{"transBatchA": 1}, {"transBatchA": 1, "transA": 1}, {"transBatchB": 1, "transB": 1}])
def test_batches_that_are_transposed(compare: Callable[..., Any], transposed: dict[str, int]) -> None:
    inputs = {"x": real(2, 3, 4, 5), "z": real(2, 3, 5, 6)}
    if "transBatchA" in transposed:
        inputs["x"] = real(5, 2, 3, 4) if "transA" in transposed else real(4, 2, 3, 5)
    else:
        inputs["z"] = real(6, 2, 3, 5)
    compare(node("FusedMatMul", ["x", "z"], ["y"], **transposed, **MS), inputs)


def test_skip_layer_normalization(compare: Callable[..., Any]) -> None:
    skip = node("SkipLayerNormalization", ["x", "z", "g", "b"], ["y", "", "", "s"], epsilon=1e-5, **MS)
    compare(skip, {"x": real(1, 3, 8), "z": real(1, 3, 8)}, ("y", "s"), {"g": real(8), "b": real(8)})


def test_scales_that_are_computed_are_refused_where_they_must_be_known(compare: Callable[..., Any]) -> None:
    operator = node("QLinearMatMul", ["x", "s", "z", "x", "s", "z", "s", "z"], ["y"])
    with pytest.raises(ConversionError, match="must be constants"):
        compare(operator, {"x": whole(-9, 9, np.int8, 2, 2), "s": scale(0.1), "z": np.array(0, np.int8)})


@pytest.mark.parametrize("dtype", [np.bool_, np.int32])
def test_scales_that_are_no_floats_are_refused(dtype: Any) -> None:
    """A truth value was a defect of ours, and an integer taken for a float; onnxruntime takes neither."""
    operator = node("QLinearMatMul", ["x", "s", "z", "x", "s", "z", "s", "z"], ["y"])
    constants = {"s": np.ones((), dtype), "z": np.array(0, np.int8)}
    model = make_model([operator], {"x": whole(-9, 9, np.int8, 2, 2)}, ["y"], constants)
    with pytest.raises(ConversionError, match=r"has a scale of i(1|32), and takes floats"):
        transload.lower(read_model(model), "top")

"""Integers, and numbers that are none, beside onnxruntime: what OpenVINO computes otherwise is written otherwise, or told."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import transload
from transload.errors import TargetError
from transload.ir import F64
from transload_targets.openvino.check import findings_of
from transload_targets.openvino.inexact import tell_inexact
from transload_targets.openvino.otherwise import write_otherwise

from tests.support.onnx_models import make_model, node

needs_openvino = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="install transload[openvino] to run its models")

NAN, LEAST = float("nan"), -128
FLOATS = [np.array([1, NAN, NAN, 2, -1, 0, 3], np.float32), np.array([NAN, 1, NAN, 3, NAN, 0, 2], np.float32)]
BYTES = [np.array([100, LEAST, 3, -100], np.int8), np.array([100, 1, LEAST, -100], np.int8)]
COUNTS = [np.array([200, 3, 7, 16], np.uint8), np.array([100, 5, 7, 17], np.uint8)]
SHRUNK = {"lambd": 0.7, "bias": 0.3}
CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    *((operator, FLOATS, {}) for operator in ("Greater", "GreaterOrEqual")),
    *((operator, given, {}) for operator in ("Add", "Sub", "Mul") for given in (BYTES, COUNTS)),
    *((operator, BYTES[:1], {}) for operator in ("Neg", "Abs")),
    ("BitShift", [COUNTS[0], np.array([1, 7, 6, 4], np.uint8)], {"direction": "LEFT"}),
    *(("Shrink", [np.array([18, 20, 17, 4], kind)], SHRUNK) for kind in (np.uint8, np.int16, np.int32, np.int64)),
]


_WRONG_OVER_NOTHING = ("ReduceL1", "ReduceL2", "ReduceLogSum")


def saved(
    path: Path, operator: str, given: list[Any], constants: dict[str, np.ndarray] | None = None, opset: int = 17,
    **how: Any,
) -> dict[str, Any]:
    """A model of one operator at a path; its inputs by name."""
    inputs = {f"x{place}": array for place, array in enumerate(given)}
    nodes = [node(operator, [*inputs, *(constants or {})], ["y"], **how)]
    onnx.save(make_model(nodes, inputs, ["y"], constants or {}, opset), path)
    return inputs


@pytest.mark.parametrize(("operator", "given", "how"), CASES, ids=lambda each: each if isinstance(each, str) else "")
def test_what_openvino_computes_otherwise_is_what_onnxruntime_gives(
    operator: str, given: list[Any], how: dict[str, Any], tmp_path: Path,
) -> None:
    """Written otherwise, the model means the same to onnxruntime, and none of what OpenVINO computes otherwise is left in it."""
    inputs = saved(tmp_path / "m.onnx", operator, given, **how)
    wanted = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, inputs)[0]
    module = transload.load(tmp_path / "m.onnx")
    assert write_otherwise(module) and not write_otherwise(module)
    transload.save(module, tmp_path / "other.onnx")
    np.testing.assert_array_equal(onnxruntime.InferenceSession(str(tmp_path / "other.onnx")).run(None, inputs)[0], wanted)
    assert list(module.outputs) == ["y"]
    if importlib.util.find_spec("openvino") is not None:
        transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
        np.testing.assert_array_equal(transload.run(tmp_path / "out", inputs)["y"], wanted)


@pytest.mark.parametrize(("operator", "how"), [
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.0}), ("HardSigmoid", {"alpha": 0.0, "beta": 0.3}), ("HardSigmoid", {"alpha": 0.0}),
    ("Selu", {"alpha": 0.0}), ("Selu", {"alpha": 0.0, "gamma": 2.0})], ids=str)
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_an_attribute_of_0_is_said(operator: str, how: dict[str, Any], kind: type, tmp_path: Path) -> None:
    """OpenVINO took 0 for nothing said, and the default in its place."""
    numbers: Any = np.linspace(-5, 5, 21).astype(kind)
    given = saved(tmp_path / "m.onnx", operator, [numbers.astype(np.float32)], **how)  # onnxruntime has no kernels of halves
    wanted = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, given)[0]
    given = saved(tmp_path / "m.onnx", operator, [numbers], **how)
    module = transload.load(tmp_path / "m.onnx")
    assert write_otherwise(module) and not write_otherwise(module)
    near = {"rtol": 1e-6 if kind is np.float32 else 2e-3, "atol": 1e-6 if kind is np.float32 else 1e-3}
    np.testing.assert_allclose(transload.run(module, given)["y"].astype(np.float32), wanted, **near)
    if importlib.util.find_spec("openvino") is not None:
        transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
        np.testing.assert_allclose(transload.run(tmp_path / "out", given)["y"].astype(np.float32), wanted, **near)


def test_of_a_selu_without_a_factor_nothing_is_left(tmp_path: Path) -> None:
    given = saved(tmp_path / "m.onnx", "Selu", [np.linspace(-5, 5, 21, dtype=np.float32)], gamma=0.0)
    module = transload.load(tmp_path / "m.onnx")
    assert write_otherwise(module) and not transload.run(module, given)["y"].any()


@needs_openvino
@pytest.mark.parametrize(("operator", "sizes", "how", "said"), [
    ("Resize", (1, 4, 3, 2), {"mode": "linear", "antialias": 1}, "antialias"),
    ("Resize", (1, 4, 3, 2), {"mode": "cubic", "antialias": 1}, "antialias"),
    ("Resize", (1, 4, 9, 7), {"mode": "cubic", "exclude_outside": 1}, "exclude_outside"),
    ("Resize", (1, 4, 9, 7), {"mode": "linear", "antialias": 1}, ""),
    ("Resize", (1, 4, 9, 7), {"mode": "cubic", "exclude_outside": 0, "antialias": 0}, ""),
    ("LRN", None, {"size": 2}, "even size"), ("LRN", None, {"size": 3}, ""),
], ids=str)
def test_what_openvino_does_not_read_is_refused(
    operator: str, sizes: tuple[int, ...] | None, how: dict[str, Any], said: str, tmp_path: Path,
) -> None:
    """It resized otherwise by up to 1.07, and the artifact passed."""
    numbers = (np.arange(96, dtype=np.float32) % 23 - 9).reshape(1, 4, 6, 4) / 3
    constants = {"s": np.array(sizes)} if sizes else {}
    names = ["x0", "", "", "s"] if sizes else ["x0"]
    model = make_model([node(operator, names, ["y"], **how)], {"x0": numbers}, ["y"], constants, opset=18)
    onnx.save(model, tmp_path / "m.onnx")
    if said:
        with pytest.raises(TargetError) as caught:
            transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out")
        assert [said in finding.why for finding in caught.value.findings] == [True]
        return
    wanted = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"x0": numbers})[0]
    transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
    np.testing.assert_allclose(transload.run(tmp_path / "out", {"x0": numbers})["y"], wanted, rtol=1e-4, atol=1e-5)


@needs_openvino
def test_the_greatest_none_are_refused(tmp_path: Path) -> None:
    """A file was written that OpenVINO does not load."""
    k = {"k": np.array([0])}
    model = make_model([node("TopK", ["x", "k"], ["y", "z"])], {"x": np.ones((3, 4), np.float32)}, ["y", "z"], k)
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(TargetError, match="what is empty"):
        transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out")


@pytest.mark.parametrize("operator", ["ReduceLogSum", "ReduceLogSumExp"])
@pytest.mark.parametrize("by_hub", [False, True])
def test_logarithms_of_integers_are_computed_in_floats(operator: str, by_hub: bool, tmp_path: Path) -> None:
    """OpenVINO gives 4 for the logarithm of 46, of which ONNX cuts off what is behind 3; its way there was refused."""
    numbers = np.array([[10, 11, 12, 13], [1, 0, 0, 0], [50, 3, 7, 9]], np.int32)
    given = saved(tmp_path / "m.onnx", operator, [numbers], axes=[1])
    wanted = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, given)[0]
    module = transload.load(tmp_path / "m.onnx")
    if by_hub:
        module = transload.lower(transload.lower(module, "top"), "onnx")
    assert write_otherwise(module) and not write_otherwise(module)
    assert not any(value.element_or_none == F64 for op in module.walk() for value in op.results)
    transload.save(module, tmp_path / "other.onnx")
    np.testing.assert_array_equal(onnxruntime.InferenceSession(str(tmp_path / "other.onnx")).run(None, given)[0], wanted)
    if importlib.util.find_spec("openvino") is not None:
        transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
        np.testing.assert_array_equal(transload.run(tmp_path / "out", given)["y"], wanted)


@pytest.mark.parametrize(("base", "exponent", "known"), [
    (np.array([0.5, 2, 3], np.float32), np.array([2, 3, 1]), False),
    (np.array([2, 3, 1], np.int32), np.array([2, 3, 1], np.float32), False),
    (np.array([4, 9, 1]), np.array(0.5, np.float32), True), (np.array([0.5, 2, 3], np.float32), np.array(0.1), True),
])
def test_powers_are_computed_in_floats(base: np.ndarray, exponent: np.ndarray, known: bool, tmp_path: Path) -> None:
    """The hub computes them in f64, which a note says, where no f32 may hold the exponent or an integer base."""
    given = saved(tmp_path / "m.onnx", "Pow", [base] if known else [base, exponent], {"e": exponent} if known else {})
    module = transload.lower(transload.lower(transload.load(tmp_path / "m.onnx"), "top"), "onnx")
    wanted = transload.run(module, given)["y"]
    assert write_otherwise(module) and not write_otherwise(module)
    assert not any(value.element_or_none == F64 for op in module.walk() for value in op.results)
    (note,) = module.notes
    assert "powers that are computed in f64 in the model are in f32 here: y" in note
    np.testing.assert_allclose(transload.run(module, given)["y"], wanted, rtol=1e-6)


@needs_openvino
@pytest.mark.parametrize("operator", ["ReduceL1", "ReduceLogSum", "ReduceLogSumExp"])
def test_axes_that_are_an_attribute_count(operator: str, tmp_path: Path) -> None:
    """OpenVINO reduced all dimensions, and the sizes of its outputs were said to be wrong."""
    given = saved(tmp_path / "m.onnx", operator, [np.arange(1, 13, dtype=np.float32).reshape(3, 4)], axes=[1])
    wanted = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, given)[0]
    transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
    np.testing.assert_allclose(transload.run(tmp_path / "out", given)["y"], wanted, rtol=1e-6)


@pytest.mark.parametrize("operator", [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "ReduceSum", "ReduceMax", "ReduceMean"])
@pytest.mark.parametrize("axes", [{}, {"axes": np.zeros(0, np.int64)}], ids=["absent", "empty"])
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_reductions_over_no_dimensions_are_functions_of_each_element(
    operator: str, axes: dict[str, np.ndarray], kind: type, tmp_path: Path,
) -> None:
    """OpenVINO gave the elements, where ONNX has what is above 0 of them, or the logarithm."""
    numbers: Any = np.array([[1, 2, 3], [7, 5, 6]], kind) * (1 if "Log" in operator else -1)
    given = saved(tmp_path / "m.onnx", operator, [numbers.astype(kind)], axes, opset=18, noop_with_empty_axes=1)
    wanted = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, given)[0]
    module = transload.load(tmp_path / "m.onnx")
    assert not (operator in _WRONG_OVER_NOTHING and not write_otherwise(module))
    transload.save(module, tmp_path / "other.onnx")
    other = onnxruntime.InferenceSession(str(tmp_path / "other.onnx"))
    np.testing.assert_allclose(other.run(None, given)[0], wanted, rtol=1e-6)
    if importlib.util.find_spec("openvino") is not None:
        transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
        np.testing.assert_allclose(transload.run(tmp_path / "out", given)["y"], wanted, rtol=1e-6)


IMAGE = np.random.default_rng(0).normal(size=(1, 3, 6, 4)).astype(np.float32)


def saved_resize(path: Path, **how: Any) -> np.ndarray:
    """A model that resizes an image at a path; what onnxruntime makes of it."""
    sizes = np.array(how.pop("sizes"), np.int64)
    nodes = [node("Resize", ["x0", "", "", "s"], ["y"], **how)]
    onnx.save(make_model(nodes, {"x0": IMAGE}, ["y"], {"s": sizes}, opset=18), path)
    made: np.ndarray = onnxruntime.InferenceSession(str(path)).run(None, {"x0": IMAGE})[0]
    return made


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("how", [
    {"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3], "sizes": [12, 9]},
    {"keep_aspect_ratio_policy": "not_smaller", "axes": [3, 2], "sizes": [10, 10]},
    {"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3], "sizes": [3, 2]},
    {"keep_aspect_ratio_policy": "not_larger", "axes": [3], "sizes": [7]},
], ids=str)
def test_proportions_that_are_kept_are_sizes(mode: str, how: dict[str, Any], tmp_path: Path) -> None:
    """OpenVINO does not read that they are to be kept."""
    wanted = saved_resize(tmp_path / "m.onnx", mode=mode, **how)
    module = transload.load(tmp_path / "m.onnx")
    assert write_otherwise(module) and not write_otherwise(module)
    assert not any("keep_aspect_ratio_policy" in op.attributes for op in module.walk())
    transload.save(module, tmp_path / "other.onnx")
    other = onnxruntime.InferenceSession(str(tmp_path / "other.onnx"))
    np.testing.assert_allclose(other.run(None, {"x0": IMAGE})[0], wanted, rtol=1e-5, atol=1e-5)
    if importlib.util.find_spec("openvino") is not None:
        transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
        np.testing.assert_allclose(transload.run(tmp_path / "out", {"x0": IMAGE})["y"], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_proportions_that_sizes_are_rounded_for_are_refused(policy: str, tmp_path: Path) -> None:
    """6 by 4 within 10 by 10 is 10 by 6.67: the grid is that of the factor, and plain sizes have another."""
    sizes = [10, 10] if policy == "not_larger" else [12, 9]
    saved_resize(tmp_path / "m.onnx", mode="linear", keep_aspect_ratio_policy=policy, axes=[2, 3], sizes=sizes)
    module = transload.load(tmp_path / "m.onnx")
    assert not write_otherwise(module)
    (found,) = findings_of(module)
    assert "keep_aspect_ratio_policy" in found.why


@pytest.mark.parametrize(("operator", "kind", "said"), [
    ("MatMul", np.int32, "2^24"), ("MatMul", np.int64, "2^24"), ("Div", np.int32, "2^24"), ("Greater", np.int32, "2^24"),
    ("Add", np.int64, "2^31"), ("Max", np.int64, "2^31"), ("Add", np.int32, ""), ("Greater", np.float32, "")])
def test_integers_that_are_computed_in_another_type_are_told(operator: str, kind: type, said: str, tmp_path: Path) -> None:
    saved(tmp_path / "m.onnx", operator, [np.ones((2, 2), kind)] * 2)
    module = transload.load(tmp_path / "m.onnx")
    tell_inexact(module)
    tell_inexact(module)
    assert len(module.notes) == bool(said) and all(said in note and operator in note for note in module.notes)


def test_integers_that_are_shown_to_be_small_are_not_told(tmp_path: Path) -> None:
    x = np.ones((2, 2), np.int8)
    operators = [node("Cast", ["x"], ["w"], to=6), node("Transpose", ["w"], ["t"]), node("MatMul", ["t", "w"], ["p"]),
                 node("Greater", ["t", "c"], ["y"]), node("Identity", ["p"], ["z"])]
    onnx.save(make_model(operators, {"x": x}, ["y", "z"], {"c": np.array(5, np.int32)}), tmp_path / "m.onnx")
    module = transload.load(tmp_path / "m.onnx")
    tell_inexact(module)
    assert not module.notes


@needs_openvino
def test_what_is_inexact_is_in_the_report(tmp_path: Path) -> None:
    saved(tmp_path / "m.onnx", "Div", [np.ones(4, np.int32)] * 2)
    artifact = transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out")
    assert any("2^24" in note for note in artifact.report.notes)


@needs_openvino
@pytest.mark.parametrize("kind", [np.uint16, np.int16])
@pytest.mark.parametrize(("operator", "how"), [
    ("Add", {}), ("Sub", {}), ("Mul", {}), ("Neg", {}), ("Abs", {}), ("BitwiseNot", {}), ("BitShift", {"direction": "LEFT"}),
    ("Cast", {})])
def test_numbers_of_16_bits_wrap_round(operator: str, how: dict[str, Any], kind: type, tmp_path: Path) -> None:
    """OpenVINO keeps them in 32, and what took them saw numbers beyond 16: of 0 it counted 8 leading zeros."""
    if (kind is np.uint16 and operator == "Neg") or (kind is np.int16 and operator == "BitShift"):
        pytest.skip("ONNX has none of these")
    ends = np.iinfo(kind)
    x = np.array([0, 1, 5, ends.max, ends.min, ends.max // 2 + 9], kind)
    given = {"x": x if operator != "Cast" else np.array([70000, -1, 65536, 32768, -40000, 7], np.int32)}
    two = ["x", "two"] if operator in ("Add", "Sub", "Mul", "BitShift") else ["x"]
    if operator == "Cast":
        how = {"to": onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))}
    nodes = [node(operator, two, ["a"], **how), node("Cast", ["a"], ["y"], to=onnx.TensorProto.INT32)]
    constants = {"two": np.array(3 if operator == "BitShift" else ends.max // 2 + 3, kind)} if len(two) > 1 else {}
    onnx.save(make_model(nodes, given, ["y"], constants, 20), tmp_path / "m.onnx")
    wanted = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, given)[0]
    transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
    np.testing.assert_array_equal(transload.run(tmp_path / "out", given)["y"], wanted)


@pytest.mark.parametrize(("operator", "given", "how", "why"), [
    ("Cast", [np.array([3e9], np.float32)], {"to": onnx.TensorProto.UINT32}, "numbers beyond 2"),
    ("Cast", [np.array([3e9], np.float32)], {"to": onnx.TensorProto.INT64}, "numbers beyond 2"),
    ("Cast", [np.array([3], np.uint32)], {"to": onnx.TensorProto.INT64}, "numbers beyond 2"),
    ("Cast", [np.array([3], np.int64)], {"to": onnx.TensorProto.INT32}, ""),
    ("Cast", [np.array([0.1], np.float32)], {"to": onnx.TensorProto.FLOAT16}, "rounds nothing"),
    ("BitwiseNot", [np.array([3], np.int64)], {}, "numbers beyond 2"),
    ("BitShift", [np.array([3], np.uint32)] * 2, {"direction": "RIGHT"}, "lose their last digits")])
def test_what_has_other_numbers_is_noted(
    operator: str, given: list[Any], how: dict[str, Any], why: str, tmp_path: Path,
) -> None:
    saved(tmp_path / "m.onnx", operator, given, opset=20, **how)
    module = transload.load(tmp_path / "m.onnx")
    tell_inexact(module)
    assert any(why in note for note in module.notes) if why else not module.notes


@needs_openvino
def test_floats_of_16_bits_that_numpy_has_not(tmp_path: Path) -> None:
    """Their bits were read as those of f16: of ones there came 0.0078125."""
    pytest.importorskip("jaxlib")
    from ml_dtypes import bfloat16

    (tmp_path / "m.mlir").write_text("""func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
        %y = stablehlo.add %x, %x : tensor<4xbf16>
        return %y : tensor<4xbf16>
    }""")
    made = transload.convert(tmp_path / "m.mlir", "openvino", tmp_path / "out")
    assert made.verification is not None and made.verification.passed
    given = dict.fromkeys(made.module.inputs, np.array([1, 2, -3, 0.5], bfloat16))
    (found,) = transload.run(tmp_path / "out", given).values()
    assert found.dtype == bfloat16 and found.tolist() == [2, 4, -6, 1]


@needs_openvino
@pytest.mark.parametrize(("how", "opset"), [
    ({}, 11), ({"axis": 1}, 11), ({"axis": 2}, 11), ({"axis": 1}, 13), ({"axis": -2}, 12)])
def test_a_softmax_over_several_dimensions_goes_by_the_hub(how: dict[str, Any], opset: int, tmp_path: Path) -> None:
    """OpenVINO takes one before opset 13 along its axis alone, and the artifact was another function."""
    numbers = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    given = saved(tmp_path / "m.onnx", "Softmax", [numbers], None, opset, **how)
    found = transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", input_data=given).verification
    assert found is not None and found.passed, found

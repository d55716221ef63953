"""The target `onnx`: what we quantize runs in onnxruntime, at all its levels of optimization, near our own integers."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, I16, UI8, FloatType, Module, QuantType, dtype_of
from transload.ir.verify import check
from transload.testing import build_op
from transload_converters.onnx.writer import model_of
from transload_targets.onnx.target import OnnxTarget

from tests.support.graphs import Graph
from tests.support.onnx_out.roundtrip import run_model

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


SHAPES = {"digits_float.onnx": (1, 1, 8, 8), "digits_float.tflite": (1, 8, 8, 1)}
"""Of the input: with channels last, there are transpositions in the ONNX model."""


def samples(name: str) -> list[dict[str, np.ndarray]]:
    images = np.load(DIGITS / "test_images.npz")["images"] / np.float32(16)
    return [{"image": image.reshape(SHAPES[name])} for image in images]


def test_options_of_the_way_from_the_hub_are_for_onnx_files_too(tmp_path: Path) -> None:
    """Without any, the operators stay those that are there."""
    for asked, opset in ((None, None), ({"opset": 15}, 15)):
        folder = tmp_path / str(opset)
        artifact = transload.convert(DIGITS / "digits_float.onnx", "onnx", folder, options=asked)
        assert artifact.verification is not None and artifact.verification.passed
        written = {each.domain: each.version for each in onnx.load(folder / "digits_float.onnx").opset_import}[""]
        before = {each.domain: each.version for each in onnx.load(DIGITS / "digits_float.onnx").opset_import}[""]
        assert written == (opset or before)


def test_operators_of_other_domains_go_by_the_hub(tmp_path: Path) -> None:
    """Nobody but the hub knows the types of what they give."""
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node("Gelu", ["x"], ["a"], domain="com.microsoft"), helper.make_node("Add", ["a", "x"], ["y"])], "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 3])])
    path = tmp_path / "gelu.onnx"
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8), path)
    artifact = transload.convert(path, "onnx", tmp_path / "out")
    assert artifact.verification is not None and artifact.verification.passed
    assert not any("microsoft" in op.name for op in artifact.module.ops())


def one_step_apart(quantized: Module) -> float:
    """How far probabilities are apart at most where each logit is another's, or one step of its type from it.

    A class's log-odds are its logit less that of all others: two steps of s. Its probability is their sigmoid, which changes most
    around one half: from 1 / (1 + e^s) to 1 / (1 + e^-s), by tanh(s / 2). Then both are rounded, half a step each.
    """
    softmax = next(op for op in quantized.ops() if op.name == "top.Softmax")
    steps = [value.element.scales[0] for value in (softmax.operands[0], softmax.results[0])]  # type: ignore[attr-defined]
    return float(np.tanh(steps[0] / 2) + steps[1])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("scheme", ["int8", "int8-asym", "int16x8"])
def test_a_quantized_module_runs_in_onnxruntime(scheme: str, name: str) -> None:
    given = samples(name)
    quantized = transload.quantize(transload.load(DIGITS / name), scheme, given[:32])
    model, near = model_of(transload.lower(quantized, "onnx", form="qdq")), one_step_apart(quantized)
    onnx.checker.check_model(model, full_check=True)
    kinds = {node.op_type for node in model.graph.node}
    assert {"QuantizeLinear", "DequantizeLinear", "Conv", "Gemm"} <= kinds
    assert not any(tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) > 1 for tensor in model.graph.initializer)
    unsigned = model_of(transload.lower(quantized, "onnx", form="qdq", weights="unsigned"))  # signed ones saturate
    for optimized in (False, True):
        for sample in given[32:64]:
            ours = transload.run(quantized, sample)["probabilities"]
            theirs = run_model(unsigned if optimized else model, sample, optimized)[0]
            assert ours.argmax() == theirs.argmax()
            assert np.abs(ours - theirs).max() <= near


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("scheme", ["int8", "int8-asym"])
def test_unsigned_weights_are_the_same_numbers_on_every_processor(scheme: str, name: str) -> None:
    """By signed ones onnxruntime's optimizer saturates on x86 processors without VNNI: these tests may run on one, or not."""
    given = samples(name)
    quantized = transload.quantize(transload.load(DIGITS / name), scheme, given[:32], islands="none", rounds="once")
    signed, unsigned = (
        model_of(transload.lower(quantized, "onnx", form="qdq", weights=weights)) for weights in ("signed", "unsigned"))
    onnx.checker.check_model(unsigned, full_check=True)
    kinds = [{tensor.data_type for tensor in model.graph.initializer if len(tensor.dims) > 1} for model in (signed, unsigned)]
    assert kinds == [{onnx.TensorProto.INT8}, {onnx.TensorProto.UINT8}]
    far = []
    for sample in given[32:64]:
        plain = run_model(signed, sample, False)[0]
        np.testing.assert_array_equal(run_model(unsigned, sample, False)[0], plain)
        far.append(run_model(unsigned, sample, True)[0] != plain)
    assert np.mean(far) < 0.01  # where it rounds on its own
    with pytest.raises(ConversionError, match="unsigned weights beside unsigned activations"):
        transload.lower(quantized, "onnx", form="qoperator", weights="unsigned")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("scheme", ["int8", "int8-asym"])
def test_a_quantized_module_runs_in_onnxruntime_on_integers(scheme: str, name: str) -> None:
    """In QOperator form onnxruntime computes our integers: the same, or one step away where it rounds on its own."""
    given = samples(name)
    quantized = transload.quantize(transload.load(DIGITS / name), scheme, given[:32])
    model, near = model_of(transload.lower(quantized, "onnx", form="qoperator")), one_step_apart(quantized)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("QLinearConv") == 3 and "QGemm" in kinds and "QLinearAdd" in kinds and "Conv" not in kinds
    for sample in given[32:64]:
        ours, theirs = transload.run(quantized, sample)["probabilities"], run_model(model, sample)[0]
        assert ours.argmax() == theirs.argmax()
        assert np.abs(ours - theirs).max() <= near


def test_converting_to_onnx_is_verified(tmp_path: Path) -> None:
    artifact = transload.convert(DIGITS / "digits_float.tflite", "onnx", tmp_path)
    assert [file.name for file in artifact.files if file.suffix == ".onnx"] == ["digits_float.onnx"]
    assert artifact.verification is not None and artifact.verification.status == "passed"
    assert artifact.report.target_report["opset"] == {"ai.onnx": 21}


@pytest.mark.parametrize("name", SHAPES)
def test_quantizing_on_the_way_is_judged_by_what_quantizing_costs(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """onnxruntime rounds on its own: as near to our integers as these are to the floats, and no farther."""
    given = samples(name)[:40]
    artifact = transload.convert(DIGITS / name, "onnx", tmp_path, quantize="int8", data=given)
    assert artifact.verification is not None and artifact.verification.status == "passed", artifact.verification.broken
    run = OnnxTarget.run.fget

    def wrong(self: OnnxTarget) -> object:
        right = run(self)
        return lambda emitted, inputs: {name: array + np.float32(0.02) for name, array in right(emitted, inputs).items()}

    monkeypatch.setattr(OnnxTarget, "run", property(wrong))
    artifact = transload.convert(DIGITS / name, "onnx", tmp_path / "wrong", quantize="int8", data=given)
    assert artifact.verification is not None and "root mean square" in artifact.verification.broken[0]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_floats_are_quantized_by_the_scale_that_there_is(dtype: str) -> None:
    """A scale as a float of 16 bits is another: of 28571 steps, 12 were missing."""
    element, type_ = FloatType(dtype), QuantType(I16, F32, (0.00021,), (0,))
    graph = Graph((64,))
    narrow = graph.builder.emit("top.Cast", graph.inputs[0], element=element)
    module = graph.done(graph.builder.emit("top.Cast", narrow, element=type_))
    given = {"x0": np.linspace(-6.5, 6.5, 64).astype(np.float32)}
    (wanted,) = transload.run(module, given, engine="reference").values()
    (found,) = run_model(model_of(transload.lower(module, "onnx", form="qdq")), given)
    assert np.array_equal(wanted, found)


def of_integers(path: Path) -> Path:
    """Two convolutions and their sum, all on integers beside an odd zero point; half of the sum's numbers are halves."""
    random, helper = np.random.default_rng(0), onnx.helper
    held = {
        "s": np.float32(2**-5), "cs": np.float32(2**-4), "as": np.float32(2**-3), "ws": np.float32(2**-7),
        "z": np.int8(-3), "wz": np.int8(0), "b": random.integers(-900, 900, 8).astype(np.int32),
        **{name: random.integers(-64, 64, (8, 3, 3, 3)).astype(np.int8) for name in ("v", "w")}}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("QLinearConv", ["q", "s", "z", "v", "ws", "wz", "cs", "z", "b"], ["c"]),
        helper.make_node("QLinearConv", ["q", "s", "z", "w", "ws", "wz", "as", "z", "b"], ["d"]),
        helper.make_node("QLinearAdd", ["c", "cs", "z", "d", "as", "z", "as", "z"], ["a"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["a", "as", "z"], ["y"])]
    ends = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", (1, 3, 8, 8)), ("y", (1, 8, 6, 6)))]
    graph = helper.make_graph(
        nodes, "g", ends[:1], ends[1:], [onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in held.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def on_two(operator: str, path: Path) -> Path:
    """One of com.microsoft's operators on two tensors of integers, beside odd zero points; half of its numbers are halves."""
    helper = onnx.helper
    scales = {"a": np.float32(0.5), "b": np.float32(0.5 if operator == "QLinearAdd" else 1), "c": np.float32(1)}
    held = {**{f"{name}s": scale for name, scale in scales.items()}, "az": np.uint8(3), "bz": np.uint8(7), "cz": np.uint8(1)}
    node = helper.make_node(operator, ["a", "as", "az", "b", "bs", "bz", "cs", "cz"], ["c"], domain="com.microsoft")
    ends = [helper.make_tensor_value_info(name, 2, (16, 16)) for name in "abc"]
    graph = helper.make_graph(
        [node], "g", ends[:2], ends[2:], [onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in held.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
def test_operators_on_two_tensors_of_integers_stay_such_by_themselves(operator: str, tmp_path: Path) -> None:
    source = transload.load(on_two(operator, tmp_path / "m.onnx"))
    lowered = transload.lower(source, "onnx")
    assert [op.name for op in lowered.ops() if "QLinear" in op.name] == [f"onnx.com.microsoft.{operator}"]
    random = np.random.default_rng(0)
    given = {name: random.integers(0, 256, (16, 16)).astype(np.uint8) for name in "ab"}
    wanted, found = (run_model(model_of(module), given)[0] for module in (source, lowered))
    assert np.array_equal(wanted, found)


def test_operators_on_integers_stay_such(tmp_path: Path) -> None:
    """As QDQ, which rounds before it adds an odd zero point, each half became the other integer."""
    source = transload.load(of_integers(tmp_path / "m.onnx"))
    artifact = transload.convert(source, "onnx", tmp_path / "made")
    kinds = [op.name.rpartition(".")[2] for op in transload.load(tmp_path / "made" / "m.onnx").ops()]
    assert kinds.count("QLinearConv") == 2 and "QLinearAdd" in kinds and "Conv" not in kinds
    assert artifact.verification.passed and artifact.verification.tensors[0].metrics["max_abs"] == 0.0
    for options in ({"form": "qdq"}, {"weights": "unsigned"}, {"bits": "32"}):
        module = transload.lower(source, "onnx", **options)
        assert {"onnx.Conv", "onnx.Add"} <= {op.name for op in module.ops()} and "onnx.form" not in module.attributes

@pytest.mark.parametrize("types", list(itertools.product((I8, UI8), repeat=3)), ids=str)
@pytest.mark.parametrize("name", ["Add", "Mul", "MatMul", "MaxPool"])
def test_operators_on_integers_are_of_types_that_onnxruntime_loads(name: str, types: tuple[Any, ...], tmp_path: Path) -> None:
    """It did not load a QLinearMul of signed numbers whose result has no sign."""
    first, second, target = (QuantType(storage, F32, (0.1,), (5,)) for storage in types)
    shape = (1, 1, 4, 4)
    numbers = [np.arange(16).reshape(shape).astype(dtype_of(each.storage)) for each in (first, second)]
    given = numbers[:1] if name == "MaxPool" else numbers
    module = build_op(f"top.{name}", *given, input_elements=[first, second][: len(given)], element=target,
                      **({"kernel_shape": (2, 2)} if name == "MaxPool" else {}))
    if check(module):
        return
    inputs = dict(zip(module.inputs, given, strict=True))
    (wanted,) = transload.run(module, inputs).values()
    transload.convert(module, "onnx", tmp_path, options={"form": "qoperator"}, verify=False)
    (found,) = transload.run(tmp_path, inputs).values()
    assert found.dtype == wanted.dtype and np.abs(found.astype(int) - wanted.astype(int)).max() <= 1

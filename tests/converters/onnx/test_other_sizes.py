"""Sizes that ONNX's own inference finds otherwise than the operators say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import transload
from transload.errors import ConversionError

from tests.support.onnx_models import make_model, node


@pytest.mark.parametrize(("operator", "outputs"), [("MaxPool", ["p", "i"]), ("AveragePool", ["p"]), ("LpPool", ["p"])])
def test_no_window_begins_in_the_padding_at_the_end(operator: str, outputs: list[str], tmp_path: Path) -> None:
    """Inference counts it, by `ceil_mode`: a model that was written in its own format again had outputs of other sizes than its
    operators, and was refused."""
    pytest.importorskip("onnxruntime")
    window = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1}
    image = np.random.default_rng(0).normal(size=(1, 2, 7, 6)).astype(np.float32)
    nodes = [node(operator, ["x"], outputs, **window), node("Relu", ["p"], ["r"]),
             node(operator, ["r"], ["y"], kernel_shape=[2, 2], strides=[2, 2], pads=[0, 1, 0, 1], ceil_mode=1)]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": image}, [*outputs[1:], "y"], opset=19).SerializeToString())
    module = transload.load(file)
    assert [type_.shape for type_ in module.outputs.values()] == [*([(1, 2, 4, 3)] if outputs[1:] else []), (1, 2, 2, 2)]
    for target in ("onnx", "tosa"):
        found = transload.convert(file, target, tmp_path / target).verification
        assert found is not None and found.passed, found


@pytest.mark.parametrize("outputs", [["y"], ["y", "i"]])
def test_padding_below_zero_is_refused(outputs: list[str], tmp_path: Path) -> None:
    """With places asked for it ended in numpy's ValueError; onnxruntime refuses it, too."""
    model = make_model([node("MaxPool", ["x"], outputs, kernel_shape=[2, 2], pads=[0, -1, 0, 0])],
                       {"x": np.zeros((1, 1, 5, 5), np.float32)}, outputs)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    with pytest.raises(ConversionError, match="none is below 0"):
        transload.lower(transload.load(file), "top")


def test_windows_in_the_body_of_a_loop(tmp_path: Path) -> None:
    """The sizes that inference finds there are not those of the operators, and are not taken."""
    pytest.importorskip("onnxruntime")
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float[1, 2, 7, 6] x) => (float r, float[1] all) {
        n = Constant <value = int64 {3}> ()
        t = Constant <value = bool {1}> ()
        zero = Constant <value = float {0.0}> ()
        r, all = Loop (n, t, zero) <body = b (int64 i, bool c, float a) => (bool d, float e, float[1] f) {
            d = Identity (c)
            f = MaxPool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 1], ceil_mode = 1> (x)
            s = ReduceSum <keepdims = 0> (f)
            e = Add (a, s)
        }>
    }"""
    file = tmp_path / "model.onnx"
    model = onnx.parser.parse_model(text)
    body = next(attribute.g for op in model.graph.node for attribute in op.attribute if attribute.name == "body")
    for open_ in (model.graph.output[1], body.output[2]):
        open_.type.tensor_type.ClearField("shape")
    onnx.save(model, file)
    given = {"x": np.random.default_rng(0).normal(size=(1, 2, 7, 6)).astype(np.float32)}
    found = transload.convert(file, "onnx", tmp_path / "out", input_data=given).verification
    assert found is not None and found.passed


@pytest.mark.parametrize("scaled", [False, True])
def test_sizes_of_inference_that_the_file_gives(scaled: bool, tmp_path: Path) -> None:
    """A file that was written after inference says them of all its values: the operators were refused that say otherwise."""
    pytest.importorskip("onnxruntime")
    image = np.random.default_rng(0).normal(size=(1, 2, 7, 50)).astype(np.float32)
    window = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1}
    first = node("Resize", ["x", "", "s"], ["p"], mode="nearest") if scaled else node("MaxPool", ["x"], ["p"], **window)
    nodes = [first, node("Relu", ["p"], ["r"]), node("Identity", ["r"], ["y"])]
    scales = {"s": np.array([1, 1, 1, 1.3], np.float32)} if scaled else {}
    model = onnx.shape_inference.infer_shapes(make_model(nodes, {"x": image}, ["p", "y"], scales, opset=19))
    inexact = [dim.dim_value for dim in model.graph.output[1].type.tensor_type.shape.dim]
    onnx.save(model, tmp_path / "model.onnx")
    module = transload.load(tmp_path / "model.onnx")
    exact = [type_.shape for type_ in module.outputs.values()][1]
    assert exact is not None and inexact != list(exact)
    for target in ("onnx", "tosa"):
        found = transload.convert(tmp_path / "model.onnx", target, tmp_path / target).verification
        assert found is not None and found.passed, found


def test_sizes_of_inference_behind_a_branch(tmp_path: Path) -> None:
    """onnxruntime, which infers them itself, has no place for what the branch gives."""
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float[1, 2, 7, 6] x, bool t) => (float[1, 2, 4, 4] y) {
        r = If (t) <then_branch = a () => (float[1, 2, 4, 4] f) {
            f = MaxPool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 1], ceil_mode = 1> (x)
        }, else_branch = b () => (float[1, 2, 4, 4] f) {
            h = Relu (x)
            f = MaxPool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 1], ceil_mode = 1> (h)
        }>
        y = Neg (r)
    }"""
    onnx.save(onnx.shape_inference.infer_shapes(onnx.parser.parse_model(text)), tmp_path / "model.onnx")
    onnx.save(_without_sizes(onnx.parser.parse_model(text)), tmp_path / "open.onnx")
    given = {"x": np.random.default_rng(0).normal(size=(1, 2, 7, 6)).astype(np.float32)}
    for truth in (True, False):
        made, expected = (
            transload.run(transload.lower(transload.load(tmp_path / f"{name}.onnx"), "top"), given | {"t": np.array(truth)})["y"]
            for name in ("model", "open"))
        assert made.shape == (1, 2, 4, 3) and np.array_equal(made, expected)


def _without_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    (branches,) = (op for op in model.graph.node if op.op_type == "If")
    for graph in (model.graph, *(attribute.g for attribute in branches.attribute)):
        graph.output[0].type.tensor_type.ClearField("shape")
    return model


@pytest.mark.parametrize("by_window", [True, False])
@pytest.mark.parametrize("said", [{}, {"onesided": 0}, {"onesided": 1}])
def test_a_transform_is_onesided_where_nothing_is_said(by_window: bool, said: dict[str, int], tmp_path: Path) -> None:
    """Inference takes it for one that is not: a file that holds what that found was refused in its own format."""
    pytest.importorskip("onnxruntime")
    signal = np.random.default_rng(0).normal(size=(1, 16, 1)).astype(np.float32)
    constants = {"step": np.array(3, np.int64), **({"w": np.ones(8, np.float32)} if by_window else {"l": np.array(8, np.int64)})}
    inputs = ["x", "step", "w"] if by_window else ["x", "step", "", "l"]
    model = make_model([node("STFT", inputs, ["y"], **said)], {"x": signal}, ["y"], constants, opset=17)
    file = tmp_path / "model.onnx"
    file.write_bytes(onnx.shape_inference.infer_shapes(model, data_prop=True).SerializeToString())
    for target in ("onnx", "tosa"):
        made = transload.convert(file, target, tmp_path / target)
        assert made.verified, made.verification
        assert [type_.shape for type_ in made.module.outputs.values()] == [(1, 3, 5 if said.get("onesided", 1) else 8, 2)]

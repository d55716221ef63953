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

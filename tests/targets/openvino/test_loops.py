"""Loops as OpenVINO runs them, which goes on for ever where there are fewer passes than none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import transload
from transload_targets.openvino.otherwise import write_otherwise


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_computed_number_of_passes_is_none_at_least(rank: int, below: bool, tmp_path: Path) -> None:
    """A maximum with a number below 0 bounds nothing."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["held", "x"], ["more"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, ()), helper.make_tensor_value_info("go", TensorProto.BOOL, ()),
         helper.make_tensor_value_info("held", TensorProto.FLOAT, (2,))],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, ()),
         helper.make_tensor_value_info("more", TensorProto.FLOAT, (2,))])
    graph = helper.make_graph(
        [helper.make_node("Max", ["n", "least"], ["m"]),
         helper.make_node("Loop", ["m" if below else "n", "", "x"], ["y"], body=body)], "g",
        [helper.make_tensor_value_info("n", TensorProto.INT64, (1,) * rank),
         helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))],
        [helper.make_tensor("least", TensorProto.INT64, (), [-5])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    module = transload.load(tmp_path / "m.onnx")
    assert write_otherwise(module) and not write_otherwise(module)
    transload.save(module, tmp_path / "other.onnx")
    if importlib.util.find_spec("openvino") is not None:
        transload.convert(tmp_path / "m.onnx", "openvino", tmp_path / "out", verify=False)
    for count in (-3, 0, 2):
        given = {"n": np.full((1,) * rank, count, np.int64), "x": np.array([1, 2], np.float32)}
        wanted = given["x"] * (1 + max(count, 0))
        session = onnxruntime.InferenceSession(str(tmp_path / "other.onnx"))
        np.testing.assert_array_equal(session.run(None, given)[0], wanted)
        if (tmp_path / "out").exists():
            np.testing.assert_array_equal(transload.run(tmp_path / "out", given)["y"], wanted)

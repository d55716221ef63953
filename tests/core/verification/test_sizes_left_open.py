"""Sizes that a model leaves open are those of the artifact that it is compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import TransloadError

onnx = pytest.importorskip("onnx", reason="models are written by it")
pytest.importorskip("onnxruntime", reason="the judge of what is compared")


def _model(path: Path, sizes: list[str | int]) -> Path:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Relu", ["a [n]"], ["r"]), helper.make_node("ReduceMean", ["r"], ["y"], keepdims=1)], "open",
        [helper.make_tensor_value_info("a [n]", kind, sizes)], [helper.make_tensor_value_info("y", kind, [1] * len(sizes))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_the_artifact_says_them(tmp_path: Path) -> None:
    path = _model(tmp_path / "open.onnx", ["N", "?", "?"])
    artifact = transload.lower(transload.load(path, inputs={"a [n]": (4, 5, 7)}), "tosa")
    for given in (None, {"a [n]": np.ones((4, 5, 7), np.float32)}):
        found = transload.compare(path, artifact, given)
        assert found.worst("cos") == 1


def test_not_where_it_is_of_another_model(tmp_path: Path) -> None:
    """Of other known sizes, or another rank: what is said is that sizes are open."""
    path = _model(tmp_path / "open.onnx", [2, "?"])
    for shape in ((3, 5), (2, 5, 1)):
        other = _model(tmp_path / "other.onnx", list(shape))
        with pytest.raises(TransloadError, match="no static shape"):
            transload.compare(path, transload.lower(transload.load(other), "tosa"))

"""A model and an artifact that take their channels in different places are given one image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.cli import run as command
from transload.errors import TransloadError
from transload.ir import F32, Module, TensorType
from transload.samples.preprocess import Preprocess
from transload.testing import build_module

onnx = pytest.importorskip("onnx", reason="models are written by it")
pytest.importorskip("onnxruntime", reason="the judge of what is compared")
image = pytest.importorskip("PIL.Image", reason="images are read by it")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """Which takes channels first: the greatest number of each."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("ReduceMax", ["x"], ["y"], axes=[2, 3], keepdims=0)], "first",
        [helper.make_tensor_value_info("x", kind, [1, 3, 5, 6])], [helper.make_tensor_value_info("y", kind, [1, 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "first.onnx")
    return tmp_path / "first.onnx"


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 6, 3), np.uint8)
    image.fromarray(pixels).save(tmp_path / "picture.png")
    return tmp_path / "picture.png"


def _last(name: str = "x") -> Module:
    return build_module([TensorType((1, 5, 6, 3), F32)],
                        lambda b, x: b.emit("top.Reduce", x, mode="ReduceMax", axes=(1, 2), keepdims=False), [name])


@pytest.mark.parametrize("name", ["x", "picture"])
@pytest.mark.parametrize("preprocess", [None, Preprocess(channel_format="nhwc"), Preprocess(scale=(0.5, 0.25, 0.125))])
def test_each_is_given_it_as_it_takes_it(first: Path, picture: Path, name: str, preprocess: Preprocess | None) -> None:
    found = transload.compare(first, _last(name), {"x": str(picture)}, preprocess=preprocess)
    assert found.tensors[0].metrics["max_abs"] == 0


def test_the_file_beside_an_artifact_says_its_own_layout(first: Path, picture: Path, tmp_path: Path) -> None:
    path = tmp_path / "made" / "last.mlir"
    path.parent.mkdir()
    transload.save(_last(), path)
    Preprocess(channel_format="nhwc", mean=(1.0, 2.0, 3.0)).write(path.parent / "preprocess.toml")
    assert command(["compare", str(first), str(path), "--input", str(picture)]) == 0


def test_arrays_are_given_as_they_are(first: Path) -> None:
    with pytest.raises(TransloadError, match="shape"):
        transload.compare(first, _last(), {"x": np.zeros((1, 3, 5, 6), np.float32)})

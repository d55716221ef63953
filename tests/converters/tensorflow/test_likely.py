"""The example in the error about inputs without a shape: what can be typed as it stands, and then computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli.arguments import parse_given
from transload.errors import ReadError

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder

F = T("float32")
FILTER = const("w", np.ones((3, 3, 4, 2), np.float32))
CONV = {"T": F, "strides": [1, 1, 1, 1], "padding": "SAME"}


def product(side: str, **turned: bool) -> list[Any]:
    operands = ("x", "w") if side == "left" else ("w", "x")
    return [const("w", np.ones((5, 7), np.float32)), node("y", "MatMul", *operands, T=F, **turned)]


@pytest.mark.parametrize(("nodes", "expected"), [
    ([FILTER, node("y", "Conv2D", "x", "w", data_format="NHWC", **CONV)], "x:1x224x224x4"),
    ([FILTER, node("y", "Conv2D", "x", "w", data_format="NCHW", **CONV)], "x:1x4x224x224"),
    ([FILTER, const("mean", np.ones(4, np.float32)), node("c", "Sub", "x", "mean", T=F), const("at", np.int32(0)),
      node("e", "ExpandDims", "c", "at", T=F), node("y", "Conv2D", "e", "w", data_format="NHWC", **CONV)], "x:224x224x4"),
    (product("left"), "x:1x5"), (product("left", transpose_b=True), "x:1x7"), (product("right"), "x:7x1"),
    ([node("y", "MaxPool", "x", T=F, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")], "x:1x224x224x3"),
    ([placeholder("z", (2, 5)), const("w", np.ones((5, 7), np.float32)), node("p", "Mul", "z", "x", T=F),
      node("y", "MatMul", "p", "w", T=F)], "x:scalar"),
    ([node("y", "Exp", "x", T=F)], "x:scalar"),
])
def test_an_input_without_a_shape(tmp_path: Path, nodes: list[Any], expected: str) -> None:
    path = tmp_path / "m.pb"
    path.write_bytes(graph(placeholder("x", None), *nodes).SerializeToString())
    with pytest.raises(ReadError) as caught:
        transload.load(path)
    assert caught.value.hint == f"say them, for example: --shape {expected}"
    shapes, _ = parse_given([expected], ())
    assert transload.legalize(transload.load(path, inputs=shapes)).outputs.keys() == {"y"}


def test_one_image(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    path.write_bytes(graph(placeholder("x", (None, None, 3)), node("y", "Neg", "x", T=F)).SerializeToString())
    with pytest.raises(ReadError, match="--shape x:224x224x3"):
        transload.load(path)


def test_inputs_of_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    path.write_bytes(graph(
        placeholder("line", (None,), "str"), node("length", "StringLength", "line"),
        node("y", "Cast", "length", SrcT=T("int32"), DstT=F)).SerializeToString())
    with pytest.raises(ReadError, match="the model is given texts") as caught:
        transload.load(path)
    assert "input 'line': is a tensor of texts" in str(caught.value) and "--shape length:SIZES" in caught.value.hint
    assert list(transload.load(path, inputs={"length": (3,)}).inputs) == ["length"]


@pytest.mark.parametrize(("user", "why"), [
    (node("found", "LookupTableFindV2", "table", "x", "default", Tin=T("int64"), Tout=F), "it looks texts or numbers up"),
    (node("found", "ReadVariableOp", "table", dtype=F), "it works on what is kept between runs")])
def test_what_is_kept_outside_of_a_frozen_graph_is_no_input(tmp_path: Path, user: Any, why: str) -> None:
    """A table that the file has the place of alone is nothing that anybody can give; what is looked up is."""
    path = tmp_path / "m.pb"
    path.write_bytes(graph(
        placeholder("x", (3,), "int64"), placeholder("table", (), "resource"), const("default", np.float32(0)), user,
        node("y", "Neg", "found", T=F)).SerializeToString())
    with pytest.raises(ReadError, match="is given what is kept outside of its graph") as caught:
        transload.load(path)
    assert f"{user.op} at 'found': {why}" in str(caught.value) and "--shape found:SIZES" in caught.value.hint
    assert list(transload.load(path, inputs={"found": (3,)}).inputs) == ["found"]

"""TensorFlow as the judge: graphs, SavedModels, states. Run where it is installed (`make test-tf`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.plugin import Source
from transload_converters.tensorflow.reader import outline
from transload_converters.tensorflow.runtime import available, open_model

from tests.converters.tensorflow.test_executor import cond
from tests.converters.tensorflow.test_savedmodel import TENSORS, W, first_kind, write_model
from tests.support.tensorflow_graphs import T, const, graph, node, placeholder

needs_tensorflow = pytest.mark.skipif(available() is not None, reason="tensorflow is not installed")


def test_the_outline_of_a_graph_is_what_a_session_is_asked(tmp_path: Path) -> None:
    graph_def = graph(
        const("yes", np.array(True)), node("training", "PlaceholderWithDefault", "yes", dtype=T("bool"), shape=()),
        placeholder("x", (2,)), node("y", "Neg", "x", T=T("float32")), node("z", "LogicalNot", "training"))
    source = Source(_data=graph_def.SerializeToString(), name="graph")
    assert outline(source, ["x"]) == ({"x": "x:0"}, {"y": "y:0", "z": "z:0"}, ["training"])
    folder = write_model(tmp_path / "m", first_kind(), tensors=TENSORS)
    assert outline(Source(folder / "saved_model.pb"), []) == ({"input": "x:0"}, {"output": "y:0"}, [])


@needs_tensorflow
def test_a_graph_and_its_intermediate_values(tmp_path: Path) -> None:
    (tmp_path / "m.pb").write_bytes(graph(
        placeholder("x", (2,)), node("h", "Neg", "x", T=T("float32")), node("y", "Exp", "h", T=T("float32"))).SerializeToString())
    x = np.array([0, 1], np.float32)
    found = open_model(tmp_path / "m.pb")({"x": x}, keep=True)
    assert list(found) == ["h", "y"]
    np.testing.assert_allclose(found["y"], np.exp(-x), rtol=1e-6)


@needs_tensorflow
def test_a_saved_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", first_kind(), tensors=TENSORS)
    x = np.ones((1, 2), np.float32)
    found = open_model(folder / "saved_model.pb")({"input": x})
    np.testing.assert_allclose(found["output"], x @ W)


@needs_tensorflow
def test_a_conversion_is_judged(tmp_path: Path) -> None:
    (tmp_path / "m.pb").write_bytes(cond().SerializeToString())
    assert transload.convert(tmp_path / "m.pb", "tosa", tmp_path / "out").verification.status == "passed"

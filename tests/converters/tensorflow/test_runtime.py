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
from tests.converters.tensorflow.test_objects import model_of_copies, written
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
def test_a_saved_model_whose_saver_restores_copies(tmp_path: Path) -> None:
    """Its variables were left without values, where TensorFlow 2's own loader gives them what their objects have."""
    run = open_model(written(tmp_path / "m", *model_of_copies()) / "saved_model.pb")
    np.testing.assert_array_equal(run({"x": np.ones((1, 2), np.float32)})["y"], np.ones((1, 2), np.float32) @ W)


def two_signatures(folder: Path) -> Path:
    """A model with the signatures serving_default, a product, and other, the exponential of that."""
    meta = first_kind("serving_default", "other")
    meta.graph_def.node.append(node("z", "Exp", "y", T=T("float32")))
    meta.signature_def["other"].outputs["output"].name = "z:0"
    return write_model(folder, meta, tensors=TENSORS)


def test_the_outline_is_of_the_signature_that_is_asked_for(tmp_path: Path) -> None:
    file = two_signatures(tmp_path / "m") / "saved_model.pb"
    assert outline(Source(file, function="other"), []) == ({"input": "x:0"}, {"output": "z:0"}, [])
    assert outline(Source(file, function="main"), []) == outline(Source(file), []) == ({"input": "x:0"}, {"output": "y:0"}, [])


@needs_tensorflow
def test_what_is_converted_of_another_signature_is_judged_by_that(tmp_path: Path) -> None:
    folder = two_signatures(tmp_path / "m")
    verdict = transload.convert(folder, "tosa", tmp_path / "other", function="other").verification
    assert verdict.status == "passed" and verdict.runtime == "tensorflow"
    transload.convert(folder, "tosa", tmp_path / "default")
    assert transload.compare(folder, tmp_path / "other", function="other").worst("cos") == pytest.approx(1)
    assert transload.compare(folder, tmp_path / "default", function="other").worst("cos") < 0.9


@needs_tensorflow
def test_a_conversion_is_judged(tmp_path: Path) -> None:
    (tmp_path / "m.pb").write_bytes(cond().SerializeToString())
    assert transload.convert(tmp_path / "m.pb", "tosa", tmp_path / "out").verification.status == "passed"


@needs_tensorflow
def test_random_numbers_without_a_seed_are_not_judged(tmp_path: Path) -> None:
    for seed, status in ((0, "inconclusive"), (3, "passed")):
        (tmp_path / "m.pb").write_bytes(graph(
            placeholder("x", (4,)), const("shape", np.array([4], np.int32)),
            node("drawn", "RandomUniform", "shape", T=T("int32"), dtype=T("float32"), seed=seed, seed2=seed),
            node("y", "Add", "x", "drawn", T=T("float32"))).SerializeToString())
        found = transload.convert(tmp_path / "m.pb", "tosa", tmp_path / status, options={"random": "drawn"}).verification
        assert found.status == status and ("drawn: random numbers without a seed" in found.why) == (not seed)

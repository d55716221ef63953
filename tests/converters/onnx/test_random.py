"""Random numbers: refused, or drawn once where the user, or a seed of Dropout in the model, says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError

from tests.support.onnx_models import make_model, node, read_model

X = np.linspace(0, 1, 600, dtype=np.float32).reshape(20, 30)
NODES = {
    "uniform": node("RandomUniform", [], ["y"], shape=[20, 30], low=0.5, high=2.0, seed=3.0),
    "normal": node("RandomNormalLike", ["x"], ["y"], mean=1.0, seed=3.0),
    "bernoulli": node("Bernoulli", ["x"], ["y"], seed=3.0),
}


def _drawn(operator: Any) -> Any:
    model = make_model([operator], {"x": X}, ["y"], opset=22)
    return transload.legalize(read_model(model), random="drawn")


@pytest.mark.parametrize("kind", list(NODES))
def test_numbers_are_drawn_once_and_a_note_says_so(kind: str) -> None:
    hub = _drawn(NODES[kind])
    first, second = (transload.run(hub, {"x": X})["y"] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert any("the same in every run" in note for note in hub.notes)
    low, high = {"uniform": (1.15, 1.35), "normal": (0.85, 1.15), "bernoulli": (0.4, 0.6)}[kind]
    assert low < first.mean() < high
    if kind == "bernoulli":
        assert set(np.unique(first)) == {0.0, 1.0} and not first.flat[0] and first.flat[-1]


def test_multinomial_draws_classes_as_often_as_they_are_probable() -> None:
    scores = np.log(np.array([[0.1, 0.6, 0.3]], np.float32))
    operator = node("Multinomial", ["x"], ["y"], sample_size=4000, seed=1.0)
    model = make_model([operator], {"x": scores}, ["y"], opset=22)
    drawn = transload.run(transload.legalize(read_model(model), random="drawn"), {"x": scores})["y"]
    np.testing.assert_allclose(np.bincount(drawn.reshape(-1)) / 4000, [0.1, 0.6, 0.3], atol=0.03)


@pytest.mark.parametrize("kind", list(NODES))
def test_numbers_are_refused_unless_asked_for(kind: str) -> None:
    with pytest.raises(ConversionError, match="random=drawn"):
        transload.legalize(read_model(make_model([NODES[kind]], {"x": X}, ["y"], opset=22)))


def test_dropout_in_training_takes_the_seed_of_the_model() -> None:
    constants = {"r": np.float32(0.25), "t": np.array(True)}
    def model(**seed: int) -> Any:
        return read_model(make_model([node("Dropout", ["x", "r", "t"], ["y", "m"], **seed)], {"x": X}, ["y", "m"], constants))
    made = transload.run(transload.legalize(model(seed=4)), {"x": X})
    np.testing.assert_allclose(made["y"], made["m"] * X / 0.75, rtol=1e-6)
    assert 0.7 < made["m"].mean() < 0.8
    with pytest.raises(ConversionError, match="random numbers"):
        transload.legalize(model())


@pytest.mark.parametrize(("operator", "constants"), [
    (node("Dropout", ["x", "r", "t"], ["y"], seed=4), {"r": np.float32(0.25), "t": np.array(True)}), (NODES["bernoulli"], {})])
def test_other_random_numbers_are_no_error(tmp_path: Path, operator: Any, constants: Any) -> None:
    """onnxruntime draws others with the same seed: the result was called wrong."""
    file = tmp_path / "random.onnx"
    file.write_bytes(make_model([operator], {"x": X}, ["y"], constants, 15).SerializeToString())
    artifact = transload.convert(file, "tosa", tmp_path / "out", options={"random": "drawn"})
    assert artifact.verification.status == "inconclusive"
    assert artifact.verification.why.startswith("y: random numbers, of which ONNX does not say how they are drawn")


@pytest.mark.parametrize(("scale", "status"), [(0.6, "inconclusive"), (0.5, "passed")])
def test_corners_at_a_length_with_a_fraction_are_not_judged(tmp_path: Path, scale: float, status: str) -> None:
    """onnxruntime leaves the fraction out, and does not give what ONNX's own tests say: our result was called wrong."""
    resize = node("Resize", ["x", "", "scales"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")
    file = tmp_path / "resized.onnx"
    x, scales = X.reshape(1, 1, 6, 100)[..., :4], np.array([1, 1, 1, scale], np.float32)
    file.write_bytes(make_model([resize], {"x": x}, ["y"], {"scales": scales}, 19).SerializeToString())
    verification = transload.convert(file, "tosa", tmp_path / "out").verification
    assert verification.status == status
    assert verification.why.startswith("y: the scales of corners") == (status == "inconclusive")


@pytest.mark.parametrize(("size", "status"), [(5, "inconclusive"), (None, "passed")])
def test_places_in_an_output_of_another_size_are_not_judged(tmp_path: Path, size: int | None, status: str) -> None:
    """ONNX's `test_maxunpool_export_with_output_shape`: onnxruntime counts places in the larger output."""
    unpool = node("MaxUnpool", ["x", "places", *(["size"] if size else [])], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    constants = {"places": np.array([[[[5, 7], [13, 15]]]], np.int64)}
    if size:
        constants["size"] = np.array([1, 1, size, size], np.int64)
    file = tmp_path / "unpooled.onnx"
    file.write_bytes(make_model([unpool], {"x": X.reshape(-1)[:4].reshape(1, 1, 2, 2)}, ["y"], constants, 19).SerializeToString())
    artifact = transload.convert(file, "tosa", tmp_path / "out")
    assert artifact.verification.status == status
    if size:
        given = next(iter(transload.run(file, {"x": np.array([[[[5, 6], [7, 8]]]], np.float32)}).values()))
        assert given[0, 0].tolist() == [[0] * 5, [0, 5, 0, 6, 0], [0] * 5, [0, 7, 0, 8, 0], [0] * 5]

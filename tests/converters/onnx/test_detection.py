"""NonMaxSuppression and NonZero: computed where data are constants; padded where the user wants that; else refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import input_names
from transload.verification.padding import found_alone
from transload_converters.onnx.runtime import open_model

from tests.support.onnx_models import make_model, node, read_model

G = np.random.default_rng(11)


def _boxes(batch: int, count: int) -> np.ndarray:
    """Boxes [batch, count, 4] that overlap, their corners in any order."""
    corner, size = G.uniform(0, 3, (batch, count, 2)), G.uniform(0.5, 2, (batch, count, 2))
    made = np.concatenate([corner, corner + size], axis=2)
    return np.where(G.uniform(size=(batch, count, 1)) < 0.5, made, made[..., [2, 3, 0, 1]]).astype(np.float32)


def _outputs(model: Any, inputs: dict[str, np.ndarray], target: str = "") -> list[np.ndarray]:
    hub = transload.legalize(read_model(model), found="padded")
    if not target:
        return list(transload.run(hub, inputs).values())
    lowered = transload.lower(hub, target, **({"int64": "assumed"} if target == "tosa" else {}))
    return list(transload.run(lowered, dict(zip(input_names(lowered.main), inputs.values(), strict=True))).values())


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("floor", [None, 0.3])
def test_suppression_gives_what_onnxruntime_selects_and_then_minus_one(tmp_path: Path, center: int, floor: float | None) -> None:
    pytest.importorskip("onnxruntime")
    inputs = {"b": _boxes(2, 12), "s": G.uniform(0, 1, (2, 3, 12)).astype(np.float32)}
    if center:
        inputs["b"] = np.abs(inputs["b"])
    constants = {"n": np.array(5), "t": np.float32(0.4), **({} if floor is None else {"f": np.float32(floor)})}
    suppression = node("NonMaxSuppression", ["b", "s", *constants], ["y"], center_point_box=center)
    model = make_model([suppression], inputs, ["y"], constants, opset=11)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    wanted = open_model(file)(inputs)["y"]
    for made in (*_outputs(model, inputs), *_outputs(model, inputs, "tosa")):
        assert made.shape == (2 * 3 * 5, 3)
        np.testing.assert_array_equal(made[: len(wanted)], wanted)
        assert (made[len(wanted) :] == -1).all()
    held = make_model([suppression], {}, ["y"], {**inputs, **constants}, opset=11)
    np.testing.assert_array_equal(transload.run(transload.legalize(read_model(held)), {})["y"], wanted)


def test_places_of_what_is_not_zero_come_first() -> None:
    x = np.array([[0, 3, 0, -1], [2, 0, 0, 5]], np.int32)
    model = make_model([node("NonZero", ["x"], ["y"])], {"x": x}, ["y"])
    for made in (*_outputs(model, {"x": x}), *_outputs(model, {"x": x}, "tosa")):
        np.testing.assert_array_equal(made[:, :4], np.nonzero(x))
        assert made.shape == (2, 8) and (made[:, 4:] == -1).all()


NUMBERS = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, ml_dtypes.bfloat16,
    np.float32, np.float64]
"""The types of numbers that ONNX's NonZero takes."""


def _numbers_of(kind: Any, target: str) -> np.ndarray:
    """Numbers of a type, its ends among them: as far as a target with 32 bits has them."""
    whole = np.dtype(kind).kind in "iu"
    ends = [np.iinfo(kind).min, np.iinfo(kind).max] if whole else [-0.0, np.nan, np.inf, -np.inf]
    numbers = np.array([0, 1, 0, 100, 0, *([] if whole and target == "tosa" and np.dtype(kind).itemsize == 8 else ends)],
                       kind if whole else np.float64)
    return numbers.astype(kind)[:, None]


@pytest.mark.parametrize("target", ["", "tosa", "stablehlo", "onnx"])
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_every_type_are_looked_at(kind: Any, target: str) -> None:
    """Truth values were subtracted from themselves, which no target does, and the padding was asked for in vain."""
    x, nodes, looked = _numbers_of(kind, target), [], "x"
    wanted = np.array(np.nonzero(x.astype(np.float64)))
    if kind == ml_dtypes.bfloat16:
        x, nodes, looked = x.astype(np.float32), [node("Cast", ["x"], ["h"], to=16)], "h"
    (made,) = _outputs(make_model([*nodes, node("NonZero", [looked], ["y"])], {"x": x}, ["y"]), {"x": x}, target)
    np.testing.assert_array_equal(made[:, : wanted.shape[1]], wanted)
    assert made.shape == (2, x.size) and (made[:, wanted.shape[1] :] == -1).all()


@pytest.mark.parametrize("target", ["tosa", "stablehlo", "tflite", "onnx"])
@pytest.mark.parametrize("kind", [np.bool_, np.int32, np.int64, np.uint8, np.float32])  # those that onnxruntime looks at
def test_onnxruntime_finds_the_same(kind: Any, target: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    x = np.array([[0, 1, 0, 3], [0, 0, 5, 0]]).astype(kind)
    (tmp_path / "m.onnx").write_bytes(make_model([node("NonZero", ["x"], ["y"])], {"x": x}, ["y"]).SerializeToString())
    found = transload.convert(
        tmp_path / "m.onnx", target, tmp_path / "out", options={"found": "padded"}, input_data={"x": x}).verification
    assert found is not None and found.passed, found


def test_what_is_found_in_data_is_refused_by_default() -> None:
    model = make_model([node("NonZero", ["x"], ["y"])], {"x": np.zeros(4, np.float32)}, ["y"])
    with pytest.raises(ConversionError, match="found=padded"):
        transload.legalize(read_model(model))


@pytest.mark.parametrize("find", ["NonZero", "NonMaxSuppression"])
def test_what_is_found_is_verified_and_the_padding(find: str, tmp_path: Path) -> None:
    """Its shape was said to be wrong."""
    given: dict[str, np.ndarray] = {"x": np.maximum(G.normal(size=(4, 5)), 0).astype(np.float32)}
    if find == "NonMaxSuppression":
        given = {"x": _boxes(1, 9), "s": G.uniform(size=(1, 2, 9)).astype(np.float32)}
    constants = {"most": np.array(6, np.int64), "iou": np.array(0.1, np.float32)} if len(given) > 1 else {}
    model = make_model(
        [node(find, [*given, *constants], ["y"]), node("Transpose", ["y"], ["t"])], given, ["y", "t"], constants)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    found = transload.convert(
        tmp_path / "m.onnx", "tosa", tmp_path / "out", options={"found": "padded"}, input_data=given).verification
    assert found is not None and found.passed, found
    assert any(note.startswith("y: ") and "behind, -1 stands throughout" in note for note in found.notes)


@pytest.mark.parametrize("target", ["tosa", "onnx"])
def test_what_is_found_is_compared_as_it_is_verified(target: str, tmp_path: Path) -> None:
    """The model was refused, since how many there are is known by the options of its conversion alone."""
    x = np.maximum(G.normal(size=(4, 5)), 0).astype(np.float32)
    model = make_model([node("NonZero", ["x"], ["y"]), node("Relu", ["x"], ["r"])], {"x": x}, ["r", "y"])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    transload.convert(tmp_path / "m.onnx", target, tmp_path / "out", options={"found": "padded"}, input_data={"x": x})
    for per_layer in (False, True):
        found = transload.compare(tmp_path / "m.onnx", tmp_path / "out", {"x": x}, per_layer=per_layer)
        assert {each.name: (each.equal, each.note) for each in found.tensors}["y"] == (1.0, "")
        assert any("behind, -1 stands throughout" in note for note in found.notes)


def test_other_numbers_than_those_that_are_found_are_wrong() -> None:
    reference, padded = {"y": np.array([3, 5])}, {"y": -1}
    kept, notes = found_alone(reference, {"y": np.array([3, 5, -1, -1])}, padded)
    assert kept["y"].tolist() == [3, 5] and len(notes) == 1
    assert found_alone(reference, {"y": np.array([3, 7, -1])}, padded)[0]["y"].tolist() == [3, 7]
    for wrong in ([3, 5, -1, 0], [3], [[3, 5, -1]]):
        array = np.array(wrong)
        assert found_alone(reference, {"y": array}, padded)[0]["y"] is array
    array = np.array([3, 5, 9])
    assert found_alone(reference, {"y": array}, {})[0]["y"] is array
    assert found_alone(reference, {"y": array}, {"y": None})[0]["y"].tolist() == [3, 5]

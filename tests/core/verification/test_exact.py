"""Numbers that nothing rounded reaches have to be the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import transload
from transload.api import at_hub
from transload.ir import QuantType
from transload.verification.exact import exact_outputs, share_of_same
from transload.verification.tolerance import Tolerance
from transload.verification.verify import verify_conversion

from tests.support.onnx_models import make_model, node

FLOATS = np.array([3, 4, 3, 4, 3, 4], np.float32)
INTEGERS = FLOATS.astype(np.int32)
TO = {"int64": 7, "float": 1, "double": 11}
PAD = node("Pad", ["x", "p"], ["m"], mode="edge")
PLACES = {"p": np.array([1, 2])}


def model(nodes: list[Any], x: np.ndarray, constants: dict[str, Any] | None = None) -> bytes:
    return make_model(nodes, {"x": x}, ["y"], {**PLACES, **(constants or {})}, opset=19).SerializeToString()


@pytest.mark.parametrize(("nodes", "x", "constants", "exact"), [
    ([PAD, node("Neg", ["m"], ["y"])], INTEGERS, {}, True),
    ([PAD, node("Cast", ["m"], ["y"], to=TO["int64"])], FLOATS, {}, True),
    ([PAD, node("Cast", ["m"], ["y"], to=TO["int64"])], FLOATS.astype(np.float64), {}, False),
    ([node("Mul", ["x", "c"], ["m"]), node("ReduceSum", ["m"], ["y"])], INTEGERS, {"c": np.int32(3)}, True),
    ([node("ReduceMean", ["x"], ["y"])], INTEGERS, {}, False),
    ([node("Gather", ["c", "x"], ["y"])], INTEGERS, {"c": np.arange(9)}, True),
    ([PAD, node("Greater", ["m", "c"], ["y"])], FLOATS, {"c": np.float32(3.5)}, True),
    ([node("Mul", ["x", "c"], ["m"]), node("Greater", ["m", "c"], ["y"])], FLOATS, {"c": np.float32(3.5)}, False),
    ([node("Mul", ["x", "c"], ["m"]), node("Cast", ["m"], ["y"], to=TO["int64"])], FLOATS, {"c": np.float32(0.3)}, False),
    ([node("Mul", ["x", "c"], ["m"]), node("ArgMax", ["m"], ["y"], axis=0)], FLOATS, {"c": np.float32(0.3)}, False),
    ([node("Cast", ["x"], ["m"], to=TO["float"]), node("Cast", ["m"], ["y"], to=TO["int64"])], INTEGERS, {}, False),
    ([PAD, node("Identity", ["m"], ["y"])], FLOATS, {}, True),
    ([PAD, node("Identity", ["m"], ["y"])], FLOATS.astype(np.float64), {}, True),
    ([node("Greater", ["x", "c"], ["b"]), node("Where", ["b", "x", "c"], ["y"])], FLOATS, {"c": np.float32(3.5)}, True),
    ([node("Mul", ["x", "x"], ["m"]), node("Where", ["b", "m", "x"], ["y"])], FLOATS, {"b": FLOATS > 3}, False),
    ([node("Cast", ["x"], ["y"], to=TO["float"])], FLOATS.astype(np.float64), {}, False),
])
def test_which_outputs_have_to_be_the_same(nodes: list[Any], x: np.ndarray, constants: dict[str, Any], exact: bool) -> None:
    """Floats have where they are moved alone; but not, nor what is made of them, where these may be held in fewer bits."""
    module = transload.load(text=model(nodes, x, constants), format="onnx")
    assert exact_outputs(at_hub(module)) == [exact]
    assert exact_outputs(at_hub(module), floats=False) == [exact and x.dtype == np.int32]


@pytest.mark.parametrize(("nodes", "exact"), [
    ([node("Transpose", ["c"], ["d"], perm=[1, 0]), node("Concat", ["x", "d"], ["y"], axis=0)], True),
    ([node("Exp", ["c"], ["d"]), node("Transpose", ["d"], ["e"]), node("Concat", ["x", "e"], ["y"], axis=0)], False),
    ([node("Exp", ["c"], ["y"]), node("Neg", ["x"], ["unused"])], False),
    ([node("Sign", ["c"], ["d"]), node("Transpose", ["d"], ["e"]), node("Concat", ["x", "e"], ["y"], axis=0)], True),
    ([node("Clip", ["x", "low", ""], ["y"])], True)])
def test_constants_that_were_computed_of_others_may_be_rounded(nodes: list[Any], exact: bool) -> None:
    constants = {"c": np.array([[0.1, 0.7], [1.3, 2.9], [0.2, -5.5]], np.float32), "low": np.float32(0.3)}
    source = transload.load(text=model(nodes, FLOATS.reshape(2, 3), constants), format="onnx")
    hub = at_hub(source)
    assert exact_outputs(hub, source=source) == [exact] and exact_outputs(hub) == [True]


@pytest.mark.parametrize(("x", "settings", "status"), [
    (INTEGERS, [], "failed"), (INTEGERS, ["integer=2"], "passed"), (FLOATS, [], "failed")])
def test_a_wrong_order_of_small_numbers_fails(x: np.ndarray, settings: list[str], status: str, tmp_path: Path) -> None:
    """Three of nine numbers were a step away, which half might be."""
    cast = node("Cast", ["m"], ["y"], to=TO["int64"])
    path = tmp_path / "right.onnx"
    path.write_bytes(model([PAD, cast], x))
    right = transload.load(path)
    other = node("Pad", ["x", "p"], ["m"], mode="reflect")
    wrong = transload.lower(transload.load(text=model([other, cast], x), format="onnx"), "stablehlo")
    verdict = verify_conversion(right, wrong, hub=at_hub(right), inputs={"x": x}, tolerance=Tolerance.parse(settings))
    assert verdict.status == status and 0.5 < (verdict.tensors[0].equal or 0) < 1.0, verdict
    assert all("have to be the same" in each for each in verdict.broken)


@pytest.mark.parametrize(("settings", "status"), [
    ([], "failed"), (["cos=0.99"], "passed"), (["cos=0.99", "integer=0"], "failed")])
def test_floats_that_may_be_farther_away_are_rounded(settings: list[str], status: str, tmp_path: Path) -> None:
    """A truth in 4096 is another, as near the limit in fewer bits; `cos`, which limits truths, had no effect."""
    x = np.linspace(0, 1, 4096, dtype=np.float32)
    right, wrong = (model([node("Greater", ["x", "c"], ["y"])], x, {"c": x[place]}) for place in (1000, 1001))
    path = tmp_path / "right.onnx"
    path.write_bytes(right)
    source, other = transload.load(path), transload.lower(transload.load(text=wrong, format="onnx"), "stablehlo")
    verdict = verify_conversion(source, other, hub=at_hub(source), inputs={"x": x}, tolerance=Tolerance.parse(settings))
    assert verdict.status == status and verdict.tensors[0].equal == 1 - 1 / 4096, verdict


def test_a_chip_that_computes_in_fewer_bits_is_judged_by_its_tolerance(tmp_path: Path) -> None:
    """Of bf16 two numbers are others; they had to be the same."""
    x = np.linspace(0, 1, 4096, dtype=np.float32)
    path = tmp_path / "right.onnx"
    path.write_bytes(model([node("Greater", ["x", "c"], ["y"])], x.reshape(1, 1, 64, 64), {"c": np.float32(0.3)}))
    made = transload.convert(
        path, "tp-large", tmp_path / "out", input_data={"x": x.reshape(1, 1, 64, 64)}, options={"floats": "bfloat16"})
    assert made.verification is not None and made.verification.passed
    assert 0.99 < (made.verification.tensors[0].equal or 0) < 1.0


@pytest.mark.parametrize(("settings", "status"), [([], "failed"), (["cos=0.99"], "passed"), (["floor=10"], "passed")])
def test_one_float_from_a_wrong_place_fails(settings: list[str], status: str, tmp_path: Path) -> None:
    """Of 20000 it is nothing beside the size of the others."""
    places = np.random.default_rng(0).integers(0, 64, 20_000)
    other = np.where(np.arange(20_000) == 777, (places + 1) % 64, places)
    x = np.random.default_rng(1).normal(size=64).astype(np.float32)
    right, wrong = (model([node("Gather", ["x", "i"], ["y"], axis=0)], x, {"i": each}) for each in (places, other))
    path = tmp_path / "right.onnx"
    path.write_bytes(right)
    source, made = transload.load(path), transload.lower(transload.load(text=wrong, format="onnx"), "tosa")
    verdict = verify_conversion(source, made, hub=at_hub(source), tolerance=Tolerance.parse(settings))
    assert verdict.status == status and len(verdict.broken) == (status == "failed")


def gather(path: Path, places: np.ndarray, x: np.ndarray) -> Path:
    path.write_bytes(model([node("Gather", ["x", "i"], ["y"], axis=0)], x, {"i": places}))
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16])
def test_comparing_asks_the_same_of_what_is_moved(dtype: Any, tmp_path: Path) -> None:
    """As verification does: one of 20000 from a wrong place was within the usual limits."""
    places = np.random.default_rng(0).integers(0, 64, 20_000)
    other = np.where(np.arange(20_000) == 777, (places + 1) % 64, places)
    x = np.arange(64).astype(dtype)
    path = gather(tmp_path / "right.onnx", places, x)
    right, wrong = (transload.lower(transload.load(each), "tosa") for each in (path, gather(tmp_path / "w.onnx", other, x)))
    assert not transload.compare(path, right, {"x": x}).broken
    assert not transload.compare(path, wrong, {"x": x}, tolerance=["cos=0.99", "integer=64"]).broken
    found = transload.compare(path, wrong, {"x": x})
    assert len(found.broken) == 1 and "have to be the same" in found.broken[0] and found.notes == [
        f"{found.broken[0]}, where --tolerance says nothing else"]
    told = {"name", "shape", "dtype", "metrics", "note", "unmeasured", "equal", "offset", "turned"}
    assert {*found.as_dict()["tensors"][0]} == told  # what limits alone are asked of is nobody's to read


def test_comparing_with_what_holds_fewer_bits_rounds_what_is_moved(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=64).astype(np.float32)
    path = gather(tmp_path / "right.onnx", np.arange(64)[::-1].copy(), x)
    halves = [node("Cast", ["x"], ["h"], to=10), node("Gather", ["h", "i"], ["g"], axis=0), node("Cast", ["g"], ["y"], to=1)]
    other = tmp_path / "halves.onnx"
    other.write_bytes(model(halves, x, {"i": np.arange(64)[::-1].copy()}))
    assert not transload.compare(path, transload.lower(transload.load(other), "tosa"), {"x": x}).broken


@pytest.mark.parametrize("offset", [0, 40])
def test_comparing_counts_steps_where_a_type_in_between_is_wrong(examples: Path, offset: int) -> None:
    """The type itself was the mistake, and taken for another quantization of the model, of which nobody asks that."""
    pytest.importorskip("ai_edge_litert")
    path = examples / "digits" / "digits_int8.tflite"
    artifact = transload.load(path)
    between = next(value for op in artifact.ops() for value in op.results if value.name == "depthwise")
    was = between.type.element
    between.type = between.type.with_element(QuantType(was.storage, was.expressed, was.scales, (was.zero_points[0] + offset,)))
    found = transload.compare(path, artifact)
    assert bool(found.broken) is bool(offset)
    assert any("steps, allowed" in note for note in found.notes) is bool(offset), found.notes


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_floats_that_are_the_same(dtype: Any) -> None:
    """But for a rounding to what holds them, the sign of 0, and what is so small that processors take it for 0."""
    numbers = np.array([1 / 3, -2.5, 0.0, 1e-40, np.inf, -np.inf, np.nan, 7e4], np.float64)
    with np.errstate(over="ignore"):
        right = numbers.astype(dtype)
    held = right.astype(np.float64).astype(np.float32)
    held[2:4] = -0.0, 0.0
    assert share_of_same(right, held) == share_of_same(right, right.copy()) == 1.0
    for place in range(right.size):
        wrong = held.copy()
        wrong[place] = 1.0 if place != 1 else np.nextafter(np.nextafter(held[1], 0), 0)
        assert share_of_same(right, wrong) == 1 - 1 / right.size, place
    assert share_of_same(right[:0], right[:0]) is None and share_of_same(np.array([1j]), np.array([1j])) is None

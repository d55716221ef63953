"""Outputs of few values: a step, or another label, is most of what these have, and a wrong artifact was near enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import transload
from transload.analysis.choices import chosen_outputs
from transload.verification.differences import difference
from transload.verification.limits import broken_limits, passes_if_constant
from transload.verification.ties import excused_by_ties
from transload.verification.tolerance import Tolerance
from transload.verification.verify import Verification, verify_conversion
from transload.verification.ways import Ways

from tests.support.onnx_models import make_model, node

IMAGE = {"x": np.zeros((1, 3, 16, 16), np.float32)}
WEIGHTS = np.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(np.float32)
BYTES = np.random.default_rng(1).integers(-127, 128, (32, 100)).astype(np.int8)
CONV = node("Conv", ["x", "w"], ["c"], pads=[1] * 4)
TO = {"uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float": 1}


def judged(folder: Path, right: Any, wrong: Any) -> Verification:
    """The verdict on what becomes of a model, as by a mistake of a reader's, beside the runtime that runs another one."""
    for name, model in (("right", right), ("wrong", wrong)):
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    made = transload.load(folder / "wrong.onnx")
    return verify_conversion(
        transload.load(folder / "right.onnx"), transload.lower(made.clone(), "tosa"), hub=transload.legalize(made))


def mask(threshold: float, kind: str = "uint8", more: list[Any] | None = None, **constants: Any) -> Any:
    last = "y" if not more else "m"
    nodes = [CONV, node("Greater", ["c", "t"], ["b"]), node("Cast", ["b"], [last], to=TO[kind]), *(more or [])]
    return make_model(nodes, IMAGE, ["y"], {"w": WEIGHTS, "t": np.float32(threshold), **constants}, opset=17)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int32", "int64"])
def test_a_mask_of_integers_is_judged_as_truths_are(kind: str, tmp_path: Path) -> None:
    """Zeros throughout were a step from a mask at most, as was any other threshold."""
    for threshold in (1e9, 1.0):
        verdict = judged(tmp_path, mask(3.0, kind), mask(threshold, kind))
        assert verdict.failed and "of its labels are others" in verdict.broken[0], verdict
    assert judged(tmp_path, mask(3.0, kind), mask(3.0, kind)).passed


def test_a_mask_times_a_constant_is_one(tmp_path: Path) -> None:
    """One truth in 1000 that is another was 255 steps away."""
    more = [node("Mul", ["m", "k"], ["y"])]
    made = transload.legalize(transload.load(text=mask(0.0, "int32", more, k=np.int32(255)).SerializeToString(), format="onnx"))
    assert chosen_outputs(made) == {0}
    wanted = np.where(np.random.default_rng(7).normal(size=1000) > 0, 255, 0)
    flipped = np.where(np.arange(1000) < 1, 255 - wanted, wanted)
    assert not broken_limits(difference("y", wanted, flipped), Tolerance(), chosen=True)
    assert broken_limits(difference("y", wanted, flipped), Tolerance(integer=0), chosen=True)


def test_a_mask_at_both_ends_of_its_type_is_judged(tmp_path: Path) -> None:
    """Bytes that are all 0 or 255 counted as cut off, which says nothing, and no such mask was ever verified."""
    more = [node("Mul", ["m", "k"], ["y"])]
    right, wrong = (mask(each, "uint8", more, k=np.uint8(255)) for each in (3.0, 1.0))
    assert judged(tmp_path, right, right).passed
    assert judged(tmp_path, right, wrong).failed
    comparison = transload.compare(tmp_path / "right.onnx", transload.lower(transload.load(tmp_path / "right.onnx"), "tosa"))
    assert not comparison.silent


def test_zeros_are_not_a_mask_of_few_ones() -> None:
    wanted = np.zeros(10_000, np.uint8)
    wanted[:10] = 1
    broken = broken_limits(difference("y", wanted, np.zeros_like(wanted)), Tolerance(), chosen=True)
    assert broken == ["y: 0.10% of its labels are others, allowed 0.00%"]
    assert broken_limits(difference("y", wanted > 0, np.zeros_like(wanted) > 0), Tolerance())


@pytest.mark.parametrize(("nodes", "is_chosen"), [
    ([node("ArgMax", ["c"], ["y"], axis=1)], True),
    ([node("ArgMax", ["c"], ["a"]), node("Cast", ["a"], ["f"], to=TO["float"]), node("Cast", ["f"], ["y"], to=TO["int8"])], True),
    ([node("TopK", ["c", "two"], ["v", "y"], axis=1)], True),
    ([node("ArgMax", ["c"], ["a"], axis=1), node("Gather", ["table", "a"], ["y"])], True),
    ([node("Greater", ["c", "zero"], ["b"]), node("Where", ["b", "one", "seven"], ["y"])], True),
    ([node("Greater", ["c", "zero"], ["b"]), node("Not", ["b"], ["y"])], True),
    ([node("Greater", ["c", "zero"], ["b"]), node("Cast", ["b"], ["i"], to=TO["int64"]), node("ReduceSum", ["i"], ["y"])], False),
    ([node("Cast", ["c"], ["y"], to=TO["int64"])], False),
    ([node("Greater", ["c", "zero"], ["b"]), node("Cast", ["c"], ["i"], to=TO["int64"]), node("Where", ["b", "i", "one"], ["y"])],
     False),
    ([node("Greater", ["c", "zero"], ["b"]), node("Cast", ["b"], ["y"], to=TO["float"])], False),
])
def test_which_outputs_are_chosen(nodes: list[Any], is_chosen: bool) -> None:
    """Counts are not, nor floats, which cosines judge more strictly."""
    held = {"w": WEIGHTS, "zero": np.float32(0), "two": np.array([2]), "table": np.array([3, 1, 4, 1]), "one": np.int64(1),
            "seven": np.int64(7)}
    used = {name for each in [CONV, *nodes] for name in each.input}
    model = make_model([CONV, *nodes], IMAGE, ["y"], {name: held[name] for name in held if name in used}, opset=17)
    hub = transload.legalize(transload.load(text=model.SerializeToString(), format="onnx"))
    assert chosen_outputs(hub) == ({0} if is_chosen else set())


def classes(weights: np.ndarray, bias: float) -> Any:
    nodes = [node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4), node("ArgMax", ["c"], ["y"], axis=1, keepdims=0)]
    held = {"w": weights, "b": np.array([bias] + [0] * (len(weights) - 1), np.float32)}
    return make_model(nodes, IMAGE, ["y"], held, opset=17)


def test_labels_are_judged_by_how_many_are_others(tmp_path: Path) -> None:
    """Of two classes each is a step from the other; of four the second is no nearer to the first than the last is."""
    two = WEIGHTS[:2]
    for wrong in (classes(two, 100), classes(-two, 5), classes(two, 0)):
        verdict = judged(tmp_path, classes(two, 5), wrong)
        assert verdict.failed and "of its labels are others" in verdict.broken[0], verdict
    assert judged(tmp_path, classes(WEIGHTS, 0), classes(WEIGHTS[[1, 0, 2, 3]], 0)).failed
    assert judged(tmp_path, classes(WEIGHTS, 0), classes(WEIGHTS, 0)).passed


def test_compare_tells_masks_by_how_many_are_equal(tmp_path: Path) -> None:
    for threshold in (3.0, 1.0):
        (tmp_path / f"{threshold}.onnx").write_bytes(mask(threshold).SerializeToString())
    (found,) = transload.compare(tmp_path / "3.0.onnx", tmp_path / "1.0.onnx").tensors
    assert found.equal is not None and found.equal < 1 and "cos" not in found.metrics


def ties(actual: np.ndarray, scores: np.ndarray, scale: float = 1.0) -> dict[int, float]:
    """Whether labels of these quantized scores are excused."""
    held = {"s": np.float32(scale), "z": np.int8(0)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("ArgMax", ["d"], ["y"], axis=1, keepdims=0)]
    model = make_model(nodes, {"x": scores}, ["y"], held, opset=17)
    hub = transload.legalize(transload.load(text=model.SerializeToString(), format="onnx"))
    reference = {"q": scores.astype(np.int8), "d": scores, "y": scores.argmax(1)}
    return excused_by_ties(hub, {"x": scores}, reference, {"y": actual}, [0], "reference", Tolerance())


def test_labels_of_scores_a_step_apart_are_ties() -> None:
    """Two right programs round scores to another step here and there, and each label is another where the next score was near."""
    scores = np.random.default_rng(7).integers(-8, 9, (500, 10)).astype(np.float32)
    labels, ordered = scores.argmax(1), np.sort(scores, 1)
    other = np.where(ordered[:, -1] - ordered[:, -2] <= 1, np.argsort(scores, 1, kind="stable")[:, -2], labels)
    assert 0.2 < (other != labels).mean() < 0.9
    assert ties(other, scores) == {0: pytest.approx((other != labels).mean())}
    assert not ties((labels + 1) % 10, scores) and not ties(np.zeros_like(labels), scores)
    far = np.where(np.arange(500) < 10, scores.argmin(1), labels)
    assert not ties(far, scores), "ten labels of the least scores"


def test_scores_that_are_all_ties_excuse_nothing() -> None:
    scores = np.random.default_rng(7).integers(0, 2, (200, 2)).astype(np.float32)
    assert not ties(np.zeros(200, np.int64), scores)


def test_labels_are_as_near_as_the_ways_of_a_runtime() -> None:
    """The judge's two ways differ in one label of ten, by many classes; a cosine would say how far these lie from one another."""
    labels = np.random.default_rng(7).integers(0, 10, 100)
    one, other = np.where(np.arange(100) < 10, 9 - labels, labels), np.where(np.arange(100) >= 95, (labels + 1) % 10, labels)
    ways = Ways({"a": lambda given: {"y": labels}, "b": lambda given: {"y": one}})
    assert ways.judge({}, {"y": other}, [0], [], {0}).excused
    assert not ways.judge({}, {"y": (labels + 1) % 10}, [0], [], {0}).excused


def dense(weights: np.ndarray, scale: float, zero: int = 0, to_floats: bool = False) -> Any:
    last = "q" if to_floats else "y"
    nodes = [
        node("DequantizeLinear", ["x", "s", "z"], ["xd"]), node("DequantizeLinear", ["w", "ws", "z"], ["wd"]),
        node("MatMul", ["xd", "wd"], ["l"]), node("QuantizeLinear", ["l", "so", "zo"], [last])]
    if to_floats:
        nodes.append(node("DequantizeLinear", ["q", "so", "zo"], ["y"]))
    held = {"s": np.float32(0.02), "z": np.int8(0), "w": weights, "ws": np.float32(0.01), "so": np.float32(scale),
            "zo": np.int8(zero)}
    return make_model(nodes, {"x": np.zeros((4, 32), np.int8)}, ["y"], held, opset=17)


@pytest.mark.parametrize("to_floats", [False, True])
def test_a_step_everywhere_is_no_rounding(to_floats: bool, tmp_path: Path) -> None:
    right = dense(BYTES, 1.0, 1, to_floats)
    verdict = judged(tmp_path, right, dense(BYTES, 1.0, 0, to_floats=False) if not to_floats else dense(BYTES, 1.04, 1, True))
    assert verdict.failed and "of its numbers are a step away" in " ".join(verdict.broken), verdict
    assert judged(tmp_path, right, right).passed


@pytest.mark.parametrize("to_floats", [False, True])
def test_zeros_do_not_pass_where_a_step_is_all_there_is(to_floats: bool, tmp_path: Path) -> None:
    """Two in a hundred numbers are other than 0, and they are what there is to be right in."""
    right = dense(BYTES, 25.0, 0, to_floats)
    for wrong in (BYTES * 0, np.roll(BYTES, 1, 0)):
        assert judged(tmp_path, right, dense(wrong, 25.0, 0, to_floats)).failed
    assert judged(tmp_path, right, right).passed


def test_where_no_number_is_other_than_a_constant_nothing_is_concluded(tmp_path: Path) -> None:
    verdict = judged(tmp_path, dense(BYTES, 60.0), dense(BYTES * 0, 60.0))
    assert verdict.status == "inconclusive" and "constant" in verdict.why, verdict
    few = np.zeros(400, np.int8)
    few[7] = 1
    assert passes_if_constant(difference("y", few, few), Tolerance())
    assert not passes_if_constant(difference("y", few, few), Tolerance(), chosen=True)
    assert not passes_if_constant(difference("y", few * 2, few * 2), Tolerance())
    assert not passes_if_constant(difference("y", few, few), Tolerance(integer=0))


def test_counts_say_something_however_few_they_are() -> None:
    """They have no scale that would round them: one number throughout is none of them."""
    counts = np.array([1, 2])
    assert not passes_if_constant(difference("n", counts, counts), Tolerance())
    assert broken_limits(difference("n", counts, np.array([1, 1])), Tolerance())


def sums(scale: float) -> Any:
    """`a + b`, quantized, the second of another scale."""
    held = {"sa": np.float32(0.02), "sb": np.float32(scale), "z": np.int8(0)}
    nodes = []
    for name, step in (("a", "sa"), ("b", "sb"), ("s", "sa")):
        if name == "s":
            nodes.append(node("Add", ["ad", "bd"], ["s"]))
        nodes.append(node("QuantizeLinear", [name, step, "z"], [f"{name}q"]))
        nodes.append(node("DequantizeLinear", [f"{name}q", step, "z"], ["y" if name == "s" else f"{name}d"]))
    return make_model(nodes, {name: np.zeros((1, 50), np.float32) for name in "ab"}, ["y"], held, opset=17)


def test_a_scale_that_is_off_by_a_twentieth_fails(tmp_path: Path) -> None:
    """It moves half of the numbers by a step; no number moves by two."""
    verdict = judged(tmp_path, sums(0.0315), sums(0.03))
    assert verdict.failed and "are a step away" in verdict.broken[0], verdict
    assert judged(tmp_path, sums(0.03), sums(0.03)).passed

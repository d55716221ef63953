"""Labels of scores that are nearly equal: how nearly is asked beside what varies of them, and of the floats that a result has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import transload
from transload.verification.ties import _most
from transload.verification.tolerance import Tolerance
from transload.verification.verify import Verification, verify_conversion

from tests.support.onnx_models import make_model, node

UNIT = 2.0**-24
RANDOM = np.random.default_rng(0)
WEIGHTS = (RANDOM.normal(size=(8, 16)) * 0.5).astype(np.float32)
BIASES = (RANDOM.normal(size=16) * 0.3).astype(np.float32)


def verified(right: Path, wrong: Path) -> Verification:
    source, other = transload.load(right), transload.load(wrong)
    return verify_conversion(source, transload.lower(other, "tosa"), hub=transload.legalize(source))


def labels(file: Path, biases: np.ndarray, offset: float) -> Path:
    """The greatest of 16 scores of each of 64 samples, all of which are the greater by an offset."""
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["s"]), node("ArgMax", ["s"], ["y"], axis=1, keepdims=0)]
    file.write_bytes(make_model(
        nodes, {"x": np.zeros((64, 8), np.float32)}, ["y"], {"w": WEIGHTS, "b": biases + np.float32(offset)},
    ).SerializeToString())
    return file


@pytest.mark.parametrize("offset", [0.0, 300.0, -1000.0])
def test_an_offset_of_all_scores_excuses_no_label(offset: float, tmp_path: Path) -> None:
    """At 300 all scores were taken to be as near as 4 is, and a fifth of the labels might be any."""
    right = labels(tmp_path / "right.onnx", BIASES, offset)
    assert verified(right, right).passed
    assert verified(right, labels(tmp_path / "wrong.onnx", 0.0 * BIASES, offset)).failed


def test_how_far_scores_may_be_moved() -> None:
    scores = np.random.default_rng(1).normal(size=(64, 16))
    usual = _most(scores, Tolerance(), UNIT)
    for moved in (scores + 300.0, scores + 100.0 * np.arange(64.0)[:, None], np.where(scores > 2.0, -1e9, scores)):
        assert usual / 2 < _most(moved, Tolerance(), UNIT) < 2 * usual
    assert _most(np.full((4, 16), 300.0), Tolerance(), UNIT) == pytest.approx(300.0 * 32 * UNIT)
    assert _most(np.full((4, 16), np.nan), Tolerance(), UNIT) == 0.0


@pytest.mark.parametrize("seed", [11, 27])
def test_scores_that_are_one_number_in_coarser_floats(seed: int, tmp_path: Path) -> None:
    """0.99999998 and 0.99999999 are one float32: a target without float64 gives the first of them."""
    weights = np.random.default_rng(seed).normal(size=(6, 8)) * 0.5
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Tanh", ["a"], ["b"]), node("ArgMax", ["b"], ["y"], axis=1)]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": np.zeros((2, 6))}, ["y"], {"w": weights}).SerializeToString())
    assert verified(file, file).passed


def halved(file: Path, *, behind: bool, rounded: bool) -> Path:
    """Labels of scores that float16 does not tell apart, beside another output in float16, or `behind` it."""
    b = np.float32(1) + np.arange(16, dtype=np.float32)[None] * np.float32(1e-5)
    nodes = [node("Cast", ["x"], ["h"], to=10), node("Neg", ["h"], ["n"]), node("Cast", ["n"], ["z"], to=1),
             node("Mul", ["z" if behind else "x", "zero"], ["none"]), node("Add", ["none", "b"], ["s"])]
    halves = [node("Cast", ["s"], ["c"], to=10), node("Cast", ["c"], ["t"], to=1)]
    nodes += halves if rounded else [node("Identity", ["s"], ["t"])]
    nodes += [node("ArgMax", ["t"], ["y"], axis=1, keepdims=0)]
    permuted = np.random.default_rng(2).permuted(np.repeat(b, 64, 0), axis=1)
    file.write_bytes(make_model(
        nodes, {"x": np.zeros((64, 16), np.float32)}, ["y", "z"], {"zero": np.float32(0), "b": permuted}).SerializeToString())
    return file


@pytest.mark.parametrize("behind", [False, True])
def test_floats_of_16_bits_elsewhere_round_no_score(behind: bool, tmp_path: Path) -> None:
    """One tensor of them anywhere in the model excused every label of scores that it does not tell apart."""
    right = halved(tmp_path / "right.onnx", behind=behind, rounded=False)
    assert verified(right, right).passed
    assert verified(right, halved(tmp_path / "wrong.onnx", behind=behind, rounded=True)).failed


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("before", ["Identity", "Sigmoid"])
def test_scores_that_are_computed_in_16_bits_are_rounded_so(before: str, back: bool, tmp_path: Path) -> None:
    """Of mixed floats, too, and where they are cast back before the choice: right artifacts of float16 failed."""
    b = np.random.default_rng(2).permuted(1 + np.repeat(np.arange(16, dtype=np.float32)[None] * 1e-5, 64, 0), axis=1)

    def written(number: int, element: type) -> Path:
        nodes = [node(before, ["x"], ["a"]), node("Cast", ["a"], ["c"], to=number), node("Mul", ["c", "zero"], ["none"]),
                 node("Add", ["none", "b"], ["s"]), node("Cast", ["s"], ["t"], to=1 if back else number),
                 node("ArgMax", ["t"], ["y"], axis=1, keepdims=0)]
        file = tmp_path / f"{number}.onnx"
        file.write_bytes(make_model(nodes, {"x": np.zeros((64, 16), np.float32)}, ["y"], {
            "zero": element(0), "b": b.astype(element)}).SerializeToString())
        return file

    assert verified(written(1, np.float32), written(10, np.float16)).passed

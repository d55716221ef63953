"""Outputs that are few choices are compared on many inputs: a class that few of them choose is seen, too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.verification.choosing import choosing_inputs

from tests.support.graphs import Graph
from tests.support.small_onnx import saved, verified

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

_WEIGHTS = np.random.default_rng(7).normal(size=(16, 10))
_CLASS = [("MatMul", "x w", "m"), ("Add", "m b", "a"), ("ArgMax", "a", "y", {"axis": 1})]


def classes(path: Path, steps: Sequence[tuple[Any, ...]], bias: float) -> Path:
    """Scores of ten classes, of which one has a bias, and what chooses of them."""
    return saved(path, steps, [1, 16], {"w": _WEIGHTS, "b": np.where(np.arange(10) == 4, bias, 0.0), "zero": 2.0},
                 gives="BOOL" if steps[-1][0] == "Greater" else "INT64", k=np.array([3]))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("steps", "bias"), [
    (_CLASS, -50.0),
    ([*_CLASS[:2], ("TopK", "a k", "v y", {"axis": 1})], -50.0),
    ([*_CLASS[:2], ("Greater", "a zero", "y")], -1.0)], ids=["a label", "the best three", "truths"])
def test_what_few_inputs_choose_is_seen(steps: Sequence[tuple[Any, ...]], bias: float, tmp_path: Path) -> None:
    right, wrong = (classes(tmp_path / f"{each}.onnx", steps, each) for each in (0.0, bias))
    assert [verified(right, wrong, seed=seed).status for seed in range(6)] == ["failed"] * 6
    assert [verified(right, right, seed=seed).status for seed in range(6)] == ["passed"] * 6
    assert all(transload.compare(right, wrong, seed=seed).broken for seed in range(3))
    assert not transload.compare(right, right).broken
    assert not transload.compare(right, wrong, {"x": np.zeros((1, 16), np.float32)}).broken  # what is given is what is asked


def test_near_ties_are_not_wrong_however_many_inputs_there_are(tmp_path: Path) -> None:
    """Scores as coarse as ties need: a score that is moved by less than half a step chooses otherwise now and then."""
    right, other = (saved(tmp_path / f"{more}.onnx", [
        ("MatMul", "x w", "m"), ("Add", "m b", "a"), ("QuantizeLinear", "a scale none", "q"),
        ("DequantizeLinear", "q scale none", "d"), ("ArgMax", "d", "y", {"axis": 1})], [1, 16],
        {"w": _WEIGHTS, "b": np.where(np.arange(10) == 4, more, 0.0), "scale": 1.0}, gives="INT64", none=np.array(0, np.int8))
        for more in (0.0, 1e-3))
    assert [verified(right, other, seed=seed).status for seed in range(6)] == ["passed"] * 6
    assert not any(transload.compare(right, other, seed=seed).broken for seed in range(3))


def test_they_are_for_what_is_chosen_and_takes_little_time() -> None:
    """Fewer for masks of many truths, and none of other outputs, and where a run costs much."""
    def number(*shapes: tuple[int, ...], chosen: Sequence[int] = (0,)) -> int:
        graph = Graph(*shapes)
        last, *before = reversed(graph.inputs)
        module = graph.done(graph.Relu(reduce(lambda right, left: graph.MatMul(left, right), before, last)))
        return len(list(choosing_inputs(module, module, module, chosen, 0)))

    assert [number((size,)) for size in (1, 128, 1024, 4096)] == [128, 32, 4, 0]
    assert number((1,), chosen=()) == 0
    assert number((1, 8192), (8192, 8192), (8192, 8)) == 0

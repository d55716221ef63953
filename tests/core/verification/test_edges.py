"""Numbers next to a border, which runtimes round to either side, and single numbers that are 0 in one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F32, I32
from transload.verification.as_given import made_exactly
from transload.verification.differences import difference
from transload.verification.edges import _explained
from transload.verification.limits import broken_limits
from transload.verification.tolerance import Tolerance

from tests.support.graphs import Graph

RIGHT = np.array([0, 0, 0, 11, 27, 30], np.float32)


@pytest.mark.parametrize(("right", "taken", "said"), [
    (RIGHT, RIGHT - (RIGHT == 0), True), (RIGHT, RIGHT - 1, None), (RIGHT * 0, RIGHT * 0 - 1, False)])
def test_what_is_next_to_a_border_is_open(right: np.ndarray, taken: np.ndarray, said: bool | None) -> None:
    """Three numbers just below 0 were rounded to it by the runtime: the others tell, if there are any."""
    assert _explained(right, taken, iter([right, right - (right == 0)]), 2.5e-7) is said


def test_one_number_that_is_zero_in_one_runtime() -> None:
    """The logarithm of gamma at 1 is a difference of larger terms: it was a cosine of 0 from 0."""
    for a, b, broken in ((0.0, 4.8e-7, False), (4.8e-7, 0.0, False), (0.0, 1e-4, True), (1e-6, 3e-6, True)):
        apart = difference("y", np.array([a], np.float32), np.array([b], np.float32))
        assert bool(broken_limits(apart, Tolerance())) is broken


def halved(path: Path, *steps: tuple[str, list[str], str]) -> Path:
    """Pixels, halved as floats, and what some nodes make of these."""
    from tests.support.onnx_models import make_model, node

    nodes = [("Cast", ["x"], "a", {"to": 1}), ("Mul", ["a", "half"], "b"), *steps]
    made = [node(operator, operands, [output], **(more[0] if more else {})) for operator, operands, output, *more in nodes]
    constants = {"half": np.float32(0.5)}
    path.write_bytes(make_model(made, {"x": np.zeros((4, 32), np.uint8)}, ["y"], constants).SerializeToString())
    return path


OTHER_ROUNDINGS = {
    "down": [("Floor", ["b"], "y")], "up": [("Ceil", ["b"], "y")],
    "half up": [("Add", ["b", "half"], "c"), ("Floor", ["c"], "y")]}


@pytest.mark.parametrize("name", OTHER_ROUNDINGS)
def test_what_is_computed_of_whole_numbers_is_next_to_no_border(name: str, tmp_path: Path) -> None:
    """The half of 3 is midway between two whole numbers in every runtime: to which it is rounded is no matter of last bits."""
    pytest.importorskip("onnxruntime")
    right = halved(tmp_path / "right.onnx", ("Round", ["b"], "y"))
    wrong = transload.load(halved(tmp_path / "wrong.onnx", *OTHER_ROUNDINGS[name]))
    few = {"x": (np.arange(128).reshape(4, 32) % 8).astype(np.uint8)}
    for inputs in (few, None):
        assert transload.compare(right, wrong, inputs).broken
        assert not transload.compare(right, transload.load(right), inputs).broken


@pytest.mark.parametrize(("made", "is_exact"), [
    (lambda graph, x: graph.Mul(x, graph.constant(np.array([[0.25]], np.float32))), True),
    (lambda graph, x: graph.Mul(x, graph.constant(np.array([[0.1]], np.float32))), False),
    (lambda graph, x: graph.Tanh(x), False),  # it is 1 in one runtime, and less in the next
    (lambda graph, x: graph.Sqrt(x), False),
])
def test_what_is_made_exactly(made: Any, is_exact: bool) -> None:
    graph = Graph((4, 4), element=I32)
    floats = graph.builder.emit("top.Cast", graph.inputs[0], element=F32)
    module = graph.done(made(graph, floats))
    (name,) = module.inputs
    exact = made_exactly(module, {name: np.full((4, 4), 400, np.int32)})
    (output,) = module.body_of_main.terminator.operands
    assert (output in exact and bool(exact[output].all())) is is_exact


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 5)])
@pytest.mark.parametrize(("made", "is_exact"), [
    (lambda graph, x, y: graph.Add(x, y), True),
    (lambda graph, x, y: graph.Mul(x, y), True),
    (lambda graph, x, y: graph.Div(x, y), False),
    (lambda graph, x, y: graph.Pow(x, y), False),
    (lambda graph, x, y: graph.Pow(graph.constant(np.array([[2.0]], np.float32)), x), False),
    (lambda graph, x, y: graph.Sqrt(x), False),
    (lambda graph, x, y: graph.Reduce(graph.Concat(x, x, x, axis=1), axes=(1,), keepdims=False, mode="ReduceMean"), False),
])
def test_a_quotient_or_power_that_is_whole_by_chance_is_none_of_what_is_exact(made: Any, is_exact: bool, shape: Any) -> None:
    """All operands were the same numbers when that was tried, so that each quotient was 1."""
    graph = Graph(shape, shape, element=I32)
    module = graph.done(made(graph, *(graph.builder.emit("top.Cast", each, element=F32) for each in graph.inputs)))
    given = {name: np.full(shape, number, np.int32) for name, number in zip(module.inputs, (4, 2), strict=True)}
    (output,) = module.body_of_main.terminator.operands
    assert (output in made_exactly(module, given)) is is_exact

"""What no noise stands on shows on further inputs: halves of integers, zero, the numbers that are compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.verification.halves import halves_inputs
from transload.verification.verify import verify_conversion

from tests.support.graphs import Graph

pytest.importorskip("onnxruntime")

CONSTANTS = {"half": np.float32(0.5), "third": np.float32(0.3), "zero": np.float32(0), "one": np.float32(1),
             "minus": np.float32(-1)}
Nodes = list[tuple[Any, ...]]
CASES: dict[str, tuple[Nodes, Nodes]] = {
    "greater or equal": ([("Greater", ["x", "half"], "y")], [("GreaterOrEqual", ["x", "half"], "y")]),
    "of many digits": ([("Greater", ["x", "third"], "y")], [("GreaterOrEqual", ["x", "third"], "y")]),
    "sign of zero": ([("Sign", ["x"], "y")],
                     [("GreaterOrEqual", ["x", "zero"], "g"), ("Where", ["g", "one", "minus"], "y")]),
    "halves": ([("Round", ["x"], "y")], [("Add", ["x", "half"], "h"), ("Floor", ["h"], "y")]),
    "whole numbers": ([("Floor", ["x"], "y")], [("Ceil", ["x"], "c"), ("Sub", ["c", "one"], "y")]),
    "sign of zero beside a comparison": (
        [("Greater", ["x", "minus"], "m"), ("Sign", ["x"], "y")],
        [("Greater", ["x", "minus"], "m"), ("GreaterOrEqual", ["x", "zero"], "g"), ("Where", ["g", "one", "minus"], "y")]),
    "halves beside a comparison": (
        [("Greater", ["x", "third"], "m"), ("Round", ["x"], "y")],
        [("Greater", ["x", "third"], "m"), ("Add", ["x", "half"], "h"), ("Floor", ["h"], "y")]),
    "behind a sum": ([("Add", ["x", "one"], "a"), ("Greater", ["a", "half"], "y")],
                     [("Add", ["x", "one"], "a"), ("GreaterOrEqual", ["a", "half"], "y")]),
}


def written(path: Path, nodes: Nodes, shape: tuple[int, ...]) -> Path:
    from tests.support.onnx_models import make_model, node

    made = [node(operator, operands, [output]) for operator, operands, output in nodes]
    used = {name: CONSTANTS[name] for _, operands, _ in nodes for name in operands if name in CONSTANTS}
    ends = [output for _, _, output in nodes if output in ("m", "y")]
    path.write_bytes(make_model(made, {"x": np.zeros(shape, np.float32)}, ends, used).SerializeToString())
    return path


@pytest.mark.parametrize("shape", [(4, 32), (1, 4)])
@pytest.mark.parametrize("name", CASES)
def test_what_a_model_says_of_borders_shows(name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    right, wrong = (written(tmp_path / f"{number}.onnx", nodes, shape) for number, nodes in enumerate(CASES[name]))
    source = transload.load(right)
    for path, fails in ((right, False), (wrong, True)):
        result = transload.legalize(transload.load(path))
        verdict = verify_conversion(source, result, hub=transload.legalize(source), engine="reference")
        assert verdict.failed == fails and (fails or verdict.passed)
        assert bool(transload.compare(right, transload.load(path)).broken) == fails


def test_nothing_is_drawn_where_roundings_decide() -> None:
    for made, draws in ((lambda g, x: g.Floor(x), True), (lambda g, x: g.Floor(g.Sqrt(x)), False),
                        (lambda g, x: g.Sqrt(x), False),
                        (lambda g, x: g.Floor(g.Div(x, g.constant(np.array([3.0], np.float32)))), False),
                        (lambda g, x: g.FloorDiv(x, g.constant(np.array([3.0], np.float32)), quotient="exact"), False),
                        (lambda g, x: g.FloorDiv(x, g.constant(np.array([0.5], np.float32)), quotient="fmod"), True),
                        (lambda g, x: g.Add(g.Floor(x), g.Floor(g.Div(x, g.constant(np.array([3.0], np.float32))))), False)):
        graph = Graph((8,))
        module = graph.done(made(graph, graph.inputs[0]))
        assert bool(list(halves_inputs(module, module, module, 0))) == draws


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 16), (4, 17)])
@pytest.mark.parametrize("compares", [False, True])
def test_all_numbers_are_among_a_few_inputs(shape: tuple[int, ...], compares: bool) -> None:
    """Drawn by chance, with thresholds in every second place, zero and most halves were on no input of few numbers."""
    graph = Graph(shape)
    limit = graph.constant(np.full((1,) * len(shape), 0.3, np.float32))
    more = [graph.builder.emit("top.Compare", graph.inputs[0], limit, mode="Greater")] if compares else []
    module = graph.done(graph.Floor(graph.inputs[0]), *more)
    (name,) = module.inputs
    drawn = [given[name] for given in halves_inputs(module, module, module, 0)]
    numbers = np.concatenate([each.ravel() for each in drawn])
    asked = {0.0, float(np.float32(0.3))} if compares else {0.0}
    assert len(drawn) <= 5 and all(each.shape == shape for each in drawn)
    assert asked <= {*numbers.tolist()} and 0.5 in np.abs(numbers)
    if numbers.size >= 18:
        assert {*np.arange(-8, 9) / 2, *asked} == {*numbers.tolist()}
    if shape == (4, 17):
        assert all(np.unique(column).size > 1 for column in drawn[0].T)

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
    "behind a sum": ([("Add", ["x", "one"], "a"), ("Greater", ["a", "half"], "y")],
                     [("Add", ["x", "one"], "a"), ("GreaterOrEqual", ["a", "half"], "y")]),
}


def written(path: Path, nodes: Nodes) -> Path:
    from tests.support.onnx_models import make_model, node

    made = [node(operator, operands, [output]) for operator, operands, output in nodes]
    used = {name: CONSTANTS[name] for _, operands, _ in nodes for name in operands if name in CONSTANTS}
    path.write_bytes(make_model(made, {"x": np.zeros((4, 32), np.float32)}, ["y"], used).SerializeToString())
    return path


@pytest.mark.parametrize("name", CASES)
def test_what_a_model_says_of_borders_shows(name: str, tmp_path: Path) -> None:
    right, wrong = (written(tmp_path / f"{number}.onnx", nodes) for number, nodes in enumerate(CASES[name]))
    source = transload.load(right)
    for path, fails in ((right, False), (wrong, True)):
        result = transload.legalize(transload.load(path))
        verdict = verify_conversion(source, result, hub=transload.legalize(source), engine="reference")
        assert verdict.failed == fails and (fails or verdict.passed)
        assert bool(transload.compare(right, transload.load(path)).broken) == fails


def test_nothing_is_drawn_where_roundings_decide() -> None:
    for made, draws in ((lambda g, x: g.Floor(x), True), (lambda g, x: g.Floor(g.Sqrt(x)), False),
                        (lambda g, x: g.Sqrt(x), False),
                        (lambda g, x: g.Floor(g.Div(x, g.constant(np.array([3.0], np.float32)))), False)):
        graph = Graph((8,))
        module = graph.done(made(graph, graph.inputs[0]))
        assert bool(list(halves_inputs(module, module, module, 0))) == draws

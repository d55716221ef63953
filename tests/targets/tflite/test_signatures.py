"""Signatures of files that are written again: with states that became inputs and outputs, and where the model was cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload_converters.tflite.runtime import available
from transload_converters.tflite.writer import ModelWriter, SubgraphWriter

pytestmark = pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
F = "float32"


def accumulator(path: Path, keys: tuple[str, str]) -> Path:
    """`y = x + total`, and `total` becomes `y`: a signature calls them otherwise."""
    model = ModelWriter()
    x, total, y = (model.add_tensor(name, (1, 4), F) for name in ("x", "held", "y"))

    def handle(graph: SubgraphWriter) -> int:
        made = graph.add_tensor("handle", (1,), "resource")
        graph.add_operator("VAR_HANDLE", [], [made], {"shared_name": "total"})
        return made

    model.add_operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    variable = handle(model)
    model.add_operator("READ_VARIABLE", [variable], [total])
    model.add_operator("ADD", [x, total], [y])
    model.add_operator("ASSIGN_VARIABLE", [variable, y], [])
    model.inputs, model.outputs = [x], [y]
    model.add_signature("add", {keys[0]: x}, {keys[1]: y})
    first = model.add_subgraph("first")
    numbers = first.add_tensor("numbers", (1, 4), F, np.array([[0.5, 1, 2, 4]], np.float32))
    first.add_operator("ASSIGN_VARIABLE", [handle(first), numbers], [])
    path.write_bytes(model.finish())
    return path


def opened(path: Path) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(str(path))


@pytest.mark.parametrize(("keys", "state"), [
    (("in", "out"), ("total", "total_next")), (("total", "y"), ("total_1", "total_next"))])
def test_states_are_in_the_signature(tmp_path: Path, keys: tuple[str, str], state: tuple[str, str]) -> None:
    """What a model computes with it is what LiteRT does of the file that keeps its variable, run for run."""
    path = accumulator(tmp_path / "total.tflite", keys)
    made = transload.convert(path, "tflite", tmp_path / "out", options={"state": "explicit"}, verify="require")
    before, after = (opened(file).get_signature_runner("add") for file in (path, made.files[0]))
    x, held = np.array([[1, 2, 3, 4]], np.float32), transload.ir.initial_states(made.module)["total"]
    for _ in range(3):
        found = after(**{keys[0]: x, state[0]: held})
        assert set(found) == {keys[1], state[1]}
        held = found[state[1]]
        assert np.array_equal(found[keys[1]], before(**{keys[0]: x})[keys[1]])


def two(path: Path, other: str) -> Path:
    """`y = a - b` and `z = exp(b)`, and a subgraph of another signature."""
    model = ModelWriter()
    a, b, y, z = (model.add_tensor(name, (1, 3), F) for name in "abyz")
    model.add_operator("SUB", [a, b], [y])
    model.add_operator("EXP", [b], [z])
    model.inputs, model.outputs = [a, b], [y, z]
    model.add_signature("both", {"left": a, "right": b}, {"difference": y, "power": z})
    beside = model.add_subgraph("beside")
    given, made = beside.add_tensor("given", (1, 3), F), beside.add_tensor("made", (1, 3), F)
    beside.add_operator("ABS", [given], [made])
    beside.inputs, beside.outputs = [given], [made]
    model.add_signature(other, {"argument": given}, {"result": made}, subgraph=1)
    path.write_bytes(model.finish())
    return path


@pytest.mark.parametrize(("other", "own"), [("absolute", "serving_default"), ("serving_default", "serving_default_1")])
def test_a_model_that_is_cut_has_a_signature(tmp_path: Path, other: str, own: str) -> None:
    module = transload.load(two(tmp_path / "two.tflite", other), outputs=["z"])
    interpreter = opened(transload.save(module, tmp_path / "cut.tflite"))
    assert interpreter.get_signature_list() == {
        own: {"inputs": ["b"], "outputs": ["z"]}, other: {"inputs": ["argument"], "outputs": ["result"]}}
    x = np.array([[-1, 0, 2]], np.float32)
    assert np.allclose(interpreter.get_signature_runner(own)(b=x)["z"], np.exp(x))

"""The pass `unroll-recurrent`: layers of few steps become products, activations and sums, and compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload.passes.manager import Pipeline
from transload_converters.tflite.writer_module import serialize

from tests.support.graphs import Graph, execute
from tests.support.litert import run_litert

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, HIDDEN, WIDTH = 5, 4, 3


def layer(name: str, **options: Any) -> Module:
    graph = Graph((STEPS, 1, WIDTH))
    width = GATES[name] * HIDDEN
    made = getattr(graph, name)(
        graph.inputs[0], graph.random(1, width, WIDTH), graph.random(1, width, HIDDEN), graph.random(1, 2 * width),
        hidden_size=HIDDEN, **options)
    return graph.done(*made)


@pytest.mark.parametrize("name", GATES)
def test_few_steps_are_written_out(name: str) -> None:
    module = layer(name)
    before = execute(module)
    assert Pipeline.parse("unroll-recurrent").run(module)[0].modified
    assert not any(op.name == f"top.{name}" for op in module.ops())
    for wanted, given in zip(before, execute(module), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", GATES)
def test_layers_that_start_from_constant_zeros_are_those_without_states(name: str) -> None:
    """Frameworks write the zeros out: products with them would be added, and quantized, at the first step."""
    graph = Graph((STEPS, 1, WIDTH))
    width = GATES[name] * HIDDEN
    weights = graph.random(1, width, WIDTH), graph.random(1, width, HIDDEN), graph.random(1, 2 * width)
    zeros = graph.constant(np.zeros((1, 1, HIDDEN), np.float32))
    states = [zeros] * (2 if name == "LSTM" else 1)
    module = graph.done(*getattr(graph, name)(graph.inputs[0], *weights, *states, hidden_size=HIDDEN))
    plain = layer(name)
    before = execute(module)
    assert all(Pipeline.parse("unroll-recurrent,dce").run(each)[0].modified for each in (module, plain))
    assert sorted(op.name for op in module.ops()) == sorted(op.name for op in plain.ops())
    for wanted, given in zip(before, execute(module), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-6)


def test_many_steps_stay_a_layer() -> None:
    module = layer("LSTM")
    assert not Pipeline.parse("unroll-recurrent{steps=4}").run(module)[0].modified


@pytest.mark.parametrize("name", GATES)
def test_layers_go_out_to_tflite(name: str) -> None:
    module = layer(name, direction="forward")
    x = np.random.default_rng(1).normal(0, 1, (STEPS, 1, WIDTH)).astype(np.float32)
    theirs = run_litert(serialize(transload.lower(module, "tfl")), [x])
    for wanted, given in zip(transload.run(module, {"x0": x}).values(), theirs, strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-6)

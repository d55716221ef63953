"""The pass `write-out-normalizations`: means, squares, products and reciprocals, which compute the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from transload.ir import Value
from transload.passes.manager import Pipeline

from tests.support.graphs import Graph, execute

CASES: dict[str, tuple[tuple[int, ...], Callable[[Graph, Value], Value]]] = {
    "LayerNorm": ((2, 3, 4), lambda g, x: g.LayerNorm(x, g.random(3, 4), g.random(3, 4), axis=1, eps=1e-3)),
    "LayerNorm bare": ((2, 8), lambda g, x: g.LayerNorm(x)),
    "RMSNorm": ((2, 3, 8), lambda g, x: g.RMSNorm(x, g.random(8))),
    "InstanceNorm NCHW": ((1, 3, 4, 5), lambda g, x: g.InstanceNorm(x, g.random(3), g.random(3))),
    "InstanceNorm NHWC": ((1, 4, 5, 3), lambda g, x: g.InstanceNorm(x, g.random(3), g.random(3), layout="NHWC")),
    "GroupNorm NCHW": ((2, 6, 4), lambda g, x: g.GroupNorm(x, g.random(6), g.random(6), num_groups=2)),
    "GroupNorm NHWC": ((2, 4, 6), lambda g, x: g.GroupNorm(x, g.random(6), g.random(6), num_groups=3, layout="NHWC")),
    "Div": ((2, 8), lambda g, x: g.Div(x, g.Exp(x), do_relu=True, relu_limit=0.5)),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_written_out_and_compute_the_same(name: str) -> None:
    shape, build = CASES[name]
    graph = Graph(shape)
    module = graph.done(build(graph, graph.inputs[0]))
    before = execute(module)
    assert Pipeline.parse("write-out-normalizations").run(module)[0].modified
    assert not any(op.name == f"top.{name.split()[0]}" for op in module.ops())
    for wanted, given in zip(before, execute(module), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-5)


def test_means_of_too_many_numbers_and_divisions_by_a_constant_stay() -> None:
    """The sum of 16-bit numbers has 32 bits; a division by a number is a table as it is."""
    graph = Graph((1, 2, 256, 256))
    module = graph.done(graph.Div(graph.InstanceNorm(graph.inputs[0]), 2.0))
    assert not Pipeline.parse("write-out-normalizations").run(module)[0].modified

"""Floats between integers: another order of their sums rounds a number to another integer, and is as right."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.ir import F32, I8, Module, QuantType
from transload.ir.build import constant_of
from transload.verification.last_bits import with_moved_weights
from transload.verification.quantized import _move_as_far
from transload.verification.tolerance import Tolerance

from tests.support.graphs import Graph


def between_integers() -> Module:
    """Bytes, a product with weights of which one number is midway between two integers, integers, and floats of these."""
    step = QuantType(I8, F32, (1.0,), (0,))
    graph = Graph((1, 8), element=step)
    floats = graph.builder.emit("top.Cast", graph.inputs[0], element=F32)
    weights = np.float32([0.5, 3.2, -7.1, 4.3, 0.2, 1.3, 2.7, -5.2])
    product = graph.Mul(floats, graph.constant(weights))
    whole = graph.builder.emit("top.Cast", product, element=step)
    return graph.done(graph.Mul(graph.builder.emit("top.Cast", whole, element=F32), graph.constant(np.float32([[9.0]]))))


@pytest.mark.parametrize(("steps", "excused"), [(1, True), (2, False)])
def test_a_number_midway_may_be_either(steps: int, excused: bool) -> None:
    module = between_integers()
    given = {name: np.ones((1, 8), np.int8) for name in module.inputs}

    def judge(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return transload.run(module, arrays, engine="reference")

    wanted = judge(given)
    actual = {name: array.copy() for name, array in wanted.items()}
    next(iter(actual.values()))[0, 0] -= 9.0 * steps
    tolerance = Tolerance(cos=0.99999, integer=0)
    assert _move_as_far(module, judge, [(given, wanted, actual)], tolerance) is excused


def test_weights_are_the_next_floats() -> None:
    module = between_integers()
    moved = with_moved_weights(module, 3)
    assert moved is not None
    before, after = ([constant_of(op.results[0]).numpy() for op in each.body_of_main if op.results and constant_of(op.results[0])]
                     for each in (module, moved))
    assert not np.array_equal(before[0], after[0])
    assert np.abs(before[0] - after[0]).max() <= np.spacing(np.float32(8.0))
    graph = Graph((2,))
    assert with_moved_weights(graph.done(graph.Relu(graph.inputs[0])), 0) is None

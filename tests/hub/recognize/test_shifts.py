"""Shifts of signed numbers, written with unsigned ones as ONNX asks for it, are one shift again; near misses are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import I64, UI64, set_results, verify
from transload_hub.recognize.composites import recognize

from tests.support.graphs import Graph, op_names

NUMBERS = np.array([[0, 1, -1, 5], [1 << 62, -(1 << 63), (1 << 63) - 1, -7]])


def _shifted(places, half=1 << 63, less=None):
    g = Graph(NUMBERS.shape, element=I64)
    moved = g.Add(g.Cast(g.inputs[0], element=UI64), g.constant(np.asarray(half, np.uint64)))
    back = g.Cast(g.ShiftRight(moved, g.constant(places)), element=I64)
    rest = (np.uint64(1 << 63) >> places).astype(np.int64) if less is None else np.asarray(less, np.int64)
    set_results(g.main, [g.Sub(back, g.constant(rest))], ["y"])
    return g


@pytest.mark.parametrize("places", [np.uint64(1), np.uint64(0), np.array([0, 1, 40, 63], np.uint64)], ids=str)
def test_one_shift(places):
    g = _shifted(places)
    recognize(g.module)
    assert op_names(g.module) == ["ShiftRight"]
    found = run_function(g.module, {"x0": NUMBERS})["y"]
    np.testing.assert_array_equal(found, NUMBERS >> places.astype(np.int64))


@pytest.mark.parametrize("changed", [{"half": 1 << 62}, {"less": 3}, {"places": np.uint64(64)}])
def test_near_misses(changed):
    g = _shifted(**{"places": np.uint64(1), **changed})
    recognize(g.module)
    assert "Sub" in op_names(g.module)


@pytest.mark.parametrize("far", ["half", "places", "less"])
def test_constants_that_make_more_of_it(far: str) -> None:
    """What is shifted has their shape, and not that of the numbers alone."""
    numbers = {"half": np.full((3, 1, 1), 1 << 63, np.uint64), "places": np.ones((3, 1, 1), np.uint64),
               "less": np.full((3, 1, 1), 1 << 62, np.int64)}
    g = _shifted(numbers["places"] if far == "places" else np.uint64(1),
                 numbers["half"] if far == "half" else 1 << 63, numbers["less"] if far == "less" else 1 << 62)
    before = run_function(g.module, {"x0": NUMBERS})["y"]
    recognize(g.module)
    verify(g.module)
    found = run_function(g.module, {"x0": NUMBERS})["y"]
    assert found.shape == (3, *NUMBERS.shape)
    np.testing.assert_array_equal(found, before)
    assert ("Sub" in op_names(g.module)) is (far != "places")

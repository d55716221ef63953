"""Casts that wrap round, written out through 64 bits, are one cast again; near misses are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import F32, F64, I8, I32, I64, UI8, set_results
from transload_hub.recognize.composites import recognize

from tests.hub.recognize.recognition import Graph
from tests.support.graphs import op_names

NUMBERS = np.array([[
    0.0, -0.0, 1.5, -1.5, 127.9, 300, -300, 2.0**31, -(2.0**33) - 4096, 2.0**62, -(2.0**63), 2.0**64, np.inf, -np.inf, np.nan]])


def _through_64_bits(element=F32, target=I32, rest=0.0, limit=2.0**63, rectified=False):
    g = Graph(NUMBERS.shape, element=element)
    x = g.Relu(g.inputs[0]) if rectified else g.inputs[0]
    size = x if rectified else g.Abs(x)
    inside = g.Where(g.Compare(size, g.constant(limit), mode="Less"), x, g.constant(rest))
    set_results(g.main, [g.Cast(g.Cast(inside, element=I64, saturate=True), element=target)], ["y"])
    return g


@pytest.mark.parametrize("target", [I8, UI8, I32])
@pytest.mark.parametrize("rectified", [False, True])
def test_one_cast(rectified, target):
    g = _through_64_bits(target=target, rectified=rectified)
    x = {"x0": NUMBERS.astype(np.float32)}
    before = run_function(g.module, x)["y"]
    recognize(g.module)
    assert op_names(g.module) == (["Relu", "Cast"] if rectified else ["Cast"])
    np.testing.assert_array_equal(run_function(g.module, x)["y"], before)


@pytest.mark.parametrize("changed", [{"rest": 1.0}, {"limit": 2.0**40}, {"target": I64}, {"element": F64}])
def test_near_misses(changed):
    g = _through_64_bits(**changed)
    recognize(g.module)
    assert "Where" in op_names(g.module)

"""What a module may take in memory where it is run: as much as where it is verified."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.budget import allowed
from transload.engine.room import NoRoom
from transload.ir import F32, Dense
from transload.ir.constants import SplatData

from tests.support.graphs import Graph
from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph

ONE = {"x0": np.ones((1, 4), np.float32)}


def grown() -> transload.Module:
    """A program whose result is a constant of one number, added to, of 4 GB."""
    shape = (1 << 28, 4)
    g = Graph((1, 4))
    return g.done(g.builder.emit("top.Add", g.inputs[0], g.builder.constant(Dense(SplatData(np.float32(3), shape)), F32)))


@pytest.mark.parametrize("engine", ["reference", "xla", "auto"])
def test_values_of_gigabytes_are_refused(engine: str) -> None:
    with pytest.raises(NoRoom, match=r"would take 4,294,967,.* bytes at one time, and 536,870,912 are allowed"):
        transload.run(grown(), ONE, engine=engine)


def test_what_is_allowed_may_be_more_or_less() -> None:
    g = Graph((1, 4))
    module = g.done(g.builder.emit("top.Tile", g.inputs[0], tile=(1 << 10, 1)))
    assert transload.run(module, ONE)["y0"].shape == (1 << 10, 4)
    with allowed(memory=1000), pytest.raises(NoRoom, match="TRANSLOAD_BUDGET=memory="):
        transload.run(module, ONE)


def test_large_inputs_may_become_larger() -> None:
    g = Graph((1 << 10, 4))
    module = g.done(g.builder.emit("top.Tile", g.inputs[0], tile=(1 << 5, 1)))
    with allowed(memory=1000):
        assert transload.run(module, {"x0": np.ones((1 << 10, 4), np.float32)})["y0"].shape == (1 << 15, 4)


def test_sizes_that_are_known_as_it_runs() -> None:
    """Each value is the one before it twice."""
    module = read_graph(graph(
        const("axis", np.int32(1)), placeholder("x0", (1, 4)), *(
            node(f"x{n + 1}", "ConcatV2", f"x{n}", f"x{n}", "axis", N=2, T=T("float32"), Tidx=T("int32")) for n in range(16))))
    with allowed(memory=1 << 18), pytest.raises(NoRoom, match="TRANSLOAD_BUDGET=memory="):
        transload.run(module, ONE, engine="reference")
    with allowed(memory=1 << 21):
        assert transload.run(module, ONE, engine="reference")["x16"].shape == (1, 1 << 18)


def test_values_that_are_there_together() -> None:
    """Each is given out, and none is large."""
    module = read_graph(graph(
        const("axis", np.int32(1)), placeholder("x0", (1, 4)), *(
            node(f"y{n}", "ConcatV2", "x0", "x0", "axis", N=2, T=T("float32"), Tidx=T("int32")) for n in range(99))))
    with allowed(memory=99 * 32 - 1), pytest.raises(NoRoom, match="TRANSLOAD_BUDGET=memory="):
        transload.run(module, ONE, engine="reference")
    with allowed(memory=99 * 32):
        assert len(transload.run(module, ONE, engine="reference")) == 99

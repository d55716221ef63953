"""Modules that are tried by a runtime."""

from __future__ import annotations

import pytest

import transload
from transload.plugin_host import host
from transload.trials import refusal_by_runtime

from tests.support.graphs import Graph


def test_inputs_of_any_size_are_not_made() -> None:
    """A file may claim 137 GB; the trial ended in a MemoryError."""
    pytest.importorskip("ai_edge_litert")
    g = Graph((1 << 18, 1 << 17))
    assert refusal_by_runtime(host().runtimes["litert"], transload.lower(g.done(g.Relu(g.inputs[0])), "tfl")) is None

"""Operators that tflite-micro has no kernel of, written by those that it has, and run there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import TargetError
from transload.written import written_at

from tests.support.graphs import Graph

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tflite_micro") is None, reason="install transload[tflm] to run models as microcontrollers do")


def test_what_it_has_no_kernel_of_is_written_by_others(tmp_path: Path) -> None:
    graph = Graph((3, 40))
    x = graph.inputs[0]
    module = graph.done(graph.GELU(x, approx=True), graph.Clip(x, min=0.0, max=1.0), graph.Pow(x, 2.0))
    numbers = {"x0": np.linspace(-6, 6, 120, dtype=np.float32).reshape(3, 40)}
    wanted = transload.run(module, numbers, engine="reference")
    artifact = transload.convert(module, "tflm", tmp_path)
    assert not {"GELU", "POW", "RELU_0_TO_1"} & set(artifact.report.target_report["resolver"])
    run = written_at(tmp_path).run
    assert run is not None
    for name, array in run(numbers).items():
        assert np.unique(wanted[name]).size > 10
        np.testing.assert_allclose(array, wanted[name], rtol=1e-6, atol=2e-7)


def test_what_has_no_such_formula_is_refused(tmp_path: Path) -> None:
    """The exact GELU, and powers of other numbers: all at once, and nothing is written."""
    graph = Graph((3, 4))
    x = graph.Abs(graph.inputs[0])
    with pytest.raises(TargetError) as caught:
        transload.convert(graph.done(graph.GELU(x, approx=False), graph.Pow(x, 2.5)), "tflm", tmp_path)
    assert {finding.what for finding in caught.value.findings} == {"tfl.gelu", "tfl.pow"}
    assert not list(tmp_path.glob("*.tflite"))

"""What plugins give of the right class that is nothing: numbers beyond bounds, no file, a module of another dialect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import PluginFailure
from transload.hosting import _taken
from transload.ir import Module
from transload.ir.build import Builder
from transload.outcomes import READS, wrong_options
from transload.plugin import Metric, Quantizer, Target, resolve
from transload.testing import build_module, build_op
from transload.text import print_module

from tests.support.plugins import beside_ours

pytestmark = pytest.mark.plugin_fails

X = np.ones(2, np.float32)


@pytest.mark.parametrize(("number", "fits"), [
    (-1.0, False), (1.5, False), (float("inf"), False), (1 + 1e-9, True), (0, True), (1.01, False), (np.float16(1.001), True),
    (np.float32(1.00002), True), (float("nan"), True)])
def test_a_metric_keeps_to_its_bounds(number: float, fits: bool) -> None:
    """-1 of a metric from 0 to 1 passed every tolerance."""
    with beside_ours(metrics=[Metric("acme-share", lambda a, b: number, bounds=(0.0, 1.0))]).bind():
        measure = resolve(transload.host().metrics["acme-share"].measure)
        if fits:
            assert np.array_equal(measure(X, X), number, equal_nan=True)
            return
        with pytest.raises(PluginFailure, match=r"'acme'.*metric 'acme-share'.* where its bounds are 0 and 1"):
            measure(X, X)


def test_a_quantizer_gives_a_module_of_the_hub() -> None:
    """One of a target's dialect was taken, and went on as if it were the hub's."""
    def lowered(module: Module, samples: Any) -> Module:
        return transload.lower(module, "tosa")

    with (beside_ours(quantizers=[Quantizer("acme-q", lowered)]).bind(),
          pytest.raises(PluginFailure, match=r"quantizer 'acme-q' .*gives a module of 'tosa', where one of 'top' is wanted")):
        transload.quantize(build_op("top.Relu", X), "acme-q")


@pytest.mark.parametrize("given", ["", [], ()])
def test_a_conversion_has_functions_to_convert(given: Any) -> None:
    """With none there was an empty module afterwards."""
    with pytest.raises(TypeError, match="gives no function"):
        READS["conversions", "entries"](given)


class Meddling(Target):
    name, doc, accepts = "acme-chip", "A chip.", ("top",)

    def emit(self, module: Module, directory: Any, stem: str, options: Any) -> Any:
        raise AssertionError

    def takes(self, op: Any, options: Any) -> bool:
        op.attributes["do_relu"] = True
        return bool(op.name == "top.Add")


def test_a_target_that_is_asked_about_an_op_cannot_change_it() -> None:
    """It was told as a defect of somebody else."""
    def add(builder: Builder, x: Any) -> Any:
        return builder.emit("top.Relu", builder.emit("top.Add", x, x))

    module = build_module([build_op("top.Relu", X).inputs["x0"]], add)
    before = print_module(module)
    with beside_ours(targets=[Meddling()]).bind():
        takes = _taken(transload.host().targets["acme-chip"], module, {})
        assert takes is not None
        assert [takes(op) for op in module.body_of_main if op.dialect == "top"] == [True, False]
    assert print_module(module) == before


def test_a_default_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of each plugin's was, as they are registered, and what was read thrown away."""
    monkeypatch.setattr("transload.outcomes.of_json_text", None)
    assert wrong_options({"size": (int, 1, "how large")}) is None

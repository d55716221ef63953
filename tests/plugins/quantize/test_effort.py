"""Effort: what is tried, what is kept, and that it is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import UsageError
from transload.ir import Module
from transload.plugin import Quantized
from transload.quantization import quantize_at_hub
from transload.text import print_module
from transload_plugins.quantize import effort

from tests.support.graphs import Graph


@pytest.fixture(scope="module")
def network() -> Module:
    g = Graph((32, 16))
    first = g.Relu(g.MatMul(g.inputs[0], g.random(16, 24), g.random(24), location="first"))
    return at_hub(g.done(g.MatMul(first, g.random(24, 8), g.random(8), location="end")))


@pytest.fixture(scope="module")
def samples() -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    return [{"x0": random.normal(size=(32, 16)).astype(np.float32)} for _ in range(24)]


@pytest.mark.slow
def test_best_says_what_was_tried_and_is_the_same_again(network: Module, samples: Any) -> None:
    made = quantize_at_hub(network, "int8", samples, {"effort": "best"})
    told = made.report["effort"]
    assert list(told) == ["default", *effort.LOOKING, "held", "polish", "learned"]
    assert all("kept" in told[name] for name in effort.PASSES)
    again = quantize_at_hub(network, "int8", samples, {"effort": "best"})
    assert print_module(again.module) == print_module(made.module) and again.report["effort"] == told
    assert "effort" not in quantize_at_hub(network, "int8", samples, {"effort": "default"}).report


def test_what_gains_is_kept_and_only_that(network: Module, samples: Any) -> None:
    """Of a quantizer whose outputs are off by as much as its options say."""
    noise = {"polish": 0.5, "minmax": 2.0, "percentile": 0.25, "entropy": 0.24, None: 1.0}
    asked: list[tuple[int, dict[str, Any]]] = []

    def run(module: Module, given: Iterable[Any], **options: Any) -> Quantized:
        asked.append((len(list(given)), options))
        level = noise["polish"] if options.get("polish") else 1.0
        level *= noise[options.get("method")] * (0.5 if options.get("equalization") is False else 1.0)
        copy = module.clone()
        (bias,) = [op for op in copy.body_of_main if op.results and op.result.name == "end"]
        shifted = transload_shift(copy, bias, 0.01 * level)
        return Quantized(shifted, {}, {"own": 1})

    made = effort.best(run, network, samples, {})
    kept = [name for name, said in made.report["effort"].items() if said.endswith(", kept")]
    assert kept == ["percentile", "entropy", "unequalized", "polish"] and made.report["own"] == 1
    assert asked[-1] == (24, {"polish": True, "method": "entropy", "equalization": False})
    assert {count for count, _ in asked[:-2]} == {12} and asked[-2] == (24, {})
    asked.clear()
    effort.best(run, network, samples, {"method": "minmax"})
    assert all(options["method"] == "minmax" for _, options in asked)
    made = effort.best(lambda module, given, **options: Quantized(module.clone(), {}, {}), network, samples, {"calibration": "t"})
    told = made.report["effort"]
    assert list(told) == ["default", "islands", "polish"] and told["polish"].endswith("not kept")


@pytest.mark.parametrize(("worse", "said"), [("others", "not where halves change places"), ("all", "no gain on all samples")])
def test_what_gains_by_chance_is_not_kept(network: Module, samples: Any, worse: str, said: str) -> None:
    """On one half of the samples alone, or not on all together."""
    halves: list[Any] = []

    def run(module: Module, given: Iterable[Any], **options: Any) -> Quantized:
        held = list(given)
        halves.extend([held[0]] if not halves else [])
        kind = "all" if len(held) == len(samples) else "first" if held[0] is halves[0] else "others"
        copy = module.clone()
        (bias,) = [op for op in copy.body_of_main if op.results and op.result.name == "end"]
        level = 1.0 if not options else 2.0 if kind == worse else 0.5
        return Quantized(transload_shift(copy, bias, 0.01 * level), {}, {"options": options})

    made = effort.best(run, network, samples, {}, {"polish": {"polish": True}})
    assert said in str(made.report["effort"]) and made.report["options"] == {}


def test_islands_are_those_of_all_samples_while_passes_are_judged(network: Module, samples: Any) -> None:
    """A pass is worth what it changes itself: with an island more or less beside it, none could be told from chance."""
    asked: list[tuple[int, dict[str, Any]]] = []

    def run(module: Module, given: Iterable[Any], **options: Any) -> Quantized:
        asked.append((len(list(given)), options))
        copy = module.clone()
        (bias,) = [op for op in copy.body_of_main if op.results and op.result.name == "end"]
        level = (0.5 if "fine" in options else 1.0) * (0.5 if options.get("polish") else 1.0)
        whose = "those of all" if asked[-1][0] == len(samples) else "others"
        return Quantized(transload_shift(copy, bias, 0.01 * level), {}, {"islands": whose})

    made = effort.best(run, network, samples, {}, hold=lambda made: {"islands": made.report["islands"]})
    judged = [options for count, options in asked if count == 12 and not {"polish", "learning"}.isdisjoint(options)]
    assert judged and all(options["islands"] == "those of all" and "fine" in options for options in judged)
    ranged = [options for _, options in asked if options.get("method") and {"polish", "learning"}.isdisjoint(options)]
    assert ranged and not any("islands" in options for options in ranged)
    assert list(made.report["effort"])[-3:] == ["held", "polish", "learned"]
    asked.clear()
    effort.best(run, network, samples, {"islands": "none"}, hold=lambda made: {})
    assert all("fine" not in options for _, options in asked)


def transload_shift(module: Module, op: Any, much: float) -> Module:
    """The module with something added to the bias of an op."""
    from transload.ir import Dense
    from transload.ir.build import Builder, constant_of

    dense = constant_of(op.operands[2])
    assert dense is not None
    build = Builder(op.parent, before=op)
    op.set_operand(2, build.constant(Dense(dense.numpy() + np.float32(much)), element=op.operands[2].element))
    return module


def test_fast_leaves_out_what_takes_long_but_not_what_is_asked_for() -> None:
    assert effort.options_for("fast", {"rounding": True}) == {**effort.FAST, "rounding": True}
    assert effort.options_for("default", {"room": False}) == {"room": False}


@pytest.mark.parametrize(("scheme", "options", "count", "match"), [
    ("int8", {"effort": "more"}, 24, "no effort 'more'"),
    ("int8", {"effort": "best"}, 3, "needs four samples"),
    ("f16", {"effort": "best"}, 24, "no option effort"),
])
def test_what_cannot_be_asked_for(
    network: Module, samples: Any, scheme: str, options: dict[str, Any], count: int, match: str,
) -> None:
    with pytest.raises(UsageError, match=match):
        transload.quantize(network, scheme, samples[:count], **options)

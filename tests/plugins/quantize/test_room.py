"""Outputs may reach farther than on the samples where that costs next to nothing, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.ir import Module, QuantType
from transload_plugins.quantize.room import COST, MOST

from tests.support.graphs import Graph

Samples = list[dict[str, np.ndarray]]


def scorer(relu_limit: float = 0.0) -> tuple[Module, Samples]:
    """A score of a hundred numbers, most of whose noise is that of the layer before."""
    g = Graph((1, 100))
    random = np.random.default_rng(1)
    hidden = g.MatMul(g.inputs[0], random.normal(size=(100, 4)).astype(np.float32), location="hidden")
    score = g.MatMul(hidden, np.ones((4, 1), np.float32), np.zeros(1, np.float32), location="score")
    module = g.done(g.Relu(score, relu_limit=relu_limit, location="cut") if relu_limit else score)
    return at_hub(module), [{"x0": random.normal(size=(1, 100)).astype(np.float32)} for _ in range(64)]


def kept(module: Module, samples: Samples, name: str, **options: object) -> QuantType:
    quantized = transload.quantize(module, "int8", samples, islands="none", **options)
    (value,) = (op.results[0] for op in quantized.ops() if op.results and op.results[0].name == name and op.results[0].quant)
    assert value.quant is not None
    return value.quant


def test_a_score_reaches_farther_than_on_the_samples() -> None:
    module, samples = scorer()
    scores = {number: abs(float(transload.run(module, sample)["y0"].max())) for number, sample in enumerate(samples)}
    order = sorted(scores, key=scores.__getitem__)
    seen, reached = [samples[number] for number in order[:32]], scores[order[31]]
    beyond = [samples[number] for number in order[32:] if scores[number] < 1.4 * reached]
    errors = [[float(abs(transload.run(module, each)["y0"] - transload.run(quantized, each)["y0"]).max()) for each in beyond]
              for quantized in (transload.quantize(module, "int8", seen, islands="none", method="minmax", room=room)
                                for room in (False, True))]
    assert len(beyond) > 3 and np.mean(errors[1]) < 0.5 * np.mean(errors[0])


def test_no_output_reaches_farther_than_twice_what_was_seen() -> None:
    module, samples = scorer()
    scores = [float(transload.run(module, sample)["y0"].max()) for sample in samples]
    quant = kept(module, samples, "score")
    reach = (quant.storage_max - quant.zero_point) * quant.scale
    assert max(scores) < reach <= MOST * max(scores) * 1.02


def test_what_has_no_noise_but_its_own_gets_next_to_no_room() -> None:
    g = Graph((1, 16))
    random = np.random.default_rng(4)
    weights = np.where(np.arange(16)[:, None], random.integers(-126, 127, (16, 6)), 127).astype(np.float32)
    module = at_hub(g.done(g.MatMul(g.inputs[0], weights, g.random(6), location="scores")))
    samples = [{"x0": np.r_[0, 255, random.integers(0, 256, 14)][None].astype(np.float32)} for _ in range(16)]
    without, with_room = (kept(module, samples, "scores", room=room).scale for room in (False, True))
    assert without <= with_room <= without * COST


def test_a_limit_still_cuts_what_has_room() -> None:
    module, samples = scorer(relu_limit=6.0)
    quantized = transload.quantize(module, "int8", samples[:16], islands="none")
    given = [float(transload.run(quantized, sample)["y0"].max()) for sample in samples]
    assert max(given) == pytest.approx(6.0, abs=0.1)


@pytest.mark.parametrize("options", [{"room": False}, {"table": True}])
def test_a_table_says_the_ranges(options: dict[str, bool]) -> None:
    module, samples = scorer()
    table = transload.calibrate(module, samples)
    plain = kept(module, samples, "score", equalization=False, room=False)
    if options.get("table"):
        assert kept(module, samples, "score", calibration=table) == plain
    else:
        assert kept(module, samples, "score", equalization=False) != plain

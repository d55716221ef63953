"""Learned ranges and scales: nearer outputs on samples that were not looked at, the same again, within the scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import UsageError
from transload.ir import Module
from transload.plugin import Quantized
from transload.quantization import quantize_at_hub
from transload_plugins.quantize import learning
from transload_plugins.quantize.bias import with_biases
from transload_plugins.quantize.calibration import calibrate
from transload_plugins.quantize.groups import Groups
from transload_plugins.quantize.learning import LearningSimulation, free_of, learned
from transload_plugins.quantize.observe import observed
from transload_plugins.quantize.quantize import types_of
from transload_plugins.quantize.scheme import SCHEMES
from transload_plugins.quantize.simulation import Simulation

from tests.support.graphs import Graph

Samples = list[dict[str, np.ndarray]]
INT8 = SCHEMES["int8"]
OPTIONS = {"method": "minmax", "equalization": False, "islands": "none", "room": False}


@pytest.fixture(scope="module")
def network() -> Module:
    g = Graph((1, 3, 10, 10))
    first = g.Conv(g.inputs[0], g.random(8, 3, 3, 3), g.random(8), kernel_shape=(3, 3), do_relu=True, location="first")
    second = g.Conv(first, g.random(8, 1, 3, 3), g.random(8), kernel_shape=(3, 3), group=8, pads=(1, 1, 1, 1), location="second")
    joined = g.Concat(g.Add(first, second, location="sum"), second, axis=1, location="joined")
    flat = g.Reshape(g.AvgPool(joined, kernel_shape=(8, 8), location="mean"), shape=(1, 16), location="flat")
    return at_hub(g.done(g.MatMul(flat, g.random(16, 5), g.random(5), location="end")))


@pytest.fixture(scope="module")
def samples() -> Samples:
    random = np.random.default_rng(0)
    return [{"x0": random.normal(size=(1, 3, 10, 10)).astype(np.float32)} for _ in range(80)]


def quantized(network: Module, scheme: str, samples: Samples, **options: Any) -> Quantized:
    return quantize_at_hub(network, scheme, samples, {**OPTIONS, **options})


def test_outputs_come_nearer_on_other_samples(network: Module, samples: Samples) -> None:
    """Of a network whose ranges are half as wide again as is best."""
    module = with_biases(network)
    groups, named = Groups(module), observed(module)
    ranges = {name: (1.5 * low, 1.5 * high) for name, (low, high) in calibrate(module, samples[:48], "mse").ranges.items()}
    simulation = Simulation(module, INT8, groups)
    before = types_of(INT8, groups, named, ranges)
    found = learned(simulation, before, free_of(simulation, before, ranges), samples[:48])
    assert all(factor < 0.9 for factor in found.factors.values()), "the rounding of each tensor is finer"
    held, weights = found.applied(simulation, ranges, {})
    after = Simulation(module, INT8, groups, {named[name]: array for name, array in weights.items()})
    noise = [each.measure(types, samples[48:]).mean_decibels for each, types in (
        (simulation, before), (after, types_of(INT8, groups, named, held)))]
    assert noise[1] > noise[0] + 0.7


def test_what_was_learned_is_told_and_the_same_again(network: Module, samples: Samples) -> None:
    plain, made, again = (quantized(network, "int8", samples[:48], learning=word) for word in (False, "true", True))
    told = made.report["learned"]
    assert "learned" not in plain.report and told["samples"] == 48
    assert told["kept"] == (told["decibels"][1] > told["decibels"][0]) and told["kept"] == (str(made.module) != str(plain.module))
    before, after = told["ranges"]["first"]
    assert before != after and set(told["scales"]) == {"first", "second", "end"}
    assert str(again.module) == str(made.module) and again.report == made.report


def test_tensors_of_one_type_have_one_afterwards(network: Module, samples: Samples) -> None:
    made = quantized(network, "int8", samples[:24], learning=True).module
    held = {op.result.name: op.result.quant for op in made.ops() if op.results and op.result.name}
    assert held["joined"] == held["sum"] == held["second"]


@pytest.mark.parametrize(("scheme", "options", "ranges", "scales"), [
    ("int8-sym", {}, True, True), ("uint8", {}, True, True), ("int8-per-tensor", {}, True, False),
    ("int16x8", {}, False, True), ("int8", {"power_of_two": True}, False, False),
])
def test_what_is_learned_keeps_to_the_scheme(
    network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch, scheme: str, options: dict[str, Any], ranges: bool,
    scales: bool,
) -> None:
    monkeypatch.setattr(learning, "STEPS", 5)
    made = quantized(network, scheme, samples[:16], learning=True, **options)
    told = made.report["learned"]
    assert (bool(told["ranges"]), bool(told["scales"])) == (ranges, scales)
    types = [op.result.quant for op in made.module.ops() if op.results and op.result.quant is not None]
    if scheme in ("int8-sym", "int16x8"):
        assert not any(any(type_.zero_points) for type_ in types)
    if "power_of_two" in options:
        assert all(np.log2(scale).is_integer() for type_ in types for scale in type_.scales if type_.storage.width == 8)


def test_what_does_not_gain_is_not_kept(network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = quantized(network, "int8", samples[:16])
    monkeypatch.setattr(learning, "RATES", (0.5, 0.5))
    made = quantized(network, "int8", samples[:16], learning=True)
    assert not made.report["learned"]["kept"] and str(made.module) == str(plain.module)


def test_ranges_that_are_too_wide_have_to_shrink(network: Module, samples: Samples) -> None:
    module = with_biases(network)
    groups, named = Groups(module), observed(module)
    ranges = {name: (3 * low, 3 * high) for name, (low, high) in calibrate(module, samples[:8], "mse").ranges.items()}
    types = types_of(INT8, groups, named, ranges)
    program = LearningSimulation(module, INT8, groups)
    by_steps, _ = program.gradients(types, samples[:8], None, np.ones(len(program.roots)), np.ones(program.channels))
    assert all(by_steps[program.roots.index(root)] > 0.0 for root in free_of(program, types, ranges))


def test_learning_needs_samples_and_ranges_of_its_own(network: Module, samples: Samples) -> None:
    table = calibrate(network, samples[:4])
    with pytest.raises(UsageError, match="needs samples"):
        transload.quantize(network, "int8", learning=True)
    with pytest.raises(UsageError, match="not learned"):
        transload.quantize(network, "int8", samples[:4], calibration=table, learning=True)


def test_best_tries_learning_unless_ranges_are_given(network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "STEPS", 3)
    made = quantize_at_hub(network, "int8", samples[:16], {**OPTIONS, "effort": "best"})
    assert "learned" in made.report["effort"]
    made = quantize_at_hub(network, "int8", samples[:16], {"effort": "best", "calibration": calibrate(network, samples[:16])})
    assert "learned" not in made.report["effort"]


def test_what_is_learned_has_the_same_bits_as_tosa(network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "STEPS", 20)
    made = quantized(network, "int8", samples[:16], learning=True).module
    lowered = transload.lower(made, "tosa")
    for sample in samples[60:]:
        (here,), (there,) = (transload.run(each, sample).values() for each in (made, lowered))
        np.testing.assert_array_equal(here, there)

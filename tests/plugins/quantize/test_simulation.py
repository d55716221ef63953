"""The float program that stands for the quantized module: its noise is that of the integers, its shifts are what biases lack."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload_plugins.quantize.at_outputs import OutputSimulation
from transload_plugins.quantize.bias import corrections, move_biases, with_biases
from transload_plugins.quantize.calibration import calibrate
from transload_plugins.quantize.groups import Groups
from transload_plugins.quantize.observe import observed
from transload_plugins.quantize.quantize import quantize_module, types_of
from transload_plugins.quantize.running import Runner
from transload_plugins.quantize.scheme import SCHEMES
from transload_plugins.quantize.simulation import Simulation

from tests.support.graphs import Graph

SCHEME = SCHEMES["int8"]
Samples = list[dict[str, np.ndarray]]


def network() -> tuple[Module, Samples]:
    """Two convolutions of few weights, so that rounding shifts their sums; the first has a ReLU in it, the second no bias."""
    g = Graph((1, 3, 10, 10))
    (x,) = g.inputs
    wide = g.random(6, 3, 3, 3) * np.array([8, 1, 1, 1, 1, 1], np.float32)[:, None, None, None]
    hidden = g.Conv(x, wide, g.random(6), kernel_shape=(3, 3), do_relu=True, location="hidden")
    module = g.done(g.Conv(hidden, g.random(4, 6, 3, 3) ** 5, kernel_shape=(3, 3), location="out"))
    rng = np.random.default_rng(5)
    return module, [{"x0": rng.normal(1.0, 1.0, (1, 3, 10, 10)).astype(np.float32)} for _ in range(8)]


@pytest.fixture
def simulated() -> tuple[Simulation, dict, Samples, Module, dict]:
    module, samples = network()
    module = with_biases(module)
    ranges = calibrate(module, samples, "minmax").ranges
    groups = Groups(module)
    return Simulation(module, SCHEME, groups), types_of(SCHEME, groups, observed(module), ranges), samples, module, ranges


def test_noise_is_that_of_the_quantized_module(simulated: tuple) -> None:
    simulation, types, samples, module, ranges = simulated
    (output,) = simulation.outputs
    quantized = quantize_module(module, SCHEME, ranges)
    wanted, actual = (
        np.stack([transload.run(each, sample, engine="reference")["y0"] for sample in samples]) for each in (module, quantized))
    found = simulation.measure(types, samples)
    assert found.signal[output] == pytest.approx(np.sum(wanted.astype(float) ** 2), rel=1e-4)
    assert found.noise[output] == pytest.approx(np.sum((wanted - actual).astype(float) ** 2), rel=0.05)


def test_without_types_only_weights_are_rounded(simulated: tuple) -> None:
    simulation, types, samples, _, _ = simulated
    assert simulation.measure({}, samples).noise[0] == pytest.approx(0.0, abs=1e-12), "the input"
    weights, whole = simulation.measure({}, samples), simulation.measure(types, samples)
    assert weights.typical(simulation.judged) < whole.typical(simulation.judged)


def test_an_output_is_judged_by_what_it_joins_by_size_before_what_hides_noise() -> None:
    g = Graph((1, 90), (1, 10))
    ends = [g.MatMul(x, g.random(x.static_shape[1], size), location=name)
            for x, size, name in zip(g.inputs, (30, 10), ("many", "few"), strict=True)]
    scores = g.Softmax(g.Concat(*ends, axis=1), axis=1, location="scores")
    module = g.done(scores)
    simulation = Simulation(module, SCHEME, Groups(module))
    (parts,) = simulation.judged
    assert {simulation.tensors[part].name: share for part, share in parts.items()} == {"many": 0.75, "few": 0.25}

    found = simulation.measure({}, [{"x0": np.ones((1, 90), np.float32), "x1": np.ones((1, 10), np.float32)}])
    many, few = (10 ** (-found.decibels(part) / 10) for part in parts)
    assert found.typical([parts]) == pytest.approx(0.75 * many + 0.25 * few, rel=1e-4)


def test_outputs_alone_are_judged_as_in_the_whole(simulated: tuple) -> None:
    simulation, types, samples, _, _ = simulated
    outputs = OutputSimulation(simulation, samples)
    for held in ({}, types, dict(list(types.items())[:1])):
        assert outputs.loss(held) == pytest.approx(simulation.measure(held, samples).typical(simulation.judged), rel=0.02)


def test_one_run_finds_what_makes_the_mean_of_sums_right(simulated: tuple) -> None:
    simulation, types, samples, _, _ = simulated
    shifts = simulation.measure(types, samples, corrected=True).shifts
    before, after = (np.abs(simulation.measure(types, samples, each).shifts).max() for each in (None, shifts))
    assert after < before / 5


def test_biases_are_moved_by_it(simulated: tuple) -> None:
    simulation, types, samples, module, ranges = simulated
    shifts, _ = corrections(simulation, types, samples)
    assert shifts is not None
    mapping: dict = {}
    moved = module.clone(mapping)
    move_biases(simulation, shifts, mapping)
    fresh = network()[1][4:]

    def error(quantized: Module) -> float:
        return sum(float(np.abs(np.mean(
            transload.run(module, sample, engine="reference")["y0"] - transload.run(quantized, sample, engine="reference")["y0"],
            axis=(2, 3))).sum()) for sample in fresh)

    assert error(quantize_module(moved, SCHEME, ranges)) < error(quantize_module(module, SCHEME, ranges))


def test_a_shift_that_changes_from_sample_to_sample_is_not_believed(simulated: tuple) -> None:
    simulation, types, samples, _, _ = simulated
    found = simulation.measure(types, samples, corrected=True)
    shifts, _ = corrections(simulation, types, samples)
    assert shifts is not None
    assert (np.abs(shifts) <= np.abs(found.shifts) + 1e-9).all()
    assert (shifts[found.errors > np.abs(found.shifts)] == 0).all()


def test_products_without_a_bias_get_one() -> None:
    module, _ = network()
    counts = [len(op.operands) for op in with_biases(module).ops() if op.name == "top.Conv"]
    assert counts == [3, 3]


def test_energies_are_told_in_the_order_of_the_tensors_whatever_their_ranks() -> None:
    g = Graph((2, 6))
    (x,) = g.inputs
    first = g.MatMul(x, g.random(6, 12), location="first")
    taken = g.Reshape(first, shape=(2, 3, 4), location="taken")
    total = g.Reduce(taken, axes=(0, 1, 2), keepdims=False, mode="ReduceSum", location="total")
    last = g.MatMul(first, g.random(12, 5), location="last")
    module = with_biases(g.done(g.Add(taken, total, location="sum"), last, total))
    sample = {"x0": np.random.default_rng(0).normal(size=(2, 6)).astype(np.float32)}
    simulation = Simulation(module, SCHEME, Groups(module))
    found = simulation.measure({}, [sample])
    names = {value: name for name, value in observed(module).items()}
    tensors = Runner(module)(sample)
    wanted = [float(np.sum(tensors[names[value]].astype(np.float64) ** 2)) for value in simulation.tensors]
    assert len({value.rank for value in simulation.tensors}) == 3
    np.testing.assert_allclose(found.signal, wanted, rtol=1e-5)
    np.testing.assert_allclose(found.each[0, :, 0], wanted, rtol=1e-5)

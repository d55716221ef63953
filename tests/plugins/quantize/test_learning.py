"""Learned ranges and scales: nearer outputs on samples that were not looked at, the same again and after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import ReadError, UsageError
from transload.ir import Module
from transload.plugin import Quantized
from transload.quantization import quantize_at_hub
from transload.telling import told_to
from transload.text import print_module
from transload_plugins.quantize import effort, learning, run, running
from transload_plugins.quantize.bias import with_biases
from transload_plugins.quantize.calibration import calibrate
from transload_plugins.quantize.groups import Groups
from transload_plugins.quantize.learning import LearningSimulation, free_of, learned
from transload_plugins.quantize.observe import observed
from transload_plugins.quantize.quantize import types_of
from transload_plugins.quantize.scheme import SCHEMES
from transload_plugins.quantize.simulation import Simulation

from tests.support.graphs import Graph
from tests.support.sampling import sampled

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
    found, _ = learned(simulation, before, free_of(simulation, before, ranges), samples[:48])
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
    assert told["kept"] == (told["decibels"][1] > told["decibels"][0])
    assert told["kept"] == (print_module(made.module) != print_module(plain.module))
    before, after = told["ranges"]["first"]
    assert before != after and set(told["scales"]) == {"first", "second", "end"}
    assert print_module(again.module) == print_module(made.module) and again.report == made.report


def test_tensors_of_one_type_have_one_afterwards(network: Module, samples: Samples) -> None:
    made = quantized(network, "int8", samples[:24], learning=True).module
    held = {op.result.name: op.result.quant for op in made.ops() if op.results and op.result.name}
    assert held["joined"] == held["sum"] == held["second"]


@pytest.mark.parametrize(("scheme", "ranges", "scales"), [
    ("int8-sym", True, True), ("uint8", True, True), ("int8-per-tensor", True, False), ("int16x8", False, True)])
def test_what_is_learned_keeps_to_the_scheme(
    network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch, scheme: str, ranges: bool, scales: bool,
) -> None:
    monkeypatch.setattr(learning, "STEPS", 5)
    made = quantized(network, scheme, samples[:16], learning=True)
    told = made.report["learned"]
    assert (bool(told["ranges"]), bool(told["scales"])) == (ranges, scales)
    types = [op.result.quant for op in made.module.ops() if op.results and op.result.quant is not None]
    if scheme in ("int8-sym", "int16x8"):
        assert not any(any(type_.zero_points) for type_ in types)


def test_what_does_not_gain_is_not_kept(network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = quantized(network, "int8", samples[:16])
    monkeypatch.setattr(learning, "RATES", (0.5, 0.5))
    made = quantized(network, "int8", samples[:16], learning=True)
    assert not made.report["learned"]["kept"] and print_module(made.module) == print_module(plain.module)


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


@pytest.mark.parametrize("options", [{"effort": "best"}, {"learning": True}, {"effort": "best", "layers": True}])
def test_nothing_is_learned_where_all_stays_float(network: Module, samples: Samples, options: dict[str, Any]) -> None:
    names = list(observed(network))
    asked = {"layers": dict.fromkeys(names, "F32")} if "layers" in options else {"floats": names}
    made = quantize_at_hub(network, "int8", samples[:8], {**options, **asked})
    assert set(names) <= set(made.floats or {}) and "learned" not in made.report


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


# --- ended in the middle


class Ended(KeyboardInterrupt):
    pass


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps were taken, at the first place; at the second, how many may be before a run is ended."""
    counts, compute = [0, 1000], LearningSimulation.gradients

    def count(self: LearningSimulation, *arguments: Any) -> Any:
        if counts[0] == counts[1]:
            raise Ended
        counts[0] += 1
        return compute(self, *arguments)

    monkeypatch.setattr(LearningSimulation, "gradients", count)
    monkeypatch.setattr(learning, "STEPS", 14)
    monkeypatch.setattr(learning, "LEAST_STEPS", 14)
    monkeypatch.setattr(learning, "SAVED_EVERY", 4)
    return counts


@pytest.mark.parametrize(("ended", "left"), [(3, 14), (10, 6)])
def test_learning_that_was_ended_goes_on_with_the_same_bits(
    network: Module, samples: Samples, tmp_path: Path, taken: list[int], ended: int, left: int,
) -> None:
    whole = quantized(network, "int8", samples[:24], learning=True)
    file = tmp_path / "learning.state"
    taken[:] = 0, ended
    with pytest.raises(Ended):
        quantized(network, "int8", iter(samples[:24]), learning=True, resume=file)
    assert [each.name for each in tmp_path.iterdir()] == (["learning.state"] if ended > 3 else [])
    taken[:] = 0, 1000
    again = quantized(network, "int8", iter(samples[:24]), learning=True, resume=str(file))
    assert taken[0] == left and not list(tmp_path.iterdir())
    assert print_module(again.module) == print_module(whole.module) and again.report == whole.report


@pytest.mark.parametrize("ended", sampled([0, 14, 40], [14]))
def test_best_goes_on_from_the_pass_and_the_step_at_which_it_was_ended(
    network: Module, samples: Samples, tmp_path: Path, taken: list[int], monkeypatch: pytest.MonkeyPatch, ended: int,
) -> None:
    """Where learning is kept it has fourteen steps on half of the samples, on the other half, and on all of them."""
    monkeypatch.setattr(effort._Judge, "gains", lambda self, part, *pair: all(self.decibels(part, each).size for each in pair))
    given = {"effort": "best", "islands": "none", "method": "minmax", "equalization": False}
    whole = quantize_at_hub(network, "int8", samples, given)
    assert taken[0] == 42
    file = tmp_path / "best.state"
    taken[:] = 0, ended
    with pytest.raises(Ended):
        quantize_at_hub(network, "int8", samples, {**given, "resume": file})
    taken[:] = 0, 1000
    again = quantize_at_hub(network, "int8", samples, {**given, "resume": file})
    assert taken[0] == 42 - ended // 14 * 14 - ended % 14 // 4 * 4 and not file.exists()
    assert print_module(again.module) == print_module(whole.module) and again.report == whole.report


def test_a_file_of_something_else_is_refused(network: Module, samples: Samples, tmp_path: Path, taken: list[int]) -> None:
    file = tmp_path / "state"
    taken[1] = 6
    with pytest.raises(Ended):
        quantized(network, "int8", samples[:24], learning=True, resume=file)
    taken[1] = 1000
    for given, options in ((samples[1:25], {"learning": True}), (samples[:24], {"learning": True, "polish": True}),
                           (samples[:24], {"effort": "best"})):
        with pytest.raises(UsageError, match="of another model, other samples or other options"):
            quantized(network, "int8", given, resume=file, **options)
    held = dict(np.load(file))
    (name,) = (name for name in held if name.endswith("/state"))
    np.savez(tmp_path / "other.npz", **{**held, name: held[name][:, 1:]})
    for content, words in ((b"text", "plain arrays"), ((tmp_path / "other.npz").read_bytes(), "other numbers")):
        file.write_bytes(content)
        with pytest.raises(ReadError, match=words):
            quantized(network, "int8", samples[:24], learning=True, resume=file)
    with pytest.raises(UsageError, match="nothing is saved"):
        quantized(network, "int8", samples[:24], resume=file)


# --- shown, and within bounds


def test_how_far_learning_is_is_told(network: Module, samples: Samples, taken: list[int]) -> None:
    told: list[tuple[str, float | None]] = []
    with told_to(lambda stage, share: told.append((stage, share))):
        quantized(network, "int8", samples[:8], learning=True)
    assert told == [(f"learning, step {step + 1} of 14", step / 14) for step in range(14)]
    told.clear()
    with told_to(lambda stage, share: told.append((stage, share))):
        quantize_at_hub(network, "int8", samples[:16], {**OPTIONS, "effort": "best"})
    assert [stage for stage, _ in told if "step" not in stage] == [
        "trying default", "trying polish", "trying learned", "quantizing on all samples"]
    assert all(share is not None and 0.0 <= share < 1.0 for _, share in told)


def test_the_samples_under_way_are_bounded_and_their_number_changes_nothing(
    network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = with_biases(network)
    groups = Groups(module)
    types = types_of(INT8, groups, observed(module), calibrate(module, samples[:8], "mse").ranges)
    program = LearningSimulation(module, INT8, groups)
    asked: list[int | None] = []
    each = running.Runner.each

    def watched(self: Any, given: Any, look: Any, workers: int | None = None) -> Iterator[Any]:
        asked.append(workers)
        return each(self, given, look, workers)

    monkeypatch.setattr(running.Runner, "each", watched)
    monkeypatch.setattr(learning, "cores", lambda: 16)
    size = 4 * learning.HELD * sum(np.prod(value.static_shape) for value in program.tensors)
    found = []
    for most in (1, 3, 100):
        monkeypatch.setattr(learning, "AT_ONCE", most * size)
        found.append(program.gradients(types, samples[:8], None, np.ones(len(program.roots)), np.ones(program.channels)))
    monkeypatch.setattr(learning, "AT_ONCE", 1)
    program.gradients(types, samples[:1], None, np.ones(len(program.roots)), np.ones(program.channels))
    assert asked == [1, 3, 16, 1]
    for by_steps, by_gains in found[1:]:
        np.testing.assert_array_equal(by_steps, found[0][0])
        np.testing.assert_array_equal(by_gains, found[0][1])


@pytest.mark.parametrize(("bytes_", "kept"), [(None, 80), (64, 64), (1, 32)])
def test_no_more_samples_are_kept_than_have_some_bytes(
    network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch, taken: list[int], bytes_: int | None, kept: int,
) -> None:
    """And no fewer than other steps keep; of those that are not kept some is counted all the same."""
    if bytes_ is not None:
        monkeypatch.setattr(run, "KEPT", bytes_ * samples[0]["x0"].nbytes)
    made = quantized(network, "int8", iter(samples), learning=True)
    assert kept / 2 <= made.report["learned"]["samples"] <= kept

"""Tensors that eight bits cannot hold are found by what they cost, and nothing is given up where nothing stands out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.budget import allowed, timed
from transload.errors import UsageError
from transload.ir import I16, Module, QuantType
from transload.ir.verify import verify
from transload.layers import layers_report
from transload.quantization import quantize_at_hub
from transload.text import print_module
from transload_plugins.quantize import islands, run
from transload_plugins.quantize.groups import Groups
from transload_plugins.quantize.kept import islands_of
from transload_plugins.quantize.simulation import Measured

from tests.support import tosa_reference
from tests.support.graphs import Graph

Samples = list[dict[str, np.ndarray]]


def spectrogram() -> tuple[Module, Samples]:
    """Powers over six decades, their logarithm, and a classifier behind it: as a front end for speech has it."""
    g = Graph((1, 16))
    (x,) = g.inputs
    power = g.Mul(x, x, location="power")
    floor = g.Add(power, 1e-5, location="floor")
    hidden = g.Relu(g.MatMul(g.Log(floor, location="log"), g.random(16, 12) / 16, g.random(12), location="hidden"))
    module = at_hub(g.done(g.MatMul(hidden, g.random(12, 4) / 4, g.random(4), location="scores")))
    rng = np.random.default_rng(3)
    return module, [
        {"x0": (rng.normal(size=(1, 16)) * 10.0 ** rng.uniform(-3, 1, (1, 1))).astype(np.float32)} for _ in range(24)]


def classifier() -> tuple[Module, Samples]:
    g = Graph((1, 16))
    (x,) = g.inputs
    module = at_hub(g.done(g.MatMul(g.Relu(g.MatMul(x, g.random(16, 12), g.random(12))), g.random(12, 4), g.random(4))))
    return module, [{"x0": np.random.default_rng(seed).normal(size=(1, 16)).astype(np.float32)} for seed in range(8)]


def decibels(module: Module, quantized: Module, samples: Samples) -> float:
    pairs = [[transload.run(each, sample, engine="reference")["y0"] for each in (module, quantized)] for sample in samples]
    wanted, actual = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return float(10 * np.log10(np.sum(wanted ** 2) / np.sum((wanted - actual) ** 2)))


def test_what_16_bits_do_not_hold_stays_float() -> None:
    """With `int16x8`, too, whose tensors have no more bits to get."""
    module, samples = spectrogram()
    samples = [{"x0": sample["x0"] * np.float32(100)} for sample in samples]
    without, found, held = (
        quantize_at_hub(module, "int16x8", samples[:12], {"islands": each}) for each in ("none", "mixed", "int16"))
    assert not without.floats and not held.floats and found.floats
    assert decibels(module, without.module, samples[12:]) < 20.0
    assert decibels(module, found.module, samples[12:]) > 30.0


def test_what_stands_before_a_logarithm_is_found() -> None:
    module, samples = spectrogram()
    without = quantize_at_hub(module, "int8", samples[:12], {"islands": "none"})
    found = quantize_at_hub(module, "int8", samples[:12], {})
    assert decibels(module, without.module, samples[12:]) < 20.0
    assert decibels(module, found.module, samples[12:]) > 30.0
    assert "floor" in found.floats
    assert "hidden" not in found.floats and "scores" not in found.floats
    assert "in 8 bits alone" in found.floats["floor"]
    kept = {op.origin for op in found.module.ops() if op.name in ("top.Log", "top.MatMul") and op.result.quant is None}
    assert kept == {"log"}


def far_from_zero() -> tuple[Module, Samples]:
    """Small differences of great numbers: 16 bits hold them, 8 do not."""
    g = Graph((1, 16), (1, 16))
    x, offset = g.inputs
    near = g.Sub(g.Add(x, offset, location="far"), offset, location="near")
    hidden = g.Relu(g.MatMul(near, g.random(16, 12), g.random(12)), location="hidden")
    module = at_hub(g.done(g.MatMul(hidden, g.random(12, 4), g.random(4), location="scores")))
    rng = np.random.default_rng(1)
    return module, [
        {"x0": rng.normal(size=(1, 16)).astype(np.float32), "x1": rng.uniform(50, 60, (1, 16)).astype(np.float32)}
        for _ in range(24)]


@pytest.mark.parametrize(("noises", "count"), [
    ((0.1, 0.12, 0.09, 0.11), 4), ((0.001, 2.0, 0.1, 1.0), 8), ((1e-6, 1e-5, 1e-6, 1e-4), 0)])
def test_samples_that_are_not_of_one_mind_are_more(monkeypatch: pytest.MonkeyPatch, noises: tuple, count: int) -> None:
    """Of four loud and silent samples it was left to chance which tensors were found; where all is fine none are looked for."""
    energies = np.array([[[1.0, noise]] for noise in noises])
    found = Measured(np.ones(1), np.ones(1), np.zeros(1), np.zeros(1), energies)
    seen = []

    def search(simulation: Any, samples: Samples) -> Any:
        seen.append(len(samples))
        return SimpleNamespace(loss=lambda types: 0.1)

    monkeypatch.setattr(islands, "OutputSimulation", search)
    simulation = SimpleNamespace(roots=[], judged=[{0: 1.0}], measure=lambda types, samples: found)
    islands.find(simulation, {}, {}, [{} for _ in range(8)], outputs=False)  # type: ignore[arg-type]
    assert seen == ([count] if count else [])


@pytest.mark.parametrize("islands", ["mixed", "int16"])
def test_sixteen_bits_where_they_do(islands: str) -> None:
    module, samples = far_from_zero()
    without = quantize_at_hub(module, "int8", samples, {"islands": "none"})
    found = quantize_at_hub(module, "int8", samples, {"islands": islands})
    assert not found.floats
    assert "far" in found.report["islands of 16 bits"]
    results = [op.result for op in found.module.ops() if op.results]
    sixteen = {value.op.origin for value in results if value.quant is not None and value.quant.storage == I16}
    assert "far" in sixteen
    assert decibels(module, found.module, samples) > decibels(module, without.module, samples) + 6
    whys = {layer.name: layer.why for layer in layers_report(module, found.module, samples).layers}
    assert whys["far"] == found.wide["far"] == found.report["islands of 16 bits"]["far"], "the reason, and not the type again"


@pytest.mark.parametrize("form", ["mixed", "float", "int16"])
def test_islands_that_are_held_give_the_same_module(form: str) -> None:
    module, samples = normalized()
    found = quantize_at_hub(module, "int8", samples, {"islands": form})
    held = islands_of({"islands": form}, found)
    again = quantize_at_hub(module, "int8", samples, held)
    assert print_module(again.module) == print_module(found.module)
    assert (again.report, again.floats, again.wide) == (found.report, found.floats, found.wide)
    fewer = quantize_at_hub(module, "int8", samples[:8], held)
    assert fewer.report["layers"] == found.report["layers"]
    assert not islands_of({"islands": "none"}, found) and not islands_of({"layers": {}}, found)


def test_from_how_many_decibels_on_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    module, samples = spectrogram()
    assert not quantize_at_hub(module, "int8", samples, {"fine": "5"}).report["layers"]
    assert "F32" in quantize_at_hub(module, "int8", samples, {}).report["layers"].values()
    monkeypatch.setattr(islands, "FINE", 5.0)
    good = quantize_at_hub(module, "int8", samples, {"fine": np.inf})
    assert not good.report["layers"], "where all outputs are good, floats are no islands"
    module, samples = far_from_zero()
    assert "far" in quantize_at_hub(module, "int8", samples, {"fine": np.inf}).wide
    with pytest.raises(UsageError, match="fine must be float"):
        quantize_at_hub(module, "int8", samples, {"fine": "much"})
    with pytest.raises(UsageError, match="below NaN decibels"):
        quantize_at_hub(module, "int8", samples, {"fine": "nan"})


def test_floats_alone_where_16_bits_are_not_wanted() -> None:
    module, samples = far_from_zero()
    without = quantize_at_hub(module, "int8", samples, {"islands": "none"})
    found = quantize_at_hub(module, "int8", samples, {"islands": "float"})
    assert "far" in found.floats and not found.report["islands of 16 bits"]
    assert not any(value.quant.storage == I16 for op in found.module.ops() for value in op.results if value.quant is not None)
    assert decibels(module, found.module, samples) > decibels(module, without.module, samples) + 6


def test_a_logarithm_of_small_numbers_does_not_bear_a_table_that_is_interpolated() -> None:
    module, samples = spectrogram()
    found = quantize_at_hub(module, "int8", samples[:12], {"islands": "int16"})
    assert not found.floats
    assert decibels(module, found.module, samples[12:]) < 20.0


@pytest.mark.parametrize("islands", ["mixed", "int16"])
def test_the_reference_model_gives_the_same_bits(islands: str) -> None:
    module, samples = spectrogram()
    quantized = transload.quantize(module, "int8", samples[:12], islands=islands)
    lowered = transload.lower(quantized, "tosa")
    for sample in samples[12:16]:
        here = transload.run(quantized, sample, engine="reference")["y0"]
        (there,) = tosa_reference.run_module(lowered, [sample["x0"]], level="NONE")
        np.testing.assert_array_equal(here, there)


def test_nothing_is_given_up_where_nothing_stands_out() -> None:
    module, samples = classifier()
    found = quantize_at_hub(module, "int8", samples, {})
    assert found.floats == {}
    assert found.report["islands of 16 bits"] == {}


def shallow() -> tuple[Module, Samples]:
    """Inputs and weights that 8 bits hold exactly: all noise is the rounding of what is given."""
    g = Graph((1, 16))
    random = np.random.default_rng(4)
    weights = random.integers(-126, 127, (16, 6)).astype(np.float32)
    weights[0] = 127.0  # each column reaches the end of the grid
    module = at_hub(g.done(g.MatMul(g.inputs[0], weights, g.random(6), location="scores")))
    return module, [{"x0": np.r_[0, 255, random.integers(0, 256, 14)][None].astype(np.float32)} for _ in range(24)]


def test_an_output_has_16_bits_where_its_own_rounding_is_its_noise() -> None:
    module, samples = shallow()
    found = quantize_at_hub(module, "int8", samples[:16], {})
    (why,) = found.report["islands of 16 bits"].values()
    assert set(found.report["islands of 16 bits"]) == {"scores"} and "with an output of 8 bits" in why and not found.floats
    assert decibels(module, found.module, samples[16:]) > 60.0
    narrow = transload.quantize(module, "int8", samples[:16], islands="none")
    assert decibels(module, narrow, samples[16:]) < 50.0


@pytest.mark.parametrize("options", [{"islands": "int16"}, {"islands": "float"}, {"quant_output": "all"}])
def test_an_output_keeps_8_bits_on_chips_and_where_integers_are_given(options: dict[str, Any]) -> None:
    module, samples = shallow()
    assert quantize_at_hub(module, "int8", samples[:16], options).report["islands of 16 bits"] == {}


def test_an_output_that_a_softmax_hides_keeps_8_bits() -> None:
    _, samples = shallow()
    g = Graph((1, 16))
    random = np.random.default_rng(4)
    module = at_hub(g.done(g.Softmax(g.MatMul(g.inputs[0], random.integers(-126, 127, (16, 6)) / np.float32(1000)), axis=1)))
    assert quantize_at_hub(module, "int8", samples[:16], {}).report["islands of 16 bits"] == {}


def test_other_forms_are_refused() -> None:
    module, samples = classifier()
    with pytest.raises(UsageError, match="islands cannot be 'int12'"):
        transload.quantize(module, "int8", samples, islands="int12")


def test_what_moves_floats_between_floats_is_not_rounded() -> None:
    g = Graph((2, 8))
    (x,) = g.inputs
    flat = g.Reshape(x, shape=(16,), location="flat")
    module = g.done(g.Add(g.Exp(flat, location="kept"), flat))
    assert Groups(module).chosen
    kept = [value for op in module.ops() for value in op.results if value.name in ("kept", "flat")]
    assert not Groups(module, kept).chosen


def boxes_and_scores() -> tuple[Module, Samples]:
    g = Graph((1, 8), (1, 8))
    boxes, scores = g.inputs
    joined = g.Concat(g.Mul(boxes, 100.0, location="boxes"), g.Sigmoid(scores, location="scores"), axis=1, location="joined")
    module = at_hub(g.done(g.Reshape(joined, shape=(16,), location="flat")))
    rng = np.random.default_rng(0)
    return module, [{name: rng.normal(size=(1, 8)).astype(np.float32) for name in ("x0", "x1")} for _ in range(8)]


def test_boxes_and_scores_at_the_end_have_types_of_their_own() -> None:
    module, samples = boxes_and_scores()
    found = quantize_at_hub(module, "int8", samples, {})
    assert {"joined", "flat"} <= set(found.floats)
    assert "'boxes' reaches to" in found.floats["joined"]
    wanted, actual = (transload.run(each, samples[0], engine="reference")["y0"][8:] for each in (module, found.module))
    assert np.abs(wanted - actual).max() < 0.01
    together = quantize_at_hub(module, "int8", samples, {"islands": "none"})
    assert "joined" not in together.floats
    wanted, actual = (transload.run(each, samples[0], engine="reference")["y0"][8:] for each in (module, together.module))
    assert np.abs(wanted - actual).max() > 0.1


def test_what_only_moves_floats_is_as_it_was() -> None:
    g = Graph((4, 2))
    (x,) = g.inputs
    module = at_hub(g.done(g.Permute(x, order=(1, 0))))
    sample = {"x0": np.arange(8, dtype=np.float32).reshape(4, 2) / 7}
    quantized = transload.quantize(module, "int8", [sample])
    np.testing.assert_array_equal(transload.run(quantized, sample, engine="reference")["y0"], sample["x0"].T)


def test_the_reason_names_what_computes() -> None:
    g = Graph((1, 6, 16))
    (x,) = g.inputs
    normal = g.LayerNorm(g.MatMul(x, g.random(16, 16)), g.random(16), g.random(16), axis=2, eps=1e-5, location="normal")
    module = at_hub(g.done(g.MatMul(normal, g.random(16, 4))))
    samples = [{"x0": np.random.default_rng(seed).normal(size=(1, 6, 16)).astype(np.float32)} for seed in range(4)]
    assert quantize_at_hub(module, "int8", samples, {}).floats["normal"] == "top.LayerNorm has no form in integers"


def test_nothing_is_given_up_where_weights_lose_it() -> None:
    """More bits for a tensor would cost a chip much time, and bring nothing."""
    g = Graph((1, 16))
    weights = g.random(16, 6) / 3
    weights[0] = 150.0  # of a number that is all but zero: the steps of weights become too wide for the others
    module = at_hub(g.done(g.MatMul(g.inputs[0], weights, g.random(6), location="scores")))
    random = np.random.default_rng(2)
    samples = [{"x0": (random.normal(size=(1, 16)) * np.r_[1e-4, np.ones(15)]).astype(np.float32)} for _ in range(16)]
    found = quantize_at_hub(module, "int8", samples, {})
    assert decibels(module, found.module, samples) < 20.0
    assert not found.floats and not found.report["islands of 16 bits"]


def normalized() -> tuple[Module, Samples]:
    """What transformers normalize, scale by a sum, and multiply."""
    g = Graph((1, 6, 16))
    (x,) = g.inputs
    norm = g.LayerNorm(x, g.random(16) + 2, g.random(16), location="norm")
    hidden = g.Relu(g.MatMul(norm, g.random(16, 12), g.random(12)), location="hidden")
    share = g.Div(hidden, g.Add(g.Reduce(hidden, axes=(2,), keepdims=True, mode="ReduceSum"), 1.0), location="share")
    module = at_hub(g.done(g.MatMul(share, g.random(12, 4), g.random(4), location="scores")))
    rng = np.random.default_rng(5)
    return module, [
        {"x0": rng.normal(0, rng.uniform(0.5, 3), (1, 6, 16)).astype(np.float32)} for _ in range(24)]


def reciprocal_roots() -> tuple[Module, Samples]:
    """A normalization written out: of a third of the samples the variance is small, where the root's reciprocal is steep."""
    g = Graph((1, 16))
    (x,) = g.inputs
    variance = g.Reduce(g.Mul(x, x), axes=(1,), keepdims=True, mode="ReduceMean", location="variance")
    module = at_hub(g.done(g.Mul(x, g.Rsqrt(g.Add(variance, 1e-6), location="root"), location="normal")))
    rng = np.random.default_rng(6)
    far = [1.0, 1.0, 0.1] * 12
    return module, [{"x0": (rng.normal(size=(1, 16)) * size).astype(np.float32)} for size in far]


def test_noise_of_a_third_of_the_samples_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    module, samples = reciprocal_roots()
    found = quantize_at_hub(module, "int16x8", samples, {})
    assert decibels(module, found.module, samples) > 45
    monkeypatch.setattr(islands, "LESS", 1000.0)
    assert decibels(module, quantize_at_hub(module, "int16x8", samples, {}).module, samples) < 45


def test_normalizations_and_quotients_are_integers_of_16_bits_where_floats_are_not_to_be() -> None:
    module, samples = normalized()
    floats = quantize_at_hub(module, "int8", samples[:12], {"islands": "float"})
    assert floats.floats is not None and {"norm", "share"} <= floats.floats.keys()
    integers = quantize_at_hub(module, "int8", samples[:12], {"islands": "int16"})
    assert not integers.floats
    assert not any(name.startswith("tensor") for name in integers.report["layers"])  # no names that only the writing out makes
    assert decibels(module, integers.module, samples[12:]) > decibels(module, floats.module, samples[12:]) - 1.0
    lowered = transload.lower(integers.module, "tosa")
    for sample in samples[12:16]:
        here = transload.run(integers.module, sample, engine="reference")["y0"]
        (there,) = tosa_reference.run_module(lowered, [sample["x0"]], level="NONE")
        np.testing.assert_array_equal(here, there)


class _Sums(islands._Search):
    """A search among sixteen tensors, of which one costs much in 16 bits, and another one beside tensors of 8 bits alone."""

    def __init__(self, beside: int) -> None:
        self.types: Any = dict.fromkeys(range(20), "i8")
        self.wide: Any = dict.fromkeys(range(20), "i16")
        self.bare, self.alone, self.alone_wide, self.fine = 1e-5, {}, {}, islands.FINE
        self.beside, self.fixed = beside, frozenset()

    def loss(self, types: Any) -> float:
        narrow = any(type_ == "i8" for type_ in types.values())
        return 1e-5 + 0.1 * (types.get(3) == "i16") + 0.05 * sum(
            narrow and types.get(number) == "i16" for number in range(8, 8 + self.beside))


@pytest.mark.parametrize(("beside", "floats"), [(0, [3]), (1, [3, 8]), (3, [3, 8, 9, 10])])
def test_what_16_bits_lose_beside_others_alone_is_all_that_stays_float_with_it(beside: int, floats: list[int]) -> None:
    search: Any = _Sums(beside)
    assert sorted(search.too_much_for_16_bits(list(range(16)))) == floats


def test_what_one_tensor_costs_alone_is_measured() -> None:
    """Where there is no other to be compared with, too: the reason says decibels, and none that nobody knows."""
    search: Any = _Sums(0)
    assert search.standing_out(search.wide, [3], 1) == [3] and search.alone_wide[3] == pytest.approx(0.1)


def small() -> tuple[Module, Samples]:
    """A product of two inputs, and what is made of it: each tensor reaches far beyond most of its numbers."""
    g = Graph((2, 8), (2, 1))
    x, gate = g.inputs
    m = g.Mul(g.Add(x, g.random(2, 8), location="s"), gate, location="m")
    module = at_hub(g.done(g.MatMul(m, g.random(8, 16), g.random(16), location="out"), g.Sigmoid(m, location="sig")))
    rng = np.random.default_rng(0)
    return module, [{"x0": rng.standard_t(2, (2, 8)).astype(np.float32), "x1": rng.uniform(0, 3, (2, 1)).astype(np.float32)}
                    for _ in range(24)]


@pytest.mark.parametrize("form", ["float", "mixed"])
def test_inputs_and_outputs_that_are_to_be_integers_are_no_islands(form: str) -> None:
    module, samples = small()
    free = quantize_at_hub(module, "int8", samples, {"islands": form})
    asked = quantize_at_hub(module, "int8", samples, {"islands": form, "quant_input": "all", "quant_output": "all"})
    assert (free.floats or form == "mixed") and not asked.floats
    nothing = not any(value.quant for op in free.module.ops() for value in op.results)
    assert any("nothing is quantized" in note for note in free.report["notes"]) == nothing == (form == "float")
    assert ("nothing quantized" in free.report) == nothing  # which a script looks for
    types = {**asked.module.inputs, **asked.module.outputs}
    assert all(isinstance(type_.element, QuantType) for type_ in types.values())
    held = quantize_at_hub(module, "int8", samples, {"islands": form, "quant_input": ["x0"]})
    assert isinstance(held.module.inputs["x0"].element, QuantType) and not {"x0", "s"} & set(held.floats or ())


def test_islands_that_are_all_there_is_are_none_where_8_bits_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of floats is not what was asked for, however near it is to the float model."""
    monkeypatch.setattr(islands, "POOR", -100.0)
    module, samples = small()
    made = quantize_at_hub(module, "int8", samples, {"islands": "float"})
    assert any(value.quant for op in made.module.ops() for value in op.results)
    assert any("best left float are all that there are" in note for note in made.report["notes"])
    assert "nothing quantized" not in made.report


def test_what_is_all_but_free_has_16_bits_beside_inputs_of_integers_too() -> None:
    """Integers of 16 bits are such: what takes the input is only not to stay float."""
    g = Graph((1, 32))
    scaled = g.Mul(g.inputs[0], g.random(1, 32), location="scaled")
    hidden = g.MatMul(g.Add(scaled, g.random(1, 32), location="moved"), g.random(32, 64), g.random(64))
    module = at_hub(g.done(g.MatMul(g.Relu(hidden), g.random(64, 16), g.random(16), location="out")))
    rng = np.random.default_rng(0)
    samples = [{"x0": rng.standard_t(2, (1, 32)).astype(np.float32)} for _ in range(16)]
    free, asked = (quantize_at_hub(module, "int8", samples, {"quant_input": border}) for border in (None, "all"))
    assert asked.report["islands of 16 bits"] == free.report["islands of 16 bits"] != {}


def test_borders_that_stay_float_all_the_same_are_told() -> None:
    module, samples = small()
    made = quantize_at_hub(module, "int8", samples, {"islands": "none", "quant_input": "all", "floats": "s"})
    notes = [note for note in made.report["notes"] if "asked for" in note]
    assert len(notes) == 2 and all(f"input '{name}'" in note and "'s' stays float" in note for name, note in zip(
        ("x0", "x1"), notes, strict=True))
    with pytest.raises(UsageError, match="'s' stays float: as the caller asked"):
        quantize_at_hub(module, "int8", samples, {"islands": "none", "quant_input": ["x0"], "floats": "s"})


def test_looking_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user waits for is bounded: what is not found by then is left out, and the notes say so and how to allow more."""
    module, samples = spectrogram()

    @contextmanager
    def none_is_left() -> Iterator[None]:
        with allowed(seconds=0.0), timed():
            yield

    with monkeypatch.context() as patch:
        patch.setattr(run, "timed", none_is_left)
        made = quantize_at_hub(module, "int8", samples, {})
    (note,) = made.report["notes"]
    assert "did not come to an end in time" in note
    assert "TRANSLOAD_BUDGET=seconds=" in note
    assert made.report["bias correction"] is False
    assert made.report["islands of 16 bits"] == made.floats == {}
    verify(made.module)
    again = quantize_at_hub(module, "int8", samples, {})
    assert again.report["notes"] == []
    assert again.report["islands of 16 bits"] or again.floats

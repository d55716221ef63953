"""An output of a quantized module on whose way nothing was quantized is judged as floats are, whatever rounded it."""

from typing import Any

import numpy as np
import pytest

import transload
from transload.verification.asked import unverified
from transload.verification.not_finite import NotFinite, agreement, no_longer_finite
from transload.verification.quantized import QuantizedModel, _farther_than_quantizing, verify_quantized
from transload.verification.running import OwnRuntime, Running
from transload.verification.tolerance import Tolerance
from transload.verification.verdict import Verification

from tests.support.graphs import Graph


@pytest.mark.parametrize(("apart", "fits"), [(3e-7, True), (1e-2, True), (1.0, False)])
def test_roundings_of_floats_are_no_noise_of_quantizing(apart: float, fits: bool) -> None:
    graph = Graph((4, 8))
    module = graph.done(graph.Abs(graph.inputs[0]))
    (name,) = module.outputs
    random = np.random.default_rng(0)
    floats = random.normal(size=(4, 8)).astype(np.float32)
    quantized = (floats * np.float32(1 + 1e-7)).astype(np.float32)
    given = (quantized + apart * random.normal(size=(4, 8))).astype(np.float32)
    broken = _farther_than_quantizing(module, {name: floats}, {name: quantized}, {name: given}, Tolerance())
    assert not broken if fits else broken


def test_what_quantizing_costs_is_the_limit_elsewhere() -> None:
    graph = Graph((4, 8))
    module = graph.done(graph.Abs(graph.inputs[0]))
    (name,) = module.outputs
    floats = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    noisy = floats + np.float32(1e-3)
    for apart, fits in ((5e-4, True), (2e-3, False), (-1.9e-3, True), (-2.6e-3, False)):  # nearly as near on the other side
        broken = _farther_than_quantizing(
            module, {name: floats}, {name: noisy}, {name: noisy + np.float32(apart)}, Tolerance())
        assert bool(broken) != fits


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("apart", "fits"), [(5e-4, True), (2e-1, False)])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_one_output_that_is_no_number_does_not_hide_the_others(odd: float, apart: float, fits: bool) -> None:
    graph = Graph((4, 8))
    module = graph.done(graph.Abs(graph.inputs[0]))
    (name,) = module.outputs
    floats = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    floats[0, 0] = odd
    noisy = floats + np.float32(1e-3)
    broken = _farther_than_quantizing(module, {name: floats}, {name: noisy}, {name: noisy + np.float32(apart)}, Tolerance())
    assert bool(broken) != fits


@pytest.mark.parametrize(("count", "fits"), [(8, True), (4096, False)])
def test_few_numbers_may_be_farther_by_chance(count: int, fits: bool) -> None:
    """Of a few numbers one rounding costs more than another by chance; of thousands, one that costs half as much more is so."""
    graph = Graph((count,))
    module = graph.done(graph.Abs(graph.inputs[0]))
    (name,) = module.outputs
    floats = np.random.default_rng(0).normal(size=count).astype(np.float32)
    noisy, given = floats + np.float32(1e-3), floats - np.float32(1.5e-3)
    broken = _farther_than_quantizing(module, {name: floats}, {name: noisy}, {name: given}, Tolerance())
    assert bool(broken) != fits


def test_a_step_of_floats_of_16_bits_is_never_too_far() -> None:
    graph = Graph((64,))
    module = graph.done(graph.Abs(graph.inputs[0]))
    (name,) = module.outputs
    floats = np.random.default_rng(0).uniform(1, 2, 64).astype(np.float16)
    noisy = floats + (np.arange(64) % 16 == 0) * np.float16(2.0**-10)
    for steps, fits in ((1, True), (4, False)):
        given = (noisy + np.float16(steps * 2.0**-10)).astype(np.float16)
        broken = _farther_than_quantizing(
            module, {name: floats.astype(np.float32)}, {name: noisy.astype(np.float16)}, {name: given}, Tolerance())
        assert bool(broken) != fits


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("rows", "share"), [(0, None), (2, 0.5)])
def test_rows_of_which_the_same_place_is_the_greatest(rows: int, share: float | None) -> None:
    """Of no row there is no share."""
    floats, actual = ({"y": np.array([[1, 2, 3], greatest], np.float32)[:rows]} for greatest in ([1, 2, 3], [3, 2, 1]))
    assert agreement("y", [floats], [actual]) == share


@pytest.mark.parametrize(("floats", "actual", "share"), [
    ([1.0, 2.0], [np.nan, np.nan], 0.5), ([np.nan, 2.0], [np.nan, 1.0], 1.0), ([1.0, 2.0], [1.0, np.nan], 0.5),
    ([1.0, 2.0], [-np.inf, 2.0], 0.5), ([-np.inf, 2.0], [-np.inf, 2.0], 1.0),
    ([np.finfo(np.float32).min, 2.0], [-np.inf, 2.0], 1.0)])
def test_a_row_that_is_no_number_agrees_with_none(floats: list[float], actual: list[float], share: float) -> None:
    """The place of the first NaN was that of the greatest number. Nor does one in which a finite number became infinite."""
    there, here = ({"y": np.array([row, [0, 1]], np.float32)} for row in (floats, actual))
    assert agreement("y", [there], [here]) == share


@pytest.mark.parametrize("odd", ["nan", "inf"])
def test_what_is_finite_and_becomes_none_is_not_right(odd: str) -> None:
    """NaN beside NaN was the same, and the output `poor`, whatever the float model gives."""
    graph = Graph((1, 4))
    (x,) = graph.inputs
    far = graph.Mul(graph.Mul(x, x), graph.Mul(x, x))
    floats = graph.done(graph.Div(far, far) if odd == "nan" else far, graph.Abs(x))
    held = transload.quantize(floats, "f16")  # without samples, which would have it stay f32
    model = QuantizedModel(floats, floats, held, False)
    near, away = ({"x0": np.array([[far, 1.0, 2.0, 3.0]], np.float32)} for far in (10.0, 100.0))

    def verdict(**asked: Any) -> Verification:
        return verify_quantized(model, Running(transload.lower(held, "stablehlo"), "reference"), **asked)

    assert verdict(samples=[near]).passed
    found = verdict(samples=[near, away])
    assert found.failed and found.is_costly
    assert found.broken == ["y0: 1 of 8 numbers that are finite in the float model are not"]
    assert verdict(samples=[near, away], tolerance=Tolerance(excepts=frozenset({"y0"}))).passed


def test_what_is_not_finite_on_drawn_inputs_leaves_a_verdict_open() -> None:
    """They may lie farther from 0 than any that the model is for."""
    graph = Graph((1, 64))
    floats = graph.done(graph.MulConst(graph.Abs(graph.inputs[0]), const_val=6e4))
    held = transload.quantize(floats, "f16")
    found = verify_quantized(QuantizedModel(floats, floats, held, False), Running(held, "reference"))
    assert found.status == "inconclusive" and "finite in the float model" in found.why


def test_an_infinity_is_the_greatest_number() -> None:
    """As masks have either."""
    most = np.finfo(np.float32).max
    there, here = ({"y": np.array([far, 1, np.nan], np.float32)} for far in (-most, -np.inf))
    assert no_longer_finite([there], [here], [here]) == no_longer_finite([here], [there], [there]) == NotFinite()
    assert no_longer_finite([there], [there], [here]) == NotFinite()
    assert no_longer_finite([{"y": np.zeros(3, np.float32)}], [here], [here]) == NotFinite(
        ["y: 2 of 3 numbers that are finite in the float model are not"])


@pytest.mark.parametrize("alone", [False, True])
def test_what_a_runtime_makes_infinite_is_no_cost_of_quantizing(alone: bool) -> None:
    """Another scheme was advised, where the quantized module is finite and the runtime alone is not."""
    graph = Graph((2, 4))
    floats = graph.done(graph.Sigmoid(graph.inputs[0]))
    held = transload.quantize(floats, "f16")
    (name,) = held.outputs

    def infinite(given: Any) -> dict[str, np.ndarray]:
        made = transload.run(held, dict(given))[name].copy()
        made[0, 0] = -np.inf
        return {name: made}

    samples = [{"x0": np.array([[-9.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]], np.float32)}]
    model = QuantizedModel(floats, floats, held, False)
    found = verify_quantized(
        model, Running(held, "reference", OwnRuntime("chip", infinite, rounds_alone=alone)), samples=samples)
    assert found.failed and not found.is_costly
    assert found.broken[-1] == (
        f"{name}: 1 of 8 numbers that are finite in the float model, and in the quantized module, are not: "
        "what runs the result makes them so")
    assert found.quantized[0].agreement == 0.5
    doubt = unverified(found)
    assert doubt is not None and "the result does not compute what the quantized module computes" in doubt.message
    assert "another scheme" not in str(doubt.hint)

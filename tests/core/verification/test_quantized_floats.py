"""An output of a quantized module on whose way nothing was quantized is judged as floats are, whatever rounded it."""

import numpy as np
import pytest

from transload.verification.quantized import _farther_than_quantizing
from transload.verification.several_runs import agreement
from transload.verification.tolerance import Tolerance

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

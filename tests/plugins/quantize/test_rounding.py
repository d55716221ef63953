"""Weights whose roundings make up for each other: less error of sums than to the nearest, on samples that were not looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.ir import Dense, Module, Value
from transload.ir.build import Builder, constant_of
from transload_plugins.quantize.bias import with_biases
from transload_plugins.quantize.groups import Groups
from transload_plugins.quantize.rounding import _compensated, _polished, _Windows, grouped, rounded
from transload_plugins.quantize.scheme import SCHEMES, real, stored

from tests.support.graphs import Graph

INT8 = SCHEMES["int8"]


def smooth(seed: int, *shape: int) -> np.ndarray:
    """An image whose neighbours are alike, channels too."""
    noise = np.random.default_rng(seed).normal(size=shape)
    for axis in range(1, len(shape)):
        noise = noise + np.roll(noise, 1, axis) + np.roll(noise, 2, axis)
    return noise.astype(np.float32)


def convolution(shape: tuple[int, ...], weights: tuple[int, ...], **attributes: Any) -> Module:
    g = Graph(shape)
    return with_biases(at_hub(g.done(g.Conv(
        g.inputs[0], g.random(*weights), kernel_shape=(3, 3), location="sums", **attributes))))


def product(transposed: bool) -> Module:
    g = Graph((24, 32))
    return with_biases(at_hub(g.done(g.MatMul(
        g.inputs[0], g.random(12, 32) if transposed else g.random(32, 12), right_transpose=transposed, location="sums"))))


MODULES = {
    "NCHW": lambda: convolution((1, 6, 14, 13), (8, 6, 3, 3), pads=(1, 0, 2, 1), strides=(2, 1), dilations=(1, 2)),
    "NHWC": lambda: convolution((1, 14, 13, 6), (8, 3, 3, 6), pads=(1, 1, 1, 1), layout="NHWC"),
    "groups": lambda: convolution((1, 6, 14, 13), (8, 3, 3, 3), group=2),
    "depthwise": lambda: convolution((1, 14, 13, 6), (6, 3, 3, 1), group=6, layout="NHWC"),
    "matrix": lambda: product(False),
    "transposed": lambda: product(True),
}


@pytest.mark.parametrize("name", MODULES)
def test_sums_come_nearer_on_other_samples(name: str) -> None:
    module = MODULES[name]()
    shape = module.body_of_main.arguments[0].static_shape
    samples = [{"x0": smooth(seed, *shape)} for seed in range(24)]
    found = rounded(module, INT8, Groups(module), samples[:16])
    (op,) = Groups(module).ops
    dense = constant_of(op.operands[1])
    assert dense is not None
    weights = dense.numpy()
    axis = (0 if op.right_transpose else 1) if op.name == "top.MatMul" else 0
    type_ = INT8.weight_type(weights.astype(np.float64), axis)
    steps = real(np.ones(weights.shape, np.int64), type_)
    assert np.abs(found["sums"] / steps - np.round(found["sums"] / steps)).max() < 1e-3  # on the grid
    assert INT8.weight_type(found["sums"].astype(np.float64), axis).scales == pytest.approx(type_.scales, rel=1e-6)
    nearest = real(stored(weights.astype(np.float64), type_), type_)
    assert error(module, op, found["sums"], samples[16:]) < 0.7 * error(module, op, nearest, samples[16:])


def error(module: Module, op: Any, weights: np.ndarray, samples: list[dict[str, np.ndarray]]) -> float:
    """The mean square of what other weights change of the sums, of all channels together."""
    mapping: dict[Value, Value] = {}
    other = module.clone(mapping)
    copy = mapping[op.result].op
    assert copy is not None
    copy.set_operand(1, Builder(copy.parent, before=copy).constant(Dense(weights.astype(np.float32))))
    channels = 1 if getattr(op, "layout", "") == "NCHW" else -1
    short = [np.moveaxis(transload.run(module, sample)["y0"] - transload.run(other, sample)["y0"], channels, -1)
             for sample in samples]
    rows = np.concatenate([each.reshape(-1, each.shape[-1]) for each in short])
    return float(np.square(rows).mean(axis=0).sum())


def test_what_is_quantized_is_nearer_by_it() -> None:
    g = Graph((1, 4, 12, 12))
    hidden = g.Relu(g.Conv(g.inputs[0], g.random(16, 4, 3, 3), g.random(16), kernel_shape=(3, 3)))
    module = at_hub(g.done(g.Conv(hidden, g.random(4, 16, 3, 3), g.random(4), kernel_shape=(3, 3))))
    samples = [{"x0": smooth(seed, 1, 4, 12, 12)} for seed in range(12)]

    def noise(rounding: bool) -> float:
        made = transload.quantize(module, "int16x8", samples, method="minmax", rounding=rounding, equalization=False)
        return sum(float(np.sum((transload.run(module, sample)["y0"] - transload.run(made, sample)["y0"]) ** 2))
                   for sample in samples)

    assert noise(True) < 0.5 * noise(False)


def test_inputs_that_say_nothing_leave_the_nearest() -> None:
    module = product(False)
    found = rounded(module, INT8, Groups(module), [{"x0": np.zeros((24, 32), np.float32)}])
    (op,) = Groups(module).ops
    dense = constant_of(op.operands[1])
    assert dense is not None
    weights = dense.numpy().astype(np.float64)
    type_ = INT8.weight_type(weights, 1)
    np.testing.assert_array_equal(found["sums"], real(stored(weights, type_), type_))


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", MODULES)
def test_numbers_that_are_not_finite_leave_the_others_what_they_say(name: str, lost: float) -> None:
    module = MODULES[name]()
    shape = module.body_of_main.arguments[0].static_shape
    samples = [{"x0": smooth(seed, *shape)} for seed in range(24)]
    (op,) = Groups(module).ops
    (nearest,) = rounded(module, INT8, Groups(module), [{"x0": np.zeros(shape, np.float32)}]).values()
    samples[3]["x0"][0, 1] = lost
    (weights,) = rounded(module, INT8, Groups(module), samples[:16]).values()
    assert error(module, op, weights, samples[16:]) < error(module, op, nearest, samples[16:])
    assert rounded(module, INT8, Groups(module), [{"x0": np.full(shape, lost, np.float32)}]) == {}


def test_what_is_passed_on_is_what_gptq_passes_on() -> None:
    rng = np.random.default_rng(3)
    inputs = rng.standard_normal((400, 70)) @ rng.standard_normal((70, 70))
    covariance, weights = (inputs.T @ inputs / 400)[None], rng.uniform(-100, 100, (1, 5, 70))
    order = np.argsort(-np.diagonal(covariance[0]))
    shared = np.linalg.cholesky(np.linalg.inv(covariance[0][np.ix_(order, order)])).T
    left, wanted = weights[0][:, order].copy(), np.zeros((5, 70))
    for place in range(70):  # as GPTQ has it: the rest is moved by the inverse
        wanted[:, order[place]] = np.clip(np.round(left[:, place]), -127, 127)
        error = (left[:, place] - wanted[:, order[place]]) / shared[place, place]
        left[:, place:] -= error[:, None] * shared[place, place:]
    np.testing.assert_array_equal(_compensated(weights, np.zeros(weights.shape, bool), covariance, 127)[0], wanted)


def test_polished_roundings_are_better_and_no_single_move_is() -> None:
    random = np.random.default_rng(0)
    inputs = smooth(1, 400, 24).astype(np.float64)
    moments = (inputs.T @ inputs / 400 + 0.01 * np.eye(24))[None]
    weights = random.uniform(-7.0, 7.0, (1, 10, 24))
    fixed = np.abs(weights) > 6.9
    before = _compensated(weights, fixed, moments, 7)
    after = _polished(weights, before, fixed, moments, 7)

    def errors(integers: np.ndarray) -> np.ndarray:
        left = weights - integers
        return np.einsum("god,gde,goe->go", left, moments, left)

    assert np.all(errors(after) <= errors(before) + 1e-9) and errors(after).sum() < 0.99 * errors(before).sum()
    assert np.abs(after).max() <= 7 and np.array_equal(after[fixed], before[fixed])
    for place in range(24):
        for step in (-1.0, 1.0):
            moved = after.copy()
            moved[:, :, place] += step
            allowed = (np.abs(moved[:, :, place]) <= 7) & ~fixed[:, :, place]
            assert np.all((errors(moved) >= errors(after) - 1e-6) | ~allowed)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("group", [1, 2, 6])
def test_windows_are_what_the_sums_take(layout: str, batch: int, group: int) -> None:
    """By the sums that they give with the weights, against the op's own on images that are padded at some ends."""
    shape, weights = (batch, 6, 7, 5), (6, 6 // group, 3, 2)
    if layout == "NHWC":
        shape, weights = (batch, 7, 5, 6), (6, 3, 2, 6 // group)
    g = Graph(shape)
    module = at_hub(g.done(g.Conv(
        g.inputs[0], g.random(*weights), kernel_shape=(3, 2), layout=layout, group=group, pads=(1, 0, 2, 1), strides=(2, 1),
        dilations=(1, 2), location="sums")))
    (op,) = Groups(module).ops
    image = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    dense = constant_of(op.operands[1])
    assert dense is not None
    rows = _Windows(op, shape, 1000).of(image)
    found = rows @ grouped(op, dense.numpy()).transpose(0, 2, 1)  # [G, rows, O]
    (sums,) = transload.run(module, {"x0": image}).values()
    wanted = (np.moveaxis(sums, 1, -1) if layout == "NCHW" else sums).reshape(-1, group, 6 // group)
    np.testing.assert_allclose(found.transpose(1, 0, 2), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_of_no_images_weights_are_rounded_to_the_nearest(layout: str) -> None:
    """A batch of none, as a file may have it."""
    shape, weights = ((0, 6, 7, 8), (4, 6, 3, 3)) if layout == "NCHW" else ((0, 7, 8, 6), (4, 3, 3, 6))
    module = convolution(shape, weights, layout=layout)
    assert rounded(module, INT8, Groups(module), [{"x0": np.zeros(shape, np.float32)}] * 2) == {}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", [60, 64, 100])
def test_second_moments_of_what_is_far_are_those_of_what_is_near(exponent: int) -> None:
    """Their squares are beyond floats of 32 bits, and the weights come out the same."""
    module = product(True)
    [(name, type_)] = module.inputs.items()
    samples = [{name: smooth(seed, *type_.static_shape)} for seed in range(8)]
    far = [{name: sample[name] * np.float32(2.0**exponent)} for sample in samples]
    near, beyond = (rounded(module, INT8, Groups(module), given) for given in (samples, far))
    for key, weights in near.items():
        apart = np.abs(weights - beyond[key])
        assert np.mean(apart > 0) < 0.01  # sums of float32 decide a tie otherwise

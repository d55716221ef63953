"""Gradients of programs of the hub: beside differences of what the programs compute, and LSQ's formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F32, Dense, Module, Value, set_results
from transload.ir.build import Builder
from transload_plugins.quantize.adjoint import RULES, Grid, gradients

from tests.support.graphs import Graph

Make = Callable[..., Any]
PROGRAMS: dict[str, tuple[tuple[tuple[int, ...], ...], Make]] = {
    "Add": (((2, 3, 4), (3, 1)), lambda g, x, y: g.Add(x, y)),
    "Sub": (((3, 1), (2, 3, 4)), lambda g, x, y: g.Sub(x, y)),
    "Mul": (((2, 3, 4), (4,)), lambda g, x, y: g.Mul(x, y, x)),
    "Div": (((2, 3, 4), (4,)), lambda g, x, y: g.Div(x, g.Add(g.Mul(y, y), 1.0))),
    "Max": (((5, 6), (1, 6)), lambda g, x, y: g.Max(x, y)),
    "Min": (((5, 6), (1, 6)), lambda g, x, y: g.Min(y, x)),
    "Cast": (((5,),), lambda g, x: g.Cast(x, element=F32)),
    "Relu": (((50,),), lambda g, x: g.Relu(x, relu_limit=0.7)),
    "Clip": (((50,),), lambda g, x: g.Clip(x, min=-0.4, max=0.9)),
    "Sigmoid": (((7,),), lambda g, x: g.Sigmoid(x)),
    "Softmax": (((3, 5),), lambda g, x: g.Softmax(x, axis=-1, beta=0.5)),
    "Reshape": (((3, 4),), lambda g, x: g.Reshape(x, shape=(2, 6))),
    "Squeeze": (((3, 1, 4),), lambda g, x: g.Squeeze(x, axes=(1,))),
    "Unsqueeze": (((3, 4),), lambda g, x: g.Unsqueeze(x, axes=(0,))),
    "Permute": (((2, 3, 4),), lambda g, x: g.Permute(x, order=(2, 0, 1))),
    "Concat": (((2, 3), (2, 2)), lambda g, x, y: g.Concat(x, y, axis=-1, do_relu=True)),
    "Split": (((2, 5),), lambda g, x: g.Split(x, axis=1, split_size=(2, 3))[1]),
    "Reduce": (((2, 3, 4),), lambda g, x: g.Reduce(x, axes=(1,), keepdims=False, mode="ReduceSumSquare")),
    "Reduce mean": (((2, 3, 4),), lambda g, x: g.Reduce(x, axes=(0, -1), mode="ReduceMean")),
    "AvgPool": (((1, 2, 7, 6),), lambda g, x: g.AvgPool(x, kernel_shape=(3, 2), strides=(2, 1))),
    "AvgPool last": (((1, 7, 6, 2),), lambda g, x: g.AvgPool(x, kernel_shape=(7, 6), layout="NHWC")),
    "Conv": (((2, 4, 8, 7),), lambda g, x: g.Conv(
        x, g.random(6, 2, 3, 2), g.random(6), kernel_shape=(3, 2), group=2, strides=(2, 3), dilations=(1, 2), pads=(1, 0, 2, 1))),
    "Conv last": (((1, 8, 7, 3),), lambda g, x: g.Conv(
        x, g.random(5, 3, 3, 3), g.random(5), kernel_shape=(3, 3), layout="NHWC", strides=(2, 2), pads=(1, 1, 0, 1),
        do_relu=True, relu_limit=4.0)),
    "Conv depthwise": (((1, 6, 7, 4),), lambda g, x: g.Conv(
        x, g.random(4, 3, 3, 1), g.random(4), kernel_shape=(3, 3), layout="NHWC", group=4)),
    "Conv of stride 1": (((2, 4, 8, 7),), lambda g, x: g.Conv(
        x, g.random(6, 2, 3, 2), g.random(6), kernel_shape=(3, 2), group=2, dilations=(2, 1), pads=(1, 0, 2, 1))),
    "Conv last of stride 1": (((1, 8, 7, 4),), lambda g, x: g.Conv(
        x, g.random(6, 3, 2, 2), g.random(6), kernel_shape=(3, 2), layout="NHWC", group=2, pads=(1, 1, 0, 1))),
    "Conv of pads beyond its kernel": (((1, 2, 4, 4),), lambda g, x: g.Conv(
        x, g.random(3, 2, 2, 2), g.random(3), kernel_shape=(2, 2), pads=(2, 1, 2, 1))),
    "AvgPool of stride 1": (((1, 5, 6, 2),), lambda g, x: g.AvgPool(x, kernel_shape=(2, 3), layout="NHWC")),
    "MatMul": (((3, 4), (4, 5)), lambda g, x, y: g.MatMul(x, y, g.random(5))),
    "MatMul transposed": (((2, 3, 4), (2, 5, 4)), lambda g, x, y: g.MatMul(x, y, right_transpose=True)),
    "MatMul broadcast": (((2, 3, 4), (4, 5)), lambda g, x, y: g.MatMul(x, y)),
}


def run(module: Module, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    return list(transload.run(module, inputs, engine="reference").values())


def gradient(
    module: Module, output: Value, seed: np.ndarray, wanted: list[Value], inputs: dict[str, np.ndarray],
    grids: dict[Value, Grid] | None = None,
) -> list[np.ndarray]:
    """By each of `wanted`, of the sum of an output times a seed."""
    block = module.body_of_main
    end = block.terminator
    given = Builder(block, before=end).constant(Dense(seed), element=F32)
    found = gradients(block, end, {output: given}, wanted, grids)
    assert all(found)
    end.erase()
    set_results(module.main, found, [f"by{index}" for index in range(len(found))])
    return run(module, inputs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_differences(name: str) -> None:
    shapes, make = PROGRAMS[name]
    g = Graph(*shapes)
    output = make(g, *g.inputs)
    module = g.done(output)
    random = np.random.default_rng(3)
    inputs = {f"x{index}": random.normal(size=shape).astype(np.float32) for index, shape in enumerate(shapes)}
    ways = {key: random.normal(size=array.shape).astype(np.float32) for key, array in inputs.items()}
    seed = random.normal(size=output.static_shape).astype(np.float32)

    def at(step: float) -> float:
        moved = {key: array + np.float32(step) * ways[key] for key, array in inputs.items()}
        return float(np.sum(seed.astype(np.float64) * run(module, moved)[0]))

    wanted = (at(1e-3) - at(-1e-3)) / 2e-3
    found = gradient(module, output, seed, list(g.inputs), inputs)
    assert [array.shape for array in found] == [array.shape for array in inputs.values()]
    assert sum(float(np.sum(a.astype(np.float64) * b)) for a, b in zip(found, ways.values(), strict=True)) == pytest.approx(
        wanted, rel=2e-2, abs=2e-2)


def test_every_adjoint_is_tried() -> None:
    assert {f"top.{name.split()[0]}" for name in PROGRAMS} | {"top.Round", "top.Floor"} == set(RULES)


@pytest.mark.parametrize("together", [False, True])
def test_the_step_of_a_grid_has_the_gradient_of_lsq(together: bool) -> None:
    """Whether its ops have their adjoints one by one, or one together."""
    g = Graph((8,), (1,))
    x, step = g.inputs
    least, greatest = (g.constant(np.array([end], np.float32)) for end in (-4.0, 3.0))
    output = g.Mul(g.Min(g.Max(g.Round(g.Div(x, step)), least), greatest), step)
    numbers, size = np.array([-9.0, -1.7, -0.6, 0.2, 0.4, 1.1, 1.3, 5.0], np.float32), np.float32(0.5)
    grids = {output: Grid(x, step, least, greatest)} if together else None
    by_x, by_step = gradient(
        g.done(output), output, np.ones(8, np.float32), [x, step], {"x0": numbers, "x1": size[None]}, grids)
    places = numbers / size
    inside = (np.round(places) >= -4) & (np.round(places) <= 3)
    wanted = np.where(inside, np.round(places) - places, np.clip(places, -4, 3))
    np.testing.assert_array_equal(by_x, inside)
    np.testing.assert_allclose(by_step, [wanted.sum()], rtol=1e-5)


def test_of_a_grid_nothing_between_its_two_ends_is_held() -> None:
    g = Graph((8,), (1,))
    x, step = g.inputs
    least, greatest = (g.constant(np.array([end], np.float32)) for end in (-4.0, 3.0))
    between = [g.Div(x, step)]
    for make in (g.Round, lambda value: g.Max(value, least), lambda value: g.Min(value, greatest)):
        between.append(make(between[-1]))
    output = g.Mul(between[-1], step)
    module = g.done(output)
    users = [len(value.uses) for value in between]
    gradient(module, output, np.ones(8, np.float32), [x, step], {"x0": np.ones(8, np.float32), "x1": np.ones(1, np.float32)},
             {output: Grid(x, step, least, greatest)})
    assert [len(value.uses) for value in between] == users == [1, 1, 1, 1]


def test_an_op_without_an_adjoint_ends_the_gradient() -> None:
    g = Graph((4,))
    first = g.Mul(g.inputs[0], 2.0)
    output = g.Add(g.Erf(first), first)
    module = g.done(output)
    (found,) = gradient(module, output, np.ones(4, np.float32), [g.inputs[0]], {"x0": np.ones(4, np.float32)})
    np.testing.assert_array_equal(found, np.full(4, 2.0, np.float32))

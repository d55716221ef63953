"""Graphs drawn at random from the parts that composites are made of mean the same after the pass."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import F32, TensorType, set_results
from transload.ir.verify import check
from transload.rewrite import apply_greedily
from transload_hub.recognize.composites import recognize
from transload_hub.simplify.table import TABLE

from tests.hub.recognize.recognition import Graph
from tests.support.graphs import op_names

NUMBERS = (
    0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 6.0, 1 / 6, 0.2, 0.1, math.sqrt(0.5), math.sqrt(2 / math.pi), 0.044715, 0.25, 1e-5, 1 / 3)
FUNCTIONS = (
    "Neg", "Exp", "Abs", "Tanh", "Erf", "Sigmoid", "Square", "Relu", "Softplus", "Log1p", "Sqrt", "Rsqrt", "Elu", "Reciprocal")
TWO = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Add", "Mul", "Sub")
SHAPES = ((2, 3, 4), (2, 3, 1), (3, 4), (4,), (1, 1, 4), ())


def grow(g: Graph, random: np.random.Generator, steps: int) -> list:
    """Values, of which each is made of few of those before it, mostly of the last ones: so that patterns come about."""
    values = list(g.inputs)

    def pick():
        return values[max(0, len(values) - 1 - int(random.geometric(0.4)))] if random.random() < 0.7 else values[
            int(random.integers(len(values)))]

    for _ in range(steps):
        kind = random.random()
        if kind < 0.3:
            made = getattr(g, str(random.choice(FUNCTIONS)))(pick())
        elif kind < 0.6:
            number = float(random.choice(NUMBERS))
            operands = [pick(), number] if random.random() < 0.7 else [number, pick()]
            made = getattr(g, str(random.choice(TWO)))(*operands)
        elif kind < 0.85:
            made = getattr(g, str(random.choice(TWO)))(pick(), pick())
        elif kind < 0.95 and len(pick().shape) == 3:
            value = next(v for v in reversed(values) if len(v.shape) == 3)
            axes = ((1,), (2,), (1, 2), (0, 1, 2))[int(random.integers(4))]
            made = g.reduce(str(random.choice(["Sum", "Mean", "Max"])), value, axes)
        else:
            x = pick()
            mode = str(random.choice(["Greater", "GreaterOrEqual", "Less", "LessOrEqual"]))
            made = g.Where(g.Compare(x, float(random.choice(NUMBERS[:4])), mode=mode), x, pick())
        values.append(made)
    return values


@pytest.mark.parametrize("seed", range(150))
def test_random_graphs(seed):
    random = np.random.default_rng(seed)
    shapes = [SHAPES[0], SHAPES[int(random.integers(len(SHAPES)))]]
    g = Graph(*shapes)
    values = grow(g, random, int(random.integers(4, 24)))
    outputs = [values[-1], values[-2], values[int(random.integers(len(values)))]]
    set_results(g.main, outputs, [f"y{i}" for i in range(3)])
    feeds = {f"x{i}": random.normal(size=shape).astype(np.float32) for i, shape in enumerate(shapes)}
    with np.errstate(all="ignore"):
        before = run_function(g.module, feeds)
        recognize(g.module)
        assert check(g.module) == []
        after = run_function(g.module, feeds)
        apply_greedily(g.module, TABLE)
        last = run_function(g.module, feeds)
    for name, wanted in before.items():
        assert wanted.shape == after[name].shape == last[name].shape
        sane = np.isfinite(wanted) & (np.abs(wanted) < 1e6)
        for found in (after, last):
            np.testing.assert_allclose(found[name][sane], wanted[sane], rtol=2e-4, atol=2e-5, err_msg=str(op_names(g.module)))


@pytest.mark.parametrize("seed", range(150))
def test_sizes_and_ranks_that_are_not_known(seed):
    """Types may say less than everything, or be those of arguments alone: nothing breaks."""
    random = np.random.default_rng(seed)
    g = Graph(SHAPES[0], SHAPES[int(random.integers(len(SHAPES)))])
    values = grow(g, random, 24)
    set_results(g.main, values[-2:], ["y0", "y1"])
    for value in values:
        if random.random() < 0.3:
            shape = None if random.random() < 0.5 else tuple(None if random.random() < 0.5 else n for n in value.shape)
            value.type = TensorType(shape, F32)
    recognize(g.module)
    apply_greedily(g.module, TABLE)

"""Activations are found in every way that libraries write them, mean the same after, and near misses are left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import F32, I8, QuantType, TensorType, set_results
from transload_hub.functions import erfc
from transload_hub.recognize.composites import recognize

from tests.hub.recognize.recognition import Graph, recognized
from tests.support.graphs import op_names

HALF = math.sqrt(0.5)
TANH = math.sqrt(2 / math.pi)


def _cube(g, x):
    return g.Mul(g.Mul(x, x), x)


GELU = {
    "half first": lambda g, x: g.Mul(g.Mul(x, 0.5), g.Add(g.Erf(g.Mul(x, HALF)), 1.0)),
    "distribution": lambda g, x: g.Mul(x, g.Mul(0.5, g.Add(1.0, g.Erf(g.Div(x, math.sqrt(2)))))),
    "scaled distribution": lambda g, x: g.Mul(g.Add(g.Mul(g.Erf(g.Mul(x, HALF)), 0.5), 0.5), x),
    "scale op": lambda g, x: g.Mul(g.Scale(g.Erf(g.MulConst(x, const_val=HALF)), 0.5, 0.5), x),
    "erfc": lambda g, x: g.Mul(g.Mul(0.5, x), g.Sub(1.0, g.Erf(g.Mul(g.Neg(x), HALF)))),
    "exact erfc": lambda g, x: g.Mul(g.Mul(0.5, x), erfc(g.builder, g.Mul(g.Neg(x), HALF))),
    "product at the end": lambda g, x: g.Mul(g.Mul(x, g.AddConst(g.Erf(g.Mul(HALF, x)), const_val=1.0)), 0.5),
    "half by division": lambda g, x: g.Div(g.Mul(x, g.Add(g.Erf(g.Div(x, math.sqrt(2))), 1.0)), 2.0),
    "tanh": lambda g, x: g.Mul(x, g.Mul(0.5, g.Add(1.0, g.Tanh(g.Mul(TANH, g.Add(x, g.Mul(0.044715, _cube(g, x)))))))),
    "tanh with pow": lambda g, x: g.Mul(g.Mul(x, 0.5), g.Add(g.Tanh(g.Mul(g.Add(x, g.Mul(g.Pow(x, 3.0), 0.044715)), TANH)), 1.0)),
    "tanh factored": lambda g, x: g.Mul(g.Mul(0.5, x), g.Add(1.0, g.Tanh(
        g.Mul(g.Mul(x, TANH), g.Add(1.0, g.Mul(g.Mul(0.044715, x), x)))))),
    "tanh as sigmoid": lambda g, x: g.Mul(x, g.Sigmoid(g.Mul(2 * TANH, g.Add(x, g.Mul(0.044715, g.Mul(x, g.Square(x))))))),
}


@pytest.mark.parametrize("form", GELU)
@pytest.mark.parametrize("shape", [(), (40,), (2, 3, 1, 4)])
def test_gelu(form, shape):
    assert recognized(GELU[form], shape) == ["GELU"]


@pytest.mark.parametrize("write", [
    lambda g, x: g.Mul(g.Mul(x, 0.5), g.Add(g.Erf(g.Mul(x, 0.7)), 1.0)),
    lambda g, x: g.Mul(g.Mul(x, 0.6), g.Add(g.Erf(g.Mul(x, HALF)), 1.0)),
    lambda g, x: g.Mul(g.Mul(x, 0.5), g.Sub(1.0, g.Erf(g.Mul(x, HALF)))),
    lambda g, x: g.Mul(g.Mul(x, 0.5), g.Add(g.Tanh(g.Mul(g.Add(x, g.Mul(_cube(g, x), 0.0447)), TANH)), 1.0)),
    lambda g, x: g.Mul(g.Mul(x, 0.5), g.Add(g.Tanh(g.Mul(g.Add(x, g.Mul(g.Square(x), 0.044715)), TANH)), 1.0)),
    lambda g, x: g.Mul(x, g.Sigmoid(g.Mul(x, 1.702))),
])
def test_what_only_looks_like_gelu(write):
    assert "GELU" not in recognized(write, (3, 4))


def test_gelu_of_another_tensor_is_none():
    assert "GELU" not in recognized(lambda g, x, z: g.Mul(g.Mul(z, 0.5), g.Add(g.Erf(g.Mul(x, HALF)), 1.0)), (3, 4), (3, 4))


def _relu6(g, x):
    return g.Min(g.Max(x, 0.0), 6.0)


def _stable(g, x):
    return g.Add(g.Max(x, 0.0), g.Log1p(g.Exp(g.Neg(g.Abs(x)))))


ONE = {
    # what is written, and the op that it is
    "Relu": lambda g, x: g.Max(0.0, x),
    "Relu6": (lambda g, x: _relu6(g, x), "Relu"),
    "Relu6 by clips": (lambda g, x: g.Clip(g.Clip(x, min=0.0, max=math.inf), min=-math.inf, max=6.0), "Relu"),
    "Clip": lambda g, x: g.Min(g.Max(x, -1.0), 1.5),
    "Clip from above": (lambda g, x: g.Max(g.Min(x, 1.5), -1.0), "Clip"),
    "Sigmoid": lambda g, x: g.Div(1.0, g.Add(1.0, g.Exp(g.Neg(x)))),
    "Sigmoid by reciprocal": (lambda g, x: g.Reciprocal(g.Add(g.Exp(g.Mul(x, -1.0)), 1.0)), "Sigmoid"),
    "Sigmoid by tanh": (lambda g, x: g.Add(g.Mul(g.Tanh(g.Mul(x, 0.5)), 0.5), 0.5), "Sigmoid"),
    "Sigmoid's logarithm": (lambda g, x: g.Neg(_stable(g, g.Neg(x))), "Sigmoid"),
    "Sigmoid's logarithm by min": (lambda g, x: g.Sub(g.Min(x, 0.0), g.Log1p(g.Exp(g.Neg(g.Abs(x))))), "Sigmoid"),
    "SiLU": lambda g, x: g.Mul(x, g.Sigmoid(x)),
    "SiLU written out": (lambda g, x: g.Mul(x, g.Div(1.0, g.Add(1.0, g.Exp(g.Neg(x))))), "SiLU"),
    "SiLU as a quotient": (lambda g, x: g.Div(x, g.Add(1.0, g.Exp(g.Neg(x)))), "SiLU"),
    "HardSigmoid": lambda g, x: g.Div(_relu6(g, g.Add(x, 3.0)), 6.0),
    "HardSigmoid by clip": (lambda g, x: g.Clip(g.Add(g.Mul(x, 1 / 6), 0.5), min=0.0, max=1.0), "HardSigmoid"),
    "HardSigmoid of Keras": (lambda g, x: g.Min(g.Max(g.Add(g.Mul(x, 0.2), 0.5), 0.0), 1.0), "HardSigmoid"),
    "HardSwish": lambda g, x: g.Div(g.Mul(x, _relu6(g, g.Add(x, 3.0))), 6.0),
    "HardSwish by HardSigmoid": (lambda g, x: g.Mul(x, g.Div(_relu6(g, g.Add(x, 3.0)), 6.0)), "HardSwish"),
    "Softplus": lambda g, x: g.Log(g.Add(g.Exp(x), 1.0)),
    "Softplus of JAX": (lambda g, x: g.Where(g.Compare(x, x, mode="NotEqual"), x, _stable(g, x)), "Softplus"),
    "Softplus of PyTorch": (lambda g, x: g.Where(g.Compare(x, 20.0, mode="Greater"), x, g.Log1p(g.Exp(x))), "Softplus"),
    "Mish": lambda g, x: g.Mul(x, g.Tanh(_stable(g, x))),
    "Softsign": lambda g, x: g.Div(x, g.Add(g.Abs(x), 1.0)),
    "LeakyRelu": lambda g, x: g.Where(g.Compare(x, 0.0, mode="GreaterOrEqual"), x, g.Mul(0.1, x)),
    "LeakyRelu the other way": (lambda g, x: g.Where(g.Compare(x, 0.0, mode="LessOrEqual"), g.Mul(0.1, x), x), "LeakyRelu"),
    "LeakyRelu, zero first": (lambda g, x: g.Where(g.Compare(0.0, x, mode="Less"), x, g.Mul(0.1, x)), "LeakyRelu"),
    "LeakyRelu by max": (lambda g, x: g.Max(x, g.Mul(0.1, x)), "LeakyRelu"),
    "LeakyRelu of parts": (lambda g, x: g.Add(g.Max(x, 0.0), g.Mul(g.Min(x, 0.0), 0.1)), "LeakyRelu"),
    "PRelu": lambda g, x: g.Where(g.Compare(x, 0.0, mode="Greater"), x, g.Mul(x, np.linspace(0.1, 0.3, 4))),
    "PRelu of parts": (lambda g, x: g.Add(g.Max(x, 0.0), g.Mul(np.linspace(0.1, 0.3, 4), g.Min(x, 0.0))), "PRelu"),
    "PRelu of Keras": (lambda g, x: g.Sub(g.Max(x, 0.0), g.Mul(np.linspace(0.1, 0.3, 4), g.Max(g.Neg(x), 0.0))), "PRelu"),
    "Elu": lambda g, x: g.Where(g.Compare(x, 0.0, mode="Greater"), x, g.Mul(1.3, g.Sub(g.Exp(g.Min(x, 0.0)), 1.0))),
    "Elu of JAX": (lambda g, x: g.Where(g.Compare(x, 0.0, mode="Greater"), x, g.Elu(
        g.Where(g.Compare(x, 0.0, mode="Greater"), 0.0, x))), "Elu"),
    "Elu of PyTorch": (lambda g, x: g.Add(g.Max(x, 0.0), g.Mul(g.Sub(g.Exp(g.Min(x, 0.0)), 1.0), 1.3)), "Elu"),
    "Elu by tanh": (lambda g, x: g.Where(g.Compare(x, 0.0, mode="Greater"), x, g.Mul(
        g.Tanh(g.Mul(x, 0.5)), g.Add(g.Exp(x), 1.0))), "Elu"),
    "Celu": lambda g, x: g.Add(g.Max(x, 0.0), g.Mul(g.Sub(g.Exp(g.Mul(g.Min(x, 0.0), 0.5)), 1.0), 2.0)),
    "Selu": lambda g, x: g.Mul(g.Elu(x, alpha=1.6732632), 1.050701),
    "Selu of parts": (lambda g, x: g.Add(g.Mul(g.Max(x, 0.0), 1.050701), g.Mul(
        g.Sub(g.Exp(g.Min(x, 0.0)), 1.0), 1.050701 * 1.6732632)), "Selu"),
}


@pytest.mark.parametrize("form", ONE)
def test_one_op(form):
    write, name = ONE[form] if isinstance(ONE[form], tuple) else (ONE[form], form)
    assert recognized(write, (3, 5, 4), scale=4.0) == [name]


@pytest.mark.parametrize("form", ONE)
def test_infinities_and_nan_are_the_same(form):
    write = ONE[form][0] if isinstance(ONE[form], tuple) else ONE[form]
    g = Graph((3, 4))
    set_results(g.main, [write(g, g.inputs[0])], ["y"])
    x = np.array([[math.inf, -math.inf, math.nan, 0.0], [-0.0, 1e30, -1e30, 3.0], [1e-30, -1e-30, 60.0, -60.0]], np.float32)
    before = run_function(g.module, {"x0": x})["y"]
    recognize(g.module)
    after = run_function(g.module, {"x0": x})["y"]
    numbers = np.isfinite(before)  # where the form itself gives a number, or the NaN that came in
    np.testing.assert_allclose(after[numbers], before[numbers], rtol=2e-6, atol=1e-6)
    assert np.isnan(after[0, 2]) == np.isnan(before[0, 2])


@pytest.mark.parametrize(("write", "kept"), [
    (lambda g, x: g.Max(g.Min(x, -1.0), 1.0), "Max"),  # limits the wrong way round
    (lambda g, x: g.Where(g.Compare(x, 0.5, mode="Greater"), x, g.Mul(0.1, x)), "Where"),
    (lambda g, x: g.Where(g.Compare(x, 0.0, mode="Less"), x, g.Mul(0.1, x)), "Where"),
    (lambda g, x: g.Max(x, g.Mul(1.5, x)), "Max"),
    (lambda g, x: g.Where(g.Compare(x, 1.0, mode="Greater"), x, g.Log1p(g.Exp(x))), "Where"),
    (lambda g, x: g.Where(g.Compare(x, 0.0, mode="Greater"), x, g.Sub(g.Exp(x), 0.9)), "Where"),
    (lambda g, x: g.Div(1.0, g.Add(2.0, g.Exp(g.Neg(x)))), "Exp"),
    (lambda g, x: g.Div(_relu6(g, g.Add(x, 2.5)), 6.0), "Relu"),
    (lambda g, x: g.Mul(g.Elu(x, alpha=1.5), 1.05), "Elu"),
    (lambda g, x: g.Add(g.Max(x, 0.0), g.Log1p(g.Exp(g.Abs(x)))), "Add"),
    # a ReLU without a limit has none of -1, and a clip to limits the wrong way round is a constant
    (lambda g, x: g.MulConst(g.Relu(g.AddConst(g.MulConst(x, const_val=-1 / 6), const_val=-0.5)), const_val=-1.0), "Relu"),
    (lambda g, x: g.Mul(x, g.Neg(g.Relu(g.AddConst(g.MulConst(x, const_val=-1 / 6), const_val=-0.5)))), "Relu"),
    (lambda g, x: g.MulConst(g.Clip(g.AddConst(g.MulConst(x, const_val=-1 / 6), const_val=-0.5), min=0.0, max=-1.0),
                             const_val=-1.0), "Clip"),
])
def test_what_only_looks_like_one(write, kept):
    assert kept in recognized(write, (3, 5))


COLUMN = np.ones((4, 1))


@pytest.mark.parametrize("write", [
    lambda g, x: g.Div(1.0, g.Add(1.0, g.Exp(g.Mul(x, -COLUMN)))),
    lambda g, x: g.Div(1.0, g.Add(1.0, g.Exp(g.Mul(-COLUMN, x)))),
    lambda g, x: g.Div(1.0, g.Add(1.0, g.Exp(g.Div(x, COLUMN)))),
    lambda g, x: g.Reciprocal(g.Add(COLUMN, g.Exp(g.Neg(x)))),
    lambda g, x: g.Div(COLUMN, g.Add(1.0, g.Exp(g.Neg(x)))),
    lambda g, x: g.Div(g.Mul(x, COLUMN), g.Add(1.0, g.Exp(g.Neg(x)))),
    lambda g, x: g.Div(g.Mul(x, COLUMN), g.Add(1.0, g.Abs(x))),
    lambda g, x: g.Mul(g.Mul(x, COLUMN), g.Sigmoid(x)),
    lambda g, x: g.Mul(g.Mul(x, 0.5 * COLUMN), g.Add(g.Erf(g.Mul(x, HALF)), 1.0)),
    lambda g, x: g.Mul(x, g.Mul(g.Clip(g.Add(x, 3.0), min=0.0, max=6.0), COLUMN / 6)),
    lambda g, x: g.Add(g.Mul(g.Tanh(g.Mul(x, COLUMN / 2)), 0.5), 0.5),
    lambda g, x: g.Log(g.Add(g.Exp(x), COLUMN)),
    lambda g, x: g.Neg(g.Softplus(g.Mul(x, -COLUMN))),
    lambda g, x: g.Sub(g.Min(x, 0 * COLUMN), g.Softplus(g.Neg(g.Abs(x)))),
    lambda g, x: g.Sub(g.Min(x, 0.0), g.Softplus(g.Mul(g.Abs(x), -COLUMN))),
    lambda g, x: g.Add(g.Max(x, 0.0), g.Mul(g.Min(x, 0 * COLUMN), 0.1)),
    lambda g, x: g.Max(x, g.Mul(x, COLUMN / 10)),
    lambda g, x: g.Where(g.Compare(x, 0.0, mode="Greater"), x, g.Mul(x, COLUMN / 10)),
    lambda g, x: g.Where(g.Compare(x, 0 * COLUMN, mode="Greater"), x, g.Elu(g.Min(x, 0.0))),
    lambda g, x: g.Where(g.Compare(x, COLUMN, mode="Greater"), 1.0, x),
    lambda g, x: g.Max(x, 0 * COLUMN),
    lambda g, x: g.Min(g.Max(x, 0.0), 6 * COLUMN),
])
def test_constants_that_make_more_of_it(write):
    """A constant of one number counts with its shape: the function is of as many numbers as came out before."""
    recognized(write, (1, 3))


def test_quantized_steps_stay():
    """Between them numbers are rounded and cut off: `-softplus(-x)` of a narrow range is no logarithm of the sigmoid."""
    narrow, wide, below = (QuantType(I8, F32, (scale,), (zero,)) for scale, zero in ((0.001, 0), (0.035, -128), (0.035, 127)))
    g = Graph(TensorType((2, 3), QuantType(I8, F32, (0.05,), (0,))))
    turned = g.builder.emit("top.Neg", g.inputs[0], element=narrow)
    curve = g.builder.emit("top.Softplus", turned, element=wide)
    module = g.done(g.builder.emit("top.Neg", curve, element=below))
    recognize(module)
    assert op_names(module) == ["Neg", "Softplus", "Neg"]

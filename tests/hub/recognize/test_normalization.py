"""Normalizations are found in every way that exporters write them, mean the same after, and near misses are left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transload.ir import F16, F32, F64

from tests.hub.recognize.recognition import recognized


def _variance(g, x, axes, form):
    mean = g.reduce("Mean", x, axes)
    if form == "fast":
        return g.Sub(g.reduce("Mean", g.Square(x), axes), g.Square(mean))
    if form == "flax":
        return g.Max(g.Sub(g.reduce("Mean", g.Mul(x, x), axes), g.Mul(mean, mean)), 0.0)
    if form == "tensorflow":
        return g.reduce("Mean", g.SquaredDifference(x, mean), axes)
    centred = g.Sub(x, mean)
    square = {"square": lambda: g.Square(centred), "mul": lambda: g.Mul(centred, centred), "pow": lambda: g.Pow(centred, 2.0)}
    return g.reduce("Mean", square[form](), axes)


def standardized(g, x, axes, form="mul", root="rsqrt", eps=1e-3):
    centred, variance = g.Sub(x, g.reduce("Mean", x, axes)), g.Add(_variance(g, x, axes, form), eps)
    return {"rsqrt": lambda: g.Mul(centred, g.Rsqrt(variance)), "sqrt": lambda: g.Div(centred, g.Sqrt(variance)),
            "reciprocal": lambda: g.Mul(g.Reciprocal(g.Sqrt(variance)), centred),
            "power": lambda: g.Mul(centred, g.Pow(variance, -0.5))}[root]()


FORMS = ["square", "mul", "pow", "tensorflow"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("root", ["rsqrt", "sqrt", "reciprocal", "power"])
def test_layer_norm(form, root):
    weight, bias = np.linspace(0.5, 1.5, 6), np.linspace(-1, 1, 6)
    left = recognized(lambda g, x: g.Add(g.Mul(standardized(g, x, (2,), form, root), weight), bias), (2, 3, 6), tolerance=1e-5)
    assert left == ["LayerNorm"]


@pytest.mark.parametrize("form", ["fast", "flax"])
def test_a_variance_that_cancels_is_none(form):
    """`mean(x^2) - mean(x)^2` loses digits that the op keeps: numbers of a mean far from 0 would come out differently."""
    assert "LayerNorm" not in recognized(lambda g, x: standardized(g, x, (2,), form), (2, 3, 6), tolerance=1e-5)


@pytest.mark.parametrize(("shape", "axes", "name"), [
    ((4, 6), (1,), "LayerNorm"), ((2, 3, 6), (1, 2), "LayerNorm"), ((2, 3, 4, 5), (3,), "LayerNorm"),
    ((2, 3, 4, 5), (1, 2, 3), "LayerNorm"), ((2, 3, 4, 5), (2, 3), "InstanceNorm"), ((2, 3, 4, 5), (1, 2), "InstanceNorm"),
    ((2, 3, 4), (1,), "InstanceNorm"), ((2, 3, 4, 5, 2), (2, 3, 4), "InstanceNorm"),
    ((2, 3, 4, 5, 2), (1, 2, 3), "InstanceNorm"), ((1, 3, 4, 5), (0, 2, 3), "InstanceNorm"), ((1, 4, 5), (0, 1, 2), "LayerNorm"),
    ((4, 1, 6), (2,), "LayerNorm"), ((1, 4, 1, 6), (1, 3), "LayerNorm")])
def test_dimensions_of_normalizations(shape, axes, name):
    assert recognized(lambda g, x: standardized(g, x, axes), shape, tolerance=1e-5) == [name]


@pytest.mark.parametrize("axes", [(0,), (0, 1), (1, 3), (0, 1, 2, 3)])
def test_other_dimensions_are_none(axes):
    left = recognized(lambda g, x: standardized(g, x, axes), (2, 3, 4, 5), tolerance=1e-5)
    assert ("LayerNorm" in left) == (axes == (0, 1, 2, 3))


@pytest.mark.parametrize(("shape", "axes"), [((1, 3, 1), (0,)), ((1, 3, 1), (0, 2)), ((2, 1, 3, 1), (1,)), ((2, 1, 1), (1,))])
@pytest.mark.parametrize("about_mean", [True, False])
def test_dimensions_of_size_one_alone(shape, axes, about_mean):
    """A mean over such dimensions is none, and must not become one over all that follow the first of them."""
    recognized(lambda g, x: standardized(g, x, axes) if about_mean else g.Div(
        x, g.Sqrt(g.Add(g.reduce("Mean", g.Square(x), axes), 1e-3))), shape, tolerance=1e-5)


def test_weight_multiplied_into_the_root_first():
    weight, bias = np.linspace(0.5, 1.5, 6), np.linspace(-1, 1, 6)

    def flax(g, x):
        factor = g.Mul(g.Rsqrt(g.Add(_variance(g, x, (1,), "mul"), 1e-3)), weight)
        return g.Add(g.Mul(g.Sub(x, g.reduce("Mean", x, (1,))), factor), bias)

    def tensorflow(g, x):
        factor = g.Mul(g.Rsqrt(g.Add(_variance(g, x, (1,), "tensorflow"), 1e-3)), weight)
        return g.Add(g.Mul(x, factor), g.Sub(bias, g.Mul(g.reduce("Mean", x, (1,)), factor)))

    assert recognized(flax, (4, 6), tolerance=1e-5) == ["LayerNorm"]
    assert recognized(tensorflow, (4, 6), tolerance=1e-5) == ["LayerNorm"]


def test_a_weight_that_is_an_input():
    left = recognized(lambda g, x, w, b: g.Add(g.Mul(g.expanded(w, (4, 6)), standardized(g, x, (1,))), g.expanded(b, (4, 6))),
                      (4, 6), (6,), (6,), tolerance=1e-5)
    assert left == ["LayerNorm"]


def test_a_factor_per_row_is_no_weight():
    assert recognized(lambda g, x, w: g.Mul(standardized(g, x, (1,)), w), (4, 6), (4, 1), tolerance=1e-5) == ["LayerNorm", "Mul"]


def test_variance_in_double_precision():
    def write(g, x):
        wide = g.Cast(x, element=F64)
        centred = g.Sub(wide, g.reduce("Mean", wide, (1,)))
        variance = g.Cast(g.reduce("Mean", g.Mul(centred, centred), (1,)), element=F32)
        return g.Mul(g.Sub(x, g.reduce("Mean", x, (1,))), g.Rsqrt(g.Add(variance, 1e-5)))
    assert recognized(write, (4, 6)) == ["LayerNorm"]


def test_unbiased_variance_is_another():
    def write(g, x):
        centred = g.Sub(x, g.reduce("Mean", x, (1,)))
        return g.Mul(centred, g.Rsqrt(g.Add(g.Div(g.reduce("Sum", g.Square(centred), (1,)), 5.0), 1e-5)))
    assert "LayerNorm" not in recognized(write, (4, 6))


def test_mean_of_another_tensor_is_none():
    def write(g, x, z):
        centred = g.Sub(x, g.reduce("Mean", z, (1,)))
        return g.Mul(centred, g.Rsqrt(g.Add(g.reduce("Mean", g.Square(centred), (1,)), 1e-5)))
    assert "LayerNorm" not in recognized(write, (4, 6), (4, 6))


def test_parts_that_are_wanted_elsewhere_stay():
    def write(g, x):
        mean = g.reduce("Mean", x, (1,))
        centred = g.Sub(x, mean)
        return g.Mul(centred, g.Rsqrt(g.Add(g.reduce("Mean", g.Square(centred), (1,)), 1e-5))), mean
    assert "LayerNorm" not in recognized(write, (4, 6))


@pytest.mark.parametrize("write", [
    lambda g, x: g.Mul(x, g.Rsqrt(g.Add(g.reduce("Mean", g.Square(x), (2,)), 1e-5))),
    lambda g, x: g.Mul(g.Div(x, g.Sqrt(g.Add(g.reduce("Mean", g.Mul(x, x), (2,)), 1e-5))), np.linspace(1, 2, 4)),
    lambda g, x: g.Mul(np.linspace(1, 2, 4), g.Mul(x, g.Rsqrt(g.Add(g.Div(g.reduce("Sum", g.Pow(x, 2.0), (2,)), 4.0), 1e-5)))),
])
def test_rms_norm(write):
    assert recognized(write, (2, 3, 4)) == ["RMSNorm"]


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(("shape", "apart", "axes", "channels"), [
    ((2, 6, 4, 5), (2, 3, 40), (2,), (1, 6, 1, 1)), ((2, 6, 4, 5), (2, 3, 2, 4, 5), (2, 3, 4), (6, 1, 1)),
    ((2, 4, 5, 6), (2, 4, 5, 3, 2), (1, 2, 4), (6,)), ((2, 4, 5, 6), (2, 20, 3, 2), (1, 3), (1, 1, 1, 6))])
def test_group_norm(shape, apart, axes, channels, affine):
    def write(g, x):
        y = g.Reshape(standardized(g, g.Reshape(x, shape=apart), axes), shape=shape)
        if not affine:
            return y
        return g.Add(g.Mul(y, np.linspace(0.5, 1, 6).reshape(channels)), np.linspace(-1, 1, 6).reshape(channels))
    left = recognized(write, shape, tolerance=1e-5)
    assert [name for name in left if name != "Reshape"] == ["GroupNorm"]


def test_statistics_that_are_shared_before_their_dimension_comes_back():
    """As flax has it: the mean is in the variance (here of centred numbers), and taken off x, each by a reshape of its own."""
    def write(g, x):
        mean = g.reduce("Mean", x, (2,), False)
        centred = g.Sub(x, g.Reshape(mean, shape=(2, 3, 1)))
        variance = g.reduce("Mean", g.Mul(centred, centred), (2,), False)
        kept_mean, kept_variance = (g.Reshape(v, shape=(2, 3, 1)) for v in (mean, variance))
        return g.Mul(g.Sub(x, kept_mean), g.Rsqrt(g.Add(kept_variance, 1e-5)))
    assert recognized(write, (2, 3, 6), tolerance=1e-5) == ["LayerNorm"]


def test_group_norm_with_repeated_statistics():
    """As flax has it: mean and variance of each group are repeated for its channels."""
    def write(g, x):
        apart = g.Reshape(x, shape=(2, 4, 5, 3, 2))
        mean = g.reduce("Mean", apart, (1, 2, 4), False)
        centred = g.Sub(apart, g.Reshape(mean, shape=(2, 1, 1, 3, 1)))
        variance = g.reduce("Mean", g.Mul(centred, centred), (1, 2, 4), False)

        def repeated(v):
            return g.Reshape(g.expanded(g.Reshape(v, shape=(2, 3, 1)), (2, 3, 2)), shape=(2, 1, 1, 6))

        factor = g.Mul(g.Rsqrt(g.Add(repeated(variance), 1e-5)), np.linspace(0.5, 1, 6))
        return g.Add(g.Mul(g.Sub(x, repeated(mean)), factor), np.linspace(-1, 1, 6))
    assert recognized(write, (2, 4, 5, 6), tolerance=1e-5) == ["GroupNorm"]


@pytest.mark.parametrize("affine", [False, True])
def test_group_norm_as_a_scale_and_a_shift_per_channel(affine):
    """As PyTorch has it: `x * k + (beta - mean * k)`, computed per group and reshaped to channels."""
    def write(g, x):
        apart = g.Reshape(x, shape=(2, 3, 2, 20))
        mean = g.reduce("Mean", apart, (2, 3))
        centred = g.Sub(apart, mean)
        factor = g.Rsqrt(g.Add(g.reduce("Mean", g.Mul(centred, centred), (2, 3)), 1e-5))
        weight = np.linspace(0.5, 1, 6).reshape(1, 3, 2, 1) if affine else np.ones((1, 3, 2, 1))
        factor = g.Mul(factor, weight)
        shift = g.Mul(g.Neg(mean), factor)
        shift = g.Add(shift, np.linspace(-1, 1, 6).reshape(1, 3, 2, 1)) if affine else shift
        return g.Add(g.Mul(x, g.Reshape(factor, shape=(2, 6, 1, 1))), g.Reshape(shift, shape=(2, 6, 1, 1)))
    assert recognized(write, (2, 6, 4, 5), tolerance=1e-5) == ["GroupNorm"]


@pytest.mark.parametrize("write", [
    lambda g, x: g.Mul(x, g.Rsqrt(g.Max(g.reduce("Sum", g.Square(x), (1,)), 1e-12))),
    lambda g, x: g.Div(x, g.Sqrt(g.reduce("Sum", g.Mul(x, x), (1,)))),
    lambda g, x: g.Div(x, g.Pow(g.reduce("Sum", g.Mul(x, x), (1,)), 0.5)),
    lambda g, x: g.Mul(x, g.Pow(g.Max(g.reduce("Sum", g.Square(x), (1,)), 1e-12), -0.5)),
    lambda g, x: g.Div(x, g.Max(g.Sqrt(g.reduce("Sum", g.Pow(g.Abs(x), 2.0), (1,))), 1e-6)),
    lambda g, x: g.Div(x, g.Clip(g.reduce("L2", x, (1,)), min=1e-6, max=math.inf)),
])
def test_l2_normalize(write):
    assert recognized(write, (4, 6)) == ["Normalize"]


@pytest.mark.parametrize("about_mean", [True, False])
def test_factors_that_the_type_does_not_hold_together_stay_apart(about_mean):
    """Of 1e-4 twice half precision holds nothing, though of a weight of 1e4 something is left behind both."""
    def write(g, x, weight):
        spread = _variance(g, x, (2,), "mul") if about_mean else g.reduce("Mean", g.Square(x), (2,))
        centred = g.Sub(x, g.reduce("Mean", x, (2,))) if about_mean else x
        scaled = g.Mul(g.Mul(g.Mul(centred, g.Add(weight, 1e4)), 1e-4), 1e-4)
        return g.Mul(scaled, g.Rsqrt(g.Add(spread, 1e-3)))

    name = "LayerNorm" if about_mean else "RMSNorm"
    for element, found in ((F16, False), (F32, True)):
        assert (name in recognized(write, (2, 3, 6), (6,), element=element, tolerance=1e-2)) == found

"""Composites are found in every way that exporters write them, mean the same after, and near misses are left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import BF16, F16, F32, F64, I8, I32, QuantType, TensorType, set_results
from transload.ir.verify import check
from transload_hub.recognize.composites import recognize

from tests.hub.recognize.recognition import Graph, recognized
from tests.hub.recognize.test_normalization import standardized
from tests.support.graphs import op_names

# --- broadcasts and means


def test_expansions_go_before_ops_that_broadcast():
    shape = (2, 3, 4)
    left = recognized(lambda g, x, v: g.Add(g.Mul(g.expanded(0.5, shape), x), g.expanded(g.Reshape(v, shape=(1, 3, 1)), shape)),
                      shape, (3,))
    assert left == ["Mul", "Reshape", "Add"]


def test_one_expansion_stays_where_the_result_needs_it():
    assert recognized(lambda g, a, b: g.Add(g.expanded(a, (3, 4)), g.expanded(b, (3, 4))), (1, 4), (4,)) == ["Add", "Expand"]
    assert recognized(lambda g, a, b: g.Add(g.expanded(a, (3, 4)), b), (1, 4), (3, 1)) == ["Add"]
    assert recognized(lambda g, a: g.Exp(g.expanded(a, (5, 3, 4))), (1, 4)) == ["Exp", "Expand"]


@pytest.mark.parametrize(("first", "second", "whole"), [
    ((4, 3), (2, 1, 3), (2, 4, 3)), ((2, 4, 3), (4, 1), (2, 4, 3)), ((4, 3), (5, 4, 3), (5, 4, 3))])
def test_of_two_expansions_one_makes_all(first, second, whole):
    """A shape to broadcast with may have dimensions of size 1 that the value has more places in."""
    g = Graph((1, 3))
    module = g.done(g.expanded(g.expanded(g.inputs[0], first), second))
    _same_after(module, np.array([[1, 2, 3]], np.float32))
    assert op_names(module) == ["Expand"]
    assert next(op for op in module.ops() if op.name == "top.Expand").output.shape == whole


def test_of_two_expansions_with_sizes_that_are_not_known():
    g = Graph(TensorType((None, 3), F32))
    module = g.done(g.expanded(g.expanded(g.inputs[0], (1, 3)), (2, 1, 3)))
    _same_after(module, np.arange(12, dtype=np.float32).reshape(4, 3))


def _per_axis(axis, count):
    return QuantType(I8, F32, tuple(0.1 / (1 + place) for place in range(count)), (0,) * count, axis)


def _same_after(module, x):
    before = run_function(module, {"x0": x})["y0"]
    recognize(module)
    assert check(module) == []
    np.testing.assert_array_equal(run_function(module, {"x0": x})["y0"], before)


@pytest.mark.parametrize(("shape", "axis"), [((1, 3), 0), ((3,), 0), ((3,), 1), ((2, 1), 0), ((2, 1), 1)])
def test_scales_of_a_dimension_that_was_expanded(shape, axis):
    """What is quantized with a scale for each place of a dimension has all its places first."""
    g = Graph(shape)
    wide = g.expanded(g.inputs[0], (2, 3))
    held = g.builder.emit("top.Cast", wide, element=_per_axis(axis, (2, 3)[axis]))
    _same_after(g.done(held), np.linspace(-2, 2, math.prod(shape), dtype=np.float32).reshape(shape))


@pytest.mark.parametrize("rounding", ["once", "exact", "double"])
def test_kept_dimensions_round_as_before(rounding):
    kind = QuantType(I8, F32, (0.05,), (3,))
    g = Graph(TensorType((1, 40, 4, 4), kind))
    mean = g.builder.emit(
        "top.Reduce", g.inputs[0], axes=(2, 3), keepdims=False, mode="ReduceMean", rounding=rounding,
        element=kind.replace(scales=(0.013,)))
    x = np.random.default_rng(0).integers(-60, 60, (1, 40, 4, 4)).astype(np.int8)
    module = g.done(g.Reshape(mean, shape=(1, 40, 1, 1)))
    _same_after(module, x)
    assert op_names(module) == ["Reduce"]
    assert next(op for op in module.ops() if op.name == "top.Reduce").attribute("rounding") == rounding


def test_scales_of_a_dimension_that_moves_behind_a_reduced_one():
    """The dimensions of a reduction are kept: of what lies between, the scales would lie along another dimension."""
    g = Graph((2, 3))
    held = g.builder.emit("top.Cast", g.reduce("Max", g.inputs[0], (0,), False), element=_per_axis(0, 3))
    back = g.builder.emit("top.Cast", held, element=F32)
    _same_after(g.done(g.Reshape(back, shape=(1, 3))), np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize("write", [
    lambda g, x: g.Add(g.expanded(x, (2, 3)), g.expanded(x, (2, 3))),
    lambda g, x: g.Max(g.expanded(x, (2, 3)), g.expanded(g.expanded(x, (1, 3)), (2, 3))),
    lambda g, x: g.expanded(g.expanded(x, (2, 3)), (4, 2, 3)),
])
@pytest.mark.parametrize(("shape", "axis"), [((3,), 0), ((1, 3), 1)])
def test_repeated_numbers_of_scales_of_a_dimension(write, shape, axis):
    g = Graph(TensorType(shape, _per_axis(axis, 3)))
    _same_after(g.done(write(g, g.inputs[0])), np.array([10, -20, 30], np.int8).reshape(shape))


def test_a_constant_that_repeats_itself_is_small():
    g = Graph((2, 3, 4))
    x = g.inputs[0]
    table = np.repeat(np.arange(3.0)[None, :, None], 4, 2).repeat(2, 0)
    set_results(g.main, [g.Add(x, table)], ["y"])
    recognize(g.module)
    weight = next(op for op in g.module.ops() if op.name == "top.Weight")
    assert weight.result.shape == (1, 3, 1)


def test_negative_zero_is_not_zero():
    g = Graph((2, 3))
    set_results(g.main, [g.Div(g.inputs[0], np.array([[0.0, -0.0, 0.0], [0.0, -0.0, 0.0]]))], ["y"])
    recognize(g.module)
    weight = next(op for op in g.module.ops() if op.name == "top.Weight")
    assert weight.result.shape == (1, 3)


@pytest.mark.parametrize("write", [
    lambda g, x: g.Mul(g.reduce("Sum", x, (1,)), 0.2),
    lambda g, x: g.Div(g.reduce("Sum", x, (-2,)), 5.0),
    lambda g, x: g.Reshape(g.Div(g.reduce("Sum", x, (1,), False), 5.0), shape=(3, 1, 4)),
    lambda g, x: g.MulConst(g.reduce("Sum", x, (1,)), const_val=0.2),
])
def test_mean(write):
    assert recognized(write, (3, 5, 4)) == ["Reduce"]


def test_a_sum_over_another_count_is_no_mean():
    assert recognized(lambda g, x: g.Mul(g.reduce("Sum", x, (1,)), 0.25), (3, 5, 4)) == ["Reduce", "Mul"]


@pytest.mark.parametrize(("element", "size"), [(BF16, 128), (BF16, 200), (F16, 512), (F16, 40), (F32, 600_000)])
@pytest.mark.parametrize("off", [-1, 1])
@pytest.mark.parametrize("write", [
    lambda g, total, count: g.MulConst(total, const_val=1 / count),
    lambda g, total, count: g.Div(total, float(count)),
])
def test_a_sum_over_one_more_or_less_is_no_mean(element, size, off, write):
    """In few digits `1/n` and `1/(n - 1)` are near each other: a constant is one of them only as the type holds it."""
    left = recognized(lambda g, x: write(g, g.reduce("Sum", x, (1,)), size + off), (1, size), element=element, tolerance=1e-2)
    assert left[0] == "Reduce" and len(left) == 2


def test_nothing_of_a_sum_is_no_mean():
    """The count is no number of this type: one over it is 0 there, and so is this factor."""
    left = recognized(lambda g, x: g.MulConst(g.reduce("Sum", x, (1,)), const_val=0.0), (1, 70_000), element=F16, scale=1e-3)
    assert left == ["Reduce", "MulConst"]


@pytest.mark.parametrize(("element", "size"), [
    (BF16, 3), (BF16, 49), (BF16, 196), (BF16, 257), (BF16, 391), (F16, 7), (F16, 1000), (F32, 49), (F32, 600_000), (F64, 300)])
@pytest.mark.parametrize("write", [
    lambda g, total, count: g.MulConst(total, const_val=1 / count),
    lambda g, total, count: g.Mul(total, 1 / count),
    lambda g, total, count: g.Div(total, float(count)),
])
def test_a_mean_in_few_digits(element, size, write):
    left = recognized(lambda g, x: write(g, g.reduce("Sum", x, (1,)), size), (1, size), element=element, tolerance=1e-1)
    assert left == ["Reduce"]


def test_integers_stay_as_they_are():
    g = Graph((3, 4), element=I32)
    x = g.inputs[0]
    total = g.builder.emit("top.Reduce", x, axes=(1,), keepdims=True, mode="ReduceSum")
    four = g.builder.constant(np.array(4, np.int32))
    zero = g.builder.constant(np.int32(0))
    set_results(g.main, [g.builder.emit("top.Div", total, four), g.builder.emit("top.Max", x, zero)])
    recognize(g.module)
    assert op_names(g.module) == ["Reduce", "Div", "Max"]


# --- softmax


def _softmax(g, x, axis, keepdims=True, last="Div"):
    shape = tuple(1 if i == axis % len(x.shape) else n for i, n in enumerate(x.shape))

    def kept(value):
        return value if keepdims else g.Reshape(value, shape=shape)

    moved = g.Sub(x, g.expanded(kept(g.Max(g.reduce("Max", x, (axis,), keepdims), -math.inf)), x.shape))
    powers = g.Exp(moved)
    total = kept(g.reduce("Sum", powers, (axis,), keepdims))
    if last == "Log":
        return g.Sub(moved, g.expanded(g.Log(total), x.shape))
    if last == "Reciprocal":
        return g.Mul(g.Reciprocal(total), powers)
    return g.Div(powers, g.expanded(total, x.shape))


@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 3, 7), (2, 2, 3, 4), (1, 2, 1, 3, 4), (2, 1, 2, 1, 3, 4)])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("last", ["Div", "Log", "Reciprocal"])
def test_softmax(shape, axis, keepdims, last):
    assert recognized(lambda g, x: _softmax(g, x, axis, keepdims, last), shape) == ["Softmax"]


def test_softmax_without_the_maximum():
    assert recognized(lambda g, x: g.Div(g.Exp(x), g.reduce("Sum", g.Exp(x), (1,))), (3, 5)) == ["Softmax"]


def test_softmax_with_a_guard_against_infinity():
    def write(g, x):
        most = g.reduce("Max", x, (1,))
        most = g.Where(g.Compare(g.Abs(most), math.inf, mode="Less"), most, 0.0)
        moved = g.Sub(x, most)
        return g.Sub(moved, g.Log(g.reduce("Sum", g.Exp(moved), (1,))))
    assert recognized(write, (3, 5)) == ["Softmax"]


@pytest.mark.parametrize("keepdims", [True, False])
def test_log_sum_exp(keepdims):
    def write(g, x):
        most = g.reduce("Max", x, (1,))
        total = g.Log(g.reduce("Sum", g.Exp(g.Sub(x, most)), (1,), keepdims))
        return g.Add(total, most if keepdims else g.Reshape(most, shape=(3,)))
    assert recognized(write, (3, 5)) == ["Reduce"]


@pytest.mark.parametrize("write", [
    lambda g, x: g.Div(g.Exp(x), g.reduce("Sum", g.Exp(x), (0, 1))),  # over two dimensions
    lambda g, x: g.Div(g.Exp(g.Sub(x, g.reduce("Max", x, (0,)))),
                       g.reduce("Sum", g.Exp(g.Sub(x, g.reduce("Max", x, (1,)))), (1,))),
    lambda g, x: g.Div(g.Exp(x), g.reduce("Sum", g.Exp(g.Mul(x, 2.0)), (1,))),
    lambda g, x: (g.Div(g.Exp(x), g.reduce("Sum", g.Exp(x), (1,))), g.Exp(x)),  # the powers are wanted themselves
    lambda g, x: g.Div(g.Exp(x), g.reduce("Mean", g.Exp(x), (1,))),
])
def test_what_only_looks_like_a_softmax(write):
    assert "Softmax" not in recognized(write, (3, 5))


# --- layers


def test_biases():
    filters = np.random.default_rng(1).normal(size=(4, 3, 3, 3))
    vector = np.linspace(-1, 1, 4)

    def convolution(g, x):
        return g.Add(g.Conv(x, filters, kernel_shape=(3, 3)), g.expanded(g.constant(vector.reshape(1, 4, 1, 1)), (1, 4, 4, 4)))

    assert recognized(convolution, (1, 3, 6, 6)) == ["Conv"]
    assert recognized(lambda g, x, w, b: g.Add(b, g.MatMul(x, w)), (3, 5), (5, 4), (4,)) == ["MatMul"]
    assert recognized(lambda g, x, w, b: g.Add(g.MatMul(x, w), b), (3, 5), (5, 4), (3, 4)) == ["MatMul", "Add"]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_mean_of_windows_without_padding(layout):
    shape = (1, 2, 5, 6) if layout == "NCHW" else (1, 5, 6, 2)

    def write(g, x):
        pads, axes = (1, 0, 1, 1), (2, 3) if layout == "NCHW" else (1, 2)
        pool = g.AvgPool(x, kernel_shape=(3, 2), strides=(2, 2), pads=pads, count_include_pad=True, layout=layout)
        counts = np.ones((1,) * 4)
        for axis, kernel, size, begin, step in zip(axes, (3, 2), (5, 6), pads, (2, 2), strict=False):
            starts = np.arange(pool.shape[axis]) * step - begin
            shape = [1] * 4
            shape[axis] = -1
            counts = counts * (np.minimum(starts + kernel, size) - np.maximum(starts, 0)).reshape(shape)
        return g.Div(g.Mul(pool, 6.0), np.broadcast_to(counts, pool.shape))

    assert recognized(write, shape) == ["AvgPool"]
    assert recognized(lambda g, x: g.Div(g.Mul(g.AvgPool(x, kernel_shape=(7, 7), count_include_pad=True), 49.0), 49.0),
                      (1, 2, 9, 9)) == ["AvgPool"]


@pytest.mark.parametrize("element", [F16, BF16, F64])
def test_other_float_types(element):
    assert recognized(lambda g, x: _softmax(g, x, -1), (3, 5), element=element, tolerance=2e-2) == ["Softmax"]


def test_the_pass_changes_nothing_the_second_time():
    g = Graph((2, 3, 6))
    x = g.inputs[0]
    set_results(g.main, [_softmax(g, standardized(g, x, (2,)), -1)], ["y"])
    assert recognize(g.module)
    assert op_names(g.module) == ["LayerNorm", "Softmax"]
    assert not recognize(g.module)


# --- moved numbers


@pytest.mark.parametrize(("layout", "shape", "axes"), [("NHWC", (1, 3, 4, 2), (1, 2)), ("NCHW", (2, 2, 3, 4), (2, 3))])
def test_repeated_pixels(layout, shape, axes):
    def gathers(g, x):
        for axis, scale in zip(axes, (2, 3), strict=True):
            places = g.builder.constant(np.repeat(np.arange(shape[axis]), scale).astype(np.int32))
            x = g.Gather(x, places, axis=axis)
        return x

    def expanded(g, x):
        apart, wide, out = list(shape), list(shape), list(shape)
        for axis, scale in reversed(list(zip(axes, (2, 3), strict=True))):
            apart.insert(axis + 1, 1)
            wide.insert(axis + 1, scale)
            out[axis] *= scale
        return g.Reshape(g.Expand(g.Reshape(x, shape=tuple(apart)), shape=tuple(wide)), shape=tuple(out))

    assert recognized(gathers, shape) == ["Upsample"]
    assert recognized(expanded, shape) == ["Upsample"]


def test_other_gathers_are_no_upsample():
    def write(g, x):
        for axis in (1, 2):
            x = g.Gather(x, g.builder.constant(np.array([0, 1, 0, 1, 2, 2], np.int32)), axis=axis)
        return x
    assert recognized(write, (1, 3, 3, 2)) == ["Gather", "Gather"]


def test_elements_gathered_in_order_are_a_reshape():
    def write(places):
        return lambda g, x: g.GatherND(x, g.builder.constant(places))
    order = np.stack(np.unravel_index(np.arange(12), (2, 3, 2)), -1).astype(np.int64)
    assert recognized(write(order.reshape(1, 12, 3)), (2, 3, 2)) == ["Reshape"]
    assert recognized(write(order[::-1].copy()), (2, 3, 2)) == ["GatherND"]


def test_gathers_by_no_subscripts_repeat_what_there_is():
    """StableHLO has them, with an empty `start_index_map`."""
    def write(batch_dims, *rows):
        return lambda g, x: g.GatherND(x, g.builder.constant(np.zeros((*rows, 0), np.int32)), batch_dims=batch_dims)
    assert recognized(write(0, 4, 2), (2, 3)) == ["Reshape", "Expand"]
    assert recognized(write(1, 2, 5), (2, 3)) == ["Reshape", "Expand"]
    assert recognized(write(1, 2), (2, 3)) == []


def test_one_matrix_for_a_whole_batch():
    weight = np.random.default_rng(2).normal(size=(5, 4))
    g = Graph((3, 2, 5))
    set_results(g.main, [g.MatMul(g.inputs[0], np.broadcast_to(weight, (3, 5, 4)).copy())], ["y"])
    recognize(g.module)
    assert next(op for op in g.module.ops() if op.name == "top.Weight").result.shape == (5, 4)
    assert recognized(lambda g, x, w: g.MatMul(x, g.expanded(w, (3, 5, 4))), (3, 2, 5), (5, 4)) == ["MatMul"]
    assert recognized(lambda g, x, w: g.MatMul(x, g.expanded(w, (3, 5, 4))), (1, 2, 5), (5, 4)) == ["Expand", "MatMul"]


def test_first_of_ordered():
    def write(g, x):
        values, places = g.TopK(x, axis=1, k=6)
        return tuple(g.Slice(v, offset=(0, 0), ends=(3, 2), steps=(1, 1)) for v in (values, places))
    assert recognized(write, (3, 6)) == ["TopK"]


# --- the error function


def test_erf_by_polynomials():
    """The approximation that StableHLO's own passes put in place of `chlo.erf`."""
    upper = [-2.72614237e-10, 2.77068146e-8, -2.10102394e-6, -5.69250624e-5, -7.34990637e-4, -2.954600e-03, -0.0160960332]
    lower = [-1.45660715e-5, -2.13374049e-4, -0.00168282702, -0.00737332925, -0.0142647391]

    def polynomial(g, x, coefficients):
        y = coefficients[0]
        for coefficient in coefficients[1:]:
            y = g.Add(g.Mul(y, x), coefficient)
        return y

    def write(changed, clipped):
        def erf(g, x):
            x = g.Clip(x, min=-4.0, max=4.0)
            square = g.Mul(x, x)
            top = g.Mul(x, polynomial(g, square, [*upper[:-1], upper[-1] * changed]))
            y = g.Div(top, polynomial(g, square, lower))
            return g.Clip(y, min=-1.0, max=1.0) if clipped else y
        return erf

    assert recognized(write(1.0, True), (50,)) == ["Erf"]
    assert recognized(write(1.0, False), (50,)) == ["Erf"]
    assert "Erf" not in recognized(write(1.001, True), (50,))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("write", [
    lambda g, v: g.Mul(v, v), lambda g, v: g.AddConst(v, const_val=0.5), lambda g, v: g.Mul(v, 1.001), lambda g, v: g.Neg(v),
    lambda g, v: g.Max(v, -1.0), lambda g, v: g.Sub(v, g.reduce("Mean", v, (1,))), lambda g, v: g.Exp(g.Where(
        g.Compare(v, 0.0, mode="Less"), v, 0.0)), lambda g, v: g.Add(v, g.Exp(v))])
def test_long_chains_come_to_an_end(write):
    """Neither the depth of an expression nor its length squared counts."""
    g = Graph((2, 3))
    value = g.inputs[0]
    for _ in range(1500):
        value = write(g, value)
    set_results(g.main, [value], ["y"])
    recognize(g.module)
    assert check(g.module) == []


def test_what_bounded_functions_need_not():
    assert recognized(lambda g, x: g.Clip(g.Tanh(x), min=-1.0, max=1.0), (3, 4)) == ["Tanh"]
    assert recognized(lambda g, x: g.Clip(g.Tanh(x), min=-0.9, max=1.0), (3, 4)) == ["Tanh", "Clip"]
    assert recognized(lambda g, x: g.Abs(g.reduce("Sum", g.Exp(x), (1,))), (3, 4)) == ["Exp", "Reduce"]
    assert recognized(lambda g, x: g.Abs(g.reduce("Sum", g.Tanh(x), (1,))), (3, 4)) == ["Tanh", "Reduce", "Abs"]
    assert recognized(lambda g, x: g.Neg(g.Neg(x)), (3, 4)) == []

"""The simplifications of `top`: each keeps what the graph computes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import transload
from transload.engine import run_function
from transload.ir import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I32,
    Dense,
    DialectType,
    ElidedData,
    Op,
    QuantType,
    TensorType,
    dtype_of,
    verify,
)
from transload.ir.declare import Dialect
from transload.passes.canonicalize import canonicalize
from transload.plugin import DialectSpec
from transload.plugin_host import Host, host, use_host
from transload.rewrite import RewriteTable
from transload.text import parse_module

from tests.support.graphs import Graph, check_pass, op_names


def conv(g, layout="NCHW", group=1, bias=True, channels=4, outputs=6, kernel=(3, 3), **attributes):
    """A convolution of the first input, with random weights."""
    shape = (outputs, channels // group, *kernel) if layout == "NCHW" else (outputs, *kernel, channels // group)
    return g.Conv(
        g.inputs[0], g.random(*shape), g.random(outputs) if bias else None, kernel_shape=kernel, group=group, layout=layout,
        pads=(1,) * 2 * len(kernel), **attributes)


def image(layout, channels=4, spatial=(5, 5)):
    return (2, channels, *spatial) if layout == "NCHW" else (2, *spatial, channels)


def batch_norm(g, x, layout, channels, **attributes):
    return g.BatchNorm(
        x, g.random(channels), g.random(channels, positive=True), g.random(channels), g.random(channels), epsilon=1e-3,
        layout=layout, **attributes)


# --- what does nothing


def test_what_is_packed_and_taken_apart_again_goes_with_the_parts_that_nobody_reads():
    g = Graph((2, 3), (2, 3))
    left, right = g.inputs
    parts = g.Unpack(g.Pack(g.Sin(left), g.Exp(right), axis=1), axis=-2)
    check_pass(canonicalize, g.done(parts[0]), ["Sin"])


def test_what_does_nothing_goes():
    g = Graph((2, 3, 4))
    x = g.inputs[0]
    x = g.Reshape(x, shape=(2, 3, 4))
    x = g.Permute(x, order=(0, 1, 2))
    x = g.Cast(x)
    x = g.Concat(x, axis=1)
    x = g.Slice(x, offset=(0, 0, 0), ends=(2, 3, 4), steps=(1, 1, 1))
    x = g.Pad(x, paddings=(0,) * 6)
    x = g.Tile(x, tile=(1, 1, 1))
    x = g.Expand(x, shape=(2, 3, 4))
    x = g.MulConst(x, const_val=1.0)
    x = g.AddConst(x, const_val=0.0)
    x = g.Scale(x, np.ones((3, 1), np.float32), np.zeros((1,), np.float32))
    check_pass(canonicalize, g.done(x), [])


@pytest.mark.parametrize(("mode", "left"), [
    ("ReduceSum", []), ("ReduceMean", []), ("ReduceMax", []), ("ReduceProd", []), ("ReduceLogSumExp", []),
    ("ReduceL1", ["Abs"]), ("ReduceL2", ["Abs"]), ("ReduceSumSquare", ["Mul"]), ("ReduceLogSum", ["Log"])])
def test_a_reduction_over_nothing_is_its_function_of_each_element(mode, left):
    g = Graph((2, 3))
    check_pass(canonicalize, g.done(g.Reduce(g.inputs[0], axes=(), mode=mode)), left)


@pytest.mark.parametrize("element", ["i1", "complex<f32>"])
@pytest.mark.parametrize("mode", ["ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare"])
def test_a_reduction_of_what_has_no_arithmetic_over_nothing_stays_valid(mode, element):
    t = f"tensor<2x{element}>"
    module = parse_module(f"""
        "func.func"() ({{
        ^bb0(%a: {t} loc("a")):
          %b = "top.Reduce"(%a) <{{axes = array<i64>, keepdims = true, mode = "{mode}"}}> : ({t}) -> {t} loc("b")
          "func.return"(%b) : ({t}) -> ()
        }}) {{function_type = ({t}) -> {t}, sym_name = "main"}} : () -> ()""")
    canonicalize(module)
    verify(module)
    assert op_names(module) == ([] if element == "i1" else ["Reduce"])


def test_what_moves_things_stays():
    g = Graph((4, 4))
    x = g.inputs[0]
    x = g.Permute(x, order=(1, 0))
    x = g.Pad(x, paddings=(1, 0, -1, 0))
    x = g.Reverse(x, axes=(0,))
    x = g.Slice(x, offset=(3, 0), ends=(-1, 4), steps=(-1, 1))
    check_pass(canonicalize, g.done(x), ["Permute", "Pad", "Reverse", "Slice"])


def test_permutes_and_reshapes_join():
    g = Graph((2, 3, 4))
    x = g.Permute(g.inputs[0], order=(2, 0, 1))
    x = g.Permute(x, order=(1, 2, 0))
    x = g.Reshape(x, shape=(6, 4))
    x = g.Unsqueeze(x, axes=(0,))
    x = g.Reshape(x, shape=(8, 3))
    check_pass(canonicalize, g.done(x), ["Reshape"])


# --- ReLU


@pytest.mark.parametrize("limit", [None, 6.0, 0.0])
def test_relu_joins_the_op_before_it(limit):
    g = Graph(image("NCHW"), image("NCHW", 6))
    x = g.Relu(conv(g), relu_limit=limit)
    y = g.Relu(g.Add(g.Neg(x), g.inputs[1]), location="sum")
    module = check_pass(canonicalize, g.done(y), ["Conv", "Neg", "Add"])
    add = next(op for op in module.ops() if op.name == "top.Add")
    assert add.do_relu and add.location == "sum"


def test_relus_keep_the_lower_limit():
    g = Graph((3, 3))
    x = g.Relu(g.Relu(g.Relu(g.inputs[0], relu_limit=6.0)), relu_limit=1.0)
    y = g.Relu(g.Add(g.inputs[0], x, do_relu=True, relu_limit=0.5), relu_limit=2.0)
    module = check_pass(canonicalize, g.done(x, y), ["Relu", "Add"])
    assert [op.relu_limit for op in module.ops() if op.name.startswith("top.")] == [1.0, 0.5]


def test_relu_stays_where_the_value_is_wanted_or_not_a_float():
    g = Graph((3, 3), TensorType((3, 3), I32))
    x = g.Add(g.inputs[0], g.inputs[0])
    y = g.Add(g.inputs[1], g.inputs[1])
    check_pass(canonicalize, g.done(g.Relu(x), x, g.Relu(y)), ["Add", "Add", "Relu", "Relu"])


def test_clip_at_zero_is_a_relu():
    g = Graph((3, 3))
    x = g.Clip(g.inputs[0], min=0.0, max=6.0)
    y = g.Clip(g.inputs[0], min=0.0, max=math.inf)
    z = g.Clip(g.inputs[0], min=-1.0, max=1.0)
    check_pass(canonicalize, g.done(x, y, z), ["Relu", "Relu", "Clip"])


@pytest.mark.parametrize(("low", "high", "left"), [
    (0.0, 5.99, []), (-1.0, 6.2, []), (0.0, 5.98, ["Clip"]), (0.0119, 6.0, ["Clip"]), (0.0, 2.0, ["Clip"])])
def test_limits_where_a_quantized_type_ends_go(low: float, high: float, left: list[str]) -> None:
    """All the type's integers, by the kernels: what goes cut none of them, and what stays cuts some at the end that is left."""
    kind = QuantType(I8, F32, (6.0 / 255,), (-128,))
    g = Graph((256,), element=kind)
    module = g.done(g.Clip(g.inputs[0], min=low, max=high, location="clipped"))
    given = {"x0": np.arange(-128, 128).astype(np.int8)}
    (before,) = transload.run(module, given, engine="reference").values()
    canonicalize(module)
    assert op_names(module) == left
    (after,) = transload.run(module, given, engine="reference").values()
    np.testing.assert_array_equal(after, before)
    assert np.array_equal(after, given["x0"]) == (not left)
    if left:
        (op,) = (each for each in module.ops() if each.name == "top.Clip")
        assert (math.isinf(op.min), math.isinf(op.max)) == (low == 0.0, high >= 6.0)


def test_a_relu_goes_where_its_type_has_nothing_below_zero() -> None:
    for zero_point, left in ((-128, []), (-127, ["Relu"])):
        kind = QuantType(I8, F32, (0.1,), (zero_point,))
        g = Graph((4,), element=kind)
        canonicalize(g.done(g.Relu(g.inputs[0])))
        assert op_names(g.module) == left


# --- constants into weights


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("bias", [True, False])
def test_batch_norm_goes_into_the_convolution(layout, group, bias):
    g = Graph(image(layout))
    outputs = 4 if group == 4 else 6
    x = batch_norm(g, conv(g, layout, group, bias, outputs=outputs), layout, outputs, do_relu=True)
    x.op.location = "normalized"
    module = check_pass(canonicalize, g.done(x), ["Conv"])
    only = next(op for op in module.ops() if op.name == "top.Conv")
    assert only.location == "normalized" and only.do_relu and only.layout == layout


@pytest.mark.parametrize("kernel", [(3,), (1, 2, 3)])
def test_batch_norm_of_other_ranks(kernel):
    g = Graph((2, 4, *(5,) * len(kernel)))
    check_pass(canonicalize, g.done(batch_norm(g, conv(g, kernel=kernel), "NCHW", 6)), ["Conv"])


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("group", [1, 2])
def test_batch_norm_goes_into_the_transposed_convolution(layout, group):
    g = Graph(image(layout))
    shape = (4, 6 // group, 3, 2) if layout == "NCHW" else (6 // group, 3, 2, 4)
    x = g.Deconv(g.inputs[0], g.random(*shape), None, kernel_shape=(3, 2), strides=(2, 2), group=group, layout=layout)
    check_pass(canonicalize, g.done(batch_norm(g, x, layout, 6)), ["Deconv"])


@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("rank", [2, 3])
def test_constants_go_into_the_matrix_product(transposed, rank):
    g = Graph((2, 3, 4)[-rank:])
    weights = g.random(5, 4) if transposed else g.random(4, 5)
    x = g.MatMul(g.inputs[0], weights, right_transpose=transposed)
    x = g.Add(g.random(5), x)
    x = g.Mul(x, g.random(1, 5))
    x = g.Sub(x, g.random(5))
    x = g.Div(x, g.random(5, positive=True))
    x = g.Relu(x)
    check_pass(canonicalize, g.done(x), ["MatMul"], rtol=1e-4)


def test_bias_goes_into_a_product_of_two_computed_matrices():
    g = Graph((3, 4), (4, 5))
    x = g.MatMul(*g.inputs)
    check_pass(canonicalize, g.done(g.Add(x, g.random(5))), ["MatMul"])
    g = Graph((3, 4), (4, 5))
    x = g.MatMul(*g.inputs)
    check_pass(canonicalize, g.done(g.Mul(x, g.random(5))), ["MatMul", "Mul"])


def test_scalar_constants_go_into_the_convolution():
    g = Graph(image("NCHW"))
    x = g.AddConst(g.MulConst(conv(g, bias=False), const_val=0.5), const_val=2.0)
    check_pass(canonicalize, g.done(g.Sub(1.0, x)), ["Conv"])


def test_constants_that_vary_along_other_dimensions_stay():
    g = Graph(image("NCHW"))
    x = g.Mul(conv(g), g.random(6, 1, 5))
    check_pass(canonicalize, g.done(x), ["Conv", "Mul"])
    g = Graph((3, 4))
    x = g.Add(g.MatMul(g.inputs[0], g.random(4, 5)), g.random(2, 3, 5))
    check_pass(canonicalize, g.done(x), ["MatMul", "Add"])


def test_weights_in_other_use_and_results_in_other_use_stay():
    g = Graph(image("NCHW"))
    weight = g.constant(g.random(4, 4, 3, 3))
    attributes = {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}
    x = g.Conv(g.inputs[0], weight, None, **attributes)
    y = g.Mul(g.Conv(x, weight, None, **attributes), g.random(4, 1, 1))
    check_pass(canonicalize, g.done(x, y), ["Conv", "Conv", "Mul"])
    g = Graph(image("NCHW"))
    x = conv(g)
    check_pass(canonicalize, g.done(x, g.Mul(x, g.random(6, 1, 1))), ["Conv", "Mul"])


def test_relu_between_keeps_them_apart():
    g = Graph(image("NCHW"))
    x = g.MulConst(conv(g, do_relu=True), const_val=-2.0)
    check_pass(canonicalize, g.done(x), ["Conv", "MulConst"])


def test_quantization_at_run_time_keeps_its_exact_order():
    g = Graph((2, 4))
    largest = g.Reduce(g.Abs(g.inputs[0]), axes=(0, 1), mode="ReduceMax")
    scale = g.MulConst(g.MulConst(largest, const_val=1 / 127), const_val=0.3)
    rounded = g.Cast(g.Cast(g.Div(g.inputs[0], scale), element=I32), element=F32)
    x = g.MatMul(rounded, np.round(g.random(4, 5) * 20))
    x = g.Mul(g.Mul(x, g.random(5)), scale)
    check_pass(
        canonicalize, g.done(x), ["Abs", "Reduce", "MulConst", "MulConst", "Div", "Cast", "Cast", "MatMul", "Mul", "Mul"]
    )


def test_numbers_too_large_for_the_element_type_stay():
    g = Graph(image("NCHW"))
    x = g.MulConst(g.MulConst(g.inputs[0], const_val=1e30), const_val=1e30)
    with np.errstate(all="ignore"):
        canonicalize(g.done(x))
    assert op_names(g.module) == ["MulConst", "MulConst"]


@pytest.mark.parametrize(("element", "small", "large"), [
    (F16, 1e-4, 6e4), (F16, 1e-3, 6e4), (F32, 1e-25, 1e38), (BF16, 1e-25, 1e38), (F64, 1e-160, 1e300)])
@pytest.mark.parametrize("shape", [(), (8,)])
def test_factors_too_small_for_the_element_type_together_stay(element, small, large, shape):
    """Where what they multiply is large the product is there: of both in one it would be 0, or have lost digits."""
    g = Graph((2, 8), element=element)
    factors = small * np.linspace(0.9, 1.1, 8)[:math.prod(shape)].reshape(shape)
    given = g.builder.constant(factors.astype(dtype_of(element)))
    x = g.Mul(g.Mul(g.inputs[0], given), given)
    module = g.done(x)
    inputs = {"x0": np.linspace(0, large, 16).reshape(2, 8).astype(dtype_of(element))}
    want = run_function(module, inputs)["y0"].astype(np.float64)
    canonicalize(module)
    have = run_function(module, inputs)["y0"].astype(np.float64)
    assert (want[1] > 0).all()
    np.testing.assert_allclose(have, want, rtol=0.02)


@pytest.mark.parametrize(("element", "weight", "factor", "names"), [
    (F16, 1e-3, 2e-5, ["MatMul", "MulConst"]), (F32, 1e-25, 1e-20, ["MatMul", "MulConst"]), (F16, 1e-3, 0.25, ["MatMul"])])
@pytest.mark.parametrize("stored", [False, True])
def test_weights_too_small_for_the_element_type_stay(element, weight, factor, names, stored):
    """Also those that integers stand for."""
    g = Graph((2, 8), element=element)
    weights = g.builder.constant(np.full((8, 8), weight).astype(dtype_of(element)))
    if stored:
        g.builder.fold = False
        integers = g.builder.constant(np.full((8, 8), 100, np.int8), element=QuantType(I8, F32, (weight / 100,), (0,)))
        weights = g.builder.emit("top.Cast", integers, element=element)
    module = g.done(g.MulConst(g.MatMul(g.inputs[0], weights), const_val=factor))
    canonicalize(module)
    assert [name for name in op_names(module) if name != "Cast"] == names


def test_a_channel_that_training_gave_up_keeps_no_scale_apart():
    g = Graph(image("NCHW"))
    weights = g.random(6, 4, 3, 3)
    weights[2] *= np.float32(1e-25)
    scales = g.random(6, 1, 1)
    scales[2] *= np.float32(1e-20)
    x = g.Conv(g.inputs[0], weights, g.random(6), kernel_shape=(3, 3))
    check_pass(canonicalize, g.done(g.Mul(x, scales)), ["Conv"])


@pytest.mark.parametrize(("element", "number"), [(F32, 12582912.0), (F32, 1.5 * 2 ** 15), (F16, 1536.0), (BF16, 192.0)])
@pytest.mark.parametrize("written", [
    lambda g, x, c: g.AddConst(g.AddConst(x, const_val=c), const_val=-c),
    lambda g, x, c: g.Sub(g.Add(x, c), c),
    lambda g, x, c: g.Sub(c, g.Sub(c, x)),
    lambda g, x, c: g.Sub(g.Scale(x, np.full(8, 3.0), np.full(8, c)), c - 1),
    lambda g, x, c: g.AddConst(g.Sub(g.Add(x, c), c), const_val=0.25),
])
def test_a_number_that_is_added_to_round_stays(element, number, written):
    g = Graph((2, 8), element=element)
    module = g.done(written(g, g.inputs[0], number))
    inputs = {"x0": np.linspace(-7.3, 7.9, 16).reshape(2, 8).astype(dtype_of(element))}
    want = run_function(module, inputs)["y0"]
    canonicalize(module)
    np.testing.assert_array_equal(run_function(module, inputs)["y0"], want)


@pytest.mark.parametrize(("element", "number"), [(F32, 1e-12), (F16, 1e-4), (F64, 1e-20)])
@pytest.mark.parametrize("written", [
    lambda g, x, c: g.AddConst(g.AddConst(g.Neg(x), const_val=1.0), const_val=c),
    lambda g, x, c: g.Add(g.Sub(1.0, x), np.full(8, c)),
    lambda g, x, c: g.Sub(c, g.Sub(x, 1.0)),
])
def test_a_small_number_keeps_a_difference_from_zero(element, number, written):
    """Of `(1 - p) + 1e-12`, whose logarithm is taken: both constants together are 1."""
    g = Graph((2, 8), element=element)
    module = g.done(g.Log(written(g, g.inputs[0], number)))
    inputs = {"x0": np.repeat([0.5, 1.0], 8).reshape(2, 8).astype(dtype_of(element))}
    want = run_function(module, inputs)["y0"]
    canonicalize(module)
    found = run_function(module, inputs)["y0"]
    assert np.isfinite(want).all()
    np.testing.assert_allclose(found.astype(np.float64), want.astype(np.float64), rtol=1e-3)


def test_a_few_small_weights_keep_no_scale_apart():
    """Of half precision, beside others of their channel, or of the groups of a transposed convolution."""
    for op, attributes in (("Conv", {}), ("Deconv", {"group": 2})):
        g = Graph(image("NCHW"), element=F16)
        weights = g.random(4, 4 if op == "Conv" else 2, 3, 3)
        weights[1, 0, 0] = 1e-4
        x = g.emit(op, g.inputs[0], weights.astype(np.float16), g.constant(g.random(4).astype(np.float16)),
                   kernel_shape=(3, 3), **attributes)
        canonicalize(g.done(g.MulConst(x, const_val=0.25)))
        assert op_names(g.module) == [op]


def test_a_number_that_is_added_to_round_goes_into_no_bias():
    for bias in (False, True):
        g = Graph(image("NCHW"))
        x = g.Sub(g.Add(conv(g, bias=bias), 12582912.0), 12582912.0)
        check_pass(canonicalize, g.done(x), ["Conv", "Add", "Sub"])


def test_what_is_added_by_the_way_is_joined():
    g = Graph((2, 3, 4))
    x = g.AddConst(g.Scale(g.inputs[0], g.random(4), np.full(4, -123.5)), const_val=123.5)
    y = batch_norm(g, g.AddConst(g.inputs[0], const_val=-1000.0), "NCHW", 3)
    check_pass(canonicalize, g.done(x, y), ["Mul", "Scale"], rtol=1e-3)


def test_half_precision_weights_stay_half():
    g = Graph(image("NCHW"), element=F16)
    filter_, bias = g.random(6, 4, 3, 3).astype(np.float16), g.random(6).astype(np.float16)
    x = g.Conv(g.inputs[0], filter_, bias, kernel_shape=(3, 3))
    module = g.done(g.MulConst(x, const_val=0.5))
    canonicalize(module)
    assert op_names(module) == ["Conv"]
    assert {str(op.result.element) for op in module.ops() if op.results} == {"f16"}


def test_batch_norm_alone_is_a_scale():
    for layout in ("NCHW", "NHWC"):
        g = Graph(image(layout))
        check_pass(canonicalize, g.done(batch_norm(g, g.inputs[0], layout, 4, do_relu=True, relu_limit=6.0)), ["Scale"])


def test_batch_norm_with_computed_statistics_stays():
    g = Graph(image("NCHW"), (4,))
    x = g.BatchNorm(g.inputs[0], g.inputs[1], g.random(4, positive=True))
    check_pass(canonicalize, g.done(x), ["BatchNorm"])


def test_chains_of_constants_join_where_that_saves_work():
    g = Graph((2, 3, 4))
    x = g.Mul(g.inputs[0], g.random(4))
    x = g.Mul(x, g.random(3, 1))  # would need a constant larger than both
    y = g.MulConst(g.Mul(g.inputs[0], g.random(4)), const_val=3.0)
    z = batch_norm(g, g.Scale(g.inputs[0], g.random(3, 1), g.random(1, 3, 1)), "NCHW", 3)
    w = g.Add(g.Mul(g.inputs[0], g.random(4)), g.random(4))
    check_pass(canonicalize, g.done(x, y, z, w), ["Mul", "Mul", "Mul", "Scale", "Mul", "Add"])


def test_integers_and_quantized_tensors_are_left_alone():
    g = Graph((2, 3), element=I32)
    x = g.Add(g.Add(g.inputs[0], np.array([1], np.int32)), np.array([2], np.int32))
    check_pass(canonicalize, g.done(x), ["Add", "Add"])
    quantized = QuantType(I8, F32, (0.5,), (0,))
    g = Graph((2, 3), element=quantized)
    x = g.MulConst(g.MulConst(g.inputs[0], const_val=2.0), const_val=2.0)
    canonicalize(g.done(g.Relu(x)))
    assert op_names(g.module) == ["MulConst", "MulConst", "Relu"]


def test_constants_left_out_of_a_text_are_left_alone():
    g = Graph((2, 4))
    w = g.builder.constant(Dense(ElidedData((4, 4), np.float32), TensorType((4, 4), F32)))
    x = g.MulConst(g.MatMul(g.inputs[0], w), const_val=2.0)
    canonicalize(g.done(x))
    assert op_names(g.module) == ["MatMul", "MulConst"]


# --- activations


def test_activations_that_are_spelled_out():
    g = Graph((3, 50))
    x = g.inputs[0]
    silu = g.Mul(x, g.Sigmoid(x))
    swish = g.Mul(g.HardSigmoid(x, alpha=1 / 6, beta=0.5), x)
    relu6 = g.Clip(g.AddConst(x, const_val=3.0), min=0.0, max=6.0)
    swish2 = g.Div(g.Mul(x, relu6), 6.0)
    mish = g.Mul(x, g.Tanh(g.Softplus(x)))
    erf = g.AddConst(g.Erf(g.Div(x, math.sqrt(2))), const_val=1.0)
    gelu = g.MulConst(g.Mul(x, erf), const_val=0.5)
    erf2 = g.Add(g.Erf(g.Mul(x, 0.70710677)), 1.0)
    gelu2 = g.Mul(g.Mul(x, 0.5), erf2)
    cubic = g.Add(x, g.Mul(g.Pow(x, 3.0), 0.044715))
    tanh = g.AddConst(g.Tanh(g.MulConst(cubic, const_val=0.7978846)), const_val=1.0)
    gelu3 = g.Mul(g.MulConst(x, const_val=0.5), tanh)
    check_pass(
        canonicalize,
        g.done(silu, swish, swish2, mish, gelu, gelu2, gelu3),
        ["SiLU", "HardSwish", "HardSwish", "Mish", "GELU", "GELU", "GELU"],
    )
    assert [op.approx for op in g.module.ops() if op.name == "top.GELU"] == [False, False, True]


def test_what_only_looks_like_an_activation_stays():
    g = Graph((3, 50), (3, 50))
    x, y = g.inputs
    a = g.Mul(y, g.Sigmoid(x))
    b = g.Mul(x, g.Sigmoid(x, scale=2.0))
    c = g.Mul(x, g.HardSigmoid(x))
    shared = g.Sigmoid(x)
    d = g.Mul(x, shared)
    e = g.Mul(x, x)
    check_pass(
        canonicalize,
        g.done(a, b, c, d, shared, e),
        ["Sigmoid", "Mul", "Sigmoid", "Mul", "HardSigmoid", "Mul", "Sigmoid", "Mul", "Mul"],
    )


# --- the pass


def test_a_convolution_block_becomes_one_op():
    g = Graph(image("NHWC"))
    x = conv(g, "NHWC", bias=False)
    x = batch_norm(g, x, "NHWC", 6)
    x = g.Clip(x, min=0.0, max=6.0)
    x = g.Conv(x, g.random(8, 1, 1, 6), None, kernel_shape=(1, 1), layout="NHWC")
    x = g.Add(x, g.random(8))
    x = batch_norm(g, x, "NHWC", 8)
    x = g.Mul(x, g.Sigmoid(x))
    check_pass(canonicalize, g.done(x), ["Conv", "Conv", "SiLU"], rtol=1e-4)


def test_a_dialect_brings_its_own_table():
    table = RewriteTable()

    @table("mine.twice")
    def once(op, rw):
        return op.operands[0]

    before = host()
    mine = Host(points=[])
    mine.dialects["mine"] = DialectSpec("mine", Dialect("mine"), canonicalize=table)
    use_host(mine)
    try:
        module = parse_module("""%0 = "mine.make"() : () -> !mine.t
%1 = "mine.twice"(%0) : (!mine.t) -> !mine.t
"mine.use"(%1) : (!mine.t) -> ()
""")
        assert canonicalize(module)
        assert [op.name for op in module.body] == ["mine.make", "mine.use"]
        assert isinstance(module.body.first, Op) and module.body.first.result.type == DialectType("mine.t")
    finally:
        use_host(before)


@pytest.mark.parametrize(("layout", "paddings", "number", "options", "names"), [
    ("NCHW", (0, 0, 1, 1, 0, 0, 1, 0), -math.inf, {}, ["MaxPool"]),
    ("NHWC", (0, 1, 0, 0, 0, 0, 1, 0), float(np.finfo(np.float32).min), {"pads": (1, 0, 1, 0)}, ["MaxPool"]),
    ("NCHW", (0, 0, 1, 1, 0, 0, 1, 1), -1e9, {}, ["Pad", "MaxPool"]),
    ("NCHW", (0, 1, 1, 1, 0, 0, 1, 1), -math.inf, {}, ["Pad", "MaxPool"]),  # a channel more
    ("NCHW", (0, 0, 2, 1, 0, 0, 1, 1), -math.inf, {"pads": (1, 0, 1, 0)}, ["Pad", "MaxPool"]),  # a window of padding alone
    ("NCHW", (0, 0, 1, 1, 0, 0, 1, 1), -math.inf, {"dilations": (2, 1)}, ["Pad", "MaxPool"])])
def test_padding_of_a_maximum_is_its_own(layout, paddings, number, options, names):
    """As TensorFlow and exported decompositions write it; a quantizer had to give infinity a scale."""
    g = Graph((2, 6, 6, 6))
    padded = g.Pad(g.inputs[0], paddings=paddings, val=number)
    check_pass(canonicalize, g.done(g.MaxPool(padded, kernel_shape=(3, 3), strides=(2, 2), layout=layout, **options)), names)


@pytest.mark.parametrize("is_other_way", [False, True])
def test_that_nothing_of_a_row_is_chosen_beside_infinity_is_asked_of_the_condition(is_other_way):
    """As attention asks which queries see no key; the greatest of a row with minus infinity in it has no range to quantize."""
    g = Graph((3, 4))
    seen = g.Compare(g.inputs[0], g.constant(np.float32(0.5)), mode="Greater")
    choices = (np.float32(0), np.float32(-np.inf))
    mask = g.Where(seen, *(g.constant(each) for each in (choices[::-1] if is_other_way else choices)))
    greatest = g.Reduce(mask, axes=(1,), keepdims=True, mode="ReduceMax")
    blind = g.Compare(greatest, g.constant(np.float32(-np.inf)), mode="Equal")
    check_pass(canonicalize, g.done(blind), ["Compare", "Reduce"] + ["LogicalNot"] * (not is_other_way))

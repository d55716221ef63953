"""Models that quantizers rarely see: other floats than f32, no floats, sizes that data say, groups, a number in a branch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.ir import Module, verify
from transload.metrics import sqnr
from transload.text import parse_module

from tests.support.graphs import Graph


def function(takes: str, gives: str, body: str) -> Module:
    """A module of the hub whose function takes `%x`, and gives `%y`."""
    return parse_module(
        f'"builtin.module"() ({{ "func.func"() <{{sym_name = "main", function_type = ({takes}) -> {gives}, '
        'arg_attrs = [{ml_program.identifier = "x"}], res_attrs = [{ml_program.identifier = "y"}]}> ({\n'
        f'^bb0(%x: {takes}):\n{body}\n"func.return"(%y) : ({gives}) -> () }}) : () -> () }}) : () -> ()')


def samples(shape: tuple[int, ...], dtype: Any = np.float32) -> list[dict[str, np.ndarray]]:
    numbers = np.random.default_rng(3)
    return [{"x": numbers.standard_normal(shape).astype(dtype)} for _ in range(3)]


@pytest.mark.parametrize(("element", "dtype"), [
    ("f32", np.float32), ("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f64", np.float64)])
def test_what_stays_float_keeps_its_type(element: str, dtype: Any) -> None:
    """Numbers of quantized tensors were given to ops on f16 or f64 as f32, and the module was not valid."""
    t = f"tensor<1x4x8x8x{element}>"
    module = function(t, t, f"""
        %w = "top.Weight"() <{{value = dense<0.25> : tensor<4x4x1x1x{element}>}}> : () -> tensor<4x4x1x1x{element}>
        %c = "top.Conv"(%x, %w) <{{kernel_shape = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
             layout = "NCHW"}}> : ({t}, tensor<4x4x1x1x{element}>) -> {t}
        %f = "top.Floor"(%c) : ({t}) -> {t}
        %y = "top.Sigmoid"(%f) : ({t}) -> {t}""")
    given = samples((1, 4, 8, 8), dtype)
    made = transload.quantize(module, "int8", given)
    verify(made)
    assert str(made.outputs["y"]) == t
    wanted, found = (transload.run(each, given[0])["y"].astype(np.float64) for each in (module, made))
    assert (np.abs(wanted - found) < 0.01).mean() > 0.9  # but for numbers beside a whole one


def test_a_tensor_joined_with_itself() -> None:
    """Its group was its own parent, for ever."""
    module = function("tensor<1x4xf32>", "tensor<1x8xf32>", """
        %r = "top.Sigmoid"(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
        %y = "top.Concat"(%r, %r) <{axis = 1 : i64}> : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x8xf32>""")
    given = samples((1, 4))
    made = transload.quantize(module, "int8", given)
    np.testing.assert_allclose(transload.run(made, given[0])["y"], transload.run(module, given[0])["y"], atol=0.01)


def test_a_model_of_integers_alone_stays_as_it_is() -> None:
    t = "tensor<2x3xi32>"
    module = function(t, t, f'%y = "top.Mul"(%x, %x) : ({t}, {t}) -> {t}')
    given = [{"x": np.arange(6, dtype=np.int32).reshape(2, 3)}] * 2
    made = transload.quantize(module, "int8", given)
    np.testing.assert_array_equal(transload.run(made, given[0])["y"], given[0]["x"] ** 2)


@pytest.mark.parametrize("table", ["Sigmoid", "Reciprocal", "Exp"])
def test_a_single_number_that_a_branch_looks_at(table: str) -> None:
    """On its grid it had a dimension, which what a branch makes of it has not."""
    module = function("tensor<1x4xf32>", "tensor<f32>", """
        %r = "top.Sigmoid"(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
        %s = "top.Reduce"(%r) <{axes = array<i64: 0, 1>, keepdims = false, mode = "ReduceMax"}> : (tensor<1x4xf32>) -> tensor<f32>
        %q = "top.{table}"(%s) : (tensor<f32>) -> tensor<f32>
        %z = "top.Weight"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
        %c = "top.Compare"(%q, %z) <{mode = "Greater"}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %y = "top.If"(%c) ({
            %n = "top.Neg"(%q) : (tensor<f32>) -> tensor<f32>
            "top.Yield"(%n) : (tensor<f32>) -> ()
        }, { "top.Yield"(%q) : (tensor<f32>) -> () }) : (tensor<i1>) -> tensor<f32>""".replace("{table}", table))
    given = samples((1, 4))
    made = transload.quantize(module, "int8", given)
    np.testing.assert_allclose(transload.run(made, given[0])["y"], transload.run(module, given[0])["y"], atol=0.02)


def test_floats_of_8_bits_and_of_other_widths_beside_each_other() -> None:
    """What was measured of f8, f16 and f32 was joined in one tensor; and f8 was made integers, which nothing computes."""
    small, half, single = "tensor<5xf8E4M3FN>", "tensor<5xf16>", "tensor<5xf32>"
    module = function(small, half, f"""
        %s = "top.Weight"() <{{value = dense<2.0> : tensor<f32>}}> : () -> tensor<f32>
        %f = "top.Cast"(%x) : ({small}) -> {single}
        %m = "top.Mul"(%f, %s) : ({single}, tensor<f32>) -> {single}
        %h = "top.Cast"(%m) : ({single}) -> {half}
        %y = "top.Sigmoid"(%h) : ({half}) -> {half}""")
    given = samples((5,), ml_dtypes.float8_e4m3fn)
    made = transload.quantize(module, "int8", given)
    verify(made)
    assert str(made.inputs["x"]) == small
    wanted, found = (transload.run(each, given[0])["y"].astype(np.float64) for each in (module, made))
    np.testing.assert_allclose(found, wanted, atol=0.02)


def test_integers_that_the_model_has_stay_what_they_are() -> None:
    """Quantized inputs whose stored integers are looked at were made floats before that."""
    kind, stored = "tensor<4x!quant.uniform<i16:f32, 0.5>>", "tensor<4xi16>"
    module = function(kind, "tensor<4xf32>", f"""
        %b = "top.Bitcast"(%x) : ({kind}) -> {stored}
        %f = "top.Cast"(%b) : ({stored}) -> tensor<4xf32>
        %y = "top.Sigmoid"(%f) : (tensor<4xf32>) -> tensor<4xf32>""")
    given = [{"x": np.array([-3, 0, 1, 2], np.int16)}] * 2
    made = transload.quantize(module, "int8", given)
    verify(made)
    np.testing.assert_allclose(transload.run(made, given[0])["y"], transload.run(module, given[0])["y"], atol=0.01)


def test_tensors_whose_sizes_the_data_say_stay_floats() -> None:
    module = function("tensor<4xf32>", "tensor<1x?xf32>", """
        %n = "top.NonZero"(%x) : (tensor<4xf32>) -> tensor<1x?xi64>
        %f = "top.Cast"(%n) : (tensor<1x?xi64>) -> tensor<1x?xf32>
        %y = "top.Sigmoid"(%f) : (tensor<1x?xf32>) -> tensor<1x?xf32>""")
    made = transload.quantize(module, "int8", samples((4,)))
    verify(made)
    assert str(made.outputs["y"]) == "tensor<1x?xf32>"


def test_a_product_of_f64_without_a_bias_that_stays_float() -> None:
    """It got a bias of f32."""
    t = "tensor<2x3xf64>"
    module = function(t, t, f"""
        %w = "top.Weight"() <{{value = dense<0.25> : tensor<3x3xf64>}}> : () -> tensor<3x3xf64>
        %m = "top.MatMul"(%x, %w) : ({t}, tensor<3x3xf64>) -> {t} loc("kept")
        %y = "top.Sigmoid"(%m) : ({t}) -> {t} loc("y")""")
    given = samples((2, 3), np.float64)
    made = transload.quantize(module, "int8", given, floats=["kept"])
    verify(made)
    np.testing.assert_allclose(transload.run(made, given[0])["y"], transload.run(module, given[0])["y"], atol=0.01)


@pytest.mark.parametrize("channels", [1, 2])
def test_a_transposed_convolution_in_groups(channels: int) -> None:
    """Its bias has a number for each channel, its weights a scale for each channel of a group."""
    dice = np.random.default_rng(0)
    g = Graph((1, 2, 4, 4))
    weights, bias = g.random(2, channels, 3, 3), g.random(2 * channels)
    module = g.done(g.Deconv(
        g.inputs[0], weights, bias, kernel_shape=(3, 3), strides=(1, 1), pads=(0,) * 4, group=2, layout="NCHW"))
    given = [{"x0": dice.standard_normal((1, 2, 4, 4)).astype(np.float32)} for _ in range(3)]
    made = transload.quantize(module, "int8", given)
    wanted = next(iter(transload.run(module, given[0]).values()))
    for to in ("top", "tosa", "stablehlo"):
        found = next(iter(transload.run(transload.lower(made, to), given[0]).values()))
        assert np.abs(wanted - found).max() < 0.03 * np.abs(wanted).max()


def test_a_constant_of_zeros_has_the_steps_of_what_is_made_of_it() -> None:
    """Zeros have no range, and a step of 1 beside a small one is what LiteRT's kernel of sums does not take."""
    graph = Graph((1, 4))
    zeros = graph.constant(np.zeros((3, 1, 4), np.float32))  # which makes more of what it is added to
    module = graph.done(graph.Relu(graph.Add(graph.MulConst(graph.inputs[0], const_val=1e-7), zeros)))
    made = transload.quantize(module, "int8", [{"x0": each["x"]} for each in samples((1, 4))])
    (added,) = (op for op in made.ops() if op.name == "top.Add")
    (constant,) = (value for value in added.operands if value.op is not None and value.op.name == "top.Weight")
    assert constant.quant is not None and added.results[0].quant is not None
    assert constant.quant.scale == pytest.approx(added.results[0].quant.scale)
    transload.lower(made, "tfl")


def test_a_constant_of_no_numbers_has_no_place_among_integers() -> None:
    module = function("tensor<4xf32>", "tensor<4xf32>", """
        %n = "top.Weight"() <{value = dense<[1.0, 0x7FC00000, 2.0, 3.0]> : tensor<4xf32>}> : () -> tensor<4xf32>
        %p = "top.Sigmoid"(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %m = "top.Min"(%p, %n) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %y = "top.Clip"(%m) <{min = 0.0 : f64, max = 0.5 : f64}> : (tensor<4xf32>) -> tensor<4xf32>""")
    with pytest.raises(UsageError, match=r"infinities, or what are no numbers|not finite"):
        transload.quantize(module, "int8", samples((4,)))


_KERNEL: dict[str, Any] = {"kernel_shape": (2, 2), "strides": (1, 1), "pads": (0, 0, 0, 0)}


@pytest.mark.parametrize("weights", ["constant", "computed"])
@pytest.mark.parametrize(("name", "shapes", "attributes"), [
    ("Conv", [(1, 4, 6, 6), (3, 4, 2, 2), (3,)], _KERNEL | {"do_relu": True}),
    ("Conv", [(1, 6, 6, 4), (3, 2, 2, 4), (3,)], _KERNEL | {"layout": "NHWC"}),
    ("Deconv", [(1, 4, 6, 6), (4, 3, 2, 2), (3,)], _KERNEL),
    ("MatMul", [(5, 7), (7, 4), (4,)], {}), ("MatMul", [(5, 7), (7, 4), (5, 1)], {"do_relu": True}),
], ids=["NCHW", "NHWC", "Deconv", "MatMul", "rows"])
def test_biases_that_are_computed_are_added_behind(weights: str, name: str, shapes: list[Any], attributes: Any) -> None:
    """A bias in the scale of the products has to be known: one that was computed stayed float, beside integers."""
    given, filters, biases = shapes
    graph = Graph(given, biases, *([filters] if weights == "computed" else []))
    right = graph.inputs[2] if weights == "computed" else graph.random(*filters)
    module = graph.done(graph.emit(name, graph.inputs[0], right, graph.inputs[1], **attributes))
    numbers = np.random.default_rng(7)
    samples = [{name: numbers.standard_normal(shape).astype(np.float32) for name, shape in zip(
        module.inputs, (given, biases, filters), strict=False)} for _ in range(64)]
    made = transload.quantize(module, "int8", samples)
    verify(made)
    ((_, wanted),), ((_, found),) = (transload.run(each, samples[0]).items() for each in (module, made))
    assert np.abs(wanted - found).max() < 0.03 * np.abs(wanted).max()
    assert all(op.result.quant is not None for op in made.body_of_main if op.name == f"top.{name}")


def test_what_a_model_makes_infinite_may_stay_float() -> None:
    """The hint said to look at the sample, which had no infinity, and nothing helped."""
    g = Graph((1, 8))
    powers = g.Relu(g.MatMul(g.inputs[0], g.random(8, 8), g.random(8)))
    module = g.done(g.MatMul(g.Exp(g.Log(powers, location="logs")), g.random(8, 4)))
    given = [{"x0": np.random.default_rng(seed).normal(size=(1, 8)).astype(np.float32)} for seed in range(4)]
    with pytest.raises(UsageError, match="'logs' in sample") as refused:
        transload.quantize(module, "int8", given)
    assert "--floats logs" in str(refused.value.hint)
    made = transload.quantize(module, "int8", given, floats="logs")
    wanted, found = (np.stack([transload.run(each, sample)["y0"] for sample in given]) for each in (module, made))
    assert sqnr(wanted, found) > 30.0
    assert any(value.quant is not None for op in made.ops() for value in op.results)


@pytest.mark.parametrize("op", ["Conv", "Deconv"])
def test_computed_weights_beside_16_bits_have_8(op: str) -> None:
    """Convolutions of 16 by 16 bits nobody has: TOSA computed them with floats, and a chip with integers."""
    graph = Graph((1, 4, 8, 8), (4, 4, 3, 3))
    module = graph.done(graph.emit(op, *graph.inputs, kernel_shape=(3, 3)))
    numbers = np.random.default_rng(4)
    given = [{name: numbers.standard_normal(type_.static_shape).astype(np.float32)
              for name, type_ in module.inputs.items()} for _ in range(3)]
    quantized = transload.quantize(module, "int16x8", given)
    (made,) = [each for each in quantized.ops() if each.name == f"top.{op}"]
    assert [value.quant.storage.width for value in made.operands[:2]] == [16, 8]
    there, here = (next(iter(transload.run(each, given[0], engine="reference").values()))
                   for each in (quantized, transload.lower(quantized, "tosa")))
    assert np.array_equal(there, here)
    assert not any(each.name == "tosa.conv2d" and each.operands[0].is_float for each in transload.lower(quantized, "tosa").ops())
    assert sqnr(next(iter(transload.run(module, given[0]).values())), there) > 28


@pytest.mark.parametrize("scheme", ["f16", "bf16"])
def test_the_bits_of_a_float_stay_as_many(scheme: str) -> None:
    module = function("tensor<8xf32>", "tensor<8xf32>", """
        %i = "top.Bitcast"(%x) : (tensor<8xf32>) -> tensor<8xi32>
        %b = "top.Bitcast"(%i) : (tensor<8xi32>) -> tensor<8xf32>
        %y = "top.Abs"(%b) : (tensor<8xf32>) -> tensor<8xf32>""")
    made = transload.quantize(module, scheme, None)
    (given,) = samples((8,))[:1]
    assert sqnr(np.abs(given["x"]), next(iter(transload.run(made, given).values())).astype(np.float32)) > 45


@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
def test_squared_differences_are_integers_wherever_they_go(scheme: str) -> None:
    """Of 16 bits TOSA computed them with floats, so that no chip of integers took a layer normalization of such."""
    graph = Graph((1, 16, 8), (1, 16, 1))
    module = graph.done(graph.SquaredDifference(*graph.inputs))
    numbers = np.random.default_rng(5)
    given = [{name: numbers.standard_normal(type_.static_shape).astype(np.float32)
              for name, type_ in module.inputs.items()} for _ in range(4)]
    quantized = transload.quantize(module, scheme, given, quant_input="all", quant_output="all")
    tosa = transload.lower(quantized, "tosa")
    assert not any(value.is_float for op in tosa.ops() for value in op.results)
    stored = transload.run(transload.quantize(module, scheme, given), given[0], engine="reference")
    wanted, found = (next(iter(each.values())) for each in (transload.run(module, given[0]), stored))
    assert sqnr(wanted, found) > (30 if scheme == "int8" else 65)


@pytest.mark.parametrize("scheme", ["int8", "int8-sym", "int16x8"])
def test_a_softmax_that_is_joined_with_others_is_one_of_integers(scheme: str) -> None:
    """It has the type of what it is joined with behind it: kernels give one type alone, and TOSA computed another with floats."""
    graph = Graph((1, 4, 4, 8))
    (x,) = graph.inputs
    module = graph.done(graph.Concat(graph.Softmax(x, axis=3), graph.Mul(x, x), axis=3))
    numbers = np.random.default_rng(6)
    given = [{"x0": 2 * numbers.standard_normal((1, 4, 4, 8)).astype(np.float32)} for _ in range(4)]
    quantized = transload.quantize(module, scheme, given, quant_input="all", quant_output="all")
    assert not any(value.is_float for op in transload.lower(quantized, "tosa").ops() for value in op.results)

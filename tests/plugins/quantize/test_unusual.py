"""Models that quantizers rarely see: other floats than f32, no floats, a tensor joined with itself, a number in a branch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.ir import Module, verify
from transload.text import parse_module


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

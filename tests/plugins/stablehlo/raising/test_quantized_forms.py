"""Programs of StableHLO that say in floats what they quantize become integers: by its own operations, and by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.ir import Module

CONV = """"stablehlo.convolution"(%x, %w) {window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>,
    dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64,
    batch_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32>"""
BIAS = """
    %b = stablehlo.constant dense<[0.1,-0.2,0.3,0.4]> : tensor<4xf32>
    %bb = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<4xf32>) -> tensor<1x8x8x4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<1x8x8x4xf32>
    %added = stablehlo.add %conv, %bb : tensor<1x8x8x4xf32>
    %cut = stablehlo.maximum %added, %zero : tensor<1x8x8x4xf32>"""
FILTER = "dense<[[[[0.1,-0.2,0.3,0.4],[0.5,0.6,-0.7,0.8],[0.9,0.35,0.11,-1.12]]]]> : tensor<1x1x3x4xf32>"
WEIGHTS = "tensor<1x1x3x4x!quant.uniform<i8<-127:127>:f32:3, {0.0101,0.0203,0.0307,0.0409}>>"
INPUT = "tensor<1x8x8x3x!quant.uniform<u8:f32, 0.0211:127>>"
RESULT = "tensor<1x8x8x4x!quant.uniform<u8:f32, 0.0137:0>>"


def by_operations(weights: str) -> str:
    return f"""func.func @main(%arg: tensor<1x8x8x3xf32>) -> tensor<1x8x8x4xf32> {{
    {weights}
    %w = stablehlo.uniform_dequantize %wq : ({WEIGHTS}) -> tensor<1x1x3x4xf32>
    %q = stablehlo.uniform_quantize %arg : (tensor<1x8x8x3xf32>) -> {INPUT}
    %x = stablehlo.uniform_dequantize %q : ({INPUT}) -> tensor<1x8x8x3xf32>
    %conv = {CONV} {BIAS}
    %o = stablehlo.uniform_quantize %cut : (tensor<1x8x8x4xf32>) -> {RESULT}
    %r = stablehlo.uniform_dequantize %o : ({RESULT}) -> tensor<1x8x8x4xf32>
    return %r : tensor<1x8x8x4xf32>
}}"""


def splat(name: str, number: str, shape: str) -> str:
    return f"    %{name} = stablehlo.constant dense<{number}> : tensor<{shape}>\n"


def rounded(name: str, source: str, shape: str, scale: float, point: int, *, divides: bool, in_integers: bool) -> str:
    """Quantized to i8 and dequantized by arithmetic, as torch's decompositions, or networks in JAX, write it."""
    reals, whole, wide = (f"{shape}x{element}" for element in ("f32", "i8", "i32"))
    n = name
    text = splat(f"{n}f", repr(scale if divides else float(np.float32(1 / scale))), reals)
    text += splat(f"{n}z", f"{point}.0", reals) + splat(f"{n}l", "-128.0", reals) + splat(f"{n}h", "127.0", reals)
    text += splat(f"{n}s", repr(scale), reals) + splat(f"{n}i", str(point), wide)
    text += f"""    %{n}0 = stablehlo.{"divide" if divides else "multiply"} %{source}, %{n}f : tensor<{reals}>
    %{n}1 = stablehlo.round_nearest_even %{n}0 : tensor<{reals}>
    %{n}2 = stablehlo.add %{n}1, %{n}z : tensor<{reals}>
    %{n}3 = stablehlo.clamp %{n}l, %{n}2, %{n}h : tensor<{reals}>
    %{n}4 = stablehlo.convert %{n}3 : (tensor<{reals}>) -> tensor<{whole}>\n"""
    if in_integers:
        text += f"""    %{n}5 = stablehlo.convert %{n}4 : (tensor<{whole}>) -> tensor<{wide}>
    %{n}6 = stablehlo.subtract %{n}5, %{n}i : tensor<{wide}>
    %{n}7 = stablehlo.convert %{n}6 : (tensor<{wide}>) -> tensor<{reals}>\n"""
    else:
        text += f"""    %{n}5 = stablehlo.convert %{n}4 : (tensor<{whole}>) -> tensor<{reals}>
    %{n}7 = stablehlo.subtract %{n}5, %{n}z : tensor<{reals}>\n"""
    return text + f"    %{n} = stablehlo.multiply %{n}7, %{n}s : tensor<{reals}>\n"


def by_arithmetic(divides: bool, in_integers: bool) -> str:
    how = {"divides": divides, "in_integers": in_integers}
    return f"""func.func @main(%arg: tensor<1x8x8x3xf32>) -> tensor<1x8x8x4xf32> {{
    %k = stablehlo.constant dense<"0x010203040506070809FF0B0CB07F8144"> : tensor<1x1x4x4xi8>
    %n = stablehlo.slice %k [0:1, 0:1, 1:4, 0:4] : (tensor<1x1x4x4xi8>) -> tensor<1x1x3x4xi8>
    %f = stablehlo.convert %n : (tensor<1x1x3x4xi8>) -> tensor<1x1x3x4xf32>
    %t = stablehlo.constant dense<[0.011,0.0023,0.0031,0.0047]> : tensor<4xf32>
    %u = stablehlo.broadcast_in_dim %t, dims = [3] : (tensor<4xf32>) -> tensor<1x1x3x4xf32>
    %w = stablehlo.multiply %f, %u : tensor<1x1x3x4xf32>
{rounded("x", "arg", "1x8x8x3", 0.0211, 3, **how)}
    %conv = {CONV} {BIAS}
{rounded("r", "cut", "1x8x8x4", 0.0137, -128, **how)}
    return %r : tensor<1x8x8x4xf32>
}}"""


def read(text: str) -> Module:
    return transload.load(text=f"module {{\n{text}\n}}", format="stablehlo")


def samples() -> list[np.ndarray]:
    return [np.random.default_rng(seed).normal(0, 1, (1, 8, 8, 3)).astype(np.float32) for seed in range(4)]


def checked(program: Module) -> Module:
    """The module of the hub, in which nothing computes with floats and whose results are the program's."""
    hub = at_hub(program)
    floats = [op.name for op in hub.ops() if op.results and op.results[0].is_float and op.name != "top.Weight"]
    assert floats == ["top.Cast"]
    for x in samples():
        (wanted,), (found,) = (transload.run(module, {next(iter(module.inputs)): x}, engine="reference").values()
                               for module in (program, hub))
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
        assert np.unique(wanted).size > 30
    return hub


@pytest.mark.parametrize("weights", [
    f"%k = stablehlo.constant {FILTER}\n %wq = stablehlo.uniform_quantize %k : (tensor<1x1x3x4xf32>) -> {WEIGHTS}",
    '%k = stablehlo.constant dense<"0x010203040506070809FF0B0C"> : tensor<1x1x3x4xi8>\n'
    f" %wq = stablehlo.bitcast_convert %k : (tensor<1x1x3x4xi8>) -> {WEIGHTS}"], ids=["of floats", "of integers"])
def test_uniform_quantize_and_dequantize(weights: str) -> None:
    hub = checked(read(by_operations(weights)))
    (conv,) = (op for op in hub.ops() if op.name == "top.Conv")
    np.testing.assert_allclose(conv.filter.quant.scale_array, [0.0101, 0.0203, 0.0307, 0.0409])
    assert str(conv.bias.element.storage) == "i32" and conv.attributes["rounding"] == "once"


@pytest.mark.parametrize("divides", [False, True])
@pytest.mark.parametrize("in_integers", [False, True])
def test_arithmetic(divides: bool, in_integers: bool) -> None:
    hub = checked(read(by_arithmetic(divides, in_integers)))
    (conv,) = (op for op in hub.ops() if op.name == "top.Conv")
    assert (conv.input.quant.scale, conv.input.quant.zero_point) == (float(np.float32(0.0211)), 3)
    np.testing.assert_allclose(conv.filter.quant.scale_array / np.float32([0.011, 0.0023, 0.0031, 0.0047]) % 1, 0, atol=1e-5)


def test_integers_that_are_computed_with_stay_so() -> None:
    """Rounded to i8 and multiplied as such, or bytes that are scaled: no quantizing and dequantizing of one tensor."""
    text = """func.func @main(%arg: tensor<4xf32>, %bytes: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xf32>) {
    %s = stablehlo.constant dense<0.5> : tensor<4xf32>
    %0 = stablehlo.divide %arg, %s : tensor<4xf32>
    %1 = stablehlo.round_nearest_even %0 : tensor<4xf32>
    %l = stablehlo.constant dense<-128.0> : tensor<4xf32>
    %h = stablehlo.constant dense<127.0> : tensor<4xf32>
    %2 = stablehlo.clamp %l, %1, %h : tensor<4xf32>
    %3 = stablehlo.convert %2 : (tensor<4xf32>) -> tensor<4xi8>
    %4 = stablehlo.multiply %3, %3 : tensor<4xi8>
    %5 = stablehlo.convert %bytes : (tensor<4xui8>) -> tensor<4xf32>
    %6 = stablehlo.multiply %5, %s : tensor<4xf32>
    return %4, %6 : tensor<4xi8>, tensor<4xf32>
}"""
    hub = at_hub(read(text))
    assert not any(result.quant is not None for op in hub.ops() for result in op.results)


@pytest.mark.parametrize(("type_", "shape"), [
    ("i8:f32, 0.5:3", "16"), ("i8:f32, 0.5:4", "16"), ("u8:f32, 0.5:129", "16"), ("i8<-127:127>:f32, 0.5:-3", "16"),
    ("i16:f32, 0.5:7", "16"), ("i8:f32:1, {0.5:3,0.25:4}", "8x2")])
def test_halves_are_quantized_to_even_stored_numbers(type_: str, shape: str) -> None:
    """The zero point is added before: `round_nearest_even(x / scale + zero_point)`, which an odd one makes another number."""
    quantized = f"tensor<{shape}x!quant.uniform<{type_}>>"
    module = transload.load(format="stablehlo", text=f"""func.func @main(%x: tensor<{shape}xf32>) -> {quantized} {{
    %0 = stablehlo.uniform_quantize %x : (tensor<{shape}xf32>) -> {quantized}
    return %0 : {quantized}
}}""")
    halves = np.array([-1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75, 2.25, -0.375, 0.125, 0.2, 0.3, 1e9, -1e9, np.inf, -np.inf])
    x = halves.astype(np.float32).reshape([int(size) for size in shape.split("x")])
    (wanted,) = transload.run(module, {"arg0": x}).values()
    scale = np.array([0.5, 0.25] if "{" in type_ else 0.5)
    point = np.array([3, 4]) if "{" in type_ else int(type_.rpartition(":")[2])
    low = -127 if "<" in type_ else np.iinfo(wanted.dtype).min
    np.testing.assert_array_equal(wanted, np.clip(np.rint(x / scale + point), low, np.iinfo(wanted.dtype).max))
    hub = transload.legalize(module)
    for form in (hub, transload.lower(hub, "tosa"), transload.lower(hub, "onnx"), transload.lower(hub, "stablehlo")):
        (made,) = transload.run(form, {next(iter(form.inputs)): x}).values()
        np.testing.assert_array_equal(made.view(wanted.dtype), wanted)

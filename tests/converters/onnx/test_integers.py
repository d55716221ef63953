"""Integers in ONNX: as exact as elsewhere, wrapping round in the type that they have. The judge is onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import TensorType, element_type_of
from transload.text import parse_module

pytest.importorskip("onnxruntime")

from transload_converters.onnx.writer import model_of

from tests.support.graphs import Graph
from tests.support.hub_text import one_op, tensor
from tests.support.onnx_out.roundtrip import run_model

WIDTHS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
SUMS = [(of, to) for of in WIDTHS for to in WIDTHS if of[0] == to[0] and int(of.strip("ui")) <= int(to.strip("ui"))]


def dtype_named(element: str) -> np.dtype[Any]:
    return np.dtype(element.replace("i", "int"))


def anywhere(element: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of an integer type, from the least to the greatest."""
    ends = np.iinfo(dtype_named(element))
    return np.random.default_rng(seed).integers(ends.min, ends.max, shape, dtype=ends.dtype, endpoint=True)


def outcome(op: str, attributes: str, arrays: dict[str, np.ndarray], result: str) -> np.ndarray:
    """What onnxruntime computes of one op of the hub."""
    types = {name: tensor(array.shape, array.dtype.name.replace("int", "i")) for name, array in arrays.items()}
    (found,) = run_model(model_of(transload.lower(one_op(op, attributes, types, result), "onnx")), arrays)
    return found


@pytest.mark.parametrize(("of", "to"), SUMS)
def test_products_of_any_integers(of: str, to: str) -> None:
    """MatMulInteger takes 8 bits and gives i32: others were refused."""
    a, b, target = anywhere(of, 2, 3, 4), anywhere(of, 2, 5, 4, seed=1), dtype_named(to)
    found = outcome("top.MatMul", "right_transpose = true", {"a": a, "b": b}, tensor((2, 3, 5), to))
    np.testing.assert_array_equal(found, a.astype(target) @ b.astype(target).swapaxes(1, 2), strict=True)


@pytest.mark.parametrize(("of", "to"), SUMS)
def test_convolutions_of_any_integers(of: str, to: str) -> None:
    """In two groups, with strides, dilations, padding to one side, and a bias; by numpy's windows."""
    x, w, bias, target = anywhere(of, 2, 4, 5, 6), anywhere(of, 6, 2, 3, 2, seed=1), anywhere(to, 6, seed=2), dtype_named(to)
    found = outcome(
        "top.Conv", "kernel_shape = array<i64: 3, 2>, strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 2>, "
        "dilations = array<i64: 1, 3>, group = 2 : i64", {"x": x, "w": w, "b": bias}, tensor((2, 6, 3, 5), to))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 2))).astype(target).reshape(2, 2, 2, 7, 8)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 4), (3, 4))[:, :, :, ::2, :, :, ::3]
    wanted = np.einsum("ngchwij,gocij->ngohw", windows, w.astype(target).reshape(2, 3, 2, 3, 2)).reshape(2, 6, 3, 5)
    np.testing.assert_array_equal(found, wanted + bias[:, None, None], strict=True)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("of", "to", "zero", "taken", "is_one"), [
    ("i8", "i32", (), (), True), ("ui8", "i32", (1, 1, 1, 1), (1,), True), ("i8", "i32", (1,), None, True),
    ("ui8", "i16", (), (), True), ("ui8", "ui16", None, None, True), ("i8", "i32", None, (1, 1), True),
    ("i8", "ui16", None, None, False),  # negative numbers are others there
    ("i8", "i8", (), None, True), ("ui8", "ui8", None, (), True), ("ui8", "ui16", (), None, False),  # differences that wrap round
    ("i8", "i32", (2, 1, 1), None, False), ("i8", "i32", (1, 2, 4, 4), None, False),  # by channels, and by elements
    ("i8", "i32", None, (2, 1, 1), False), ("i8", "i32", None, (1, 2, 1, 1), False), ("i8", "i32", None, (2,), False),
    ("i8", "i32", None, (2, 1, 1, 1), False), ("ui8", "i32", (), (2, 1, 1, 1), False)])  # by outputs: ONNX's, not onnxruntime's
def test_zero_points_of_convolutions(
    of: str, to: str, zero: tuple[int, ...] | None, taken: tuple[int, ...] | None, is_one: bool, is_known: bool,
) -> None:
    """ConvInteger takes bytes, and one zero point of each tensor: all else is a Sub, as onnxruntime has no other kernel."""
    shapes = {"x": (1, 2, 4, 4), "w": (2, 2, 2, 2), "xz": zero, "wz": taken}
    arrays = {name: anywhere(of, *shape, seed=len(name)) for name, shape in shapes.items() if shape is not None}
    inputs = {name: array for name, array in arrays.items() if not is_known or name in "xw"}
    graph = Graph(*(TensorType(array.shape, element_type_of(array.dtype)) for array in inputs.values()))
    values = dict(zip(inputs, graph.inputs, strict=True))
    values |= {name: graph.constant(array) for name, array in arrays.items() if name not in values}
    element, sums = (element_type_of(dtype_named(each)) for each in (to, "i32"))
    wide = {name: graph.Cast(values[name], types=[TensorType(array.shape, element)]) for name, array in arrays.items()}
    x, w = (graph.Sub(wide[name], wide[f"{name}z"]) if f"{name}z" in wide else wide[name] for name in "xw")
    module = graph.done(graph.Conv(x, w, kernel_shape=(2, 2), pads=(1, 0, 0, 1), types=[TensorType((1, 2, 4, 4), sums)]))
    named = {f"x{place}": array for place, array in enumerate(inputs.values())}
    model = model_of(transload.lower(module, "onnx"))
    assert is_one == ("ConvInteger" in {node.op_type for node in model.graph.node})
    np.testing.assert_array_equal(run_model(model, named)[0], transload.run(module, named)["y0"], strict=True)


def raised(base: int, exponent: int) -> int:
    """A power modulo 2^64; of negative exponents those of 1 and -1, and 0 of others."""
    if exponent >= 0:
        return pow(base, exponent, 1 << 64)
    return base ** (exponent & 1) % (1 << 64) if abs(base) == 1 else 0


def powers(of: str, by: str) -> tuple[np.ndarray, np.ndarray]:
    """Bases in rows, exponents in columns."""
    base, exponent = dtype_named(of), dtype_named(by)
    ends, most = np.iinfo(base), np.iinfo(exponent)
    bases = [ends.min, ends.max, 0, 1, 2, 3, 7, *((-1, -3) if base.kind == "i" else ())]
    exponents = [0, 1, 2, 5, 25, 35, 63, 64, most.max, *((-1, -2, most.min) if exponent.kind == "i" else ())]
    return np.array(bases, base)[:, None], np.array(exponents, exponent)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("of", "by"), [(of, of) for of in WIDTHS] + [("i64", "i8"), ("i8", "i32"), ("ui16", "ui64")])
def test_powers_of_integers_wrap_round(of: str, by: str, is_known: bool) -> None:
    """onnxruntime's Pow goes by way of f64, which holds 53 bits, and saturates."""
    base, exponent = powers(of, by)
    t, u = tensor(base.shape, of), tensor(exponent.shape, by)
    r = tensor((base.size, exponent.size), of)
    held = f'%b = "top.Weight"() <{{value = dense<{exponent.tolist()}> : {u}}}> : () -> {u}'
    module = parse_module(f"""
        "func.func"() ({{
        ^bb0(%a: {t} loc("a"){"" if is_known else f', %b: {u} loc("b")'}):
          {held if is_known else ""}
          %c = "top.Pow"(%a, %b) : ({t}, {u}) -> {r} loc("c")
          "func.return"(%c) : ({r}) -> ()
        }}) {{function_type = ({t}{"" if is_known else f", {u}"}) -> {r}, sym_name = "main"}} : () -> ()""")
    (found,) = run_model(model_of(transload.lower(module, "onnx")), {"a": base, "b": exponent})
    wanted = np.array([[raised(int(x), int(by)) for by in exponent] for x in base[:, 0]], np.uint64).astype(base.dtype)
    np.testing.assert_array_equal(found, wanted, strict=True)


REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare")
BINARY = (
    "Add", "Sub", "Mul", "Div", "FloorDiv", "FloorMod", "TruncMod", "Max", "Min", "SquaredDifference", "BitwiseAnd", "BitwiseXor")
UNARY = ("Abs", "Neg", "Sign", "Square", "BitwiseNot", "Relu", "Floor")


def of_one_type(element: str) -> Iterator[tuple[str, str, dict[str, np.ndarray], str]]:
    """Ops of integers: name, attributes, operands, the type of the result."""
    a, b = anywhere(element, 4, 6), np.maximum(anywhere(element, 4, 6, seed=1), 1)
    t = tensor(a.shape, element)
    yield from ((name, "", {"a": a}, t) for name in UNARY)
    yield from ((name, "", {"a": a, "b": b}, t) for name in BINARY)
    yield from (("Compare", f'mode = "{mode}"', {"a": a, "b": b}, tensor(a.shape, "i1"))
                for mode in ("Equal", "Less", "GreaterOrEqual"))
    yield from (("Reduce", f'mode = "{mode}", axes = array<i64: 1>, keepdims = true', {"a": a}, tensor((4, 1), element))
                for mode in REDUCTIONS)
    yield "Reduce", 'mode = "ReduceSum", axes = array<i64: 0, 1>, keepdims = false', {"a": a}, f"tensor<{element}>"
    yield from (("Arg", f'mode = "{mode}", axis = 1 : i64, keepdims = true', {"a": a}, tensor((4, 1), "i64"))
                for mode in ("ArgMax", "ArgMin"))
    yield "Where", "", {"c": a % 3 == 0, "a": a, "b": b}, t
    yield "CumSum", "axis = 1 : i64, reverse = true", {"a": a}, t
    yield "Clip", "min = 2.0 : f64, max = 100.0 : f64", {"a": a}, t
    yield "Einsum", 'equation = "ij,kj->ik"', {"a": a, "b": b}, tensor((4, 4), element)
    yield "Trilu", "upper = true", {"a": a}, t
    yield "Pad", 'paddings = array<i64: 1, 1, 0, 2>, mode = "constant", val = 3.0 : f64', {"a": a}, tensor((5, 9), element)
    yield from (("Cast", "", {"a": a}, tensor(a.shape, to)) for to in WIDTHS)


@pytest.mark.parametrize("element", WIDTHS)
def test_integers_of_any_size_are_exact(element: str) -> None:
    """As in the reference engine: onnxruntime sums in f64, and has no kernels of some types, for which models were written."""
    wrong = []
    for name, attributes, arrays, result in of_one_type(element):
        types = {key: tensor(array.shape, "i1" if array.dtype == bool else array.dtype.name.replace("int", "i"))
                 for key, array in arrays.items()}
        module = one_op(f"top.{name}", attributes, types, result)
        (found,) = run_model(model_of(transload.lower(module, "onnx")), arrays)
        wanted = transload.run(module, arrays, engine="reference")["r"]
        if found.dtype != wanted.dtype or not np.array_equal(found, wanted):
            wrong.append((name, attributes))
    assert not wrong


@pytest.mark.parametrize("element", ["i64", "ui64"])
def test_sums_of_64_bits_keep_all_digits(element: str) -> None:
    """By numpy: 2^53 and three ones."""
    x = np.array([[2**53, 1, 1, 1], [2**62, 2**62, 2**62, 5]], dtype_named(element))
    found = outcome("top.Reduce", 'mode = "ReduceSum", axes = array<i64: 1>, keepdims = false', {"x": x}, tensor((2,), element))
    np.testing.assert_array_equal(found, x.sum(1), strict=True)


@pytest.mark.parametrize(("largest", "order"), [("true", [3, 1]), ("false", [0, 2])])
def test_the_greatest_of_unsigned_numbers(largest: str, order: list[int]) -> None:
    """onnxruntime has no TopK of them."""
    x = np.array([3, 1 << 63, 5, (1 << 64) - 1], np.uint64)
    module = parse_module(f"""
        "func.func"() ({{
        ^bb0(%a: tensor<4xui64> loc("a")):
          %v, %i = "top.TopK"(%a) {{axis = 0 : i64, k = 2 : i64, largest = {largest}}} : (tensor<4xui64>)
              -> (tensor<2xui64>, tensor<2xi64>)
          "func.return"(%v, %i) : (tensor<2xui64>, tensor<2xi64>) -> ()
        }}) {{function_type = (tensor<4xui64>) -> (tensor<2xui64>, tensor<2xi64>), sym_name = "main"}} : () -> ()""")
    values, places = run_model(model_of(transload.lower(module, "onnx")), {"a": x})
    assert places.tolist() == order and values.tolist() == x[order].tolist()


def test_what_runtimes_cannot_compute_is_refused() -> None:
    """A model was written that onnxruntime does not load."""
    module = one_op("top.Interp", 'mode = "nearest", sizes = array<i64: 4, 4>', {"x": tensor((1, 1, 2, 2), "i64")},
                    tensor((1, 1, 4, 4), "i64"))
    with pytest.raises(ConversionError, match="onnxruntime has no kernel of Resize for i64"):
        transload.lower(module, "onnx")


@pytest.mark.parametrize("saturate", ["false", "true"])
@pytest.mark.parametrize("of", ["f16", "f32", "f64"])
@pytest.mark.parametrize("to", ["i4", "ui4"])
def test_floats_become_integers_of_4_bits_without_their_fractions(of: str, to: str, saturate: str) -> None:
    """onnxruntime's Cast rounds them, and that of ONNX's reference, as the hub's, cuts them off."""
    x = np.array([0.2, 0.5, 1.5, 2.5, 6.7, 7.9, 8, 15.9, 16, 21, -0.6, -1.5, -8.9, -20, 6e4, np.inf, -np.inf, np.nan])
    x = x.astype(of.replace("f", "float"))
    given, few, wide = (tensor(x.shape, element) for element in (of, to, "i32"))
    module = parse_module(f"""
        "func.func"() ({{
        ^bb0(%x: {given} loc("x")):
          %few = "top.Cast"(%x) {{saturate = {saturate}}} : ({given}) -> {few} loc("few")
          %y = "top.Cast"(%few) : ({few}) -> {wide} loc("y")
          "func.return"(%y) : ({wide}) -> ()
        }}) {{function_type = ({given}) -> {wide}, sym_name = "main"}} : () -> ()""")
    wanted = transload.run(module, {"x": x})["y"]
    (found,) = run_model(model_of(transload.lower(module, "onnx")), {"x": x})
    np.testing.assert_array_equal(found, wanted, strict=True)

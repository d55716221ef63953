"""Integers in ONNX: as exact as elsewhere, wrapping round in the type that they have. The judge is onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.text import parse_module

pytest.importorskip("onnxruntime")

from transload_converters.onnx.writer import model_of

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

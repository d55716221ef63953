"""Fully connected layers and batched products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload

from tests.support.hub_text import one_op, tensor
from tests.support.tosa_reference import run_module

RNG = np.random.default_rng(2)


def q(scale: Any, zero_point: int = 0, axis: int | None = None) -> tuple[Any, ...]:
    scales = [scale] if isinstance(scale, float) else list(scale)
    return (scales, [zero_point] * len(scales)) + (() if axis is None else (axis,))


SPREAD = np.linspace(0.002, 0.008, 40).tolist()
LAYERS = {
    "int8": ("int8", "int8", "int32", q(0.05, 3), q(0.005), q(0.09, -4)),
    "int8 per row": ("int8", "int8", "int32", q(0.05, 3), q(SPREAD, 0, 0), q(0.09, -4)),
    "int8 powers of two": ("int8", "int8", "int32", q(2.0**-4, 3), q(2.0**-7), q(2.0**-4, -4)),
    "int8 asymmetric weights": ("int8", "int8", "int32", q(0.05, 3), q(0.005, 17), q(0.09, -4)),
    "int8 int4 weights": ("int8", "int4", "int32", q(0.05, 3), q(SPREAD, 0, 0), q(0.02, -4)),
    "uint8": ("uint8", "uint8", "int32", q(0.05, 130), q(0.005, 117), q(0.09, 120)),
    "int16": ("int16", "int8", "int64", q(0.0005), q(SPREAD, 0, 0), q(0.0009)),
    "int16 32-bit sums": ("int16", "int8", "int32", q(0.0005), q(0.005), q(0.0009)),
    "float": ("float32", "float32", "float32", None, None, None),
}


def layer(kind: str, rows: int, inner: int, outputs: int, with_bias: bool) -> tuple[list, list, dict[str, Any]]:
    dtype, weight_dtype, bias_dtype, x_type, w_type, out_type = LAYERS[kind]
    if x_type is None:
        weights, bias = RNG.normal(size=(outputs, inner)).astype(np.float32), RNG.normal(size=outputs).astype(np.float32)
        bias_type = None
    else:
        low, high = {"int4": (-7, 7), "uint8": (0, 255)}.get(weight_dtype, (-127, 127))
        weights = RNG.integers(low, high, (outputs, inner), endpoint=True).astype("uint8" if weight_dtype == "uint8" else "int8")
        bias = RNG.integers(-3000, 3000, outputs).astype(bias_dtype)
        bias_type = q([x_type[0][0] * s for s in w_type[0]], 0, 0 if len(w_type[0]) > 1 else None)
    inputs: list[Any] = [((rows, inner), dtype, x_type), ((outputs, inner), weight_dtype, w_type, weights)]
    inputs.append(((outputs,), bias_dtype, bias_type, bias) if with_bias else None)
    more = {"quantized_bias_type": bias_dtype.upper()} if dtype == "int16" and with_bias else {}
    return inputs, [((rows, outputs), dtype, out_type)], more


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("kind", LAYERS)
def test_fully_connected(judge: Callable, kind: str, with_bias: bool) -> None:
    inputs, outputs, more = layer(kind, 200, 64, 40, with_bias)
    judge("FULLY_CONNECTED", inputs, outputs, {"fused_activation_function": "RELU6" if with_bias else "NONE", **more}, version=6)


def test_fully_connected_of_more_than_32_bits(judge: Callable) -> None:
    """Sums that may take 35 bits are shifted first; a result on the edge may move by one."""
    inputs, outputs, more = layer("int16", 50, 1400, 40, True)
    judge("FULLY_CONNECTED", inputs, [(*outputs[0][:2], q(0.02))], more, version=6, steps=1)


PRODUCTS = {
    "int8": (q(0.05, 3), q(0.04, -7), q(0.9, -4)), "int16": (q(0.0005), q(0.0004), q(0.009)), "float32": (None, None, None)}


@pytest.mark.parametrize("dtype", PRODUCTS)
@pytest.mark.parametrize(("a", "b", "swap_a", "swap_b"), [
    ((3, 50, 20), (3, 20, 30), False, False),
    ((2, 3, 20, 50), (3, 20, 30), True, False),
    ((2, 1, 50, 20), (2, 4, 30, 20), False, True),
    ((3, 50, 20), (20, 30), False, False),
])
def test_batched_product(judge: Callable, dtype: str, a: Any, b: Any, swap_a: bool, swap_b: bool) -> None:
    x_type, y_type, out_type = PRODUCTS[dtype]
    rows, columns = a[-1 if swap_a else -2], b[-2 if swap_b else -1]
    made = (*np.broadcast_shapes(a[:-2], b[:-2]), rows, columns)
    judge("BATCH_MATMUL", [(a, dtype, x_type), (b, dtype, y_type)], [(made, dtype, out_type)], {"adj_x": swap_a, "adj_y": swap_b},
          version=3)


def f(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("a", "b", "bias", "constant", "attributes"), [
    ((5,), (5, 7), (), False, {}),
    ((5,), (5,), (), False, {}),
    ((2, 3, 5), (5,), (), False, {}),
    ((2, 3, 5), (5, 7), (7,), True, {}),
    ((2, 3, 5), (7, 5), (1,), True, {"right_transpose": True}),
    ((3, 5), (5, 7), (3, 7), True, {}),
    ((4, 1, 3, 5), (2, 5, 7), (7,), False, {}),
    ((2, 5, 3), (2, 7, 5), (2, 1, 7), False, {"left_transpose": True, "right_transpose": True}),
    ((2, 3, 5), (2, 5, 7), (), False, {"do_relu": True, "relu_limit": 1.0}),
])
def test_ranks(lowered: Callable, a: Any, b: Any, bias: Any, constant: bool, attributes: dict[str, Any]) -> None:
    right, addend = f(*b), f(*bias) if bias else None

    def make(rw: Any, x: Any, y: Any = None) -> Any:
        y = rw.constant(right) if y is None else y
        return rw.emit("top.MatMul", x, y, None if addend is None else rw.constant(addend), **attributes)

    lowered(make, f(*a), *([] if constant else [right]))


def test_weights_only_quantized(lowered: Callable) -> None:
    from transload.ir import F32, I8, QuantType

    weights = RNG.integers(-127, 127, (7, 5)).astype(np.int8)
    element = QuantType(I8, F32, (0.02,), (3,))
    lowered(lambda rw, x: rw.emit(
        "top.MatMul", x, rw.emit("top.Cast", rw.constant(weights, element), element=F32), right_transpose=True), f(4, 5))


@pytest.mark.parametrize("inner", [3, 4096])
@pytest.mark.parametrize(("of", "to"), [("i16", "i16"), ("i16", "i32"), ("i8", "i16"), ("i32", "i32"), ("ui16", "ui16")])
def test_products_of_plain_integers(of: str, to: str, inner: int) -> None:
    """By the reference model, in sums of up to 31 bits: those of i16 were refused. Many are taken apart into digits."""
    dtype, target = (np.dtype(element.replace("i", "int")) for element in (of, to))
    most = min(np.iinfo(dtype).max, int((2**30 / inner) ** 0.5))
    a, b = (RNG.integers(-most * (dtype.kind == "i"), most, (rows, inner), dtype=dtype, endpoint=True) for rows in (5, 7))
    types = {"a": tensor(a.shape, of), "b": tensor(b.shape, of)}
    module = one_op("top.MatMul", "right_transpose = true", types, tensor((5, 7), to))
    wanted = a.astype(target) @ b.astype(target).T
    np.testing.assert_array_equal(run_module(transload.lower(module, "tosa"), [a, b], "NONE")[0], wanted, strict=True)


@pytest.mark.parametrize("to", ["i16", "i32"])
def test_convolutions_of_plain_integers(to: str) -> None:
    """Of i16, which were refused; by the reference model."""
    x, w = (RNG.integers(-6000, 6000, shape).astype(np.int16) for shape in ((1, 6, 6, 2), (3, 3, 3, 2)))
    module = one_op("top.Conv", 'kernel_shape = array<i64: 3, 3>, layout = "NHWC"',
                    {"x": tensor(x.shape, "i16"), "w": tensor(w.shape, "i16")}, tensor((1, 4, 4, 3), to))
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int32), (3, 3), (1, 2))
    wanted = np.einsum("nhwcij,oijc->nhwo", windows, w.astype(np.int32)).astype(to.replace("i", "int"))
    np.testing.assert_array_equal(run_module(transload.lower(module, "tosa"), [x, w], "NONE")[0], wanted, strict=True)

"""Poolings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

TYPES = {"int8": ([0.05], [3]), "uint8": ([0.05], [100]), "int16": ([0.0005], [0]), "float32": None}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("operator", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize(("kernel", "stride", "padding", "activation"), [
    ((2, 2), (2, 2), "VALID", "NONE"), ((3, 3), (2, 2), "SAME", "RELU6"), ((14, 13), (1, 1), "VALID", "NONE"),
    ((3, 5), (1, 3), "SAME", "NONE"),
])
def test_pool(judge: Callable, operator: str, dtype: str, kernel: Any, stride: Any, padding: str, activation: str) -> None:
    shape = (2, 14, 13, 16)
    if padding == "SAME":
        made = [-(-size // step) for size, step in zip(shape[1:3], stride, strict=True)]
    else:
        made = [(size - k) // step + 1 for size, k, step in zip(shape[1:3], kernel, stride, strict=True)]
    options = {"stride_h": stride[0], "stride_w": stride[1], "filter_height": kernel[0], "filter_width": kernel[1],
               "padding": padding, "fused_activation_function": activation}
    judge(operator, [(shape, dtype, TYPES[dtype])], [((2, *made, 16), dtype, TYPES[dtype])], options, version=3)


def f(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


GEOMETRIES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 20, 6), {"kernel_shape": (3,), "strides": (2,), "pads": (1, 1)}),
    ((2, 8, 9, 7, 6), {"kernel_shape": (3, 2, 3), "strides": (2, 1, 3), "pads": (1, 0, 1, 1, 1, 0)}),
    ((2, 10, 11, 6), {"kernel_shape": (3, 2), "strides": (4, 3), "do_relu": True}),
]


@pytest.mark.parametrize("name", ["top.MaxPool", "top.AvgPool"])
@pytest.mark.parametrize(("shape", "attributes"), GEOMETRIES)
def test_geometry(lowered: Callable, name: str, shape: Any, attributes: dict[str, Any]) -> None:
    lowered(lambda rw, x: rw.emit(name, x, layout="NHWC", **attributes), f(*shape))


@pytest.mark.parametrize(("shape", "attributes"), [
    ((2, 10, 11, 6), {"kernel_shape": (3, 2), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
    ((1, 8, 9, 7, 3), {"kernel_shape": (3, 2, 3), "strides": (2, 1, 3), "pads": (1, 0, 1, 1, 1, 0)}),
])
def test_padding_that_counts(lowered: Callable, shape: Any, attributes: dict[str, Any]) -> None:
    lowered(lambda rw, x: rw.emit("top.AvgPool", x, layout="NHWC", count_include_pad=True, **attributes), f(*shape))


@pytest.mark.parametrize(("shape", "attributes"), [
    ((2, 10, 11, 6), {"kernel_shape": (3, 2), "dilations": (2, 3)}),
    ((2, 10, 11, 6), {"kernel_shape": (3, 3), "dilations": (2, 3), "strides": (2, 3), "pads": (1, 2, 1, 2)}),
    ((2, 20, 6), {"kernel_shape": (3,), "strides": (2,), "pads": (1, 1), "dilations": (3,)}),
    ((1, 8, 9, 7, 3), {"kernel_shape": (3, 2, 3), "dilations": (2, 2, 1)}),
])
def test_dilated(lowered: Callable, shape: Any, attributes: dict[str, Any]) -> None:
    lowered(lambda rw, x: rw.emit("top.MaxPool", x, layout="NHWC", **attributes), f(*shape))


def test_quantized_padding_that_counts_and_requantized_result(lowered: Callable) -> None:
    from transload.ir import F32, I8, QuantType, TensorType

    x = np.random.default_rng(4).integers(-128, 127, (1, 9, 9, 5)).astype(np.int8)
    lowered(
        lambda rw, value: rw.emit(
            "top.AvgPool", value, layout="NHWC", kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1), count_include_pad=True,
            element=QuantType(I8, F32, (0.04,), (-7,))),
        x, types=[TensorType(x.shape, QuantType(I8, F32, (0.05,), (3,)))], steps=1)


@pytest.mark.parametrize(("shape", "attributes"), [
    ((1, 9, 8, 5), {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
    ((2, 9, 5), {"kernel_shape": (3,), "pads": (1, 0)}),
    ((1, 7, 6, 3), {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (0, 1, 1, 1)}),
])
def test_a_mean_in_finer_steps_is_rounded_once(lowered: Callable, shape: Any, attributes: dict[str, Any]) -> None:
    """Where padding does not count, a mean was rounded to 1/128 of its input's steps, and then to the result's."""
    from transload import run
    from transload.ir import F32, I8, I16, QuantType, TensorType

    x = np.random.default_rng(4).integers(-128, 127, shape).astype(np.int8)

    def made(values: np.ndarray, type_: Any, **more: Any) -> np.ndarray:
        module = lowered(
            lambda rw, value: rw.emit("top.AvgPool", value, layout="NHWC", **attributes, **more), values, types=[type_])
        return next(iter(run(module, dict(zip(module.inputs, [values], strict=True))).values()))

    source, target = QuantType(I8, F32, (0.1,), (3,)), QuantType(I16, F32, (0.0007,), (0,))
    found = made(x, TensorType(shape, source), rounding="once", element=target)
    means = made(x.astype(np.float32) - 3, TensorType(shape, F32)).astype(np.float64)
    np.testing.assert_allclose(found, means * 0.1 / 0.0007, rtol=0, atol=0.51)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize("window", [
    {"kernel_shape": (2, 3), "strides": (2, 1)}, {"kernel_shape": (5, 5), "strides": (1, 1), "pads": (2, 2, 2, 2)},
    {"kernel_shape": (2, 2), "strides": (3, 2), "dilations": (2, 3), "pads": (1, 0, 0, 1)}])
def test_the_greatest_of_plain_integers(same_op: Any, dtype: Any, window: dict[str, Any]) -> None:
    """TOSA pools i8 and i16; plain unsigned numbers, those from 128 on, too, are computed in i32."""
    low, high = (-99, 99) if dtype is np.int32 else (0, np.iinfo(dtype).max)
    x = np.random.default_rng(0).integers(low, high, (1, 7, 8, 3)).astype(dtype)
    same_op("MaxPool", x, layout="NHWC", official=False, **window)

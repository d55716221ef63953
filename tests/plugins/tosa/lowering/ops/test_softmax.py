"""Softmax, bit by bit as LiteRT's fixed point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import F32, I8, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder


def q(scale: float, zero_point: int = 0) -> tuple[Any, ...]:
    return [scale], [zero_point]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("shape", "scale", "beta"), [
    ((2, 30, 17), 0.07, 1.0), ((400, 3), 0.3, 0.5), ((3, 1001), 0.01, 1.0), ((64, 10), 0.9, 2.0), ((5, 1), 0.1, 1.0),
])
def test_int8(judge: Callable, dtype: str, shape: Any, scale: float, beta: float) -> None:
    offset = 128 if dtype == "uint8" else 0
    made = (shape, dtype, q(1 / 256, offset - 128))
    judge("SOFTMAX", [(shape, dtype, q(scale, 5 + offset))], [made], {"beta": beta}, version=2)


def test_int8_to_int16(judge: Callable) -> None:
    judge("SOFTMAX", [((30, 17), "int8", q(0.07, 5))], [((30, 17), "int16", q(1 / 65536, -32768))], {"beta": 1.0}, version=2)


@pytest.mark.parametrize("scale", [1 / 4096, 0.0007, 0.00009])
@pytest.mark.parametrize("shape", [(40, 33), (200, 3)])
def test_int16(judge: Callable, shape: Any, scale: float) -> None:
    judge("SOFTMAX", [(shape, "int16", q(scale))], [(shape, "int16", q(1 / 32768))], {"beta": 1.0}, version=3)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_logarithm(judge: Callable, dtype: str) -> None:
    offset = 128 if dtype == "uint8" else 0
    made = ((30, 17), dtype, q(16 / 256, 127 + offset))
    judge("LOG_SOFTMAX", [((30, 17), dtype, q(0.07, 5 + offset))], [made], version=2, steps=1)


@pytest.mark.parametrize(("axis", "attributes"), [(-1, {}), (0, {"log": True}), (1, {"beta": 0.3})])
def test_floats(lowered: Callable, axis: int, attributes: dict[str, Any]) -> None:
    x = np.random.default_rng(1).normal(size=(3, 40, 5)).astype(np.float32) * 4
    lowered(lambda rw, value: rw.emit("top.Softmax", value, axis=axis, **attributes), x)


def test_another_axis_of_int8(lowered: Callable) -> None:
    from transload.ir import F32, I8, QuantType, TensorType

    x = np.random.default_rng(2).integers(-128, 127, (3, 40, 5)).astype(np.int8)
    lowered(
        lambda rw, value: rw.emit("top.Softmax", value, axis=1, element=QuantType(I8, F32, (1 / 256,), (-128,))), x,
        types=[TensorType(x.shape, QuantType(I8, F32, (0.05,), (3,)))], steps=1)


@pytest.mark.parametrize("dialect", ["top", "tosa", "stablehlo"])
def test_integers_by_a_factor_below_zero(dialect: str) -> None:
    """LiteRT's reference kernel ends the process, ours gave all to the greatest number: the smallest is the likeliest."""
    x = np.int8([[-60, -55, -50, -45, -40]])
    source, target = QuantType(I8, F32, (0.047,), (3,)), QuantType(I8, F32, (1 / 256,), (-128,))
    module = new_module()
    function = module.add_function("main", [TensorType(x.shape, source)], ["x"])
    build = Builder(function.regions[0].block)
    set_results(function, [build.emit("top.Softmax", function.regions[0].block.arguments[0], axis=-1, beta=-1.0, element=target)])
    (made,) = run(module if dialect == "top" else lower(module, dialect), {"x": x}).values()
    powers = np.exp(-0.047 * (x.astype(np.float64) - 3))
    np.testing.assert_array_equal(made, np.round(powers / powers.sum() * 256) - 128)

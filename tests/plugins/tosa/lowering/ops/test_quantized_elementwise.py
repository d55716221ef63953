"""Sums, products, comparisons and selections of quantized operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(5)


def q(scale: float, zero_point: int = 0) -> tuple[Any, ...]:
    return [scale], [zero_point]


TYPES = {
    "int8": (q(0.05, 3), q(0.031, -9), q(0.07, 5)),
    "int8 one scale": (q(0.05, 3), q(0.05, -9), q(0.07, 5)),
    "uint8": (q(0.05, 100), q(0.031, 120), q(0.07, 140)),
    "int16": (q(0.0005), q(0.00031), q(0.0007)),
}
SHAPES = [
    ((40, 60, 30), (40, 60, 30), "NONE"), ((2, 5, 7), (7,), "NONE"), ((2, 5, 7), (5, 1), "RELU6"), ((7,), (2, 5, 1), "RELU")]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("operator", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize(("a", "b", "activation"), SHAPES)
@pytest.mark.parametrize("constant", [False, True])
def test_arithmetic(judge: Callable, kind: str, operator: str, a: Any, b: Any, activation: str, constant: bool) -> None:
    if constant and len(b) == 3:
        pytest.skip("one constant is enough")
    dtype = kind.partition(" ")[0]
    left, right, made = TYPES[kind]
    if operator == "MUL":
        made = q(0.0001 if dtype == "int16" else 0.01, made[1][0])
    limits = np.iinfo(dtype)
    data = (RNG.integers(limits.min, limits.max, b, endpoint=True).astype(dtype),) if constant else ()
    judge(operator, [(a, dtype, left), (b, dtype, right, *data)], [(np.broadcast_shapes(a, b), dtype, made)],
          {"fused_activation_function": activation}, version=2, official=a != (40, 60, 30))


@pytest.mark.parametrize("seed", range(12))
def test_sums_with_any_scales(judge: Callable, seed: int) -> None:
    """Every pair of int8 numbers, with random scales: the single rescale of each operand must be exact."""
    rng = np.random.default_rng(seed)
    numbers = np.arange(-128, 128, dtype=np.int8)
    scales = np.exp(rng.uniform(-5, 0, 2))
    kinds = [q(float(scale), int(rng.integers(-128, 127))) for scale in (*scales, max(scales))]
    arrays = [np.repeat(numbers, 256), np.tile(numbers, 256)]
    *operands, result = [((65536,), "int8", kind) for kind in kinds]
    judge("SUB" if seed % 3 else "ADD", operands, [result], {}, version=2, arrays=arrays, official=seed < 2)


def test_sum_is_what_compilers_fuse(judge: Callable) -> None:
    module = judge("ADD", [((4, 4), "int8", TYPES["int8"][0])] * 2, [((4, 4), "int8", TYPES["int8"][2])], {}, version=2)
    names = [op.name for op in module.ops() if not op.name.startswith(("tosa.const", "func."))]
    assert sorted(names) == ["tosa.add", "tosa.rescale", "tosa.rescale", "tosa.rescale"]


@pytest.mark.parametrize(("operator", "version"), [("MAXIMUM", 4), ("MINIMUM", 4)])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("constant", [False, True])
def test_extremes(judge: Callable, operator: str, version: int, kind: str, constant: bool) -> None:
    type_ = TYPES[kind][0]
    data = (np.array([17], kind),) if constant else ()
    judge(operator, [((2, 5, 7), kind, type_), ((1,) if constant else (5, 7), kind, type_, *data)], [((2, 5, 7), kind, type_)],
          version=version)


def test_squared_difference(judge: Callable) -> None:
    operands = [((20, 30, 7), "int8", q(0.05, 3)), ((7,), "int8", q(0.031, -9))]
    judge("SQUARED_DIFFERENCE", operands, [((20, 30, 7), "int8", q(0.3, 5))], version=2)


@pytest.mark.parametrize("operator", ["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"])
@pytest.mark.parametrize("types", [(q(0.05, 3), q(0.05, 3)), (q(0.05, 3), q(0.031, -9)), (q(0.0015, 3), q(0.0015, 3))])
def test_comparisons(judge: Callable, operator: str, types: Any) -> None:
    judge(operator, [((20, 50, 7), "int8", types[0]), ((20, 50, 7), "int8", types[1])], [((20, 50, 7), "bool")], version=2)


def test_selection(lowered: Callable) -> None:
    from transload.ir import BOOL, F32, I8, QuantType, TensorType

    a, b = (RNG.integers(-128, 127, shape).astype(np.int8) for shape in ((4, 5), (5,)))
    condition = RNG.integers(0, 2, (4, 1)).astype(bool)
    kinds = [QuantType(I8, F32, (scale,), (zero,)) for scale, zero in ((0.05, 3), (0.03, -9), (0.06, 4))]
    lowered(
        lambda rw, c, x, y: rw.emit("top.Where", c, x, y, element=kinds[2]), condition, a, b,
        types=[TensorType((4, 1), BOOL), TensorType((4, 5), kinds[0]), TensorType((5,), kinds[1])], steps=1)


@pytest.mark.parametrize("name", ["top.Pow", "top.Div", "top.Atan2", "top.Mul"])
def test_what_has_no_integer_form_goes_through_floats(lowered: Callable, name: str) -> None:
    from transload.ir import F32, I8, QuantType, TensorType

    kind = QuantType(I8, F32, (0.01,), (-128,))
    arrays = [RNG.integers(-100, 127, (4, 5)).astype(np.int8) for _ in range(2)]
    target = QuantType(I8, F32, (0.05,), (-20,))
    values = 3 if name == "top.Mul" else 2
    arrays += [arrays[0]] * (values - 2)
    lowered(lambda rw, *args: rw.emit(name, *args, element=target), *arrays, types=[TensorType((4, 5), kind)] * values, steps=1)


def test_more_than_two_addends_with_factors(lowered: Callable) -> None:
    from transload.ir import F32, I8, QuantType, TensorType

    kinds = [QuantType(I8, F32, (scale,), (zero,)) for scale, zero in ((0.05, 3), (0.03, -9), (0.06, 4))]
    arrays = [RNG.integers(-128, 127, (40, 50)).astype(np.int8) for _ in kinds]
    lowered(
        lambda rw, *args: rw.emit("top.Add", *args, coeff=(-1.0, 0.5, 2.0), element=QuantType(I8, F32, (0.15,), (1,))), *arrays,
        types=[TensorType((40, 50), kind) for kind in kinds], steps=1)

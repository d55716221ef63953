"""Functions of one quantized number, for each of its 256 or 65,536 values, and activations of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

INT8 = np.arange(-128, 128, dtype=np.int8).reshape(4, 64)
UINT8 = np.arange(256, dtype=np.uint8).reshape(4, 64)
INT16 = np.arange(-32768, 32768, dtype=np.int32).astype(np.int16)


def q(scale: float, zero_point: int = 0) -> tuple[Any, ...]:
    return [scale], [zero_point]


CASES: list[tuple[str, int, dict[str, Any], Any, Any]] = [
    ("LOGISTIC", 2, {}, q(0.05, 3), q(1 / 256, -128)),
    ("TANH", 2, {}, q(0.02, 3), q(1 / 128, 0)),
    ("RELU", 2, {}, q(0.05, 3), q(0.031, -100)),
    ("RELU", 2, {}, q(0.05, 3), q(0.05, 3)),
    ("RELU6", 2, {}, q(0.05, 3), q(0.031, -100)),
    ("RELU_N1_TO_1", 1, {}, q(0.05, 3), q(0.031, -10)),
    ("LEAKY_RELU", 2, {"alpha": 0.2}, q(0.05, 3), q(0.031, -10)),
    ("LEAKY_RELU", 2, {"alpha": -0.2}, q(0.05, 3), q(0.031, -10)),
    ("HARD_SWISH", 1, {}, q(0.01, 3), q(0.0107, -10)),
    ("HARD_SWISH", 1, {}, q(0.05, 3), q(0.0535, -10)),
    ("HARD_SWISH", 1, {}, q(0.3, 3), q(0.321, -10)),
    ("GELU", 2, {"approximate": False}, q(0.05, 3), q(0.031, -100)),
    ("GELU", 2, {"approximate": True}, q(0.05, 3), q(0.031, -100)),
]
SIGNED: list[tuple[str, int, dict[str, Any], Any, Any]] = [
    ("ABS", 2, {}, q(0.05, 3), q(0.031, -100)),
    ("ABS", 2, {}, q(0.05, 3), q(0.05, -100)),
    ("ELU", 1, {}, q(0.05, 3), q(0.031, -100)),
    ("EXP", 2, {}, q(0.02, 3), q(0.05, -128)),
    ("LOG", 2, {}, q(0.02, -100), q(0.03, 20)),
    ("RSQRT", 2, {}, q(0.02, -128), q(0.03, -100)),
]


@pytest.mark.parametrize(("operator", "version", "options", "source", "target"), CASES + SIGNED)
def test_int8(judge: Callable, operator: str, version: int, options: dict[str, Any], source: Any, target: Any) -> None:
    judge(operator, [((4, 64), "int8", source)], [((4, 64), "int8", target)], options, version=version, arrays=[INT8])


@pytest.mark.parametrize(("operator", "version", "options", "source", "target"), CASES)
def test_uint8(judge: Callable, operator: str, version: int, options: dict[str, Any], source: Any, target: Any) -> None:
    kinds = [q(type_[0][0], type_[1][0] + 128) for type_ in (source, target)]
    judge(operator, [((4, 64), "uint8", kinds[0])], [((4, 64), "uint8", kinds[1])], options, version=version, arrays=[UINT8])


@pytest.mark.parametrize("scale", [1 / 4096, 1 / 2048, 0.0007, 0.00009])
@pytest.mark.parametrize("operator", ["LOGISTIC", "TANH"])
def test_int16_tables_of_their_own(judge: Callable, operator: str, scale: float) -> None:
    judge(operator, [(INT16.shape, "int16", q(scale))], [(INT16.shape, "int16", q(1 / 32768))], version=3, arrays=[INT16])


@pytest.mark.parametrize(("operator", "version", "options", "scales"), [
    ("RELU", 2, {}, (0.0005, 0.00031)), ("LEAKY_RELU", 2, {"alpha": 0.2}, (0.0005, 0.00031)), ("EXP", 2, {}, (0.0001, 0.001)),
    ("LOG", 2, {}, (0.0001, 0.0005)), ("ABS", 3, {}, (0.0005, 0.0004)),
])
def test_int16(judge: Callable, operator: str, version: int, options: dict[str, Any], scales: Any) -> None:
    source, target = ((INT16.shape, "int16", q(scale)) for scale in scales)
    judge(operator, [source], [target], options, version=version, arrays=[INT16])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
@pytest.mark.parametrize("slope", [(1, 1, 16), (1, 1, 1)])
def test_prelu(judge: Callable, dtype: str, slope: Any) -> None:
    rng = np.random.default_rng(6)
    offset = 128 if dtype == "uint8" else 0
    types = (None,) * 3 if dtype == "float32" else (q(0.05, 3 + offset), q(0.007, -4 + offset), q(0.06, 7 + offset))
    values = rng.normal(size=slope).astype(dtype) if dtype == "float32" else rng.integers(
        np.iinfo(dtype).min, np.iinfo(dtype).max, slope, dtype)
    judge("PRELU", [((2, 9, 9, 16), dtype, types[0]), (slope, dtype, types[1], values)], [((2, 9, 9, 16), dtype, types[2])])


@pytest.mark.parametrize("name", [
    "top.Mish", "top.Softplus", "top.Square", "top.Sqrt", "top.Sin", "top.HardSigmoid", "top.Erf", "top.Neg"])
def test_any_function_of_int8_is_a_table(lowered: Callable, name: str) -> None:
    from transload.ir import F32, I8, QuantType, TensorType

    kind = QuantType(I8, F32, (0.03,), (-128 if name == "top.Sqrt" else -20,))
    target = QuantType(I8, F32, (0.04,), (-30,))
    module = lowered(lambda rw, x: rw.emit(name, x, element=target), INT8, types=[TensorType(INT8.shape, kind)], steps=1)
    assert [op.name for op in module.ops() if op.name not in ("tosa.const", "func.return")] == ["tosa.table"]


def test_function_with_a_constant_is_a_table(lowered: Callable) -> None:
    from transload.ir import F32, I8, QuantType, TensorType

    kind = QuantType(I8, F32, (0.01,), (-128,))
    module = lowered(
        lambda rw, x: rw.emit("top.Pow", x, rw.constant(np.array([1.7], np.float32)), element=kind), INT8,
        types=[TensorType(INT8.shape, kind)], steps=1)
    assert [op.name for op in module.ops() if op.name not in ("tosa.const", "func.return")] == ["tosa.table"]


@pytest.mark.parametrize(("name", "attributes"), [
    ("SiLU", {}), ("HardSigmoid", {}), ("HardSwish", {}), ("GELU", {}), ("GELU", {"approx": True}), ("Elu", {"alpha": 0.7}),
    ("Selu", {}), ("Celu", {"alpha": 0.6}), ("Softplus", {}), ("Softsign", {}), ("Mish", {}), ("ThresholdedRelu", {"alpha": 0.3}),
    ("Shrink", {"bias": 0.1, "lambd": 0.4}), ("LeakyRelu", {"alpha": -0.3}), ("LeakyRelu", {"alpha": 1.3}),
    ("LeakyRelu", {"alpha": 0.1}),
    ("Sigmoid", {"log": True}), ("Sigmoid", {"scale": 2.0, "bias": -1.0}), ("Clip", {"min": -0.5, "max": float("inf")}),
    ("Relu", {"relu_limit": 0.5}), ("Tanh", {}), ("Erf", {}),
])
def test_floats(lowered: Callable, name: str, attributes: dict[str, Any]) -> None:
    x = np.random.default_rng(7).normal(size=(3, 40, 5)).astype(np.float32) * 4
    x.reshape(-1)[:4] = (0.0, -0.0, 60.0, -60.0)
    lowered(lambda rw, value: rw.emit(f"top.{name}", value, **attributes), x)


def test_rank_seven(lowered: Callable) -> None:
    x = np.random.default_rng(8).normal(size=(2, 1, 3, 2, 2, 2, 2)).astype(np.float32)
    lowered(lambda rw, value: rw.emit("top.GELU", value), x, official=False)  # the level of 8K allows six dimensions


def test_clamp_of_integers(lowered: Callable) -> None:
    x = np.random.default_rng(9).integers(-50, 50, (4, 5)).astype(np.int32)
    lowered(lambda rw, value: rw.emit("top.Clip", value, min=-7.5, max=9.5), x)

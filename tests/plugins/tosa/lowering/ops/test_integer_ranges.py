"""Integers at the ends of their types: what leaves a range wraps round, in TOSA as in the hub, in StableHLO and in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import TensorType, element_type_of
from transload.testing import build_module

from tests.plugins.tosa.lowering.ops.conftest import check
from tests.support.tosa_reference import run_module

TYPES = [np.uint8, np.uint16, np.int8, np.int16, np.int32]
BINARY = ["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "FloorDiv", "FloorMod", "TruncMod", "SquaredDifference", "Atan2",
          "BitwiseAnd", "BitwiseOr", "BitwiseXor", "ShiftLeft", "ShiftRight"]
UNARY: list[tuple[str, dict[str, Any]]] = [
    ("Square", {}), ("Neg", {}), ("BitwiseNot", {}), ("AddConst", {"const_val": 100.0}), ("MulConst", {"const_val": 77.0}),
    ("CumSum", {"axis": 0}), ("Reduce", {"axes": (0,), "mode": "ReduceSum"}), ("Reduce", {"axes": (0,), "mode": "ReduceProd"})]


def _numbers(dtype: Any) -> np.ndarray:
    ends = np.iinfo(dtype)
    near = [ends.min, ends.min + 1, ends.max // 2, ends.max // 2 + 1, ends.max - 1, ends.max, ends.bits - 1, ends.bits]
    return np.array([n for n in (*near, 0, 1, 2, 3, 7, 10, -1, -2, -3, 100, 126) if ends.min <= n <= ends.max], dtype)


def _same(name: str, arrays: list[np.ndarray], **attributes: Any) -> np.ndarray:
    """What the hub gives, which the lowered forms give in the same bits, and Arm's model, which takes no sums beyond 32 bits."""
    types = [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays]
    module = build_module(types, lambda rw, *values: rw.emit(f"top.{name}", *values, **attributes))
    given = {f"x{i}": array for i, array in enumerate(arrays)}
    (wanted,) = run(module, given).values()
    lowered = lower(module, "tosa")
    found = [*run(lowered, given).values(), *run(lower(module, "stablehlo"), given).values()]
    if arrays[0].itemsize < 4:
        found += run_module(lowered, [array.view(f"i{array.itemsize}") for array in arrays])  # TOSA's arguments have the bits
    for made in found:
        np.testing.assert_array_equal(made.view(wanted.dtype), wanted)
    return wanted


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_two_numbers(name: str, dtype: Any) -> None:
    a, b = (grid.ravel() for grid in np.meshgrid(_numbers(dtype), _numbers(dtype)))
    least, signed = np.iinfo(dtype).min, np.iinfo(dtype).min < 0
    if name in ("Div", "FloorDiv", "FloorMod", "TruncMod"):
        fits = (b != 0) & ~((a == least) & (b == -1)) if signed else b != 0
    else:
        fits = b >= 0 if name.startswith("Shift") else b == b
    a, b = a[fits], b[fits]
    made = _same(name, [a, b])
    if name == "Pow":
        bits = np.iinfo(dtype).bits
        fits = b >= 0
        wanted = np.array([pow(int(x), int(y), 1 << bits) for x, y in zip(a[fits], b[fits], strict=True)], np.uint64)
        np.testing.assert_array_equal(made[fits], wanted.astype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("name", "attributes"), UNARY)
def test_one_number(name: str, attributes: dict[str, Any], dtype: Any) -> None:
    _same(name, [_numbers(dtype)], **attributes)


@pytest.mark.parametrize("reduction", ["add", "mul"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int8])
def test_what_is_scaled_or_scattered(reduction: str, dtype: Any) -> None:
    x = _numbers(dtype)
    _same("Scale", [x, x[::-1].copy(), x])
    _same("ScatterND", [x, np.arange(4, dtype=np.int32).reshape(4, 1), x[-4:].copy()], reduction=reduction)


@pytest.mark.parametrize("exponent", [5, 31, 33, 128, 255])
def test_powers_by_a_constant(exponent: int) -> None:
    x = np.arange(256, dtype=np.uint8)
    types = [TensorType(x.shape, element_type_of(x.dtype))]
    module = build_module(types, lambda rw, x: rw.emit("top.Pow", x, rw.constant(np.array(exponent, np.uint8))))
    lowered = check(module, [x], official=False)
    assert len(list(lowered.ops())) < 40


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_the_absolute_value_of_the_least_integer_is_itself(dtype: Any) -> None:
    """By the reference model, which refuses it of ABS in 32 bits."""
    ends = np.iinfo(dtype)
    x = np.array([ends.min, ends.min + 1, -3, 0, ends.max], dtype)
    module = lower(build_module([TensorType(x.shape, element_type_of(x.dtype))], lambda rw, x: rw.emit("top.Abs", x)), "tosa")
    np.testing.assert_array_equal(run_module(module, [x])[0], np.abs(x))
    (found,) = run(module, dict(zip(module.inputs, [x], strict=True))).values()
    np.testing.assert_array_equal(found, np.abs(x))

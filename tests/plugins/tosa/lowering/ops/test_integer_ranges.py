"""Integers at the ends of their types: what leaves a range wraps round, in TOSA as in the hub, in StableHLO and in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import F32, TensorType, element_type_of
from transload.ir.types import IndexType
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


@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Max", "Min", "Pow", "FloorDiv", "FloorMod", "TruncMod"])
def test_two_subscripts(name: str) -> None:
    """What is of the machine's size has 32 bits in TOSA; exponents that are subscripts ended in an AttributeError."""
    types = [TensorType((4,), IndexType())] * 2
    module = build_module(types, lambda rw, *values: rw.emit(f"top.{name}", *values))
    given = {f"x{i}": np.array(numbers, np.int64) for i, numbers in enumerate([[0, 1, 3, 7], [1, 5, 2, 3]])}
    (wanted,), (found,) = run(module, given).values(), run(lower(module, "tosa", int64="assumed"), given).values()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_the_absolute_value_of_the_least_integer_is_itself(dtype: Any) -> None:
    """By the reference model, which refuses it of ABS in 32 bits."""
    ends = np.iinfo(dtype)
    x = np.array([ends.min, ends.min + 1, -3, 0, ends.max], dtype)
    module = lower(build_module([TensorType(x.shape, element_type_of(x.dtype))], lambda rw, x: rw.emit("top.Abs", x)), "tosa")
    np.testing.assert_array_equal(run_module(module, [x])[0], np.abs(x))
    (found,) = run(module, dict(zip(module.inputs, [x], strict=True))).values()
    np.testing.assert_array_equal(found, np.abs(x))


ENDS = [-(1 << 31), -(1 << 31) + 1, -5, -1, 0, 1, 2, 5, (1 << 31) - 2, (1 << 31) - 1]
EXACT: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__, "Sub": int.__sub__, "Mul": int.__mul__, "Max": max, "Min": min,
    "Pow": lambda a, b: a ** min(b, 40 + b % 2),
    "Div": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1), "FloorDiv": int.__floordiv__,
    "FloorMod": int.__mod__, "TruncMod": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "Compare": int.__lt__, "ShiftRight": lambda a, b: a >> min(b, 31)}


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
@pytest.mark.parametrize("name", EXACT)
def test_nothing_overflows_on_the_way_to_a_number_of_the_type(name: str, dtype: Any) -> None:
    """By the reference model, to which a sum is an error that is too great for 32 bits, were it selected or not."""
    ends = np.iinfo(dtype)
    numbers = sorted({int(np.clip(number, ends.min, ends.max)) for number in ENDS})
    fits = [(a, b) for a in numbers for b in numbers if (b != 0 or not name.endswith(("Div", "Mod")))
            and (b >= 0 or name not in ("Pow", "ShiftRight")) and ends.min <= EXACT[name](a, b) <= ends.max]
    a, b = np.array(fits, dtype).T.copy()
    types = [TensorType(array.shape, element_type_of(array.dtype)) for array in (a, b)]
    more = {"mode": "Less"} if name == "Compare" else {}
    module = lower(build_module(types, lambda rw, a, b: rw.emit(f"top.{name}", a, b, **more)), "tosa")
    wanted = np.array([EXACT[name](*pair) for pair in fits])
    np.testing.assert_array_equal(run_module(module, [a, b])[0], wanted)
    (found,) = run(module, dict(zip(module.inputs, [a, b], strict=True))).values()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int8, np.int16])
@pytest.mark.parametrize("sizes", [(7, 9), (25, 29)])
def test_cubic_interpolation_ends_where_its_type_does(sizes: tuple[int, int], dtype: Any) -> None:
    """It overshoots, which shows where the numbers go on as others than those of the type."""
    ends = np.iinfo(dtype)
    x = np.full((1, 12, 14, 1), 7, dtype)
    x[:, 2:6], x[:, 6:9] = ends.max, ends.min

    for antialias in (False, True):
        def make(rw: Any, x: Any, antialias: bool = antialias) -> Any:
            made = rw.emit("top.Interp", x, sizes=sizes, mode="cubic", antialias=antialias, layout="NHWC")
            return made, rw.emit("top.Cast", made, element=F32)

        module = build_module([TensorType(x.shape, element_type_of(x.dtype))], make)
        small, plain = run(lower(module, "tosa"), {"x0": x}).values()
        assert plain.min() >= ends.min and plain.max() <= ends.max
        _, wanted = run(module, {"x0": x}).values()
        np.testing.assert_allclose(plain, wanted, atol=1, rtol=1e-6)
        np.testing.assert_array_equal(small.view(dtype), plain.astype(dtype))


@pytest.mark.parametrize("limits", [(-10.0, -3.0), (-10.0, 3.0), (7e4, 8e4), (-np.inf, np.inf), (300.0, 2.0), (5e9, 6e9)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int8, np.int32])
def test_limits_that_are_no_numbers_of_the_type(limits: tuple[float, float], dtype: Any) -> None:
    """A type that stands for another would hold them: -3 became the number that an unsigned one went on as."""
    x = np.array([0, 1, 2, 5, 100], dtype)

    def make(rw: Any, x: Any) -> Any:
        made = rw.emit("top.Clip", x, min=limits[0], max=limits[1])
        return made, rw.emit("top.Cast", made, element=F32)

    module = build_module([TensorType(x.shape, element_type_of(x.dtype))], make)
    wanted = list(run(module, {"x0": x}).values())
    for target in ("tosa", "stablehlo"):
        found = list(run(lower(module, target), {"x0": x}).values())
        np.testing.assert_array_equal(found[0].view(dtype), wanted[0])
        np.testing.assert_array_equal(found[1], wanted[1])


def test_subscripts_that_are_none_are_moved_nowhere() -> None:
    """As a number from the end those from 2^31 less the depth on would be beyond 32 bits."""
    indices = np.array(ENDS, np.int32)
    module = lower(build_module(
        [TensorType(indices.shape, element_type_of(indices.dtype))],
        lambda rw, x: rw.emit("top.OneHot", x, *(rw.constant(np.array(n, np.int32)) for n in (1, 0)), depth=6)), "tosa")
    wanted = (np.where(indices < 0, indices + 6, indices)[:, None] == np.arange(6)).astype(np.int32)
    np.testing.assert_array_equal(run_module(module, [indices])[0], wanted)


@pytest.mark.parametrize(("name", "attributes"), [("Add", {}), ("Sub", {}), ("Neg", {}), ("AddConst", {"const_val": 2147483646})])
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_sums_of_which_the_low_bits_are_kept_wrap_round(name: str, attributes: dict[str, Any], dtype: Any) -> None:
    """ADD and SUB leave open what is beyond i32: of ui32 all from 2^31 on, and of i64 what a cast to i32 cuts off."""
    ends = np.array([0, 1, 5, 2**31 - 2, 2**31 - 1, 2**31, 2**31 + 5, 2**32 - 1], np.uint32).view(np.int32)
    ends = ends if dtype == np.uint32 else np.array([-(1 << 30), -1, 0, 1, 5, (1 << 30) - 1], np.int32)
    arrays = [grid.reshape(-1).astype(np.int32) for grid in np.meshgrid(ends, ends)][: 2 if name in ("Add", "Sub") else 1]

    def make(rw: Any, *values: Any) -> Any:
        if dtype == np.uint32:
            return rw.emit(f"top.{name}", *values, **attributes)
        for _ in range(3):  # 2^33
            values = tuple(rw.emit("top.Add", value, value) for value in values)
        return rw.emit("top.Cast", rw.emit(f"top.{name}", *values, **attributes), element=element_type_of(np.dtype(np.int32)))

    types = [TensorType(array.shape, element_type_of(np.dtype(dtype))) for array in arrays]
    module = build_module(types, make)
    given = [array.view(np.uint32) if dtype == np.uint32 else array.astype(np.int64) for array in arrays]
    (wanted,) = run(module, {f"x{place}": array for place, array in enumerate(given)}).values()
    np.testing.assert_array_equal(run_module(lower(module, "tosa"), arrays)[0].view(wanted.dtype), wanted)

"""Attributes and types of the hub's ops on their way to Core ML: calls give of constants what the hub computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import Unsupported
from transload.ir import I64
from transload.testing import build_op

from .folding import folded

pytest.importorskip("coremltools", reason="install transload[coreml] to write Core ML programs")

FLOATS = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32) * 3


def agrees(module: transload.Module, arrays: Sequence[np.ndarray]) -> None:
    wanted = transload.run(module, dict(zip(module.inputs, arrays, strict=True)))
    for one, other in zip(wanted.values(), folded(module, arrays), strict=True):
        assert other is not None and one.shape == other.shape
        np.testing.assert_allclose(other.astype(np.float64), one.astype(np.float64), rtol=2e-5, atol=2e-6)


def computes(name: str, *operands: np.ndarray, **attributes: Any) -> None:
    """Fails where the call of an op gives other numbers than the hub."""
    agrees(build_op(f"top.{name}", *operands, **attributes), operands)


def test_a_number_has_no_dimensions() -> None:
    """What was constant became a vector of one."""
    for kind in (np.float32, np.float16, np.int32):
        computes("Add", np.array(2, kind), np.array(3, kind))
        computes("Compare", np.array(2, kind), np.array(3, kind), mode="Less")
    computes("LogicalAnd", np.array(True), np.array(False))
    computes("Where", np.array(True), np.array(2, np.float32), np.array(3, np.float32))


def test_the_logarithm_beside_one_keeps_small_numbers() -> None:
    """1 + x has few digits of them."""
    x = np.array([1e-7, -1e-7, 1e-4, 3e-30, 0, 0.49, -0.49, 0.51, -0.75, 1e6, np.inf], np.float32)
    (made,) = folded(build_op("top.Log1p", x), [x])
    assert made is not None
    np.testing.assert_allclose(made, np.log1p(x), rtol=1e-6, atol=0)


@pytest.mark.parametrize("limit", [0.0, 1e-9, 0.5, np.inf, -1.0])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_floats_have_a_relu_with_any_limit(limit: float, kind: type) -> None:
    """One of 0 was refused, and of halves one that is 0 for them."""
    computes("Relu", FLOATS.astype(kind), relu_limit=limit)
    computes("AddConst", FLOATS.astype(kind), const_val=0.5, do_relu=True, relu_limit=limit)


@pytest.mark.parametrize("attributes", [
    {"scale": 2.0}, {"bias": 0.5}, {"log": True}, {"scale": 2.0, "bias": 1.0}, {"scale": 2.0, "bias": 1.0, "log": True}], ids=str)
def test_the_factor_and_addend_of_a_sigmoid_belong_to_its_result(attributes: dict[str, Any]) -> None:
    computes("Sigmoid", FLOATS, **attributes)


def test_the_floor_of_a_quotient_is_of_the_rounded_one() -> None:
    """Infinite quotients are their own floor, and so is one by 0."""
    inf = np.inf
    given = np.array([6, 0.9, inf, -inf, 1, -1, 7, -7], np.float32), np.array([0.3, 0.1, 2, 3, 0, 0, inf, 2], np.float32)
    computes("FloorDiv", *given)
    computes("FloorDiv", *(array[2:].astype(np.float16) for array in given))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_quotients_of_integers_are_rounded_down(kind: type) -> None:
    computes("FloorDiv", np.array([7, -7, 7, -7, 6], kind), np.array([2, 2, -2, -2, 3], kind))


# --- casts

REALS = np.array([-300.7, -1.5, -0.5, 0.5, 1.5, 2.5, 127.5, 300.2, 1e5, -1e5], np.float32)
BEYOND = np.array([3e9, -3e9, np.inf, -np.inf, np.nan, 2147483520.0, -1.0], np.float32)


def casts(source: str, target: str, array: np.ndarray, attributes: str = "") -> None:
    """Fails where a cast gives other numbers than the hub's."""
    text = f"""
      module {{ func.func @main(%a: tensor<{array.size}x{source}>) -> tensor<{array.size}x{target}> {{
        %0 = "top.Cast"(%a) {{{attributes}}} : (tensor<{array.size}x{source}>) -> tensor<{array.size}x{target}>
        return %0 : tensor<{array.size}x{target}> }} }}"""
    agrees(transload.load(format="mlir", text=text), [array])


@pytest.mark.parametrize("mode", ["Trunc", "HalfToEven"])
@pytest.mark.parametrize("saturate", ["false", "true"])
@pytest.mark.parametrize("target", ["i4", "i8", "ui8", "i16", "ui16", "i32", "i64", "i1"])
def test_floats_become_integers_of_their_type(target: str, saturate: str, mode: str) -> None:
    attributes = f'saturate = {saturate}, round_mode = "{mode}"'
    casts("f32", target, REALS, attributes)
    casts("f16", target, np.clip(REALS, -6e4, 6e4).astype(np.float16), attributes)


@pytest.mark.parametrize("target", ["i8", "ui8", "i16", "i32"])
def test_what_saturates_has_the_nearest_end_of_its_type_and_is_0_where_it_was_no_number(target: str) -> None:
    casts("f32", target, BEYOND, "saturate = true")
    casts("f16", target, BEYOND[2:5].astype(np.float16), "saturate = true")


def test_integers_saturate_too() -> None:
    whole = np.array([-300, -1, 0, 5, 127, 128, 255, 300], np.int32)
    for target in ("i8", "ui8", "i16", "ui16", "ui32", "i64", "ui64"):
        casts("i32", target, whole, "saturate = true")


def test_64_bits_saturate_at_the_ends_of_32() -> None:
    module = build_op("top.Cast", BEYOND, element=I64, saturate=True)
    (found,) = folded(module, [BEYOND])
    assert found is not None
    np.testing.assert_array_equal(found[:5], [2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0])


def test_floats_do_not_become_integers_that_core_ml_has_not() -> None:
    for attributes in ("", "saturate = true"):
        with pytest.raises(Unsupported, match="ui32"):
            casts("f32", "ui32", BEYOND, attributes)


@pytest.mark.parametrize(("kinds", "op"), [
    *[(["ui32"] * 2, f"top.{name}") for name in ("Add", "Sub", "Mul")], (["i32"], "top.Cast"), (["i64"], "top.Cast")])
def test_what_int32_does_not_hold_of_unsigned_numbers_is_refused(kinds: list[str], op: str) -> None:
    """They had int32's sign in what was made of them."""
    names = ["%a", "%b"][:len(kinds)]
    given = ", ".join(f"{name}: tensor<4x{kind}>" for name, kind in zip(names, kinds, strict=True))
    types = ", ".join(f"tensor<4x{kind}>" for kind in kinds)
    module = transload.load(format="mlir", text=f"""
      module {{ func.func @main({given}) -> tensor<4xf32> {{
        %0 = "{op}"({", ".join(names)}) : ({types}) -> tensor<4xui32>
        %1 = "top.Cast"(%0) : (tensor<4xui32>) -> tensor<4xf32>
        return %1 : tensor<4xf32> }} }}""")
    with pytest.raises(Unsupported, match="Core ML has int32 for them"):
        folded(module, [np.arange(4, dtype=kind.replace("i", "int")) for kind in kinds])


def test_unsigned_numbers_that_int32_holds_are_taken() -> None:
    casts("ui8", "ui32", np.array([0, 5, 255], np.uint8))
    casts("ui32", "f32", np.array([0, 5, 2**31 - 1], np.uint32))


QUANTIZED = np.array([-100.0, -2.75, -0.25, 0.2, 0.25, 0.75, 1.25, 500.0], np.float32)


@pytest.mark.parametrize("mode", ["HalfToEven", "HalfToEvenStored", "HalfUp", "HalfAwayFromZero"])
@pytest.mark.parametrize("storage", ["i8", "i8<-127:127>", "i8<-8:7>", "u8", "u8<1:255>"])
@pytest.mark.parametrize("point", [3, 4])
def test_reals_are_quantized_into_the_range_that_is_stored(storage: str, point: int, mode: str) -> None:
    """A narrowed range clips, and stored numbers that are even are so where the zero point is odd; halves go up below 0, too."""
    element = f"!quant.uniform<{storage}:f32, 0.5:{point}>"
    casts("f32", element, QUANTIZED, f'round_mode = "{mode}"')
    casts("f16", element, QUANTIZED.astype(np.float16), f'round_mode = "{mode}"')


def test_integers_are_not_quantized() -> None:
    with pytest.raises(Unsupported, match="quantizes floats"):
        casts("i32", "!quant.uniform<i8:f32, 0.5:3>", np.arange(4, dtype=np.int32), 'round_mode = "HalfToEven"')


# --- integers

INTEGERS = (np.int8, np.uint8, np.int32, np.uint32, np.int64)


def whole(kind: Any) -> np.ndarray:
    made = np.random.default_rng(1).integers(-9, 10, (3, 4))
    return np.abs(made).astype(kind) if np.dtype(kind).kind == "u" else made.astype(kind)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize(("low", "high"), [
    (-3.5, -0.5), (0.5, 3.5), (-1e30, 1e30), (-np.inf, np.inf), (-1e10, 3.0), (2.0, np.inf), (-300.0, 300.0)])
def test_limits_of_integers_are_whole_and_as_far_as_their_type_goes(kind: Any, low: float, high: float) -> None:
    computes("Clip", whole(kind), min=low, max=high)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("limit", [-1.0, 0.0, 2.5, 3.0, 1e20, np.inf])
def test_integers_have_a_relu(kind: Any, limit: float) -> None:
    computes("Relu", whole(kind), relu_limit=limit)
    computes("AddConst", whole(kind), const_val=0.5, do_relu=True, relu_limit=limit)


@pytest.mark.parametrize(("name", "attributes"), [
    ("MulConst", {"const_val": 0.5}), ("MulConst", {"const_val": 2.5}), ("AddConst", {"const_val": 1e12}),
    ("Clip", {"min": 1e12, "max": 1e13}), ("Clip", {"min": -1e13, "max": -1e12})], ids=str)
def test_numbers_that_int32_has_not_are_refused(name: str, attributes: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="integers"):
        computes(name, whole(np.int64), **attributes)


@pytest.mark.parametrize("factor", [0.5, 2.5])
def test_sums_of_integers_times_fractions_are_refused(factor: float) -> None:
    with pytest.raises(Unsupported, match="integers"):
        computes("Add", whole(np.int32), whole(np.int32), coeff=(factor, 1.0))
    computes("Add", whole(np.int32), whole(np.int32), coeff=(-2.0, 1.0), do_relu=True, relu_limit=3.5)


def test_what_takes_floats_alone_says_so() -> None:
    """Not what coremltools says of the call; and a padding beyond int32 is no raw error."""
    for value in (0.0, 0.5, 1e12):
        with pytest.raises(Unsupported, match="pads floats"):
            computes("Pad", whole(np.int64), paddings=(0, 0, 1, 1), val=value)
    with pytest.raises(Unsupported, match="pools floats"):
        computes("MaxPool", whole(np.int32).reshape(1, 1, 3, 4), kernel_shape=(2, 2))


# --- no dimensions

@pytest.mark.parametrize("mode", ["Mean", "Sum", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp"])
def test_over_no_dimensions_the_function_is_of_each_element(mode: str) -> None:
    computes("Reduce", FLOATS, axes=(), mode=f"Reduce{mode}")
    if not mode.startswith("Log"):
        computes("Reduce", whole(np.int32), axes=(), mode=f"Reduce{mode}")


def test_what_is_normalized_over_no_dimensions_is_so_by_itself() -> None:
    computes("Normalize", FLOATS, axes=())
    computes("InstanceNorm", FLOATS[0], FLOATS[1, 0], FLOATS[1, 1])


@pytest.mark.parametrize(("true", "false"), [((), ()), ((4,), (3, 1)), ((3, 4), ()), ((2, 3, 4), (4,)), ((1, 1), (4,))])
def test_a_choice_has_the_shape_of_its_condition(true: tuple[int, ...], false: tuple[int, ...]) -> None:
    """Between numbers it had none, and was refused: what masks fill in."""
    computes("Where", FLOATS > 0, np.full(true, 2, np.float32), np.full(false, -3, np.float32))


@pytest.mark.parametrize(("before", "after"), [((1, 1), ()), ((), (1, 1)), ((), ()), ((1,), ()), ((2, 3), (3, 2))])
def test_numbers_of_no_dimensions_are_reshaped(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    computes("Reshape", np.full(before, 2, np.float32), shape=after)

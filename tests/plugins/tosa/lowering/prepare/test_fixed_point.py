"""Quantized arithmetic that a program writes out in plain integers becomes TOSA's own again, and computes the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.errors import ConversionError
from transload.ir import I8, I16, I32, I64, UI8, Module, TensorType, Type, Value, dtype_of, input_names, new_module
from transload.ir.build import Builder
from transload.ir.module import set_results
from transload_plugins.tosa import build

RNG = np.random.default_rng(20)


def _module(arguments: Sequence[tuple[tuple[int, ...], Type]], make: Callable[..., Value]) -> Module:
    module = new_module()
    block = module.add_function("main", []).regions[0].block
    values = [block.add_argument(TensorType(shape, element), f"x{i}") for i, (shape, element) in enumerate(arguments)]
    made = make(Builder(block, location="y"), *values)
    set_results(module.main, [made], ["y"])
    return module


def _same(module: Module, arrays: Sequence[np.ndarray], **options: Any) -> Counter[str]:
    """Lowers to TOSA, which computes the same; how many ops of each name that takes."""
    expected = run(module, dict(zip(input_names(module.main), arrays, strict=True)), engine="reference")
    tosa = lower(module, "tosa", **options)
    found = run(tosa, dict(zip(input_names(tosa.main), arrays, strict=True)), engine="reference")
    for a, b in zip(expected.values(), found.values(), strict=True):
        np.testing.assert_array_equal(a, b)
    return Counter(op.name for op in tosa.walk())


def _numbers(element: Type, shape: tuple[int, ...]) -> np.ndarray:
    low, high = element.range  # type: ignore[attr-defined]
    return RNG.integers(low, high, shape, endpoint=True).astype(dtype_of(element))


FACTORS = {
    "one": ([1417339207], [36]), "steep": ([1 << 30], [29]), "small": ([3], [2]), "even": ([1 << 30], [34]),
    "per channel": ([1417339207, 1073741824, 2147483647, 1100000001], [36, 31, 40, 33])}


@pytest.mark.parametrize("rounding", ["SINGLE_ROUND", "DOUBLE_ROUND"])
@pytest.mark.parametrize("source, target, points", [
    (I8, I8, (-3, 5)), (I8, I32, (7, 0)), (I32, I8, (0, -128)), (I32, I16, (0, 0)), (I16, I8, (0, 11)), (I32, I32, (0, 0)),
], ids=str)
@pytest.mark.parametrize("factor", FACTORS)
def test_rescales_come_back_from_stablehlo(
    factor: str, source: Type, target: Type, points: tuple[int, int], rounding: str,
) -> None:
    multiplier, shift = FACTORS[factor]
    if rounding == "DOUBLE_ROUND" and min(shift) < 31:
        pytest.skip("TOSA rounds twice with shifts above 31 only")
    x = _numbers(source, (2, 3, 4))
    if source == I32:
        x = x >> 3 if min(shift) >= 31 else x >> (34 - min(shift))
    module = _module([((2, 3, 4), source)], lambda rw, value: build.rescale(
        rw, value, multiplier, shift, *points, target, per_channel=len(multiplier) > 1, rounding=rounding))
    program = lower(module, "stablehlo")
    expected = run(module, {"x0": x}, engine="reference")["y"]
    if source == I32 and factor == "steep":  # a product with 2, without a shift
        options = {"int64": "assumed"}
    else:  # which numbers lie in `shift` bits, as TOSA wants it of what it scales, is not known of all
        options = {"int64": "assumed"} if source == target == I32 and min(shift) < 32 else {}
    counts = _same(program, [x], **options)
    np.testing.assert_array_equal(run(lower(program, "tosa", **options), {"x0": x}, engine="reference")["y"], expected)
    if min(shift) >= 31 and factor != "even":
        assert counts["tosa.rescale"] == 1 and not counts["tosa.mul"]


@pytest.mark.parametrize("bits", [31, 40])
def test_products_of_32_bits_come_back(bits: int) -> None:
    module = _module([((3, 4), I32), ((1, 4), I32)], lambda rw, a, b: build.mul(rw, a, b, bits))
    program = lower(module, "stablehlo")
    counts = _same(program, [_numbers(I32, (3, 4)), _numbers(I32, (1, 4))])
    assert counts["tosa.mul"] == 1


@pytest.mark.parametrize("bits", [1, 20, 30])
def test_products_that_may_not_fit(bits: int) -> None:
    """Their low 32 bits, or where they are assumed to fit, one operator."""
    module = _module([((3, 4), I32), ((3, 4), I32)], lambda rw, a, b: build.mul(rw, a, b, bits))
    program = lower(module, "stablehlo")
    assert _same(program, [_numbers(I32, (3, 4)), _numbers(I32, (3, 4))])["tosa.mul"] == 2
    small = [_numbers(I32, (3, 4)) >> 16, _numbers(I32, (3, 4)) >> 17]
    assert _same(program, small, int64="assumed")["tosa.mul"] == 1


@pytest.mark.parametrize("offset", [(1 << 35) + 12345, 0, (1 << 35) + (5 << 36), -(1 << 35)])
def test_offsets_that_are_no_rounding(offset: int) -> None:
    """Only what RESCALE computes becomes one; what then needs 64 bits is refused."""
    def make(rw: Builder, x: Value) -> Value:
        wide = rw.emit("top.Mul", rw.emit("top.Cast", x, element=I64), rw.constant(np.array(1417339207, np.int64)))
        wide = rw.emit("top.Add", wide, rw.constant(np.array(offset, np.int64)))
        wide = rw.emit("top.ShiftRight", wide, rw.constant(np.array(36, np.int64)))
        return rw.emit("top.Cast", rw.emit("top.Clip", wide, min=-100.0, max=100.0), element=I8)

    module = _module([((3, 40), I32)], make)
    x = _numbers(I32, (3, 40)) >> 20
    if offset in ((1 << 35) + (5 << 36), -(1 << 35)):
        assert _same(module, [x])["tosa.rescale"] == 1
    else:
        with pytest.raises(ConversionError):
            lower(module, "tosa")


# --- products of integers


CASES = [(I32, I32), (I16, I32), (I8, I32), (I16, I16), (UI8, I8)]


@pytest.mark.parametrize("left, right", CASES, ids=str)
@pytest.mark.parametrize("form", ["plain", "groups", "depthwise", "line", "volume"])
def test_integer_convolutions(form: str, left: Type, right: Type) -> None:
    """Sums modulo 2^32, whatever the operands."""
    spatial = {"line": (9,), "volume": (4, 5, 3)}.get(form, (7, 6))
    channels, outputs, group = {"groups": (4, 6, 2), "depthwise": (4, 8, 4)}.get(form, (3, 5, 1))
    kernel = (2,) * len(spatial)
    module = _module(
        [((2, *spatial, channels), left), ((outputs, *kernel, channels // group), right), ((outputs,), I32)],
        lambda rw, x, w, b: rw.emit(
            "top.Conv", rw.emit("top.Cast", x, element=I32), rw.emit("top.Cast", w, element=I32), b, kernel_shape=kernel,
            strides=(2,) + (1,) * (len(spatial) - 1), pads=(1,) * len(spatial) + (0,) * len(spatial), group=group, layout="NHWC"))
    _same(module, [_numbers(value.element, value.shape) for value in module.body_of_main.arguments])


@pytest.mark.parametrize("zero_point", [-128, 3, 127])
def test_a_quantized_layer_in_plain_integers_is_one_convolution(zero_point: int) -> None:
    weights = _numbers(I8, (5, 3, 3, 4)).astype(np.int32)

    def make(rw: Builder, x: Value) -> Value:
        plain = rw.emit("top.Sub", rw.emit("top.Cast", x, element=I32), rw.constant(np.array(zero_point, np.int32)))
        return rw.emit("top.Conv", plain, rw.constant(weights), kernel_shape=(3, 3), pads=(1, 1, 1, 1), layout="NHWC")

    counts = _same(_module([((1, 8, 8, 4), I8)], make), [_numbers(I8, (1, 8, 8, 4))])
    assert counts["tosa.conv2d"] == 1 and not counts["tosa.cast"]


def test_a_quantized_layer_comes_back_from_stablehlo() -> None:
    """Convolution, bias, scales of the channels: the operators that were taken apart, and no more."""
    weights, bias = _numbers(I8, (5, 3, 3, 4)), RNG.integers(-3000, 3000, 5).astype(np.int32)

    def make(rw: Builder, x: Value) -> Value:
        sums = rw.emit(
            "tosa.conv2d", x, build.const(rw, weights), build.const(rw, bias), build.zero_point(rw, 7, I8),
            build.zero_point(rw, 0, I8), element=I32, pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=I32)
        return build.rescale(
            rw, sums, [1417339207, 1073741824, 2147483647, 1100000001, 1500000000], [40, 41, 42, 39, 40], 0, -3, I8,
            per_channel=True, rounding="DOUBLE_ROUND")

    program = lower(_module([((1, 8, 8, 4), I8)], make), "stablehlo")
    counts = _same(program, [_numbers(I8, (1, 8, 8, 4))])
    left = {name: count for name, count in counts.items() if name.startswith("tosa.") and not name.startswith("tosa.const")}
    assert left == {"tosa.conv2d": 1, "tosa.rescale": 1}


def test_integer_transposed_convolution() -> None:
    module = _module([((1, 4, 5, 3), I32), ((2, 3, 3, 3), I32)], lambda rw, x, w: rw.emit(
        "top.Deconv", x, w, kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 0, 0), layout="NHWC"))
    _same(module, [_numbers(I32, (1, 4, 5, 3)), _numbers(I32, (2, 3, 3, 3))])


@pytest.mark.parametrize(
    "shapes", [((2, 60, 70), (2, 70, 80)), ((60, 70), (70, 80)), ((3, 4, 5), (5, 2)), ((5,), (5,)), ((2, 0), (0, 3))], ids=str)
def test_integer_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    module = _module([(shape, I32) for shape in shapes], lambda rw, x, w: rw.emit("top.MatMul", x, w))
    _same(module, [_numbers(I32, shape) for shape in shapes])

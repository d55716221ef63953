"""The arithmetic of RESCALE with constant scales, against Python's integers; and what is emitted for it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import I8, I16, I32, I48, TensorType, input_names, new_module, set_results
from transload.ir.build import Builder
from transload_plugins.stablehlo.from_tosa.rescale import Scale
from transload_plugins.tosa.build import const, rescale

RNG = np.random.default_rng(11)


def by_definition(x: int, multiplier: int, shift: int, zero_in: int, zero_out: int, twice: bool) -> int:
    """`apply_scale_32` of the specification, in integers without end."""
    value = x - zero_in
    half = 1 << (shift - 1)
    if twice and shift > 31:
        half += (1 << 30) if value >= 0 else -(1 << 30)
    return ((value * multiplier + half) >> shift) + zero_out


@pytest.mark.parametrize("multiplier", [0, 1, 2, 3, 1 << 30, (1 << 30) + 2, (1 << 31) - 1, 1 << 14])
@pytest.mark.parametrize("shift", [2, 14, 30, 31, 45, 62])
def test_factors_of_two_are_taken_out(multiplier: int, shift: int) -> None:
    for offset in (0, 1, -1, 1 << (shift - 1), -(1 << (shift - 1)) + 5):
        plain = Scale((multiplier,), (offset,), (shift,))
        (m,), (c,), (s,) = (column for column in (plain.reduced().multiplier, plain.reduced().offset, plain.reduced().shift))
        for x in (-129, -128, -3, -1, 0, 1, 2, 127, 255, 12345):
            assert (x * multiplier + offset) >> shift == (x * m + c) >> s


FORMS = [
    (source, target, rounding) for source, target, rounding in itertools.product(
        (I8, I16, I32, I48), (I8, I16, I32), ("SINGLE_ROUND", "DOUBLE_ROUND"))
    if source != I48 or rounding == "SINGLE_ROUND"]  # DOUBLE_ROUND takes 32-bit multipliers, i48 those of 16 bits


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("source", "target", "rounding"), FORMS, ids=str)
def test_against_whole_integers(source: Any, target: Any, rounding: str, check: Any) -> None:
    """Random scales, those of one bit, and zero points at the ends, one module for each pair of types."""
    wide = source == I48
    low, high = source.range
    least, most = target.range
    numbers = np.unique(np.concatenate([
        RNG.integers(low, high, 60, endpoint=True), [low, low + 1, -1, 0, 1, high - 1, high]])).astype(np.int64)
    module = new_module()
    function = module.add_function("main", [])
    block = function.regions[0].block
    builder = Builder(block)
    results, wanted, inputs = [], [], {}
    for index in range(24):
        bits = 15 if wide else 31
        ends = [1 << (bits - 1), (1 << bits) - 1, 1]
        multiplier = ends[index % 3] if index < 6 else int(RNG.integers(1 << (bits - 2), 1 << bits))
        shift = bits - 1 if index < 3 else int(RNG.integers(2, 63 if index % 2 else 40))
        zero_in = [0, -128, 127, 5][index % 4] if source == I8 else 0
        zero_out = [0, 127, -128, -9][(index // 2) % 4] if target == I8 else 0
        made = [by_definition(int(x), multiplier, shift, zero_in, zero_out, rounding == "DOUBLE_ROUND") for x in numbers]
        # What leaves 32 bits before it is saturated is undefined.
        defined = [i for i, value in enumerate(made) if -(1 << 31) <= value - zero_out < 1 << 31]
        name = f"x{len(inputs)}"
        inputs[name] = numbers[defined].astype({8: np.int8, 16: np.int16, 32: np.int32}.get(source.width, np.int64))
        argument = block.add_argument(TensorType((len(defined),), source), name)
        results.append(rescale(
            builder, argument, [multiplier], [shift], zero_in, zero_out, target, rounding=rounding))
        wanted.append(np.clip([made[i] for i in defined], least, most))
    set_results(function, results, [f"{i}" for i in range(len(results))])
    function.attributes["arg_attrs"] = [{"ml_program.identifier": name} for name in inputs]
    made = check(module, inputs)
    got = transload.run(made, dict(zip(input_names(made.main), inputs.values(), strict=True)))
    for a, b in zip(wanted, got.values(), strict=True):
        np.testing.assert_array_equal(a, b)


def emitted(target: Any, multipliers: list[int], shifts: list[int], zero_in: int, zero_out: int, to_stablehlo: Any) -> list[str]:
    module = new_module()
    function = module.add_function("main", [TensorType((4, len(multipliers)), I8)], ["x"])
    builder = Builder(function.regions[0].block)
    made = rescale(
        builder, function.regions[0].block.arguments[0], multipliers, shifts, zero_in, zero_out, target,
        per_channel=len(multipliers) > 1)
    set_results(function, [made])
    return [op.name.partition(".")[2] for op in to_stablehlo(module).ops() if op.operands and op.name != "func.return"]


def test_few_ops_are_emitted(to_stablehlo: Any) -> None:
    # a scale of 1: the zero points alone; within the type no clamp is needed
    assert emitted(I32, [1 << 30], [30], -7, 0, to_stablehlo) == ["convert", "add"]
    assert emitted(I32, [1 << 30], [30], 0, 0, to_stablehlo) == ["convert"]
    # a scale of 2^20: a product in 32 bits
    assert emitted(I32, [1 << 30], [10], 0, 0, to_stablehlo) == ["convert", "multiply"]
    # any scale: one addition for both zero points and the rounding
    assert emitted(I8, [1518500250], [30], -7, 20, to_stablehlo) == [
        "convert", "multiply", "add", "shift_right_arithmetic", "clamp", "convert"]
    # the same where the results are in the type's range as they come
    assert emitted(I8, [1518500250], [32], -7, 20, to_stablehlo) == [
        "convert", "multiply", "add", "shift_right_arithmetic", "convert"]


def test_channels_of_equal_scale_share_a_number(to_stablehlo: Any) -> None:
    assert "broadcast_in_dim" not in emitted(I8, [3 << 28] * 3, [35] * 3, 0, 0, to_stablehlo)
    assert "broadcast_in_dim" in emitted(I8, [1518500250, 1518500249, 7], [35, 34, 33], 0, 0, to_stablehlo)


def test_constants_are_computed(to_stablehlo: Any) -> None:
    module = new_module()
    function = module.add_function("main", [])
    builder = Builder(function.regions[0].block)
    x = const(builder, np.array([-128, 0, 127], np.int8))
    set_results(function, [rescale(builder, x, [1 << 30], [31], 0, 0, I32)])
    (constant,) = [op for op in to_stablehlo(module).ops() if op.results]
    np.testing.assert_array_equal(constant.value.numpy(), [-64, 0, 64])

"""What LiteRT's reference kernels of floats make of infinity and NaN: the table of docs/tflite_out.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F32, I8, I16, QuantType, TensorType

from .test_target import network
from tests.support.litert import run_litert

pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")

from transload_converters.tflite.writer_module import serialize
from transload_hub.functions import erfc

INF, NAN, LAST = np.inf, np.nan, float(np.finfo(np.float32).max)


def found(build: Callable, *rows: list[float], reference: bool = True) -> np.ndarray:
    """What LiteRT computes of vectors."""
    arrays = [np.array(row, np.float32) for row in rows]
    made = network(build, *(TensorType(array.shape, F32) for array in arrays))
    return run_litert(serialize(transload.lower(made, "tfl")), arrays, reference)[0]


@pytest.mark.parametrize(("op", "wanted"), [
    ("Add", [LAST, -LAST, NAN, NAN]), ("Sub", [LAST, -LAST, NAN, NAN]), ("Mul", [LAST, -LAST, NAN, NAN]),
    ("Div", [LAST, -LAST, NAN, NAN]), ("SquaredDifference", [INF, INF, NAN, NAN]), ("Max", [INF, 1, 1, NAN]),
    ("Min", [1, -INF, 1, NAN])])
def test_of_two(op: str, wanted: list[float]) -> None:
    np.testing.assert_array_equal(
        found(lambda b, x, y: b.emit(f"top.{op}", x, y), [INF, -INF, NAN, 1], [1, 1, 1, NAN]), np.float32(wanted))


@pytest.mark.parametrize(("mode", "row", "wanted"), [
    ("ReduceMax", [1, NAN, 3], 3), ("ReduceMin", [1, NAN, 3], 1), ("ReduceMax", [1, INF, 3], INF),
    ("ReduceSum", [1, INF], INF), ("ReduceSum", [1, NAN], NAN), ("ReduceMean", [1, INF], INF)])
def test_of_rows(mode: str, row: list[float], wanted: float) -> None:
    np.testing.assert_array_equal(
        found(lambda b, x: b.emit("top.Reduce", x, axes=(0,), keepdims=True, mode=mode), row), np.float32([wanted]))


@pytest.mark.parametrize(("row", "wanted"), [
    ([-INF, -INF], -LAST), ([INF, 1], LAST), ([INF, INF], LAST), ([INF, -INF], LAST), ([1, -INF], 1), ([-LAST, -INF], -LAST),
    ([1000, 1000], 1000 + np.log(2)), ([NAN, 1], NAN), ([NAN, INF], NAN)])
@pytest.mark.parametrize("reference", [True, False])
def test_logarithms_of_sums_of_powers(row: list[float], wanted: float, reference: bool) -> None:
    """Of an infinity less itself there is no number: the greatest is taken off as the last finite one, at which ADD ends, too."""
    made = found(lambda b, x: b.emit("top.Reduce", x, axes=(0,), keepdims=True, mode="ReduceLogSumExp"), row, reference=reference)
    np.testing.assert_allclose(made, np.float32([wanted]))


@pytest.mark.parametrize(("mode", "place"), [("ArgMax", 2), ("ArgMin", 1)])
def test_places(mode: str, place: int) -> None:
    assert found(lambda b, x: b.emit("top.Arg", x, axis=0, mode=mode), [NAN, 1, 2]) == place


def test_a_quotient_by_zero_is_infinite_to_who_asks() -> None:
    """The kernel gives the last finite number, and the question is whether a number is that."""
    rows = [0.0, -0.0, 2.0, NAN]
    is_endless = found(lambda b, x: b.emit("top.IsInf", b.emit("top.Reciprocal", x)), rows)
    assert is_endless.tolist() == [True, True, False, False]
    assert found(lambda b, x: b.emit("top.IsNaN", b.emit("top.Reciprocal", x)), rows).tolist() == [False, False, False, True]


def test_what_is_no_number_has_no_complementary_error() -> None:
    """MAXIMUM with it on the left gives the other operand, of which the tail was."""
    np.testing.assert_allclose(found(erfc, [INF, -INF, NAN, 0, 2]), np.float32([0, 2, NAN, 1, 0.004677735]), rtol=1e-5)


@pytest.mark.parametrize("zero_point", [0, 5, -5])
@pytest.mark.parametrize("op", ["Div", "Pow"])
def test_quotients_and_powers_beyond_all_steps_are_the_nearest_integer(op: str, zero_point: int) -> None:
    """QUANTIZE casts to 32 bits before it saturates, which makes the least number of any that these do not hold."""
    rows = [[100, -100, 0, 100, 8], [0, 0, 3, 2, 0]] if op == "Div" else [[100, -100, 2, 0, 1], [100, 100, 100, -1, 5]]
    kind = QuantType(I8, F32, (1.0,), (zero_point,))
    arrays = [np.clip(np.array(row) + zero_point, -128, 127).astype(np.int8) for row in rows]
    made = network(lambda b, x, y: b.emit(f"top.{op}", x, y, element=kind), *(TensorType((5,), kind) for _ in arrays))
    with np.errstate(all="ignore"):
        (wanted,) = transload.run(made, dict(zip(made.inputs, arrays, strict=True))).values()
        reals = [array.astype(np.float64) - zero_point for array in arrays]
        exact = (np.divide if op == "Div" else np.power)(*reals) + zero_point
    np.testing.assert_array_equal(wanted, np.clip(np.nan_to_num(exact, nan=-128.0), -128, 127).round().astype(np.int8))
    np.testing.assert_array_equal(run_litert(serialize(transload.lower(made, "tfl")), arrays)[0], wanted)


def held(build: Callable, numbers: list[int], scale: float = 1.0) -> np.ndarray:
    """What LiteRT gives of stored numbers of scale 1, in int8 of a scale: as the reference engine does."""
    source, target = (QuantType(I8, F32, (each,), (0,)) for each in (1.0, scale))
    stored = np.array(numbers, np.int8)
    made = network(lambda b, x: build(b, x, target), TensorType(stored.shape, source))
    (wanted,) = transload.run(made, dict.fromkeys(made.inputs, stored)).values()
    np.testing.assert_array_equal(run_litert(serialize(transload.lower(made, "tfl")), [stored])[0], wanted)
    return wanted


@pytest.mark.parametrize("mode", ["ReduceProd", "ReduceSumSquare"])
def test_reductions_beyond_all_steps_are_the_nearest_integer(mode: str) -> None:
    scale = 1.0 if mode == "ReduceProd" else 1e-6
    assert held(
        lambda b, x, kind: b.emit("top.Reduce", x, axes=(0,), keepdims=True, mode=mode, element=kind), [100] * 8, scale) == 127


def test_running_sums_beyond_all_steps_are_the_nearest_integer() -> None:
    sums = held(lambda b, x, kind: b.emit("top.CumSum", x, axis=0, element=kind), [100] * 8 + [-128] * 8, 2**-30)
    assert sums.tolist() == [127] * 14 + [-128] * 2


@pytest.mark.parametrize(("given", "is_held"), [
    ({}, False), ({"scale": 3.0}, True), ({"bias": -2.0}, True), ({"scale": -3.0, "bias": 1.0}, True),
    ({"scale": 0.5, "bias": 0.25}, False), ({"log": True}, True)])
def test_a_sigmoid_with_factors_is_bounded_by_them(given: dict[str, Any], is_held: bool) -> None:
    """It was taken for one without, between 0 and 1, whatever it is multiplied with and added to: of 2^30 steps all hold 1."""
    by_channel, target = QuantType(I8, F32, (1.0, 2.0), (0, 0), axis=0), QuantType(I8, F32, (1.5 * 2**-30,), (0,))
    made = network(lambda b, x: b.emit("top.Sigmoid", x, element=target, **given), TensorType((2, 2), by_channel))
    operators = {op.name for op in transload.lower(made, "tfl").ops()}
    assert ({"tfl.minimum", "tfl.maximum"} <= operators) is is_held


def test_what_is_bounded_is_not_held() -> None:
    """The mean of numbers lies between them: it may be beyond 2^31 steps where they are."""
    def operators(scale: float) -> list[str]:
        kinds = QuantType(I8, F32, (1.0,), (0,)), QuantType(I16, F32, (scale,), (0,))
        made = network(
            lambda b, x: b.emit("top.Reduce", x, axes=(0,), keepdims=True, mode="ReduceMean", element=kinds[1]),
            TensorType((4,), kinds[0]))
        return [op.name for op in transload.lower(made, "tfl").ops()]

    assert not {"tfl.minimum", "tfl.maximum"} & set(operators(0.5))
    assert {"tfl.minimum", "tfl.maximum"} <= set(operators(2**-30))

"""Reductions and the index of the extreme, of floats, integers, truth values and quantized numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import F32, I8, I16, I32, UI8, QuantType, TensorType, Type
from transload.testing import build_module
from transload_hub.build import cast

from tests.support.graphs import Graph
from tests.support.tosa_reference import run_module

Same = Callable[..., Any]

MODES = [
    "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
    "ReduceSumSquare",
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("axes", "keepdims"), [
    ((1, 2), True), ((-1,), False), ((0, 1, 2, 3), False), ((0, 2), True), ((), True)])
def test_floats(same_op: Same, normal: Any, mode: str, axes: tuple[int, ...], keepdims: bool) -> None:
    x = normal(2, 3, 4, 5)
    same_op("Reduce", np.abs(x) + 0.1 if mode == "ReduceLogSum" else x, axes=axes, keepdims=keepdims, mode=mode)


def test_adjacent_axes_are_reduced_at_once(same_op: Same, normal: Any) -> None:
    module = same_op("Reduce", normal(2, 3, 4, 5), axes=(1, 2), keepdims=False, mode="ReduceMax")
    assert [op.name for op in module.ops()].count("tosa.reduce_max") == 1


def test_exponentials_do_not_overflow(same_op: Same, normal: Any) -> None:
    same_op("Reduce", normal(3, 40) * 300, axes=(1,), keepdims=False, mode="ReduceLogSumExp")
    nothing = np.full((2, 3), -np.inf, np.float32)
    same_op("Reduce", nothing, axes=(1,), keepdims=False, mode="ReduceLogSumExp", official=False)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")])
@pytest.mark.parametrize("dtype", [np.int32, np.int8])
def test_integers(same_op: Same, mode: str, dtype: Any) -> None:
    x = np.random.default_rng(0).integers(-4, 5, (2, 3, 5)).astype(dtype)
    same_op("Reduce", x, axes=(1, 2), keepdims=False, mode=mode)


@pytest.mark.parametrize("dtype", [np.int32, np.int16, np.uint16, np.int8])
def test_roots_of_whole_squares_are_whole(same_op: Same, dtype: Any) -> None:
    """A root that f32 has a little too small would be cut off to the number below; of any size that 32 bits hold."""
    last = min(int(np.iinfo(dtype).max), 46340)
    n = np.unique(np.concatenate([np.arange(min(last + 1, 1500)), np.arange(max(last - 1500, 0), last + 1)]))
    same_op("Reduce", n[:, None].astype(dtype), axes=(1,), keepdims=False, mode="ReduceL2")
    n = n[n <= last // 5]
    same_op("Reduce", np.stack([3 * n, -4 * n if dtype != np.uint16 else 4 * n], 1).astype(dtype), axes=(1,), mode="ReduceL2")
    near = np.array([[46340, 88], [46340, 303], [30000, 30000], [0, 0]]) // (1 if last == 46340 else 1000)
    same_op("Reduce", np.minimum(near, last).astype(dtype), axes=(1,), keepdims=True, mode="ReduceL2")


def test_roots_of_sums_of_squares_beyond_32_bits_are_those_of_f32() -> None:
    x = np.array([[70007, 0], [12345678, -7654321], [-(1 << 30), 3], [46340, 46340], [3, -4]], np.int32)
    module = build_module(
        [TensorType(x.shape, I32)], lambda rw, x: rw.emit("top.Reduce", x, axes=(1,), keepdims=False, mode="ReduceL2"))
    wanted = np.sqrt(np.square(x.astype(np.float64)).sum(1)).astype(np.int32)
    for (found,) in (list(run(lower(module), {"x0": x}).values()), run_module(lower(module), [x])):
        np.testing.assert_allclose(found, wanted, rtol=2.0**-20, atol=1)
        assert found[-1] == 5


@pytest.mark.parametrize("number", [np.iinfo(np.int32).min, np.iinfo(np.int32).max, -(1 << 30) - 1, 60000])
def test_means_of_integers_whose_sum_32_bits_do_not_hold(same_op: Same, number: int) -> None:
    """Frameworks add in 64 bits. 65,536 rests of up to 65,535 are beyond 32 bits, too, and are added in groups."""
    x = np.full((2, 256, 256), number, np.int32)
    x[1, 0] = -3
    same_op("Reduce", x, axes=(1, 2), keepdims=True, mode="ReduceMean")
    same_op("Reduce", x[:, :3, :5], axes=(0, 2), keepdims=False, mode="ReduceMean")


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
@pytest.mark.parametrize("count", [2, 7, 70000])
def test_means_of_integers_are_cut_off(same_op: Same, dtype: Any, count: int) -> None:
    ends = np.iinfo(dtype if dtype != np.int64 else np.int32)
    x = np.random.default_rng(0).integers(ends.min // 2, ends.max // 2, (3, count)).astype(dtype)
    x[1], x[2] = x[1] // 1000, -abs(x[2])
    same_op("Reduce", x, axes=(1,), keepdims=False, mode="ReduceMean", official=dtype != np.int64)


def test_means_of_small_integers_divide_their_sum() -> None:
    """Where the model says that the numbers are small, the sum is not taken apart."""
    def names(element: Type) -> list[str]:
        module = build_module([TensorType((4, 8), element)], lambda rw, x: rw.emit(
            "top.Reduce", cast(rw, x, I32), axes=(1,), mode="ReduceMean"))
        return [op.name for op in lower(module).ops()]

    assert names(UI8).count("tosa.intdiv") == 1
    assert names(I32).count("tosa.intdiv") > 1


def test_truth_values(same_op: Same, sample: Any) -> None:
    for mode in ("ReduceAll", "ReduceAny"):
        same_op("Reduce", sample(bool, 2, 3, 4), axes=(0, 2), keepdims=False, mode=mode)


@pytest.mark.parametrize("mode", ["ReduceMean", "ReduceMax", "ReduceProd"])
def test_high_ranks(same_op: Same, normal: Any, mode: str) -> None:
    same_op("Reduce", normal(2, 1, 2, 2, 1, 2, 2), axes=(0, 2, 5), keepdims=True, mode=mode)


@pytest.mark.parametrize("mode", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int16, np.int32])
def test_index_of_the_extreme(same_op: Same, mode: str, last: bool, dtype: Any) -> None:
    x = np.random.default_rng(0).integers(-3, 3, (2, 5, 4, 3)).astype(dtype)  # with many equal elements
    for axis, keepdims in ((1, True), (-1, False)):
        same_op("Arg", x, axis=axis, keepdims=keepdims, mode=mode, select_last_index=last, result=I32)
    if dtype == np.int8:
        same_op("Arg", np.array([[-128, 127, -128, 127]], np.int8), axis=1, mode=mode, select_last_index=last, result=I32)


def test_index_in_a_high_rank(same_op: Same, sample: Any) -> None:
    same_op("Arg", sample(np.float32, 2, 1, 2, 2, 5, 2, 2), axis=4, mode="ArgMax", result=I32)


# --- quantized: LiteRT's kernels are the judge

STORED = {"int8": (np.int8, I8), "int16": (np.int16, I16), "uint8": (np.uint8, UI8)}
SCALES = [((0.05, 3), (0.037, -7)), ((0.0625, 0), (0.0625, 0)), ((0.1, -5), (0.003, 10)), ((0.02, 0), (0.5, 4))]


def _pair(scale: float, zero_point: int, dtype: str) -> tuple[float, int]:
    return scale, {"int8": zero_point, "int16": 0, "uint8": zero_point + 100}[dtype]


def _judge(
    judge_op: Any, operator: str, mode: str, dtype: str, shape: Any, axes: Any, keepdims: bool, pairs: Any, **how: Any,
) -> None:
    numpy_type, stored = STORED[dtype]
    limits = np.iinfo(numpy_type)
    x = np.random.default_rng(0).integers(limits.min, limits.max + 1, shape).astype(numpy_type)
    source, target = (_pair(*pair, dtype) for pair in pairs)
    before, after = (QuantType(stored, F32, (float(np.float32(scale)),), (zero,)) for scale, zero in (source, target))
    made = tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)
    judge_op(
        operator, [(x, source, False), (np.array(axes, np.int32), None, True)], (made, dtype, target), {"keep_dims": keepdims},
        lambda b, v: b.emit("top.Reduce", v, axes=axes, keepdims=keepdims, mode=mode, element=after),
        [TensorType(shape, before)], version=2, **how)


SHAPES = [((2, 7, 5, 3), (1, 2), True), ((1, 4, 4, 8), (1, 2), False), ((2, 3, 4, 5), (0, 2), True), ((5, 100), (1,), False)]


@pytest.mark.parametrize("dtype", list(STORED))
@pytest.mark.parametrize("pairs", SCALES)
@pytest.mark.parametrize(("shape", "axes", "keepdims"), SHAPES)
def test_quantized_means_are_those_of_litert(
    judge_op: Any, dtype: str, pairs: Any, shape: Any, axes: Any, keepdims: bool,
) -> None:
    _judge(judge_op, "MEAN", "ReduceMean", dtype, shape, axes, keepdims, pairs)


@pytest.mark.parametrize("dtype", list(STORED))
@pytest.mark.parametrize("pairs", SCALES)
def test_quantized_sums_are_those_of_litert(judge_op: Any, dtype: str, pairs: Any) -> None:
    # Of the reference kernel's SUM nothing sensible comes out in LiteRT 2.3; the optimised one rounds in float.
    _judge(judge_op, "SUM", "ReduceSum", dtype, (2, 3, 4, 5), (1, 2), True, pairs, reference=False, steps=1)


@pytest.mark.parametrize("dtype", list(STORED))
@pytest.mark.parametrize(("operator", "mode"), [("REDUCE_MAX", "ReduceMax"), ("REDUCE_MIN", "ReduceMin")])
def test_quantized_extremes_are_those_of_litert(judge_op: Any, dtype: str, operator: str, mode: str) -> None:
    _judge(judge_op, operator, mode, dtype, (2, 3, 4, 5), (1, 3), False, (SCALES[0][0], SCALES[0][0]))


def test_quantized_products_are_those_of_litert(judge_op: Any) -> None:
    for pairs in (((0.01, 3), (0.02, -3)), ((0.05, -20), (0.2, 4))):
        _judge(judge_op, "REDUCE_PROD", "ReduceProd", "int8", (2, 3, 4), (1,), False, pairs)


@pytest.mark.parametrize("mode", ["ReduceSum", "ReduceMean"])
def test_scales_of_nothing_divide_nothing(mode: str) -> None:
    """A file may say 0: what holds no number but 0 gives that. The quotient of scales was an error of Python's."""
    g = Graph(TensorType((2, 3), QuantType(I8, F32, (0.1,), (3,))))
    made = g.Reduce(g.inputs[0], axes=(1,), mode=mode, keepdims=False, rounding="exact",
                    types=[TensorType((2,), QuantType(I8, F32, (0.0,), (0,)))])
    module = g.done(made)
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    np.testing.assert_array_equal(run(lower(module, "tosa"), {"x0": x})["y0"], run(module, {"x0": x})["y0"])

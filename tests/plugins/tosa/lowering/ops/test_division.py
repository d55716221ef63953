"""Quotients and remainders of floats: whole ranges of them, where products with a reciprocal overflow or lose bits."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import F16, F32, TensorType, element_type_of
from transload.testing import build_module

from tests.support.tosa_reference import run_module

Same = Callable[..., Any]


def _spread(count: int, lowest: float, highest: float, dtype: Any, seed: int) -> np.ndarray:
    """Numbers of both signs, their sizes spread evenly over powers of two."""
    rng = np.random.default_rng(seed)
    return (np.exp2(rng.uniform(lowest, highest, count)) * rng.choice([-1, 1], count)).astype(dtype)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["FloorMod", "TruncMod"])
@pytest.mark.parametrize(("dtype", "ranges"), [
    (np.float32, (-10, 20, -9, 2)), (np.float32, (90, 120, 91, 119)), (np.float16, (-24, 15.99, -24, 15.99)),
    (ml_dtypes.bfloat16, (-20, 20, -20, 20))], ids=["f32", "great f32", "all f16", "bf16"])
def test_remainders_are_exact(same_op: Same, name: str, dtype: Any, ranges: tuple[float, float, float, float]) -> None:
    a, b = _spread(4000, *ranges[:2], dtype, 0), _spread(4000, *ranges[2:], dtype, 1)
    same_op(name, a, b, tolerance=0)
    same_op(name, a, b[:1], tolerance=0, constants=[1])


@pytest.mark.parametrize("name", ["FloorMod", "TruncMod"])
def test_remainders_by_constants_of_few_bits_take_one_product_a_step(same_op: Same, name: str) -> None:
    module = same_op(name, _spread(1000, -10, 20, np.float32, 0), np.array([0.75], np.float32), tolerance=0, constants=[1])
    longer = same_op(name, _spread(1000, -10, 20, np.float32, 0), np.array([0.7], np.float32), tolerance=0, constants=[1])
    assert len(list(module.ops())) < len(list(longer.ops()))


@pytest.mark.parametrize("name", ["FloorMod", "TruncMod"])
def test_remainders_of_what_is_no_number_and_by_zero(same_op: Same, name: str) -> None:
    strange = np.array([np.nan, np.inf, -np.inf, 0, 1, -1, 5e4], np.float32)
    for dtype in (np.float32, np.float16):
        a, b = (grid.ravel().astype(dtype) for grid in np.meshgrid(strange, strange))
        same_op(name, a, b, tolerance=0, official=False)


def test_a_remainder_beyond_all_steps_is_none(same_op: Same) -> None:
    module = lower(build_module([TensorType((2,), F32)] * 2, lambda builder, a, b: builder.emit("top.FloorMod", a, b)))
    (rest,) = run(module, {"x0": np.array([1e30, -1e38], np.float32), "x1": np.array([3, 1e-30], np.float32)}).values()
    assert rest.tolist() == [0, 0]
    assert module.notes == ("remainders of f32 are exact where the quotient is at most 2^30, and 0 beyond",)
    assert not lower(build_module([TensorType((2,), F16)] * 2, lambda builder, a, b: builder.emit("top.FloorMod", a, b))).notes


def test_the_remainder_of_a_negative_zero_is_one() -> None:
    module = lower(build_module([TensorType((3,), F32)] * 2, lambda builder, a, b: builder.emit("top.TruncMod", a, b)), "tosa")
    given = [np.array([-0.0, 0.0, -4.0], np.float32), np.array([2, 2, 2], np.float32)]
    (rest,) = run(module, {"x0": given[0], "x1": given[1]}).values()
    for found in (rest, run_module(module, given)[0]):
        assert np.signbit(found).tolist() == [True, False, True] and not found.any()


def test_a_remainder_by_a_subnormal_number_is_a_number() -> None:
    """Its reciprocal is infinite, as that of zero is, whose remainders are none."""
    module = lower(build_module([TensorType((2,), F32)] * 2, lambda builder, a, b: builder.emit("top.TruncMod", a, b)), "tosa")
    (rest,) = run(module, {"x0": np.array([2.1, 2.1], np.float32), "x1": np.array([7e-45, 0], np.float32)}).values()
    assert abs(rest[0]) < 7e-45 and np.isnan(rest[1])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_quotients_of_halves_whose_reciprocals_are_none(same_op: Same, dtype: Any) -> None:
    b = np.array([1e-5, -1e-6, 3e-7, 60000, -50000, 40000], dtype)
    a = (b.astype(np.float32) * 3).clip(-65000, 65000).astype(dtype)
    for name in ("Div", "FloorDiv"):
        same_op(name, a, b, tolerance=0.001 if dtype is np.float16 else 0.01)


_STRANGE = [np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 3, -3, 0.125, -0.1, 41, -0.001953125, 1e6, -1e8, 1e20, -1e20, 3e38, -2e38]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_floors_of_quotients_of_all_sizes(dtype: Any) -> None:
    type_ = TensorType((1,), element_type_of(np.dtype(dtype)))
    module = build_module([type_] * 2, lambda rw, a, b: rw.emit("top.FloorDiv", a, b))
    lowered = lower(module)
    with np.errstate(over="ignore"):
        strange = np.array(_STRANGE, np.float32).astype(dtype)
    off = 2e-7 if dtype is np.float32 else 1e-3 if dtype is np.float16 else 1e-2
    for a, b in itertools.product(strange, strange):
        given = {"x0": np.array([a]), "x1": np.array([b])}
        (wanted,), (made,) = (next(iter(run(form, given).values())).astype(np.float64) for form in (module, lowered))
        np.testing.assert_allclose(made, wanted, rtol=off, err_msg=f"{a} by {b}")
        assert np.isnan(wanted) or np.signbit(made) == np.signbit(wanted), f"{a} by {b}"


def test_floors_of_small_quotients_below_0(same_op: Same) -> None:
    """They are -1, though what -1 leaves, `a + b`, is b when it is rounded."""
    a = np.array([1, -1, 1, 3, 1, -1, 5, -1e-3], np.float32)
    b = np.array([-1e6, 1e7, -1e8, -2e7, -1e9, 1e12, -1e20, 1e5], np.float32)
    module = same_op("FloorDiv", a, b, tolerance=0)
    assert all((array == -1).all() for array in run(module, {"x0": a, "x1": b}).values())

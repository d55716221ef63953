"""Powers, norms by them and arithmetic, where numbers are not finite or narrow: by C's `pow`, and by numpy in f32 and f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import finfo

import transload

from .cases.run import module_of
from .cases.spec import DTYPES, Cases, t


def _made(op: str, given: np.ndarray, *arguments: Any, result: np.ndarray, **named: Any) -> list[np.ndarray]:
    """What the hub and TOSA compute."""
    cases = Cases()
    cases.add(op, *arguments, **named)
    module = module_of(cases.all[0], [result])
    return [next(iter(transload.run(transload.lower(module, dialect), {"x0": given}).values())) for dialect in ("top", "tosa")]


def test_a_power_by_a_tensor_of_a_half_is_no_root() -> None:
    """ATen takes roots for numbers alone."""
    x = np.array([4, -np.inf, -1, np.inf], np.float32)
    half = t(d="f32", values=(0.5,), constant=True)
    for found in _made("pow.Tensor_Tensor", x, t(4), half, result=x):
        np.testing.assert_array_equal(found, np.array([2, np.inf, np.nan, np.inf], np.float32))
    for found in _made("pow.Tensor_Scalar", x, t(4), 0.5, result=x):
        np.testing.assert_array_equal(found, np.array([2, np.nan, np.nan, np.inf], np.float32))


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_a_norm_of_narrow_floats_is_rounded_once(element: str) -> None:
    dtype = DTYPES[element]
    x = np.array([[10, 20, 30], [0.01, 0.02, 0.05]], dtype)
    want = (np.abs(x.astype(np.float64)) ** 3).sum(1) ** (1 / 3)
    for found in _made("linalg_vector_norm.default", x, t(2, 3, d=element), 3, [1], result=want.astype(dtype)):
        np.testing.assert_allclose(found.astype(np.float64), want, rtol=float(finfo(dtype).eps))


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_numbers_beside_narrow_floats_are_rounded_where_pytorch_does(element: str) -> None:
    """A factor or divisor stays as it is; what is added, and alpha, are narrow, and the sum is rounded once."""
    dtype = DTYPES[element]
    x = (np.random.default_rng(1).standard_normal(256) * 2).astype(dtype)
    wide, narrow = x.astype(np.float32), lambda number: np.float32(np.array(number, dtype))
    spec, tenth = t(256, d=element), np.float32(0.1)
    for op, arguments, want in (
        ("mul.Scalar", (0.1,), wide * tenth),
        ("mul.Tensor", (t(d="f32", values=(0.1,), constant=True),), wide * tenth),
        ("div.Scalar", (0.1,), wide / tenth),
        ("add.Scalar", (0.7, 0.3), wide + narrow(0.7) * narrow(0.3)),
        ("rsub.Scalar", (0.7, 0.3), narrow(0.7) - wide * narrow(0.3)),
        ("softshrink.default", (0.3,), np.sign(wide) * np.maximum(np.abs(wide) - np.float32(0.3), 0)),
    ):
        for found in _made(op, x, spec, *arguments, result=x):
            np.testing.assert_array_equal(found.astype(np.float32), want.astype(dtype).astype(np.float32), op)


def test_the_two_16_bit_floats_meet_in_f32() -> None:
    """`x < y` of f16 and bf16 was compared in f16, where 1e-9 is 0."""
    x, y = np.array([0, 65504], np.float16), np.array([1e-9, 1e5], DTYPES["bf16"])
    for found in _made("lt.Tensor", x, t(2, d="f16"), t(d="bf16", values=(1e-9,), constant=True), result=x > x):
        np.testing.assert_array_equal(found, [False, False])  # a number yields to the tensor's floats
    cases = Cases()
    cases.add("lt.Tensor", t(2, d="f16"), t(2, d="bf16"))
    module = module_of(cases.all[0], [np.zeros(2, bool)])
    for dialect in ("top", "tosa"):
        found = transload.run(transload.lower(module, dialect), {"x0": x, "x1": y})
        np.testing.assert_array_equal(next(iter(found.values())), [True, True])


@pytest.mark.parametrize("base", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums_of_infinities_are_these(base: str) -> None:
    """Of two infinities alike there is no difference; PyTorch gives the infinity."""
    inf, nan = np.inf, np.nan
    left, right = np.array([[-inf, inf, inf, -inf, nan, 1], [-inf, inf, -inf, 2, inf, -inf]], np.float32)
    want = np.array([-inf, inf, inf, 2, nan, 1], np.float32)
    other = t(6, values=tuple(right.tolist()), constant=True)
    for found in _made(f"{base}.default", left, t(6), other, result=want):
        np.testing.assert_array_equal(found, want)

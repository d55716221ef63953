"""Powers and norms by them, where numbers are not finite or narrow: by C's `pow`, and by numpy in f64."""

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

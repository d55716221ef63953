"""Constants of a builder hold the numbers that they are given, or none."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from transload.errors import BuildError
from transload.ir import BF16, BOOL, F16, F32, F64, I8, I16, I32, I48, I64, UI8, Block, IntegerType
from transload.ir.build import Builder, constant_of
from transload.ir.constants import Dense, LazyData, SplatData

I4 = IntegerType(4)


@pytest.mark.parametrize(("data", "element"), [
    (300, I8), ([1, 300], I8), (-1, UI8), (np.uint8(200), I8), (1.7, I32), (float("nan"), I32), (float("inf"), I64), (1e300, F32),
    (7e4, F16), (100000, F16), ([9, -9], I4), (1 << 60, I48), (2, BOOL), (2.0**63, I64), (1 + 2j, F32), (-1.0, UI8),
    (SplatData(300, (1 << 40,), np.int64), I8),
    (np.ma.array([1, 2], mask=[False, True]), I32), (ml_dtypes.int4(7), IntegerType(2))])
def test_a_number_that_a_type_does_not_hold_is_refused(data: object, element: object) -> None:
    with pytest.raises(BuildError, match=r"cannot be built: .*(is no number of it|behind a mask)") as caught:
        Builder(Block()).constant(data, element=element)
    assert "test_numbers.py" in str(caught.value) and caught.value.hint


@pytest.mark.parametrize(("data", "element", "held"), [
    ([1, -128], I8, [1, -128]), (255, UI8, 255), (1.0, I32, 1), (True, I8, 1), (0.1, F32, np.float32(0.1)), (1e-300, F32, 0),
    (float("inf"), F32, np.inf), (float("nan"), F16, np.nan), (3, BF16, 3), ([7, -8], I4, [7, -8]),
    ((1 << 47) - 1, I48, (1 << 47) - 1), (np.uint8(5), I16, 5), (2 + 0j, F64, 2), (SplatData(7, (1 << 40,), np.int64), I8, None)])
def test_what_a_type_holds_is_held(data: object, element: object, held: object) -> None:
    dense = constant_of(Builder(Block()).constant(data, element=element))
    assert dense is not None and dense.type.element == element
    if held is not None:
        np.testing.assert_array_equal(dense.numpy().astype(np.float64), held)


def test_what_is_not_in_memory_is_looked_at_when_it_is_read() -> None:
    read = []
    lazy = LazyData(lambda: read.append(1) or np.array([300]), (1,), np.int64)
    dense = constant_of(Builder(Block()).constant(Dense(lazy), element=I8))
    assert dense is not None and not read
    with pytest.raises(BuildError, match="300 is no number of it"):
        dense.numpy()

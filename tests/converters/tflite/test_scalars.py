"""Scalars in operators that go along dimensions, of which they have none, and reductions of nothing, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import run
from transload.ir import Module

pytest.importorskip("ai_edge_litert")
Judge = Callable[..., Module]
Write = Callable[..., bytes]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", [[0], [-1], [3, 0]])
@pytest.mark.parametrize("operator", ["SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"])
def test_a_reduction_of_a_scalar(judge: Judge, write: Write, operator: str, axes: list[int], keep: bool) -> None:
    """Whatever axes it names: they were refused as beyond its rank."""
    over = ((len(axes),), "int32", np.array(axes, np.int32))
    dtypes = ["bool"] if operator in ("REDUCE_ANY", "REDUCE_ALL") else ["float32", "int32"]
    for dtype in dtypes:
        judge(write(operator, [((), dtype), over], [((), dtype)], {"keep_dims": keep}))


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_the_mean_of_a_quantized_scalar(judge: Judge, write: Write, dtype: str) -> None:
    """It becomes a number of the result's scale."""
    zero = 3 if dtype == "int8" else 0
    content = write(
        "MEAN", [((), dtype, None, ((0.047,), (zero,))), ((1,), "int32", np.array([0], np.int32))],
        [((), dtype, None, ((0.069,), (-zero,)))], version=2)
    judge(content, {"in0": np.array(89, dtype)})


@pytest.mark.parametrize("sizes", [(1,), (1, 1)])
@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("kind", [("float32",), ("int8", None, ((0.5,), (3,)))])
def test_a_choice_between_scalars(judge: Judge, write: Write, sizes: tuple[int, ...], holds: bool, kind: Any) -> None:
    scalar = ((), *kind)
    content = write("SELECT", [(sizes, "bool"), scalar, scalar], [scalar])
    judge(content, {"in0": np.full(sizes, holds), "in1": np.array(3, kind[0]), "in2": np.array(-4, kind[0])})


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("operator", ["REDUCE_MAX", "REDUCE_MIN", "SUM", "REDUCE_PROD"])
@pytest.mark.parametrize(("sizes", "axes"), [((2, 0, 3), [1]), ((0, 3), [0, 1]), ((2, 0, 3), [0])])
def test_a_reduction_of_nothing(
    judge: Judge, write: Write, operator: str, sizes: tuple[int, ...], axes: list[int], keep: bool,
) -> None:
    """The greatest of no floats was infinite."""
    made = tuple(1 if axis in axes else size for axis, size in enumerate(sizes) if keep or axis not in axes)
    over = ((len(axes),), "int32", np.array(axes, np.int32))
    for dtype in ("float32", "int32"):
        hub = judge(write(operator, [(sizes, dtype), over], [(made, dtype)], {"keep_dims": keep}))
        assert all(np.isfinite(each).all() for each in run(hub, {"in0": np.zeros(sizes, dtype)}).values())

"""Quotients of floats rounded down: which quotient, in the reference kernels and as what targets write of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import transload
from transload.ir import F32, F64, I32, Type, dtype_of
from transload_hub.simplify.floor_division import write_out_floor_divisions

from tests.support.graphs import Graph

INF, NAN = np.inf, np.nan
WORDS = ("rounded", "exact", "fmod")
ENDS = (0.0, -0.0, 1, -1, 0.3, -0.3, 6, 7, -7, 1e-40, 1e-20, 3e38, -3e38, INF, -INF, NAN)


def divided(word: str, a: np.ndarray, b: np.ndarray, element: Type = F32, by_constant: bool = False) -> transload.Module:
    """A floor division of as many numbers as the arrays have, the second a constant or not."""
    graph = Graph(a.shape, *(() if by_constant else (b.shape,)), element=element)
    divisor = graph.constant(b) if by_constant else graph.inputs[1]
    return graph.done(graph.FloorDiv(graph.inputs[0], divisor, quotient=word))


def made_by(module: transload.Module, *arrays: np.ndarray) -> np.ndarray:
    (made,) = transload.run(module, dict(zip(module.inputs, arrays, strict=False))).values()
    return made


@pytest.mark.parametrize(("word", "wanted"), [
    ("rounded", [9, 9, 0, -INF, INF, INF, NAN, 7, 0]), ("exact", [8, 9, -1, -INF, INF, INF, NAN, 7, 0]),
    ("fmod", [8, 9, -1, -INF, NAN, INF, NAN, 7, -1])])
@pytest.mark.parametrize("element", [F32, F64], ids=str)
def test_which_quotient(word: str, wanted: list[float], element: Type) -> None:
    """0.9 by a little more than 0.1; what is too small, by 0, infinite, too great, 0 by 0, by 1, by infinity."""
    number = dtype_of(element)
    small = np.finfo(number).tiny
    a, b = np.array([0.9, 6, -small, -1, INF, 1 / small, 0, 7, -7], number), np.array(
        [0.1, 0.65, 1 / small, 0, 2, small, 0, 1, INF], number)
    np.testing.assert_array_equal(made_by(divided(word, a, b, element), a, b), wanted)


@pytest.mark.parametrize("by_constant", [False, True])
@pytest.mark.parametrize("target", ["written out", "stablehlo", "onnx"])
@pytest.mark.parametrize("word", WORDS)
def test_what_targets_write_of_them(word: str, target: str, by_constant: bool) -> None:
    """All signs and ends, with the signs of zeros, and what is nearly whole."""
    rng = np.random.default_rng(5)
    b = rng.normal(size=500).astype(np.float32)
    a = (rng.integers(-999, 999, 500) * b).astype(np.float32)
    ends = np.array([*product(ENDS, ENDS)], np.float32).T
    a, b = np.concatenate([a, ends[0]]), np.concatenate([b, ends[1]])
    module = divided(word, a, b, by_constant=by_constant)
    wanted = made_by(module, a, b)
    if target == "written out":
        assert write_out_floor_divisions(module) == (word != "rounded")
    else:
        module = transload.lower(module, target)
    made = made_by(module, a, b)
    np.testing.assert_array_equal(made, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(made)[numbers], np.signbit(wanted)[numbers])


@pytest.mark.parametrize("word", WORDS)
def test_powers_of_two_keep_one_division(word: str) -> None:
    a, b = np.array([7, -7, 0.25, -INF], np.float32), np.array([2, 0.5, -4, 2], np.float32)
    module = divided(word, a, b, by_constant=True)
    wanted = made_by(module, a, b)
    write_out_floor_divisions(module)
    names = [op.name for op in module.ops() if op.name in ("top.FloorDiv", "top.FloorMod", "top.TruncMod", "top.Div")]
    assert names == ["top.FloorDiv"]
    np.testing.assert_array_equal(made_by(module, a, b), wanted)


@pytest.mark.parametrize("word", WORDS)
def test_integers_have_one_quotient(word: str) -> None:
    a, b = np.array([7, -7, 9], np.int32), np.array([2, 2, -4], np.int32)
    module = divided(word, a, b, I32)
    assert not write_out_floor_divisions(module)
    for each in (module, *(transload.lower(module, target) for target in ("tosa", "stablehlo", "onnx"))):
        np.testing.assert_array_equal(made_by(each, a, b), [3, -4, -3])

"""What is wrong in a network written in Python is said in the line that is wrong, and nothing is computed of it."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

from transload.errors import ShapeError, UsageError
from transload.ir import F32 as FLOATS
from transload.ir import TensorType
from transload_hub.network import constant, network, ops, quantized

F32, I8, UI8, I32, F16, I1 = (((4,), name) for name in ("f32", "i8", "ui8", "i32", "f16", "i1"))


@pytest.mark.parametrize(("element", "function", "why"), [
    (I8, lambda x: x + 300, "300 is none of i8"),
    (I8, lambda x: 300 - x, "300 is none of i8"),
    (I8, lambda x: x > 200, "200 is none of i8"),
    (UI8, lambda x: x > -1, "-1 is none of ui8"),
    (UI8, lambda x: x + np.array(-1.0), "there are ui8 and f32"),
    (I8, lambda x: x * [1, 2, 3, 128], "128 is none of i8"),
    (I8, lambda x: x + 2**70, f"{2**70} is none of i8"),
    (((4,), "ui64"), lambda x: x + -5, "-5 is none of ui64"),
    (((4,), "i4"), lambda x: x + 9, "9 is none of i4"),
    (I1, lambda x: x & 2, "2 is none of i1"),
    (F16, lambda x: x * 70000.0, "70000.0 is none of f16"),
    (F32, lambda x: x * 1e40, "1e[+]40 is none of f32"),
    (I8, lambda x: x + constant([300], "i8"), "300 is none of i8"),
    (I8, lambda x: constant([1.5], "i8"), "1.5 is none of i8"),
    (I8, lambda x: constant([300], quantized("i8", 0.5)), "300 is none of i8"),
    (I8, lambda x: constant([2**70]), "is no array of numbers"),
    (I8, lambda x: x + 0.5, "of one element type, but for scales and zero points: there are i8 and f32"),
    (F32, lambda x: x + constant([1], "i32"), "there are f32 and i32"),
    (F32, lambda x: x & 2, "'a' must be a tensor of integers"),
    (F32, lambda x: x[x > 0], "a mask is no subscript"),
    (F32, lambda x: x[np.array([True, False, True, True])], "a mask is no subscript"),
    (F32, lambda x: x[True], "a mask is no subscript"),
    (F32, lambda x: x[x], "'indices' must be a tensor of integers"),
    (F32, lambda x: x[..., ...], r"has ... at most once"),
    (F32, lambda x: ops.If(x > 0, then_region=lambda: x, else_region=lambda: -x), "of one i1, and is tensor<4xi1>"),
    (F32, lambda x: ops.If(x.sum(), then_region=lambda: x, else_region=lambda: -x), "of one i1, and is tensor<f32>"),
    (F32, lambda x: ops.If(x.sum() > 0, then_region=lambda: x, else_region=lambda: x[:2]), "else region yields tensor<2xf32>"),
    (F32, lambda x: ops.While(x, cond=lambda y: y.max() > 1, body=lambda y: y[:2]), "region body yields tensor<2xf32>"),
    (F32, lambda x: ops.While(x, cond=lambda y: y.max(), body=lambda y: y), "region cond yields tensor<f32>"),
])
def test_in_its_line(element: Any, function: Any, why: str) -> None:
    """Constants wrapped, conditions were looked at in their first element, and types were told of at the decorator."""
    def written(x: Any) -> Any:
        return [function(x)]

    with pytest.raises((UsageError, ShapeError), match=why) as raised:
        network(written, x=element)
    assert "return [function(x)]" in [frame.line for frame in traceback.extract_tb(raised.value.__traceback__)]


@pytest.mark.parametrize(("element", "function"), [
    (F32, lambda x: 2 // x), (F32, lambda x: 2 % x), (F32, lambda x: 2 ** x), (I8, lambda x: 2 & x), (I8, lambda x: 6 | x),
    (I8, lambda x: 6 ^ x), (I1, lambda x: True & x), (I8, lambda x: x + 127 - 127),
    (UI8, lambda x: x > 255), (I8, lambda x: x >= -128),
    (F32, lambda x: x * np.float64(0.1)), (I8, lambda x: x + True),
])
def test_what_is_right_is_numpys(element: Any, function: Any) -> None:
    x = np.array([1, 2, 3, 4]).astype({"f32": "f4", "i8": "i1", "ui8": "u1", "i1": "?"}[element[1]])
    made, wanted = network(lambda x: function(x), x=element)(x), np.asarray(function(x))
    np.testing.assert_allclose(made.astype(np.float64), wanted.astype(np.float64), rtol=1e-6)


@pytest.mark.parametrize(("function", "wanted"), [
    (lambda x: x / 2, lambda x: np.trunc(x / 2)), (lambda x: x // 2, lambda x: x // 2),
    (lambda x: x.mean(), lambda x: np.trunc(x.mean())), (lambda x: x.sum(), lambda x: x.sum(dtype=np.int8)),
])
def test_integers_stay_integers_as_the_page_says(function: Any, wanted: Any) -> None:
    for x in (np.array([-7, -3, 120, 121], np.int8), np.array([-7, -3, -1, 0], np.int8)):
        made = network(lambda x: function(x), x=I8)(x)
        assert made.dtype == np.int8
        np.testing.assert_array_equal(made, wanted(x))


def test_a_call_takes_what_there_are_inputs_for() -> None:
    doubled, x = network(lambda x: x * 2, x=F32), np.ones(4, np.float32)
    with pytest.raises(UsageError, match="takes 1 inputs, and was given 3"):
        doubled(x, x, x)
    with pytest.raises(UsageError, match="is given 'x' twice"):
        doubled(x, x=x)


@pytest.mark.parametrize("given", [(-1, 3), (None, 3), (1.5, 3), ((-1, 3), "i8"), 5])
def test_sizes(given: Any) -> None:
    with pytest.raises(UsageError, match="is no type of a tensor: sizes are whole numbers from 0 on"):
        network(lambda x: x, x=given)
    assert network(lambda x: x, x=(np.int64(2), 3)).inputs["x"].shape == (2, 3)


@pytest.mark.parametrize("given", ["?x4xf32", "*xf32", TensorType((None, 4), FLOATS)])
def test_sizes_that_are_left_open(given: object) -> None:
    """Running it raised what is no error of ours."""
    with pytest.raises(UsageError, match="is no type of a tensor: sizes are whole numbers"):
        network(x=given)(lambda x: x)


def test_a_size_below_0_in_a_type_that_is_given() -> None:
    with pytest.raises(Exception, match="size below 0"):
        network(lambda x: x, x=TensorType((-1, 3), network(lambda x: x, x=F32).inputs["x"].element))

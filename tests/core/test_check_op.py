"""`check_op` fails a wrong kernel and a wrong lowering, and says so where its inputs cannot tell them from right ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from transload import Conversion, DialectSpec, KernelTable, RewriteTable
from transload.context import Context
from transload.errors import UsageError
from transload.ir.declare import TENSOR, Dialect, operand, result
from transload.plugin_host import Host
from transload.testing import check_op

from tests.support.plugins import registering

TOY, KERNELS, TO_TOSA = Dialect("toy", "For tests."), KernelTable(), RewriteTable()


@TOY.op("Twice")
class Twice:
    """2 x"""

    x = operand("x", TENSOR)
    y = result("y", TENSOR)

    def infer(op: Any) -> Any:
        return op.x.type


KERNELS("toy.Twice")(lambda op, x: x + x)
TO_TOSA("toy.Twice")(lambda op, rw: rw.emit("top.MulConst", op.x, const_val=3.0))

ZERO, NAN = np.zeros(4, np.float32), np.full(4, np.nan, np.float32)
SMALL = np.linspace(-4e-7, 4e-7, 8, dtype=np.float32)
EMPTY = np.zeros((0, 4), np.float32)


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    host = Host()
    host.register(SimpleNamespace(**registering(
        dialects=[DialectSpec("toy", TOY, kernels=KERNELS)],
        conversions=[Conversion("toy-to-tosa", "toy", "tosa", TO_TOSA, extends="top-to-tosa")])), "toy")
    with Context(host).bind():
        yield


@pytest.mark.parametrize(("x", "why"), [
    (ZERO, "nothing is compared"), (-ZERO, "nothing is compared"), (NAN, "nothing is compared"), (EMPTY, "nothing is compared"),
    (SMALL, "differs from the kernel"), (ZERO + 1, "differs from the kernel"),
], ids=["zeros", "negative zeros", "nan", "empty", "small", "ones"])
def test_a_wrong_lowering_does_not_pass(x: np.ndarray, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        check_op("toy.Twice", x, reference=lambda x: 2 * x, lowers_to=("tosa",))


@pytest.mark.parametrize(("x", "reference"), [
    (SMALL, lambda x: 3 * x),
    (np.array([1 + 2j, 3j], np.complex64), lambda x: 2 * x.real + 3j * x.imag),
    (np.array([1, 2], np.int32), lambda x: 2.5 * x),
    (np.array([1, 2], np.int32), lambda x: np.int32(0)),
    (np.ones(1, np.int32), lambda x: np.zeros(0, np.int32)),
    (np.array([2**63 - 1], np.uint64), lambda x: np.zeros(1, np.uint64)),
    (np.ones((1, 3), np.float32), lambda x: 2 * x[0]),
    (np.ones(3, np.float32), lambda x: np.float32(2)),
], ids=["small", "complex", "fractions", "no dimensions", "empty", "large", "a dimension less", "one number"])
def test_another_reference_does_not_pass(x: np.ndarray, reference: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError, match="differs from the reference"):
        check_op("toy.Twice", x, reference=reference)


@pytest.mark.parametrize("x", [
    np.array([0, 1], np.float32), np.array([np.nan, 1], np.float32), SMALL, np.array([np.inf, 1e30, 1e-30], np.float32),
    np.array([1 + 2j], np.complex64), np.array([-3, 0], np.int8), np.float32(0.5)])
def test_what_is_right_passes(x: np.ndarray) -> None:
    check_op("toy.Twice", np.asarray(x), reference=lambda x: np.multiply(x, x.dtype.type(2)))


def test_zeros_of_other_numbers_are_compared() -> None:
    check_op("top.Relu", -np.ones(3, np.float32), reference=lambda x: np.maximum(x, 0), lowers_to=("tosa",))


def test_integers_of_4_bits_may_differ_by_steps() -> None:
    """They were compared as floats."""
    x, more = np.array([1, 2], ml_dtypes.int4), np.array([3, 4], np.int8)
    check_op("toy.Twice", x, reference=lambda x: more, steps=1)
    with pytest.raises(AssertionError, match="differs from the reference by 1 steps"):
        check_op("toy.Twice", x, reference=lambda x: more)


@pytest.mark.parametrize(("how", "why"), [
    ({"lowers_to": "tosa"}, r"lowers_to is a tuple of dialects: \('tosa',\)"),
    ({"lowers_to": ("toy",)}, "of the dialect toy already: lowering it to that compares the kernel with itself"),
    ({"reference": lambda x: (x, x)}, "the reference gives 2 results, and the op has 1"),
    ({"reference": lambda x: ()}, "the reference gives 0 results, and the op has 1"),
], ids=["text", "own dialect", "too many", "none"])
def test_what_compares_nothing_is_told(how: dict[str, Any], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        check_op("toy.Twice", np.ones(3, np.float32), **how)


@pytest.mark.parametrize("how", [{"constant": (1,)}, {"constant": (-1,)}, {"input_elements": (None, None)}])
def test_inputs_that_there_are_not_are_told(how: dict[str, Any]) -> None:
    """An index beyond them said nothing, and the input was no constant."""
    with pytest.raises(UsageError, match=r"was given 1 inputs of toy.Twice"):
        check_op("toy.Twice", np.ones(3, np.float32), **how)


def test_a_reference_that_computes_in_place_is_given_copies() -> None:
    """It wrote into what the lowering was run on afterwards, and a wrong one passed."""
    def in_place(x: np.ndarray) -> np.ndarray:
        return np.multiply(x, 2, out=x)

    x = np.array([-1, 2], np.float32)
    with pytest.raises(AssertionError, match="lowered to tosa, y differs from the kernel"):
        check_op("toy.Twice", x, reference=in_place, lowers_to=("tosa",))
    assert x.tolist() == [-1, 2]


@pytest.mark.parametrize("limits", [
    {"rtol": "x"}, {"rtol": np.nan}, {"rtol": np.inf}, {"atol": -1}, {"atol": "x"}, {"steps": -1}, {"steps": 1.5},
    {"atol": 10**400}, {"rtol": Fraction(1, 1000)}])
def test_limits_are_numbers_from_0_on(limits: dict[str, Any]) -> None:
    """What is infinite or NaN was kept to by all there is, and text raised what numpy says of it."""
    with pytest.raises(AssertionError, match=rf"{next(iter(limits))} is a (whole )?number from 0 on"):
        check_op("toy.Twice", np.ones(3, np.float32), reference=lambda x: 5 * x, **limits)


def test_inputs_are_arrays() -> None:
    with pytest.raises(UsageError, match=r"takes arrays of numbers as the inputs of toy.Twice, and number 0 is a list"):
        check_op("toy.Twice", [1.0, 2.0])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"arrays of numbers as the inputs of toy.Twice, and number 0 is an array of Python"):
        check_op("toy.Twice", np.array([None, 1.0], object))

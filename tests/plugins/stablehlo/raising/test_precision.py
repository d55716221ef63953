"""`reduce_precision` of numbers below a type's normal ones, and beside them. What is wanted is what XLA gives."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.ir import dtype_of
from transload.text import parse_type

from tests.plugins.stablehlo.raising import raising

NORMAL = 2.0**-14
CASES = [
    # the type, the format, numbers and what they become
    ("f16", "e5m10", [1e-5, 6e-8, 1.0], [1e-5, 6e-8, 1.0]),
    ("f16", "e8m23", [1e-5, 6e-8, 1.0], [1e-5, 6e-8, 1.0]),
    ("f16", "e5m2", [1e-5, 2.0**-24, 1.1], [2.0**-16, 0.0, 1.0]),
    ("f16", "e8m0", [1e-5, -1e-5, 1.5 * NORMAL], [0.0, -0.0, 2 * NORMAL]),
    ("f16", "e4m3", [1e-5, 2.0**-6, 500.0], [0.0, 2.0**-6, np.inf]),
    ("bf16", "e8m2", [2.0**-126, 2.0**-130, 1.1], [2.0**-126, 0.0, 1.0]),
    ("f8E5M2", "e5m2", [2.0**-16, 3 * 2.0**-16, 2.0**-14], [2.0**-16, 3 * 2.0**-16, 2.0**-14]),
    ("f8E4M3FN", "e4m3", [2.0**-9, 2.0**-6, 1.125], [0.0, 2.0**-6, 1.125]),
    ("f8E8M0FNU", "e8m0", [2.0**-100, 2.0**20, 2.0**100], [2.0**-100, 2.0**20, 2.0**100]),
    ("f8E8M0FNU", "e6m2", [2.0**-30, 2.0**20, 1.0], [2.0**-30, 2.0**20, 1.0]),
    ("f32", "e5m10", [NORMAL - 2.0**-25, NORMAL * (1 - 2.0**-12), -NORMAL * (1 - 2.0**-11.5)], [0.0, NORMAL, -0.0]),
]


@pytest.mark.parametrize(("element", "bits", "numbers", "wanted"), CASES)
def test_numbers_below_the_normal_ones(element: str, bits: str, numbers: list[float], wanted: list[float]) -> None:
    """Of f16 they were zeros, and of f32 through f16 those just below were the least normal one."""
    type_, dtype = f"tensor<3x{element}>", dtype_of(parse_type(element))
    module = raising.load(
        f"func.func @main(%x: {type_}) -> {type_} {{\n  %y = stablehlo.reduce_precision %x, format = {bits} : {type_}\n"
        f"  return %y : {type_}\n}}")
    x, want = (np.array(values, np.float32).astype(dtype).astype(np.float64) for values in (numbers, wanted))
    for form in (module, transload.legalize(module)):
        made = np.asarray(raising.run(form, [x.astype(dtype)])[0]).astype(np.float64)
        np.testing.assert_array_equal(made, want)
        np.testing.assert_array_equal(np.signbit(made), np.signbit(want))


@pytest.mark.parametrize("bits", ["e8m23", "e5m3", "e11m20"])
def test_zeros_and_infinities_of_f64_stay_where_it_becomes_f32(bits: str) -> None:
    """Its powers of two are infinite there, and 0 times these was no number."""
    module = raising.load(
        f"func.func @main(%x: tensor<5xf64>) -> tensor<5xf64> {{\n  %y = stablehlo.reduce_precision %x, format = {bits} : "
        "tensor<5xf64>\n  return %y : tensor<5xf64>\n}")
    x = np.array([0.0, -0.0, np.inf, -np.inf, 1.5])
    made = np.asarray(raising.run(transload.lower(module, "tosa"), [x.astype(np.float32)])[0])
    np.testing.assert_array_equal(made, x)
    np.testing.assert_array_equal(np.signbit(made), np.signbit(x))

"""Random numbers that the specification leaves to whoever makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload


def test_the_same_in_every_process() -> None:
    """Their seed was Python's `hash` of bytes, another one in each."""
    module = transload.load(format="stablehlo", text="""
        func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<3xf32> {
          %s = stablehlo.constant dense<3> : tensor<1xi64>
          %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
          return %0 : tensor<3xf32>
        }""")
    ends = dict(zip(module.inputs, (np.float32(0), np.float32(1)), strict=True))
    (drawn,) = transload.run(module, ends, engine="reference").values()
    np.testing.assert_allclose(drawn, [0.25043505, 0.2984082, 0.3043202], rtol=1e-6)


def drawn(distribution: str, element: str, a: Any, b: Any) -> np.ndarray:
    module = transload.load(format="stablehlo", text=f"""
        func.func @main(%a: tensor<{element}>, %b: tensor<{element}>) -> tensor<999x{element}> {{
          %s = stablehlo.constant dense<999> : tensor<1xi64>
          %0 = stablehlo.rng %a, %b, %s, distribution = {distribution}
            : (tensor<{element}>, tensor<{element}>, tensor<1xi64>) -> tensor<999x{element}>
          return %0 : tensor<999x{element}>
        }}""")
    dtype = {"f32": np.float32, "ui64": np.uint64, "i64": np.int64, "ui8": np.uint8}[element]
    (made,) = transload.run(module, dict(zip(module.inputs, (dtype(a), dtype(b)), strict=True)), engine="reference").values()
    return made


@pytest.mark.parametrize("spread", [-2.0, -0.0, 0.0])
def test_a_spread_below_zero(spread: float) -> None:
    made = drawn("NORMAL", "f32", 3, spread)
    assert abs(made.mean() - 3) <= 0.3 and abs(made.std() - abs(spread)) <= 0.2


def test_a_spread_that_is_no_number() -> None:
    assert np.isnan(drawn("NORMAL", "f32", 3, np.nan)).all()


@pytest.mark.parametrize(("element", "low", "high"), [
    ("ui64", 2 ** 64 - 3, 2 ** 64 - 1), ("ui64", 0, 2 ** 64 - 1), ("i64", -2 ** 63, 2 ** 63 - 1), ("i64", 2 ** 63 - 1, -2 ** 63),
    ("ui8", 255, 255)])
def test_integers_to_the_ends_of_their_type(element: str, low: int, high: int) -> None:
    made = [int(each) for each in drawn("UNIFORM", element, low, high)]
    assert all(low <= each < max(high, low + 1) for each in made)

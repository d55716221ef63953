"""NaN among what is sorted: greater than all numbers in the hub, and so in what it is lowered to."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.text import parse_module

NUMBERS = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, 1, 2, 3e38, -3e38, -np.nan], np.float32)


@pytest.mark.parametrize("largest", ["true", "false"])
@pytest.mark.parametrize(("size", "k"), [(12, 12), (12, 9), (12, 3)])
@pytest.mark.parametrize("dialect", ["tosa", "stablehlo"])
def test_order(size: int, k: int, largest: str, dialect: str) -> None:
    x, values, places = f"tensor<2x{size}xf32>", f"tensor<2x{k}xf32>", f"tensor<2x{k}xi32>"
    module = parse_module(
        f'"func.func"() <{{function_type = ({x}) -> ({values}, {places}), sym_name = "main"}}> ({{\n^bb0(%a: {x}):\n'
        f'%r, %i = "top.TopK"(%a) <{{axis = -1 : i64, k = {k} : i64, largest = {largest}}}> : ({x}) -> ({values}, {places})\n'
        f'"func.return"(%r, %i) : ({values}, {places}) -> ()\n}}) : () -> ()\n')
    given = {"arg0": np.random.default_rng(size + k).choice(NUMBERS, (2, size))}
    assert np.isnan(given["arg0"]).any()
    wanted = list(transload.run(module, given, engine="reference").values())
    made = list(transload.run(transload.lower(module, to=dialect), given, engine="reference").values())
    np.testing.assert_array_equal(made[1], wanted[1])
    np.testing.assert_array_equal(made[0], wanted[0])

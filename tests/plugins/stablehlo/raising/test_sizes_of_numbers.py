"""Sizes that depend on numbers: shapes of inputs are asked for only where those are open."""

from __future__ import annotations

import pytest

import transload
from transload.errors import ConversionError, OpenSizes

SET = """func.func @main(%x: tensor<5x3xf32>, %n: tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<5, ?>> {
  %d = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<5x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<5, ?>>
  return %d : tensor<?x3xf32, #stablehlo.bounds<5, ?>>
}"""
RESHAPE = """func.func @main(%x: tensor<6xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
  %d = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}"""
IOTA = """func.func @main(%s: tensor<1xi32>) -> tensor<?xi32> {
  %d = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  return %d : tensor<?xi32>
}"""
OPEN = """func.func @main(%x: tensor<?xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
  %d = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}"""


def _hints(text: str) -> set[str]:
    with pytest.raises(ConversionError) as raised:
        transload.legalize(transload.load(text=text, format="stablehlo"))
    return {finding.hint for finding in raised.value.findings}


@pytest.mark.parametrize("text", [SET, RESHAPE, IOTA])
def test_where_all_inputs_are_static_no_shapes_are_asked_for(text: str) -> None:
    assert _hints(text) == {OpenSizes.GIVEN}


def test_where_one_is_open_they_are() -> None:
    (hint,) = _hints(OPEN)
    assert hint.startswith("give the inputs static shapes")

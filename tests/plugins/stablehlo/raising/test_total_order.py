"""Orders of floats that tell -0 from 0, as the hub has them."""

import numpy as np
import pytest

import transload
from transload.ir import dtype_of
from transload.text import parse_type

NUMBERS = np.array([[0.0, -0.0, -2.0, np.nan, 0.0, -0.0], [-1.0, 0.0, -0.25, -0.0, -np.inf, 0.0]])

TOP_K = """
func.func @main(%x: tensor<2x6xf32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {
  %v, %i = chlo.top_k(%x, k = 4) : tensor<2x6xf32> -> (tensor<2x4xf32>, tensor<2x4xi32>)
  return %v, %i : tensor<2x4xf32>, tensor<2x4xi32>
}"""
SORT = """
func.func @main(%x: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x6xi32>
  %v, %w = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<2x6xf32>, tensor<2x6xi32>) -> (tensor<2x6xf32>, tensor<2x6xi32>)
  return %v, %w : tensor<2x6xf32>, tensor<2x6xi32>
}"""


def _hub(text, element):
    return transload.legalize(transload.load(text=text.replace("f32", element), format="stablehlo"))


@pytest.mark.parametrize("element", ["f32", "f16", "bf16", "f64"])
@pytest.mark.parametrize("text", [TOP_K, SORT])
def test_a_negative_zero_is_less(text, element):
    x = NUMBERS.astype(dtype_of(parse_type(element)))
    module = _hub(text, element)
    values, places = transload.run(module, {transload.ir.input_names(module.main)[0]: x}).values()
    largest = text is TOP_K
    for row, given in enumerate(x.astype(np.float64)):
        rank = [(np.isnan(v), 0 if np.isnan(v) else v, not np.signbit(v)) for v in given]
        wanted = sorted(range(6), key=lambda i: rank[i], reverse=False)
        if largest:
            wanted = sorted(range(6), key=lambda i: (tuple(-float(part) for part in rank[i]), i))[:4]
        assert places[row].tolist() == wanted
        assert values[row].tobytes() == x[row][wanted].tobytes()


def test_integers_and_exponentials_cost_nothing():
    assert [op.name for op in _hub(TOP_K, "i16").ops()][:-1] == ["top.TopK"]
    text = TOP_K.replace("%v, %i = chlo.top_k(%x", "%e = stablehlo.exponential %x : tensor<2x6xf32>\n  %v, %i = chlo.top_k(%e")
    assert not {"top.Reciprocal", "top.Where"} & {op.name for op in _hub(text, "f32").ops()}

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
CALLED = """
func.func @main(%x: tensor<2x6xf32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {
  %v, %i = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 4 : i64, largest = true}, mhlo.version = 1 : i64}
    : (tensor<2x6xf32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
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
@pytest.mark.parametrize("text", [TOP_K, CALLED, SORT])
def test_a_negative_zero_is_less(text, element):
    x = NUMBERS.astype(dtype_of(parse_type(element)))
    module = _hub(text, element)
    values, places = transload.run(module, {transload.ir.input_names(module.main)[0]: x}).values()
    largest = text is not SORT
    for row, given in enumerate(x.astype(np.float64)):
        rank = [(np.isnan(v), 0 if np.isnan(v) else v, not np.signbit(v)) for v in given]
        wanted = sorted(range(6), key=lambda i: rank[i], reverse=False)
        if largest:
            wanted = sorted(range(6), key=lambda i: (tuple(-float(part) for part in rank[i]), i))[:4]
        assert places[row].tolist() == wanted
        assert values[row].tobytes() == x[row][wanted].tobytes()


@pytest.mark.parametrize("text", [TOP_K, CALLED, SORT])
def test_doubles_are_in_order_where_they_become_single_numbers(text):
    """The least double that stood for -0 is 0 of f32."""
    _same_on_the_hub(text.replace("f32", "f64"), [NUMBERS])


def test_integers_and_exponentials_cost_nothing():
    assert [op.name for op in _hub(TOP_K, "i16").ops()][:-1] == ["top.TopK"]
    text = TOP_K.replace("%v, %i = chlo.top_k(%x", "%e = stablehlo.exponential %x : tensor<2x6xf32>\n  %v, %i = chlo.top_k(%e")
    assert not {"top.Reciprocal", "top.Where"} & {op.name for op in _hub(text, "f32").ops()}


KEYS = """
func.func @main(%x: tensor<12xf32>, %y: tensor<12xf32>, %i: tensor<12xi32>) -> (tensor<12xf32>, tensor<12xf32>, tensor<12xi32>) {
  %u, %v, %w = "stablehlo.sort"(%x, %y, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %e = stablehlo.compare EQ, %a, %b, FIRST : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare GT, %a, %b, FIRST : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.compare LT, %c, %d, SECOND : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %n = stablehlo.and %e, %m : tensor<i1>
    %o = stablehlo.or %l, %n : tensor<i1>
    stablehlo.return %o : tensor<i1>
  }) : (tensor<12xf32>, tensor<12xf32>, tensor<12xi32>) -> (tensor<12xf32>, tensor<12xf32>, tensor<12xi32>)
  return %u, %v, %w : tensor<12xf32>, tensor<12xf32>, tensor<12xi32>
}"""


@pytest.mark.parametrize("first", ["FLOAT", "TOTALORDER"])
@pytest.mark.parametrize("second", ["FLOAT", "TOTALORDER"])
def test_each_key_has_its_own_order(first, second):
    """One key by the total order had all of them by it."""
    zeros = np.array([0.0, -0.0, 0.0, -0.0, 1, 1, 0.0, -0.0, 0.0, 1, -0.0, 1], np.float32)
    arrays = [zeros, zeros[[3, 1, 0, 7, 2, 4, 10, 8, 6, 5, 9, 11]], np.arange(12, dtype=np.int32)]
    _same_on_the_hub(KEYS.replace("FIRST", first).replace("SECOND", second), arrays)


@pytest.mark.parametrize("zeros", [True, False])
def test_one_nan_of_all_is_not_one_zero_of_both(zeros):
    """Of `select(x != x, NaN, x)` zeros were taken as equal, as they are after `select(x == 0, 0, x)`."""
    lines = ["%k = stablehlo.constant dense<0x7FC00000> : tensor<f32>", "%z = stablehlo.constant dense<0.0> : tensor<f32>"]
    for name in "ab":
        asked, put = (f"EQ, %{name}, %z", "%z") if zeros else (f"NE, %{name}, %{name}", "%k")
        lines += [
            f"%{name}1 = stablehlo.compare {asked}, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
            f"%{name}2 = stablehlo.select %{name}1, {put}, %{name} : tensor<i1>, tensor<f32>"]
    text = SORT.replace("%c = stablehlo.compare LT, %a, %b,", "\n    ".join([*lines, "%c = stablehlo.compare LT, %a2, %b2,"]))
    _same_on_the_hub(text, [NUMBERS.astype(np.float32)])


def _same_on_the_hub(text, arrays):
    module = transload.load(text=text, format="stablehlo")
    for form in (transload.legalize(module), transload.lower(module, "tosa")):
        given = dict(zip(transload.ir.input_names(form.main), arrays, strict=True))
        want = transload.run(module, dict(zip(transload.ir.input_names(module.main), arrays, strict=True)))
        for mine, theirs in zip(transload.run(form, given).values(), want.values(), strict=True):
            mine = np.asarray(mine).astype(theirs.dtype)  # TOSA has f32 for f64
            assert mine.tobytes() == np.asarray(theirs).tobytes()

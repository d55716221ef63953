"""The place of an extreme where all elements are as the initial value is: it is the initial place, or the first or last one."""

import numpy as np
import pytest

import transload

PROGRAM = """
func.func @main(%x: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<3x4xi32>
  %v = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %p = stablehlo.constant dense<PLACE> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%x, %i, %v, %p) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %m: tensor<i32>, %b: tensor<f32>, %n: tensor<i32>):
    BODY
    stablehlo.return %s, %t : tensor<f32>, tensor<i32>
  }) : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
  return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
}"""
KEEPS = """
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = stablehlo.select %c, %a, %b : tensor<i1>, tensor<f32>
    %t = stablehlo.select %c, %m, %n : tensor<i1>, tensor<i32>"""
ASKS = """
    %c = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %e = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare ORDER, %m, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %f = stablehlo.and %e, %l : tensor<i1>
    %d = stablehlo.or %c, %f : tensor<i1>
    %s = stablehlo.select %d, %a, %b : tensor<i1>, tensor<f32>
    %t = stablehlo.select %d, %m, %n : tensor<i1>, tensor<i32>"""
NUMBERS = np.array([[1, 5, 5, -2], [-np.inf] * 4, [-np.inf, -np.inf, 3, -np.inf]], np.float32)


@pytest.mark.parametrize("place", [0, -1, 2, 3, 7])
@pytest.mark.parametrize("body", [KEEPS, ASKS.replace("ORDER", "LT"), ASKS.replace("ORDER", "GT")])
def test_an_initial_place_is_a_place(body, place):
    """That of a row of nothing but -inf was 0, or the last, whatever place the reduction began with."""
    module = transload.load(text=PROGRAM.replace("BODY", body).replace("PLACE", str(place)), format="stablehlo")
    hub = transload.legalize(module)
    assert "top.Arg" in {op.name for op in hub.ops()}
    wanted = list(transload.run(module, {next(iter(module.inputs)): NUMBERS}).values())
    for form in (hub, transload.lower(hub, "tosa")):
        for mine, theirs in zip(transload.run(form, {next(iter(form.inputs)): NUMBERS}).values(), wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_an_initial_place_that_changes_nothing_costs_nothing():
    module = transload.load(text=PROGRAM.replace("BODY", KEEPS).replace("PLACE", "0"), format="stablehlo")
    assert "top.Where" not in {op.name for op in transload.legalize(module).ops()}

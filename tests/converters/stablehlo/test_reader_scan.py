"""CHLO's scan, whose decomposition by the bindings knows one direction only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ReadError
from transload_converters.stablehlo import bindings

from tests.support.judge_versions import newer_jaxlib

pytestmark = pytest.mark.skipif(bindings.available() is not None, reason="no jaxlib")

PROGRAM = """
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %i: tensor<2xf32>) -> (tensor<2x4xf32>, tensor<2xf32>) {
  %o, %c = chlo.scan(%x, %y) inits(%i) dimension = 1 ATTRIBUTES {
  ^bb0(%a: tensor<2xf32>, %d: tensor<2xf32>, %b: tensor<2xf32>):
    %t = stablehlo.multiply %b, %d : tensor<2xf32>
    %s = stablehlo.add %a, %t : tensor<2xf32>
    stablehlo.return %s, %s : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return %o, %c : tensor<2x4xf32>, tensor<2xf32>
}
"""


@newer_jaxlib("does not know chlo.scan")
@pytest.mark.parametrize("attributes", ["", "attributes {is_reverse = false}", "attributes {is_reverse = true}"])
def test_both_directions(attributes: str, tmp_path: Path) -> None:
    path = tmp_path / "scan.mlir"
    path.write_text(PROGRAM.replace("ATTRIBUTES", attributes))
    rng = np.random.default_rng(0)
    x, y, carry = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 4), (2, 4), (2,)))
    outputs = list(transload.run(transload.load(path), {"arg0": x, "arg1": y, "arg2": carry}).values())
    wanted = np.zeros_like(x)
    for place in range(3, -1, -1) if "true" in attributes else range(4):
        carry = x[:, place] + carry * y[:, place]
        wanted[:, place] = carry
    np.testing.assert_allclose(outputs[0], wanted, rtol=1e-6)
    np.testing.assert_allclose(outputs[1], carry, rtol=1e-6)


@newer_jaxlib("does not know chlo.scan")
def test_a_function_that_ends_in_another_op_is_refused() -> None:
    text = PROGRAM.replace("ATTRIBUTES", "").replace("stablehlo.return %s, %s :", '"test.other"(%s, %s) :').replace(
        ": tensor<2xf32>, tensor<2xf32>\n", ": (tensor<2xf32>, tensor<2xf32>) -> ()\n")
    with pytest.raises(ReadError, match=r"the function of chlo.scan ends in test.other") as caught:
        transload.load(text=text, format="stablehlo")
    assert caught.value.hint == "end it in stablehlo.return"


def test_chlo_in_a_module_within_a_module() -> None:
    text = """module { module { func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = chlo.square %x : tensor<2xf32> -> tensor<2xf32>
      return %0 : tensor<2xf32>
    } } func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> } }"""
    module = transload.load(text=text, format="stablehlo")
    assert "stablehlo.multiply" in {op.name for op in module.walk()}

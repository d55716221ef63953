"""Reductions whose function combines tensors of what is left, as upstream's verifier allows; the specification has scalars."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, ReadError
from transload.ir import input_names

X, INIT = np.arange(12, dtype=np.int32).reshape(3, 4), np.array([0, 100, 200, 300], np.int32)


def program(combines: str, init: str = "tensor<4xi32>", of: str = "tensor<4xi32>") -> str:
    return f'''"func.func"() <{{function_type = (tensor<3x4xi32>, {init}) -> tensor<4xi32>, sym_name = "main"}}> ({{
^bb0(%x: tensor<3x4xi32>, %init: {init}):
  %r = "stablehlo.reduce"(%x, %init) <{{dimensions = array<i64: 0>}}> ({{
  ^bb0(%a: {of}, %b: {of}):
    %c = "stablehlo.{combines}"(%a, %b) : ({of}, {of}) -> {of}
    "stablehlo.return"(%c) : ({of}) -> ()
  }}) : (tensor<3x4xi32>, {init}) -> tensor<4xi32>
  "func.return"(%r) : (tensor<4xi32>) -> ()
}}) : () -> ()'''


@pytest.mark.parametrize(("combines", "wanted"), [
    ("add", X.sum(0) + INIT), ("maximum", np.maximum(X.max(0), INIT)), ("subtract", INIT - X.sum(0))])
def test_tensors_are_combined_one_behind_the_other(combines: str, wanted: np.ndarray) -> None:
    module = transload.load(text=program(combines), format="stablehlo")
    for engine in ("reference", "auto"):
        outputs = transload.run(module, {"arg0": X, "arg1": INIT}, engine=engine)
        np.testing.assert_array_equal(next(iter(outputs.values())), wanted)
    if combines == "subtract":
        with pytest.raises(ConversionError, match="combines tensors"):
            transload.lower(module)
        return
    lowered = transload.lower(module)
    outputs = transload.run(lowered, dict(zip(input_names(lowered.main), (X, INIT), strict=True)))
    np.testing.assert_array_equal(next(iter(outputs.values())), wanted)


@pytest.mark.parametrize(("init", "of", "why"), [
    ("tensor<3xi32>", "tensor<3xi32>", "initial values are scalars, or have the shape of the results"),
    ("tensor<4xi32>", "tensor<i32>", "must be of shape"), ("tensor<i32>", "tensor<4xi32>", "must be scalars")])
def test_other_shapes_are_refused(init: str, of: str, why: str) -> None:
    with pytest.raises(ReadError, match=why):
        transload.load(text=program("add", init, of), format="stablehlo")

"""Random numbers that the specification leaves to whoever makes them."""

from __future__ import annotations

import numpy as np

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

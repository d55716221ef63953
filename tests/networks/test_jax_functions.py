"""Functions that networks are made of, and symbolic shapes: JAX's results in the hub, in TOSA and in StableHLO again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="install jax to export its functions")
pytest.importorskip("jaxlib", reason="jaxlib reads StableHLO's pretty text; install transload[stablehlo]")

import jax
from jax import export

import transload
from transload.ir import Module, input_names

from tests.networks.jax_functions import FUNCTIONS, SYMBOLIC
from tests.networks.journey import run

TOLERANCE = {"bf16_mlp": 3e-2, "f16_layer_norm": 2e-3}  # of 8 and of 11 bits of mantissa


def check(module: Module, inputs: list[np.ndarray], wanted: list[np.ndarray], tolerance: float = 1e-5) -> None:
    for result, expected in zip(run(module, inputs), wanted, strict=True):
        assert result.shape == expected.shape
        largest = float(np.abs(expected.astype(np.float64)).max(initial=1e-30))
        exact = expected.dtype.kind != "f"
        np.testing.assert_allclose(result.astype(np.float64), expected, rtol=0, atol=0 if exact else tolerance * largest)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    function, *arguments = FUNCTIONS[name]
    inputs = [np.asarray(a) for a in arguments]
    wanted = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(function)(*arguments))]
    program = export.export(jax.jit(function))(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in inputs))
    hub = transload.legalize(transload.load(text=program.mlir_module().encode(), format="stablehlo"))
    for module in (hub, transload.lower(hub, "tosa"), transload.lower(hub, "stablehlo")):
        check(module, inputs, wanted, TOLERANCE.get(name, 1e-5))


@pytest.mark.parametrize("name", SYMBOLIC)
def test_symbolic_shape(name: str) -> None:
    function, shape, x = SYMBOLIC[name]
    program = export.export(jax.jit(function))(jax.ShapeDtypeStruct(export.symbolic_shape(shape), x.dtype))
    text = program.mlir_module().encode()
    argument: Any = input_names(transload.load(text=text, format="stablehlo").main)[-1]
    hub = transload.legalize(transload.load(text=text, format="stablehlo", inputs={argument: x.shape}))
    for module in (hub, transload.lower(hub, "tosa")):
        check(module, [x], [np.asarray(jax.jit(function)(x))])

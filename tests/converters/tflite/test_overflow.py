"""Where LiteRT's integers overflow, nothing can be judged by what it gives; where they do not, everything can."""

from __future__ import annotations

import numpy as np
import pytest

from transload.ir import F32, I8, I32, Dense, Module, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload_converters.tflite.overflow import overflows

X, MADE = QuantType(I8, F32, (0.02,), (-128,)), QuantType(I8, F32, (0.02,), (-128,))


def layer(scales: tuple[float, float], bias: int) -> Module:
    """A matrix product of 64 numbers by two columns of weights, each with a scale of its own."""
    weights = QuantType(I8, F32, scales, (0, 0), 1)
    module = new_module()
    module.add_function("main", [TensorType((1, 64), X)], ["x"])
    build = Builder(module.body_of_main)
    held = np.full((64, 2), 127, np.int8)
    sums = QuantType(I32, F32, tuple(X.scale * scale for scale in scales), (0, 0), 0)
    made = build.emit(
        "top.MatMul", module.body_of_main.arguments[0], build.constant(Dense(held, TensorType((64, 2), weights))),
        build.constant(Dense(np.array([bias, 0], np.int32), TensorType((2,), sums))), types=[TensorType((1, 2), MADE)])
    set_results(module.main, [made])
    return module


@pytest.mark.parametrize(("scales", "bias", "fits"), [
    ((0.01, 0.01), 0, True), ((1e-9, 0.01), 1000, True),  # a channel of next to nothing says nothing of the other
    ((1e-9, 0.01), 2**31 - 1, False)])
def test_each_channel_is_counted_in_its_own_steps(scales: tuple[float, float], bias: int, fits: bool) -> None:
    said = overflows(layer(scales, bias), {"x": np.full((1, 64), 127, np.int8)})
    assert (not said) == fits, said

"""Quantized modules go by way of TOSA: the same bits, and functions that take and give what they did."""

from __future__ import annotations

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import F32, I8, I64, UI8, QuantType, TensorType
from transload.testing import build_module

from .conftest import check


@pytest.mark.parametrize("storage", [I8, UI8])
def test_a_function_takes_and_gives_its_own_types(xla, rng, storage):
    type_ = QuantType(storage, F32, (0.1,), (3,))

    def make(builder, x, y):
        total = builder.emit("top.Add", x, y, element=type_)
        return [total, builder.emit("top.Arg", total, axis=1, mode="ArgMax")]

    types = [TensorType((4, 9), type_)] * 2
    low, high = storage.range
    arrays = [rng.integers(low, high, (4, 9), endpoint=True).astype(np.uint8 if storage == UI8 else np.int8) for _ in range(2)]
    lowered = check(build_module(types, make), arrays)
    inputs = [value.type for value in lowered.body_of_main.arguments]
    outputs = [value.type for value in lowered.body_of_main.terminator.operands]
    assert inputs == [TensorType((4, 9), storage)] * 2
    assert outputs == [TensorType((4, 9), storage), TensorType((4, 1), I64)]


def test_unused_quantized_weights_are_nothing(xla, rng):
    """A weight that was folded away leaves a float model, which is converted directly, in its own layout."""
    x = rng.standard_normal((1, 3, 5, 5)).astype(np.float32)
    w = rng.integers(-127, 128, (2, 3, 3, 3)).astype(np.int8)

    def make(builder, x):
        stored = builder.constant(w, QuantType(I8, F32, (0.5,), (0,)))
        return builder.emit("top.Conv", x, builder.emit("top.Cast", stored, element=F32), kernel_shape=(3, 3))

    module = build_module([TensorType(x.shape, F32)], make)
    lowered = lower(module, "stablehlo")
    assert [op.name for op in lowered.body_of_main if op.name != "stablehlo.constant"] == ["stablehlo.convolution", "func.return"]
    np.testing.assert_allclose(run(lowered, {"x0": x}, engine="xla")["y"], run(module, {"x0": x})["y"], rtol=1e-4, atol=1e-4)

"""Ops on tensors with a scale for each block, which are not constants: in the hub, in TOSA and in XLA the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ShapeError
from transload.ir import F32, I8, QuantType, TensorType, Value, new_module, set_results
from transload.ir.build import Builder
from transload.ir.quantization import permuted, quantized_over
from transload.ir.verify import check
from transload.passes.manager import Pipeline

G = np.random.default_rng(3)
LIKE = QuantType(I8, F32, (1.0,), (0,))
BLOCKS = quantized_over(LIKE, 2.0 ** -G.integers(3, 6, (4, 2)), G.integers(-4, 5, (4, 2)), [1, 4])
"""Of a tensor [4, 8]; scales are powers of two, so that no engine rounds."""


def move(name: str, **attributes: Any) -> Callable[[Builder, Value], Value]:
    return lambda build, x: build.emit(f"top.{name}", x, **attributes)


CASES: dict[str, Callable[[Builder, Value], Value]] = {
    "Permute": move("Permute", order=(1, 0)),
    "Reshape": move("Reshape", shape=(4, 2, 4)),
    "Slice through blocks": move("Slice", offset=(1, 2), ends=(4, 8), steps=(1, 1)),
    "Slice with steps": move("Slice", offset=(0, 7), ends=(4, -1), steps=(2, -3)),
    "Reverse": move("Reverse", axes=(1,)),
    "Unsqueeze": move("Unsqueeze", axes=(1,)),
    "Split": lambda build, x: build.emit("top.Split", x, axis=1, split_size=(2, 6))[1],
    "Relu": move("Relu"),
    "Add": lambda build, x: build.emit("top.Add", x, x, element=QuantType(I8, F32, (0.25,), (3,))),
    "to another type": move("Cast", element=QuantType(I8, F32, (0.25,), (3,))),
    "Reduce": move("Reduce", axes=(1,), keepdims=True, mode="ReduceSum", element=QuantType(I8, F32, (0.5,), (0,))),
    "real again": move("Cast", element=F32),
}


@pytest.mark.parametrize("name", CASES)
def test_ops_on_blocks(name: str) -> None:
    module = new_module()
    module.add_function("main", [TensorType((4, 8), F32)], ["x"])
    build = Builder(module.body_of_main, None, "y")
    stored = build.emit("top.Cast", module.body_of_main.arguments[0], element=BLOCKS)
    set_results(module.main, [CASES[name](build, stored)], ["y"])
    assert not check(module)
    given = {"x": (G.standard_normal((4, 8)) * 2).astype(np.float32)}
    wanted = transload.run(module, given)["y"]
    np.testing.assert_array_equal(transload.run(transload.lower(module, to="tosa"), given)["y"], wanted)
    np.testing.assert_array_equal(transload.run(transload.lower(module, to="stablehlo"), given, engine="xla")["y"], wanted)


def test_a_reshape_that_tears_blocks_is_refused() -> None:
    module = new_module()
    module.add_function("main", [TensorType((8, 4), permuted(BLOCKS, (1, 0)))], ["x"])
    with pytest.raises(ShapeError, match="are no blocks of"):
        Builder(module.body_of_main, None, "y").emit("top.Reshape", module.body_of_main.arguments[0], shape=(32,))


@pytest.mark.parametrize("pipeline", ["layout{to=NHWC}", "canonicalize,layout{to=NHWC},fold-constants", "dequantize-weights,dce"])
def test_a_filter_keeps_its_numbers_in_every_layout(pipeline: str) -> None:
    """A filter `[O, I, H, W]` with scales for blocks of input channels, turned with the graph."""
    module = new_module()
    module.add_function("main", [TensorType((1, 8, 5, 5), F32)], ["x"])
    build = Builder(module.body_of_main, None, "y")
    held = quantized_over(LIKE, G.uniform(0.01, 0.1, (3, 2, 1, 1)), G.integers(-4, 5, (3, 2, 1, 1)), [1, 4, 3, 3])
    weights = build.constant(G.integers(-128, 128, (3, 8, 3, 3)).astype(np.int8), element=held)
    real = build.emit("top.Cast", weights, element=F32)
    set_results(module.main, [build.emit("top.Conv", module.body_of_main.arguments[0], real, kernel_shape=(3, 3))], ["y"])
    given = {"x": G.standard_normal((1, 8, 5, 5)).astype(np.float32)}
    wanted = transload.run(module, given)["y"]
    Pipeline.parse(pipeline).run(module)
    assert not check(module)
    np.testing.assert_allclose(transload.run(module, given)["y"], wanted, rtol=1e-4, atol=1e-4)
    tosa = transload.lower(module, to="tosa")
    np.testing.assert_allclose(transload.run(tosa, given)["y"], wanted, rtol=1e-4, atol=1e-4)


def test_weights_are_dequantized_as_a_cast_says() -> None:
    """By the pass the same bits as by the cast's kernel."""
    module = new_module()
    module.add_function("main", [TensorType((4, 8), F32)], ["x"])
    build = Builder(module.body_of_main, None, "y")
    real = build.emit("top.Cast", build.constant(G.integers(-128, 128, (4, 8)).astype(np.int8), element=BLOCKS), element=F32)
    set_results(module.main, [build.emit("top.Add", module.body_of_main.arguments[0], real)], ["y"])
    wanted = transload.run(module, {"x": np.zeros((4, 8), np.float32)})["y"]
    Pipeline.parse("dequantize-weights,dce").run(module)
    assert not any(value.is_quantized for op in module.walk() for value in op.results)
    np.testing.assert_array_equal(transload.run(module, {"x": np.zeros((4, 8), np.float32)})["y"], wanted)

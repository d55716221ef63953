"""Functions of `top` ops to change the layout of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import run
from transload.ir import F32, Module, TensorType, Value, new_module, set_results, verify
from transload.ir.build import Builder
from transload_hub.layout.change import change_layout


class Network:
    """A function being built: `net("Conv", x, w, kernel_shape=(3, 3))`; arrays become constants."""

    def __init__(self, *shapes: Any) -> None:
        self.module = new_module()
        types = [shape if isinstance(shape, TensorType) else TensorType(shape, F32) for shape in shapes]
        self.module.add_function("main", types, [f"x{i}" for i in range(len(types))])
        self.block = self.module.body_of_main
        self.inputs = self.block.arguments
        self.rng = np.random.default_rng(0)
        self.builder = Builder(self.block)

    def __call__(self, name: str, *operands: Any, **attributes: Any) -> Any:
        values = [self.builder.constant(operand) if isinstance(operand, np.ndarray) else operand for operand in operands]
        return self.builder.emit(f"top.{name}", *values, **attributes)

    def numbers(self, *shape: int) -> np.ndarray:
        return self.rng.normal(size=shape).astype(np.float32)

    def conv(self, x: Any, outputs: int, layout: str = "NCHW", kernel: int = 3, **attributes: Any) -> Any:
        """A convolution that keeps the spatial sizes."""
        rank = x.rank - 2
        inputs = x.shape[1 if layout == "NCHW" else -1]
        sizes = (kernel,) * rank
        filter_ = self.numbers(outputs, inputs, *sizes) if layout == "NCHW" else self.numbers(outputs, *sizes, inputs)
        return self(
            "Conv", x, filter_, self.numbers(outputs), kernel_shape=sizes, pads=(kernel // 2,) * (2 * rank), layout=layout,
            **attributes)

    def done(self, *values: Value) -> Module:
        set_results(self.module.main, values, [f"y{i}" for i in range(len(values))])
        verify(self.module)
        return self.module


def feed(module: Module, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {f"x{i}": rng.normal(size=v.shape).astype(np.float32) for i, v in enumerate(module.body_of_main.arguments)}


def names(module: Module) -> list[str]:
    return [op.name.partition(".")[2] for op in module.ops()]


@pytest.fixture
def network() -> type[Network]:
    return Network


@pytest.fixture
def turned() -> Callable[..., Module]:
    """`turned(module, to="NHWC", permutes=None)`: the module after the pass, which computes the same with so many Permutes."""

    def turn(module: Module, to: str = "NHWC", permutes: int | None = None) -> Module:
        given = feed(module)
        wanted = run(module, given)
        made = module.clone()
        types = made.main.attributes["function_type"]
        changed = change_layout(made, to)
        verify(made)
        assert made.main.attributes["function_type"] == types
        got = run(made, given)
        assert list(got) == list(wanted)
        for name, array in wanted.items():
            np.testing.assert_allclose(got[name], array, rtol=1e-4, atol=1e-5)
        for op in made.ops():
            declared = op.declaration.attributes.get("layout")
            assert declared is None or op.layout == to or not declared.kind.accepts(to)
        if permutes is not None:
            assert names(made).count("Permute") == permutes, names(made)
        assert changed or names(made) == names(module)
        return made

    return turn



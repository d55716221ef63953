"""Small graphs of `top` ops, and a check that a pass changes what they look like and not what they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transload.plugin_host  # noqa: F401 - registers the dialects
from transload.engine.reference import prepare
from transload.ir import Module, TensorType, element_type_of, new_module, set_results, verify
from transload.ir.build import Builder
from transload.ir.compare import difference
from transload.text import parse_module, print_module


class Graph:
    """Builds a module of one function: inputs first, then ops by `emit`, then `done`."""

    def __init__(self, *shapes: Any, dtype: Any = np.float32, element: Any = None) -> None:
        self.module = new_module()
        self.names = [f"in{index}" for index in range(len(shapes))]
        types = [s if isinstance(s, TensorType) else TensorType(s, element or element_type_of(dtype)) for s in shapes]
        self.main = self.module.add_function("main", types, self.names)
        self.block = self.main.regions[0].block
        self.builder = Builder(self.block)
        self.inputs = self.block.arguments
        self.rng = np.random.default_rng(0)
        self.count = 0

    def emit(self, name: str, *operands: Any, location: Any = None, **attributes: Any) -> Any:
        self.count += 1
        values = [self.weight(operand) if isinstance(operand, (np.ndarray, float)) else operand for operand in operands]
        return self.builder.emit(f"top.{name}", *values, location=location or f"{name}{self.count}", **attributes)

    def weight(self, array: Any) -> Any:
        return self.builder.constant(np.asarray(array, np.float32) if isinstance(array, float) else array)

    def random(self, *shape: int, positive: bool = False) -> np.ndarray:
        array = self.rng.standard_normal(shape).astype(np.float32)
        return np.abs(array) + np.float32(0.5) if positive else array

    def done(self, *values: Any) -> Module:
        set_results(self.main, values, [f"out{index}" for index in range(len(values))])
        verify(self.module)
        return self.module


def op_names(module: Module) -> list[str]:
    """Names of all ops but constants and the return, in order, without `top.`"""
    return [
        op.name.removeprefix("top.")
        for op in module.ops()
        if op.name not in ("top.Weight", "top.None", "func.return", "top.Yield")
    ]


def execute(module: Module, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    inputs = {}
    for name, value in zip([f"in{i}" for i in range(9)], module.body_of_main.arguments, strict=False):
        array = rng.standard_normal([size or 2 for size in value.shape]) * 2
        inputs[name] = array.astype(np.float32) if str(value.element).startswith("f") else np.round(array).astype(np.int32)
    return list(prepare(module)(inputs, False).values())


def check_pass(run: Callable[[Module], bool], module: Module, names: Sequence[str], rtol: float = 1e-5) -> Module:
    """Run a pass: the ops become `names`, results stay, the second run changes nothing, and text holds it all."""
    before = execute(module)
    run(module)
    verify(module)
    assert op_names(module) == list(names)
    for want, have in zip(before, execute(module), strict=True):
        np.testing.assert_allclose(have, want, rtol=rtol, atol=rtol)
        assert have.dtype == want.dtype
    assert not run(module)
    assert difference(module, parse_module(print_module(module))) is None
    return module


@pytest.fixture
def kit() -> SimpleNamespace:
    return SimpleNamespace(Graph=Graph, op_names=op_names, execute=execute, check=check_pass)

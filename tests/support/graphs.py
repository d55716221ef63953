"""Small graphs of `top` ops, and a check that a pass changes what they look like and not what they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.engine.reference import prepare
from transload.ir import F32, Dense, FloatType, Module, TensorType, Type, Value, add_state, new_module, set_results, verify
from transload.ir.build import Builder
from transload.ir.compare import difference
from transload.text import parse_module, print_module

__all__ = ["Graph", "check_pass", "execute", "op_names", "summing"]


class Graph:
    """A function of `top` ops being written: `g.Add(x, g.Conv(y, weights, kernel_shape=(3, 3)))`.

    Its arguments, `inputs`, have the given shapes (or types) and are called x0, x1, ...; arrays and numbers among
    operands become constants.
    """

    def __init__(self, *shapes: Any, element: Type = F32) -> None:
        self.module = new_module()
        self.element = element
        types = [shape if isinstance(shape, TensorType) else TensorType(shape, element) for shape in shapes]
        self.main = self.module.add_function("main", types, [f"x{index}" for index in range(len(types))])
        self.block = self.module.body_of_main
        self.builder = Builder(self.block)
        self.inputs = list(self.block.arguments)
        self.rng = np.random.default_rng(0)
        self.count = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name[:1].isupper():
            raise AttributeError(name)
        return lambda *operands, **attributes: self.emit(name, *operands, **attributes)

    def emit(self, name: str, *operands: Any, location: Any = None, **attributes: Any) -> Any:
        """Add `top.NAME`, which is called after its name and number where no location is given."""
        self.count += 1
        values = [self.constant(operand) if isinstance(operand, float | np.ndarray) else operand for operand in operands]
        return self.builder.emit(f"top.{name}", *values, location=location or f"{name}{self.count}", **attributes)

    def constant(self, array: Any) -> Value:
        """A constant; Python's floats, and arrays of them, get the graph's element type."""
        array = np.asarray(array)
        if array.dtype != np.float64:
            return self.builder.constant(array)
        return self.builder.constant(array.astype(np.float32), self.element if isinstance(self.element, FloatType) else None)

    def random(self, *shape: int, positive: bool = False) -> np.ndarray:
        """Normal numbers, the same in every run; or numbers of at least 0.5."""
        array = self.rng.standard_normal(shape).astype(np.float32)
        return np.abs(array) + np.float32(0.5) if positive else array

    def done(self, *values: Value) -> Module:
        """The module, verified, that gives these values as y0, y1, ..."""
        set_results(self.main, values, [f"y{index}" for index in range(len(values))])
        verify(self.module)
        return self.module


def doubled() -> Module:
    """`y = 2 * x`, of four floats."""
    module = new_module()
    function = module.add_function("main", [TensorType((4,), F32)], ["x"])
    block = function.regions[0].block
    set_results(function, [Builder(block).emit("top.MulConst", block.arguments[0], const_val=2.0)], ["y"])
    return module


def summing() -> Module:
    """It adds up what it is given, from 3, in a state: `total + x0`, as `y0` and as what `total` is the next time."""
    graph = Graph((1, 4))
    module = graph.done(graph.inputs[0])
    total, _ = add_state(module, "total", TensorType((1, 4), F32), Dense(np.full((1, 4), 3, np.float32)))
    block = module.body_of_main
    added = Builder(block, before=block.terminator).emit("top.Add", block.arguments[0], total, location="added")
    block.terminator.operands = (added, added)
    return module


def op_names(module: Module) -> list[str]:
    """Names of all ops but constants and terminators, in order, without `top.`"""
    return [
        op.name.removeprefix("top.") for op in module.ops()
        if op.name not in ("top.Weight", "top.None", "func.return", "top.Yield")]


def execute(module: Module, seed: int = 0) -> list[np.ndarray]:
    """Results on random numbers; sizes that are not known are 2."""
    rng = np.random.default_rng(seed)
    inputs = {}
    for index, value in enumerate(module.body_of_main.arguments):
        array = rng.standard_normal([size or 2 for size in value.shape]) * 2
        inputs[f"x{index}"] = array.astype(np.float32) if str(value.element).startswith("f") else np.round(array).astype(np.int32)
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

"""Modules of one TOSA op, run by our kernels and by the TOSA reference model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import I32, I48, Module, TensorType, Type, element_type_of, new_module, set_results, verify
from transload.ir.build import Builder
from transload_plugins.tosa.build import const, rescale, shape_const
from transload_plugins.tosa.flatbuffer.writer import serialize


@dataclass
class Const:
    """An operand that is a constant; `element` where it is not the array's own type."""

    array: Any
    element: Type | None = None


@dataclass
class Shape:
    """An operand that is a constant shape."""

    sizes: Any


@dataclass
class Typed:
    """An input array whose element type is not its own (i48 in int64)."""

    array: np.ndarray
    element: Type


def module_of(name: str, operands: list[Any], element: Type | None = None, **attributes: Any) -> tuple[Module, list[np.ndarray]]:
    """A module whose function is one op; arrays among the operands become inputs x0, x1, ..."""
    module = new_module()
    inputs = [operand for operand in operands if isinstance(operand, np.ndarray | Typed)]
    arrays = [operand.array if isinstance(operand, Typed) else operand for operand in inputs]
    types = [
        TensorType(array.shape, operand.element if isinstance(operand, Typed) else element_type_of(array.dtype))
        for operand, array in zip(inputs, arrays, strict=True)]
    function = module.add_function("main", types, [f"x{index}" for index in range(len(inputs))])
    block = function.regions[0].block
    builder = Builder(block)
    arguments: Iterator[Any] = iter(block.arguments)
    values = []
    for operand in operands:
        if isinstance(operand, Const):
            values.append(const(builder, operand.array, operand.element))
        elif isinstance(operand, Shape):
            values.append(shape_const(builder, operand.sizes))
        else:
            values.append(next(arguments))
    results = builder.emit(name, *values, element=element, **attributes)
    results = results if isinstance(results, tuple) else (results,)
    # The reference model cannot hand out i48: such a result goes through a rescale by 1, which keeps i32 numbers.
    results = [
        rescale(builder, value, [1 << 14], [14], 0, 0, I32) if value.element == I48 else value for value in results]
    set_results(function, results, [f"y{index}" for index in range(len(results))])
    verify(module)
    return module, arrays


@pytest.fixture(scope="session")
def reference_model() -> Callable[[bytes, list[np.ndarray]], list[np.ndarray]]:
    """`run(file, inputs) -> outputs` by the TOSA reference model; fails where it finds the graph wrong."""
    package = pytest.importorskip("tosa_reference_model", reason="install tosa-tools to judge against the TOSA reference model")

    def run(data: bytes, inputs: list[np.ndarray]) -> list[np.ndarray]:
        outputs, status = package.run(data, [np.ascontiguousarray(array) for array in inputs])
        assert status == package.GraphStatus.TOSA_VALID, f"reference model: {status.name}"
        return outputs

    return run


@pytest.fixture
def judged(reference_model: Any) -> Callable[..., tuple[list[np.ndarray], list[np.ndarray]]]:
    """`judged(op, operands, element, **attributes) -> (ours, the reference model's)`, outputs in order."""

    def run(name: str, operands: list[Any], element: Type | None = None, version: str = "1.0", **attributes: Any) -> Any:
        module, arrays = module_of(name, operands, element, **attributes)
        ours = run_function(module, {f"x{index}": array for index, array in enumerate(arrays)})
        return list(ours.values()), reference_model(serialize(module, version), arrays)

    return run

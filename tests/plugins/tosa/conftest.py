"""Graphs of one TOSA op, run by our kernels and by the TOSA reference model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from transload.ir import I32, I48, Module, TensorType, element_type_of, new_module, set_results, verify
from transload.ir.build import Builder
from transload_plugins.tosa.build import const, rescale, shape_const

from tests.support import tosa_catalogue as catalogue


def build_case(case: Any) -> tuple[Module, list[np.ndarray]]:
    """A module whose function is the case's op, and its inputs x0, x1, ..."""
    module = new_module()
    arrays = [operand for operand in case.operands if isinstance(operand, np.ndarray)]
    function = module.add_function(
        "main", [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays],
        [f"x{i}" for i in range(len(arrays))])
    block = function.regions[0].block
    builder = Builder(block)
    arguments: Iterator[Any] = iter(block.arguments)
    values = []
    for operand in case.operands:
        if isinstance(operand, catalogue.Const):
            values.append(const(builder, operand.array, operand.element))
        elif isinstance(operand, catalogue.Shape):
            values.append(shape_const(builder, operand.sizes))
        else:
            values.append(next(arguments))
    results = builder.emit(case.op, *values, element=case.element, **case.attributes)
    results = results if isinstance(results, tuple) else (results,)
    # The reference model cannot hand out i48: such a result goes through a rescale by 1, which keeps i32 numbers.
    handed = [rescale(builder, value, [1 << 14], [14], 0, 0, I32) if value.element == I48 else value for value in results]
    set_results(function, handed, [f"y{index}" for index in range(len(handed))])
    verify(module)
    return module, arrays


@pytest.fixture(scope="session")
def built() -> Callable[[Any], tuple[Module, list[np.ndarray]]]:
    """`built(case) -> (module, inputs)`."""
    return build_case


@pytest.fixture(scope="session")
def cases() -> list[Any]:
    """The whole catalogue."""
    return catalogue.all_cases()

"""Small modules of the `tosa` dialect, and whether Vela is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from transload.ir import Dense, Module, TensorType, Type, Value, new_module, set_results
from transload.ir.build import Builder
from transload.ir.types import INDEX, DialectType

needs_vela = pytest.mark.skipif(find_spec("ethosu") is None, reason="Arm's Vela is not installed (transload[ethosu])")


class Maker(Builder):
    """A builder with short ways to make constants, shapes and names."""

    def number(self, value: float, element: Type, rank: int = 1) -> Value:
        from transload.ir import dtype_of

        return self.constant(np.full((1,) * rank, value, dtype_of(element)), element, dialect="tosa")

    def array(self, values: Any, element: Type) -> Value:
        from transload.ir import dtype_of

        return self.constant(np.asarray(values, dtype_of(element)), element, dialect="tosa")

    def shape(self, *sizes: int) -> Value:
        dense = Dense(np.asarray(sizes, np.int64), TensorType((len(sizes),), INDEX))
        return self.create("tosa.const_shape", (), (DialectType(f"tosa.shape<{len(sizes)}>"),), {"values": dense}).results[0]


def make_module(inputs: Sequence[TensorType], body: Callable[..., Any]) -> Module:
    """A module whose main function is `body(maker, *arguments)`; inputs are called `in0`, ..., outputs after their ops."""
    module = new_module()
    function = module.add_function("main", list(inputs), [f"in{index}" for index in range(len(inputs))])
    block = function.regions[0].block
    results = body(Maker(block), *block.arguments)
    results = list(results) if isinstance(results, tuple | list) else [results]
    set_results(function, results, [result.name for result in results])
    return module

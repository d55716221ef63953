"""Small modules of the `tosa` dialect, and whether Vela is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from transload.ir import Dense, Module, TensorType, Type, Value, dtype_of, new_module, set_results
from transload.ir.build import Builder
from transload.ir.types import INDEX, DialectType


@pytest.fixture(scope="session")
def vela() -> None:
    """The test is skipped where Vela is not installed."""
    if find_spec("ethosu") is None:
        pytest.skip("Arm's Vela is not installed (transload[ethosu])")


class Maker(Builder):
    """A builder with short ways to make constants and shapes."""

    def array(self, values: Any, element: Type) -> Value:
        return self.constant(np.asarray(values, dtype_of(element)), element, dialect="tosa")

    def shape(self, *sizes: int) -> Value:
        dense = Dense(np.asarray(sizes, np.int64), TensorType((len(sizes),), INDEX))
        return self.create("tosa.const_shape", (), (DialectType(f"tosa.shape<{len(sizes)}>"),), {"values": dense}).results[0]


@pytest.fixture(scope="session")
def make() -> Callable[..., Module]:
    """`make(input types, body)`: a module whose main function is `body(maker, *arguments)`.

    Its inputs are called `in0`, `in1`, ..., its outputs after the ops that make them.
    """

    def make_module(inputs: Sequence[TensorType], body: Callable[..., Any]) -> Module:
        module = new_module()
        function = module.add_function("main", list(inputs), [f"in{index}" for index in range(len(inputs))])
        block = function.regions[0].block
        results = body(Maker(block), *block.arguments)
        results = list(results) if isinstance(results, tuple | list) else [results]
        set_results(function, results, [result.name for result in results])
        return module

    return make_module

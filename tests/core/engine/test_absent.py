"""Kernels are given None for the optional operands that an op leaves out at its end, and their defaults where they have some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import transload
from transload import DialectSpec, KernelTable
from transload.context import Context, current
from transload.ir import F32, Dense, Module, TensorType, Value, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import FLOAT_TENSOR, Dialect, operand, result, variadic
from transload.plugin_host import Host

ZED, KERNELS = Dialect("zed", "For tests."), KernelTable()


class _Sum:
    """A sum of what is there."""

    x = operand("x", FLOAT_TENSOR)
    b = operand("b", FLOAT_TENSOR, optional=True)
    c = operand("c", FLOAT_TENSOR, optional=True)
    y = result("y", FLOAT_TENSOR)

    def infer(op: Any) -> Any:
        return op.x.type


class _Several(_Sum):
    more = variadic("more", FLOAT_TENSOR)


def _declared(name: str, base: type) -> None:
    members = {key: value for each in reversed(base.__mro__[:-1]) for key, value in vars(each).items() if key[0] != "_"}
    ZED.op(name)(type(name, (), {"__doc__": base.__doc__, **members}))


for _name in ("Plain", "Given", "Open", "Two", "Object"):
    _declared(_name, _Sum)
_declared("Several", _Several)


def _sum(*arrays: Any) -> Any:
    return sum(each for each in arrays if each is not None)


@KERNELS("zed.Plain")
def plain(op: Any, x: Any, b: Any, c: Any) -> Any:
    return _sum(x, b, c)


@KERNELS("zed.Given")
def given(op: Any, x: Any, b: Any = 10.0, c: Any = 100.0) -> Any:
    return np.float32(x + b + c)


@KERNELS("zed.Open")
def open_ended(op: Any, *arrays: Any) -> Any:
    assert None not in [each if each is None else 0 for each in arrays]
    return _sum(*arrays)


@KERNELS("zed.Two")
def two(op: Any, x: Any, b: Any, c: Any = 100.0) -> Any:
    return np.float32(_sum(x, b, c))


class _Slots:
    __slots__ = ()

    def __call__(self, op: Any, x: Any, b: Any, c: Any) -> Any:
        return _sum(x, b, c)


KERNELS("zed.Object")(_Slots())


@KERNELS("zed.Several")
def several(op: Any, x: Any, b: Any, c: Any, *more: Any) -> Any:
    return _sum(x, b, c, *more)


@pytest.fixture(autouse=True)
def dialect() -> Iterator[None]:
    class Plugin:
        @transload.hookimpl
        def register_dialects(self, register: Callable[[DialectSpec], None]) -> None:
            register(DialectSpec("zed", ZED, kernels=KERNELS))

    own = Host()
    own.register(Plugin(), "zed")
    with Context(own).bind():
        yield


def module(name: str, count: int, constant: bool) -> Module:
    made = new_module()
    function = made.add_function("main", [TensorType((2,), F32)], ["x"])
    block = function.regions[0].block
    builder = Builder(block)
    one: Value = block.arguments[0]
    if constant:
        one = builder.emit("top.Weight", value=Dense(np.ones(2, np.float32)))
    set_results(function, [builder.emit(f"zed.{name}", *[one] * count)], ["y"])
    return made


@pytest.mark.parametrize(("name", "expected"), [
    ("Plain", [1, 2, 3]), ("Object", [1, 2, 3]), ("Given", [111, 102, 3]), ("Open", [1, 2, 3]), ("Two", [101, 102, 3]),
    ("Several", [1, 2, 3, 4, 5])])
@pytest.mark.parametrize("constant", [False, True])
def test_what_is_left_out_at_the_end(name: str, expected: list[int], constant: bool) -> None:
    for count, number in enumerate(expected, 1):
        made = module(name, count, constant)
        for engine in ("reference", "auto"):
            found = transload.run(made, {"x": np.ones(2, np.float32)}, engine=engine)
            np.testing.assert_array_equal(found["y"], np.full(2, number, np.float32))
        if constant:
            (op,) = (op for op in made.ops() if op.dialect == "zed")
            (folded,) = current().fold(op)
            np.testing.assert_array_equal(folded, np.full(2, number, np.float32))

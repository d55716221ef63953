"""A kernel of a plugin cannot write into what other ops read: it is told as its failure, whichever way it is called."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transload
from transload import DialectSpec, KernelTable
from transload.context import Context
from transload.errors import PluginFailure
from transload.facts import Facts, FactTable
from transload.ir import F32, I8, Module, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import TENSOR, Dialect, operand, result
from transload.plugin_host import Host

from tests.support.plugins import registering

pytestmark = pytest.mark.plugin_fails

TOY, KERNELS, INTEGERS = Dialect("toy", "For tests."), KernelTable(), FactTable("toy")
TYPE = TensorType((4,), F32)
STORED = TensorType((4,), QuantType(I8, F32, (0.5,), (0,)))


def _declared(name: str) -> None:
    def infer(op: Any) -> Any:
        return op.x.type

    TOY.op(name)(type(name, (), {
        "__doc__": "For tests.", "x": operand("x", TENSOR), "y": result("y", TENSOR), "infer": infer}))


def _inplace(op: Any, x: Any) -> Any:
    x += 1
    return x


class _Planned:
    def __call__(self, op: Any, x: Any) -> Any:
        raise NotImplementedError

    def plans(self, op: Any, plan: Any) -> Any:
        return _inplace


class _Object:
    def __call__(self, op: Any, x: Any) -> Any:
        return _inplace(op, x)


for _name in ("Inc", "Native", "Planned", "Object", "Out", "Same", "Exact"):
    _declared(_name)
KERNELS("toy.Inc")(_inplace)
KERNELS("toy.Native", quantized="native")(_inplace)
KERNELS("toy.Planned")(_Planned())
KERNELS("toy.Object")(_Object())
KERNELS("toy.Out")(lambda op, x: np.negative(x, out=x))
KERNELS("toy.Same")(lambda op, x: x)
KERNELS("toy.Exact")(lambda op, x: x)
INTEGERS("Exact")(lambda op: _inplace)


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    host = Host()
    host.register(SimpleNamespace(**registering(
        dialects=[DialectSpec("toy", TOY, kernels=KERNELS)], facts=[Facts("integers", "toy", INTEGERS)])), "toy-ops")
    with Context(host).bind():
        yield


def _module(name: str, type_: TensorType = TYPE) -> Module:
    module = new_module()
    function = module.add_function("main", [type_], ["x"])
    build = Builder(function.regions[0].block)
    x = function.regions[0].block.arguments[0]
    set_results(function, [build.emit(f"toy.{name}", x), build.emit("top.Reshape", x, shape=(4,))], ["y", "same"])
    return module


@pytest.mark.parametrize(("name", "type_"), [
    ("Inc", TYPE), ("Planned", TYPE), ("Object", TYPE), ("Out", TYPE), ("Native", STORED), ("Exact", STORED)])
def test_a_kernel_that_writes_into_its_operand_is_told_so(name: str, type_: TensorType) -> None:
    given = np.zeros(4, np.int8 if type_ is STORED else np.float32)
    with pytest.raises(PluginFailure, match=rf"plugin 'toy-ops' .*kernel.*toy\.{name}.*read-only") as raised:
        transload.run(_module(name, type_), {"x": given})
    assert raised.value.plugin is not None and raised.value.plugin.name == "toy-ops"
    assert not given.any()


def test_one_that_gives_its_operand_back_runs():
    given = np.arange(4, dtype=np.float32)
    made = transload.run(_module("Same"), {"x": given})
    made["y"][:] = 7
    np.testing.assert_array_equal(made["same"], [0, 1, 2, 3])
    np.testing.assert_array_equal(given, [0, 1, 2, 3])

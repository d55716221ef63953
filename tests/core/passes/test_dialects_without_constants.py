"""A dialect need declare no op for constants, and none for absent operands: the hub has both."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transload
from transload import Conversion, DialectSpec, KernelTable, RewriteTable
from transload.context import Context
from transload.ir import F32, Module, TensorType, Value, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import FLOAT_TENSOR, Dialect, operand, result
from transload.passes.fold import fold_constants
from transload.plugin_host import Host

from tests.support.plugins import registering

BARE, KERNELS, TO_TOSA = Dialect("bare", "For tests."), KernelTable(), RewriteTable()
DATA = np.array([-1, 0, 2], np.float32)


@BARE.op("Square")
class Square:
    """x * x"""

    x = operand("x", FLOAT_TENSOR)
    y = result("y", FLOAT_TENSOR)

    def infer(op: Any) -> Any:
        return op.x.type


@BARE.op("Sum")
class Sum:
    """x + a + b"""

    x = operand("x", FLOAT_TENSOR)
    a = operand("a", FLOAT_TENSOR, optional=True)
    b = operand("b", FLOAT_TENSOR, optional=True)
    y = result("y", FLOAT_TENSOR)

    def infer(op: Any) -> Any:
        return op.x.type


KERNELS("bare.Square")(lambda op, x: x * x)
TO_TOSA("bare.Square")(lambda op, rw: rw.emit("top.Mul", op.x, op.x))
KERNELS("bare.Sum")(lambda op, x, a=None, b=None: sum(each for each in (x, a, b) if each is not None))


@pytest.fixture(autouse=True)
def _bare() -> Iterator[None]:
    host = Host()
    hooks = registering(
        dialects=[DialectSpec("bare", BARE, kernels=KERNELS)],
        conversions=[Conversion("bare-to-tosa", "bare", "tosa", TO_TOSA, extends="top-to-tosa")])
    host.register(SimpleNamespace(**hooks), "bare")
    with Context(host).bind():
        yield


def _started() -> tuple[Module, Builder, Value]:
    module = new_module()
    block = module.add_function("main", [TensorType((3,), F32)], ["x"]).regions[0].block
    return module, Builder(block), block.arguments[0]


def _run(module: Module) -> np.ndarray:
    return transload.run(module, {"x": DATA})["y"]


def _of_a_constant() -> Module:
    module, build, x = _started()
    squares = build.emit("bare.Square", build.constant(DATA), location="squares")
    set_results(module.function("main"), [build.emit("top.Add", x, squares)], ["y"])
    return module


def test_the_pass_computes_an_op_of_a_constant():
    module = _of_a_constant()
    assert fold_constants(module)
    assert [op.name for op in module.body_of_main if op.results] == ["top.Weight", "top.Add"]
    assert module.body_of_main.first.location == "squares"
    np.testing.assert_array_equal(_run(module), DATA + DATA**2)


def test_a_builder_computes_it_at_once():
    module, build, x = _started()
    squares = Builder(build.block, fold=True).emit("bare.Square", build.constant(DATA))
    assert squares.owner.name == "top.Weight"
    set_results(module.function("main"), [build.emit("top.Add", x, squares)], ["y"])
    np.testing.assert_array_equal(_run(module), DATA + DATA**2)


def test_a_model_of_it_is_converted(tmp_path):
    artifact = transload.convert(_of_a_constant(), "tosa", tmp_path, verify=False)
    np.testing.assert_array_equal(_run(transload.load(artifact.files[0])), DATA + DATA**2)


def test_an_operand_may_be_absent():
    module, build, x = _started()
    set_results(module.function("main"), [build.emit("bare.Sum", x, None, x)], ["y"])
    np.testing.assert_array_equal(_run(module), 2 * DATA)

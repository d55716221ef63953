"""Ops that do nothing go, pairs cancel, and results stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import F32, I8, I16, I32, Module, TensorType, Value, new_module, set_results, verify
from transload.ir.build import Builder
from transload_plugins.tosa import build
from transload_plugins.tosa.canonicalize import canonicalize_tosa

Make = Callable[[Builder, Value], Value]


def module_of(make: Make, shape: tuple[int, ...], element: Any = F32) -> Module:
    module = new_module()
    function = module.add_function("main", [TensorType(shape, element)], ["x"])
    block = function.regions[0].block
    set_results(function, [make(Builder(block), block.arguments[0])], ["y"])
    return module


def emit(name: str, **attributes: Any) -> Make:
    return lambda b, x: b.emit(f"tosa.{name}", x, **attributes)


def then(*steps: Make) -> Make:
    """One step after the other."""
    def make(builder: Builder, value: Value) -> Value:
        for step in steps:
            value = step(builder, value)
        return value

    return make


def joined(name: str, left: Make, right: Make) -> Make:
    """Two steps on the same value, and an operator on what they give."""
    return lambda b, x: b.emit(f"tosa.{name}", left(b, x), right(b, x))


def reshape(*shape: int) -> Make:
    return lambda b, x: b.emit("tosa.reshape", x, build.shape_const(b, shape))


def transpose(*perms: int) -> Make:
    return lambda b, x: b.emit("tosa.transpose", x, perms=perms)


def rescale(multiplier: int, shift: int, input_zp: int, output_zp: int, element: Any) -> Make:
    return lambda b, x: build.rescale(b, x, [multiplier], [shift], input_zp, output_zp, element)


@pytest.mark.parametrize(("make", "shape", "element", "left"), [
    (emit("identity"), (2, 3), F32, []),
    (emit("cast"), (2, 3), F32, []),
    (reshape(2, 3), (2, 3), F32, []),
    (then(reshape(6), reshape(3, 2)), (2, 3), F32, ["reshape"]),
    (then(reshape(6), reshape(2, 3)), (2, 3), F32, []),
    (transpose(0, 1), (2, 3), F32, []),
    (then(transpose(1, 2, 0), transpose(2, 0, 1)), (2, 3, 4), F32, []),
    (then(transpose(1, 2, 0), transpose(1, 2, 0)), (2, 3, 4), F32, ["transpose"]),
    (transpose(0, 2, 1), (2, 1, 4), F32, ["reshape"]),
    (then(transpose(0, 2, 1), reshape(8)), (2, 1, 4), F32, ["reshape"]),
    (transpose(0, 2, 1), (2, 3, 4), F32, ["transpose"]),
    (rescale(1 << 30, 30, 3, 3, I8), (4,), I8, []),
    (rescale(1 << 30, 30, 3, 4, I8), (4,), I8, ["rescale"]),
    (rescale(1 << 30, 31, 3, 3, I8), (4,), I8, ["rescale"]),
    (rescale(1 << 30, 30, 0, 0, I16), (4,), I8, ["rescale"]),
    (lambda b, x: b.emit("tosa.pad", x, build.shape_const(b, (0, 0)), build.scalar(b, 1, F32)), (4,), F32, []),
    (lambda b, x: b.emit("tosa.slice", x, build.shape_const(b, (0,)), build.shape_const(b, (4,))), (4,), F32, []),
    (lambda b, x: build.slice_(b, build.slice_(b, x, (1, 2), (4, 4)), (1, 0), (2, 3)), (6, 7), F32, ["slice"]),
    (lambda b, x: b.emit("tosa.tile", x, build.shape_const(b, (1,))), (4,), F32, []),
    (emit("concat", axis=0), (4,), F32, []),
    (lambda b, x: build.concat(b, [build.concat(b, [x, x], 0), x], 0), (4,), F32, ["concat"]),
    (lambda b, x: build.clamp(b, x, -128, 127), (4,), I8, []),
    (lambda b, x: build.clamp(b, build.clamp(b, x, -50, 100), -100, 20), (4,), I8, ["clamp"]),
    (lambda b, x: build.clamp(b, build.clamp(b, x, -50, -20), 0, 20), (4,), I8, ["clamp"]),
    (emit("reduce_sum", axis=1), (4, 1), I32, []),
    (emit("reduce_max", axis=0), (4, 1), F32, ["reduce_max"]),
    (emit("max_pool2d", kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0)), (1, 2, 2, 1), F32, []),
    (then(emit("reverse", axis=0), emit("reverse", axis=0)), (4,), F32, []),
    (emit("reverse", axis=0), (1, 4), F32, []),
    (then(emit("bitwise_not"), emit("bitwise_not")), (4,), I32, []),
    (joined("add", then(emit("floor"), reshape(4)), then(emit("ceil"), reshape(4))), (1, 4), F32,
     ["floor", "ceil", "add", "reshape"]),
    (joined("add", then(emit("floor"), reshape(4, 1)), then(emit("ceil"), reshape(1, 4))), (2, 2), F32,
     ["floor", "reshape", "ceil", "reshape", "add"]),
])
def test_canonical_form(make: Make, shape: tuple[int, ...], element: Any, left: list[str]) -> None:
    module = module_of(make, shape, element)
    dtype = {F32: np.float32, I8: np.int8, I16: np.int16, I32: np.int32}[element]
    x = np.random.default_rng(1).integers(-128, 127, shape).astype(dtype)
    before = run_function(module, {"x": x})["y"]
    canonicalize_tosa(module)
    verify(module)
    used = [op.name[5:] for op in module.ops() if op.dialect == "tosa" and op.results[0].uses]
    ops = [name for name in used if not name.startswith("const")]
    assert ops == left
    np.testing.assert_array_equal(run_function(module, {"x": x})["y"], before)
    assert not canonicalize_tosa(module)


def test_constants_are_moved_at_once_and_not_copied() -> None:
    weight = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    def make(b: Builder, x: Value) -> Value:
        turned = b.emit("tosa.transpose", build.const(b, weight), perms=(2, 0, 1))
        return b.emit("tosa.add", x, b.emit("tosa.reshape", turned, build.shape_const(b, (8, 3))))

    module = module_of(make, (8, 3))
    assert canonicalize_tosa(module)
    used = [op for op in module.ops() if op.name.startswith("tosa.") and any(r.uses for r in op.results)]
    assert [op.name for op in used if op.name != "tosa.const"] == ["tosa.add"]
    x = np.ones((8, 3), np.float32)
    np.testing.assert_array_equal(run_function(module, {"x": x})["y"], x + weight.transpose(2, 0, 1).reshape(8, 3))

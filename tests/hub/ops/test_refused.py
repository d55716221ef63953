"""What declarations of the hub refuse, since kernels and lowerings rely on it: one damage each of an op that is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import BOOL, F32, I32, Op, Region, TensorType, Value
from transload.ir.build import Builder
from transload.ir.core import Block
from transload.ir.verify import check, faults_of
from transload.testing import build_op

IMAGE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


@pytest.mark.parametrize(("name", "inputs", "attributes", "change", "why"), [
    ("Interp", (IMAGE,), {"sizes": (8, 8), "scales": (2.0, 2.0)}, {"scales": (2.0, math.nan)}, "positive and finite"),
    ("Relu", (IMAGE,), {"relu_limit": 6.0}, {"relu_limit": math.nan}, "relu_limit is a number"),
    ("Add", (IMAGE, IMAGE), {"do_relu": True}, {"relu_limit": math.nan}, "relu_limit is a number"),
    ("Celu", (IMAGE,), {"alpha": 1.0}, {"alpha": math.inf}, "alpha, by which x is divided, is finite and not 0"),
    ("MaxPool", (IMAGE,), {"kernel_shape": (2, 2)}, {"pads": ()}, "pads twice as many"),
])
def test_attributes(name: str, inputs: Any, attributes: dict[str, Any], change: dict[str, Any], why: str) -> None:
    module = build_op(f"top.{name}", *inputs, **attributes)
    assert not check(module)
    next(op for op in module.ops() if op.name == f"top.{name}").attributes.update(change)
    (finding,) = check(module)
    assert why in finding.why and "Error" not in finding.why


@pytest.mark.parametrize(("name", "attributes", "wanted"), [
    ("Celu", {"alpha": -1.0}, lambda x: np.where(x > 0, x, 1 - np.exp(-np.minimum(x, 0)))),
    ("Pad", {"paddings": (-2, 0, 3, 0), "mode": "reflect"}, lambda x: np.pad(x, ((0, 3), (0, 0)), mode="reflect")[2:]),
    ("Pad", {"paddings": (3, 0, -3, 1), "mode": "symmetric"}, lambda x: np.pad(x, ((3, 0), (0, 1)), mode="symmetric")[:-3]),
    ("Pad", {"paddings": (-4, 0, 3, 0), "mode": "edge"}, lambda x: np.pad(x, ((0, 3), (0, 0)), mode="edge")[4:]),
    ("Pad", {"paddings": (-1, 0, 2, 0), "mode": "reflect"}, lambda x: np.pad(x, ((0, 2), (0, 0)), mode="reflect")[1:]),
])
def test_what_is_taken_is_computed_and_lowered(name: str, attributes: dict[str, Any], wanted: Callable[..., Any]) -> None:
    """Lowered, Celu was 0 below 0 for a negative alpha, and padding at one end did not find what was taken off at the other."""
    x = np.linspace(-2, 1, 12, dtype=np.float32).reshape(4, 3)
    module = build_op(f"top.{name}", x, **attributes)
    for each in (module, transload.lower(module, "tosa")):
        (made,) = transload.run(each, {"x0": x}).values()
        np.testing.assert_allclose(made, wanted(x), rtol=1e-5)


# --- branches and loops

def _region(types: list[Any], body: Callable[..., list[Value]]) -> Region:
    block = Block(types)
    block.append(Op("top.Yield", body(block, *block.arguments)))
    return Region([block])


def _constant(value: Any) -> Callable[..., list[Value]]:
    return lambda block, *_: [Builder(block).constant(value)]


THREE, TWO = np.zeros(3, np.float32), np.zeros(2, np.float32)


@pytest.mark.parametrize(("condition", "branches", "result", "why"), [
    (TensorType((4,), BOOL), (THREE, THREE), (3,), "'condition' must be a tensor of one i1, and is tensor<4xi1>"),
    (TensorType((), F32), (THREE, THREE), (3,), "'condition' must be a tensor of one i1, and is tensor<f32>"),
    (TensorType((), BOOL), (THREE, TWO), (3,), "the else region yields tensor<2xf32>, where the result is tensor<3xf32>"),
    (TensorType((), BOOL), (THREE, THREE.astype(int)), (3,), "the else region yields tensor<3xi64>, where the result is"),
    (TensorType((), BOOL), (THREE, THREE), (2,), "the then region yields tensor<3xf32>, where the result is tensor<2xf32>"),
    (TensorType((None, 1), BOOL), (THREE, THREE), (None,), None),
])
def test_branches(condition: Any, branches: Any, result: Any, why: str | None) -> None:
    """The rule of MLIR's scf.if."""
    block = Block([condition])
    op = Op("top.If", block.arguments, [TensorType(result, F32)], {}, [_region([], _constant(each)) for each in branches])
    faults = faults_of(op)
    assert (faults is None) if why is None else any(why in fault for fault in faults or ())


def _loop(state: Any, test: Any, body: Any, result: Any = None) -> Op:
    block = Block([state])
    regions = [_region([state], _constant(test)), _region([state], body)]
    return Op("top.While", block.arguments, [result or state], {}, regions)


@pytest.mark.parametrize(("loop", "why"), [
    (lambda: _loop(TensorType((3,), F32), True, lambda b, x: [x]), None),
    (lambda: _loop(TensorType((3,), F32), np.float32(1), lambda b, x: [x]), "region cond yields tensor<f32>, which is not"),
    (lambda: _loop(TensorType((3,), F32), [True, False], lambda b, x: [x]), "region cond yields tensor<2xi1>, which is not"),
    (lambda: _loop(TensorType((3,), F32), True, _constant(TWO)), "region body yields tensor<2xf32>, where the state is tensor<3"),
    (lambda: _loop(TensorType((3,), F32), True, lambda b, x: [x], TensorType((3,), I32)), "a result is tensor<3xi32>, where"),
])
def test_loops(loop: Callable[[], Op], why: str | None) -> None:
    """The rule of MLIR's scf.while."""
    op = loop()
    faults = faults_of(op)
    assert (faults is None) if why is None else any(why in fault for fault in faults or ())


def test_a_loop_whose_regions_take_something_else() -> None:
    state = TensorType((3,), F32)
    op = _loop(state, True, lambda b, x: [x])
    op.regions[1].block.arguments[0].type = TensorType((2,), F32)
    assert any("region body takes tensor<2xf32>, where the first state is tensor<3xf32>" in why for why in faults_of(op) or ())


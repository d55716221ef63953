"""Bounds of errors hold: operands that are off by as much as is said give results that are off by no more than the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.api import run
from transload.ir import BF16, F16, F32, F64, I32, TensorType, Type, Value, dtype_of, new_module, set_results
from transload.ir.build import Builder
from transload.plugin_host import host
from transload.testing.models import build_module
from transload.verification.bounds import DYNAMIC, check_bounds, moved_errors, rounded_as_it_runs

X = TensorType((4, 6), F32)
IMAGE = TensorType((1, 4, 4, 3), F32)
CASES: list[tuple[str, int, dict[str, Any]]] = [
    ("Relu", 1, {}), ("Tanh", 1, {}), ("Clip", 1, {"min": -0.5, "max": 0.5}), ("Abs", 1, {}), ("Neg", 1, {}), ("Sin", 1, {}),
    ("Cos", 1, {}), ("Atan", 1, {}), ("Softplus", 1, {}), ("Sigmoid", 1, {}), ("Sigmoid", 1, {"scale": 3.0}),
    ("Sigmoid", 1, {"log": True}), ("Add", 2, {}), ("Add", 2, {"coeff": (2.0, -3.0)}), ("Sub", 2, {}), ("Mul", 2, {}),
    ("AddConst", 1, {"const_val": -3.0}), ("MulConst", 1, {"const_val": -3.0}), ("Max", 2, {}), ("Min", 2, {}),
    ("Reduce", 1, {"axes": (1,), "mode": "ReduceSum"}), ("Reduce", 1, {"axes": (1,), "mode": "ReduceMean"}),
    ("Reduce", 1, {"axes": (0,), "mode": "ReduceMax"}), ("Reduce", 1, {"axes": (0,), "mode": "ReduceMin"}),
    ("Concat", 2, {"axis": 0, "do_relu": True}), ("Concat", 2, {"axis": 1}), ("Pack", 2, {"axis": 0}),
    ("Reshape", 1, {"shape": (24,)}), ("Permute", 1, {"order": (1, 0)}), ("Tile", 1, {"tile": (2, 1)}),
    ("Roll", 1, {"axes": (0,), "shifts": (1,)}), ("Trilu", 1, {}), ("Split", 1, {"axis": 1, "split_size": (2, 4)}),
    ("Pad", 1, {"paddings": (1, 1, 1, 1), "val": -9.0}), ("Pad", 1, {"paddings": (1, 1, 1, 1), "mode": "edge"}),
    ("MaxPool", 1, {"kernel_shape": (2, 2), "strides": (2, 2), "pads": (1, 1, 0, 0), "layout": "NHWC"}),
    ("AvgPool", 1, {"kernel_shape": (2, 2), "strides": (2, 2), "pads": (1, 1, 0, 0), "layout": "NHWC"}),
    ("Upsample", 1, {"scale_h": 2, "scale_w": 2, "layout": "NHWC"}),
    ("Depth2Space", 1, {"block_h": 2, "block_w": 2, "is_inversed": True, "layout": "NHWC"}),
    ("BatchToSpace", 1, {"block_shape": (1, 1), "crops": (0, 1, 0, 0)}),
    ("SpaceToBatch", 1, {"block_shape": (2, 2), "pads": (0, 0, 0, 0)}),
    ("Interp", 1, {"sizes": (7, 7), "mode": "nearest", "layout": "NHWC"}),
]


def bounds_of(type_: TensorType, name: str, count: int, attributes: dict[str, Any], given: dict[str, np.ndarray]) -> list[Any]:
    """What the rule bounds the errors by, of operands x0.. with errors e0.. ."""
    def build(b: Builder, *values: Value) -> Any:
        made = b.emit(f"top.{name}", *values[:count], **attributes)
        op = (made if isinstance(made, Value) else made[0]).op
        rule = host().fact("error-bound", op.name) or moved_errors
        found = rule(op, b, list(values[count:]))
        assert found != (), f"nothing is known of {name}"
        return found

    names = [*(f"x{i}" for i in range(count)), *(f"e{i}" for i in range(count))]
    return list(run(build_module([type_] * (2 * count), build, names), given).values())


@pytest.mark.parametrize(("name", "count", "attributes"), CASES, ids=[case[0] for case in CASES])
def test_results_are_off_by_no_more_than_the_bound(name: str, count: int, attributes: dict[str, Any]):
    type_ = IMAGE if "layout" in attributes or "block_shape" in attributes else X
    random = np.random.default_rng(5)
    given = {f"x{i}": random.normal(size=type_.shape).astype(np.float32) for i in range(count)}
    errors = {f"e{i}": random.uniform(0, 0.3, type_.shape).astype(np.float32) for i in range(count)}
    bounds = bounds_of(type_, name, count, attributes, {**given, **errors})
    module = build_module([type_] * count, lambda b, *values: b.emit(f"top.{name}", *values, **attributes))
    exact = list(run(module, given).values())
    reached = 0.0
    for _ in range(20):
        off = {f"x{i}": given[f"x{i}"] + errors[f"e{i}"] * random.choice([-1, 1], type_.shape).astype(np.float32)
               for i in range(count)}
        for right, wrong, bound in zip(exact, run(module, off).values(), bounds, strict=True):
            difference = np.abs(right.astype(np.float64) - wrong)
            assert (difference <= bound + 1e-5).all()
            reached = max(reached, float((difference / np.maximum(bound, 1e-9)).max()))
    assert reached > 0.5, "the bound says more than it must"


def test_indices_and_conditions_have_no_error():
    def build(b: Builder, x: Value, i: Value, e: Value) -> Any:
        gathered = b.emit("top.Gather", x, i, axis=0)
        chosen = b.emit("top.Where", b.emit("top.Compare", x, x, mode="Less"), x, b.constant(np.ones((4, 6), np.float32)))
        return moved_errors(gathered.op, b, [e, None]), moved_errors(chosen.op, b, [None, e, None])

    e = np.random.default_rng(0).random((4, 6)).astype(np.float32)
    rows = np.array([3, 1], np.int32)
    gathered, chosen = run(build_module([X, TensorType((2,), I32), X], build), {"x0": e, "x1": rows, "x2": e}).values()
    np.testing.assert_array_equal(gathered, e[rows])
    np.testing.assert_array_equal(chosen, np.zeros_like(e))  # never less: the constant, which is exact


def test_of_other_ops_nothing_is_known():
    made: list[Any] = []

    def build(b: Builder, x: Value, e: Value) -> Any:
        made.append(moved_errors(b.emit("top.Exp", x).op, b, [e]))
        return x

    build_module([X, X], build)
    assert made == [()]


WEIGHTS = np.random.default_rng(3).normal(size=(6, 6)).astype(np.float32)


def bounds_behind(*between: tuple[str, dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Of two products that a framework quantizes, with ops between them: what has a bound, and where knowledge ends."""
    def build(b: Builder, x: Value) -> Any:
        value = b.emit("top.MatMul", x, b.constant(WEIGHTS), location="first", **{DYNAMIC: "symmetric"})
        for name, attributes in between:
            value = b.emit(f"top.{name}", *[value] * attributes.get("count", 1), **{
                key: given for key, given in attributes.items() if key != "count"})
        return b.emit("top.MatMul", value, b.constant(WEIGHTS), location="second", **{DYNAMIC: "symmetric"})

    hub = build_module([X], build)
    x = np.random.default_rng(4).normal(size=(4, 6)).astype(np.float32)
    second = next(iter(run(hub, {"x0": x}).values()))
    _, bounded, unknown = check_bounds(hub, hub, {"x0": x}, {"second": second}, "reference")
    return [each.name for each in bounded], unknown


def test_behind_an_op_without_a_rule_no_bound_is_known():
    """What it makes of an error was once taken for exact, and the bounds behind it were too small."""
    assert bounds_behind(("Tanh", {})) == (["second"], [])
    assert bounds_behind(("Exp", {})) == ([], ["top.Exp"])
    assert bounds_behind(("Exp", {}), ("Tanh", {})) == ([], ["top.Exp"])
    assert bounds_behind(("Exp", {}), ("Add", {"count": 2})) == ([], ["top.Exp"])
    assert bounds_behind(("Mul", {"count": 3})) == ([], ["top.Mul"])


def test_where_a_number_comes_from_may_be_uncertain():
    """Places and conditions that are computed from errors move numbers to where nobody can say."""
    made: list[Any] = []

    def build(b: Builder, x: Value, e: Value) -> Any:
        less = b.emit("top.Compare", x, x, mode="Less")
        made.append(moved_errors(b.emit("top.Where", less, x, x).op, b, [e, e, None]))
        return x

    build_module([X, X], build)
    assert made == [()]


def test_a_bound_that_is_not_finite_allows_nothing():
    def build(b: Builder, x: Value) -> Any:
        return b.emit("top.Tanh", b.emit("top.MatMul", x, b.constant(WEIGHTS), location="product", **{DYNAMIC: "symmetric"}))

    hub = build_module([X], build)
    x = np.full((4, 6), np.inf, np.float32)
    _, (bounded,), _ = check_bounds(hub, hub, {"x0": x}, {"product": np.zeros((4, 6), np.float32)}, "reference")
    assert not bounded.kept


@pytest.mark.parametrize("how", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("element", [F16, BF16, F32, F64])
def test_activations_of_any_floats_are_rounded_as_a_runtime_rounds_them(element: Type, how: str) -> None:
    """The step's least was of 32 bits beside all floats: a module that is not valid."""
    random, dtype = np.random.default_rng(0), dtype_of(element)
    module = new_module()
    main = module.add_function("main", [TensorType((4, 8), element)], ["x"])
    block = main.regions[0].block
    build = Builder(block)
    made = build.emit("top.MatMul", block.arguments[0], build.constant(np.eye(8, dtype=dtype)))
    made.op.attributes[DYNAMIC] = how
    set_results(main, [made], ["y"])
    x = random.standard_normal((4, 8)).astype(dtype)
    exact, rounded = (transload.run(each, {"x": x})["y"].astype(np.float64) for each in (module, rounded_as_it_runs(module)))
    worst = np.abs(exact - rounded).max()
    assert 0 < worst <= np.abs(exact).max() * (0.01 if element != BF16 else 0.02)

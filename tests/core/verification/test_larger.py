"""What passes on small numbers is run on larger ones, too: bounds, and integers that become floats, do not show in small ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F16, I8, I32, I64, Module, TensorType
from transload.verification.inputs import random_inputs
from transload.verification.larger import computed_integers, larger_inputs
from transload.verification.tolerance import Tolerance

from tests.support.graphs import Graph
from tests.support.small_onnx import saved, verified

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

Write = Callable[[Any], tuple[list[Any], dict[str, Any]]]


MANY = 5000
"""Numbers of an input: of fewer there are tens of further inputs, some of them wide (`further`), on which it shows first."""


@pytest.mark.parametrize("bound", [3e38, 3.0])
def test_an_upper_bound_is_reached(bound: float, tmp_path: Path) -> None:
    def model(name: str, bound: float) -> Path:
        return saved(tmp_path / name, [("Mul", "x part", "m"), ("Clip", "m low high", "y")], [1, MANY],
                     {"part": 0.7, "low": 0.0, "high": bound})

    right, wrong = model("right.onnx", 6.0), model("wrong.onnx", bound)
    assert verified(right, right).passed
    verdict = verified(right, wrong)
    assert verdict.failed and any("on the usual ones it passed" in note or "larger inputs" in note for note in verdict.notes)
    given = {"x": np.random.default_rng(0).uniform(-1, 1, (1, MANY)).astype(np.float32)}
    assert verified(right, wrong, inputs=given).passed  # what is given is all that is tried


def test_floats_that_are_moved_alone_are_steady(tmp_path: Path) -> None:
    """They have to be the same, and are not of inputs that are moved."""
    right, wrong = (saved(tmp_path / f"{bound}.onnx", [("Clip", "x low high", "y")], [1, MANY], {"low": 0.0, "high": bound})
                    for bound in (6.0, 3e38))
    verdict = verified(right, wrong)
    assert verdict.failed and any("larger inputs" in note for note in verdict.notes)


def test_a_result_that_alone_is_no_number_is_wrong(tmp_path: Path) -> None:
    """A softmax of large numbers whose greatest one is not taken away first; where the source overflows, too, nothing is said."""
    scaled, held = ("Mul", "x part", "m"), {"part": 4.0}
    right = saved(tmp_path / "right.onnx", [scaled, ("Softmax", "m", "y")], [1, 400], held)
    wrong = saved(tmp_path / "wrong.onnx", [
        scaled, ("Exp", "m", "e"), ("ReduceSum", "e", "s"), ("Div", "e s", "y")], [1, 400], held)
    verdict = verified(right, wrong)
    assert verdict.failed and any("larger inputs" in note for note in verdict.notes)
    assert verified(right, right).passed and verified(wrong, wrong).passed and verified(wrong, right).passed


def pictured(path: Path, factor: float) -> Path:
    """Sums of deviation 1 of noise; what of them is above 50 counts more, by a factor."""
    return saved(path, [("MatMul", "x w", "p"), ("Sub", "p most", "s"), ("Relu", "s", "r"), ("Mul", "r factor", "m"),
                        ("Add", "p m", "y")], [1, MANY], {
        "w": np.random.default_rng(0).standard_normal((MANY, 20)) / MANY ** 0.5, "most": 50.0, "factor": factor})


def test_what_shows_in_pictures_alone_is_seen(tmp_path: Path) -> None:
    right, wrong = (pictured(tmp_path / f"{factor}.onnx", factor) for factor in (2.0, 1.0))
    verdict = verified(right, wrong)
    assert verdict.failed and any("larger inputs" in note for note in verdict.notes)
    assert verified(right, right).passed
    assert transload.compare(right, wrong).broken and not transload.compare(right, right).broken


@pytest.mark.parametrize("tolerance", [["floor=1"], ["max_abs=1"]])
def test_limits_of_the_size_of_differences_are_not_asked_of_larger_inputs(tolerance: list[str], tmp_path: Path) -> None:
    right, wrong = (pictured(tmp_path / f"{factor}.onnx", factor) for factor in (2.0, 1.0))
    assert verified(right, wrong, tolerance=Tolerance.parse(tolerance)).passed
    assert not transload.compare(right, wrong, tolerance=tolerance).broken


def test_inputs_are_as_pictures_more_often_where_that_takes_little_time() -> None:
    graphs = Graph((2, 300), (300, 4)), Graph((2048, 128), (128, 128))
    light, heavy = (graph.done(graph.MatMul(*graph.inputs)) for graph in graphs)
    drawn = [given["x0"] for given in larger_inputs(light, light, light, 0)]
    assert [array.min() >= 0 for array in drawn] == [False, True, True, True]
    assert np.allclose([np.percentile(np.abs(array), 68) for array in drawn], [10, 100, 30, 100], rtol=0.2)
    assert not np.array_equal(drawn[1], drawn[3])
    assert len([*larger_inputs(heavy, heavy, heavy, 0)]) == 2


@pytest.mark.parametrize("nodes", [
    [("Mul", "x far", "b"), ("Exp", "b", "e"), ("Min", "e most", "y")],
    [("MatMul", "x w", "a"), ("Mul", "a far", "b"), ("Sin", "b", "y")]],
    ids=["infinite", "last bits"])
def test_a_comparison_is_not_wrong_by_what_larger_inputs_leave_open(nodes: list[Any], tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((32, 32))
    right, near = (saved(tmp_path / f"{index}.onnx", nodes, [160, 32], {
        "w": weights * factor, "far": 40.0 if "Sin" in str(nodes) else 0.5, "most": most})
        for index, (factor, most) in enumerate(((1.0, np.inf), (1 + 1e-6, 1e37))))
    assert not transload.compare(right, near).broken and verified(right, near).passed


TO_FLOAT = ("Cast", "x", "f", {"to": 1})
FREQUENCIES = 1e4 ** (-np.arange(16) / 16)


def time_step(factor: float) -> tuple[list[Any], dict[str, Any]]:
    return [TO_FLOAT, ("Mul", "f w", "a"), ("Sin", "a", "s"), ("Cos", "a", "c"), ("Concat", "s c", "y", {"axis": 1})], {
        "w": factor * FREQUENCIES[None]}


def samples(positive: bool) -> tuple[list[Any], dict[str, Any]]:
    return [TO_FLOAT, ("Relu" if positive else "Identity", "f", "g"), ("Mul", "g w", "y")], {"w": 0.1}


def powers(two: bool) -> tuple[list[Any], dict[str, Any]]:
    return [TO_FLOAT, ("Mul", f"f {'f' if two else 'one'}", "g"), ("Mul", "g w", "y")], {"w": FREQUENCIES[None], "one": 1.0}


def roots(half: float) -> tuple[list[Any], dict[str, Any]]:
    """Of integers below zero there is none."""
    return [TO_FLOAT, ("Sqrt", "f", "g"), ("Add", "f g", "h"), ("Pow", "h half", "y")], {"half": half}


@pytest.mark.parametrize("kind", ["INT64", "INT32"])
@pytest.mark.parametrize(("model", "right", "wrong"), [
    (time_step, 1.0, 1.02), (samples, False, True), (powers, False, True), (roots, 0.5, 0.45)])
def test_integers_that_are_computed_with(model: Write, right: Any, wrong: Any, kind: str, tmp_path: Path) -> None:
    made = [saved(tmp_path / f"{index}.onnx", *model(each)[:1], [4, 1], model(each)[1], kind)
            for index, each in enumerate((right, wrong))]
    assert computed_integers(transload.legalize(transload.load(made[0]))) == {0}
    assert verified(made[0], made[0]).passed
    assert verified(*made).failed


def graph_of(write: Callable[[Graph, Any], Any], element: Any = I64) -> Module:
    graph = Graph(TensorType((4,), element), (4,))
    return graph.done(write(graph, graph.inputs[0]))


def as_floats(graph: Graph, value: Any) -> Any:
    return graph.Cast(value, types=[TensorType((4,), graph.element)])


@pytest.mark.parametrize(("write", "computed"), [
    (lambda g, x: g.Sin(as_floats(g, x)), True),
    (lambda g, x: g.Mul(as_floats(g, g.Neg(x)), g.inputs[1]), True),
    (lambda g, x: g.Neg(x), False),
    (lambda g, x: g.Gather(g.inputs[1], x, axis=0), False),
    (lambda g, x: g.Add(g.Gather(g.inputs[1], x, axis=0), as_floats(g, x)), False),
    (lambda g, x: g.Mul(g.Sub(1.0, as_floats(g, x)), -10000.0), False),
])
def test_places_and_masks_are_not_computed_with(write: Callable[[Graph, Any], Any], computed: bool) -> None:
    assert computed_integers(graph_of(write)) == ({0} if computed else frozenset())
    assert computed_integers(graph_of(write, I8)) == frozenset()


def test_what_is_drawn() -> None:
    module = graph_of(lambda g, x: g.Sin(as_floats(g, x)), I32)
    first, second, third, *pictures = larger_inputs(module, module, module, 0)
    assert 250 <= third["x0"].min() < 500 < third["x0"].max() <= 1000  # of one number of all sizes, most are small
    assert first["x0"].min() > 0 > second["x0"].max() and np.abs(first["x1"]).max() > np.abs(second["x1"]).max()
    assert all(given["x0"].min() > 0 and given["x1"].min() >= 0 for given in pictures)
    many = random_inputs(*[graph_wide()] * 2, far={0: -1})["x0"]
    assert many.min() < -900 and many.max() == -1 and np.mean(many > -30) > 0.3


def graph_wide() -> Module:
    graph = Graph(TensorType((1000,), I32))
    return graph.done(graph.inputs[0])


def test_floats_of_16_bits_have_none() -> None:
    graph = Graph(TensorType((4,), F16))
    module = graph.done(graph.Relu(graph.inputs[0]))
    assert not [*larger_inputs(module, module, module, 0)]


def test_what_larger_inputs_run_over_says_nothing(tmp_path: Path) -> None:
    """An exponential of 100 is infinite; that the one says 1e30 there is no failure."""
    right = saved(tmp_path / "right.onnx", [("Mul", "x k", "a"), ("Exp", "a", "y")], [1, 64], {"k": 8.0})
    wrong = saved(tmp_path / "wrong.onnx", [("Mul", "x k", "a"), ("Exp", "a", "b"), ("Min", "b m", "y")], [1, 64],
                  {"k": 8.0, "m": 1e30})
    assert verified(right, wrong).passed


def test_what_doubles_hold_and_floats_do_not_says_nothing_on_larger_inputs(tmp_path: Path) -> None:
    """That f64 becomes f32 is said; a softmax that is wrong in floats is not excused by doubles elsewhere."""
    nodes = [("Exp", "x", "e"), ("ReduceSum", "e", "s"), ("Log", "s", "y")]
    wide = saved(tmp_path / "wide.onnx", nodes, [1, 400], {}, kind="DOUBLE", gives="DOUBLE")
    verdict = verified(wide, wide)
    assert verdict.passed and any("that f32 does not hold" in note for note in verdict.notes)
    given = {"x": np.full((1, 400), 200.0)}
    assert verified(wide, wide, inputs=given).failed  # on what is given it is none either

    scaled = [("Cast", "x", "w", {"to": 11}), ("Cast", "w", "x32", {"to": 1}), ("Mul", "x32 part", "m")]
    right = saved(tmp_path / "right.onnx", [*scaled, ("Softmax", "m", "y")], [1, 400], {"part": 4.0})
    wrong = saved(tmp_path / "wrong.onnx", [*scaled, ("Exp", "m", "e"), ("ReduceSum", "e", "s"), ("Div", "e s", "y")],
                  [1, 400], {"part": 4.0})
    assert verified(right, wrong).failed


def test_what_lies_between_is_not_asked_for_where_nothing_is_of_doubles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tensors of a model together are many times what it holds at one time."""
    asked: list[Any] = []
    monkeypatch.setattr("transload.verification.judge.beyond_singles", lambda tensors: asked.append(tensors) or [])
    right = saved(tmp_path / "right.onnx", [("Mul", "x part", "m"), ("Softmax", "m", "y")], [1, 400], {"part": 4.0})
    wrong = saved(tmp_path / "wrong.onnx", [
        ("Mul", "x part", "m"), ("Exp", "m", "e"), ("ReduceSum", "e", "s"), ("Div", "e s", "y")], [1, 400], {"part": 4.0})
    assert verified(right, wrong).failed and not asked


@pytest.mark.parametrize("nodes", [
    [("MatMul", "x w", "a"), ("Mul", "a far", "b"), ("Sin", "b", "y")],
    [("Mul", "x few", "a"), ("Cast", "a", "b", {"to": 3}), ("Cast", "b", "y", {"to": 1})],
])
def test_what_is_right_does_not_fail_by_what_larger_inputs_leave_open(nodes: list[Any], tmp_path: Path) -> None:
    """A sine of hundreds moves by last bits, and of floats that are too large for an integer runtimes make what they will."""
    weights = np.random.default_rng(0).standard_normal((32, 32))
    right, near = (saved(tmp_path / f"{index}.onnx", nodes, [4, 32], {"w": weights * factor, "far": 400.0, "few": 20.0})
                   for index, factor in enumerate((1.0, 1 + 1e-6)))
    assert verified(right, near).passed

"""What passes on the usual inputs is run on some that reach what a model's constants ask about: places, thresholds, lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.analysis.landmarks import Landmarks, landmarks_of_inputs
from transload.ir import F32, I8, I64, Module, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.verification.inputs import random_inputs
from transload.verification.reaching import reaching_inputs
from transload.verification.verify import Verification, verify_conversion
from transload_hub.scatter import unsorted_segments

from tests.support.graphs import Graph

pytest.importorskip("onnxruntime")

TABLE = np.random.default_rng(3).standard_normal((100, 8)).astype(np.float32)
INTEGERS, LENGTH = np.zeros((1, 8), np.int64), np.zeros(1, np.int32)
Case = tuple[list[tuple[Any, ...]], Mapping[str, np.ndarray], Mapping[str, Any], str, Callable[[np.ndarray], np.ndarray]]


def tail(rows: int, axis: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    """The mistake of another sign behind the first rows, which numbers of 0 and 1 reach alone."""
    def mistake(array: np.ndarray) -> np.ndarray:
        first, rest = np.split(array, [rows], axis)
        return np.concatenate([first, -rest], axis)
    return mistake


def zeroed(array: np.ndarray) -> np.ndarray:
    return array * 0


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def looked_up(*before: tuple[Any, ...], **constants: Any) -> Case:
    """A table that is read at what some nodes make of `ids`."""
    nodes = [*before, ("Gather", ["table", before[-1][2]], "y")]
    return nodes, {"ids": INTEGERS}, {"table": TABLE, **constants}, "table", tail(4)


def recurrent(operator: str, gates: int) -> Case:
    nodes = [(operator, ["x", "w", "r", "b", "lengths"], "y", {"hidden_size": 6})]
    constants = {"w": floats(1, gates * 6, 4), "r": floats(1, gates * 6, 6), "b": floats(1, gates * 12)}
    return nodes, {"x": np.zeros((8, 1, 4), np.float32), "lengths": LENGTH}, constants, "r", zeroed


def of_pixels(*before: tuple[Any, ...], **constants: Any) -> Case:
    nodes = [*before, ("Conv", [before[-1][2], "w", "b"], "y", {"pads": [1, 1, 1, 1]})]
    return nodes, {"x": np.zeros((1, 1, 8, 8), np.float32)}, {"w": floats(4, 1, 3, 3), "b": floats(4), **constants}, "w", zeroed


def changed(case: Case, name: str, mistake: Callable[[np.ndarray], np.ndarray]) -> Case:
    return (*case[:3], name, mistake)


BINS: Case = (
    [("Unsqueeze", ["x", "axis"], "u"), ("GreaterOrEqual", ["u", "bins"], "g"), ("Cast", ["g"], "c", {"to": 7}),
     ("ReduceSum", ["c", "axis"], "k", {"keepdims": 0}), ("Gather", ["table", "k"], "y")],
    {"x": INTEGERS}, {"axis": np.array([2]), "bins": np.array([18, 25, 35, 50, 65]), "table": TABLE[:6]}, "table", tail(1))
MASKED: Case = (
    [("Unsqueeze", ["lengths", "axis"], "u"), ("Less", ["steps", "u"], "k"), ("Unsqueeze", ["k", "last"], "k3"),
     ("Cast", ["k3"], "m", {"to": 1}), ("Add", ["x", "places"], "h"), ("Mul", ["h", "m"], "y")],
    {"x": np.zeros((1, 20, 6), np.float32), "lengths": LENGTH},
    {"axis": np.array([1]), "last": np.array([2]), "steps": np.arange(20, dtype=np.int32)[None], "places": floats(1, 20, 6)},
    "places", tail(1, 1))
ATTENDED: Case = (
    [("MatMul", ["x", "w"], "q"), ("Transpose", ["x"], "k", {"perm": [0, 2, 1]}), ("MatMul", ["q", "k"], "a"),
     ("Unsqueeze", ["lengths", "axis"], "u"), ("Less", ["steps", "u"], "m"), ("Where", ["m", "a", "low"], "s"),
     ("Softmax", ["s"], "p"), ("MatMul", ["p", "x"], "y")],
    {"x": np.zeros((1, 8, 6), np.float32), "lengths": LENGTH},
    {"w": floats(6, 6), "axis": np.array([1]), "steps": np.arange(8, dtype=np.int32)[None], "low": np.float32(-1e9)}, "w", zeroed)
CASES: dict[str, Case] = {
    "LSTM": recurrent("LSTM", 4), "GRU": recurrent("GRU", 3), "RNN": recurrent("RNN", 1), "mask of lengths": MASKED,
    "attention of a length": ATTENDED, "bins": BINS,
    "turned round": ([("ReverseSequence", ["x", "lengths"], "h"), ("Mul", ["h", "w"], "y")],
                     {"x": np.zeros((8, 1, 4), np.float32), "lengths": LENGTH.astype(np.int64)}, {"w": floats(8, 1, 4)}, "w",
                     tail(7)),
    "offset": looked_up(("Add", ["ids", "two"], "i"), two=np.int64(2)),
    "offset below": looked_up(("Sub", ["ids", "two"], "i"), two=np.int64(2)),
    "hashed": looked_up(("Mod", ["ids", "size"], "i"), size=np.int64(100)),
    "scaled": looked_up(("Mul", ["ids", "three"], "i"), three=np.int64(3)),
    "hours": looked_up(("Div", ["ids", "hour"], "h"), ("Mod", ["h", "day"], "i"), hour=np.int64(3600), day=np.int64(24)),
    "cut off": looked_up(("Min", ["ids", "last"], "i"), last=np.int64(99)),
    "one of twenty": ([("Unsqueeze", ["ids", "axis"], "u"), ("Equal", ["u", "classes"], "e"), ("Cast", ["e"], "o", {"to": 1}),
                       ("MatMul", ["o", "table"], "y")], {"ids": INTEGERS},
                      {"axis": np.array([2]), "classes": np.arange(20), "table": TABLE[:20]}, "table", tail(4)),
    "count": ([("Min", ["x", "most"], "y")], {"x": INTEGERS}, {"most": np.int64(100)}, "most", lambda array: array + 10**6),
    "remainder": ([("Mod", ["x", "size"], "y")], {"x": INTEGERS}, {"size": np.int64(37)}, "size", lambda array: array * 1000),
    "time step": (
        [("Cast", ["t"], "f", {"to": 1}), ("Mul", ["f", "frequencies"], "a"), ("Sin", ["a"], "s"), ("MatMul", ["s", "w"], "y")],
        {"t": np.zeros((1, 1), np.int64)}, {"frequencies": np.exp(-np.arange(8.0, dtype=np.float32))[None], "w": floats(8, 6)},
        "frequencies", lambda array: np.where(np.arange(8) > 5, np.float32(0), array)),
    "imputed": (
        [("IsNaN", ["x"], "n"), ("Where", ["n", "means", "x"], "f"), ("MatMul", ["f", "w"], "y")],
        {"x": np.zeros((1, 6), np.float32)}, {"means": floats(6) + 3, "w": floats(6, 3)}, "means", zeroed),
    "imputed where infinite": (
        [("Abs", ["x"], "a"), ("Equal", ["a", "end"], "n"), ("Where", ["n", "means", "x"], "f"), ("MatMul", ["f", "w"], "y")],
        {"x": np.zeros((1, 6), np.float32)}, {"end": np.float32(np.inf), "means": floats(6) + 3, "w": floats(6, 3)}, "means",
        zeroed),
    "black and white": of_pixels(("Greater", ["x", "middle"], "g"), ("Cast", ["g"], "c", {"to": 1}), middle=np.float32(128)),
    "clipped": changed(of_pixels(("Clip", ["x", "low", "high"], "c"), low=np.float32(0), high=np.float32(200)), "high",
                       lambda array: array * 9),
}


def written(path: Path, case: Case, wrong: bool = False) -> Path:
    from tests.support.onnx_models import make_model, node

    nodes, inputs, constants, name, mistake = case
    made = [node(operator, operands, [output], **(more[0] if more else {})) for operator, operands, output, *more in nodes]
    held = {each: np.asarray(value) for each, value in constants.items()}
    if wrong:
        held[name] = np.asarray(mistake(held[name]), held[name].dtype)
    path.write_bytes(make_model(made, dict(inputs), ["y"], held).SerializeToString())
    return path


def verified(right: Path, wrong: Path) -> Verification:
    """The verdict on a module with what is wrong in one file, as that of the other."""
    source, result = transload.load(right), transload.legalize(transload.load(wrong))
    return verify_conversion(source, result, hub=transload.legalize(source), engine="reference")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CASES)
def test_what_constants_ask_about_is_reached(name: str, tmp_path: Path) -> None:
    right, wrong = written(tmp_path / "right.onnx", CASES[name]), written(tmp_path / "wrong.onnx", CASES[name], wrong=True)
    assert verified(right, right).passed
    assert verified(right, wrong).failed


def test_a_result_that_does_not_ask_for_nan_fails(tmp_path: Path) -> None:
    """Of NaN it makes NaN, where the model makes numbers; so `compare` says of its artifact."""
    _, inputs, constants, *_ = CASES["imputed"]
    right = written(tmp_path / "right.onnx", CASES["imputed"])
    wrong = written(tmp_path / "wrong.onnx", ([("MatMul", ["x", "w"], "y")], inputs, {"w": constants["w"]}, "w", zeroed))
    assert verified(right, wrong).failed
    for model, is_right in ((right, True), (wrong, False)):
        transload.convert(model, "tosa", tmp_path / "out", verify="no")
        assert (not transload.compare(right, tmp_path / "out").broken) == is_right


def test_which_of_equal_bytes_is_the_greatest_shows(tmp_path: Path) -> None:
    def greatest(name: str, last: int) -> Path:
        nodes = [("Cast", ["x"], "c", {"to": 6}), ("ArgMax", ["c"], "y", {"axis": 2, "keepdims": 0, "select_last_index": last})]
        return written(tmp_path / name, (nodes, {"x": np.zeros((1, 4, 16), np.uint8)}, {}, "", zeroed))

    first, last = greatest("first.onnx", 0), greatest("last.onnx", 1)
    assert verified(first, first).passed and verified(first, last).failed


def test_each_side_of_each_threshold_is_stood_on() -> None:
    """A third of six were missed in each of two runs."""
    thresholds = np.array([18, 25, 35, 50, 65], np.float32)[:, None]
    module, _ = asking(lambda g, x: g.Compare(x, thresholds, mode="Greater"), element=F32)
    numbers = np.concatenate([each[0]["x0"] for each in reaching_inputs(module, module, module, 0)])
    for threshold in thresholds:
        assert all(((sign * (numbers - threshold) > 0) & (sign * (numbers - threshold) < 8)).any() for sign in (1, -1))


def asking(ask: Callable[[Graph, Any], Any], *, element: Any = I64) -> tuple[Module, Landmarks | None]:
    """A module of one input, and what it asks about that."""
    graph = Graph(TensorType((8,), element))
    module = graph.done(ask(graph, graph.inputs[0]))
    return module, landmarks_of_inputs(module).get(0)


def whole(number: int) -> np.ndarray:
    return np.array(number, np.int64)


def test_landmarks_are_followed_back_through_arithmetic() -> None:
    table = np.zeros((10, 3), np.float32)
    cases: list[tuple[Callable[[Graph, Any], Any], tuple[float, ...], float, float]] = [
        (lambda g, x: g.Gather(table, g.Add(x, whole(2)), axis=0), (-2, 7), -2, 7),
        (lambda g, x: g.Gather(table, g.Add(x, np.arange(8)), axis=0), (-7, 0, 2, 9), 0, 2),
        (lambda g, x: g.Gather(table, g.Sub(whole(9), x), axis=0), (0, 9), 0, 9),
        (lambda g, x: g.Gather(table, g.Mul(x, whole(4)), axis=0), (0, 2, 3), 0, 2),
        (lambda g, x: g.Gather(table, g.Div(x, whole(5)), axis=0), (0, 4, 5, 45, 49), 0, 49),
        (lambda g, x: g.Gather(table, g.FloorMod(x, whole(10)), axis=0), (-10, 0, 9, 10, 20), -np.inf, np.inf),
        (lambda g, x: g.Gather(table, g.TruncMod(x, whole(10)), axis=0), (0, 9, 10, 20), 0, np.inf),
        (lambda g, x: g.Gather(table, g.BitwiseAnd(x, whole(7)), axis=0), (0, 7, 8), -np.inf, np.inf),
        (lambda g, x: g.Gather(table, g.BitwiseAnd(x, whole(15)), axis=0), (0, 9, 15, 16), 0, 9),
        (lambda g, x: g.Gather(table, g.Min(g.Max(x, whole(0)), whole(9)), axis=0), (0, 9), -np.inf, np.inf),
        (lambda g, x: g.Compare(g.Neg(x), np.array([[3], [5]]), mode="Less"), (-5, -3), -np.inf, np.inf),
    ]
    for ask, points, least, most in cases:
        _, found = asking(ask)
        assert found is not None and (found.points, found.least, found.most) == (points, least, most)


def test_what_is_drawn() -> None:
    module, _ = asking(lambda g, x: g.Gather(np.zeros((99, 3), np.float32), g.Add(x, whole(5)), axis=0))
    runs = [each[0]["x0"] for each in reaching_inputs(module, module, module, 0)]
    assert len(runs) == 2 and all(-5 <= run.min() < 10 and 80 < run.max() <= 93 for run in runs)
    narrow = next(iter(reaching_inputs(module, module, module, 0)))[1]["x0"]
    assert narrow.min() >= -2 and narrow.max() <= 24  # for where the runtime gives up on the others
    places, _ = asking(lambda g, x: g.Gather(np.zeros((99, 3), np.float32), x, axis=0))
    assert not list(reaching_inputs(places, places, places, 0))  # what is drawn anyway reaches all of it
    masked, _ = asking(lambda g, x: g.Max(x, np.array(-1e9, np.float32)), element=F32)
    assert not list(reaching_inputs(masked, masked, masked, 0))
    for factor, draws in ((0.5, True), (0.1, False)):  # what 0.1 makes of 30 is rounded to 2 or to 3
        graph = Graph(TensorType((8,), I64))
        scaled = graph.Mul(graph.Cast(graph.inputs[0], types=[TensorType((8,), F32)]), np.array(factor, np.float32))
        rows = graph.Cast(scaled, types=[TensorType((8,), I64)])
        halves = graph.done(graph.Gather(np.zeros((99, 3), np.float32), rows, axis=0))
        assert bool(list(reaching_inputs(halves, halves, halves, 0))) == draws
    middle, _ = asking(lambda g, x: g.Compare(x, np.array(128, np.float32), mode="Greater"), element=F32)
    assert list(reaching_inputs(middle, middle, middle, 0))
    assert not list(reaching_inputs(middle, middle, middle, 0, floats=False))


@pytest.mark.parametrize("seed", range(3))
def test_integers_are_drawn_that_ops_take(seed: int) -> None:
    """Zeros and ones where nothing is asked; of a length, one at least, and of a place far off, the next two."""
    asks: list[tuple[Callable[[Graph, Any], Any], set[int]]] = [
        (lambda g, x: g.Cast(x, types=[TensorType((8,), F32)]), {0, 1}),
        (lambda g, x: g.ReverseSequence(np.zeros((5, 8), np.float32), x, seq_axis=0, batch_axis=1), {1, 2}),
        (lambda g, x: g.ReverseSequence(np.zeros((1, 8), np.float32), x, seq_axis=0, batch_axis=1), {1}),
        (lambda g, x: g.Gather(np.zeros((9, 3), np.float32), g.Add(x, whole(-40)), axis=0), {40, 41}),
        (lambda g, x: g.Gather(np.zeros((9, 3), np.float32), g.Add(x, whole(40)), axis=0), {-32}),
    ]
    for ask, taken in asks:
        module, _ = asking(ask)
        assert set(random_inputs(module, module, seed=seed)["x0"].flat) == taken


def test_the_same_on_all_inputs_says_nothing(tmp_path: Path) -> None:
    """Whether biases alone are right, or what is multiplied as well, does not show."""
    case = of_pixels(("Greater", ["x", "much"], "g"), ("Cast", ["g"], "c", {"to": 1}), much=np.float32(1e6))
    right, wrong = (written(tmp_path / f"{is_wrong}.onnx", case, is_wrong) for is_wrong in (False, True))
    assert verified(right, wrong).status == verified(right, right).status == "inconclusive"


def test_an_output_of_no_input_is_the_same(tmp_path: Path) -> None:
    case: Case = ([("Mul", ["table", "two"], "y")], {"x": INTEGERS}, {"table": TABLE, "two": np.float32(2)}, "two", zeroed)
    assert verified(*[written(tmp_path / "right.onnx", case)] * 2).passed


def test_ids_of_segments_are_drawn_that_there_are() -> None:
    """One more is refused by LiteRT."""
    module = new_module()
    module.add_function("main", [TensorType((40,), I64), TensorType((40, 2), F32)], ["ids", "x"])
    ids, x = module.body_of_main.arguments
    set_results(module.main, [unsorted_segments(Builder(module.body_of_main), x, ids, 3, "max")])
    assert set(random_inputs(module, module)["ids"]) == {0, 1, 2}


@pytest.mark.parametrize("side", [0, 1, -1])
def test_stored_numbers_are_drawn_that_ops_take(side: int) -> None:
    """Through ops that move them; what is computed of them may be anything."""
    kind = QuantType(I8, F32, (0.5,), (-3,))
    module = new_module()
    module.add_function("main", [TensorType((40, 50), kind)] * 5, ["rooted", "inverse", "divisor", "dividend", "moved"])
    block = module.body_of_main
    build, (rooted, inverse, divisor, dividend, moved) = Builder(block), block.arguments
    made = [
        build.emit("top.Sqrt", rooted, element=kind), build.emit("top.Rsqrt", inverse, element=kind),
        build.emit("top.Div", dividend, divisor, element=kind),
        build.emit("top.Sqrt", build.emit("top.Permute", moved, order=(1, 0)), element=kind)]
    set_results(module.main, made)
    drawn = random_inputs(module, module, side=side)
    assert min(drawn["rooted"].min(), drawn["moved"].min()) >= -3 and drawn["inverse"].min() >= -2
    assert not (drawn["divisor"] == -3).any() and (side or drawn["divisor"].min() < -100)
    assert side < 0 or max(array.max() for array in drawn.values()) > 120
    assert side > 0 or drawn["dividend"].min() < -120


GATHERS = {"Gather": (INTEGERS, {"axis": 0}), "GatherElements": (np.zeros((4, 8), np.int64), {"axis": 0}),
           "GatherND": (np.zeros((4, 1), np.int64), {})}


@pytest.mark.parametrize("operator", GATHERS)
def test_places_are_counted_from_the_end_where_the_source_counts_so(operator: str, tmp_path: Path) -> None:
    ids, attributes = GATHERS[operator]
    constants = {"table": TABLE, "first": np.int64(0), "last": np.int64(99)}
    of_ids: list[tuple[Any, ...]] = [(operator, ["table", "ids"], "y", attributes)]
    of_cut = [("Max", ["ids", "first"], "i"), (operator, ["table", "i"], "y", attributes)]
    right = written(tmp_path / "right.onnx", (of_ids, {"ids": ids}, {"table": TABLE}, "table", zeroed))
    wrong = written(tmp_path / "wrong.onnx", (of_cut, {"ids": ids}, constants, "table", zeroed))
    assert verified(right, right).passed
    assert verified(right, wrong).failed

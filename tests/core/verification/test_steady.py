"""What one constant would pass for on all inputs says nothing, and what little varies of an output is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.ir import F32, I8, QuantType, TensorType
from transload.verification.kinds import OutputKinds
from transload.verification.steady import Steady, between
from transload.verification.tolerance import Tolerance
from transload.verification.verify import Verification, verify_conversion

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

WEIGHTS = np.random.default_rng(4).standard_normal((8, 6)).astype(np.float32)
LABEL = [node("ArgMax", ["s"], ["y"], axis=1, keepdims=0)]
ENDS = {
    "label": LABEL,
    "labels": [node("TopK", ["s", "three"], ["values", "y"], axis=1)],
    "tenfold": [node("ArgMax", ["s"], ["l"], axis=1, keepdims=0), node("Mul", ["l", "ten"], ["y"])],
    "int32": [node("ArgMax", ["s"], ["l"], axis=1, keepdims=0), node("Cast", ["l"], ["y"], to=6)],
    "mask": [node("Greater", ["s", "limit"], ["g"]), node("Cast", ["g"], ["y"], to=2)],
    "truths": [node("Greater", ["s", "limit"], ["y"])],
    "chances": [node("Softmax", ["s"], ["y"], axis=1)],
    "sigmoids": [node("Sigmoid", ["s"], ["y"])],
    "hardmax": [node("Hardmax", ["s"], ["y"], axis=1)],
    "scores": [node("Identity", ["s"], ["y"])],
}


def scores(path: Path, end: str, factor: float, bias: Any, weights: np.ndarray = WEIGHTS) -> Path:
    """`y`, made of the scores `factor * tanh(x @ weights / 8) + bias`."""
    constants = {"w": weights, "k": np.float32(factor), "b": np.asarray(bias, np.float32), "e": np.float32(8),
                 "three": np.array([3]), "ten": np.array(10), "limit": np.float32(0.5)}
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Div", ["h", "e"], ["d"]), node("Tanh", ["d"], ["t"]),
             node("Mul", ["t", "k"], ["f"]), node("Add", ["f", "b"], ["s"]), *ENDS[end]]
    used = {name: array for name, array in constants.items() if any(name in each.input for each in nodes)}
    path.write_bytes(make_model(nodes, {"x": np.zeros((1, 8), np.float32)}, ["y"], used).SerializeToString())
    return path


def verdict_on(right: Path, wrong: Path, **more: Any) -> Verification:
    source = transload.load(right)
    return verify_conversion(source, transload.lower(transload.load(wrong), "tosa"), hub=at_hub(source), **more)


@pytest.mark.parametrize("end", [end for end in ENDS if end != "scores"])
def test_a_label_that_is_the_same_on_all_inputs_says_nothing(end: str, tmp_path: Path) -> None:
    """Label 7 on all that was tried passed, of what ignores its inputs; so did chances that are 0 and 1, longer."""
    bias = np.array([20, -20, 30, -30, 50, -40])
    right, wrong = (scores(tmp_path / f"{factor}.onnx", end, factor, bias) for factor in (1, 0))
    for artifact in (right, wrong):
        verdict = verdict_on(right, artifact)
        assert verdict.status == "inconclusive" and "always the same" in verdict.why
    samples = [{"x": np.full((1, 8), each, np.float32)} for each in (1, 2)]
    assert verdict_on(right, wrong, inputs=samples, every=True).status == "inconclusive"
    assert verdict_on(right, right, inputs=samples[0]).passed


def test_a_label_that_is_another_on_larger_inputs(tmp_path: Path) -> None:
    """Of noise of deviation 1 and 10 the biases alone decide."""
    bias = np.array([0, 0, 0.99, 0, 0, 0])
    right, wrong = (scores(tmp_path / f"{factor}.onnx", "label", factor, bias, WEIGHTS / 50) for factor in (1, 0))
    assert verdict_on(right, right).passed and verdict_on(right, wrong).failed


@pytest.mark.parametrize("beside", [False, True])
def test_a_label_that_is_1_where_it_is_another(beside: bool, tmp_path: Path) -> None:
    """A label of 1 says nothing alone, and one that was 5 before does, also beside zeros: right ones were not conclusive."""
    one = np.eye(6, dtype=np.float32)
    constants = {"w": one[[1] * 400] / 1000, "b": one[5] * 10, "no": np.float32(0)}
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Add", ["h", "b"], ["s"]), *LABEL, node("Mul", ["h", "no"], ["zeros"])]
    model = make_model(nodes, {"x": np.zeros((1, 400), np.float32)}, ["y", "zeros"][:1 + beside], constants)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert verdict_on(tmp_path / "m.onnx", tmp_path / "m.onnx").passed


def test_chances_of_0_and_1_are_judged_on_further_inputs(tmp_path: Path) -> None:
    """What is wrong where no input is negative passed, of a softmax that is always sure."""
    for name, factor in (("right", 1e6), ("wrong", 0)):
        constants = {"w": WEIGHTS * 1e4, "k": np.eye(6, dtype=np.float32)[3] * np.float32(factor), "axes": np.array([1])}
        nodes = [node("MatMul", ["x", "w"], ["h"]), node("ReduceMin", ["x", "axes"], ["least"]), node("Relu", ["least"], ["r"]),
                 node("Mul", ["r", "k"], ["more"]), node("Add", ["h", "more"], ["s"]), *ENDS["chances"]]
        model = make_model(nodes, {"x": np.zeros((1, 8), np.float32)}, ["y"], constants, opset=18)
        (tmp_path / name).with_suffix(".onnx").write_bytes(model.SerializeToString())
    right, wrong = tmp_path / "right.onnx", tmp_path / "wrong.onnx"
    assert verdict_on(right, right).passed and verdict_on(right, wrong).failed


@pytest.mark.parametrize("inputs", [None, 8])
@pytest.mark.parametrize(("factor", "bias", "size"), [(2, 293, 1), (0.01, np.arange(6) - 2.0, 6)], ids=["kelvin", "biases"])
def test_what_varies_little_is_judged_alone(factor: float, bias: Any, size: int, inputs: int | None, tmp_path: Path) -> None:
    """A number of 293, give or take 2, was right wherever it stood, and so were biases beside what little is added."""
    right, constant, negated = (scores(tmp_path / f"{sign}.onnx", "scores", sign * factor, bias, WEIGHTS[:, :size])
                                for sign in (1, 0, -1))
    drawn = np.random.default_rng(0).standard_normal((8, 1, 8)).astype(np.float32)
    more: Any = {} if inputs is None else {"inputs": [{"x": array} for array in drawn], "every": True}
    assert verdict_on(right, right, **more).passed
    for wrong in (constant, negated):
        verdict = verdict_on(right, wrong, **more)
        assert verdict.failed and "of what varies from input to input" in verdict.broken[0]


def test_what_roundings_move_as_far_is_not_wrong(tmp_path: Path) -> None:
    """A sine of numbers around 1e6 is any number that one float or the next of its inputs gives; beside biases it failed."""
    for name, factor in (("right", 0.01), ("constant", 0)):
        constants = {"w": WEIGHTS, "v": WEIGHTS[:6], "far": np.float32(3e5), "k": np.float32(factor),
                     "b": np.arange(6, dtype=np.float32)}
        nodes = [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "v"], ["g"]), node("Mul", ["g", "far"], ["f"]),
                 node("Sin", ["f"], ["t"]), node("Mul", ["t", "k"], ["m"]), node("Add", ["m", "b"], ["y"])]
        model = make_model(nodes, {"x": np.zeros((1, 8), np.float32)}, ["y"], constants)
        (tmp_path / name).with_suffix(".onnx").write_bytes(model.SerializeToString())
    right = tmp_path / "right.onnx"
    verdict = verdict_on(right, right)
    assert verdict.passed and any("moved by roundings" in note for note in verdict.notes)
    assert verdict_on(right, tmp_path / "constant.onnx").status == "inconclusive"


def steady_of(*outputs: TensorType, tolerance: Tolerance | None = None) -> Steady:
    """What is steady of a module that gives of each of its inputs what is computed of it."""
    graph = Graph(*outputs)
    module = graph.done(*(graph.Relu(each) for each in graph.inputs))
    return Steady(module, OutputKinds(module, module, module, tolerance or Tolerance(), keeps_floats=False))


def test_what_is_the_same_on_inputs_that_differ() -> None:
    steady, one = steady_of(*[TensorType((4,), F32)] * 2), np.ones(4, np.float32)
    for given, varying in ((one, one), (one, 5 * one), (2 * one, one)):
        assert not steady.places
        steady.note([given, given], *[[one, varying]] * 2)
    assert steady.places == {0, 1} and not steady.apart  # the second varied on the same inputs alone
    steady.note([3 * one, 3 * one], *[[one, 5 * one]] * 2)
    assert steady.places == {0} and steady.apart == {1}


@pytest.mark.parametrize(("varies", "strays", "says", "broken"), [
    (1e-3, 0, True, False), (1e-3, 1e-6, True, False), (1e-3, 1e-4, True, True), (1e-3, 1e-3, False, True),
    (3e-7, 3e-7, False, False)])
def test_what_roundings_leave_of_what_varies(varies: float, strays: float, says: bool, broken: bool) -> None:
    """A tenth of what varies is too much to be off by; what is no more than roundings says nothing, and is not wrong."""
    steady, generator = steady_of(TensorType((64,), F32)), np.random.default_rng(0)
    for number in range(4):
        right = np.linspace(-1, 1, 64) + varies * generator.standard_normal(64)
        found = right + strays * generator.standard_normal(64)
        steady.note([np.array(number)], [right.astype(np.float32)], [found.astype(np.float32)])
    assert (not steady.places) is says and bool(steady.broken()) is broken


def test_what_is_zero_but_on_the_first_inputs() -> None:
    """It ended in a division by zero."""
    no_limits = Tolerance(cos=-np.inf, euclid=-np.inf)
    steady, one = steady_of(TensorType((100,), F32), tolerance=no_limits), np.eye(1, 100)[0]
    for number in range(3):
        right = one * (number == 0)
        steady.note([np.array(number)], [right], [right + (number > 0) * np.roll(one, 1)])
    assert steady.places == {0} and not steady.apart and not steady.broken()


@pytest.mark.parametrize(("old", "new", "chosen", "middle"), [
    (np.float32([1, 2]), np.float32([2, 4]), False, [1.5, 3]),
    (np.int8([127, -128, 1, 1]), np.int8([125, 127, 2, 2]), False, [126, 0, 1, 2]),
    (np.array([3, 3, 7]), np.array([1, 2, 7]), True, [3, 2, 7]), (np.array([True]), np.array([False]), False, [True]),
    (np.complex64([2j]), np.complex64([4]), False, [2 + 1j])])
def test_midway_between_two(old: np.ndarray, new: np.ndarray, chosen: bool, middle: list[Any]) -> None:
    found = between(old, new, chosen)
    assert found.dtype == new.dtype and found.tolist() == middle


def test_steps_that_one_constant_is_near_enough_to() -> None:
    quantized = TensorType((100,), QuantType(I8, F32, (0.5,), (0,)))
    steady, first = steady_of(quantized, quantized), np.arange(100, dtype=np.int8)
    steady.note([np.array(0)] * 2, *[[first, first]] * 2)
    steady.note([np.array(1)] * 2, *[[first + (first % 10 == 0), first + 3]] * 2)
    assert steady.places == {0} and steady.apart == {1}


@pytest.mark.parametrize(("limit", "status"), [(1e6, "inconclusive"), (0.0, "passed")])
def test_what_was_quantized_and_is_the_same_on_all_samples(limit: float, status: str, tmp_path: Path) -> None:
    """Biases behind a threshold passed, whatever is multiplied."""
    nodes = [node("Sub", ["x", "limit"], ["d"]), node("Relu", ["d"], ["r"]), node("MatMul", ["r", "w"], ["m"]),
             node("Add", ["m", "b"], ["y"])]
    samples = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    constants = {"limit": np.float32(limit), "w": WEIGHTS, "b": np.arange(6, dtype=np.float32)}
    (tmp_path / "m.onnx").write_bytes(make_model(nodes, {"x": samples[:1]}, ["y"], constants).SerializeToString())
    np.save(tmp_path / "x.npy", samples)
    converted = transload.convert(tmp_path / "m.onnx", "tosa", tmp_path / "out", quantize="int8", data=tmp_path / "x.npy")
    assert converted.verification is not None and converted.verification.status == status

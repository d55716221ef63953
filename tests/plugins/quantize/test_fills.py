"""Fills that a maximum never shows need no range: what is filled keeps its steps. onnxruntime judges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir.build import constant_of
from transload.metrics import sqnr
from transload.quantization import floats_in
from transload_plugins.quantize.fills import has_far_numbers, without_far_numbers

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node

pytest.importorskip("onnxruntime")
LEAST = float(np.finfo(np.float32).min)
G = np.random.default_rng(3)
SEEN = G.random((1, 8, 8, 8)) > 0.4
WEIGHTS = (G.standard_normal((8, 3, 3, 3)) * 0.3).astype(np.float32)


def samples(count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(count)
    return [{"x": rng.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(count)]


def network(form: str, fill: float) -> tuple[list[Any], dict[str, Any]]:
    """A convolution and SiLU, filled and shown by `form`: nodes and constants."""
    nodes = [node("Conv", ["x", "w"], ["c"], pads=[1] * 4), node("Sigmoid", ["c"], ["s"]), node("Mul", ["c", "s"], ["a"])]
    constants: dict[str, Any] = {"w": WEIGHTS, "fill": np.float32(fill)}
    where = node("Where", ["seen", "a", "fill"], ["q"])
    match form:
        case "pad":
            constants["pads"] = np.array([0, 0, 1, 1, 0, 0, 1, 1])
            nodes += [node("Pad", ["a", "pads", "fill"], ["q"]),
                      node("MaxPool", ["q"], ["y"], kernel_shape=[3, 3], strides=[2, 2])]
        case "concat":
            constants["fill"] = np.full((1, 8, 8, 1), fill, np.float32)
            nodes += [node("Concat", ["a", "fill"], ["q"], axis=3),
                      node("MaxPool", ["q"], ["y"], kernel_shape=[2, 3], strides=[2, 3])]
        case "greatest" | "least":
            constants["seen"] = SEEN
            nodes += [where, node(f"Reduce{'Max' if form == 'greatest' else 'Min'}", ["q"], ["y"], axes=[1], keepdims=0)]
        case "moved":
            constants |= {"seen": SEEN, "shape": np.array([8, 64])}
            nodes += [where, node("Reshape", ["q", "shape"], ["r"]), node("Transpose", ["r"], ["t"]),
                      node("ReduceMax", ["t"], ["y"], axes=[1])]
        case "limited":
            constants["seen"] = SEEN
            nodes += [where, node("Relu", ["q"], ["y"])]
        case "added":
            constants["fill"] = np.where(SEEN, np.float32(0), np.float32(fill))
            nodes += [node("Add", ["a", "fill"], ["q"]), node("ReduceMax", ["q"], ["y"], axes=[1])]
        case "running":
            constants["fill"] = np.full((1, 8, 8, 8), fill, np.float32)
            nodes += [node("Max", ["fill", "a"], ["q"]), node("Sub", ["fill", "q"], ["far"]), node("Exp", ["far"], ["none"]),
                      node("Mul", ["q", "w3"], ["r"]), node("Sub", ["a", "r"], ["d"]), node("Exp", ["d"], ["e"]),
                      node("Add", ["none", "e"], ["y"])]
            constants["w3"] = np.float32(0.75)
    return nodes, constants


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("form", "fill"), [
    ("pad", -1e9), ("concat", LEAST), ("concat", -np.inf), ("greatest", -1e9), ("greatest", -np.inf), ("least", 1e9),
    ("least", np.inf), ("moved", LEAST), ("limited", -1e9), ("limited", -np.inf), ("added", -1e9),
    ("running", -1e9), ("running", -1e38)])
def test_what_is_filled_keeps_its_steps(tmp_path: Path, form: str, fill: float) -> None:
    """Infinite fills were refused; with others one scale reached over all, and outputs were zeros on chips of integers."""
    from transload_converters.onnx.runtime import open_model

    path, (nodes, constants) = tmp_path / "model.onnx", network(form, fill)
    path.write_bytes(make_model(nodes, samples(1)[0], ["y"], constants, opset=13).SerializeToString())
    made = transload.quantize(transload.load(path), "int8", samples(8), islands="none")
    assert not floats_in(made)
    given = samples(4)
    wanted = np.stack([open_model(path)(sample)["y"] for sample in given])
    for module in (made, transload.lower(made, "tosa")):
        actual = np.stack([transload.run(module, sample, engine="reference")["y"] for sample in given])
        assert sqnr(wanted, actual) > 25.0
    table = transload.calibrate(transload.load(path), samples(8), method="minmax").save(tmp_path / "table")
    made = transload.quantize(transload.load(path), "int8", calibration=str(table))
    assert sqnr(wanted, np.stack([transload.run(made, sample)["y"] for sample in given])) > 20.0  # without rounding and biases


def test_a_running_maximum_that_starts_far_below_runs_in_litert(tmp_path: Path) -> None:
    """As of an RWKV network: a difference with a step of 1e35 ended LiteRT."""
    pytest.importorskip("ai_edge_litert")
    path, (nodes, constants) = tmp_path / "model.onnx", network("running", -1e38)
    path.write_bytes(make_model(nodes, samples(1)[0], ["y"], constants, opset=13).SerializeToString())
    made = transload.convert(path, "tflite", tmp_path / "out", quantize="int8", data=samples(4))
    assert made.verification is not None and made.verification.status == "passed", made.verification


def test_a_start_that_an_exponential_shows_stays() -> None:
    """One of -20 below what it is beside gives 2e-9, which is told from 0; and a start that is shown itself."""
    g = Graph((2, 8))
    start = g.constant(np.full((2, 8), -1e38, np.float32))
    module = g.done(g.Exp(g.Sub(np.full((2, 8), -20, np.float32), g.inputs[0])), g.Sub(start, g.inputs[0]))
    given = [{"x0": np.linspace(1, 2, 16, dtype=np.float32).reshape(2, 8)}]
    assert without_far_numbers(module, given) is module


def test_what_shows_its_fill_stays() -> None:
    """Rows that are filled throughout, what others take, too, near fills, and biases."""
    g = Graph((2, 8))
    (x,) = g.inputs
    far = np.array(-1e9, np.float32)
    throughout = g.Reduce(g.Where(np.zeros((2, 8), bool), x, far), axes=(1,), mode="ReduceMax")
    seen = np.eye(2, 8, dtype=bool)
    taken = g.Where(seen, x, far)
    both = g.Add(g.Reduce(taken, axes=(1,), mode="ReduceMax"), taken)
    near = g.Reduce(g.Where(seen, x, np.array(-1.0, np.float32)), axes=(1,), mode="ReduceMax")
    biased = g.Relu(g.Add(x, np.full((2, 8), -100.0, np.float32)))
    module = g.done(throughout, both, near, biased)
    assert has_far_numbers(module)
    given = [{"x0": np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)}]
    assert without_far_numbers(module, given) is module


MUTED = np.where(np.arange(8) % 3 == 0, 0, -1e9).astype(np.float32)[None]
FILLED: dict[str, tuple[float, Callable[[Graph, Any], Any]]] = {
    # two fills whose sum is shown where neither alone is
    "limited": (-4, lambda g, x: g.Relu(g.Add(_filled(g, x), MUTED))),
    "exponential": (-250, lambda g, x: g.Exp(g.Add(_filled(g, x), MUTED))),
    "three": (-4, lambda g, x: g.Relu(g.Add(_filled(g, x), MUTED, MUTED))),
    "chosen": (0, lambda g, x: g.Softmax(
        g.Where(np.arange(16).reshape(2, 8) % 2 > 0, x, g.Add(_filled(g, g.Sub(x, np.full((1, 8), 500, np.float32))), MUTED)),
        axis=1)),
    "three of a softmax": (0, lambda g, x: g.Softmax(g.Add(x, MUTED, MUTED), axis=1)),
    "taken away": (0, lambda g, x: g.Softmax(g.Add(x, -MUTED, coeff=(1.0, -1.0)), axis=1)),
    "kept by great ones": (0, lambda g, x: g.Softmax(g.Add(x, -MUTED), axis=1)),
    "twice": (0, lambda g, x: (lambda fill: g.Relu(g.Add(x, fill, fill)))(g.constant(np.full((2, 8), -1e9, np.float32)))),
    "throughout": (0, lambda g, x: g.Exp(g.Add(x, np.full((2, 8), -3e38, np.float32), np.full((1, 8), -1e9, np.float32)))),
    # rows of fills alone, beside which floats are coarse
    "two fills": (0, lambda g, x: g.Softmax(
        g.Where(np.arange(16).reshape(2, 8) % 8 < 6, g.Where(np.eye(2, 8) > 1, x, np.array(-1e9, np.float32)),
                np.array(-3e38, np.float32)), axis=1)),
    "fill and mask": (0, lambda g, x: g.Softmax(g.Add(g.Min(x, np.full((2, 8), -5e8, np.float32)), MUTED), axis=1)),
    # what is told apart of exponentials, which are other numbers than their exponents
    "exponential, limited": (0, lambda g, x: g.Relu(g.Exp(_filled(g, x)))),
    "exponential, cut off": (0, lambda g, x: g.Clip(g.Exp(_filled(g, x)), min=2.0, max=9.0)),
    "exponential, or more": (0, lambda g, x: g.Max(g.Exp(_filled(g, x)), np.full((2, 8), 5, np.float32))),
}


def _filled(g: Graph, x: Any) -> Any:
    return g.Where(np.arange(16).reshape(2, 8) % 8 < 5, x, np.array(-1e9, np.float32))


@pytest.mark.parametrize("form", FILLED)
def test_what_is_computed_stays(form: str) -> None:
    around, make = FILLED[form]
    g = Graph((2, 8))
    module = g.done(make(g, g.inputs[0]))
    given = [{"x0": np.random.default_rng(i).normal(around, size=(2, 8)).astype(np.float32)} for i in range(3)]
    made = without_far_numbers(module, given)
    for x in given:
        (wanted,), (found,) = (transload.run(each, x).values() for each in (module, made))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_constant_that_is_a_fill_throughout_is_cut_off_in_a_sum() -> None:
    """Whatever it is added to: `where(mask, scores, scores - 1e9)`."""
    g = Graph((2, 8))
    (x,) = g.inputs
    module = g.done(g.Reduce(g.Max(g.Add(x, np.full((1, 8), -1e38, np.float32)), x), axes=(1,), mode="ReduceMax"), g.Softmax(
        g.Where(np.eye(2, 8, dtype=bool), x, g.Add(x, np.full((1, 8), -1e9, np.float32))), axis=1))
    made = without_far_numbers(module, [{"x0": np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)}])
    held = [dense.numpy() for op in made.walk() if op.name == "top.Add" for value in op.operands
            if (dense := constant_of(value)) is not None]
    assert len(held) == 2 and all(array.min() > -1000 for array in held)


def test_a_place_of_a_maximum_stays() -> None:
    """With its number; the fill comes to lie on the least of what it is beside."""
    g = Graph((2, 8))
    chosen = g.Where(np.eye(2, 8, k=3, dtype=bool), g.inputs[0], np.array(-1e9, np.float32))
    places = g.Arg(chosen, axis=1, mode="ArgMax", keepdims=False)
    module = g.done(places, g.Reduce(chosen, axes=(1,), mode="ReduceMax"))
    x = {"x0": -np.linspace(1, 2, 16, dtype=np.float32).reshape(2, 8)}
    made = without_far_numbers(module, [x])
    (where,) = [op for op in made.walk() if op.name == "top.Where"]
    dense = constant_of(where.operands[2])
    assert dense is not None and dense.numpy() == -2.0
    for before, after in zip(transload.run(module, x).values(), transload.run(made, x).values(), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("mode", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("least", [0.0, 3.0])
def test_a_place_is_never_that_of_a_fill(mode: str, least: float) -> None:
    """Where all that is seen is the least there is, a fill equal to it came first; in integers, one that rounds to it."""
    sign = 1 if mode == "ArgMax" else -1
    g = Graph((4, 8))
    seen = np.random.default_rng(1).random((4, 8)) > 0.6
    seen[:, 0], seen[:, 7] = False, True
    limited = g.Clip(g.inputs[0], min=least, max=20.0) if sign > 0 else g.Clip(g.inputs[0], min=-20.0, max=-least)
    module = g.done(g.Arg(g.Where(seen, limited, np.array(-1e9 * sign, np.float32)), axis=1, mode=mode, keepdims=False))
    rng = np.random.default_rng(2)
    given = [{"x0": np.full((4, 8), (least - 1) * sign, np.float32)},
             *({"x0": (rng.standard_normal((4, 8)) * 3).astype(np.float32)} for _ in range(4))]
    made = without_far_numbers(module, given)
    assert made is not module
    held = transload.quantize(module, "int8", given, islands="none")
    for x in given:
        (wanted,), (found,), (places,) = (transload.run(each, x).values() for each in (module, made, held))
        np.testing.assert_array_equal(found, wanted)
        assert np.take_along_axis(seen, np.asarray(places).reshape(4, 1).astype(int), 1).all()


def test_a_network_without_fills_needs_no_samples() -> None:
    g = Graph((1, 8, 8, 4))
    (x,) = g.inputs
    pooled = g.MaxPool(g.Relu(g.Add(x, g.random(4))), kernel_shape=(2, 2), strides=(2, 2), pads=(0, 0, 0, 0), layout="NHWC")
    assert not has_far_numbers(g.done(g.Concat(pooled, g.Neg(pooled), axis=3)))


@pytest.mark.parametrize(("islands", "told"), [("none", True), ("float", False)])
def test_an_output_that_shows_its_fill_says_what_is_lost(islands: str, told: bool) -> None:
    g = Graph((1, 64))
    x = g.MatMul(g.Reshape(g.inputs[0], shape=(1, 64)), g.random(64, 64))
    module = g.done(g.Where(np.arange(64)[None] < 40, x, np.array(-1e9, np.float32)))
    given = [{"x0": np.random.default_rng(i).standard_normal((1, 64)).astype(np.float32)} for i in range(4)]
    made = transload.quantize(module, "int8", given, islands=islands)
    assert made.quantization is not None
    notes = [note for note in made.quantization.report["notes"] if "is filled with numbers as far as 1e+09" in note]
    assert len(notes) == told and all("islands=float leaves it float" in note for note in notes)


def test_what_is_left_float_loses_nothing_beside_its_fill() -> None:
    """What but picks floats is taken back to them: no note says that integers lose what they do not hold."""
    g = Graph((1, 2, 6, 8))
    kept = np.random.default_rng(1).random((1, 2, 6, 8)) > 0.4
    kept[0, 0, 0] = False  # a place in fills alone shows how far they are
    filled = g.Where(kept, g.inputs[0], np.array(-1e9, np.float32), location="a")
    module = g.done(g.Arg(filled, axis=3, keepdims=False, mode="ArgMax"))
    given = [{"x0": np.random.default_rng(i).standard_normal((1, 2, 6, 8)).astype(np.float32)} for i in range(4)]
    made = transload.quantize(module, "int8", given)
    assert made.quantization is not None and "top.Where" in [op.name for op in made.ops()]
    notes = made.quantization.report["notes"]
    assert any("nothing is quantized" in note for note in notes) and not any("is filled with" in note for note in notes), notes

"""What passes once is run on further inputs, where that takes little time: what shows at one number in tens is seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F16, F32, I8, I32, Module, QuantType
from transload.ir.borders import RANGE
from transload.verification.further import further_inputs, many_inputs
from transload.verification.inputs import limits_of_inputs, plain_integers, random_inputs
from transload.verification.running import OwnRuntime

from tests.support.graphs import Graph
from tests.support.small_onnx import saved, verified

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def mean(path: Path, more: float) -> Path:
    """A sum of quantized numbers, one each run, quantized again; with `more` 0.1 it is a step away."""
    return saved(path, [
        ("QuantizeLinear", "x scale zero", "q"), ("DequantizeLinear", "q scale zero", "d"), ("ReduceSum", "d", "s"),
        ("Mul", "s part", "m"), ("Add", "m more", "a"), ("QuantizeLinear", "a scale zero", "b"),
        ("DequantizeLinear", "b scale zero", "y")], [1, 40], {"scale": 0.1, "part": 0.1, "more": more}, zero=np.array(0, np.int8))


def test_what_few_numbers_show_now_and_then_is_seen(tmp_path: Path) -> None:
    """Eight integers from -9 to 9, of which 8 and 9 are cut off, or are not."""
    right, wrong = (saved(tmp_path / f"{bound}.onnx", [
        ("Cast", "high", "h", {"to": 6}), ("Min", "x h", "m"), ("Mul", "m m", "y")], [8], {"high": bound}, "INT32", "INT32")
        for bound in (7.0, 9.0))
    source = transload.load(right)
    first = random_inputs(source, transload.legalize(source), 3, signed=(0,))
    assert first["x"].max() < 8 and verified(right, wrong, inputs=first).passed
    verdict = verified(right, wrong, seed=3)
    assert verdict.failed and any("further inputs than the first" in note for note in verdict.notes)
    assert verified(right, right).passed


def test_further_inputs_are_for_what_takes_little_time() -> None:
    light, heavy = (graph.done(graph.MatMul(*graph.inputs)) for graph in (Graph((2, 3), (3, 4)), Graph((2048, 128), (128, 128))))
    both, above, below = further_inputs(light, light, light, 0)
    assert both["x0"].min() < 0 < both["x0"].max() and above["x0"].min() > 0 > below["x0"].max()
    assert not list(further_inputs(heavy, heavy, heavy, 0)) and len(list(further_inputs(light, None, light, 0))) == 3


def test_one_further_input_is_for_what_takes_a_second_and_says_little() -> None:
    """Eight outputs of a costly product: all may saturate on one input. Not where even one run more is too much."""
    def product(size: int, outputs: int) -> Module:
        graph = Graph((1, size), (size, size), (size, size), (size, outputs))
        left, one, other, right = graph.inputs
        return graph.done(graph.MatMul(graph.MatMul(left, graph.MatMul(one, other)), right))

    few, many, too_costly = product(512, 8), product(512, 17), product(1024, 8)
    assert len(list(further_inputs(few, few, few, 0))) == 1
    assert not list(further_inputs(many, many, many, 0)) and not list(further_inputs(too_costly, None, too_costly, 0))


def test_single_numbers_are_counted_over_all_runs(tmp_path: Path) -> None:
    """A sum of quantized numbers, one each run, is a step away each time: once that may be, and not always."""
    right, wrong = mean(tmp_path / "right.onnx", 0.0), mean(tmp_path / "wrong.onnx", 0.1)
    source = transload.load(right)
    assert verified(right, wrong, inputs=random_inputs(source)).passed
    verdict = verified(right, wrong)
    assert verdict.failed and any("together" in note for note in verdict.notes)
    assert verified(right, right).passed


def test_what_is_wrong_of_all_runs_together_is_not_looked_for_in_one(tmp_path: Path) -> None:
    """Where the target's own runtime was judged, the last inputs alone say nothing of whose it is."""
    right, wrong = mean(tmp_path / "right.onnx", 0.0), mean(tmp_path / "wrong.onnx", 0.1)
    result = transload.lower(transload.load(wrong), "tosa")
    verdict = verified(right, right, own=OwnRuntime("chip", lambda given: transload.run(result, dict(given))))
    assert verdict.failed and any("together" in note for note in verdict.notes)
    assert not any("what chip makes of it" in note for note in verdict.notes)


def sums(path: Path, kind: str, after: list[tuple[str, ...]], **constants: object) -> Path:
    """The sums of 32 quantized numbers, each with a sign of 16 that cancel on average, and what comes `after`, quantized."""
    signs = np.random.default_rng(0).permuted(np.repeat([[1.0], [-1.0]], 16, 0) * np.ones(32), axis=0)
    zero = np.array(0, np.int8 if kind == "INT8" else np.int16)
    return saved(path, [
        ("DequantizeLinear", "x scale zero", "d"), ("MatMul", "d signs", "s"), *after, ("QuantizeLinear", "a scale zero", "y")],
        [1, 32], {"signs": signs, "scale": 2.0**-7, **constants}, kind, kind, zero=zero)


def test_what_large_numbers_saturate_shows_in_small_ones(tmp_path: Path) -> None:
    """A bias of the wrong sign below a tanh that nearly all numbers of the range saturate."""
    right, wrong = (sums(tmp_path / f"{bias}.onnx", "INT8", [("Mul", "s many", "m"), ("Add", "m bias", "b"), ("Tanh", "b", "a")],
                         many=100.0, bias=bias) for bias in (0.4, -0.4))
    assert [verified(right, wrong, seed=seed).status for seed in range(6)] == ["failed"] * 6
    assert verified(right, right).passed


@pytest.mark.parametrize(("kind", "first"), [
    ("INT8", [("DequantizeLinear", "x fine odd", "d")]),
    ("FLOAT", [("QuantizeLinear", "x fine odd", "q"), ("DequantizeLinear", "q fine odd", "d")])], ids=["integers", "floats"])
def test_what_nearly_all_numbers_saturate_shows_in_the_smallest(kind: str, first: list[tuple[str, ...]], tmp_path: Path) -> None:
    """The same where an eighth of the range saturates, too, and most of the range lies below zero."""
    right, wrong = (saved(tmp_path / f"{bias}.onnx", [
        *first, ("MatMul", "d signs", "s"), ("Add", "s bias", "b"), ("Tanh", "b", "t"), ("QuantizeLinear", "t fine zero", "p"),
        ("DequantizeLinear", "p fine zero", "y")], [1, 32],
        {"signs": 200 * np.random.default_rng(0).permuted(np.repeat([[1.0], [-1.0]], 16, 0) * np.ones(8), axis=0),
         "fine": 2.0**-7, "bias": bias}, kind, zero=np.array(0, np.int8), odd=np.array(100, np.int8)) for bias in (0.4, -0.4))
    assert [verified(right, wrong, seed=seed).status for seed in range(6)] == ["failed"] * 6
    assert verified(right, right).passed
    assert transload.compare(right, wrong).broken and not transload.compare(right, right).broken


def test_what_is_cut_off_of_sums_alone_shows_at_the_ends_of_a_range(tmp_path: Path) -> None:
    right, wrong = (sums(tmp_path / f"{most}.onnx", "INT8", [("Mul", "s part", "m"), ("Min", "m most", "a")],
                         part=0.1, most=most) for most in (0.75, 10.0))
    assert [verified(right, wrong, seed=seed).status for seed in range(6)] == ["failed"] * 6
    assert verified(right, right).passed


@pytest.mark.parametrize("moved", [[], [("Reshape", "x as", "r"), ("Transpose", "r", "t")]], ids=["at once", "moved before"])
def test_what_is_cut_off_within_the_range_of_a_quantized_float_shows(moved: list[tuple[str, ...]], tmp_path: Path) -> None:
    """Noise around zero is a thirtieth of what the integers hold that a float becomes: their sums reach no limit on it."""
    signs = np.random.default_rng(0).permuted(np.repeat([[1.0], [-1.0]], 16, 0) * np.ones(32), axis=0)
    right, wrong = (saved(tmp_path / f"{most}.onnx", [
        *moved, ("QuantizeLinear", "t scale zero" if moved else "x scale zero", "q"), ("DequantizeLinear", "q scale zero", "d"),
        ("MatMul", "d signs", "s"), ("Min", "s most", "m"), ("QuantizeLinear", "m wide zero", "p"),
        ("DequantizeLinear", "p wide zero", "y")], [32, 1] if moved else [1, 32],
        {"signs": signs, "scale": 0.25, "wide": 2.0, "most": most}, zero=np.array(0, np.int8), **{"as": np.array([32, 1])})
        for most in (60.0, 250.0))
    assert [verified(right, wrong, seed=seed).status for seed in range(4)] == ["failed"] * 4
    assert verified(right, right).passed
    assert transload.compare(right, wrong).broken and not transload.compare(right, right).broken


@pytest.mark.parametrize(("element", "stored", "limits"), [
    ("f32", "u8:f32, 2.0:128", (-256.0, 254.0)), ("f16", "i16:f16, 1.0", (-32768.0, 32767.0)),
    ("f32", "i32:f32, 0.5", None), ("f16", "i16:f16, 4.0", None)], ids=["bytes", "16 bits", "32 bits", "beyond f16"])
def test_floats_have_the_range_of_the_few_bits_that_they_are_quantized_to(
        element: str, stored: str, limits: tuple[float, float] | None, tmp_path: Path) -> None:
    taken, turned, there = (f"tensor<{shape}x{each}>" for shape, each in (
        ("9x50", element), ("50x9", element), ("50x9", f"!quant.uniform<{stored}>")))
    path = tmp_path / "program.mlir"
    path.write_text(f"""module {{ func.func @main(%x: {taken}) -> {turned} {{
        %t = stablehlo.transpose %x, dims = [1, 0] : ({taken}) -> {turned}
        %q = stablehlo.uniform_quantize %t : ({turned}) -> {there}
        %y = stablehlo.uniform_dequantize %q : ({there}) -> {turned}
        return %y : {turned} }} }}""")
    source = transload.load(path)
    hub = transload.legalize(source)
    ((name, array),) = random_inputs(source, hub).items()
    assert limits_of_inputs(source, hub) == ({name: limits} if limits else {})
    assert (array.min() < limits[0] * 0.9 and array.max() > limits[1] * 0.9) if limits else np.abs(array).max() < 9


def test_a_small_share_of_a_range_has_integers_beside_zero() -> None:
    """An end that lies between two integers is the one farther from zero: of bytes nothing but zeros were drawn."""
    graph = Graph((50,), element=QuantType(I8, F32, (0.5,), (-128,)))
    module = graph.done(graph.Relu(*graph.inputs))
    assert set(random_inputs(module, spread=1 / 256)["x0"].tolist()) == {-128, -127}


def test_inputs_with_a_range_are_near_zero_and_at_its_ends_in_turn() -> None:
    graph = Graph((50,), (50,), element=I8)
    module = graph.done(graph.Add(*graph.inputs))
    module.main.attributes["arg_attrs"] = [{}, {RANGE: [-40, 80]}]
    *_, near, nearest, ends = further_inputs(module, module, module, 0)
    assert np.abs(near["x0"]).max() <= 16 and near["x0"].std() > 5
    assert near["x1"].min() >= -5 and 8 <= near["x1"].max() <= 10
    assert all({-1, 1} <= set(array.tolist()) <= {-1, 0, 1} for array in nearest.values())
    assert all(set(ends[name].tolist()) == {array.min(), array.max()} for name, array in ends.items())
    assert ends["x0"].min() < -100 and ends["x1"].max() > 70


def seed_of(source: Module, is_fine: Callable[[np.ndarray], bool]) -> int:
    """A seed of which the first `x` is fine, and a further one is not."""
    hub = transload.legalize(source)
    return next(
        seed for seed in range(100) if is_fine(random_inputs(source, hub, seed, signed=plain_integers(hub))["x"])
        and not all(is_fine(given["x"]) for given in further_inputs(source, hub, hub, seed)))


def test_further_inputs_that_the_runtime_refuses_say_nothing(tmp_path: Path) -> None:
    """100 / (x - 5): one of the further numbers is 5, and onnxruntime divides no integer by 0."""
    right = saved(tmp_path / "right.onnx", [("Cast", "five", "c", {"to": 6}), ("Cast", "many", "d", {"to": 6}),
                  ("Sub", "x c", "s"), ("Div", "d s", "y")], [2], {"five": 5.0, "many": 100.0}, "INT32", "INT32")
    assert verified(right, right, seed=seed_of(transload.load(right), lambda x: 5 not in x)).passed


def test_further_inputs_for_which_results_are_not_defined_say_nothing(tmp_path: Path) -> None:
    """Integers made of floats that none of 32 bits holds: onnxruntime makes the least of them, and others do not."""
    def model(name: str, least: float) -> Path:
        return saved(tmp_path / name, [("Mul", "x many", "m"), ("Cast", "m", "k", {"to": 6}), ("Cast", "least", "l", {"to": 6}),
                                       ("Max", "k l", "y")], [60], {"many": 8e8, "least": least}, gives="INT32")

    right, other = model("right.onnx", -2.0 ** 31), model("other.onnx", -2.1e9)
    assert verified(right, other, seed=seed_of(transload.load(right), lambda x: bool(np.abs(x).max() < 2.6))).passed


def test_what_the_model_is_not_for_does_not_count(tmp_path: Path) -> None:
    """Below zero all roots are NaN: that the other output is steps away there is not counted."""
    def model(name: str, steps: float) -> Path:
        return saved(tmp_path / name, [
            ("QuantizeLinear", "x scale zero", "q"), ("DequantizeLinear", "q scale zero", "d"), ("ReduceMax", "x", "g"),
            ("Less", "g none", "l"), ("Cast", "l", "f", {"to": 1}), ("Mul", "f more", "m"), ("Add", "d m", "a"),
            ("QuantizeLinear", "a scale zero", "b"), ("DequantizeLinear", "b scale zero", "z"), ("Sqrt", "x", "y")],
            [1, 40], {"scale": 0.1, "none": 0.0, "more": 0.1 * steps}, also="z", zero=np.array(0, np.int8))

    assert verified(model("right.onnx", 0.0), model("wrong.onnx", 5.0)).passed


def test_integers_are_drawn_as_the_first_ones_are() -> None:
    graph = Graph((50,), (50,), element=I32)
    module = graph.done(graph.Add(*graph.inputs))
    signed, plain = (next(further_inputs(module, module, module, 0, signed)) for signed in (True, False))
    assert signed["x0"].min() < 0 and set(plain["x0"].tolist()) == {0, 1}


def seldom(path: Path, bias: float) -> Path:
    """Ten hidden units of eight numbers, of which the first answers to one input of usual size in fifteen."""
    weights = np.random.default_rng(0).standard_normal((8, 10)) / 3
    return saved(path, [("MatMul", "x w", "m"), ("Add", "m b", "a"), ("Relu", "a", "r"), ("MatMul", "r v", "y")], [1, 8], {
        "w": weights, "b": [-1.5 * np.linalg.norm(weights[:, 0]) + bias, *([-0.5] * 9)],
        "v": np.random.default_rng(1).standard_normal((10, 3))})


def switch(path: Path, threshold: float) -> Path:
    """Ten numbers, or a tenth of each where their mean is small."""
    return saved(path, [("ReduceMean", "x", "m"), ("Greater", "m t", "g"), ("Mul", "x s", "p"), ("Where", "g x p", "y")],
                 [1, 10], {"t": threshold, "s": 0.1})


@pytest.mark.parametrize(
    ("model", "at", "off"), [(seldom, -0.3, 0.3), (switch, 0.3, 0.2)], ids=["a unit that is mostly 0", "a threshold"])
def test_what_one_input_in_ten_shows_is_seen(
        model: Callable[[Path, float], Path], at: float, off: float, tmp_path: Path) -> None:
    right, wrong = model(tmp_path / "right.onnx", at), model(tmp_path / "wrong.onnx", at + off)
    assert [verified(right, wrong, seed=seed).status for seed in range(6)] == ["failed"] * 6
    assert [verified(right, right, seed=seed).status for seed in range(6)] == ["passed"] * 6
    assert all(transload.compare(right, wrong, seed=seed).broken for seed in range(3))
    assert not transload.compare(right, right).broken


def test_there_are_the_more_inputs_the_fewer_numbers_they_are() -> None:
    def number(size: int, **more: Any) -> int:
        graph = Graph((size,), **more)
        module = graph.done(graph.Relu(*graph.inputs))
        return len(list(many_inputs(module, module, module, 0)))

    assert [number(size) for size in (8, 400, 4096, 4097)] == [30, 10, 1, 0]
    assert number(8, element=F16) == 0  # whose roundings are large beside what is large


def test_they_are_of_several_widths() -> None:
    graph = Graph((40,))
    module = graph.done(graph.Relu(*graph.inputs))
    widths = [given["x0"].std() for given in many_inputs(module, module, module, 0)]
    assert min(widths) < 0.2 and max(widths) > 2.5 and len(set(widths)) == len(widths)

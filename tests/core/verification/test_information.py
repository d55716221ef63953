"""A verification that saw nothing says so, and one by a runtime that disagrees with itself is fair."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.budget import TimeOver, allowed, timed
from transload.ir import F32, F64, I8, I16, I32, I64, UI8, UI32, UI64, Dense, IntegerType, QuantType, TensorType, dtype_of
from transload.testing import build_module
from transload.verification.endless import weights_of_no_numbers
from transload.verification.information import are_apart, is_informative, is_saturated
from transload.verification.inputs import plain_integers, random_inputs, wide_integers
from transload.verification.tolerance import Tolerance
from transload.verification.verify import Verification, verify_conversion
from transload.verification.ways import Ways

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(("output", "says"), [
    (np.zeros((2, 3)), False), (np.full((4,), 7.0), False), (np.full((4,), np.nan), False), (np.array([]), False),
    (np.array([1.0, 2.0]), True), (np.array([np.nan, 1.0, 2.0]), True), (np.array([np.inf, 1.0, np.inf, 1.0]), False),
    (np.array([5.0]), True), (np.array([0.0]), False), (np.array(3), True),
    (np.array([-128, 127, -128], np.int8), False), (np.array([-128, 126, -128], np.int8), True),
    (np.array([0, 255], np.uint8), False), (np.array([True, False]), True), (np.array([True, True]), False),
    (np.array([0, 2**31 - 1], np.int32), True), (np.array([1 + 2j, 3j]), True),
])
def test_what_says_something(output: np.ndarray, says: bool) -> None:
    assert is_informative(output) is says


@pytest.mark.parametrize(("output", "hides"), [
    ([1e-7, 0.999], True), ([0.0, 1.0], True), ([0.01, 0.9], False), ([1e-7, 2e-7], False), ([1.0, 0.99], False), ([], False),
    ([np.nan, 1.0, 0.0], False),
])
def test_what_hides_what_it_is_of(output: list[float], hides: bool) -> None:
    assert is_saturated(np.array(output)) is hides
    assert not is_saturated(np.array([0, 1]))


def threshold_model(path: Path, limit: float, outputs: tuple[str, ...] = ("y",)) -> Path:
    """`y = relu(x - limit)`, and `z = x + 1` where that is asked for."""
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Sub", ["x", "limit"], ["d"]), helper.make_node("Relu", ["d"], ["y"]),
             helper.make_node("Add", ["x", "one"], ["z"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64]) for name in outputs],
        [helper.make_tensor("limit", TensorProto.FLOAT, [], [limit]), helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def verified(path: Path, result: Any = None, **more: Any) -> Verification:
    source = transload.load(path)
    return verify_conversion(source, transload.lower(source, "tosa") if result is None else result, **more)


def test_zeros_are_not_conclusive(tmp_path: Path) -> None:
    verdict = verified(threshold_model(tmp_path / "m.onnx", 1e6))
    assert verdict.status == "inconclusive" and not verdict.passed and not verdict.failed
    assert "y: constant" in verdict.why and "--input NAME=FILE" in verdict.why
    assert verdict.report().status == "inconclusive"


def integer_model(path: Path, operator: str, **attributes: Any) -> Path:
    """`z` of two inputs of integers."""
    from onnx import TensorProto, helper

    def tensor(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.INT32, [64])

    graph = helper.make_graph([helper.make_node(operator, ["x", "y"], ["z"], **attributes)], "g", [tensor("x"), tensor("y")],
                              [tensor("z")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("operator", ["Div", "Mod", "Mul"])
def test_integers_of_both_signs_and_no_division_by_zero(operator: str, tmp_path: Path) -> None:
    path = integer_model(tmp_path / "m.onnx", operator)
    assert verified(path, hub=transload.legalize(transload.load(path))).passed


@pytest.mark.parametrize("element", [I8, I16, UI8])
def test_narrow_integers_are_not_divided_by_zero(element: IntegerType) -> None:
    graph = Graph((200_000,), (200_000,), element=element)
    module = graph.done(graph.FloorMod(*graph.inputs))
    plain = plain_integers(module)
    assert plain == {0, 1}
    drawn = random_inputs(module, module, signed=plain)
    for name, array in random_inputs(module, module).items():
        assert (array == 0).any() and (drawn[name] != 0).all()
        assert np.array_equal(drawn[name][array != 0], array[array != 0])


def test_remainders_of_another_sign_are_found(tmp_path: Path) -> None:
    """Zeros and ones do not tell a remainder that has the divisor's sign from one that has the dividend's."""
    floor, truncated = (integer_model(tmp_path / f"{fmod}.onnx", "Mod", fmod=fmod) for fmod in (0, 1))
    other = transload.lower(transload.load(truncated), "tosa")
    source = transload.load(floor)
    assert verify_conversion(source, other, hub=transload.legalize(transload.load(floor))).failed


def test_places_sizes_and_masks_stay_zeros_and_ones(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Add", ["i", "i"], ["twice"]), helper.make_node("Gather", ["table", "twice"], ["g"]),
             helper.make_node("Cast", ["mask"], ["m"], to=TensorProto.FLOAT), helper.make_node("Add", ["g", "m"], ["z"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [4]) for name in ("i", "mask")]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("z", TensorProto.FLOAT, [4])],
                              [helper.make_tensor("table", TensorProto.FLOAT, [3], [1.0, 2.0, 4.0])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    hub = transload.legalize(transload.load(tmp_path / "m.onnx"))
    assert plain_integers(hub) == frozenset()
    assert verified(tmp_path / "m.onnx", hub=hub).passed


def test_other_inputs_are_tried(tmp_path: Path) -> None:
    """At 20, noise of deviation 1 gives zeros; of deviation 10, numbers, and a wrong result is found out by those."""
    right, wrong = threshold_model(tmp_path / "m.onnx", 20.0), threshold_model(tmp_path / "w.onnx", 19.0)
    assert verified(right).passed
    verdict = verified(right, transload.lower(transload.load(wrong), "tosa"))
    assert verdict.failed and any(reason.startswith(("y: euclid", "y: cos")) for reason in verdict.broken)


def classifier_model(path: Path, factor: float) -> Path:
    """`y = softmax(factor * x)`."""
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Mul", ["x", "factor"], ["d"]), helper.make_node("Softmax", ["d"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], [helper.make_tensor("factor", TensorProto.FLOAT, [], [factor])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("seed", range(4))
def test_a_softmax_that_hides_what_it_is_of_is_given_less(seed: int, tmp_path: Path) -> None:
    """Of noise it gave 1 and 0 to six digits, and weights that were half as large again passed."""
    right, wrong = classifier_model(tmp_path / "m.onnx", 20.0), classifier_model(tmp_path / "w.onnx", 30.0)
    assert verified(right, seed=seed).passed
    assert verified(right, transload.lower(transload.load(wrong), "tosa"), seed=seed).failed
    sure = classifier_model(tmp_path / "m.onnx", 1e6)
    assert verified(sure, seed=seed).passed and verified(sure, inputs={"x": np.arange(8.0, dtype=np.float32)[None]}).passed


def root_model(path: Path, limit: float, kept: bool) -> Path:
    """`y = x * sqrt(max(x) - limit)`: NaN throughout where all is below the limit, or 0 if the difference is `kept` above."""
    from onnx import TensorProto, helper

    nodes = [helper.make_node("ReduceMax", ["x"], ["m"]), helper.make_node("Sub", ["m", "limit"], ["d"]),
             *([helper.make_node("Relu", ["d"], ["e"])] if kept else []),
             helper.make_node("Sqrt", ["e" if kept else "d"], ["r"]), helper.make_node("Mul", ["x", "r"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], [helper.make_tensor("limit", TensorProto.FLOAT, [], [limit])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize(("limit", "status"), [(20.0, "passed"), (1e6, "inconclusive")])
def test_inputs_of_which_the_source_makes_no_number_are_none_to_judge_by(limit: float, status: str, tmp_path: Path) -> None:
    """A length of 0 makes every attention NaN in onnxruntime, and numbers in LiteRT's reference kernels."""
    other = transload.lower(transload.load(root_model(tmp_path / "other.onnx", limit, kept=True)), "tosa")
    verdict = verified(root_model(tmp_path / "m.onnx", limit, kept=False), other)
    assert verdict.status == status and (status == "passed" or "NaN throughout in onnxruntime" in verdict.why)


def test_outputs_that_say_nothing_beside_others_that_do(tmp_path: Path) -> None:
    verdict = verified(threshold_model(tmp_path / "m.onnx", 1e6, ("y", "z")))
    assert verdict.passed
    why = "constant, saturated, not finite or always the same, or nearly, on all inputs tried"
    assert verdict.notes == [f"not conclusive for y: {why}"]


def test_given_inputs_are_the_only_ones(tmp_path: Path) -> None:
    model = threshold_model(tmp_path / "m.onnx", 20.0)
    silent = verified(model, inputs={"x": np.zeros((1, 64), np.float32)})
    assert silent.status == "inconclusive"
    assert "on the inputs given" in silent.why and "give others with --input" in silent.why
    assert verified(model, inputs={"x": np.linspace(0, 40, 64, dtype=np.float32)[None]}).passed


def test_the_command_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from transload.cli import run

    model = threshold_model(tmp_path / "m.onnx", 1e6)
    assert run(["convert", str(model), "-o", str(tmp_path / "out")]) == 0
    assert "not conclusive" in capsys.readouterr().out


@pytest.mark.parametrize("given", [False, True])
def test_comparing_says_which_outputs_say_nothing(given: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from transload.cli import run

    model = threshold_model(tmp_path / "m.onnx", 1e6, ("y", "z"))
    np.save(tmp_path / "x.npy", np.ones((1, 64), np.float32))
    inputs = ["--input", f"x={tmp_path / 'x.npy'}"] if given else []
    assert run(["convert", str(model), "-o", str(tmp_path / "out"), "--no-verify"]) == 0
    compared = transload.compare(model, tmp_path / "out", {"x": tmp_path / "x.npy"} if given else None)
    assert compared.silent == (["y", "z"] if given else ["y"]) and compared.as_dict()["silent"] == compared.silent
    said = " ".join(compared.notes)
    assert said.startswith(f"not conclusive for {', '.join(compared.silent)}: constant")
    assert ("on the inputs given" if given else "on the inputs drawn") in said
    assert ("give others with" if given else "give real inputs with") in said
    compared.excepts = compared.silent
    assert not compared.notes
    assert run(["compare", str(model), str(tmp_path / "out"), *inputs]) == 0
    assert "not conclusive" in capsys.readouterr().out
    loud = transload.compare(model, tmp_path / "out", {"x": np.linspace(0, 2e6, 64, dtype=np.float32)[None]})
    assert not loud.silent and not loud.notes


def endless_model(path: Path) -> Path:
    """`a` doubled 2^62 times."""
    from onnx import TensorProto, helper

    def info(name: str, kind: int, shape: list[int]) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["co"]), helper.make_node("Add", ["a", "a"], ["ao"])], "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("a", TensorProto.FLOAT, [2])],
        [info("co", TensorProto.BOOL, []), info("ao", TensorProto.FLOAT, [2])])
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "t", "x"], ["y"], body=body)], "g", [info("x", TensorProto.FLOAT, [2])],
        [info("y", TensorProto.FLOAT, [2])],
        [helper.make_tensor("n", TensorProto.INT64, [], [2**62]), helper.make_tensor("t", TensorProto.BOOL, [], [True])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_loop_without_end_is_not_waited_for(tmp_path: Path) -> None:
    path = endless_model(tmp_path / "m.onnx")
    with allowed(rounds=0.5):
        verdict = verified(path)
        assert verdict.status == "skipped" and "took longer than 1 s" in verdict.why
        source = transload.load(path)
        with timed("rounds"), pytest.raises(TimeOver, match=r"0\.5 s without coming to an end") as caught:
            transload.run(transload.lower(source, "tosa"), {"x": np.ones(2, np.float32)}, engine="reference")
    assert caught.value.hint == "TRANSLOAD_BUDGET=rounds=2 allows more"


# --- a runtime that disagrees with itself

def ways(apart: float) -> Ways:
    """Two ways whose results differ by noise of that size, other noise for other inputs."""
    def noise(x: np.ndarray, sign: int) -> dict[str, np.ndarray]:
        return {"y": x + sign * apart * np.random.default_rng(int(abs(x.sum()) * 1e6)).standard_normal(x.shape)}

    return Ways({"node by node": lambda given: noise(given["x"], 0), "fused": lambda given: noise(given["x"], 1)})


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).standard_normal(1000)}


def test_between_the_ways_is_near_enough() -> None:
    both = ways(0.05)
    given = inputs(0)
    results = [run(given)["y"] for run in both.runs.values()]
    judged = both.judge(given, {"y": 0.3 * results[0] + 0.7 * results[1]}, [0], [])
    assert set(judged.excused) == {0} and judged.nearest == ["fused"]


@pytest.mark.parametrize("order", [("of NaN", "of numbers"), ("of numbers", "of NaN")])
def test_a_way_of_nan_is_the_nearest_to_nothing(order: tuple[str, str]) -> None:
    """In whichever order they are tried."""
    runs = {"of NaN": lambda given: {"y": given["x"] * np.nan}, "of numbers": lambda given: {"y": given["x"]}}
    given = inputs(0)
    assert Ways({name: runs[name] for name in order}).judge(given, {"y": given["x"]}, [], []).nearest == ["of numbers"]


def test_further_than_the_ways_are_apart_is_not() -> None:
    given = inputs(0)
    actual = {"y": given["x"] + 0.1 * np.random.default_rng(5).standard_normal(1000)}
    assert not ways(0.05).judge(given, actual, [0], [inputs(1), inputs(2)]).excused
    assert not ways(0.0).judge(given, actual, [0], [inputs(1), inputs(2)]).excused


def qdq_model(path: Path, layers: int = 40) -> Path:
    """Quantized matrix products one after the other: roundings add up, and differ between onnxruntime's levels."""
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(0)
    nodes, constants, last = [], [], "x"

    def constant(name: str, array: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(array, name))
        return name

    def qdq(name: str, scale: float, zero: int) -> str:
        held = [constant(f"{name}_scale", np.float32(scale)), constant(f"{name}_zero", np.uint8(zero))]
        nodes.append(helper.make_node("QuantizeLinear", [name, *held], [f"{name}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", *held], [f"{name}_d"]))
        return f"{name}_d"

    last = qdq("x", 0.031, 128)
    for layer in range(layers):
        weight = constant(f"w{layer}", generator.integers(-127, 128, (32, 32)).astype(np.int8))
        scale, zero = constant(f"ws{layer}", np.float32(0.0042)), constant(f"wz{layer}", np.int8(0))
        nodes.append(helper.make_node("DequantizeLinear", [weight, scale, zero], [f"wd{layer}"]))
        nodes.append(helper.make_node("MatMul", [last, f"wd{layer}"], [f"m{layer}"]))
        last = qdq(f"m{layer}", 0.037, 131)
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 32])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_deep_qdq_model_is_judged_by_both_levels(tmp_path: Path) -> None:
    path = qdq_model(tmp_path / "qdq.onnx")
    verdicts = [verified(path, seed=seed) for seed in range(4)]
    assert all(verdict.passed for verdict in verdicts), [verdict.broken for verdict in verdicts]
    assert any("itself computes it in ways" in note for verdict in verdicts for note in verdict.notes)
    wrong = transload.lower(transload.load(path), "tosa")
    changed = next(op for op in wrong.ops() if op.name == "tosa.const" and op.values.numpy().size == 32 * 32)
    changed.attributes["values"] = Dense(np.roll(changed.values.numpy(), 1, axis=-1), changed.values.type)
    assert verified(path, wrong).failed


def test_bits_are_shifted_by_as_many_places_as_there_are() -> None:
    """A shift by less than nothing is no shift, and every chip has its own result."""
    graph = Graph((4000,), (4000,), element=I32)
    module = graph.done(graph.ShiftRight(*graph.inputs))
    drawn = random_inputs(module, module, signed=plain_integers(module))
    assert set(drawn["x1"].tolist()) == set(range(32)) and (drawn["x0"] < 0).any()


@pytest.mark.parametrize("element", [I32, I64, UI32], ids=str)
@pytest.mark.parametrize("shape", [(), (8,)], ids=["one", "several"])
def test_what_a_far_limit_tells_shows_next_to_it(shape: tuple[int, ...], element: IntegerType, tmp_path: Path) -> None:
    """Below a hundred thousand lie all small numbers: nothing was conclusive of `x <= limit`."""
    from onnx import TensorProto, helper, numpy_helper

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype_of(element)))
    graph = helper.make_graph(
        [node("LessOrEqual", ["x", "limit"], ["y"])], "g", [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", TensorProto.BOOL, shape)],
        [numpy_helper.from_array(np.array(100_000, dtype_of(element)), "limit")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    source, hub = transload.load(tmp_path / "m.onnx"), transload.legalize(transload.load(tmp_path / "m.onnx"))
    assert verify_conversion(source, transload.lower(source, "tosa"), hub=hub).passed


def test_what_may_be_any_integer() -> None:
    """Divisors may not, nor what is of fewer bits: that is drawn from all of them anyway."""
    graph = Graph(TensorType((4000,), I64), TensorType((4000,), I64), TensorType((4000,), I8))
    low = graph.Max(graph.inputs[0], graph.constant(np.array(-70_000)))
    hub = graph.done(graph.Div(low, graph.inputs[1]), graph.Max(graph.inputs[2], graph.inputs[2]))
    (number, met), = wide_integers(hub).items()
    assert number == 0 and met.tolist() == [-70_000]
    drawn = random_inputs(hub, hub, wide={0: met})["x0"]
    assert 0.4 < np.isin(drawn, (-70_001, -70_000, -69_999)).mean() < 0.6 and drawn.max() > 1 << 30 and drawn.min() < -(1 << 30)
    assert abs(drawn).max() <= 1 << 31


def test_unsigned_numbers_of_64_bits_are_drawn_as_far_as_signs_allow() -> None:
    graph = Graph((50,), element=QuantType(UI64, F32, (0.5,), (0,)))
    module = graph.done(graph.inputs[0])
    (drawn,) = random_inputs(module).values()
    assert drawn.dtype == np.uint64 and drawn.max() > 1 << 62


def test_places_among_nothing_are_drawn_all_the_same() -> None:
    """Of a dimension of no elements no place is right; drawing one failed."""
    graph = Graph((0, 3), TensorType((2, 1), I32), (2, 3))
    data, places, updates = graph.inputs
    module = graph.done(graph.ScatterND(data, places, updates))
    given = random_inputs(module, module)
    assert given["x1"].tolist() == [[0], [0]]


@pytest.mark.parametrize(("factor", "status"), [
    (3e38, "inconclusive"), (2.0, "failed"), (float(np.finfo(np.float32).max), "failed")])
def test_a_factor_of_which_products_are_infinite(factor: float, status: str, tmp_path: Path) -> None:
    """Runtimes multiply by it earlier or later, and what is infinite on the way is no number for some; all else is judged."""
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Selu", ["x"], ["y"], alpha=factor)], "g", [x], [y])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    wrong = Graph((1, 8))
    nothing = wrong.done(wrong.Log(wrong.Sub(wrong.Abs(wrong.inputs[0]), 9.0)))
    verdict = verified(path, nothing, inputs={"x": np.arange(-4.0, 4.0, dtype=np.float32)[None]})
    assert verdict.status == status, verdict


@pytest.mark.parametrize(("output", "chosen", "says"), [
    (True, False, False), (False, False, False), (np.int64(1), True, False),
    (np.int64(7), True, True), (np.int64(1), False, True), (np.float32(1), False, False),
    (np.float32(0.99), False, True)])
def test_what_a_single_number_says(output: Any, chosen: bool, says: bool) -> None:
    """Half of all programs say True."""
    assert is_informative(np.array([[output]]), chosen) is says


@pytest.mark.parametrize(("number", "other", "step", "settings", "apart"), [
    (1.0, -1.0, None, {}, True), (1.0, 1.03, None, {}, False), (1.0, 1.05, None, {}, True), (1e-7, -1e-7, None, {}, False),
    (0.0, 1.0, 0.0, {}, True), (3, 5, 1.0, {}, False), (3, 6, 1.0, {}, True), (3, 4, 1.0, {"integer": 0}, True),
    (0.5, 0.75, 0.25, {}, False), (1j, 1.0, None, {}, True)])
def test_numbers_to_which_no_third_is_near(number: Any, other: Any, step: Any, settings: dict[str, Any], apart: bool) -> None:
    assert are_apart(number, other, step, 2**-24, Tolerance(**settings)) is apart


def one_number(path: Path, nodes: list[Any], constants: dict[str, Any]) -> Path:
    """A model of `x[4,8]` that gives `y`."""
    path.write_bytes(make_model(nodes, {"x": np.zeros((4, 8), np.float32)}, ["y"], constants).SerializeToString())
    return path


GREATER = [node("ReduceSum", ["x"], ["s"]), node("Greater", ["s", "k"], ["b"])]


@pytest.mark.parametrize(
    "last", [node("Identity", ["b"], ["y"]), node("Cast", ["b"], ["y"], to=7), node("Cast", ["b"], ["y"], to=1)])
def test_a_single_truth_says_something_beside_another(last: Any, tmp_path: Path) -> None:
    """What always says True, or always 1, was right wherever the first inputs gave it."""
    path = one_number(tmp_path / "m.onnx", [*GREATER, last], {"k": np.float32(0)})
    source = transload.load(path)
    assert verified(path, hub=at_hub(source)).status == "passed"
    for limit in (-1e6, 1e6):  # always True, and always False
        wrong = transload.load(one_number(tmp_path / "w.onnx", [*GREATER, last], {"k": np.float32(limit)}))
        for seed in range(3):
            assert verified(path, transload.lower(wrong, "tosa"), hub=at_hub(source), seed=seed).status == "failed"


@pytest.mark.parametrize("limit", [0.0, 7.0])
def test_a_single_truth_that_is_another_now_and_then(limit: float, tmp_path: Path) -> None:
    """That of the comparison itself was judged in steps, none of which is between two truths; rare ones on five inputs alone."""
    node_of = node("Greater", ["s", "k"], ["y"])
    path = one_number(tmp_path / "m.onnx", [GREATER[0], node_of], {"k": np.float32(limit)})
    hub = at_hub(transload.load(path))
    assert {verified(path, hub=hub, seed=seed).status for seed in range(5)} == {"passed"}
    never = one_number(tmp_path / "w.onnx", [GREATER[0], node_of], {"k": np.float32(1e6)})
    wrong = transload.lower(transload.load(never), "tosa")
    assert {verified(path, wrong, hub=hub, seed=seed).status for seed in range(5)} == {"failed"}


def test_a_truth_that_is_never_another_is_not_conclusive(tmp_path: Path) -> None:
    path = one_number(tmp_path / "m.onnx", [*GREATER, node("Identity", ["b"], ["y"])], {"k": np.float32(-1e6)})
    verdict = verified(path, hub=at_hub(transload.load(path)))
    assert verdict.status == "inconclusive" and "y: one number throughout" in verdict.why and "several with --data" in verdict.why


MEAN = [node("ReduceMean", ["x"], ["m"], keepdims=1), node("Expand", ["m", "s"], ["y"])]


def test_a_number_that_is_spread_over_all_of_an_output(tmp_path: Path) -> None:
    """It is constant on any inputs, and another one on each."""
    path = one_number(tmp_path / "m.onnx", MEAN, {"s": np.array([4, 16])})
    source = transload.load(path)
    assert verified(path, hub=at_hub(source)).status == "passed"
    nodes = [MEAN[0], node("Abs", ["m"], ["a"]), node("Expand", ["a", "s"], ["y"])]
    wrong = transload.load(one_number(tmp_path / "w.onnx", nodes, {"s": np.array([4, 16])}))
    assert "failed" in {verified(path, transload.lower(wrong, "tosa"), hub=at_hub(source), seed=seed).status for seed in range(3)}


@pytest.mark.parametrize(("several", "status"), [(False, "inconclusive"), (True, "passed")])
def test_numbers_throughout_of_inputs_that_are_given(several: bool, status: str, tmp_path: Path) -> None:
    path = one_number(tmp_path / "m.onnx", MEAN, {"s": np.array([4, 16])})
    samples = [{"x": np.full((4, 8), number, np.float32)} for number in (1.0, 1.0, -2.0)]
    verdict = verified(path, hub=at_hub(transload.load(path)), inputs=samples if several else samples[0])
    assert verdict.status == status and ("--data" in verdict.why) == (not several)


def test_constants_of_f64_beyond_f32_are_looked_at_in_silence() -> None:
    """numpy warned of them on standard error."""
    most = np.full((2, 2), np.finfo(np.float64).max)
    module = build_module([TensorType((2, 2), F64)], lambda rw, x: rw.emit("top.MatMul", x, rw.constant(most)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(weights_of_no_numbers(module)) == 1


def test_the_table_is_of_the_inputs_on_which_it_fails(tmp_path: Path) -> None:
    """Of outputs that had said something before, the table showed the first inputs, where all was right, beside limits broken."""
    def model(name: str, factor: float) -> Path:
        """`y` differs where the greatest of `x` is beyond 3, which it first is where `rare` says something, too."""
        nodes = [
            node("Clip", ["x", "three"], ["above"]), node("Sub", ["above", "three"], ["more"]), node("Mul", ["more", "k"], ["m"]),
            node("Add", ["x", "m"], ["y"]), node("Clip", ["x", "nine"], ["far"]), node("Sub", ["far", "nine"], ["rare"])]
        constants = {"three": np.float32(3.0), "nine": np.float32(9.0), "k": np.float32(factor)}
        file = tmp_path / name
        file.write_bytes(make_model(nodes, {"x": np.zeros((1, 8), np.float32)}, ["y", "rare"], constants).SerializeToString())
        return file

    other = transload.load(model("wrong.onnx", 2.0))
    small, large = (np.full((1, 8), number, np.float32) * np.linspace(0.5, 1.0, 8, dtype=np.float32) for number in (2.0, 20.0))
    verdict = verify_conversion(
        transload.load(model("right.onnx", 1.0)), transload.lower(other, "tosa"), hub=transload.legalize(other),
        inputs=[{"x": small}, {"x": large}])
    assert verdict.failed and any("further inputs than the first" in note for note in verdict.notes)
    (y,) = (tensor for tensor in verdict.tensors if tensor.name == "y")
    assert f"y: euclid {y.metrics['euclid']:g}, allowed 0.98" in verdict.broken and y.metrics["max_abs"] > 1

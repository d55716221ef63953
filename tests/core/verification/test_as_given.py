"""Numbers that a model reads as they are given stand on borders, and a wrong result there is no noise of last bits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.ir import F16, F32, I8, I32, Module, QuantType, TensorType
from transload.verification.differences import compare_outputs
from transload.verification.fineness import narrow_steps
from transload.verification.last_bits import excused_by_last_bits, moved, still_inputs, still_weights
from transload.verification.limits import broken_limits
from transload.verification.tolerance import Tolerance
from transload.verification.verify import verify_conversion

from tests.support.graphs import Graph

WHOLE = np.random.default_rng(3).integers(1, 8, (4, 6)).astype(np.float32)
TABLE = np.arange(1, 9, dtype=np.float32)


def with_row(row: int, number: float) -> np.ndarray:
    table = TABLE.copy()
    table[row] = number
    return table


# --- what is read as it is given


def read(before: Any, given: np.ndarray = WHOLE) -> np.ndarray | None:
    """The mask of an input that `before(graph, input)` makes integers of."""
    graph = Graph(given.shape)
    module = graph.done(before(graph, graph.inputs[0]))
    (name,) = module.inputs
    return still_inputs(module, {name: given}).get(name)


def cast(graph: Graph, value: Any, element: Any = I32) -> Any:
    return graph.builder.emit("top.Cast", value, element=element)


@pytest.mark.parametrize("before", [
    lambda graph, x: x,
    lambda graph, x: graph.builder.emit("top.Permute", x, order=(1, 0)),
    lambda graph, x: graph.Relu(x),
    lambda graph, x: graph.Sub(x, graph.constant(np.array([[1.0]], np.float32))),
    lambda graph, x: graph.Mul(x, graph.constant(np.array([[3.0]], np.float32))),
    lambda graph, x: graph.builder.emit("top.Floor", x),
])
def test_whole_numbers_stay_where_nothing_rounds_before_a_border(before: Any) -> None:
    mask = read(lambda graph, x: cast(graph, before(graph, x)))
    assert mask is not None and mask.all()


@pytest.mark.parametrize("before", [
    lambda graph, x: graph.Div(x, graph.constant(np.array([[3.0]], np.float32))),
    lambda graph, x: graph.Mul(x, graph.constant(np.array([[0.1]], np.float32))),
    lambda graph, x: graph.Sqrt(x),
])
def test_they_move_where_floats_are_rounded_before_it(before: Any) -> None:
    assert read(lambda graph, x: cast(graph, before(graph, x))) is None


def test_only_what_stands_on_a_border_stays() -> None:
    given = WHOLE * np.float32(0.5)
    given[:, 0] = [0.3, 1.7, 2.2, 3.9]
    mask = read(cast, given)
    assert mask is not None and not mask[:, 0].any() and mask[:, 1:].all()
    near = moved({"x": given}, 0, {"x": mask})
    assert near is not None and (near["x"] != given)[:, 0].any() and (near["x"] == given)[:, 1:].all()


@pytest.mark.parametrize("shape", [(None, 6), None])
def test_whole_numbers_stay_where_a_model_leaves_sizes_open(shape: tuple[int | None, ...] | None) -> None:
    graph = Graph(TensorType(shape, F32))
    module = graph.done(cast(graph, graph.inputs[0]))
    (mask,) = still_inputs(module, {"x0": WHOLE}).values()
    assert mask.all()


@pytest.mark.parametrize("sizes", [(None, 6), (4, 6)])
def test_who_asks_for_sizes_reads_no_numbers(sizes: tuple[int | None, ...]) -> None:
    graph = Graph(TensorType(sizes, F32))
    module = graph.done(graph.Shape(graph.inputs[0]), graph.Sqrt(graph.inputs[0]))
    assert not still_inputs(module, {"x0": WHOLE})


def test_another_border_is_found_by_what_crosses_it() -> None:
    """0.3 is compared with 0.3: nothing but its last bit says on which side it is."""
    given = np.array([[0.3, 0.1, 0.2, 0.7]], np.float32)
    for limit, stays in ((0.3, True), (0.4, False)):
        held = np.full((1, 1), limit, np.float32)
        mask = read(lambda graph, x, held=held: graph.builder.emit("top.Compare", x, graph.constant(held), mode="Less"), given)
        assert mask is not None and (mask.all() if stays else not mask.any())


@pytest.mark.parametrize(("scale", "stays"), [(2.0**-5, True), (0.03, False)])
def test_what_a_scale_rounds_is_noise_unless_it_shifts_alone(scale: float, stays: bool) -> None:
    mask = read(lambda graph, x: cast(graph, x, QuantType(I8, F32, (scale,), (0,))))
    assert (mask is not None) == stays


def test_weights_that_others_are_compared_with_stay() -> None:
    graph = Graph((1, 4), element=I8)
    limit, factor = graph.constant(np.array([[3.0]], np.float32)), graph.constant(np.array([[0.7, 3.0, 1.1, 2.0]], np.float32))
    floats = cast(graph, graph.inputs[0], F32)
    module = graph.done(
        graph.builder.emit("top.Compare", floats, limit, mode="Greater"), graph.Mul(floats, factor))
    (name,) = module.inputs
    still = still_weights(module, {name: np.array([[3, 3, 1, 5]], np.int8)})
    assert list(still) == [limit]


# --- element by element


def far(tensor: Any) -> bool:
    return bool(broken_limits(tensor, Tolerance()))


def is_excused(run: Any, given: Mapping[str, np.ndarray], actual: np.ndarray) -> bool:
    made = {"y": actual}
    return bool(excused_by_last_bits(run, given, made, compare_outputs(run(given), made), [0], far))


HALVES = {"x": (np.random.default_rng(0).integers(0, 8, 300) + 0.5).astype(np.float32)}



def near_ties(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"y": (TABLE * TABLE)[np.rint(given["x"]).astype(int) % 8]}


def test_a_wrong_number_is_not_among_those_of_a_border() -> None:
    """One row of a table is wrong, where last bits decide which row is taken: the whole moves by as much as it is wrong."""
    right = near_ties(HALVES)["y"]
    near = moved(HALVES, 77)
    assert near is not None and is_excused(near_ties, HALVES, near_ties(near)["y"])
    wrong = np.where(right == 25, np.float32(30), right)
    assert far(compare_outputs({"y": right}, {"y": wrong})[0])
    assert not is_excused(near_ties, HALVES, wrong)


def half_chaotic(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    x = given["x"]
    wild = x.copy()
    for _ in range(40):
        wild = (wild * np.float32(1.9) + np.float32(0.1)) % np.float32(1)
    return {"y": np.concatenate([wild[:250], np.tanh(x[250:])])}


def test_what_stands_still_has_to_be_right() -> None:
    given = {"x": np.random.default_rng(0).random(500, dtype=np.float32)}
    near = moved(given, 77)
    assert near is not None
    actual = half_chaotic(near)["y"]
    assert is_excused(half_chaotic, given, actual)
    actual[300] += 0.5
    assert not is_excused(half_chaotic, given, actual)


# --- conversions


onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def model(nodes: list[Any], constants: Mapping[str, Any], element: int, **domains: int) -> Any:
    helper = onnx.helper
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(key.replace("_", "."), v) for key, v in domains.items())]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, WHOLE.shape)],
        [helper.make_tensor_value_info("y", element, None)],
        [onnx.numpy_helper.from_array(np.asarray(array), key) for key, array in constants.items()])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def gathered(table: np.ndarray, *before: str) -> Any:
    node, names = onnx.helper.make_node, ["x", *(f"m{index}" for index in range(len(before)))]
    nodes = [node(kind, [a, "one"] if kind in ("Sub", "Mul") else [a], [b])
             for kind, a, b in zip(before, names, names[1:], strict=False)]
    nodes += [node("Cast", [names[-1]], ["i"], to=onnx.TensorProto.INT64), node("Gather", ["k", "i"], ["y"])]
    return model(nodes, {"k": table, "one": np.float32(1)}, onnx.TensorProto.FLOAT)


def labelled(values: np.ndarray) -> Any:
    return model([onnx.helper.make_node(
        "LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_floats=[*TABLE], values_int64s=[int(each) for each in values],
        default_int64=-4)], {}, onnx.TensorProto.INT64, ai_onnx_ml=3)


def stepped(kind: str) -> Any:
    return model([onnx.helper.make_node(kind, ["x"], ["y"])], {}, onnx.TensorProto.FLOAT)


def verdict(right: Any, wrong: Any, folder: Path, given: np.ndarray) -> Any:
    """What a verification says of `wrong` in the place of what was made of the file `right`."""
    onnx.save(right, folder / "right.onnx")
    onnx.save(wrong, folder / "wrong.onnx")
    made = transload.load(folder / "wrong.onnx")
    hub: Module = transload.legalize(made.clone())
    return verify_conversion(
        transload.load(folder / "right.onnx"), transload.lower(made, "tosa"), hub=hub, inputs={"x": given})


@pytest.mark.parametrize(("right", "wrong", "given"), [
    (lambda: gathered(TABLE), lambda: gathered(with_row(5, 4.5)), WHOLE),
    (lambda: gathered(TABLE), lambda: gathered(with_row(5, 5.0)), WHOLE),  # what the row before has
    (lambda: gathered(TABLE, "Sub", "Abs"), lambda: gathered(with_row(4, 4.0), "Sub", "Abs"), WHOLE),
    (lambda: gathered(TABLE, "Transpose"), lambda: gathered(with_row(4, 4.0), "Transpose"), WHOLE),
    (lambda: labelled(TABLE * 3), lambda: labelled(with_row(4, 4.0) * 3), WHOLE),
    (lambda: labelled(TABLE * 3), lambda: labelled(with_row(4, -4.0)), WHOLE),
    (lambda: stepped("Round"), lambda: stepped("Ceil"), WHOLE + np.float32(0.5)),
])
def test_whole_numbers_in_floats_excuse_nothing(right: Any, wrong: Any, given: np.ndarray, tmp_path: Path) -> None:
    assert verdict(right(), right(), tmp_path, given).passed
    found = verdict(right(), wrong(), tmp_path, given)
    assert found.failed and not any("last bits" in note for note in found.notes)


def test_a_key_that_is_no_number_is_no_reason_to_doubt_the_judge(tmp_path: Path) -> None:
    """NaN in a constant that numbers are compared with made a wrong label inconclusive."""
    def keyed(other: float) -> Any:
        return model(
            [onnx.helper.make_node("Equal", ["x", "keys"], ["e"]), onnx.helper.make_node("Where", ["e", "a", "b"], ["y"])],
            {"keys": np.array([1, 2, np.nan, 4, 5, 6], np.float32), "a": np.float32(other), "b": np.float32(3)},
            onnx.TensorProto.FLOAT)

    given = np.tile(np.arange(1, 7, dtype=np.float32), (4, 1))
    assert verdict(keyed(8), keyed(8), tmp_path, given).passed
    assert verdict(keyed(8), keyed(9), tmp_path, given).status == "failed"


def numbers_of(dtype: Any) -> np.ndarray:
    ends = ml_dtypes.finfo(dtype)
    return np.array([0.5, 1.0, float(ends.max), float(ends.min), float(ends.tiny), 0.0, np.inf, np.nan]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numbers_of_any_size_are_moved_without_a_word(dtype: Any) -> None:
    """Of floats of 16 bits numpy said that a limit of 2^25 is none of them, of the greatest that what follows is infinite."""
    graph = Graph(TensorType((8,), F16 if dtype is np.float16 else F32))
    module = graph.done(graph.Round(graph.inputs[0]))
    array = numbers_of(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        still_inputs(module, {"x0": array})
        following = moved({"x0": array}, 0)
    assert following is not None and following["x0"].dtype == array.dtype


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64])
def test_results_of_any_size_are_compared_without_a_word(dtype: Any) -> None:
    """Squares of float64 run over, and complex numbers lost their imaginary parts on the way."""
    size = 1.0 if np.dtype(dtype).kind == "c" else float(ml_dtypes.finfo(dtype).max)
    right = np.array([1.0, 0.5, size, -size], dtype)
    other = {"y": right * dtype(0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        excused = excused_by_last_bits(
            lambda given: {"y": right}, {"x": right}, other, compare_outputs({"y": right}, other), [0],
            lambda apart: bool(broken_limits(apart, Tolerance())), near=lambda seed: other if seed < 3 else None)
    assert excused or dtype is np.float64  # of whose squares no sum is a number


def test_steps_of_numbers_beyond_what_16_bits_hold() -> None:
    graph = Graph(TensorType((2,), F16))
    module = graph.done(graph.Cast(graph.inputs[0], types=[TensorType((2,), QuantType(I8, F32, (1000.0,), (0,)))]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert narrow_steps(module, {"y": np.array([-128, 127], np.int8)}) == [0.032]

"""Kernels of dialect `tf` of its own: what no lowering of fixed shapes can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import RunError
from transload.ir import Dense
from transload_converters.tensorflow import messages_pb2 as messages

from tests.converters.tensorflow.test_savedmodel import TENSORS, W, first_kind, write_model
from tests.support.tensorflow_graphs import Func, T, const, graph, main_ops, node, placeholder, read_graph

F, I = T("float32"), T("int32")


def test_boxes_are_kept_by_their_scores_and_overlaps() -> None:
    module = read_graph(graph(
        placeholder("boxes", (4, 4)), placeholder("scores", (4,)), const("most", np.int32(1000)),
        const("overlap", np.float32(0.5)),
        node("kept", "NonMaxSuppressionV2", "boxes", "scores", "most", "overlap", T=T("float32"))))
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 1, 1], [5, 5, 6, 6]], np.float32)
    found = transload.run(module, {"boxes": boxes, "scores": np.array([0.5, 0.9, 0.1, 0.9], np.float32)})["kept"]
    np.testing.assert_array_equal(found, [1, 3, 2])


@pytest.mark.parametrize("wanted", [0, 3])
def test_a_suppression_that_wants_no_box_or_more_than_there_are(wanted: int) -> None:
    """By hand: TensorFlow's documentation has zeros behind the boxes that are selected, and counts these."""
    operands = ("boxes", "scores", "most", "overlap", "least")
    module = read_graph(graph(
        placeholder("boxes", (2, 4)), placeholder("scores", (2,)), const("most", np.int32(wanted)),
        const("overlap", np.float32(0.5)), const("least", np.float32(0)),
        node("kept", "NonMaxSuppressionV4", *operands, T=T("float32"), pad_to_max_output_size=True),
        node("number", "Identity", "kept:1", T=T("int32")), node("places", "Identity", "kept", T=T("int32"))))
    boxes = np.array([[0, 0, 1, 1], [5, 5, 6, 6]], np.float32)
    found = transload.run(transload.lower(module, "top"), {"boxes": boxes, "scores": np.array([0.5, 0.9], np.float32)})
    assert [each.tolist() for each in found.values()] == [2 if wanted else 0, [1, 0, 0] if wanted else []]


def test_complex_numbers_run_as_they_are() -> None:
    """One op alone may take and give complex numbers, which the hub does not have."""
    module = read_graph(graph(
        placeholder("x", (2, 8)), const("length", np.array([8], np.int32)),
        node("spectrum", "RFFT", "x", "length", Treal=F, Tcomplex=T("complex64")),
        node("twice", "AddV2", "spectrum", "spectrum", T=T("complex64")), node("size", "ComplexAbs", "twice", T=T("complex64")),
        node("back", "IRFFT", "twice", "length", Treal=F, Tcomplex=T("complex64"))))
    x = np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32)
    found = transload.run(module, {"x": x}, engine="reference")
    np.testing.assert_allclose(found["size"], 2 * np.abs(np.fft.rfft(x)), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["back"], 2 * x, rtol=1e-4, atol=1e-5)


def test_constants_of_texts_are_only_in_the_way_of_who_uses_them() -> None:
    module = read_graph(graph(
        placeholder("x", (2,)), const("yes", np.array(True)), const("text", "too large"),
        node("check", "Assert", "yes", "text", T=[T("str")]), node("y", "Neg", "x", "^check", T=F)))
    assert list(transload.run(module, {"x": np.ones(2, np.float32)})["y"]) == [-1, -1]


def test_a_run_begins_with_what_variables_hold(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", first_kind(), tensors=TENSORS)
    module, x = transload.load(folder), np.ones((1, 2), np.float32)
    for _ in range(2):
        np.testing.assert_allclose(transload.run(module, {"input": x}, engine="reference")["output"], x @ W)


@pytest.mark.parametrize(("change", "expected"), [
    ("AssignVariableOp", [5, 5]), ("AssignAddVariableOp", [6, 7]), ("AssignSubVariableOp", [-4, -3])])
def test_variables_are_changed_by_a_run_for_itself(change: str, expected: list[int]) -> None:
    module = read_graph(graph(
        placeholder("x", (2,)), node("v", "VarHandleOp", dtype=F, shape=(2,)), node("change", change, "v", "x", dtype=F),
        node("y", "ReadVariableOp", "v", "^change", dtype=F)))
    handle = next(op for op in main_ops(module) if op.name == "tf.VarHandleOp")
    handle.attributes["value"] = Dense(np.array([1, 2], np.float32))
    for _ in range(2):
        assert list(transload.run(module, {"x": np.full(2, 5, np.float32)})["y"]) == expected


def test_parts_of_variables() -> None:
    table = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    module = read_graph(graph(
        placeholder("i", (2, 2), "int32"), node("v", "VarHandleOp", dtype=F, shape=(2, 3, 2)),
        const("new", np.full((1, 3, 2), -1, np.float32)), const("place", np.array([[1]], np.int32)),
        node("rows", "ResourceGather", "v", "i", dtype=F, Tindices=I, batch_dims=1),
        node("write", "ResourceScatterNdUpdate", "v", "place", "new", "^rows", T=F, Tindices=I),
        node("r", "Identity", "rows", T=F), node("sizes", "VariableShape", "v", out_type=I),
        node("y", "ReadVariableOp", "v", "^write", dtype=F)))
    next(op for op in main_ops(module) if op.name == "tf.VarHandleOp").attributes["value"] = Dense(table)
    found = transload.run(module, {"i": np.array([[0, 2], [1, 1]], np.int32)})
    np.testing.assert_array_equal(found["r"], [table[0, [0, 2]], table[1, [1, 1]]])
    np.testing.assert_array_equal(found["y"], [table[0], np.full((3, 2), -1)])
    assert list(found["sizes"]) == [2, 3, 2]


@pytest.mark.parametrize("place", [3, -1])
@pytest.mark.parametrize("policy", ["", "DEFAULT", "IGNORE", "other"])
def test_what_is_written_outside_of_a_variable(place: int, policy: str) -> None:
    """By hand: TensorFlow refuses it, or leaves it out; what lies before the first was counted from the end."""
    module = read_graph(graph(
        placeholder("x", (2,)), node("v", "VarHandleOp", dtype=F, shape=(3,)),
        const("places", np.array([[1], [place]], np.int32)),
        node("write", "ResourceScatterNdUpdate", "v", "places", "x", T=F, Tindices=I, bad_indices_policy=policy),
        node("y", "ReadVariableOp", "v", "^write", dtype=F)))
    next(op for op in main_ops(module) if op.name == "tf.VarHandleOp").attributes["value"] = Dense(np.zeros(3, np.float32))
    x = {"x": np.array([7, 8], np.float32)}
    if policy == "IGNORE":
        np.testing.assert_array_equal(transload.run(module, x, engine="reference")["y"], [0, 7, 0])
        frozen = transload.lower(module, "top")
        state = {name: np.zeros(3, np.float32) for name in frozen.inputs if name != "x"}
        np.testing.assert_array_equal(transload.run(frozen, {**x, **state})["y"], [0, 7, 0])
        return
    with pytest.raises(RunError, match="bad_indices_policy 'other'" if policy == "other" else "do not fit the variable"):
        transload.run(module, x, engine="reference")


def test_a_variable_without_a_value_is_named() -> None:
    module = read_graph(graph(node("v", "VarHandleOp", dtype=F, shape=(2,)), node("y", "ReadVariableOp", "v", dtype=F)))
    with pytest.raises(RunError, match="its variable has no value") as caught:
        transload.run(module, {})
    assert "y" in str(caught.value)


def caller(*functions: Any, op: str = "PartitionedCall", operands: tuple[str, ...] = ("x",), **attributes: Any) -> Any:
    made = graph(placeholder("x", (2,)), node("y", op, *operands, **attributes))
    made.library.function.extend(functions)
    return read_graph(made)


def function(name: str, *nodes: Any, gives: str = "", arguments: int = 1) -> Any:
    made = messages.FunctionDef(ret={"y": gives} if gives else {})
    made.signature.name = name
    for number in range(arguments):
        made.signature.input_arg.add(name=f"x{number}", type=1)
    if gives:
        made.signature.output_arg.add(name="y", type=1)
    made.node_def.extend(nodes)
    return made


def call(name: str, operand: str, called: str) -> Any:
    return node(name, "PartitionedCall", operand, f=Func(called), Tin=[F], Tout=[F])


def test_functions_that_call_others_twice_are_planned_once() -> None:
    """Two to the thirtieth calls: they are counted, which takes no time, and none is run; it went on for half an hour."""
    def calling(depth: int) -> Any:
        deep = [function(f"f{i}", call("a", "x0", f"f{i + 1}"), call("b", "a:output:0", f"f{i + 1}"), gives="b:output:0")
                for i in range(depth)]
        ends = function(f"f{depth}", node("n", "Neg", "x0", T=F), gives="n:y:0")
        return caller(*deep, ends, f=Func("f0"), Tin=[F], Tout=[F])

    x = {"x": np.ones(2, np.float32)}
    with pytest.raises(RunError, match="would run more than"):
        transload.run(calling(30), x, engine="reference")
    assert transload.run(calling(4), x, engine="reference")["y"].tolist() == [1.0, 1.0]


def test_functions_that_call_each_other_too_deep_or_do_not_fit() -> None:
    deep = [function(f"f{i}", call("a", "x0", f"f{i + 1}"), gives="a:output:0") for i in range(300)]
    ends = function("f300", node("n", "Neg", "x0", T=F), gives="n:y:0")
    x = {"x": np.ones(2, np.float32)}
    with pytest.raises(RunError, match="deep"):
        transload.run(caller(*deep, ends, f=Func("f0"), Tin=[F], Tout=[F]), x, engine="reference")
    other = caller(ends, operands=("x", "x"), f=Func("f300"), Tin=[F, F], Tout=[F])
    with pytest.raises(RunError, match="runs @f300 with 2 values for 1 results, and that takes 1 and gives 1"):
        transload.run(other, x, engine="reference")
    empty = function("empty")
    loop = caller(empty, op="While", T=[F], cond=Func("empty"), body=Func("empty"))
    with pytest.raises(RunError, match="takes 1 and gives 0"):
        transload.run(loop, x, engine="reference")


def test_subscripts_outside_of_a_variable_are_refused() -> None:
    module = read_graph(graph(
        placeholder("i", (1,), "int32"), node("v", "VarHandleOp", dtype=F, shape=(2,)),
        node("g", "ResourceGather", "v", "i", dtype=F, Tindices=I)))
    next(op for op in main_ops(module) if op.name == "tf.VarHandleOp").attributes["value"] = Dense(np.ones(2, np.float32))
    with pytest.raises(RunError, match="its subscripts do not fit the variable"):
        transload.run(module, {"i": np.array([5], np.int32)}, engine="reference")


def test_an_op_on_a_variable_that_has_no_kernel_is_told_as_the_lowering_does() -> None:
    """It said that the model computes with texts."""
    places = [const(name, np.array([number], np.int32)) for name, number in (("begin", 0), ("end", 1), ("step", 1))]
    module = read_graph(graph(
        placeholder("x", (1, 2)), *places, node("v", "VarHandleOp", dtype=F, shape=(3, 2)),
        node("write", "ResourceStridedSliceAssign", "v", "begin", "end", "step", "x", T=F, Index=I),
        node("y", "ReadVariableOp", "v", "^write", dtype=F)))
    with pytest.raises(RunError) as caught:
        transload.run(module, {"x": np.zeros((1, 2), np.float32)}, engine="reference")
    assert "uses a variable in a way that is not followed" in str(caught.value)
    assert "texts" not in str(caught.value)


def test_whether_variables_have_numbers_is_no_output() -> None:
    """Savers of TensorFlow 2 ask for it of each variable, in `.meta` files."""
    module = read_graph(graph(
        placeholder("x", (2,)), node("y", "Neg", "x", T=F),
        node("v", "VarHandleOp", dtype=F, shape=(2,), shared_name="v"), node("asked", "VarIsInitializedOp", "v")))
    assert list(module.outputs) == ["y"]

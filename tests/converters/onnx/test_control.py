"""Branches and loops, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import transload
from transload.budget import allowed
from transload.errors import ConversionError

from tests.support.onnx_models import make_model, node, op_names, read_model

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def info(name: str, element: int = TensorProto.FLOAT, shape: Any = None) -> Any:
    return helper.make_tensor_value_info(name, element, shape)


def graph(nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: dict[str, Any] | None = None) -> Any:
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
    return helper.make_graph(nodes, "sub", inputs, [output if isinstance(output,
        onnx.ValueInfoProto) else info(output) for output in outputs], held)


def branch(kind: str, name: str) -> Any:
    return graph([node(kind, ["x"], [name])], [], [name])


def choose() -> Any:
    return node("If", ["c"], ["y"], then_branch=branch("Exp", "t"), else_branch=branch("Neg", "e"))


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_by_a_constant(compare: Callable[..., Any], condition: bool) -> None:
    hub = compare(choose(), {"x": X}, ("y",), {"c": np.array(condition)})
    assert op_names(hub) == ["Exp" if condition else "Neg"]


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_by_a_computed_condition(compare: Callable[..., Any], condition: bool) -> None:
    hub = compare(choose(), {"x": X, "c": np.array([condition])})
    assert "If" in op_names(hub)


def test_a_branch_that_cannot_be_run_is_never_chosen() -> None:
    wrong = graph([node("MatMul", ["x", "x"], ["e"])], [], ["e"])  # [2, 3] by [2, 3] has no product
    chosen = node("If", ["c"], ["y"], then_branch=branch("Exp", "t"), else_branch=wrong)
    hub = transload.legalize(read_model(make_model([chosen], {"x": X, "c": np.array(True)}, ["y"])))
    assert op_names(hub) == ["Exp"]
    assert hub.notes == (
        "the first branch of y is always taken: the other, for another value of c, cannot be computed with the inputs' shapes",)


def test_branches_of_different_shapes() -> None:
    other = graph([node("Transpose", ["x"], ["e"])], [], ["e"])
    model = make_model([node("If", ["c"], ["y"], then_branch=branch("Exp", "t"), else_branch=other)],
        {"x": X, "c": np.array(True)}, ["y"])
    with pytest.raises(ConversionError, match="different types"):
        transload.legalize(read_model(model))


def test_an_operator_without_conversion_in_a_branch_is_reported() -> None:
    other = graph([node("Mystery", ["x"], ["e"], domain="com.example")], [], ["e"])
    model = make_model([node("If", ["c"], ["y"], then_branch=branch("Exp", "t"), else_branch=other)],
        {"x": X, "c": np.array(True)}, ["y"])
    with pytest.raises(ConversionError, match=r"onnx\.com\.example\.Mystery"):
        transload.legalize(read_model(model))


def counting(body_nodes: list[Any], outputs: list[Any], constants: dict[str, Any] | None = None, shape: Any = (2, 3)) -> Any:
    inputs = [info("i", TensorProto.INT64, []), info("going", TensorProto.BOOL, []), info("a", TensorProto.FLOAT, shape)]
    return graph(body_nodes, inputs, outputs, constants)


def test_a_loop_of_known_length_is_unrolled(compare: Callable[..., Any]) -> None:
    body = counting([node("Identity", ["going"], ["on"]), node("Add", ["a", "x"], ["b"]),
        node("ReduceSum", ["b"], ["s"], keepdims=0)],
                    [info("on", TensorProto.BOOL), "b", "s"])
    hub = compare(node("Loop", ["n", "", "x"], ["y", "z"], body=body), {"x": X}, ("y", "z"), {"n": np.array(3)})
    assert op_names(hub).count("Add") == 3 and "While" not in op_names(hub)


def test_rounds_are_not_taken_for_a_rule_that_never_ends(compare: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of more rounds than rules make in a row was refused, as a defect of the rule; it counts by itself."""
    monkeypatch.setattr("transload.rewrite.MOST_IN_A_ROW", 5)
    body = counting([node("Identity", ["going"], ["on"]), node("Add", ["a", "x"], ["b"])], [info("on", TensorProto.BOOL), "b"])
    hub = compare(node("Loop", ["n", "", "x"], ["y"], body=body), {"x": X}, ("y",), {"n": np.array(9)})
    assert op_names(hub).count("Add") == 9


def test_loops_in_each_other_that_would_be_too_many_ops_are_kept(
        compare: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is small; together they were more ops than a model may become, which was told when so many had been made."""
    body = [node("Add", ["v0", "v0"], ["o0"]), node("Mul", ["o0", "half"], ["p0"]), node("Identity", ["c0"], ["d0"])]
    for place in range(4):
        values = [info(f"{name}{place}", kind, shape) for name, kind, shape in (
            ("i", TensorProto.INT64, []), ("c", TensorProto.BOOL, []), ("v", TensorProto.FLOAT, (2, 3)))]
        inner = graph(body, values, [info(f"d{place}", TensorProto.BOOL, []), info(f"p{place}", shape=(2, 3))])
        above = place + 1
        body = [node("Loop", ["rounds", "true", f"v{above}"], [f"p{above}"], body=inner),
                node("Identity", [f"c{above}"], [f"d{above}"])]
    monkeypatch.setattr("transload_converters.onnx.legalize.control.UNROLL_LIMIT", 100)
    with allowed(ops=700):
        hub = compare(node("Loop", ["rounds", "true", "x"], ["y"], body=inner), {"x": X}, ("y",), {
            "rounds": np.array(6), "true": np.array(True), "half": np.array(0.5, np.float32)})
    assert "While" in op_names(hub)


def test_a_loop_of_no_rounds(compare: Callable[..., Any]) -> None:
    body = counting([node("Identity", ["going"], ["on"]), node("Add", ["a", "x"], ["b"])], [info("on", TensorProto.BOOL), "b"])
    assert op_names(compare(node("Loop", ["n", "", "h"], ["y"], body=body), {"x": X}, ("y",), {"n": np.array(0), "h": X})) == []


@pytest.mark.parametrize("constants", [
    {"n": np.zeros(0, np.int64)}, {"n": np.array([2, 3])}, {"n": np.array(2), "go": np.array([True, False])},
], ids=["no-rounds", "two-rounds", "two-conditions"])
def test_a_loop_that_is_told_more_or_less_than_one_number_is_refused(constants: dict[str, Any]) -> None:
    body = counting([node("Identity", ["going"], ["on"]), node("Add", ["a", "x"], ["b"])], [info("on", TensorProto.BOOL), "b"])
    loop = node("Loop", ["n", "go" if "go" in constants else "", "x"], ["y"], body=body)
    with pytest.raises(ConversionError, match="must be one number, and has shape"):
        transload.legalize(read_model(make_model([loop], {"x": X}, ["y"], constants)))


def test_the_number_of_the_round_is_constant_when_unrolled(compare: Callable[..., Any]) -> None:
    nodes = [node("Identity", ["going"], ["on"]), node("Gather", ["x", "i"], ["row"]), node("Add", ["a", "row"], ["b"])]
    body = counting(nodes, [info("on", TensorProto.BOOL), "b"], shape=(3,))
    compare(node("Loop", ["n", "", "h"], ["y"], body=body), {"x": X}, ("y",), {"n": np.array(2), "h": np.zeros(3, np.float32)})


def test_a_loop_by_a_computed_condition(compare: Callable[..., Any]) -> None:
    nodes = [node("Add", ["a", "a"], ["b"]), node("ReduceMax", ["b"], ["m"], keepdims=0), node("Less", ["m", "limit"], ["on"])]
    body = counting(nodes, [info("on", TensorProto.BOOL), "b"], {"limit": np.float32(100)})
    hub = compare(node("Loop", ["n", "c", "x"], ["y"], body=body), {"x": X + 1}, ("y",), {"n": np.array(50), "c": np.array(True)})
    assert "While" in op_names(hub)


def test_a_loop_of_a_computed_length(compare: Callable[..., Any]) -> None:
    body = counting([node("Identity", ["going"], ["on"]), node("Add", ["a", "x"], ["b"])], [info("on", TensorProto.BOOL), "b"])
    compare(node("Loop", ["n", "", "x"], ["y"], body=body), {"x": X, "n": np.array(4)})


def test_a_loop_that_collects_for_an_unknown_time() -> None:
    body = counting([node("Identity", ["going"], ["on"]), node("Add", ["a", "x"], ["b"])],
        [info("on", TensorProto.BOOL), "b", info("b")])
    model = make_model([node("Loop", ["n", "", "x"], ["y", "z"], body=body)], {"x": X, "n": np.array(4)}, ["y", "z"])
    with pytest.raises(ConversionError, match=r"number of rounds that is not known[^$]*make its number of rounds and its first"):
        transload.legalize(read_model(model))


def test_a_loop_that_collects_while_a_computed_condition_holds() -> None:
    """Nothing about its length can be said by whoever reads the hint: it names another way to write the loop."""
    nodes = [node("Add", ["a", "x"], ["b"]), node("ReduceMax", ["b"], ["m"], keepdims=0), node("Less", ["m", "limit"], ["on"])]
    body = counting(nodes, [info("on", TensorProto.BOOL), "b", info("b")], {"limit": np.float32(100)})
    given = {"x": X + 1, "n": np.array(50), "c": np.array(True)}
    model = make_model([node("Loop", ["n", "c", "x"], ["y", "z"], body=body)], given, ["y", "z"])
    with pytest.raises(ConversionError, match=r"number of rounds that is not known[^$]*carry a tensor of a known size") as caught:
        transload.legalize(read_model(model))
    assert "are unrolled" not in str(caught.value)


def test_a_loop_without_end() -> None:
    body = counting([node("Identity", ["going"], ["on"]), node("Add", ["a", "x"], ["b"])],
        [info("on", TensorProto.BOOL), "b", info("b")])
    model = make_model([node("Loop", ["n", "", "x"], ["y", "z"], body=body)], {"x": X}, ["y", "z"], {"n": np.array(1 << 40)})
    with pytest.raises(ConversionError, match="ops"):
        transload.legalize(read_model(model))


def test_nothing_is_left_of_the_operand_that_a_scan_of_a_batch_goes_without(compare: Callable[..., Any]) -> None:
    """Copies of the operator went on to use it, and no target has a word for an operand that is not there."""
    body = graph([node("Add", ["s", "v"], ["t"]), node("Mul", ["t", "v"], ["o"])], [info("s", shape=[2]), info("v", shape=[2])],
        ["t", "o"])
    x = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    scan = node("Scan", ["", "h", "x"], ["y", "z"], body=body, num_scan_inputs=1)
    hub = compare(scan, {"x": x, "h": x[:, 0]}, ("y", "z"), opset=8)
    assert not any(op.name == "top.None" for op in hub.walk())
    assert {op.dialect for op in transload.lower(hub, "tosa").ops()} <= {"tosa", "func"}


def test_scan(compare: Callable[..., Any]) -> None:
    body = graph([node("Add", ["s", "v"], ["t"]), node("Mul", ["t", "v"], ["o"])], [info("s", shape=[2]), info("v", shape=[2])],
        ["t", "o"])
    scan = node("Scan", ["h", "x"], ["y", "z"], body=body, num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1],
                scan_output_axes=[1], scan_output_directions=[1])
    compare(scan, {"x": X}, ("y", "z"), {"h": np.ones(2, np.float32)})


def test_values_inside_have_the_types_that_inference_finds(tmp_path: Path) -> None:
    """Those of the main graph alone had: what a body reduces was of no known type, and a loop was written out that ONNX takes."""
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float[3] x, int64 n) => (float[3] r, float[?, 3] all) {
        t = Constant <value = bool {1}> ()
        r, all = Loop (n, t, x) <body = b (int64 i, bool c, float[3] a) => (bool d, float[3] e, float[3] f) {
            e = Add (a, a)
            s = ReduceSum <keepdims = 0> (e)
            limit = Constant <value = float {100.0}> ()
            d = Less (s, limit)
            f = Identity (e)
        }>
    }"""
    file = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), file)
    types = {value.name: value.type for op in transload.load(file).walk() for value in op.results}
    assert str(types["s"]) == "tensor<f32>"
    pytest.importorskip("onnxruntime")
    made = transload.convert(file, "onnx", tmp_path / "out", input_data={"x": np.ones(3, np.float32), "n": np.array(9)})
    assert made.verification is not None and made.verification.passed
    assert {"onnx.Loop", "onnx.ReduceSum"} <= made.report.target_report["operators"].keys()

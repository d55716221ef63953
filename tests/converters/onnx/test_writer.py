"""Modules of the `onnx` dialect as files: names, constants, subgraphs, and what cannot be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import transload
from transload.errors import ConversionError
from transload.text import parse_module
from transload_converters.onnx import writer
from transload_converters.onnx.writer import model_of

from tests.support.onnx_out.roundtrip import run_model


def made(text: str) -> onnx.ModelProto:
    """A module of the hub, written and checked."""
    model = model_of(transload.lower(parse_module(text), "onnx"))
    onnx.checker.check_model(model, full_check=True)
    return model


def test_an_input_and_a_constant_that_are_outputs_get_names_of_their_own() -> None:
    model = made("""
        "func.func"() ({
        ^bb0(%a: tensor<2xf32> loc("a")):
          %c = "top.Weight"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
          %b = "top.Relu"(%a) : (tensor<2xf32>) -> tensor<2xf32> loc("b")
          "func.return"(%a, %c, %b, %b) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
        }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    names = [info.name for info in model.graph.output]
    assert len(set(names)) == 4 and "a" not in names
    x = np.array([-1, 3], np.float32)
    outputs = run_model(model, {"a": x})
    assert [list(each) for each in outputs] == [[-1, 3], [1, 2], [0, 3], [0, 3]]


def test_names_that_are_taken_get_a_number() -> None:
    model = made("""
        "func.func"() ({
        ^bb0(%a: tensor<2xf32> loc("x")):
          %0 = "top.Exp"(%a) : (tensor<2xf32>) -> tensor<2xf32> loc("y")
          %1 = "top.Abs"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("y")
          %2 = "top.Sin"(%1) : (tensor<2xf32>) -> tensor<2xf32> loc("x")
          "func.return"(%2) : (tensor<2xf32>) -> ()
        }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    values = [info.name for info in model.graph.input] + [name for node in model.graph.node for name in node.output]
    assert len(set(values)) == len(values)


def test_a_loop_runs_until_its_condition_is_false() -> None:
    model = made("""
        "func.func"() ({
        ^bb0(%n: tensor<i32> loc("n"), %x: tensor<2xf32> loc("x")):
          %r:2 = "top.While"(%n, %x) ({
          ^bb0(%i: tensor<i32>, %s: tensor<2xf32>):
            %zero = "top.Weight"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
            %go = "top.Compare"(%i, %zero) {mode = "Greater"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
            "top.Yield"(%go) : (tensor<i1>) -> ()
          }, {
          ^bb0(%i: tensor<i32>, %s: tensor<2xf32>):
            %one = "top.Weight"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
            %j = "top.Sub"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
            %t = "top.Add"(%s, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
            "top.Yield"(%j, %t) : (tensor<i32>, tensor<2xf32>) -> ()
          }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
          "func.return"(%r#0, %r#1) : (tensor<i32>, tensor<2xf32>) -> ()
        }) {function_type = (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    for n in (0, 3):
        left, total = run_model(model, {"n": np.array(n, np.int32), "x": np.array([1, 2], np.float32)})
        assert int(left) == 0 and list(total) == [n + 1, 2 * (n + 1)]


def test_a_branch_gives_values_from_around_it() -> None:
    model = made("""
        "func.func"() ({
        ^bb0(%c: tensor<1xi1> loc("c"), %x: tensor<2xf32> loc("x")):
          %r = "top.If"(%c) ({
            "top.Yield"(%x) : (tensor<2xf32>) -> ()
          }, {
            %n = "top.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
            "top.Yield"(%n) : (tensor<2xf32>) -> ()
          }) : (tensor<1xi1>) -> tensor<2xf32>
          "func.return"(%r) : (tensor<2xf32>) -> ()
        }) {function_type = (tensor<1xi1>, tensor<2xf32>) -> (tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    x = np.array([1, 2], np.float32)
    assert list(run_model(model, {"c": np.array([True]), "x": x})[0]) == [1, 2]
    assert list(run_model(model, {"c": np.array([False]), "x": x})[0]) == [-1, -2]


def test_large_constants_lie_in_a_file_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "EXTERNAL_FROM", 4096)
    weights = np.arange(2048, dtype=np.float32).reshape(2, 1024)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1024))], [onnx.numpy_helper.from_array(weights, "w")])
    source = tmp_path / "in.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), source)
    transload.save(transload.load(source), tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx.data").stat().st_size == weights.nbytes
    back = transload.load(tmp_path / "out.onnx")
    x = np.array([[1, 2]], np.float32)
    assert np.array_equal(transload.run(transload.legalize(back), {"x": x})["y"], x @ weights)


def test_what_cannot_be_written_is_told_at_once() -> None:
    module = transload.lower(parse_module("""
        "func.func"() ({
        ^bb0(%a: tensor<2xi48> loc("a"), %b: tensor<2xi48> loc("b")):
          %0 = "top.Add"(%a, %b) : (tensor<2xi48>, tensor<2xi48>) -> tensor<2xi48> loc("sum")
          "func.return"(%0) : (tensor<2xi48>) -> ()
        }) {function_type = (tensor<2xi48>, tensor<2xi48>) -> (tensor<2xi48>),
          sym_name = "main"} : () -> ()"""), "onnx")
    with pytest.raises(ConversionError, match="cannot be written as ONNX") as caught:
        transload.save(module, "never.onnx")
    assert "i48" in str(caught.value) and not Path("never.onnx").exists()

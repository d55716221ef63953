"""What a cut keeps: what the outputs need, whatever is behind them, and what changes a state that they see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload.ir.verify import check

from tests.support.caffe_files import net_text
from tests.support.tensorflow_graphs import T, graph, node, placeholder

F, X = T("float32"), np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def of_text(ops: str, inputs: str = "%x: tensor<2x3xf32>", outputs: str = "%z", others: str = "", element: str = "f32") -> Module:
    count, types = outputs.count("%"), f"tensor<2x3x{element}>"
    taken = ", ".join(part.split(": ", 1)[1] for part in inputs.split(", "))
    return transload.load(format="mlir", text=f'''
      "func.func"() <{{sym_name = "main", function_type = ({taken}) -> ({", ".join([types] * count)})}}> ({{
      ^bb0({inputs}):
        {ops}
        "func.return"({outputs}) : ({", ".join([types] * count)}) -> ()
      }}) : () -> ()
      {others}''')


def names(module: Module) -> list[str]:
    return [op.name for op in module.body_of_main][:-1]


def onnx_file(folder: Path) -> Path:
    onnx = pytest.importorskip("onnx")
    info = [onnx.helper.make_tensor_value_info(name, 1, [2, 3]) for name in "xz"]
    nodes = [onnx.helper.make_node("Relu", ["x"], ["y"]), onnx.helper.make_node("Mystery", ["y"], ["z"], domain="my.dom")]
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("my.dom", 1)]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", info[:1], info[1:]), opset_imports=opsets, ir_version=8)
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx"


def caffe_file(folder: Path) -> Path:
    layers = ('layer { name: "y" type: "ReLU" bottom: "x" top: "y" }\n'
              'layer { name: "z" type: "Mystery" bottom: "y" top: "z" }')
    (folder / "m.prototxt").write_text(net_text(layers, x=(2, 3)))
    return folder / "m.prototxt"


def tensorflow_file(folder: Path) -> Path:
    """With an op that is unknown, one that prints, and one that checks."""
    made = graph(placeholder("x", (2, 3)), node("y", "Relu", "x", T=F), node("z", "Mystery", "y", T=F),
                 node("p", "Print", "y", "y", T=F, U=[F], message="m"), node("c", "Exp", "p", T=F))
    (folder / "m.pb").write_bytes(made.SerializeToString())
    return folder / "m.pb"


@pytest.mark.parametrize("file", [onnx_file, caffe_file, tensorflow_file])
@pytest.mark.parametrize("told", ["extract", "outputs"])
def test_what_is_unknown_and_behind_a_cut_of_a_file_is_gone(file: Any, told: str, tmp_path: Path) -> None:
    path = file(tmp_path)
    part = transload.extract(transload.load(path), ["y"]) if told == "extract" else transload.load(path, outputs=["y"])
    assert len(names(part)) == 1 and not check(part)
    np.testing.assert_array_equal(transload.run(transload.lower(part, "tosa"), {"x": X})["y"], np.maximum(X, 0))


@pytest.mark.parametrize("behind", [
    '%z = "tfl.custom"(%y) {custom_code = "Mystery", custom_option = #tfl<const_bytes : "0x">}',
    '%z = "stablehlo.custom_call"(%y) {call_target_name = "mystery", has_side_effect = true}', '%z = "acme.mystery"(%y)',
    '%z = "onnx.my.dom.Mystery"(%y)',
    '%z = "tosa.custom"(%y) {operator_name = "a", domain_name = "b", implementation_attrs = ""}',
    '%z = "func.call"(%y) {callee = @mystery}', '%z = "tf.PartitionedCall"(%y) {f = @mystery}'])
def test_what_is_unknown_and_behind_is_gone(behind: str) -> None:
    """A function that only this ran, too; one that more run, or nobody did, stays."""
    type_ = "tensor<2x3xf32>"
    function = f'''"func.func"() <{{sym_name = "%s", function_type = ({type_}) -> {type_}, sym_visibility = "private"}}> ({{
      ^bb0(%a: {type_}):
        %r = "%s"(%a) : ({type_}) -> {type_}
        "func.return"(%r) : ({type_}) -> ()
      }}) : () -> ()\n'''
    others = function.replace("%s", "mystery", 1).replace("%s", "acme.more") + function.replace("%s", "alone", 1).replace(
        "%s", "acme.more")
    signature = f": ({type_}) -> {type_}"
    module = of_text(f'%y = "tosa.tanh"(%x) {signature} loc("y")\n{behind} {signature} loc("z")', others=others)
    part = transload.extract(module, ["y"])
    assert names(part) == ["tosa.tanh"]
    assert set(part.functions) == {"main", "alone"} | ({"mystery"} if "@mystery" not in behind else set())
    assert len(names(transload.extract(module, ["z"]))) == 2 and set(module.functions) == {"main", "alone", "mystery"}


NONE = '#tfl<const_bytes : "0x">'
R, V = "tensor<!tf_type.resource>", "tensor<2x3xf32>"
TFL = (f'%h = "tfl.var_handle"() {{container = "", shared_name = "%s"}} : () -> {R}\n'
       f'"tfl.assign_variable"(%h, %x) : ({R}, {V}) -> ()\n')


@pytest.mark.parametrize(("seen", "kept"), [("v", 4), ("w", 2)])
def test_a_variable_that_is_read_is_assigned(seen: str, kept: int) -> None:
    """By its name, under whatever handle, before and behind: the next run sees what this one leaves."""
    read = f'''
        %o = "tfl.var_handle"() {{container = "", shared_name = "{seen}"}} : () -> {R}
        %y = "tfl.read_variable"(%o) : ({R}) -> {V} loc("y")
    '''
    for text in (TFL.replace("%s", "v") + read, read + TFL.replace("%s", "v")):
        module = of_text(text + f'%z = "tfl.custom"(%y) {{custom_code = "M", custom_option = {NONE}}} : ({V}) -> {V}')
        part = transload.extract(module, ["y"])
        assert len(names(part)) == kept and ("tfl.assign_variable" in names(part)) == (seen == "v")


@pytest.mark.parametrize("seen", ["v", "w"])
def test_a_subgraph_that_sets_variables_first(seen: str) -> None:
    others = f'''"func.func"() <{{sym_name = "init", function_type = () -> (), sym_visibility = "private"}}> ({{
        %x = "tfl.pseudo_const"() {{value = dense<1.0> : {V}}} : () -> {V}
        {TFL.replace("%s", "v")}
        "func.return"() : () -> ()
      }}) : () -> ()'''
    part = transload.extract(of_text(f'''
        "tfl.call_once"() {{session_init_function = @init}} : () -> ()
        %o = "tfl.var_handle"() {{container = "", shared_name = "{seen}"}} : () -> {R}
        %y = "tfl.read_variable"(%o) : ({R}) -> {V} loc("y")
        %z = "tfl.custom"(%y) {{custom_code = "M", custom_option = {NONE}}} : ({V}) -> {V}''', others=others), ["y"])
    assert ("tfl.call_once" in names(part)) == (seen == "v") and ("init" in part.functions) == (seen == "v")
    assert "tfl.custom" not in names(part)


def test_a_function_that_is_given_a_variable() -> None:
    others = f'''"func.func"() <{{sym_name = "set", function_type = ({R}, {V}) -> (), sym_visibility = "private"}}> ({{
      ^bb0(%h: {R}, %x: {V}):
        "func.call"(%h, %x) {{callee = @inner}} : ({R}, {V}) -> ()
        "func.return"() : () -> ()
      }}) : () -> ()
      "func.func"() <{{sym_name = "inner", function_type = ({R}, {V}) -> (), sym_visibility = "private"}}> ({{
      ^bb0(%h: {R}, %x: {V}):
        "tf.AssignVariableOp"(%h, %x) : ({R}, {V}) -> ()
        "func.return"() : () -> ()
      }}) : () -> ()'''
    for name in ("func.call", "tf.StatefulPartitionedCall"):
        key = "callee" if name == "func.call" else "f"
        part = transload.extract(of_text(f'''
            %h = "tf.VarHandleOp"() {{shared_name = "v"}} : () -> {R}
            %o = "tf.VarHandleOp"() {{shared_name = "w"}} : () -> {R}
            "{name}"(%h, %x) {{{key} = @set}} : ({R}, {V}) -> ()
            "{name}"(%o, %x) {{{key} = @set}} : ({R}, {V}) -> ()
            "tf.Mystery"(%h, %x) : ({R}, {V}) -> ()
            %y = "tf.ReadVariableOp"(%h) : ({R}) -> {V} loc("y")
            %z = "tf.Mystery"(%y) : ({V}) -> {V}''', others=others), ["y"])
        assert names(part) == ["tf.VarHandleOp", name, "tf.Mystery", "tf.ReadVariableOp"]
        assert {*part.functions} == {"main", "set", "inner"}


def test_variables_of_tosa() -> None:
    part = transload.extract(of_text(f'''
        "tosa.variable_write"(%x) {{name = "v"}} : ({V}) -> ()
        "tosa.variable_write"(%x) {{name = "w"}} : ({V}) -> ()
        %y = "tosa.variable_read"() {{name = "v"}} : () -> {V} loc("y")
        %z = "tosa.tanh"(%y) : ({V}) -> {V}'''), ["y"])
    assert names(part) == ["tosa.variable_write", "tosa.variable_read"]


def test_what_is_overwritten_is_seen_behind_and_through_views() -> None:
    module = of_text(f'''
        %a = "aten.sigmoid.default"(%x) : ({V}) -> {V} loc("a")
        %v = "aten.view.default"(%a) {{size = array<i64: 2, 3>}} : ({V}) -> {V} loc("v")
        %early = "aten.tanh.default"(%a) : ({V}) -> {V} loc("early")
        %unused = "aten.relu_.default"(%v) : ({V}) -> {V} loc("unused")
        %z = "aten.tanh.default"(%a) : ({V}) -> {V} loc("z")''')
    assert names(transload.extract(module, ["early"])) == ["aten.sigmoid.default", "aten.tanh.default"]
    assert names(transload.extract(module, ["z"])) == [
        "aten.sigmoid.default", "aten.view.default", "aten.relu_.default", "aten.tanh.default"]
    assert names(transload.extract(module, ["a"])) == ["aten.sigmoid.default"]

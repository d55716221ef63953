"""What of a file TensorFlow is given to judge: nodes that compute. TensorFlow itself is not needed to say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.errors import RunError
from transload_converters.tensorflow import messages_pb2 as messages
from transload_converters.tensorflow import opdefs
from transload_converters.tensorflow.judged import computes, keep_computing
from transload_converters.tensorflow.runtime import available, open_model

from tests.converters.tensorflow.test_savedmodel import TENSORS, first_kind, second_kind, write_model
from tests.support.tensorflow_graphs import Func, T, const, graph, node, placeholder

F, TEXT = T("float32"), T("str")


def _after(*effects: Any, path: Path = Path("/nowhere")) -> Any:
    """`y` is `x`, once the last of some effects was there."""
    return graph(
        placeholder("x", (2,)), const("file", np.array(str(path))), const("text", np.array("text")), *effects,
        node("y", "Identity", "x", f"^{effects[-1].name}", T=F))


def _printed(path: Path = Path("/nowhere")) -> Any:
    return _after(node("p", "PrintV2", "text", output_stream=f"file://{path}"), path=path)


def _saved(path: Path = Path("/nowhere")) -> Any:
    return _after(const("names", np.array(["t"])), const("slices", np.array([""])),
                  node("p", "SaveV2", "file", "names", "slices", "x", dtypes=[F]), path=path)


def _started(meta: Any, path: Path = Path("/nowhere")) -> Any:
    """A SavedModel that writes a file when it is loaded."""
    meta.graph_def.node.extend([
        const("where", np.array(str(path))), const("what", np.array("text")), node("begin", "WriteFile", "where", "what")])
    meta.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = "begin"
    return meta


def _kept(graph_def: Any, *asked: str, given: tuple[str, ...] = ("x:0",)) -> list[str]:
    keep_computing(graph_def, given, asked or ("y:0",))
    return sorted(node.op for node in graph_def.node)


@pytest.mark.parametrize("made", [_printed, _saved])
def test_what_only_training_needs_is_not_run(made: Any) -> None:
    assert set(_kept(made())) <= {"Placeholder", "Identity", "NoOp", "Const"}


def test_what_is_behind_an_op_that_is_left_out_still_runs_before() -> None:
    graph_def = _after(
        node("v", "VarHandleOp", dtype=F, shape=(2,)), node("assign", "AssignVariableOp", "v", "x", dtype=F),
        node("p", "PrintV2", "text", "^assign"))
    assert "AssignVariableOp" in _kept(graph_def)


@pytest.mark.parametrize("effect", [
    node("e", "WriteFile", "file", "text"), node("e", "ReadFile", "file"), node("e", "DebugIdentity", "x", T=F),
    node("e", "DebugIdentityV3", "x", T=F), node("e", "PyFunc", "x", token="t", Tin=[F], Tout=[F]),
    node("e", "MatchingFiles", "file"), node("e", "Unheard", "x")])
def test_what_may_do_more_than_compute_is_named(effect: Any) -> None:
    with pytest.raises(RunError, match=f"node 'e' is {effect.op}, which may do more than compute"):
        _kept(_after(effect))


@pytest.mark.parametrize("call", [
    node("y", "StatefulPartitionedCall", "x", Tin=[F], Tout=[F], f=Func("outer")), node("y", "outer", "x"),
    node("y", "StatelessIf", "x", "x", Tcond=F, Tin=[F], Tout=[F], then_branch=Func("outer"), else_branch=Func("outer"))])
def test_functions_are_looked_into(call: Any) -> None:
    def function(name: str, *nodes: Any) -> Any:
        made = messages.FunctionDef(ret={"r": "x"}, node_def=nodes)
        made.signature.name = name
        made.signature.input_arg.add(name="x", type=1)
        made.signature.output_arg.add(name="r", type=1)
        return made

    graph_def = graph(placeholder("x", (2,)), call)
    graph_def.library.function.extend([
        function("outer", node("c", "PartitionedCall", "x", Tin=[F], Tout=[F], f=Func("inner"))),
        function("inner", node("w", "WriteFile", "x", "x")), function("unused", node("w", "WriteFile", "x", "x"))])
    with pytest.raises(RunError, match="node 'w' is WriteFile"):
        _kept(graph_def)
    graph_def.library.function[1].node_def[0].op = "AddV2"
    _kept(graph_def)
    assert [function.signature.name for function in graph_def.library.function] == ["outer", "inner"]


def test_what_is_given_leaves_out_what_computes_it() -> None:
    graph_def = graph(
        const("file", np.array("/dev/zero")), node("read", "ReadFile", "file"), node("x", "DecodeRaw", "read", out_type=F),
        node("y", "Identity", "x", T=F))
    assert keep_computing(graph_def, ["x:0"], ["y:0"]) == {"x:0": "given_0:0"}
    assert [(node.op, list(node.input)) for node in graph_def.node] == [("Identity", ["given_0"]), ("Placeholder", [])]
    assert graph_def.node[1].attr["dtype"].type == 1


@pytest.mark.parametrize("kind", [first_kind, second_kind])
def test_a_model_begins_with_what_computes(kind: Any) -> None:
    meta = _started(kind())
    saver, ends = meta.saver_def, [info.name for info in meta.signature_def["serving_default"].outputs.values()]
    with pytest.raises(RunError, match="node 'begin' is WriteFile"):
        keep_computing(meta.graph_def, [saver.filename_tensor_name], [*ends, "begin"], [saver.restore_op_name])
    keep_computing(meta.graph_def, [saver.filename_tensor_name], ends, [saver.restore_op_name])
    assert "WriteFile" not in {node.op for node in meta.graph_def.node}


def test_no_op_that_computes_is_told_a_place_outside() -> None:
    places = {"file", "filename", "filenames", "url", "urls", "path", "stream", "address", "directory", "token", "gated"}
    for name in filter(computes, opdefs.names()):
        known = opdefs.definition(name)
        assert known is not None
        told = [*known.attributes, *(argument.name for argument in known.inputs)]
        assert not places & {word for key in told for word in key.split("_")}, name


@pytest.mark.skipif(available() is not None, reason="tensorflow is not installed")
def test_tensorflow_writes_no_file(tmp_path: Path) -> None:
    written = tmp_path / "written"
    for name, made in (("printed.pb", _printed), ("saved.pb", _saved)):
        (tmp_path / name).write_bytes(made(written).SerializeToString())
        assert list(open_model(tmp_path / name)({"x": np.ones(2, np.float32)})) == ["y"]
    folder = write_model(tmp_path / "m", _started(first_kind(), written), tensors=TENSORS)
    with pytest.raises(RunError, match="'begin' is WriteFile"):
        open_model(folder / "saved_model.pb")({"input": np.ones((1, 2), np.float32)})
    assert not list(tmp_path.glob("written*"))

"""SavedModels of both kinds, and meta graphs: signatures, variables, functions, assets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import transload
from transload.errors import ReadError, UsageError
from transload.input_shapes import sizes_given
from transload.ir import F32, Symbol, TensorType
from transload.scale import convert_all
from transload_converters.tensorflow import messages_pb2 as messages

from tests.support.checkpoints import write_checkpoint
from tests.support.tensorflow_graphs import Func, T, const, graph, main_ops, node, placeholder

F, TEXT = T("float32"), T("str")
W = np.arange(6, dtype=np.float32).reshape(2, 3)


def signature(inputs: dict[str, str], outputs: dict[str, str], shape: tuple[int, ...] = (-1, 2)) -> Any:
    made = messages.SignatureDef()
    for key, name in inputs.items():
        made.inputs[key].name, made.inputs[key].dtype = name, 1
        for size in shape:
            made.inputs[key].tensor_shape.dim.add().size = size
    for key, name in outputs.items():
        made.outputs[key].name, made.outputs[key].dtype = name, 1
    return made


def meta_graph(graph_def: Any, signatures: dict[str, Any], restore: str, *tags: str) -> Any:
    meta = messages.MetaGraphDef(graph_def=graph_def, meta_info_def={"tags": tags or ("serve",)})
    file = "save/Const:0" if restore.startswith("save/") else "file:0"
    meta.saver_def.restore_op_name, meta.saver_def.save_tensor_name, meta.saver_def.filename_tensor_name = restore, file, file
    for name, each in signatures.items():
        meta.signature_def[name].CopyFrom(each)
    return meta


def write_model(folder: Path, *metas: Any, tensors: dict[str, np.ndarray] | None = None, text: bool = False) -> Path:
    folder.mkdir()
    saved = messages.SavedModel(saved_model_schema_version=1, meta_graphs=metas)
    if text:
        (folder / "saved_model.pbtxt").write_text(text_format.MessageToString(saved))
    else:
        (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
    if tensors is not None:
        write_checkpoint(folder / "variables" / "variables", tensors)
    return folder


def first_kind(*signatures: str) -> Any:
    """As TensorFlow 1 saves: the saver's nodes stand in the graph."""
    nodes = [
        placeholder("x", (None, 2)), node("w", "VariableV2", dtype=F, shape=(2, 3)), node("w/read", "Identity", "w", T=F),
        node("y", "MatMul", "x", "w/read", T=F), const("save/Const", np.array("model")),
        const("save/names", np.array(["tensor/w"])), const("save/slices", np.array([""])),
        node("save/RestoreV2", "RestoreV2", "save/Const", "save/names", "save/slices", dtypes=[F]),
        node("save/Assign", "Assign", "w", "save/RestoreV2", T=F), node("save/all", "NoOp", "^save/Assign")]
    named = {name: signature({"input": "x:0"}, {"output": "y:0"}) for name in signatures or ("serving_default",)}
    return meta_graph(graph(*nodes), named, "save/all")


def second_kind() -> Any:
    """As TensorFlow 2 saves: the model and the saver are functions, which are given the variables."""
    function = messages.FunctionDef(ret={"output": "y:product:0"})
    function.signature.name, function.signature.is_stateful = "call", True
    for name, number in (("x", 1), ("w", 20)):
        function.signature.input_arg.add(name=name, type=number)
    function.signature.output_arg.add(name="output", type=1)
    function.node_def.extend([node("read", "ReadVariableOp", "w", dtype=F), node("y", "MatMul", "x", "read:value:0", T=F)])
    restore = messages.FunctionDef(ret={"out": "file"})
    restore.signature.name = "restore"
    for name, number in (("file", 7), ("w", 20)):
        restore.signature.input_arg.add(name=name, type=number)
    restore.signature.output_arg.add(name="out", type=7)
    restore.node_def.extend([
        const("names", np.array(["tensor/v", "tensor/w"])), const("slices", np.array(["", ""])),
        node("restore", "RestoreV2", "file", "names:output:0", "slices:output:0", dtypes=[F, F]),
        node("id", "Identity", "restore:tensors:1", T=F), node("assign", "AssignVariableOp", "w", "id:output:0", dtype=F)])
    arguments = {"Tin": [F, T("resource")], "Tout": [F]}
    nodes = [
        placeholder("serving_x", (None, 2)), placeholder("file", (), "str"), node("w", "VarHandleOp", dtype=F, shape=(2, 3)),
        node("model", "StatefulPartitionedCall", "serving_x", "w", f=Func("call"), **arguments),
        node("saver", "StatefulPartitionedCall", "file", "w", f=Func("restore"), Tin=[TEXT, T("resource")], Tout=[TEXT])]
    graph_def = graph(*nodes)
    graph_def.library.function.extend([function, restore])
    return meta_graph(graph_def, {"serving_default": signature({"x": "serving_x:0"}, {"y": "model:0"})}, "saver")


TENSORS = {"tensor/w": W, "tensor/v": W + 1}


def variable_of(module: Any) -> np.ndarray:
    found = next(op for op in main_ops(module) if op.name in ("tf.VarHandleOp", "tf.VariableV2"))
    array: np.ndarray = found.attributes["value"].numpy()
    return array


@pytest.mark.parametrize("text", [False, True])
def test_a_model_of_tensorflow_1(tmp_path: Path, text: bool) -> None:
    module = transload.load(write_model(tmp_path / "m", first_kind(), tensors=TENSORS, text=text))
    assert module.inputs == {"input": TensorType((1, 2), F32)} and list(module.outputs) == ["output"]
    assert [op.name for op in main_ops(module)] == ["tf.VariableV2", "tf.Identity", "tf.MatMul", "func.return"]
    np.testing.assert_array_equal(variable_of(module), W)
    assert [path.name for path in module.beside] == ["variables.index", "variables.data-00000-of-00001"]
    assert str(main_ops(module)[0].result.type.element) == "!tf_type.f32ref"


def test_a_model_of_tensorflow_2(tmp_path: Path) -> None:
    module = transload.load(write_model(tmp_path / "m", second_kind(), tensors=TENSORS))
    handle, call, _ = main_ops(module)
    assert call.name == "tf.StatefulPartitionedCall" and call.attributes == {"f": Symbol("call")}
    assert call.operands[1] is handle.result
    np.testing.assert_array_equal(variable_of(module), W)
    assert list(module.functions) == ["main", "call"]  # what the model does not use is not read
    function = module.function("call")
    assert [op.name for op in function.regions[0].block] == ["tf.ReadVariableOp", "tf.MatMul", "func.return"]
    assert function.attributes["sym_visibility"] == "private"


def test_shapes_are_those_of_the_model_not_of_functions_that_it_calls(tmp_path: Path) -> None:
    """A function of the file takes an `x`, too."""
    module = transload.load(write_model(tmp_path / "m", second_kind(), tensors=TENSORS), inputs={"x": (4, 2)})
    assert str(module.inputs["x"]) == "tensor<4x2xf32>"


def test_a_signature_is_chosen(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", first_kind("serving_default", "other"), tensors=TENSORS)
    module = transload.load(folder)
    assert module.entry == "main" and transload.load(folder, function="serving_default").entry == "main"
    assert "signature 'serving_default' is read; --signature takes other, too" in module.notes
    assert transload.load(folder, function="other").entry == "other"
    called_main = write_model(tmp_path / "main", first_kind("serving_default", "main"), tensors=TENSORS)
    assert transload.load(called_main).entry == "serving_default" and transload.load(called_main, function="main").entry == "main"
    with pytest.raises(UsageError, match="has no signature 'othr'") as caught:
        transload.load(folder, function="othr")
    assert "did you mean 'other'?" in caught.value.hint
    with pytest.raises(ReadError, match="has 2 signatures, and none is 'serving_default'"):
        transload.load(write_model(tmp_path / "n", first_kind("a", "b"), tensors=TENSORS))


def test_the_graph_for_serving_is_chosen(tmp_path: Path) -> None:
    training, serving = first_kind("train"), first_kind()
    training.meta_info_def.tags[:] = ["train"]
    assert list(transload.load(write_model(tmp_path / "m", training, serving, tensors=TENSORS)).inputs) == ["input"]
    serving.meta_info_def.tags[:] = ["eval"]
    with pytest.raises(ReadError, match="none with the tag 'serve': train; eval"):
        transload.load(write_model(tmp_path / "n", training, serving, tensors=TENSORS))


def test_a_meta_graph_beside_its_checkpoint(tmp_path: Path) -> None:
    meta = first_kind()
    meta.ClearField("signature_def")
    (tmp_path / "m.ckpt.meta").write_bytes(meta.SerializeToString())
    write_checkpoint(tmp_path / "m.ckpt", TENSORS)
    module = transload.load(tmp_path / "m.ckpt.meta")
    assert list(module.inputs) == ["x"] and list(module.outputs) == ["y"]
    np.testing.assert_array_equal(variable_of(module), W)


def test_artifacts_are_called_as_the_folder(tmp_path: Path) -> None:
    from transload.convert_model import _stem

    assert _stem(transload.load(write_model(tmp_path / "mine", first_kind(), tensors=TENSORS))) == "mine"


def test_assets_are_files_of_the_model(tmp_path: Path) -> None:
    meta = first_kind()
    meta.graph_def.node.extend([const("asset", np.array("nowhere")), node("text", "Identity", "asset", T=TEXT)])
    meta.signature_def["serving_default"].outputs["text"].name = "text:0"
    meta.asset_file_def.add(filename="words.txt").tensor_info.name = "asset:0"
    folder = write_model(tmp_path / "m", meta, tensors=TENSORS)
    op = next(op for op in main_ops(transload.load(folder)) if "value_strings" in op.attributes)
    assert op.attributes["value_strings"] == [str(folder / "assets" / "words.txt")]
    for path in ("../words.txt", "/etc/passwd", "..\\x"):
        meta.asset_file_def[0].filename = path
        with pytest.raises(ReadError, match="outside the model's folder"):
            transload.load(write_model(tmp_path / f"bad{len(path)}", meta, tensors=TENSORS))


def test_functions_that_are_not_there(tmp_path: Path) -> None:
    meta = second_kind()
    del meta.graph_def.library.function[0]
    with pytest.raises(ReadError, match="is used, and is not in the graph's library"):
        transload.load(write_model(tmp_path / "m", meta, tensors=TENSORS))


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="is a directory, not a model file"):
        transload.load(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "saved_model.pb").write_bytes(b"\x08\x01")
    with pytest.raises(ReadError, match="holds no graph"):
        transload.load(tmp_path / "m")


@pytest.mark.models
def test_real_models_are_read(models: Path) -> None:
    folders = [folder for folder in models.glob("tf_savedmodel/*") if folder.is_dir()]
    assert len(folders) >= 5
    for folder in folders:
        shapes: dict[str, tuple[int, ...]] = {"X": ()} if "regression" in folder.name else {"x": (1, 1)}
        module = transload.load(folder, inputs=shapes if folder.name in ("tf2onnx_regression", "half_plus_two_cpu") else {})
        variables = [op for op in module.ops() if op.name in ("tf.VarHandleOp", "tf.VariableV2")]
        assert variables and all("value" in op.attributes for op in variables), folder


def test_functions_that_call_themselves_twice_are_looked_into_once(tmp_path: Path) -> None:
    meta = second_kind()
    restore = meta.graph_def.library.function[1]
    restore.node_def.extend(
        node(name, "StatefulPartitionedCall", "file", "w", f=Func("restore"), Tin=[TEXT, T("resource")], Tout=[TEXT])
        for name in ("again", "once_more"))
    module = transload.load(write_model(tmp_path / "m", meta, tensors=TENSORS))
    np.testing.assert_array_equal(variable_of(module), W)


def test_texts_that_nothing_needs_are_left_out(tmp_path: Path) -> None:
    """Also those that are handed to a function which does not use them, or for an output that is not asked for."""
    meta = second_kind()
    called, model = meta.graph_def.library.function[0], meta.graph_def.node[3]
    called.signature.input_arg.add(name="label", type=7)
    called.signature.output_arg.add(name="length", type=3)
    called.node_def.append(node("count", "StringLength", "label"))
    called.ret["length"] = "count:output:0"
    meta.graph_def.node.append(placeholder("label", (), "str"))
    model.input.append("label")
    model.attr["Tin"].list.type.append(7)
    model.attr["Tout"].list.type.append(3)
    told = meta.signature_def["serving_default"]
    told.inputs["label"].name, told.inputs["label"].dtype = "label:0", 7
    module = transload.load(write_model(tmp_path / "m", meta, tensors=TENSORS), inputs={"x": (1, 2)})
    assert list(module.inputs) == ["x"] and "left out, as nothing needs its text: input 'label'" in module.notes
    x = np.ones((1, 2), np.float32)
    np.testing.assert_allclose(transload.run(transload.legalize(module), {"x": x})["y"], x @ W)
    told.outputs["length"].name, told.outputs["length"].dtype = "model:1", 3
    both = write_model(tmp_path / "both", meta, tensors=TENSORS)
    with pytest.raises(ReadError, match="the model is given texts"):
        transload.load(both, inputs={"x": (1, 2)})
    assert list(transload.load(both, inputs={"x": (1, 2)}, outputs=["y"]).inputs) == ["x"]


def test_what_is_given_in_the_place_of_tensors_leaves_out_what_computes_them(tmp_path: Path) -> None:
    meta = first_kind("serving_default")
    meta.graph_def.node.extend([node("text", "Placeholder", dtype=TEXT, shape=()), node(
        "parsed", "StringToNumber", "text", out_type=F), node("sum", "Add", "y", "parsed", T=F)])
    told = meta.signature_def["serving_default"]
    told.inputs["text"].name, told.inputs["text"].dtype = "text:0", 7
    told.outputs["output"].name = "sum:0"
    folder = write_model(tmp_path / "m", meta, tensors=TENSORS)
    assert list(transload.load(folder, inputs={"input": (1, 2), "parsed": ()}).inputs) == ["input", "parsed"]
    assert list(transload.load(folder, inputs={"y": (1, 3), "parsed": ()}).inputs) == ["y", "parsed"]


def test_text_that_is_nested_deeply_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "m.pbtxt"
    path.write_text("node{" * 50_000)
    with pytest.raises(ReadError, match="lie in each other deeper than text is read"):
        transload.load(path)


def test_conversions_of_a_folder_are_kept_by_its_files(tmp_path: Path) -> None:
    """Each call converted anew: files were noted by their path from the folder around the model, and looked for in the model."""
    folder, store = write_model(tmp_path / "model", first_kind(), tensors={"tensor/w": W}), tmp_path / "cache"
    out = [tmp_path / name for name in ("one", "one", "two", "three")]

    def ways(places: list[Path]) -> list[str]:
        with sizes_given(batch=1):
            made = [convert_all(folder, "tosa", each, cache=store, workers=1)[0] for each in places]
        for each in made:
            assert each.report is not None and each.report["model"] == str(folder) and each.report["digest"]
        return [each.way for each in made]

    assert ways(out[:3]) == ["converted", "kept", "cached"]
    write_checkpoint(folder / "variables" / "variables", {"tensor/w": W + 1})
    assert ways([out[0], out[3]]) == ["converted", "cached"]

"""Reading ONNX files: one node, one op, and what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import transload
from transload.budget import allowed
from transload.errors import ReadError, UsageError
from transload.input_shapes import sizes_given
from transload.ir import BOOL, F32, I8, I64, Dense, IntegerType, MmapData, TensorType, input_names, output_names, verify
from transload.text import parse_module, print_module
from transload_converters.onnx.wire import cut_out_raw_data, detect

from tests.support.onnx_models import make_model, node, read_model

X = np.zeros((2, 3), np.float32)

def main_ops(module: Any) -> list[Any]:
    return list(module.body_of_main)


def test_one_op_a_node_with_names_attributes_and_types() -> None:
    weights = np.arange(12, dtype=np.float32).reshape(3, 4)
    module = read_model(make_model(
        [node("Gemm", ["x", "w"], ["h"], alpha=0.5, transB=0), node("LeakyRelu", ["h"], ["y"], alpha=0.25)], {"x": X}, ["y"],
        {"w": weights}))
    verify(module)
    constant, gemm, leaky, end = main_ops(module)
    assert (constant.name, gemm.name, leaky.name, end.name) == ("onnx.Constant", "onnx.Gemm", "onnx.LeakyRelu", "func.return")
    assert constant.location == "w" and constant.attributes["value"].numpy().tolist() == weights.tolist()
    assert gemm.attributes == {"alpha": 0.5, "transB": 0}
    assert gemm.result.type == TensorType((2, 4), F32) and gemm.result.name == "h"
    assert leaky.alpha == 0.25 and leaky.X is gemm.result
    assert module.attributes["onnx.opset"] == {"ai.onnx": 17, "com.microsoft": 1}
    assert (input_names(module.main), output_names(module.main)) == (["x"], ["y"])


def test_absent_operands_and_outputs_and_other_domains() -> None:
    module = read_model(make_model(
        [node("Clip", ["x", "", "high"], ["c"]), node("QLinearFancy-Op", ["c", ""], ["", "y"], domain="com.example")],
        {"x": X}, ["y"], {"high": np.float32(1)}))
    verify(module)
    clip = next(op for op in module.ops() if op.name == "onnx.Clip")
    assert str(clip.operands[1].type) == "none" and clip.operand("min_operand") is None
    fancy = next(op for op in module.ops() if "Fancy" in op.name)
    assert fancy.name == "onnx.com.example.QLinearFancy_Op" and fancy.attributes["domain"] == "com.example"
    assert len(fancy.operands) == 1  # an empty name at the end is no operand
    assert [result.name for result in fancy.results] == [None, "y"]


def test_every_form_of_constant() -> None:
    forms = {"value": helper.make_tensor("t", TensorProto.INT8, [2], [1, -2]), "value_float": 1.5, "value_floats": [1.0, 2.0],
             "value_int": 3, "value_ints": [4, 5]}
    nodes = [node("Constant", [], [key], **{key: value}) for key, value in forms.items()]
    nodes.append(helper.make_node("Constant", [], ["sparse"], sparse_value=helper.make_sparse_tensor(
        helper.make_tensor("v", TensorProto.FLOAT, [2], [7.0, 8.0]), helper.make_tensor("i", TensorProto.INT64, [2], [1, 5]),
        [2, 3])))
    nodes.append(node("Constant", [], ["text"], value_string="hello"))
    module = read_model(make_model(nodes, {"x": X}, ["x"]))
    values = {op.location: op.attributes.get("value") for op in module.ops() if op.name == "onnx.Constant"}
    assert values["value"].numpy().tolist() == [1, -2] and values["value"].type == TensorType((2,), I8)
    assert values["value_float"].numpy() == 1.5 and values["value_ints"].numpy().tolist() == [4, 5]
    assert values["value_int"].type == TensorType((), I64)
    assert values["sparse"].numpy().tolist() == [[0, 7, 0], [0, 0, 8]]
    assert values["text"] is None


def sparse_model(shape: list[int], count: int) -> Any:
    """So many sparse constants of one number each, which are 12 bytes stored."""
    model = make_model([node("Relu", ["x"], ["y"])], {"x": X}, ["y"])
    model.graph.sparse_initializer.extend(helper.make_sparse_tensor(
        helper.make_tensor(f"v{index}", TensorProto.FLOAT, [1], [7.0]),
        helper.make_tensor(f"i{index}", TensorProto.INT64, [1], [0]), shape) for index in range(count))
    return model


def test_sparse_constants_count_together_as_what_they_become() -> None:
    """Thirty of one number each, in a file of 2.8 kB, took 8 GB."""
    with allowed(grown=4 * 1000 * 5):
        assert len(main_ops(read_model(sparse_model([1000], 5)))) == 7
        with pytest.raises(ReadError, match=r"'v5' is sparse, and takes 4,000 bytes as a dense one, 24,000 with those") as caught:
            read_model(sparse_model([1000], 6))
    assert "TRANSLOAD_BUDGET=grown=24000" in caught.value.hint
    with allowed(grown=0):  # of a large model many times what it has of them is allowed, whatever the rest may grow by
        assert len(main_ops(read_model(sparse_model([64 * 3], 6)))) == 8
    for shape, why in (([1 << 40, 1 << 40], "is sparse, and takes"), ([0, 1 << 40, 1 << 40], "not valid"), ([-1], "claims")):
        with pytest.raises(ReadError, match=why):
            read_model(sparse_model(shape, 1))


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(("dtype", "values"), [
    (np.float32, [1.5, -2.0, 3.0]), (np.float16, [1.5, -2.0, 3.0]), (np.float64, [1.5, -2.0, 3.0]), (np.int64, [1, -2, 3]),
    (np.int8, [1, -2, 3]), (np.uint8, [1, 2, 255]), (np.uint16, [1, 2, 65535]), (np.bool_, [True, False, True]),
    (np.uint64, [1, 2, 3]),
    (ml_dtypes.bfloat16, [1.5, -2.0, 3.0]), (ml_dtypes.float8_e4m3fn, [1.5, -2.0, 3.0]), (ml_dtypes.int4, [1, -8, 7]),
    (ml_dtypes.uint4, [1, 15, 7]), (np.complex64, [1 + 2j, 3, 4]),
])
def test_tensors_of_every_type(dtype: Any, values: list[Any], raw: bool) -> None:
    array = np.array(values).astype(dtype)
    tensor = numpy_helper.from_array(array, "w")
    if not raw:
        flat = array.view(np.float32) if array.dtype == np.complex64 else array
        tensor = helper.make_tensor("w", tensor.data_type, [3], array if array.dtype == np.complex64 else flat.tolist())
    module = read_model(make_model([], {"x": X}, ["w"], {"w": tensor}))
    held = main_ops(module)[0].attributes["value"]
    assert held.numpy().dtype == array.dtype
    np.testing.assert_array_equal(held.numpy(), array)


def test_small_integers_keep_their_types() -> None:
    tensor = numpy_helper.from_array(np.array([1, 15, 7], ml_dtypes.uint4), "w")
    held = main_ops(read_model(make_model([], {"x": X}, ["w"], {"w": tensor})))[0].attributes["value"]
    assert held.type == TensorType((3,), IntegerType(4, "u")) and held.nbytes == 2


def test_large_weights_are_views_of_the_file(tmp_path: Path) -> None:
    weights = np.arange(4096, dtype=np.float32).reshape(64, 64)
    file = tmp_path / "m.onnx"
    file.write_bytes(make_model([node("MatMul", ["x", "w"], ["y"])], {"x": np.zeros((1, 64), np.float32)}, ["y"],
        {"w": weights}).SerializeToString())
    held = next(op for op in transload.load(file).ops() if op.name == "onnx.Constant").attributes["value"].numpy()
    np.testing.assert_array_equal(held, weights)
    base = held
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert not isinstance(base, bytes)  # a bytes object would be the parser's copy


def test_cutting_out_weights_changes_nothing_else() -> None:
    big, small = np.ones((40, 40), np.float32), np.ones(3, np.float32)
    model = make_model([node("Identity", ["a"], ["y"])], {"x": X}, ["y"], {"s": small, "a": big, "b": 2 * big})
    text, raw = cut_out_raw_data(memoryview(model.SerializeToString()))
    assert len(text) < 1000 and sorted(raw) == [1, 2]
    assert np.frombuffer(raw[2], np.float32).tolist() == [2.0] * 1600
    again = onnx.ModelProto()
    again.ParseFromString(bytes(text))
    for tensor in model.graph.initializer[1:]:
        tensor.ClearField("raw_data")
    assert again == model


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x3a\xff\xff\xff\xff\x0f", b"\x3a\x05\x2a\x80\x80", b"\xff" * 30])
def test_cutting_out_leaves_damaged_files_to_the_parser(data: bytes) -> None:
    assert cut_out_raw_data(memoryview(data)) == (data, {})
    with pytest.raises(ReadError):
        read_model(data)


def test_detects_onnx_by_its_first_bytes(models: Path) -> None:
    for file in models.glob("onnx/*/*.onnx"):
        assert detect(file.read_bytes()[:4096])
    for file in [*models.glob("tflite/*/*.tflite"), *models.glob("tf_graphdef/*/*.pb")]:
        assert not detect(file.read_bytes()[:4096]), file


# --- order and definitions


def test_nodes_out_of_order_are_put_in_order() -> None:
    module = read_model(make_model([node("Relu", ["h"], ["y"]), node("Neg", ["x"], ["h"])], {"x": X}, ["y"]))
    assert [op.name for op in main_ops(module)] == ["onnx.Neg", "onnx.Relu", "func.return"]


@pytest.mark.parametrize(("nodes", "message"), [
    ([node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["a"])], "computed from itself"),
    ([node("Relu", ["nowhere"], ["y"])], "uses 'nowhere', which nothing defines"),
    ([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])], "defined already"),
    ([node("Relu", ["x"], ["x"])], "defined already|computed from itself"),
    ([node("Relu", ["x"], [])], "has no output"),
    ([node("Relu", ["x", "x"], ["y"])], "has 2 operands, not 1"),
    ([node("Concat", ["x", "x"], ["y"])], "attribute 'axis' is missing"),
    ([node("Concat", ["x", "x"], ["y"], axis="one")], "attribute 'axis' must be integer"),
])
def test_graphs_that_are_not_valid(nodes: list[Any], message: str) -> None:
    with pytest.raises(ReadError, match=message):
        read_model(make_model(nodes, {"x": X}, ["y"]))


def test_all_problems_are_reported_at_once() -> None:
    nodes = [node("Relu", ["p"], ["a"]), node("Neg", ["q"], ["b"]), node("Add", ["a", "b"], ["y"])]
    with pytest.raises(ReadError) as caught:
        read_model(make_model(nodes, {"x": X}, ["y", "z"]))
    assert len(caught.value.findings) == 3


def test_an_input_that_is_an_initializer_is_a_constant() -> None:
    module = read_model(make_model([node("Add", ["x", "w"], ["y"])], {"x": X, "w": X}, ["y"], {"w": X + 1}))
    assert input_names(module.main) == ["x"]
    assert main_ops(module)[0].attributes["value"].numpy().tolist() == (X + 1).tolist()


def test_functions_are_inlined() -> None:
    leaky = helper.make_function("mine", "Twice", ["a"], ["c"], [node("Add", ["a", "a"], ["b"]), node("Relu", ["b"], ["c"])],
                                 [helper.make_opsetid("", 17)])
    module = read_model(make_model([node("Twice", ["x"], ["h"], domain="mine"), node("Twice", ["h"], ["y"], domain="mine")],
                                   {"x": X}, ["y"], functions=[leaky]))
    assert [op.name for op in main_ops(module)] == ["onnx.Add", "onnx.Relu", "onnx.Add", "onnx.Relu", "func.return"]


def test_functions_give_what_they_take_and_what_is_around_a_branch() -> None:
    """`onnx.inliner` left such outputs to nobody: `uses 'q', which nothing defines`."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]

    def call(name: str, given: list[str], made: list[str]) -> onnx.NodeProto:
        return node(name, given, made, domain="mine")

    branches = {f"{key}_branch": helper.make_graph([], key, [], [onnx.ValueInfoProto(name=given)])
                for key, given in (("then", "b"), ("else", "a"))}
    functions = [helper.make_function("mine", name, given, made, nodes, opsets) for name, given, made, nodes in (
        ("Swap", ["a", "b"], ["b", "a"], []), ("Twice", ["a"], ["o", "o"], [node("Relu", ["a"], ["o"])]),
        ("Choice", ["c", "a", "b"], ["d"], [node("If", ["c"], ["d"], **branches)]),
        ("Outer", ["a", "b"], ["p", "a", "q"], [call("Swap", ["a", "b"], ["p", "q"])]))]
    nodes = [call("Outer", ["x", "z"], ["p", "q", "r"]), call("Twice", ["r"], ["s", "t"]), call("Choice", ["c", "p", "q"], ["d"]),
             node("Sub", ["d", "s"], ["e"]), node("Sub", ["e", "t"], ["y"])]
    arrays = {"x": X, "z": -2 * X, "c": np.array(True)}
    module = read_model(make_model(nodes, arrays, ["y"], functions=functions))
    for chosen, wanted in ((True, X - 2 * np.maximum(X, 0)), (False, -2 * X - 2 * np.maximum(X, 0))):
        np.testing.assert_array_equal(transload.run(module, arrays | {"c": np.array(chosen)})["y"], wanted)


def test_a_function_that_calls_itself_is_refused() -> None:
    loop = helper.make_function("mine", "F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="mine")],
        [helper.make_opsetid("mine", 1)])
    with pytest.raises(ReadError, match="calls itself"):
        read_model(make_model([node("F", ["x"], ["y"], domain="mine")], {"x": X}, ["y"], functions=[loop]))


def chain(depth: int, opset: int) -> onnx.ModelProto:
    """Functions that each do something and call the next, but the last."""
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    nodes = [[node("Softmax", ["x"], ["m"]), node(f"F{i + 1}", ["m"], ["y"], domain="mine")] for i in range(depth)]
    functions = [helper.make_function("mine", f"F{i}", ["x"], ["y"], each, opsets) for i, each in enumerate(nodes)]
    functions.append(helper.make_function("mine", f"F{depth}", ["x"], ["y"], [node("Neg", ["x"], ["y"])], opsets))
    return make_model([node("F0", ["x"], ["y"], domain="mine")], {"x": X}, ["y"], functions=functions)


def test_functions_may_call_each_other_as_deep_as_they_like() -> None:
    """150 were told to call themselves, and a thousand were more than Python has frames for."""
    names = [op.name for op in main_ops(read_model(chain(1100, 17)))]
    assert names == ["onnx.Softmax"] * 1100 + ["onnx.Neg", "func.return"]


def test_functions_of_another_opset_may_not_call_each_other_that_deep() -> None:
    assert len(main_ops(read_model(chain(100, 11)))) == 102
    with pytest.raises(ReadError, match="call each other more than 128 deep"):
        read_model(chain(1100, 11))


def sequences_in_branches(depth: int) -> onnx.ModelProto:
    """A sequence that comes out of an `If` in an `If`, so many deep."""
    def graph(name: str, made: onnx.NodeProto) -> onnx.GraphProto:
        output = helper.make_tensor_sequence_value_info(made.output[0], TensorProto.FLOAT, None)
        return helper.make_graph([made], name, [], [output])

    made = node("SequenceConstruct", ["x"], ["s"])
    for i in range(depth):
        other = node("SequenceConstruct", ["x"], [f"e{i}"])
        made = node("If", ["c"], [f"s{i}"], then_branch=graph("then", made), else_branch=graph("else", other))
    return make_model([made, node("ConcatFromSequence", list(made.output), ["y"], axis=0)], {"x": X, "c": np.array(True)}, ["y"])


def test_what_inference_notes_may_lie_deeper_than_is_read() -> None:
    """The types that it found made a model unreadable that was read: there are none then, as where it fails."""
    assert [op.name for op in main_ops(read_model(sequences_in_branches(31)))] == [
        "onnx.If", "onnx.ConcatFromSequence", "func.return"]
    with pytest.raises(ReadError, match="deeper than protocol buffers are read"):
        read_model(sequences_in_branches(32))


@pytest.mark.parametrize(("last", "count"), [([node("Neg", ["x"], ["y"])], "3,298,534,883,327"), ([], "2,199,023,255,551")])
def test_functions_that_call_the_next_twice_are_counted_before_they_are_inlined(last: list[onnx.NodeProto], count: str) -> None:
    """Functions that hold no nodes are copied as well."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    functions = [helper.make_function("mine", "F40", ["x"], ["y"], last, opsets)]
    for i in range(40):
        calls = [node(f"F{i + 1}", [given], [made], domain="mine") for given, made in (("x", "m"), ("m", "y"))]
        functions.append(helper.make_function("mine", f"F{i}", ["x"], ["y"], calls, opsets))
    with pytest.raises(ReadError, match=f"{count} nodes and calls"):
        read_model(make_model([node("F0", ["x"], ["y"], domain="mine")], {"x": X}, ["y"], functions=functions))


def test_subgraphs_are_regions_that_see_the_values_around() -> None:
    branches = {key: helper.make_graph([node(kind, ["x"], [key])], key, [], [onnx.ValueInfoProto(name=key)])
                for key, kind in (("else_branch", "Neg"), ("then_branch", "Relu"))}
    module = read_model(make_model([node("If", ["c"], ["y"], **branches)], {"x": X, "c": np.array(True)}, ["y"]))
    verify(module)
    (chosen,) = (op for op in module.ops() if op.name == "onnx.If")
    assert [[op.name for op in region.block] for region in chosen.regions] == [["onnx.Relu", "onnx.Yield"],
        ["onnx.Neg", "onnx.Yield"]]
    assert chosen.then_branch.block.first.operands[0] is module.body_of_main.arguments[0]
    assert chosen.operands[0].type == TensorType((), BOOL)


def test_text_round_trip_keeps_the_meaning() -> None:
    nodes = [node("Clip", ["x", "", "high"], ["c"]), node("Softmax", ["c"], ["s"], axis=1),
        node("Split", ["s"], ["y", "z"], axis=1, split=[1, 2])]
    module = read_model(make_model(nodes, {"x": X}, ["y"], {"high": np.float32(1)}, opset=11))
    text = print_module(module)
    again = parse_module(text)
    assert print_module(again) == text and again.attributes["onnx.opset"] == module.attributes["onnx.opset"]
    given = {"x": np.array([[1, 2, 3], [0.5, -1, 0]], np.float32)}
    np.testing.assert_array_equal(transload.run(again, given)["y"], transload.run(module, given)["y"])


# --- shapes of inputs


def dynamic(shapes: dict[str, list[Any] | None]) -> Any:
    graph = helper.make_graph(
        [node("Identity", [name], [f"{name}_out"]) for name in shapes], "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, shape) for name, shape in shapes.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def shapes_of(module: Any) -> list[tuple[int, ...]]:
    return [argument.shape for argument in module.body_of_main.arguments]


def test_an_unknown_batch_is_one_and_names_agree() -> None:
    module = read_model(dynamic({"a": ["N", 3], "b": [5, "N"], "c": [None, 2]}))
    assert shapes_of(module) == [(1, 3), (5, 1), (1, 2)]
    assert [value.type.shape for value in module.body_of_main.terminator.operands] == [(1, 3), (5, 1), (1, 2)]


def test_the_user_gives_shapes() -> None:
    module = read_model(dynamic({"a": ["N", "L", 4], "b": ["N", "L"]}), {"a": (2, 7, 4)})
    assert shapes_of(module) == [(2, 7, 4), (2, 7)]


def test_sizes_that_only_the_user_knows() -> None:
    with pytest.raises(ReadError) as caught:
        read_model(dynamic({"image": ["N", 3, "height", "width"], "mask": [1, None], "what": None}))
    text = str(caught.value)
    assert "input 'image'" in text and "1x3xheightxwidth" in text
    assert "input 'mask'" in text and "input 'what'" in text
    assert "--shape image:1x3x224x224 --shape mask:1x128 --shape what:1x3x224x224" in text


@pytest.mark.parametrize("nothing", ["None", "-1"])
def test_what_python_calls_nothing_names_no_size(nothing: str) -> None:
    """All of them were one size, which had to be that of the batch: 1x3x224x224 was refused."""
    inputs = {"a": [nothing, 3, nothing, nothing], "b": [nothing, 2]}
    assert shapes_of(read_model(dynamic(inputs), {"a": (1, 3, 320, 240)})) == [(1, 3, 320, 240), (1, 2)]


def test_an_anonymous_size_is_no_other() -> None:
    """RetinaFace's input is `['?', 3, '?', '?']`: four question marks are not one size."""
    with pytest.raises(ReadError, match=r"sizes that only the user knows: 1x3x[?]x[?]") as caught:
        read_model(dynamic({"a": ["?", 3, "?", "?"]}))
    assert "--shape a:1x3x224x224" in str(caught.value)
    assert shapes_of(read_model(dynamic({"a": ["?", 3, "?", "?"]}), {"a": (1, 3, 320, 240)})) == [(1, 3, 320, 240)]
    assert shapes_of(read_model(dynamic({"a": ["", 3], "b": ["?", 4]}), {"a": (2, 3)})) == [(2, 3), (1, 4)]


def test_a_size_that_a_shape_has_twice_is_no_batch() -> None:
    with pytest.raises(ReadError, match="sizes that only the user knows: nxn") as caught:
        read_model(dynamic({"a": ["n", "n"]}))
    assert "--shape a:128x128" in str(caught.value)
    with sizes_given(batch=4), pytest.raises(UsageError, match="no input leaves the size of its batch open"):
        read_model(dynamic({"a": ["n", "n"]}))
    with sizes_given({"n": 5}):
        assert shapes_of(read_model(dynamic({"a": ["n", "n"]}))) == [(5, 5)]


@pytest.mark.parametrize("name", ["nodes", "n"])
def test_a_size_that_a_shape_has_twice_is_no_batch_of_others_either(name: str) -> None:
    """Features of nodes, and which of these are next to which: one node would be a graph without an edge."""
    inputs = {"x": [name, 4], "edges": [name, name], "z": ["batch", 3]}
    for order in (inputs, dict(reversed(inputs.items()))):
        with pytest.raises(ReadError, match=f"sizes that only the user knows: {name}x4") as caught:
            read_model(dynamic(order))
        assert "--shape x:128x4" in str(caught.value) and "--shape edges:128x128" in str(caught.value)
        with sizes_given({name: 5}):
            made = read_model(dynamic(order))
        assert dict(zip(order, shapes_of(made), strict=True)) == {"x": (5, 4), "edges": (5, 5), "z": (1, 3)}
        given = read_model(dynamic(order), {"edges": (6, 6)})
        assert dict(zip(order, shapes_of(given), strict=True)) == {"x": (6, 4), "edges": (6, 6), "z": (1, 3)}


def test_an_example_is_what_the_model_takes() -> None:
    def product(left: list[Any], right: list[Any]) -> Any:
        graph = helper.make_graph(
            [node("MatMul", ["a", "b"], ["y"])], "g", [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("a", left), ("b", right))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)

    with pytest.raises(ReadError, match="say them, for example: --shape a:1x128 --shape b:128x128"):
        read_model(product(["?", "?"], ["?", "?"]))
    transload.lower(read_model(product(["?", "?"], ["?", "?"]), {"a": (1, 128), "b": (128, 128)}), "top")
    with pytest.raises(ReadError, match="say them as --shape b:7xSIZE: the model takes none of those that were tried"):
        read_model(product([3, 5], [7, "?"]))


@pytest.mark.parametrize("shape", [["sequence_length", 3], ["?"], ["samples"], [3, "?"], ["T_time", "batch", 4]])
def test_only_a_batch_becomes_one(shape: list[Any]) -> None:
    with pytest.raises(ReadError, match="sizes that only the user knows"):
        read_model(dynamic({"a": shape}))


def test_chosen_sizes_are_noted() -> None:
    notes = read_model(dynamic({"a": ["N", 3], "b": ["N", 4], "c": ["?", 5], "d": [1, 6]})).notes
    assert notes == (
        "the size 'N' of 'a', unknown in the file, was taken for the batch and made 1; --batch SIZE makes it another",
        "the first size of 'c', unknown in the file, was taken for the batch and made 1; --batch SIZE makes it another")
    assert read_model(dynamic({"a": ["N", 3]}), {"a": (2, 3)}).notes == ()


@pytest.mark.parametrize(("given", "message"), [
    ({"b": (1, 2)}, "no input 'b'.*inputs: a"), ({"a": (2,)}, "has 2 dimensions, and 1 sizes"),
    ({"a": (2, 4)}, "cannot be 4.*fixes it to 3"),
])
def test_shapes_that_do_not_fit(given: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(UsageError, match=f"(?s){message}"):
        read_model(dynamic({"a": ["N", 3]}), given)


def test_one_name_has_one_size() -> None:
    with pytest.raises(UsageError, match=r"cannot be 3: size 'N', given before, is 2"):
        read_model(dynamic({"a": ["N", 3], "b": ["N", 4]}), {"a": (2, 3), "b": (3, 4)})


# --- opsets


def test_opsets_that_are_too_new_or_none() -> None:
    with pytest.raises(ReadError, match="uses ONNX opset 999"):
        read_model(make_model([node("Relu", ["x"], ["y"])], {"x": X}, ["y"], opset=999))


def test_old_models_are_brought_up() -> None:
    module = read_model(make_model([node("Add", ["x", "w"], ["y"], broadcast=1, axis=1)], {"x": X}, ["y"],
        {"w": np.ones(3, np.float32)}, opset=6))
    assert module.attributes["onnx.opset"]["ai.onnx"] >= 7


# --- external data


def external(tmp_path: Path, **entries: Any) -> Path:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "weights.bin", **entries}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    (folder / "weights.bin").write_bytes(bytes(4) + np.arange(6, dtype=np.float32).tobytes())
    file = folder / "m.onnx"
    file.write_bytes(make_model([node("Add", ["x", "w"], ["y"])], {"x": X}, ["y"], {"w": tensor}).SerializeToString())
    return file


def test_external_data_is_mapped(tmp_path: Path) -> None:
    file = external(tmp_path, offset=4, length=24)
    dense = next(op for op in transload.load(file).ops() if op.name == "onnx.Constant").attributes["value"]
    assert isinstance(dense, Dense) and isinstance(dense.data, MmapData)
    assert dense.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(("entries", "message"), [
    ({"location": "../weights.bin"}, "outside the model's folder"), ({"location": "/etc/passwd"}, "outside the model's folder"),
    ({"location": "..\\weights.bin"}, "outside the model's folder"), ({"location": "nowhere.bin"}, "there is no such file"),
    ({"location": ""}, "does not say which"), ({"location": None}, "does not say which"),
    ({"location": "a\0b"}, "does not say which"),
    ({"location": "x" * 5000}, "cannot be reached|no such file"), ({"offset": 8}, "lies at bytes 8 to 32 .* which has 28"),
    ({"length": 20}, "needs 24 bytes"), ({"offset": "-4"}, "no number of bytes"), ({"offset": "1e3"}, "no number of bytes"),
    ({"offset": "9" * 30}, "no number of bytes"), ({"location": "."}, "is a directory, not a file"),
])
def test_external_data_that_is_refused(tmp_path: Path, entries: dict[str, Any], message: str) -> None:
    with pytest.raises(ReadError, match=message):
        transload.load(external(tmp_path, **entries))


def test_external_data_whose_name_is_not_utf8(tmp_path: Path) -> None:
    """It is handed on as bytes, which fell as no text; it is the name of a file as any other is."""
    file = external(tmp_path, location="w_.bin", offset=4, length=24)
    file.write_bytes(file.read_bytes().replace(b"w_.bin", b"w\xe9.bin"))
    with pytest.raises(ReadError, match="there is no such file"):
        transload.load(file)
    (file.parent / "weights.bin").rename(file.parent / os.fsdecode(b"w\xe9.bin"))
    assert transload.load(file).outputs


def test_external_data_that_is_a_pipe(tmp_path: Path) -> None:
    file = external(tmp_path, location="pipe")
    os.mkfifo(file.parent / "pipe")
    with pytest.raises(ReadError, match="that is a pipe, not a file"):
        transload.load(file)


def test_external_data_through_a_link_out_of_the_folder(tmp_path: Path) -> None:
    file = external(tmp_path, location="link.bin", offset=4)
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(100))
    link = file.parent / "link.bin"
    link.symlink_to(secret)
    with pytest.raises(ReadError, match="a link that leads out of the model's folder") as caught:
        transload.load(file)
    assert f"replace the link {link} by a copy of what it leads to" in str(caught.value.findings or caught.value.hint)
    link.unlink()
    shutil.copy(secret, link)
    transload.load(file)  # which is what was said to do


def test_external_data_in_a_folder_that_is_a_link(tmp_path: Path) -> None:
    file = external(tmp_path, location="weights/data.bin", offset=4)
    (tmp_path / "data.bin").write_bytes(bytes(100))
    (file.parent / "weights").symlink_to(tmp_path)
    with pytest.raises(ReadError, match="a link that leads out of the model's folder") as caught:
        transload.load(file)
    assert f"replace the link {file.parent / 'weights'} by" in str(caught.value.findings or caught.value.hint)


def test_what_the_converter_of_old_opsets_says_is_told_in_words() -> None:
    model = make_model([node("Foo", ["x"], ["y"])], {"x": X}, ["y"], opset=5)
    with pytest.raises(ReadError, match="cannot bring it up: ONNX has no operator Foo"):
        read_model(model)
    model = make_model([node("Concat", ["x", "x"], ["y"]), node("Upsample", ["y"], ["z"])], {"x": X}, ["z"], opset=1)
    with pytest.raises(ReadError) as caught:
        read_model(model)
    assert "[" not in caught.value.message and "Assertion" not in caught.value.message


def test_external_data_of_a_model_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="the model was given as bytes"):
        read_model(external(tmp_path).read_bytes())


# --- sizes that a file claims


@pytest.mark.parametrize(("tensor", "message"), [
    (TensorProto(name="w", data_type=1, dims=[1 << 40, 1 << 20], raw_data=b"1234"), "needs .* bytes, but has 4"),
    (TensorProto(name="w", data_type=1, dims=[3], raw_data=b"1234567"), "needs 12 bytes, but has 7"),
    (TensorProto(name="w", data_type=1, dims=[3], float_data=[1.0]), "data does not fit"),
    (TensorProto(name="w", data_type=1, dims=[1 << 50], float_data=[1.0]), "holds 1 numbers"),
    (TensorProto(name="w", data_type=1, dims=[3]), "holds no data"),
    (TensorProto(name="w", data_type=1, dims=[-3], float_data=[1.0]), "claims the shape"),
    (TensorProto(name="w", data_type=1, dims=[1] * 100, float_data=[1.0]), "claims the shape"),
    (TensorProto(name="w", data_type=1, dims=[0, 2**40, 2**40], raw_data=b""), "claims the shape"),
    (TensorProto(name="w", data_type=99, dims=[1], raw_data=b"1"), "element type number 99"),
])
def test_tensors_whose_data_does_not_fit(tensor: Any, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        read_model(make_model([], {"x": X}, ["w"], {"w": tensor}))


def test_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transload_converters.onnx.reader.find_spec", lambda name: None)
    with pytest.raises(ReadError, match=r"pip install 'transload\[onnx\]'"):
        read_model(b"")


def test_names_that_are_no_text() -> None:
    data = make_model([node("Relu", ["x"], ["secret_name"])], {"x": X}, ["secret_name"]).SerializeToString()
    with pytest.raises(ReadError, match="not UTF-8"):
        read_model(data.replace(b"secret_name", b"secret_nam\xff"))


@pytest.mark.parametrize("told", [True, False])
def test_where_all_sizes_are_told_nobody_is_asked_for_them(told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX's inference adds what is missing, and leaves what is there, be it wrong: so it has nothing to add."""
    from transload_converters.onnx import reader
    from transload_converters.onnx.inference import with_shapes

    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Reshape", ["a", "shape"], ["b"]),
             helper.make_node("Relu", ["b"], ["y"])]
    info = helper.make_tensor_value_info
    sizes = [info("a", TensorProto.FLOAT, [2, 3]), info("b", TensorProto.FLOAT, [3, 2] if told else None)]
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, [2, 3])], [info("y", TensorProto.FLOAT, [3, 2])],
        [numpy_helper.from_array(np.array([3, 2]), "shape")], value_info=sizes)
    content = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    calls: list[str] = []

    def call(function: str, model: bytes, **limits: float) -> bytes:
        calls.append(function)
        return with_shapes(model)

    monkeypatch.setattr(reader.SHAPES, "call", call)
    module = transload.load(text=content, format="onnx")
    assert [op.results[0].static_shape for op in module.body_of_main if op.name != "onnx.Constant" and op.results] == [
        (2, 3), (3, 2), (3, 2)]
    assert bool(calls) is not told
    if told:
        assert onnx.ModelProto.FromString(with_shapes(content)) == onnx.ModelProto.FromString(content)


def test_sizes_by_scales_are_of_32_bits() -> None:
    """ONNX's inference multiplies in 64 bits: 50 by 1.3 was 64, where onnxruntime has 65; so was what comes behind."""
    nodes = [node("Resize", ["x", "", "s"], ["a"]), node("Relu", ["a"], ["b"]), node("Shape", ["b"], ["n"]),
             node("Reshape", ["b", "n"], ["c"]), node("Resize", ["c", "", "t"], ["y"], mode="linear")]
    constants = {"s": np.array([1, 1, 1.3, 1.3], np.float32), "t": np.array([1, 1, 1, 1.4], np.float32)}
    model = make_model(nodes, {"x": np.zeros((1, 1, 50, 50), np.float32)}, ["y"], constants, opset=18)
    module = read_model(model)
    shapes = {op.result.name: op.result.known_shape for op in module.ops() if op.name in ("onnx.Relu", "onnx.Resize")}
    assert shapes == {"a": (1, 1, 65, 65), "b": (1, 1, 65, 65), "y": (1, 1, 65, 91)}
    assert transload.legalize(module).outputs["y"].shape == (1, 1, 65, 91)

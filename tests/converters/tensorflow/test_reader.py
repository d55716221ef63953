"""Reading frozen graphs: one node, one op of dialect `tf`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError, UsageError
from transload.ir import F32, I32, I64, NONE, TensorType
from transload.ir.build import constant_of
from transload_converters.tensorflow.reader import detect

from tests.support.tensorflow_graphs import T, const, graph, main_ops, node, placeholder, read_graph, tensor_proto

F = T("float32")


def test_a_node_becomes_an_op_with_its_names_and_attributes() -> None:
    module = read_graph(graph(
        placeholder("x", (None, 4, 4, 1)), const("w", np.ones((2, 2, 1, 3), np.float32)),
        node("conv", "Conv2D", "x", "w:0", T=F, strides=[1, 2, 2, 1], padding="SAME", data_format="NHWC", _class=["loc:@w"])))
    _, conv, end = main_ops(module)
    assert conv.name == "tf.Conv2D" and conv.origin == "conv" and conv.results[0].type == TensorType(None, F32)
    assert conv.attributes == {"strides": [1, 2, 2, 1], "padding": "SAME", "data_format": "NHWC"}
    assert [value.name for value in conv.operands] == ["x", "w"] and end.operands == (conv.result,)
    assert module.inputs == {"x": TensorType((1, 4, 4, 1), F32)} and list(module.outputs) == ["conv"]
    assert module.notes == (
        "the first size of 'x', unknown in the file, was taken for the batch and made 1; --batch SIZE makes it another",)


def test_results_are_counted_and_typed_by_the_registry() -> None:
    module = read_graph(graph(
        placeholder("x", (4,)), const("k", np.int32(2)), node("top", "TopKV2", "x", "k", T=F, sorted=True),
        node("cast", "Cast", "top:1", SrcT=T("int32"), DstT=T("int64"))))
    top, cast = main_ops(module)[1:3]
    assert [value.type.element for value in top.results] == [F32, I32]
    assert [value.name for value in top.results] == ["top", "top:1"]
    assert cast.operands == (top.results[1],) and cast.attributes == {} and cast.result.type.element == I64


def test_an_op_that_only_its_model_knows_is_read() -> None:
    module = read_graph(graph(placeholder("x", (4,)), node("own", "Addons>Own", "x", T=F), node("y", "Neg", "own:1", T=F)))
    assert [op.name for op in main_ops(module)] == ["tf.Addons_Own", "tf.Neg", "func.return"]
    assert len(main_ops(module)[0].results) == 2


@pytest.mark.parametrize("number", [77, 100, 177, 209, 2**31 - 1, -5])
def test_types_that_do_not_exist(number: int) -> None:
    """A number far beyond was taken for a reference to a reference, and so on, until Python had no frames left."""
    unknown = placeholder("x", (4,))
    unknown.attr["dtype"].type = number
    with pytest.raises(ReadError, match=f"has type number {number}, which does not exist") as caught:
        read_graph(graph(unknown, node("y", "Neg", "x", T=F)))
    assert caught.value.findings[0].names == ("x",)


def test_constants_of_every_form() -> None:
    splat, repeated = tensor_proto(np.zeros((2, 3), np.float32)), tensor_proto(np.zeros(4, np.int64))
    splat.tensor_content, repeated.tensor_content = b"", b""
    splat.float_val.append(1.5)
    repeated.int64_val.extend([1, 2])
    half = tensor_proto(np.zeros(2, np.float16))
    half.tensor_content = b""
    half.half_val.extend([0x3C00, 0xC000])
    expected = {
        "splat": np.full((2, 3), 1.5, np.float32), "repeated": np.array([1, 2, 2, 2]), "half": np.array([1, -2], np.float16)}
    nodes = []
    for name, proto in (("splat", splat), ("repeated", repeated), ("half", half)):
        constant = const(name, expected[name])
        constant.attr["value"].tensor.CopyFrom(proto)
        nodes += [constant, node(f"{name}_out", "Identity", name, T=T(expected[name].dtype.name))]
    text = const("text", np.array([["a", "b"]]))
    module = read_graph(graph(*nodes, text, node("text_out", "Identity", "text", T=T("str"))))
    found = {op.origin: op for op in main_ops(module) if op.name == "tf.Const"}
    for name, array in expected.items():
        dense = constant_of(found[name].result)
        assert dense is not None and dense.numpy().dtype == array.dtype
        np.testing.assert_array_equal(dense.numpy(), array)
    assert found["text"].attributes == {"value_strings": ["a", "b"]}
    assert str(found["text"].result.type) == "tensor<1x2x!tf_type.string>"


def test_large_weights_are_views_of_the_file(tmp_path: Path) -> None:
    weights = np.arange(4096, dtype=np.float32)
    file = tmp_path / "m.pb"
    file.write_bytes(graph(const("w", weights), node("y", "Neg", "w", T=F)).SerializeToString())
    constant = main_ops(transload.load(file))[0]
    array = constant_of(constant.result).numpy()
    np.testing.assert_array_equal(array, weights)
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert type(base).__name__ in ("mmap", "memoryview")


def test_nodes_out_of_order_are_put_in_order() -> None:
    module = read_graph(graph(
        node("y", "Add", "a", "b", T=F), node("b", "Exp", "x", T=F), node("a", "Neg", "x", "^b", T=F), placeholder("x", (1,))))
    assert [op.origin for op in main_ops(module)][:3] == ["b", "a", "y"]


def test_what_no_output_needs_is_left_out() -> None:
    module = read_graph(graph(
        placeholder("x", (1,)), placeholder("unused", None), const("c", np.float32(1)), node("n", "NoOp", "^c"),
        node("y", "Neg", "x", T=F)))
    assert list(module.inputs) == ["x"] and [op.origin for op in main_ops(module)][:1] == ["y"]


# --- inputs


def with_default(*default: Any) -> Any:
    return graph(
        *default, node("x", "PlaceholderWithDefault", default[-1].name, dtype=F, shape=(2,)), node("y", "Neg", "x", T=F))


def test_a_placeholder_with_a_constant_default_is_an_input_where_the_user_says_so() -> None:
    graph_def = with_default(const("c", np.zeros(2, np.float32)))
    assert list(read_graph(graph_def).inputs) == []
    assert read_graph(graph_def, x=TensorType((2,), NONE)).inputs == {"x": TensorType((2,), F32)}


def test_a_placeholder_with_a_default_that_is_computed_is_an_input() -> None:
    assert list(read_graph(with_default(
        placeholder("handle", (), "str"), node("iterator", "IteratorFromStringHandle", "handle"),
        node("next", "IteratorGetNext", "iterator", output_types=[F], output_shapes=[(2,)]))).inputs) == ["x"]


def test_a_switch_of_training_is_off() -> None:
    graph_def = graph(
        const("yes", np.array(True)), node("net/training", "PlaceholderWithDefault", "yes", dtype=T("bool"), shape=()),
        node("y", "LogicalNot", "net/training"))
    module = read_graph(graph_def)
    assert constant_of(main_ops(module)[1].result).numpy() == np.array(False)
    assert "net/training: false, since this is no training" in module.notes[0]
    assert read_graph(graph_def, **{"net/training": TensorType((), NONE)}).notes == ()


def test_any_tensor_can_be_an_input() -> None:
    module = read_graph(
        graph(placeholder("x", (1,)), node("h", "Neg", "x", T=F), node("y", "Exp", "h", T=F)), h=TensorType((3,), NONE))
    assert module.inputs == {"h": TensorType((3,), F32)}


def test_old_graphs_write_scalars_for_shapes_they_do_not_know() -> None:
    nodes = placeholder("x", ()), node("y", "Neg", "x", T=F)
    assert read_graph(graph(*nodes)).inputs == {"x": TensorType((), F32)}
    with pytest.raises(ReadError, match="no static shape"):
        read_graph(graph(*nodes, producer=22))
    with pytest.raises(UsageError, match="has elements f32"):
        read_graph(graph(*nodes), x=TensorType((), I32))


# --- what is wrong with files


@pytest.mark.parametrize(("nodes", "why"), [
    ([node("y", "Neg", "x", T=F)], "nothing computes"),
    ([placeholder("x", (1,)), node("y", "Neg", "x:1", T=F)], "nothing computes"),
    ([placeholder("x", (1,)), node("y", "Neg", "x:9999999999999999999", T=F)], "nothing computes"),
    ([placeholder("x", (1,)), node("x", "Neg", "x", T=F)], "has the name of another node"),
    ([placeholder("x", (1,)), node("y", "Neg", "x")], "does not say its type T"),
    ([placeholder("x", (1,)), node("y", "Neg", "x", "^z", T=F)], "runs after 'z'"),
    ([node("a", "Neg", "b", T=F), node("b", "Neg", "a", T=F), node("y", "Neg", "b", T=F)], "has a cycle"),
    ([node("w", "Const", dtype=F), node("y", "Neg", "w", T=F)], "has no value"),
    ([placeholder("x", (1,)), node("", "Neg", "x", T=F)], "has no name"),
])
def test_graphs_that_are_not_valid(nodes: list, why: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_graph(graph(*nodes))
    assert why in str(caught.value)


def test_tensors_that_claim_too_much() -> None:
    for shape, why in (
        ((1 << 40,), "needs 4,398,046,511,104 bytes"), ((-1,), "claims the shape"), ((1,) * 100, "claims the shape"),
    ):
        constant = const("w", np.ones(4, np.float32))
        constant.attr["value"].tensor.tensor_shape.CopyFrom(tensor_proto(np.ones(())).tensor_shape)
        for size in shape:
            constant.attr["value"].tensor.tensor_shape.dim.add().size = size
        with pytest.raises(ReadError, match=why):
            read_graph(graph(constant, node("y", "Neg", "w", T=F)))


def test_an_input_that_is_named_is_there_even_if_nothing_needs_it() -> None:
    parts = graph(placeholder("x", (2, None)), const("c", np.ones(3, np.float32)), node("y", "Neg", "c", T=F))
    assert list(read_graph(parts, x=TensorType((2, 5), NONE)).inputs) == ["x"]


@pytest.mark.parametrize("data", [b"", b"\x0a", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05\x0a\x80\x80", b"\xff" * 30])
def test_files_that_are_no_graphs(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.pb").write_bytes(data)
    with pytest.raises(ReadError):
        transload.load(tmp_path / "m.pb")


@pytest.mark.models
def test_detects_graphs_by_their_first_bytes(models: Path) -> None:
    for file in models.glob("tf_graphdef/*/*.pb"):
        assert detect(file.read_bytes()[:4096]), file
    for file in [*models.glob("onnx/*/*.onnx"), *models.glob("caffe/*/*.caffemodel"), *models.glob("tflite/*/*.tflite")]:
        assert not detect(file.read_bytes()[:4096]), file

"""Sequences whose content is known, signals and sampled images, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import transload
from transload.errors import ReadError, UsageError
from transload_converters.onnx.runtime import open_model

from tests.support.onnx_models import make_model, node, op_names, read_model

G = np.random.default_rng(5)
X = G.standard_normal((4, 6)).astype(np.float32)


def test_pieces_of_a_tensor_by_number(compare: Callable[..., Any]) -> None:
    nodes = [node("SplitToSequence", ["x", "two"], ["s"], axis=1), node("SequenceAt", ["s", "last"], ["a"]),
             node("SequenceLength", ["s"], ["n"]), node("Gather", ["x", "n"], ["b"]), node("Relu", ["a"], ["y"])]
    hub = compare(nodes, {"x": X}, ("y", "b"), {"two": np.array(2), "last": np.array(-1)})
    assert sorted(op_names(hub)) == ["Gather", "Relu", "Slice"]


@pytest.mark.parametrize("new_axis", [0, 1])
def test_a_sequence_that_is_built_and_joined(compare: Callable[..., Any], new_axis: int) -> None:
    nodes = [node("SequenceConstruct", ["x", "x"], ["s"]), node("Neg", ["x"], ["n"]),
             node("SequenceInsert", ["s", "n", "one"], ["t"]), node("SequenceErase", ["t"], ["u"]),
             node("ConcatFromSequence", ["u"], ["y"], axis=1, new_axis=new_axis)]
    compare(nodes, {"x": X}, ("y",), {"one": np.array(-1)})


def test_the_tensors_of_a_sequence_are_results() -> None:
    module = transload.legalize(read_model(make_model([node("SequenceConstruct", ["x", "x"], ["y"])], {"x": X}, ["y"])))
    assert list(module.outputs) == ["y[0]", "y[1]"]
    np.testing.assert_array_equal(transload.run(module, {"x": X})["y[1]"], X)


def test_an_empty_sequence_is_no_result() -> None:
    """The function said that it had a result of the sequence's name, and had none."""
    model = make_model([node("SplitToSequence", ["x", "two"], ["y"], axis=1)], {"x": np.zeros((3, 0), np.float32)}, ["y"], {
        "two": np.array([0], np.int64)[:0]})
    lowered = transload.lower(read_model(model), "tosa")
    assert not lowered.outputs


def _joining(optional: bool) -> Any:
    """A model that joins the tensors of a sequence that it takes, and gives them negated, and whether another is there."""
    body = helper.make_graph([node("Neg", ["t"], ["n"])], "body", [_tensor("t")], [_tensor("n")])
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, ["n", 6])
    nodes = [node("ConcatFromSequence", ["s"], ["y"], axis=0), node("SequenceMap", ["s"], ["z"], body=body)]
    inputs, outputs = [sequence], [_tensor("y"), helper.make_tensor_sequence_value_info("z", TensorProto.FLOAT, None)]
    if optional:
        inputs.append(helper.make_value_info("o", helper.make_optional_type_proto(_tensor("o").type)))
        nodes.append(node("OptionalHasElement", ["o"], ["there"]))
        outputs.append(helper.make_tensor_value_info("there", TensorProto.BOOL, []))
    graph = helper.make_graph(nodes, "test", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def _tensor(name: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def test_a_sequence_is_given_tensor_by_tensor(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    file = tmp_path / "model.onnx"
    file.write_bytes(_joining(False).SerializeToString())
    inputs = {"s[0]": X, "s[1]": X[:2]}
    wanted = open_model(file)(inputs)
    hub = transload.legalize(transload.load(file, inputs={name: array.shape for name, array in inputs.items()}))
    made = transload.run(hub, inputs)
    assert list(made) == list(wanted) == ["y", "z[0]", "z[1]"]
    for name in made:
        np.testing.assert_array_equal(made[name], wanted[name])
    converted = transload.convert(file, "tosa", tmp_path / "out", inputs={name: array.shape for name, array in inputs.items()})
    assert converted.verification.status == "passed"


def test_an_empty_sequence_is_given_by_its_name(tmp_path: Path) -> None:
    """The reader took it, and the library said that the model has no such input."""
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, ["n", 6])
    nodes = [node("SequenceInsert", ["s", "x"], ["t"]), node("ConcatFromSequence", ["t"], ["y"], axis=0)]
    file = tmp_path / "model.onnx"
    inputs = [sequence, helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])]
    file.write_bytes(helper.make_model(
        helper.make_graph(nodes, "test", inputs, [_tensor("y")]), opset_imports=[helper.make_opsetid("", 18)],
        ir_version=10).SerializeToString())
    module = transload.load(file, inputs={"s[]": (0,)})
    np.testing.assert_array_equal(transload.run(module, {"x": X})["y"], X)
    with pytest.raises(UsageError, match=r"has no input 's\[\]'"):
        transload.load(file, inputs={"s[]": (0,), "s[0]": (2, 6)})
    with pytest.raises(UsageError, match=r"has no input 'q\[\]'"):
        transload.load(file, inputs={"s[]": (0,), "q[]": (0,)})


def test_an_optional_input_is_there_with_a_shape() -> None:
    shapes = {"s[0]": (4, 6)}
    left_out = transload.legalize(read_model(_joining(True), shapes))
    assert list(left_out.inputs) == ["s[0]"] and any("'o' is left out" in note for note in left_out.notes)
    assert not transload.run(left_out, {"s[0]": X})["there"]
    there = transload.legalize(read_model(_joining(True), {**shapes, "o": (2,)}))
    assert list(there.inputs) == ["s[0]", "o"]
    assert transload.run(there, {"s[0]": X, "o": np.zeros(2, np.float32)})["there"]


def test_how_long_a_sequence_is_must_be_given() -> None:
    with pytest.raises(ReadError, match=r"NAME\[0\]:2x3"):
        read_model(_joining(False))
    with pytest.raises(UsageError, match=r"tensors \[1\] of sequence 's'"):
        read_model(_joining(False), {"s[1]": (2, 6)})


@pytest.mark.parametrize(("onesided", "inverse", "length"), [(0, 0, None), (1, 0, None), (0, 1, None), (0, 0, 8), (1, 0, 4)])
def test_fourier_transform(compare: Callable[..., Any], onesided: int, inverse: int, length: int | None) -> None:
    x = G.standard_normal((2, 6, 3, 1 if onesided else 2)).astype(np.float32)
    constants = {} if length is None else {"n": np.array(length)}
    operator = node("DFT", ["x", *constants], ["y"], axis=1, onesided=onesided, inverse=inverse)
    compare(operator, {"x": x}, ("y",), constants, atol=1e-4)


def test_short_time_fourier_transform_is_a_convolution(compare: Callable[..., Any]) -> None:
    x = G.standard_normal((2, 40, 1)).astype(np.float32)
    constants = {"step": np.array(4), "window": np.hanning(16).astype(np.float32)}
    hub = compare(node("STFT", ["x", "step", "window"], ["y"]), {"x": x}, ("y",), constants, atol=1e-4)
    assert "Conv" in op_names(hub)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_sampling_between_pixels(compare: Callable[..., Any], mode: str, padding: str, align: int) -> None:
    x = G.standard_normal((2, 3, 5, 4)).astype(np.float32)
    grid = G.uniform(-1.8, 1.8, (2, 3, 6, 2)).astype(np.float32)
    sample = node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding, align_corners=align)
    compare(sample, {"x": x, "grid": grid})


def test_patches_put_back(compare: Callable[..., Any]) -> None:
    rows, columns = (5 + 1 - 2) // 2 + 1, 7 + 1 - 3 + 1
    x = G.standard_normal((1, 2 * 6, rows * columns)).astype(np.float32)
    operator = node("Col2Im", ["x", "image", "block"], ["y"], strides=[2, 1], pads=[1, 0, 0, 1])
    compare(operator, {"x": x}, ("y",), {"image": np.array([5, 7]), "block": np.array([2, 3])}, opset=18)

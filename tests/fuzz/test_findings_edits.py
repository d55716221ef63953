"""What single edits of valid files found, by class, in the smallest that shows it."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package 'onnx' is not installed")

import transload
from transload.errors import ConversionError
from transload.ir.verify import check_inference
from transload.text import parse_module
from transload.verification.verify import verify_conversion

from tests.fuzz.cases import Case, Outcome, attempt
from tests.fuzz.onward import Onward
from tests.fuzz.single import single_case_of
from tests.fuzz.tflite_files import decode, encode
from tests.support.onnx_models import make_model, node
from tests.support.tensorflow_graphs import T, const, graph, placeholder, read_graph
from tests.support.tensorflow_graphs import node as tf_node
from tests.support.tflite_models import write_operator
from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.measure import all_cases

Tree = dict[str, Any]
FLOAT = ("float32", None, None)


def operators(name: str, format: str = "") -> Iterator[Any]:
    return (case for case in all_cases() if case.op == name and format in ("", case.format, case.note))


def edited(case: Any, edit: Callable[[Tree], object], to: str = "tosa") -> Outcome:
    tree = decode(build(case).content)
    edit(tree["subgraphs"][0])
    return attempt(Case(0, "tflite", encode(tree), to, True))


def status_of(content: bytes, folder: Path, name: str = "model.onnx") -> tuple[str, str]:
    file = folder / name
    file.write_bytes(content)
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference")
    return verdict.status, verdict.why


def test_dimensions_in_an_order_counted_from_the_end(tmp_path: Path) -> None:
    """It was taken for one in which none moves: of [-1, 0, 1] each is greater than the one before."""
    order = ((3,), "int32", np.array([-1, 0, 1], np.int32), None)
    content = write_operator("TRANSPOSE", [((2, 3, 4), "int32", None, None), order], [((4, 2, 3), "int32", None, None)])
    assert status_of(content, tmp_path, "model.tflite")[0] == "passed"
    text = """
        func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
          %y = "top.Permute"(%x) {order = array<i64: -1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
          return %y : tensor<3x2xf32>
        }"""
    (finding,) = check_inference(parse_module(text))
    assert finding.why == "order [-1, 0] does not name the 2 dimensions of [2, 3]"


def test_unsigned_words_are_unsigned_in_what_is_written(tmp_path: Path) -> None:
    content = write_operator("CAST", [((3,), "int8", None, None)], [((3,), "uint32", None, None)])
    file = tmp_path / "model.tflite"
    file.write_bytes(content)
    artifact = transload.convert(file, "tosa", tmp_path / "out")
    assert artifact.verification is not None and artifact.verification.passed
    (made,) = transload.run(tmp_path / "out" / "model.tosa", {"in0": np.array([-1, 0, 5], np.int8)}).values()
    np.testing.assert_array_equal(made, np.array([(1 << 32) - 1, 0, 5], np.uint32))


def pooled(x: np.ndarray, size: int, stride: int, pads: str) -> np.ndarray:
    """The greatest of windows of 2^40 columns over an image."""
    made = f"tensor<1x{x.shape[1]}x{size}x1xf32>"
    given = f"tensor<1x{x.shape[1]}x{x.shape[2]}x1xf32>"
    module = parse_module(f"""
        func.func @main(%x: {given}) -> {made} {{
          %y = "tosa.max_pool2d"(%x) {{kernel = array<i64: 1, {1 << 40}>, stride = array<i64: 1, {stride}>,
            pad = array<i64: 0, 0, {pads}>, nan_mode = #tosa.nan_mode<PROPAGATE>}} : ({given}) -> {made}
          return %y : {made}
        }}""")
    (y,) = transload.run(module, dict.fromkeys(module.inputs, x), engine="reference").values()
    return y


def test_a_window_far_larger_than_the_image() -> None:
    x = np.random.default_rng(0).standard_normal((1, 4, 5, 1)).astype(np.float32)
    y = pooled(x, 5, 1, f"{(1 << 39) - 1}, {1 << 39}")
    np.testing.assert_array_equal(y, np.broadcast_to(x.max(axis=2, keepdims=True), x.shape))


def test_places_far_apart_in_a_window_far_larger_than_the_image() -> None:
    """Of three windows the first ends with the first element, and the last begins with the second."""
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 5, 1)
    assert pooled(x, 3, 1 << 39, f"{(1 << 40) - 1}, {(1 << 40) - 4}").reshape(-1).tolist() == [0.0, 4.0, 4.0]


def test_filters_of_no_channels() -> None:
    sizes = const("size", np.array([2, 2, 2, 2, 3], np.int32))
    made = graph(
        placeholder("x", (1, 4, 4, 4, 2)), sizes, placeholder("g", (1, 2, 2, 2, 0)),
        tf_node("y", "Conv3DBackpropFilterV2", "x", "size", "g", T=T("float32"), strides=[1, 2, 2, 2, 1], padding="VALID"))
    module = transload.lower(read_graph(made), "tosa")
    given = {name: np.zeros(type_.static_shape, np.float32) for name, type_ in module.inputs.items()}
    (y,) = transload.run(module, given, engine="reference").values()
    assert y.size == 0


def test_scales_of_another_dimension() -> None:
    model = make_model(
        [node("QuantizeLinear", ["x", "scale"], ["y"], axis=1)], {"x": np.zeros((2, 3), np.float32)}, ["y"],
        {"scale": np.ones(5, np.float32)})
    with pytest.raises(ConversionError, match="5 scales for the 3 places along dimension 1"):
        transload.lower(transload.load(text=model.SerializeToString(), format="onnx"), "tosa")


@pytest.mark.parametrize(("index", "columns"), [("time_axis", -2), ("batch_axis", 2), ("time_axis", 1)])
def test_a_sequence_is_reversed_along_the_first_dimensions(index: str, columns: int) -> None:
    axes = {"time_axis": 0, "batch_axis": 1, index: columns}
    model = make_model(
        [node("ReverseSequence", ["x", "n"], ["y"], **axes)], {"x": np.zeros((4, 4), np.float32)}, ["y"],
        {"n": np.array([1, 2, 3, 4], np.int64)})
    with pytest.raises(ConversionError, match="one has to be 0, and the other 1"):
        transload.lower(transload.load(text=model.SerializeToString(), format="onnx"), "tosa")


def lstm_weight(graph_: Tree) -> None:
    place = graph_["operators"][0]["inputs"][7]
    graph_["tensors"][place]["quantization"]["zero_point"] = [-128]


def zero_of_16_bits(graph_: Tree) -> None:
    graph_["tensors"][graph_["operators"][0]["inputs"][0]]["quantization"]["zero_point"] = [127]


def unsigned_channels(graph_: Tree) -> None:
    tensor = graph_["tensors"][graph_["operators"][0]["inputs"][1]]
    tensor["type"] = 3


def recurrent_of_another_shape(graph_: Tree) -> None:
    graph_["operators"][0]["inputs"][2] = graph_["operators"][0]["inputs"][1]


@pytest.mark.parametrize(("name", "format", "edit"), [
    ("UNIDIRECTIONAL_SEQUENCE_LSTM", "integer", lstm_weight), ("GELU", "i16t", zero_of_16_bits),
    ("BIDIRECTIONAL_SEQUENCE_RNN", "f32", recurrent_of_another_shape), ("CONV_2D", "hybrid_axis", unsigned_channels)])
def test_what_kernels_of_litert_do_not_look_at_is_refused(name: str, format: str, edit: Callable[[Tree], object]) -> None:
    assert edited(next(operators(name, format)), edit).kind == "refused"


@pytest.mark.parametrize(("indices", "combiner", "why"), [
    ([[0, 3], [1, 0]], "SUM", "outside the dense shape"), ([[1, 0], [0, 0]], "MEAN", "not in order"),
    ([[0, 0], [-1, 0]], "SUM", "outside")])
def test_subscripts_of_embeddings(indices: list[list[int]], combiner: str, why: str) -> None:
    parts = [(np.array(value, np.int32), "int32") for value in ([0, 1], [[*each, 0] for each in indices], [2, 3, 1])]
    content = write_operator(
        "EMBEDDING_LOOKUP_SPARSE",
        [*((value.shape, kind, value, None) for value, kind in parts), ((2,), *FLOAT), ((4, 5), *FLOAT)], [((2, 3, 5), *FLOAT)],
        {"combiner": combiner})
    with pytest.raises(ConversionError, match=why):
        transload.lower(transload.load(text=content, format="tflite"), "tosa")


def test_boxes_that_are_to_overlap_by_more_than_all() -> None:
    one = [((), "int32", np.array(2, np.int32), None)]
    levels = [((), "float32", np.array(level, np.float32), None) for level in (1.5, 0.2)]
    content = write_operator(
        "NON_MAX_SUPPRESSION_V4", [((4, 4), *FLOAT), ((4,), *FLOAT), *one, *levels],
        [((2,), "int32", None, None), ((), "int32", None, None)])
    with pytest.raises(ConversionError, match="chooses the best one again"):
        transload.lower(transload.load(text=content, format="tflite"), "tosa")


def _model(name: str, inputs: list[np.ndarray], constants: dict[str, Any], **attributes: Any) -> bytes:
    given = {f"x{place}": value for place, value in enumerate(inputs)}
    outputs = ["y", "places"] if name == "TopK" else ["y"]
    content: bytes = make_model(
        [node(name, [*given, *constants], outputs, **attributes)], given, outputs,
        {key: value for key, value in constants.items() if key}, opset=19).SerializeToString()
    return content


IMAGE = np.zeros((1, 1, 4, 4), np.float32)


@pytest.mark.parametrize(("content", "why"), [
    (_model("Slice", [np.zeros(5, np.float32)], {
        "starts": np.array([4]), "ends": np.array([(1 << 63) - 1]), "axes": np.array([0]), "steps": np.array([-2])}),
     "a slice backward to the greatest integer"),
    (_model("Conv", [np.zeros((1, 1, 10), np.float32)], {"w": np.array([[[1, 2, 3, 4]]], np.float32)},
            auto_pad="SAME_UPPER", strides=[12]), "padding that takes off"),
    (_model("TopK", [np.zeros((3, 4), np.float32)], {"k": np.array([3])}, axis=1, largest=0, sorted=0), "in no order"),
    (_model("Resize", [IMAGE], {
        "roi": np.array([0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7], np.float32), "": None, "sizes": np.array([1, 1, 4, 3])},
        mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0), "does not crop"),
    (_model("ConvTranspose", [np.zeros((1, 1, 3, 3), np.float32), np.zeros((1, 2, 3, 3), np.float32)], {},
            auto_pad="SAME_UPPER", strides=[8, 2]), "the strides times as large"),
    (_model("Pow", [np.zeros((4, 5), np.int32)], {"e": np.array([-1.5, 2, 3, 4, 5], np.float32)}), "numbers that no integer"),
    (_model("Pow", [np.full((3,), 5, np.int32)], {"e": np.array([40], np.int32)}), "powers of integers that no integer is")])
def test_what_onnxruntime_computes_otherwise_than_onnx_says_is_not_judged(content: bytes, why: str, tmp_path: Path) -> None:
    status, said = status_of(content, tmp_path)
    assert status == "inconclusive" and re.search(why, said), said


def test_memory_of_a_transposed_convolution() -> None:
    """What all elements add at all places of the kernel was made at once: 430 MB here."""
    text = """
        func.func @main(%x: tensor<1x1x3x4x5xf32>, %w: tensor<1x65536x3x3x3xf32>) -> tensor<1x65536x5x6x7xf32> {
          %b = "top.None"() : () -> none
          %y = "top.Deconv"(%x, %w, %b) {kernel_shape = array<i64: 3, 3, 3>, strides = array<i64: 1, 1, 1>,
            pads = array<i64: 0, 0, 0, 0, 0, 0>, group = 1 : i64}
            : (tensor<1x1x3x4x5xf32>, tensor<1x65536x3x3x3xf32>, none) -> tensor<1x65536x5x6x7xf32>
          return %y : tensor<1x65536x5x6x7xf32>
        }"""
    module = parse_module(text)
    given = {name: np.ones(type_.static_shape, np.float32) for name, type_ in module.inputs.items()}
    tracemalloc.start()
    (y,) = transload.run(module, given, engine="reference").values()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert y[0, 0, 2, 2, 2] == y[0, -1, 2, 2, 2] == 27.0
    assert peak < 300 << 20, f"{peak >> 20} MiB"


@pytest.mark.parametrize("k", [-(1 << 63), (1 << 63) - 1, -3, 2])
@pytest.mark.parametrize("upper", [0, 1])
def test_a_triangle_from_any_diagonal(k: int, upper: int, tmp_path: Path) -> None:
    content = _model("Trilu", [np.zeros((4, 5), np.float32)], {"k": np.array(k, np.int64)}, upper=upper)
    assert status_of(content, tmp_path)[0] in ("passed", "inconclusive")  # where nothing is left
    module = transload.load(text=content, format="onnx")
    x = np.arange(1, 21, dtype=np.float32).reshape(4, 5)
    bounded = max(-5, min(k, 6))
    for to in ("top", "tosa", "stablehlo"):
        (y,) = transload.run(transload.lower(module, to), {"x0": x}, engine="reference").values()
        np.testing.assert_array_equal(y, np.triu(x, bounded) if upper else np.tril(x, bounded))


def test_sizes_beyond_32_bits() -> None:
    shapes = [((1,), "int64", np.array([1 << 40]), None), ((2,), "int64", np.array([4, 1]), None)]
    content = write_operator("BROADCAST_ARGS", shapes, [((2,), "int64", None, None)])
    with pytest.raises(ConversionError, match="counts sizes in 32 bits"):
        transload.lower(transload.load(text=content, format="tflite"), "onnx")


def test_an_ellipsis_beside_ends_that_are_offsets() -> None:
    parts = [((2,), "int32", np.array(value, np.int32), None) for value in ([1, 2], [3, 4], [1, 1])]
    content = write_operator(
        "STRIDED_SLICE", [((6, 7), *FLOAT), *parts], [((3, 7), *FLOAT)], {"ellipsis_mask": 2, "offset": True})
    with pytest.raises(ConversionError, match="an ellipsis beside ends that are offsets"):
        transload.lower(transload.load(text=content, format="tflite"), "tosa")


@pytest.mark.parametrize("far", [np.inf, 3e38])
def test_places_that_are_none(far: float, tmp_path: Path) -> None:
    grid = np.random.default_rng(0).uniform(-1, 1, (1, 2, 3, 2)).astype(np.float32)
    grid[0, 0, 1, 1] = far
    status, why = status_of(_model("GridSample", [np.zeros((1, 1, 4, 5), np.float32)], {"grid": grid}), tmp_path)
    assert status == "passed" or "NaN or infinite" in why, why


def test_a_recurrent_layer_whose_weights_are_infinite_in_fewer_bits() -> None:
    """Of a state that is 0 they are multiplied in LiteRT, and not where it is known to be 0."""
    case = next(operators("SVDF", "f16"))

    tree = decode(build(case).content)
    for tensor in tree["subgraphs"][0]["tensors"]:
        held = tree["buffers"][tensor.get("buffer", 0)]
        if tensor.get("type") == 1 and held.get("data"):
            held["data"] = np.full(len(held["data"]) // 2, -np.inf, np.float16).tobytes()
    assert attempt(Case(0, "tflite", encode(tree), "tosa", True)).kind == "judge refused"


def test_a_cast_that_saturates_neither_way(tmp_path: Path) -> None:
    """onnxruntime leaves its output as memory is, where what was computed before may lie."""
    content = _model("Cast", [np.zeros((3, 4), np.float32)], {}, to=10, saturate=2)
    outcome = attempt(Case(0, "onnx", content, "tosa", True, {}, Onward("onnx", None, True)))
    assert outcome.kind in ("judge refused", "checked"), outcome


@pytest.mark.parametrize("source", ["f32", "!quant.uniform<u8:f32, 0.1:5>"])
def test_a_chip_keeps_the_range_of_a_type(source: str, tmp_path: Path) -> None:
    """A cast to 4 bits saturated to the byte that holds them: 2.4 for 2.0."""
    held = "!quant.uniform<u8<0:15>:f32, 0.2:5>"
    text = f"""
        func.func @main(%x: tensor<2x64x{source}>) -> tensor<2x64xf32> {{
          %q = "top.Cast"(%x) : (tensor<2x64x{source}>) -> tensor<2x64x{held}>
          %y = "top.Cast"(%q) : (tensor<2x64x{held}>) -> tensor<2x64xf32>
          return %y : tensor<2x64xf32>
        }}"""
    module = parse_module(text)
    numbers = np.linspace(-3, 20, 128, dtype=np.float32) if source == "f32" else np.arange(128, 256, dtype=np.uint8)
    x = numbers.reshape(2, 64)
    (wanted,) = transload.run(module, dict.fromkeys(module.inputs, x), engine="reference").values()
    assert wanted.max() == np.float32(2.0)
    transload.convert(module, "tp-large", tmp_path / "out")
    (y,) = transload.run(tmp_path / "out", dict.fromkeys(module.inputs, x)).values()
    np.testing.assert_allclose(y, wanted, atol=1e-6)


def test_an_output_that_is_left_out_is_no_tensor_of_a_chip(tmp_path: Path) -> None:
    text = """
        func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, none) {
          %n = "top.None"() : () -> none
          %y = "top.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
          return %y, %n : tensor<4xf32>, none
        }"""
    with pytest.raises(ConversionError, match="is the one that stands for an absent operand"):
        transload.convert(parse_module(text), "tp-small", tmp_path / "out")


def test_edits_of_a_file_are_listed_once(tmp_path: Path) -> None:
    """As many numbers in a row as there are files are an edit of each; the next as many are others."""
    content = _model("Clip", [np.zeros(3, np.float32)], {"low": np.array(-1, np.float32)})
    file = tmp_path / "0"
    file.write_bytes(content)
    seeds = {"onnx": [file]}
    made = [single_case_of(number, seeds).content for number in range(40)]
    assert len(set(made)) > 20 and content not in made
    assert made == [single_case_of(number, seeds).content for number in range(40)]

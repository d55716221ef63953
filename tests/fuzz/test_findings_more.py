"""What later runs of fuzzing found, by class, in the smallest that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package 'onnx' is not installed")

import onnx
from onnx import helper

import transload
from transload.budget import allowed
from transload.errors import ConversionError, ReadError, ShapeError, TransloadError
from transload.ir import F32, I8, IntegerType, QuantType, TensorType
from transload.passes.manager import Pipeline
from transload.testing import build_module
from transload.text import parse_module, print_module
from transload.verification.verify import verify_conversion
from transload_converters.stablehlo.bytecode.builtin import read_attribute
from transload_converters.stablehlo.writer import write as write_program

from tests.fuzz import tflite_files
from tests.support.graphs import Graph
from tests.support.litert import run_litert
from tests.support.onnx_models import make_model, node, read_model
from tests.support.tensorflow_graphs import T, const, graph, placeholder, read_graph
from tests.support.tensorflow_graphs import node as tf_node
from tests.support.tflite_models import read_bytes, write_operator
from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.measure import all_cases


@pytest.mark.parametrize("layer", ["LSTM", "GRU"])
def test_a_recurrent_layer_of_steps_without_end(layer: str) -> None:
    """Its steps were made, as values, before anything counted them: 19 GB."""
    g = Graph((1_000_000_000, 3, 3))
    gates = {"LSTM": 4, "GRU": 3}[layer]
    made = g.emit(layer, g.inputs[0], g.random(1, gates * 3, 3), g.random(1, gates * 3, 3), hidden_size=3)
    with pytest.raises(ConversionError, match="it would take more than"):
        transload.lower(g.done(made[0]), "tosa")


def test_a_tensor_taken_apart_into_too_many() -> None:
    g = Graph((1 << 40, 2))
    with pytest.raises(ConversionError, match="1,048,576 at most"):
        g.Unpack(g.inputs[0], axis=0)


def test_the_gradient_of_images_of_no_pixels() -> None:
    module = read_graph(graph(
        placeholder("g", (1, 2, 3, 1)), const("i", np.zeros((1, 0, 3, 1), np.float32)),
        tf_node("y", "ResizeBilinearGrad", "g", "i", T=T("float32"), align_corners=False, half_pixel_centers=True)))
    with pytest.raises(ConversionError, match="gives a gradient of 2 places to images of none") as caught:
        transload.lower(module, "tosa")
    assert caught.value.__cause__ is None


def test_angles_of_unlike_shapes_in_a_file_are_refused() -> None:
    content = write_operator(
        "ATAN2", [((2, 3), "float32", None, None), ((3,), "float32", None, None)], [((2, 3), "float32", None, None)])
    with pytest.raises(ConversionError, match="reads beyond the end"):
        transload.lower(read_bytes(content), "tosa")


@pytest.mark.parametrize("stride", [1, -1])
def test_an_open_begin_of_an_axis_that_goes(stride: int) -> None:
    """TensorFlow minds the begin, LiteRT its mask."""
    numbers = [np.array(each, np.int32) for each in ((4, 3), (5, 5), (stride, 1))]
    content = write_operator(
        "STRIDED_SLICE", [((6, 7), "float32", None, None), *(((2,), "int32", each, None) for each in numbers)],
        [((2,), "float32", None, None)], {"begin_mask": 1, "shrink_axis_mask": 1})
    x = np.arange(42, dtype=np.float32).reshape(6, 7)
    theirs = run_litert(content, [x])[0]
    try:
        module = transload.lower(read_bytes(content), "tosa")
    except ConversionError:
        assert stride < 0
    else:
        np.testing.assert_array_equal(next(iter(transload.run(module, {"in0": x}).values())), theirs)


class _Entry:
    """What an entry of bytecode gives, as its reader asks for it."""

    weight = 0

    def __init__(self, type_: object, size: int, blob: bytes) -> None:
        self.type, self.varint, self.blob = (lambda: type_), (lambda: size), (lambda: blob)

    def error(self, why: str) -> None:
        raise ValueError(why)


def test_an_array_of_integers_that_are_not_whole_bytes() -> None:
    for width in (48, 4):
        with pytest.raises(ValueError, match="which are not whole bytes"):
            read_attribute(_Entry(IntegerType(width), 1, bytes(3)), 17)  # type: ignore[arg-type]


def test_a_constant_of_no_numbers_that_goes_while_reading(tmp_path: Path) -> None:
    """Places of a grid are computed while converting: what a runtime makes of NaN among them is its own business."""
    pytest.importorskip("onnxruntime")
    grid = np.zeros((1, 2, 2, 2), np.float32)
    grid[0, 0, 0] = np.nan
    image = np.ones((1, 1, 3, 3), np.float32)
    model = make_model([node("GridSample", ["x", "grid"], ["y"], mode="nearest")], {"x": image}, ["y"], {"grid": grid}, opset=20)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference")
    assert not verdict.failed, verdict.broken


def test_numbers_that_a_file_has_no_place_for() -> None:
    from transload.flatbuffer.builder import FlatBuilder, layout

    builder = FlatBuilder()
    with pytest.raises(ConversionError, match="no place for 1, 4294967296"):
        builder.vector("i", [1, 1 << 32])
    with pytest.raises(ConversionError, match="no place for 300"):
        builder.table(layout((0, "B")), [300])


def test_two_directions_for_which_a_file_has_one_tensor() -> None:
    """Not merged, they are two sequences."""
    case = next(case for case in all_cases() if case.op == "BIDIRECTIONAL_SEQUENCE_RNN")
    model: Any = tflite_files.decode(build(case).content)
    graph = model["subgraphs"][0]
    del graph["outputs"][1], graph["operators"][0]["outputs"][1]
    with pytest.raises(ConversionError, match="gives 2 sequences, and the file has tensors for 1") as caught:
        transload.lower(read_bytes(tflite_files.encode(model)), "tosa")
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("op", "more"), [
    ("MaxPoolWithArgmax", {"Targmax": T("int64")}), ("ExtractImagePatches", {"rates": [1, 1, 1, 1]})])
def test_windows_of_places_without_end(op: str, more: dict[str, Any]) -> None:
    """All places of a window were put into a list before the first was looked at: 17 GB."""
    window = "ksizes" if op == "ExtractImagePatches" else "ksize"
    nodes = graph(placeholder("x", (1, 4, 4, 1)), tf_node(
        "y", op, "x", T=T("float32"), strides=[1, 1, 1, 1], padding="SAME", **{window: [1, 1 << 31, 1, 1]}, **more))
    with pytest.raises(ConversionError, match="places, each of which would be an op") as caught:
        transload.lower(read_graph(nodes), "tosa")
    assert caught.value.__cause__ is None


def test_a_scan_along_more_dimensions_than_it_has_tensors() -> None:
    body = helper.make_graph(
        [helper.make_node("Identity", ["s"], ["t"])], "body", [helper.make_tensor_value_info("s", 1, [2])],
        [helper.make_tensor_value_info("t", 1, [2])])
    scan = node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1, scan_input_axes=[0, 1])
    with pytest.raises(ConversionError, match="goes through 1 tensors along 2 dimensions, where 1 are due") as caught:
        transload.lower(read_model(make_model([scan], {"x": np.zeros((3, 2), np.float32)}, ["y"])), "tosa")
    assert caught.value.__cause__ is None


def test_a_guess_of_a_shape_from_filters_of_no_rank() -> None:
    """The shape that is printed as an example is that of what takes the input, where that is known."""
    with pytest.raises(ReadError, match="no static shape"):
        read_graph(graph(
            placeholder("x", None), const("f", np.zeros((3,), np.float32)),
            tf_node("y", "Conv2D", "x", "f", T=T("float32"), strides=[1, 1, 1, 1], padding="SAME")))


def test_a_dimension_of_unknown_size_is_reversed() -> None:
    type_ = TensorType((2, None), F32)
    module = build_module([type_], lambda b, x: b.emit("tosa.reverse", x, axis=1, types=type_))
    assert '"stablehlo.reverse"' in print_module(transload.lower(module, "stablehlo"))


def test_a_tensor_is_not_cut_into_slices_without_end(tmp_path: Path) -> None:
    options = {"stride_w": 1, "stride_h": 1, "filter_width": 1, "filter_height": 1}
    tensor = ((2, 7, 1_000_000_000, 3), "int16", None, ([0.1], [0], 0))
    path = tmp_path / "pool.tflite"
    path.write_bytes(write_operator("MAX_POOL_2D", [tensor], [tensor], options))
    with pytest.raises(TransloadError):
        transload.convert(path, "tp-large", tmp_path / "out", verify=False)


def test_an_attribute_that_is_a_type_is_not_written(tmp_path: Path) -> None:
    made = node("X", ["x"], ["y"], domain="acme")
    made.attribute.append(onnx.AttributeProto(name="of", type=onnx.AttributeProto.TYPE_PROTO, tp=onnx.TypeProto()))
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "xy")
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    model = helper.make_model(helper.make_graph([made], "g", [x], [y]), opset_imports=domains, ir_version=8)
    with pytest.raises(TransloadError, match=r"'of', .* cannot be written"):
        transload.save(read_model(model), tmp_path / "m.onnx")


def test_an_op_that_no_schema_knows_with_more_outputs_than_are_computed() -> None:
    """Its rule gave one value for two, and the rule was called at fault."""
    made = node("FlexAttention", ["q", "q", "q"], ["y", "z"], domain="ai.onnx.preview")
    q, y, z = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2, 3, 4]) for name in "qyz")
    domains = [helper.make_opsetid("", 22), helper.make_opsetid("ai.onnx.preview", 1)]
    model = helper.make_model(helper.make_graph([made], "g", [q], [y, z]), opset_imports=domains, ir_version=10)
    with pytest.raises(ConversionError, match="has 2 outputs, of which 1 can be computed") as caught:
        transload.lower(read_model(model), "tosa")
    assert "failed" not in str(caught.value)


def test_a_number_of_an_op_that_no_schema_checks_is_a_type() -> None:
    """`float()` of it raised in the rule, which was called at fault."""
    made = node("FlexAttention", ["q", "q", "q"], ["y"], domain="ai.onnx.preview")
    tensor = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [1])
    made.attribute.append(helper.make_attribute("scale", tensor))
    q, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2, 3, 4]) for name in "qy")
    domains = [helper.make_opsetid("", 22), helper.make_opsetid("ai.onnx.preview", 1)]
    model = helper.make_model(helper.make_graph([made], "g", [q], [y]), opset_imports=domains, ir_version=10)
    with pytest.raises(ConversionError, match=r"scale is .*, and must be of the kind of") as caught:
        transload.lower(read_model(model), "tosa")
    assert "failed" not in str(caught.value)


def test_a_shape_to_broadcast_to_with_a_negative_size() -> None:
    g = Graph((1, 3))
    with pytest.raises(ShapeError, match=r"shape \[-2, 3\] has a negative entry"):
        g.Expand(g.inputs[0], shape=(-2, 3))


def test_a_dilation_by_a_filter_without_end() -> None:
    """All its places were put into memory before the first was used."""
    model = read_graph(graph(
        placeholder("x", (1, 4, 4, 2)), placeholder("w", (2, 1 << 31, 2)),
        tf_node("y", "Dilation2D", "x", "w", T=T("float32"), strides=[1] * 4, rates=[1] * 4, padding="SAME")))
    with allowed(ops=2000), pytest.raises(ConversionError, match="more than 2,000 ops"):
        transload.lower(model, "tosa")


def test_a_tensor_of_another_dialects_numbers_is_refused_by_a_chip(tmp_path: Path) -> None:
    text = "func.func @main(%x: tensor<3x!tf_type.qint16>) -> tensor<3x!tf_type.qint16> { return %x : tensor<3x!tf_type.qint16> }"
    with pytest.raises(TransloadError, match=r"holds !tf_type.qint16, and the chip tp-large has numbers of"):
        transload.convert(parse_module(text), "tp-large", tmp_path)


def test_a_program_whose_results_have_other_shapes(tmp_path: Path) -> None:
    text = """
        func.func @main(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
          %i = "stablehlo.constant"() <{value = dense<[0, 1, 2]> : tensor<3xi32>}> : () -> tensor<3xi32>
          %y = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> :
            (tensor<2x3xf32>, tensor<3xi32>) -> tensor<2x2xf32>
          return %y : tensor<2x2xf32>
        }"""
    file = tmp_path / "program.mlirbc"
    write_program(parse_module(text), file)
    with pytest.raises(ReadError, match=r"\[2, 2\], and has to be \[2, 3\]"):
        transload.load(file)


def test_a_cast_from_numbers_that_a_written_file_has_no_cast_for() -> None:
    """The operand was cast to what the cast takes, by a cast, without end."""
    text = """
        func.func @main(%x: tensor<3xf4E2M1FN>) -> tensor<3xf32> {
          %y = "top.Cast"(%x) : (tensor<3xf4E2M1FN>) -> tensor<3xf32>
          return %y : tensor<3xf32>
        }"""
    with pytest.raises(ConversionError, match=r"Cast of opset .* takes no f4E2M1FN"):
        transload.lower(parse_module(text), "onnx")


def test_a_bias_of_more_rows_than_its_product() -> None:
    g = Graph((1, 4))
    with pytest.raises(ShapeError, match=r"the bias .*128.*8.* does not broadcast to the product"):
        g.MatMul(g.inputs[0], g.random(4, 8), g.random(128, 8))


def test_limits_of_numbers_in_steps_of_nothing() -> None:
    element = QuantType(I8, F32, (0.0,), (0,))
    text = f"""
        func.func @main(%x: tensor<3x{element}>) -> tensor<3x{element}> {{
          %y = "top.Relu"(%x) : (tensor<3x{element}>) -> tensor<3x{element}>
          return %y : tensor<3x{element}>
        }}"""
    module = parse_module(text)
    Pipeline.parse("canonicalize").run(module)
    assert [op.name for op in module.ops()][:1] == ["top.Relu"]


def test_an_input_of_which_a_file_says_nothing_is_no_tensor_of_a_chip(tmp_path: Path) -> None:
    from onnx import TensorProto

    graph = helper.make_graph(
        [helper.make_node("Min", ["c"], ["y"])], "g", [helper.make_empty_tensor_value_info("x")],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [3])],
        [helper.make_tensor("c", TensorProto.INT64, [3], [1, 4, 4])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    with pytest.raises(TransloadError, match="where a chip has tensors"):
        transload.convert(transload.load(text=model.SerializeToString(), format="onnx"), "tp-tiny", tmp_path / "out")


def convolved(name: str, result: str, strides: str, dilations: str, pads: str) -> np.ndarray:
    """What a convolution of ones, 4 x 4, with a row of three twos gives."""
    text = f"""
        func.func @main(%x: tensor<1x4x4x1xf32>) -> {result} {{
          %w = "top.Weight"() {{value = dense<2.0> : tensor<1x1x3x1xf32>}} : () -> tensor<1x1x3x1xf32>
          %b = "top.None"() : () -> none
          %y = "top.{name}"(%x, %w, %b) {{kernel_shape = array<i64: 1, 3>, strides = array<i64: {strides}>,
            dilations = array<i64: {dilations}>, pads = array<i64: {pads}>, group = 1 : i64, layout = "NHWC"}}
            : (tensor<1x4x4x1xf32>, tensor<1x1x3x1xf32>, none) -> {result}
          return %y : {result}
        }}"""
    module = parse_module(text)
    (y,) = transload.run(module, dict.fromkeys(module.inputs, np.ones((1, 4, 4, 1), np.float32)), engine="reference").values()
    return y


def test_strides_to_a_place_that_there_is_not() -> None:
    """Of one window the next is not looked for, as far off as bytes cannot say."""
    far = f"{1 << 62}, 1"
    np.testing.assert_array_equal(
        convolved("Conv", "tensor<1x1x4x1xf32>", far, far, "0, 1, 0, 1").reshape(-1), [4, 6, 6, 4])


def test_padding_that_takes_nearly_all_off_a_transposed_convolution() -> None:
    """The image before that is no value of the module, and is counted by the kernel."""
    with allowed(elements=1 << 24), pytest.raises(TransloadError, match=r"would have .* elements"):
        convolved("Deconv", "tensor<1x4x6x1xf32>", "1, 1", f"1, {(1 << 30) + 1}", f"0, {1 << 30}, 0, {1 << 30}")


def test_more_is_not_taken_off_than_there_is() -> None:
    """Of two rows three were cut, and one padded: one more than the size that was inferred."""
    with pytest.raises(ConversionError, match="TensorFlow has none below 0"):
        transload.lower(read_graph(graph(
            placeholder("x", (2, 3)), const("p", np.array([[-3, 1], [0, 1]], np.int32)),
            tf_node("y", "Pad", "x", "p", T=T("float32"), Tpaddings=T("int32")))), "top")
    g = Graph((2, 3))
    with pytest.raises(ShapeError, match="3 places are taken off at one end of dimension 0"):
        g.Pad(g.inputs[0], paddings=(-3, 0, 1, 1))


def test_a_sequence_of_more_pieces_than_memory_holds() -> None:
    """A number was kept for each of 2^31 pieces before the first was made."""
    pieces = helper.make_tensor_sequence_value_info("seq", 1, None)
    data = helper.make_tensor_value_info("data", 1, [(1 << 31) - 1, 6])
    split = helper.make_node("SplitToSequence", ["data"], ["seq"], axis=0)
    model = helper.make_model(helper.make_graph([split], "g", [data], [pieces]), opset_imports=[helper.make_opsetid("", 19)])
    with pytest.raises(ConversionError, match="it would take more than 200,000 ops"):
        transload.lower(transload.load(text=model.SerializeToString(), format="onnx"), "tosa")

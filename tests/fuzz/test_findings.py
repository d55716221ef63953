"""What fuzzing found, by class, in the smallest file that shows it: every one ends in an error of ours with the op's name."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package 'onnx' is not installed")

import transload
from transload.errors import ConversionError, ReadError, RunError, TransloadError, UsageError
from transload.ir import BOOL, F32, I8, I32, Dense, IntegerType, Op, QuantType, TensorType, update_function_type
from transload.ir.constants import SplatData
from transload.ir.verify import verify
from transload.text import parse_module
from transload.verification.inputs import random_inputs
from transload.verification.verify import verify_conversion
from transload_converters.tflite.writer import ModelWriter

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node, read_model
from tests.support.tflite_models import read_bytes, write_operator
from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.measure import all_cases

X = np.zeros((2, 3), np.float32)
IMAGE = np.zeros((1, 1, 2, 2), np.float32)


def refused(content: bytes, why: str, to: str = "tosa") -> None:
    with pytest.raises(ConversionError, match=why) as caught:
        transload.lower(read_bytes(content), to)
    assert caught.value.__cause__ is None  # no rewrite failed


@pytest.mark.parametrize(("nodes", "inputs", "why"), [
    (node("Gemm", ["x", "v"], ["y"]), {"x": X, "v": np.zeros(3, np.float32)}, "no matrix"),
    (node("Split", ["x"], ["y"], num_outputs=2**40), {"x": X}, "into 1099511627776 parts for 1 outputs"),
    (node("Gather", ["s", "negative"], ["y"]), {"s": np.float32(1)}, "axis 0 is outside a tensor of rank 0"),
    (node("GatherND", ["none", "places"], ["y"]), {"none": np.zeros((2, 0), np.float32)}, "have no elements"),
    (node("CumProd", ["one", "zero"], ["y"]), {"x": X}, "axis 0 is outside a tensor of rank 0"),
    (node("Squeeze", ["s", "zeros"], ["y"]), {"s": np.float32(1)}, "axis 0 is outside"),
    (node("Resize", ["x", "", "huge"], ["y"]), {"x": X}, "sizes without end"),
    (node("Resize", ["none", "", "", "zeros"], ["y"], keep_aspect_ratio_policy="not_larger"),
     {"none": np.zeros((2, 0), np.float32)}, "aspect ratio|do not fit"),
    (node("OneHot", ["i", "endless", "v"], ["y"]), {"i": np.zeros(2, np.int64), "v": X[0, :2]}, "must be a whole number"),
    (node("AveragePool", ["image"], ["y"], kernel_shape=[2, 2], ceil_mode=-7), {"image": IMAGE}, "must be 0 or 1"),
    (node("LpPool", ["image"], ["y"], kernel_shape=[2, 2], p=0), {"image": IMAGE}, "a norm has 1 or more"),
    (node("GridSample", ["image", "grid"], ["y"]), {"image": IMAGE, "grid": X[None]}, "at a grid of shape"),
    (node("ConvTranspose", ["image", "image"], ["y"], output_shape=[4]), {"image": IMAGE}, "output_shape .* does not fit"),
    (node("TensorScatter", ["cache", "part", "places"], ["y"]),
     {"cache": np.zeros((3, 1, 4, 2), np.float32), "part": np.zeros((3, 1, 1, 2), np.float32)}, "not one place for each"),
    (node("ReduceMean", ["none", "one_axis"], ["y"]), {"none": np.zeros((2, 0), np.float32)}, "mean of no numbers"),
    (node("Col2Im", ["x", "two_sizes", "zeros"], ["y"]), {"x": X[None]}, "blocks .* do not fit"),
    (node("Celu", ["x"], ["y"], alpha=0.0), {"x": X}, "alpha is not 0"),
    (node("LSTM", ["sequence", "flat", "flat"], ["y"]), {"sequence": np.zeros((2, 1, 3), np.float32)}, "must have 3 dimensions"),
    (node("QuantizeLinear", ["column", "two"], ["y"]), {"column": np.zeros((3, 1), np.float32)}, "2 scales"),
    (node("MultiHeadAttention", ["sequence"] * 3, ["y"], domain="com.microsoft", num_heads=0),
     {"sequence": np.zeros((2, 1, 3), np.float32)}, "not of 0 heads"),
])
def test_onnx(nodes: Any, inputs: dict[str, np.ndarray], why: str) -> None:
    constants = {
        "negative": np.array([0, -1]), "places": np.array([[0, 0], [1, 1]]), "one": np.float32(1), "zero": np.int64(0),
        "zeros": np.array([0, 0]), "huge": np.array([1, 3e38], np.float32), "endless": np.float32(np.inf),
        "one_axis": np.array([1]), "two": np.array([3, 4], np.float32), "flat": np.zeros(4, np.float32),
        "two_sizes": np.array([2, 2])}
    used = {name: value for name, value in constants.items() if name in nodes.input}
    module = read_model(make_model([nodes], inputs, ["y"], used, opset=24 if nodes.op_type == "TensorScatter" else 18))
    with pytest.raises(ConversionError, match=why) as caught:
        transload.lower(module, "tosa")
    assert caught.value.__cause__ is None  # no rewrite failed


def test_branches_in_branches_deeper_than_messages_are_read() -> None:
    model = make_model([node("Identity", ["x"], ["y"])], {"x": X}, ["y"])
    graph = model.graph.SerializeToString()
    for _ in range(400):  # a graph's node (1), its attribute (5), that one's graph (6)
        graph = _field(1, _field(1, b"c") + _field(4, b"If") + _field(5, _field(1, b"then_branch") + _field(6, graph)))
    with pytest.raises(ReadError, match="deeper than protocol buffers are read"):
        transload.load(text=_field(7, graph), format="onnx")


def _field(number: int, content: bytes) -> bytes:
    """A field of a message in protocol buffers' wire format."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2]) + bytes(length) + bytes([size]) + content


def test_a_constant_of_what_is_no_number() -> None:
    constant = node("Constant", [], ["y"])
    constant.attribute.add(name="value_float", type=3, s=b"x")
    with pytest.raises(ReadError, match="no numbers"):
        read_model(make_model([constant], {}, ["y"]))


def test_numbers_of_8_bits_are_judged_as_what_they_are(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = make_model([node("Cast", ["x"], ["y"], to=17, saturate=0)], {"x": X}, ["y"], opset=19)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), engine="reference")
    assert verdict.passed, verdict.broken


def test_any_of_floats() -> None:
    axes = ((1,), "int32", np.array([0], np.int32))
    content = write_operator("REDUCE_ANY", [((2, 3), "float32", None, None), (*axes, None)], [((3,), "float32", None, None)])
    refused(content, "ReduceAll and ReduceAny take i1")


def test_a_transform_of_no_numbers() -> None:
    lengths = ((2,), "int32", np.array([0, 0], np.int32), None)
    content = write_operator("RFFT2D", [((4, 4), "float32", None, None), lengths], [((4, 3), "complex64", None, None)])
    refused(content, "transform of no numbers|complex")


def test_a_scale_that_is_zero() -> None:
    source, target = QuantType(I8, F32, (0.5,), (0,)), QuantType(I8, F32, (0.0,), (0,))
    g = Graph(TensorType((1, 2, 2, 1), source))
    made = g.builder.emit("top.MaxPool", g.inputs[0], kernel_shape=(1, 1), do_relu=True, relu_limit=6.0, element=target)
    with pytest.raises(ConversionError, match=r"no number of a type of scale 0"):
        transload.lower(g.done(made), "tosa")


def test_a_softmax_of_nothing() -> None:
    element = QuantType(I8, F32, (0.5,), (0,))
    unit = QuantType(I8, F32, (1 / 256,), (-128,))
    g = Graph(TensorType((2, 0), element))
    transload.lower(g.done(g.builder.emit("top.Softmax", g.inputs[0], axis=1, element=unit)), "stablehlo")


def test_inputs_of_text_are_not_made_up() -> None:
    model = ModelWriter()
    model.inputs = model.outputs = [model.add_tensor("words", (2,), "string")]
    with pytest.raises(RunError, match=r"'words' holds .*string, of which there are no random ones"):
        random_inputs(read_bytes(model.finish()))


@pytest.mark.parametrize(("condition_type", "result_type", "why"), [
    ("float16", "float32", "and no truth value"), ("bool", "int8", "stored as i8, and its subgraph .* gives f32")])
def test_an_if_that_is_none(condition_type: str, result_type: str, why: str) -> None:
    model = ModelWriter()
    condition, x, made = (model.add_tensor(name, shape, dtype) for name, shape, dtype in (
        ("c", (), condition_type), ("x", (2,), "float32"), ("y", (2,), result_type)))
    for name in ("yes", "no"):
        graph = model.add_subgraph(name)
        graph.inputs = graph.outputs = [graph.add_tensor("v", (2,), "float32")]
    model.add_operator("IF", [condition, x], [made], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    model.inputs, model.outputs = [condition, x], [made]
    refused(model.finish(), why)


def test_inputs_without_sizes_are_not_made_up() -> None:
    text = """"builtin.module"() ({
      "func.func"() ({
      ^bb0(%x: tensor<?xf32>):
        "func.return"(%x) : (tensor<?xf32>) -> ()
      }) {function_type = (tensor<?xf32>) -> tensor<?xf32>, sym_name = "main"} : () -> ()
    }) : () -> ()"""
    with pytest.raises(RunError, match="no static shape"):
        random_inputs(parse_module(text))


def test_text_whose_shapes_do_not_follow() -> None:
    text = """"builtin.module"() ({
      "func.func"() ({
      ^bb0(%x: tensor<2x3xf32>):
        %y = "top.Permute"(%x) {order = array<i64: OIO>} : (tensor<2x3xf32>) -> tensor<SHAPExf32>
        "func.return"(%y) : (tensor<SHAPExf32>) -> ()
      }) {function_type = (tensor<2x3xf32>) -> tensor<SHAPExf32>, sym_name = "main"} : () -> ()
    }) : () -> ()"""
    good = text.replace("OIO", "1, 0").replace("SHAPE", "3x2")
    transload.load(text=good, format="mlir")
    for order, shape, why in (("2, 0", "3x2", "axis 2"), ("1, 0", "2x3", "has to be tensor<3x2xf32>")):
        with pytest.raises(ReadError, match=why):
            transload.load(text=text.replace("OIO", order).replace("SHAPE", shape), format="mlir")


def test_a_table_for_resizing_is_not_made_without_end() -> None:
    size = ((2,), "int32", np.array([1 << 28, 4], np.int32), None)
    given, made = [((1, 5, 4, 1), "bool", None, None), size], [((1,), "bool", None, None)]
    content = write_operator("RESIZE_NEAREST_NEIGHBOR", given, made, {"align_corners": True})
    refused(content, "would take a table of more than")


def test_nothing_computes_quantized_numbers_of_64_bits() -> None:
    places = ((1,), "int32", np.array([0], np.int32), None)
    counts = ((1,), "int32", np.array([2], np.int32), None)
    content = write_operator(
        "SLICE", [((4,), "int64", None, ([0.5], [0], 0)), places, counts], [((2,), "int64", None, ([0.5], [0], 0))])
    refused(content, "quantized numbers of 64 bits")


FLOAT = "float32", None, None
SMALL = ([0.5], [0], 0)


def _slice(begin: int, end: int, stride: int, **options: Any) -> bytes:
    places = [((1,), "int32", np.array([number], np.int32), None) for number in (begin, end, stride)]
    return write_operator("STRIDED_SLICE", [((7,), *FLOAT), *places], [((1,), *FLOAT)], options)


@pytest.mark.parametrize(("begin", "length", "stride"), [(3, 5, 2), (3, -1, 1), (-7, -1, -1), (3, 0, 1)])
def test_a_slice_by_length_that_reaches_outside(begin: int, length: int, stride: int) -> None:
    """LiteRT gives elements that nobody wrote."""
    refused(_slice(begin, length, stride, offset=True), "no part of a dimension of size 7")


@pytest.mark.parametrize(("begin", "length", "stride", "mask", "kept"), [
    (-4, 3, 1, 0, [3, 4, 5]), (3, 4, 1, 1, [0, 1, 2, 3]), (6, -3, -1, 0, [6, 5, 4]), (-4, 4, 1, 0, [3, 4, 5, 6])])
def test_a_slice_by_length(begin: int, length: int, stride: int, mask: int, kept: list[int]) -> None:
    """As LiteRT computes it: the length counts from where the slice begins."""
    module = read_bytes(_slice(begin, length, stride, offset=True, begin_mask=mask))
    (made,) = transload.run(transload.lower(module, "top"), {"in0": np.arange(7, dtype=np.float32)}).values()
    assert made.tolist() == kept


def test_one_element_by_a_negative_step() -> None:
    refused(_slice(3, 4, -1, shrink_axis_mask=1), "by steps of -1")


@pytest.mark.parametrize(("operator", "inputs", "outputs", "options", "why"), [
    ("DEQUANTIZE", [((2,), "int8", None, SMALL)], [((2,), "int4", None, None)], None, "gives f32"),
    ("QUANTIZE", [((2,), *FLOAT)], [((2,), "complex64", None, None)], None, "floats or quantized"),
    ("FAKE_QUANT", [((2,), *FLOAT)], [((2,), *FLOAT)], {"min": -np.inf, "max": 2.0, "num_bits": 8}, "cannot be quantized"),
    ("SUM", [((2,), "int8", None, SMALL), ((0,), "int32", np.zeros(0, np.int32), None)], [((2,), "int8", None, None)], None,
     "both have to be quantized, or none"),
    ("REDUCE_MAX", [((2,), "uint8", None, SMALL), ((1,), "int32", np.array([0], np.int32), None)], [((1,), "int32", None, SMALL)],
     None, "stored otherwise"),
    ("RESIZE_BILINEAR", [((1, 4, 5, 3), "int16", None, SMALL), ((2,), "int32", np.array([257, 1], np.int32), None)],
     [((1, 257, 1, 3), "int16", None, SMALL)], None, "reads pixels outside the image"),
    ("REVERSE_V2", [((2,), "int32", None, SMALL), ((1,), "int32", np.array([0], np.int32), None)],
     [((2,), "uint8", None, SMALL)], None, "moves numbers"),
    ("MAX_POOL_2D", [((2, 7, 8, 3), "uint8", None, None)], [((2, 4, 4, 3), "uint8", None, None)],
     {"padding": "SAME", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 3,
      "fused_activation_function": "RELU"},
     "integers that have no scale"),
    ("SUB", [((2,), "int16", None, SMALL)] * 2, [((2,), "int16", None, ([1e-30], [0], 0))], None, "cannot count them"),
    ("SUB", [((2,), "bool", None, None)] * 2, [((2,), "bool", None, None)], None, "numbers that are no flags"),
    ("HARD_SWISH", [((2,), "uint8", None, SMALL)], [((2,), "uint8", None, ([0.0], [0], 0))], None, "scale of 0"),
    ("MATRIX_DIAG", [((2,), "resource", None, None)], [((2, 2), "resource", None, None)], None, "resource"),
    ("SVDF", [((2, 3), *FLOAT), ((3, 3), "float32", np.zeros((3, 3), np.float32), None),
              ((3, 4), "float32", np.zeros((3, 4), np.float32), None), None, ((2, 12), *FLOAT, "variable")],
     [((2, 3), "int64", None, None)], {"rank": 1}, "its result is stored as i64; .* gives what operand 0 is stored as, f32"),
])
def test_tflite(
    operator: str, inputs: list[Any], outputs: list[Any], options: dict[str, Any] | None, why: str,
) -> None:
    refused(write_operator(operator, inputs, outputs, options), why)


def test_a_number_outside_is_not_taken() -> None:
    places = ((), "int32", np.array(1999998, np.int32), None)
    content = write_operator("GATHER", [((5, 4), *FLOAT), places], [((4,), *FLOAT)], {"axis": 0})
    refused(content, "index 1999998 is outside a dimension of size 5", "stablehlo")


def test_a_least_of_no_numbers_is_what_it_starts_from() -> None:
    axes = ((1,), "int32", np.array([1], np.int32), None)
    content = write_operator("REDUCE_MIN", [((2, 0), "int32", None, None), axes], [((2,), "int32", None, None)])
    module = transload.lower(read_bytes(content), "tosa")
    (made,) = transload.run(module, {"in0": np.zeros((2, 0), np.int32)}, engine="reference").values()
    assert made.tolist() == [2**31 - 1] * 2


def _function(types: str, result: str, body: str) -> Any:
    """A function of one argument `%x` that gives `%y`."""
    return parse_module(f""""builtin.module"() ({{
      "func.func"() ({{
      ^bb0(%x: {types}):
        {body}
        "func.return"(%y) : ({result}) -> ()
      }}) {{function_type = ({types}) -> {result}, sym_name = "main"}} : () -> ()
    }}) : () -> ()""")


def test_elements_that_stablehlo_lacks() -> None:
    module = _function("tensor<2xindex>", "tensor<2xi1>", '%y = "tosa.greater"(%x, %x) : (tensor<2xindex>, tensor<2xindex>) -> '
                       'tensor<2xi1>')
    with pytest.raises(ConversionError, match="StableHLO has no type index"):
        transload.lower(module, "stablehlo")


@pytest.mark.parametrize(("shift", "op"), [
    (-30, '"tosa.rescale"(%x, %m, %s, %z, %z) {scale32 = true, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, '
          'per_channel = false, input_unsigned = false, output_unsigned = false} : '
          '(tensor<2xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>'),
    (80, '"tosa.mul"(%x, %x, %s) : (tensor<2xi32>, tensor<2xi32>, tensor<1xi8>) -> tensor<2xi32>')])
def test_shifts_that_are_none(shift: int, op: str) -> None:
    module = _function("tensor<2xi32>", "tensor<2xi32>", f"""
        %m = "tosa.const"() {{values = dense<1> : tensor<1xi32>}} : () -> tensor<1xi32>
        %z = "tosa.const"() {{values = dense<0> : tensor<1xi32>}} : () -> tensor<1xi32>
        %s = "tosa.const"() {{values = dense<{shift}> : tensor<1xi8>}} : () -> tensor<1xi8>
        %y = {op}""")
    with pytest.raises(ConversionError, match=f"shifts are from .*{shift}"):
        transload.lower(module, "stablehlo")


def test_an_op_that_nobody_declares_stays_where_blocks_are_looked_for() -> None:
    module = _function("tensor<2xf32>", "tensor<2xf32>", '%y = "top.Nothing"(%x) : (tensor<2xf32>) -> tensor<2xf32>')
    with pytest.raises(ConversionError, match=r"top\.Nothing"):
        transload.lower(module, "tosa")


def test_results_that_ops_rely_on_have_the_shape_that_is_said() -> None:
    """Of a dialect that is rewritten, the results are inferred; an op that is there already has its types."""
    module = _function("tensor<1x4x1xf32>", "tensor<4x4xf32>", """
        %d = "onnx.Neg"(%x) : (tensor<1x4x1xf32>) -> tensor<4x4xf32>
        %y = "top.Abs"(%d) : (tensor<4x4xf32>) -> tensor<4x4xf32>""")
    module.attributes["onnx.opset"] = {"ai.onnx": 18}
    with pytest.raises(ConversionError, match="said to be tensor<4x4xf32>, and is tensor<1x4x1xf32>"):
        transload.lower(module, "top")


def test_one_number_for_more_elements_than_memory_holds() -> None:
    module = _function("tensor<5xui8>", "tensor<2147483647xui8>", """
        %y = "top.Weight"() {value = dense<5> : tensor<2147483647xui8>} : () -> tensor<2147483647xui8>""")
    lowered = transload.lower(module, "tosa")
    assert all(op.attributes["values"].splat_value() is not None for op in lowered.walk() if op.name == "tosa.const")


def test_a_repeated_number_in_no_place() -> None:
    g = Graph((2, 3, 0, 8), (2, 3, 1, 8))
    repeated = g.builder.constant(Dense(SplatData(np.float32(1), (2, 1, 0, 8))))
    transload.lower(g.done(g.builder.emit("top.Add", g.inputs[0], repeated)), "tosa")


def test_a_function_without_a_body_is_only_declared() -> None:
    text = """"builtin.module"() ({
      "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> tensor<2xf32>}> ({}) : () -> ()
    }) : () -> ()"""
    module = transload.load(text=text, format="mlir")
    with pytest.raises(UsageError, match="'main' of the module is only declared"):
        _ = module.inputs


def test_many_inputs_of_one_op_are_made_up_in_a_moment() -> None:
    g = Graph(*[(1,)] * 10_000)
    module = g.done(g.Concat(*g.inputs, axis=0))
    began = time.process_time()
    assert len(random_inputs(module, hub=module)) == 10_000
    assert time.process_time() - began < 5


def test_loops_in_loops_are_converted_as_deep_as_the_stack_reaches() -> None:
    """Each level is a rule that converts the subgraph of the next."""
    model = ModelWriter()
    x, made = (model.add_tensor(name, (), "bool") for name in ("x", "made"))
    for level in range(100):
        for part in ("cond", "body"):
            graph = model.add_subgraph(f"{part}{level}")
            graph.inputs = graph.outputs = [graph.add_tensor("v", (), "bool")]
            if part == "body" and level < 99:
                graph.outputs = [graph.add_tensor("w", (), "bool")]
                following = {"cond_subgraph_index": 2 * level + 3, "body_subgraph_index": 2 * level + 4}
                graph.add_operator("WHILE", graph.inputs, graph.outputs, following)
    model.add_operator("WHILE", [x], [made], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    model.inputs, model.outputs = [x], [made]
    with pytest.raises(ConversionError, match="nested more than 48 deep"):
        transload.lower(read_bytes(model.finish()), "tosa")


def test_inputs_of_two_thousand_million_numbers_are_not_made_up() -> None:
    module = _function("tensor<2147483647xf32>", "tensor<2147483647xf32>",
                       '%y = "tosa.abs"(%x) : (tensor<2147483647xf32>) -> tensor<2147483647xf32>')
    with pytest.raises(RunError, match=r"no inputs can be made up: .* more than 268,435,456 elements"):
        random_inputs(module)


def test_limits_that_are_no_numbers() -> None:
    module = _function("tensor<2xf32>", "tensor<2xf32>",
                       '%y = "top.Clip"(%x) {min = 0.0, max = 0x7FC00000 : f32} : (tensor<2xf32>) -> tensor<2xf32>')
    with pytest.raises(TransloadError, match="min and max are not NaN"):
        verify(module)


def test_steps_that_no_counter_holds() -> None:
    module = _function(
        "tensor<2147483648x2x4xf32>", "tensor<2147483648x1x2x3xf32>",
        '%w = "top.Weight"() {value = dense<1.0> : tensor<1x3x4xf32>} : () -> tensor<1x3x4xf32>\n'
        '%r = "top.Weight"() {value = dense<1.0> : tensor<1x3x3xf32>} : () -> tensor<1x3x3xf32>\n'
        '%y, %h = "top.RNN"(%x, %w, %r) {hidden_size = 3 : i64} : (tensor<2147483648x2x4xf32>, tensor<1x3x4xf32>, '
        'tensor<1x3x3xf32>) -> (tensor<2147483648x1x2x3xf32>, tensor<1x2x3xf32>)')
    with pytest.raises(ConversionError, match=r"more than i32 counts|elements"):
        transload.lower(module, "stablehlo")


@pytest.mark.parametrize("k", [2**62, -2**62])
def test_diagonals_far_outside(k: int) -> None:
    module = _function("tensor<2x3xf32>", "tensor<2x3xf32>",
                       f'%y = "top.Trilu"(%x) {{upper = true, k = {k} : i64}} : (tensor<2x3xf32>) -> tensor<2x3xf32>')
    x = np.ones((2, 3), np.float32)
    here, there = (transload.run(each, {"arg0": x}, engine="reference") for each in (module, transload.lower(module, "tosa")))
    assert [a.tolist() for a in here.values()] == [a.tolist() for a in there.values()]


@pytest.mark.parametrize(("operator", "operands"), [("MEAN", 1), ("REDUCE_PROD", 1), ("ADD", 2), ("SQUARED_DIFFERENCE", 2)])
@pytest.mark.parametrize(("given", "made"), [(0.5, 0.0), (0.0, 0.5), (0.0, 0.0)])
def test_steps_of_zero(operator: str, operands: int, given: float, made: float) -> None:
    inputs: list[Any] = [((2, 3), "int8", None, ([given], [0], 0))] * operands
    if operands == 1:
        inputs.append(((1,), "int32", np.array([1], np.int32), None))
    shape = (2,) if operands == 1 else (2, 3)
    try:
        transload.lower(read_bytes(write_operator(operator, inputs, [(shape, "int8", None, ([made], [0], 0))])), "tosa")
    except ConversionError as error:
        assert error.__cause__ is None, error  # no rewrite failed


def test_limits_of_another_type() -> None:
    constants = {"low": np.array(0, np.int16), "high": np.array(2**55 + 1, np.int64)}
    model = make_model([node("Clip", ["x", "low", "high"], ["y"])], {"x": np.zeros(3, np.int16)}, ["y"], constants, opset=13)
    with pytest.raises(ConversionError, match="36028797018963969 is none of i16"):
        transload.lower(read_model(model), "stablehlo")


def test_places_in_a_dimension_that_i32_does_not_count() -> None:
    g = Graph(TensorType((3_000_000_000,), I8), TensorType((2,), I32))
    lowered = transload.lower(g.done(g.builder.emit("top.Gather", g.inputs[0], g.inputs[1], axis=0)), "stablehlo")
    assert "i64" in str(next(op for op in lowered.walk() if op.name == "stablehlo.add").results[0].type)


def test_complex_numbers_have_no_order() -> None:
    axes = ((1,), "int32", np.array([0], np.int32), None)
    content = write_operator("REDUCE_MAX", [((2,), "complex64", None, None), axes], [((), "complex64", None, None)])
    refused(content, "least or the greatest", "stablehlo")


def test_an_lstm_that_says_it_gives_other_numbers_than_it_takes() -> None:
    case = next(case for case in all_cases() if case.note == "integer" and case.op == "UNIDIRECTIONAL_SEQUENCE_LSTM")
    module = read_bytes(build(case).content)
    op = next(op for op in module.walk() if op.name == "tfl.unidirectional_sequence_lstm")
    said = QuantType(IntegerType(4, "u"), F32, (0.0071,), (4,))
    op.results[0].type = op.results[0].tensor_type.with_element(said)
    with pytest.raises(ConversionError, match="gives it as its state is"):
        transload.lower(module, "tosa")


@pytest.mark.parametrize(("operator", "inputs", "outputs", "options", "why"), [
    ("EXP", [((2,), "int16", None, SMALL)], [((2,), "int8", None, SMALL)], None, "stored as i8; .* operand 0 is stored as, i16"),
    ("FILL", [((1,), "int32", np.array([2], np.int32), None), ((), *FLOAT)], [((2,), "int32", None, None)], None, "operand 1"),
    ("SHAPE", [((2, 3), *FLOAT)], [((2,), "bool", None, None)], {"out_type": "INT32"}, "its option out_type says INT32"),
    ("SVDF", [((2, 3), *FLOAT), ((3, 3), "float32", np.zeros((3, 3), np.float32), None),
              ((3, 4), "float32", np.zeros((3, 4), np.float32), None), None, ((2, 12), "int8", None, None, "variable")],
     [((2, 3), *FLOAT)], {"rank": 1}, "its state is stored as i8; .* floats in f32"),
    ("SVDF", [((2, 3), *FLOAT), ((3, 3), "float32", np.zeros((3, 3), np.float32), None),
              ((3, 4), "float32", np.zeros((3, 4), np.float32), None), None], [((2, 3), *FLOAT)], {"rank": 1}, "and no state"),
    ("DEQUANTIZE", [((2,), "int16", None, SMALL)], [((2,), "bfloat16", None, None)], None, "gives f32"),
    ("EMBEDDING_LOOKUP", [((2,), "int32", None, None), ((3, 2), *FLOAT)], [((2, 2), "int16", None, None)], None, "operand 1"),
    ("UNIDIRECTIONAL_SEQUENCE_RNN", [((2, 2), *FLOAT), ((2, 2), *FLOAT), ((2, 2), *FLOAT), ((2,), *FLOAT),
     ((1, 2), *FLOAT, "variable")], [((2, 2), "float16", None, None)], {"time_major": True}, "its result is stored as f16"),
    ("WHERE", [((2,), "bool", None, None)], [((2, 1), "int8", None, None)], None, "LiteRT's kernel gives i64"),
    ("HASHTABLE_LOOKUP", [((2,), "int32", None, None), ((3,), "int32", np.array([1, 1, 4], np.int32), None), ((3,), *FLOAT)],
     [((2,), *FLOAT), ((2,), "uint8", None, None)], None, "occur twice"),
    ("SOFTMAX", [((4,), "uint8", None, SMALL)], [((4,), "uint8", None, SMALL)], {"beta": 1.0}, "in steps of 1/256"),
    ("LOGISTIC", [((4,), "int16", None, ([0.0], [0], 0))], [((4,), "int16", None, ([2.0**-15], [0], 0))], None,
     "takes its logarithm"),
])
def test_what_no_kernel_of_litert_gives(
    operator: str, inputs: list[Any], outputs: list[Any], options: dict[str, Any] | None, why: str,
) -> None:
    refused(write_operator(operator, inputs, outputs, options), why)


def test_padding_copies_what_is_stored() -> None:
    """Whatever scale the input notes; LiteRT gives the same."""
    places, fill = np.array([[1, 0]], np.int32), np.array(5, np.int8)
    given = [((2,), "int8", None, ([0.25], [0], 0)), ((1, 2), "int32", places, None), ((), "int8", fill, SMALL)]
    module = read_bytes(write_operator("PADV2", given, [((3,), "int8", None, SMALL)]))
    (made,) = transload.run(transload.lower(module, "tosa"), {"in0": np.array([3, -4], np.int8)}, engine="reference").values()
    assert made.tolist() == [5, 3, -4]


def test_the_greatest_of_bfloat16() -> None:
    ids, count = np.array([0, 0], np.int32), np.array(2, np.int32)
    given = [((2,), "bfloat16", None, None), ((2,), "int32", ids, None), ((), "int32", count, None)]
    transload.lower(read_bytes(write_operator("UNSORTED_SEGMENT_MAX", given, [((2,), "bfloat16", None, None)])), "tosa")


def test_a_step_of_the_old_lstm_that_gives_one_result() -> None:
    case = next(case for case in all_cases() if case.op == "LSTM" and case.format == "u8")
    module = read_bytes(build(case).content)
    op = next(op for op in module.walk() if op.name == "tfl.basic_lstm")
    short = Op(op.name, op.operands, [op.results[0].type], op.attributes, (), op.location)
    op.parent.insert(short, op)
    op.parent.terminator.operands = (short.results[0],)
    op.erase()
    module.main.attributes["res_attrs"] = [{}]
    update_function_type(module.main)
    with pytest.raises(ConversionError, match="does not note how the inner values"):
        transload.lower(module, "tosa")


@pytest.mark.parametrize(("op", "kept"), [
    ('"tosa.concat"(%x, %b) <{axis = 0 : i32}> : (tensor<2xf32>, tensor<2xi8>) -> tensor<4xf32>', "tensor<4xf32>"),
    ('"tosa.pad"(%x, %p, %z) : (tensor<2xf32>, !tosa.shape<2>, tensor<1xi8>) -> tensor<4xf32>', "tensor<4xf32>")])
def test_numbers_of_two_types_in_one_tensor(op: str, kept: str) -> None:
    module = _function("tensor<2xf32>", kept, f"""
        %b = "tosa.const"() {{values = dense<1> : tensor<2xi8>}} : () -> tensor<2xi8>
        %z = "tosa.const"() {{values = dense<1> : tensor<1xi8>}} : () -> tensor<1xi8>
        %p = "tosa.const_shape"() {{values = dense<1> : tensor<2xindex>}} : () -> !tosa.shape<2>
        %y = {op}""")
    with pytest.raises(TransloadError, match="f32 and i8"):
        verify(module)


def test_an_element_type_that_no_array_has_at_a_border() -> None:
    module = _function("tensor<2xi8>", "tensor<2xi8>", '%y = "tosa.abs"(%x) : (tensor<2xi8>) -> tensor<2xi8>')
    module.main.attributes["res_attrs"] = [{"transload.element": IntegerType(48)}]
    assert str(transload.lower(module, "stablehlo").main.attribute("function_type").results[0]) == "tensor<2xi8>"


@pytest.mark.parametrize("name", ["Clip", "Exp", "Sigmoid", "Floor", "Sign"])
def test_a_quantized_sum_of_32_bits_keeps_its_type(name: str) -> None:
    """With a zero point, which only 8 bits have in TOSA: what follows was computed of the stored numbers."""
    kinds = (I32, 2.1, -5), (I8, 0.05, 3), (I8, 0.1, 0)
    sums, given, weights = (QuantType(kind, F32, (scale,), (zero,)) for kind, scale, zero in kinds)
    g = Graph(TensorType((3, 8), given))
    matrix = g.builder.constant(Dense(np.ones((6, 8), np.int8)), element=weights)
    product = g.builder.emit("top.MatMul", g.inputs[0], matrix, None, right_transpose=True, element=sums, rounding="exact")
    limits = {"min": -1.0, "max": 1.0} if name == "Clip" else {}
    transload.lower(g.done(g.builder.emit(f"top.{name}", product, element=sums, **limits)), "tosa")


@pytest.mark.parametrize(("added", "low", "high"), [(8589934592, -128, 127), (-(2**31), 10, 20), (5, -128, 127)])
def test_numbers_moved_and_clamped_in_64_bits(added: int, low: int, high: int) -> None:
    module = _function("tensor<3xi32>", "tensor<3xi8>", f"""
        %w = "stablehlo.convert"(%x) : (tensor<3xi32>) -> tensor<3xi64>
        %a = "stablehlo.constant"() {{value = dense<{added}> : tensor<3xi64>}} : () -> tensor<3xi64>
        %s = "stablehlo.add"(%w, %a) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
        %l = "stablehlo.constant"() {{value = dense<{low}> : tensor<i64>}} : () -> tensor<i64>
        %h = "stablehlo.constant"() {{value = dense<{high}> : tensor<i64>}} : () -> tensor<i64>
        %c = "stablehlo.clamp"(%l, %s, %h) : (tensor<i64>, tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
        %y = "stablehlo.convert"(%c) : (tensor<3xi64>) -> tensor<3xi8>""")
    x = np.array([-(2**31), 3, 2**31 - 1], np.int32)
    try:
        lowered = transload.lower(module, "tosa")
    except ConversionError as error:
        assert error.__cause__ is None, error  # no rewrite failed: 64 bits are not proved to fit into 32
        return
    (made,) = transload.run(lowered, {"arg0": x}, engine="reference").values()
    assert made.tolist() == np.clip(x.astype(np.int64) + added, low, high).tolist()


def test_a_scale_of_the_result_that_leaves_nothing() -> None:
    """HARD_SWISH divides by more than 2^62."""
    quantized = [((4,), "int8", None, (scale, [0], 0)) for scale in ([0.05], [1e30])]
    transload.lower(read_bytes(write_operator("HARD_SWISH", quantized[:1], quantized[1:])), "stablehlo")


@pytest.mark.parametrize("name", ["Gather", "Slice", "TopK"])
def test_nothing_of_a_quantized_type_is_of_that_type(name: str) -> None:
    """What follows was computed of stored numbers, and of real ones."""
    element = QuantType(I8, F32, (0.05,), (3,))
    g = Graph(TensorType((5, 3, 0), element), TensorType((2,), I32), TensorType((2, 3, 1), BOOL))
    x, places, choice = g.inputs
    nothing = {
        "Gather": lambda: g.builder.emit("top.Gather", x, places, axis=0),
        "Slice": lambda: g.builder.emit("top.Slice", x, offset=(0, 0, 0), ends=(2, 3, 0), steps=(1, 1, 1)),
        "TopK": lambda: g.builder.emit("top.Slice", g.builder.emit(
            "top.TopK", x, axis=1, k=3)[0], offset=(0, 0, 0), ends=(2, 3, 0), steps=(1, 1, 1))}[name]()
    number = g.builder.constant(Dense(np.array(0, np.int8)), element=element)
    transload.lower(g.done(g.builder.emit("top.Where", choice, nothing, number, element=element)), "tosa")


def test_diagonals_of_other_matrices() -> None:
    content = write_operator("MATRIX_SET_DIAG", [((64, 40), *FLOAT), ((3, 40), *FLOAT)], [((64, 40), *FLOAT)])
    refused(content, "are not those of matrices")


def test_two_states_in_one_tensor() -> None:
    case = next(case for case in all_cases() if case.op == "UNIDIRECTIONAL_SEQUENCE_LSTM" and case.format == "f32")
    module = read_bytes(build(case).content)
    op = next(op for op in module.walk() if op.name == "tfl.unidirectional_sequence_lstm")
    op.set_operand(19, op.operands[18])
    with pytest.raises(ConversionError, match="two of its states are one tensor"):
        transload.lower(module, "tosa")

"""What fuzzing found, by class, in the smallest file that shows it: every one ends in an error of ours with the op's name."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package 'onnx' is not installed")

import transload
from transload.arrays import write_arrays
from transload.budget import allowed
from transload.errors import BuildError, ConversionError, ReadError, RunError, TransloadError, UsageError
from transload.files import need_directory
from transload.ir import BOOL, F32, I8, I32, Dense, IntegerType, QuantType, TensorType
from transload.ir.constants import SplatData
from transload.ir.verify import verify
from transload.text import parse_module, print_module
from transload.verification.inputs import random_inputs
from transload.verification.tolerance import Tolerance
from transload.verification.verify import verify_conversion

from tests.support.graphs import Graph
from tests.support.judge_versions import is_before
from tests.support.onnx_models import make_model, node, read_model

X = np.zeros((2, 3), np.float32)
IMAGE = np.zeros((1, 1, 2, 2), np.float32)


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
    (node("TensorScatter", ["cache", "part", "starts"], ["y"]),
     {"cache": np.zeros((3, 1, 4, 2), np.float32), "part": np.zeros((3, 1, 1, 2), np.float32), "starts": np.zeros(2, np.int64)},
     "not one place for each"),
    (node("TensorScatter", ["cache", "part"], ["y"]),
     {"cache": np.zeros((3, 1, 4, 2), np.float32), "part": np.zeros((3, 1, 5, 2), np.float32)}, "does not take"),
    (node("ReduceMean", ["none", "one_axis"], ["y"]), {"none": np.zeros((2, 0), np.float32)}, "mean of no numbers"),
    (node("Col2Im", ["x", "two_sizes", "zeros"], ["y"]), {"x": X[None]}, "blocks .* do not fit"),
    (node("Cast", ["x"], ["y"], to=10, saturate=2**62), {"x": X}, "saturate is 4611686018427387904, and must be 0 or 1"),
    (node("Resize", ["x", "roi", "", "far"], ["y"], coordinate_transformation_mode="tf_crop_and_resize"), {"x": X},
     "resizes shape"),
    (node("DeformConv", ["image", "filter", "moved"], ["y"], kernel_shape=[3, 1]),
     {"image": IMAGE, "filter": np.zeros((1, 1, 1, 2), np.float32), "moved": np.zeros((1, 4, 2, 1), np.float32)},
     "has offsets of shape|kernel"),
    (node("RotaryEmbedding", ["image", "angles", "angles"], ["y"], interleaved=3),
     {"image": IMAGE, "angles": np.zeros((1, 2, 1), np.float32)}, "interleaved is 3, and must be 0 or 1"),
    (node("Celu", ["x"], ["y"], alpha=0.0), {"x": X}, "alpha, by which x is divided, is finite and not 0"),
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
        "two_sizes": np.array([2, 2]), "roi": np.array([0, 0, 1, 1], np.float32), "far": np.array([2, 2**61])}
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


@pytest.mark.skipif(is_before("onnxruntime", 1, 24), reason="onnxruntime 1.23 hands no floats of 8 bits to Python")
def test_numbers_of_8_bits_are_judged_as_what_they_are(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = make_model([node("Cast", ["x"], ["y"], to=17, saturate=0)], {"x": X}, ["y"], opset=19)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), engine="reference")
    assert verdict.passed, verdict.broken


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
    for order, shape, why in (("2, 0", "3x2", "order \\[2, 0\\]"), ("1, 0", "2x3", "has to be tensor<3x2xf32>")):
        with pytest.raises(ReadError, match=why):
            transload.load(text=text.replace("OIO", order).replace("SHAPE", shape), format="mlir")


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
    with pytest.raises(ConversionError, match="no mode of the operator takes these element types: input1 index"):
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
    with pytest.raises(ConversionError, match=f"shift.*{shift}"):
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


@pytest.mark.parametrize(("base", "exponent"), [("FLOAT", "COMPLEX128"), ("COMPLEX64", "FLOAT")])
def test_powers_of_complex_numbers(base: str, exponent: str) -> None:
    from onnx import TensorProto, helper

    first, second, made = (helper.make_tensor_value_info(name, TensorProto.DataType.Value(kind), (3,))
                           for name, kind in (("a", base), ("b", exponent), ("y", base)))
    model = helper.make_model(helper.make_graph([node("Pow", ["a", "b"], ["y"])], "g", [first, second], [made]))
    with pytest.raises(ConversionError, match="where ONNX has real numbers"):
        transload.lower(read_model(model), "tosa")


def test_a_repeated_number_in_no_place() -> None:
    g = Graph((2, 3, 0, 8), (2, 3, 1, 8))
    repeated = g.builder.constant(Dense(SplatData(np.float32(1), (2, 1, 0, 8))))
    transload.lower(g.done(g.builder.emit("top.Add", g.inputs[0], repeated)), "tosa")


@pytest.mark.parametrize("to", ["stablehlo", "tosa", "onnx"])
@pytest.mark.parametrize("name", ["Div", "FloorDiv", "FloorMod", "TruncMod", "ShiftLeft", "ShiftRight", "Pow"])
def test_a_repeated_number_in_more_places_than_memory_has(name: str, to: str) -> None:
    shape = (1 << 17, 1 << 18)
    g = Graph(shape, shape, element=I32)
    repeated = g.builder.constant(Dense(SplatData(np.int32(3), shape)))
    transload.lower(g.done(g.builder.emit(f"top.{name}", g.inputs[0], repeated)), to)


def test_a_function_without_a_body_is_only_declared() -> None:
    text = """"builtin.module"() ({
      "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_visibility = "private"}> ({})
        : () -> ()
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


def test_limits_of_another_type() -> None:
    constants = {"low": np.array(0, np.int16), "high": np.array(2**55 + 1, np.int64)}
    model = make_model([node("Clip", ["x", "low", "high"], ["y"])], {"x": np.zeros(3, np.int16)}, ["y"], constants, opset=13)
    with pytest.raises(ConversionError, match="36028797018963969 is none of i16"):
        transload.lower(read_model(model), "stablehlo")


def test_places_in_a_dimension_that_i32_does_not_count() -> None:
    g = Graph(TensorType((3_000_000_000,), I8), TensorType((2,), I32))
    lowered = transload.lower(g.done(g.builder.emit("top.Gather", g.inputs[0], g.inputs[1], axis=0)), "stablehlo")
    assert "i64" in str(next(op for op in lowered.walk() if op.name == "stablehlo.add").results[0].type)


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
    module = _function("tensor<2xi8>", "tensor<2xi8>", '%y = "tosa.identity"(%x) : (tensor<2xi8>) -> tensor<2xi8>')
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


def test_verification_of_products_without_end(tmp_path: Path) -> None:
    """Expanded to 40,000 by 40,000 and multiplied by itself, 64 * 10^12 times."""
    pytest.importorskip("onnxruntime")
    nodes = [node("Expand", ["x", "size"], ["wide"]), node("MatMul", ["wide", "wide"], ["y"])]
    file = tmp_path / "model.onnx"
    model = make_model(nodes, {"x": np.ones((1, 1), np.float32)}, ["y"], {"size": np.array([40_000, 40_000])})
    file.write_bytes(model.SerializeToString())
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"))
    assert verdict.status == "skipped" and "multiply 64,000,000,000,000 times" in verdict.why


def test_results_that_no_machine_holds() -> None:
    pytest.importorskip("jaxlib")
    module = _function("tensor<f32>", "tensor<68719476736xf32>", """
        %y = "stablehlo.broadcast_in_dim"(%x) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<68719476736xf32>""")
    with allowed(memory=1 << 50), pytest.raises(RunError, match="the results take 274,877,906,944 bytes"):
        transload.run(module, {"arg0": np.float32(1)}, engine="xla")


@pytest.mark.parametrize("given", [None, "model.onnx", Path("model.onnx"), 3])
def test_what_is_no_module(given: Any) -> None:
    for function in (transload.lower, transload.quantize, lambda it: transload.save(it, "x.tosa")):
        with pytest.raises(UsageError, match="takes a module as module, and was given"):
            function(given)
    with pytest.raises(UsageError, match=r"load\(\) takes a path as path, and was given int"):
        transload.load(3)  # type: ignore[arg-type]
    with pytest.raises(BuildError, match="its name is None"):
        Graph((2,)).builder.emit(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", ["cos=nan", "cos=2", "euclid=1.5", "max_abs=nan"])
def test_tolerances_that_nothing_keeps(setting: str) -> None:
    with pytest.raises(UsageError, match="cannot be"):
        Tolerance.parse([setting])


def test_weights_that_are_no_numbers_are_not_judged(tmp_path: Path) -> None:
    """What 0 times NaN is in padding, runtimes see differently."""
    pytest.importorskip("onnxruntime")
    weights = np.ones((1, 2, 3, 3), np.float32)
    weights[0, 1, 1, 1] = np.nan
    nodes = [node("ConvTranspose", ["x", "w"], ["y"], pads=[1, 2, 1, 2], strides=[3, 2])]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": np.ones((1, 1, 3, 3), np.float32)}, ["y"], {"w": weights}).SerializeToString())
    module = transload.load(file)
    hub, lowered = transload.lower(module, "top"), transload.lower(module, "stablehlo")
    verdict = verify_conversion(module, lowered, hub=hub, engine="reference")
    assert verdict.status == "inconclusive" and "weights of y are NaN or infinite" in verdict.why


def test_a_bias_of_an_lstm_that_is_no_number_is_not_judged(tmp_path: Path) -> None:
    """onnxruntime's activations make numbers of NaN."""
    pytest.importorskip("onnxruntime")
    shapes = {"w": (1, 16, 3), "r": (1, 16, 4), "b": (1, 32)}
    held = {name: np.full(shape, 0.1, np.float32) for name, shape in shapes.items()}
    held["b"][0, 5] = np.nan
    file = tmp_path / "model.onnx"
    lstm = node("LSTM", ["x", "w", "r", "b"], ["", "y"], hidden_size=4)
    file.write_bytes(make_model([lstm], {"x": np.ones((1, 3, 3), np.float32)}, ["y"], held).SerializeToString())
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference")
    assert verdict.status == "inconclusive" and "are NaN or infinite" in verdict.why


@pytest.mark.parametrize(("height", "points"), [(1 << 20, 1 << 20), (1, 1 << 34)])
def test_a_region_is_not_looked_at_in_billions_of_places(height: int, points: int) -> None:
    boxes, numbers = np.zeros((1, 4), np.float32), np.zeros(1, np.int64)
    align = node("RoiAlign", ["x", "r", "b"], ["y"], output_height=height, output_width=1, sampling_ratio=points)
    model = make_model([align], {"x": np.zeros((1, 1, 4, 4), np.float32), "r": boxes}, ["y"], {"b": numbers})
    with pytest.raises(ConversionError, match="too large"):
        transload.lower(read_model(model), "tosa")


def test_places_where_no_file_is_written(tmp_path: Path) -> None:
    """A device in the place of a file was replaced by one; a name that is too long was called a defect."""
    import os

    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(UsageError, match="is a pipe, where a file is to be written"):
            write_arrays(tmp_path / "pipe", {"x": X})
        assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="is a directory, where a file is to be written"):
        write_arrays(tmp_path / "folder", {"x": X})
    with pytest.raises(UsageError, match="is no directory to write to"):
        need_directory(tmp_path / ("o" * 300))


def test_a_slice_of_parts_whose_size_is_not_known() -> None:
    module = _function("tensor<?x2xf32>", "tensor<1x2xf32>", """
        %j = "top.Concat"(%x, %x) {axis = 0 : i64} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
        %y = "top.Slice"(%j) {offset = array<i64: 0, 0>, ends = array<i64: 1, 2>, steps = array<i64: 1, 1>} :
             (tensor<?x2xf32>) -> tensor<1x2xf32>""")
    try:
        transload.lower(module, "tosa")
    except ConversionError as error:
        assert error.__cause__ is None, error  # no rewrite failed


def test_half_of_a_character_pair_in_text() -> None:
    with pytest.raises(ReadError, match="half of a character pair"):
        transload.load(text='"builtin.module"() ({}) {name = "\ud800"} : () -> ()', format="mlir")


@pytest.mark.parametrize("index", [-65536, 3])
def test_constant_places_outside_a_dimension(index: int) -> None:
    module = _function("tensor<3x3xf32>", "tensor<3x1x2xf32>", f"""
        %i = "top.Weight"() {{value = dense<[[{index}, 2]]> : tensor<1x2xi64>}} : () -> tensor<1x2xi64>
        %y = "top.Gather"(%x, %i) {{axis = 1 : i64}} : (tensor<3x3xf32>, tensor<1x2xi64>) -> tensor<3x1x2xf32>""")
    for to in ("stablehlo", "tosa"):
        with pytest.raises(ConversionError, match=f"{index} is outside a dimension of size 3"):
            transload.lower(module, to)


def test_a_list_of_sizes_without_end() -> None:
    """A constant that claims 2^31 - 1 sizes in a few bytes."""
    text = '''"builtin.module"() ({ "func.func"() <{sym_name = "main", function_type = (tensor<2x3xf32>) -> tensor<*xf32>}> ({
    ^bb0(%x: tensor<2x3xf32>):
      %s = "tosa.const_shape"() <{values = dense<1> : tensor<2147483647xindex>}> : () -> !tosa.shape<2147483647>
      %y = "tosa.reshape"(%x, %s) : (tensor<2x3xf32>, !tosa.shape<2147483647>) -> tensor<*xf32>
      "func.return"(%y) : (tensor<*xf32>) -> ()
    }) : () -> () }) : () -> ()'''
    started = time.process_time()
    with pytest.raises(TransloadError, match="128 are the limit"):
        verify(parse_module(text))
    assert time.process_time() - started < 5


def test_the_quantized_product_of_nothing() -> None:
    """It took the n-th root of the scale, for n = 0."""
    kind = "!quant.uniform<i8:f32, 0.5>"
    module = _function(f"tensor<2x0x{kind}>", f"tensor<2x{kind}>", f"""
        %y = "top.Reduce"(%x) {{axes = array<i64: 1>, keepdims = false, mode = "ReduceProd"}} : (tensor<2x0x{kind}>) ->
             tensor<2x{kind}>""")
    try:
        transload.lower(module, "tosa")
    except ConversionError as error:
        assert error.__cause__ is None, error  # no rewrite failed


@pytest.mark.parametrize(("element", "least", "greatest", "wanted"), [
    ("f32", -1.0, -np.inf, "0xFF800000"), ("f16", 1e6, 2e6, "0x7C00"), ("i8", 1e3, 2e3, "127"), ("i16", -9e9, -8e9, "-32768")])
def test_limits_beyond_the_numbers_of_a_type(element: str, least: float, greatest: float, wanted: str) -> None:
    """Both limits above, or below, all numbers: TOSA was given a lower bound above the upper one."""
    module = _function(f"tensor<2x{element}>", f"tensor<2x{element}>", f"""
        %y = "top.Clip"(%x) {{min = {_real(least)} : f64, max = {_real(greatest)} : f64}} : (tensor<2x{element}>) ->
             tensor<2x{element}>""")
    text = print_module(transload.lower(module, "tosa"))
    assert f"max_val = {wanted} : {element}" in text and f"min_val = {wanted} : {element}" in text, text


def _real(number: float) -> str:
    """An f64 as MLIR writes any: its bits."""
    return f"0x{int(np.float64(number).view(np.uint64)):016X}"

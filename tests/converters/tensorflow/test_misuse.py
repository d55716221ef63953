"""Windows, boxes and states that do not fit their tensors: each is refused in words, with no rewrite having failed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import transload
from transload.budget import allowed
from transload.errors import ConversionError, TransloadError

from tests.converters.tensorflow.test_executor import cond
from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph
from tests.support.tf_ops.spec import cases, each, ints, scalar, values, x

F = T("float32")


@pytest.mark.parametrize(("op", "shape", "more", "attributes"), [
    ("Conv2D", (1, 4, 4, 1), [np.ones((2, 2, 1, 1), np.float32)],
     {"strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1]}),
    ("Conv2D", (1, 4, 4, 1), [np.ones((2, 2, 1, 1), np.float32)], {"strides": [1, 0, 1, 1], "padding": "SAME"}),
    ("ExtractImagePatches", (1, 4, 4, 1), [], {"ksizes": [1, 2, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1],
                                               "padding": "VALID"}),
    ("_FusedConv2D", (1, 4, 4, 2), [np.ones((2, 2, 2, 2), np.float32), np.ones(2, np.float32)],
     {"strides": [1, 1, 1, 1], "padding": "VALID", "filter_format": "OIHW", "fused_ops": ["BiasAdd"], "num_args": 1,
      "TArgs": [F]}),
    ("MaxPool", (), [], {"ksize": [1], "strides": [1], "padding": "VALID"}),
])
def test_windows_that_do_not_fit(op: str, shape: tuple[int, ...], more: list[Any], attributes: dict[str, Any]) -> None:
    inputs = [const(f"c{i}", array) for i, array in enumerate(more)]
    given = graph(placeholder("x", shape), *inputs, node("y", op, "x", *(each.name for each in inputs), T=F, **attributes))
    with pytest.raises(TransloadError) as caught:
        transload.lower(read_graph(given))
    assert caught.value.__cause__ is None, "a rewrite failed"


IMAGE, FILTER = x(1, 4, 4, 2), x(2, 2, 2, 3)
ONE_STEP = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def because(why: str, *arguments: Any, **more: Any) -> list[tuple[Any, str]]:
    """Cases with the words in which they are refused."""
    return [(case, why) for case in cases(*arguments, **more)]


@pytest.mark.parametrize(("case", "why"), [
    *because("cuts off the bits of f32", "Cast", x(2), types="float32", DstT=each("float16", "bfloat16"), Truncate=True),
    *because("bits", "FakeQuantWithMinMaxArgs", x(2), num_bits=each(-3, 0, 17, 2**40)),
    *because("between", "FakeQuantWithMinMaxArgs", x(2), ways=[ {"min": 1.0, "max": 1.0}, {"min": float("nan")},
             {"max": float("inf")}]),
    *because("2 lower and 2 upper ends", "FakeQuantWithMinMaxVarsPerChannel", x(2, 3), values([0.0, 1]).const,
             values([2.0, 3]).const),
    *because("2 lower and 3 upper ends", "FakeQuantWithMinMaxVarsPerChannel", x(2, 3), values([0.0, 1]).const,
             values([2.0, 3, 4]).const),
    *because("to 62 can be", "QuantizeAndDequantizeV3", x(2), scalar(0.0, "float32"), scalar(1.0, "float32"), each(scalar(-1),
             scalar(2**30))),
    *because("is none that integers could divide", "Dequantize", x(2, dtype="quint8"), scalar(1.0, "float32"), scalar(1.0,
             "float32"), mode="MIN_FIRST"),
    *because("not positive and finite", "UniformQuantize", x(2), each(scalar(0.0, "float32"), scalar(float("nan"), "float32")),
             scalar(0), Tin="float32", Tout="qint8", quantization_min_val=-128, quantization_max_val=127),
    *because("do not fit", "UniformQuantize", x(2), scalar(0.5, "float32"), scalar(1000), Tin="float32", Tout="qint8",
             quantization_min_val=-128, quantization_max_val=127),
    *because("2 scales", "UniformQuantize", x(2, 3), values([0.5, 1.0], "float32").const, ints(0, 0), Tin="float32",
             Tout="qint8", quantization_min_val=-128, quantization_max_val=127, quantization_axis=1),
])
def test_ranges_of_quantization(case: Any, why: str) -> None:
    _refused(case, why)


@pytest.mark.parametrize(("case", "why"), [
    *because("dimensions", "FFT FFT2D", x(dtype="complex64")),
    *because("must be 1 numbers", "RFFT", x(8), ints(4, 4)),
    *because("cannot be less than 1", "RFFT", x(8), ints(0)),
    *because("do not fit", "Conv2DBackpropInput", ints(1, 4, 4, 2, 2), FILTER, x(1, 4, 4, 3), **ONE_STEP),
    *because("less than 0", "Conv2DBackpropInput", ints(1, -4, 4, 2), FILTER, x(1, 4, 4, 3), **ONE_STEP),
    *because("must have 4 dimensions", "Conv2DBackpropInput", ints(1, 4, 4, 2), x(2, 2, 2, 2, 3), x(1, 4, 4, 3), **ONE_STEP),
    *because("must be 4 numbers", "Conv2DBackpropFilter", IMAGE, ints(2, 2, 3), x(1, 4, 4, 3), **ONE_STEP),
    *because("all positive", "Dilation2D", IMAGE, x(2, 2, 2), strides=[1, 0, 1, 1], rates=[1, 1, 1, 1], padding="SAME"),
    *because("goes over batches", "MaxPool", IMAGE, ksize=[1, 1, 1, 0], strides=[1, 1, 1, 0], padding="VALID"),
    *because("do not fit a gradient", "AvgPoolGrad", ints(1, 2, 2, 1), x(1, 4, 4, 1), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
             padding="VALID"),
    *because("less than 0", "StatelessTruncatedNormal StatelessRandomUniform", ints(-3, 2), ints(1, 2), dtype="float32"),
    *because("less than 0", "TruncatedNormal", ints(-3, 2), dtype="float32"),
    *because("draws 1,073,741,824 numbers", "TruncatedNormal RandomUniform", ints(1 << 15, 1 << 15), dtype="float32"),
    *because("the seed must be 2 numbers", "StatelessRandomUniform", ints(2), ints(1), dtype="float32"),
    *because("segment ids must be from 0 to 0", "SegmentSum", x(2), ints(-1, 0)),
    *because("is -2, and must be 0 or more", "UnsortedSegmentSum", x(2), ints(0, 1), scalar(-2)),
    *because("do not broadcast", "BroadcastArgs", ints(2), ints(3), types="int32"),
    *because("must have 0 dimensions", "Fill", ints(2), x(0).const),
    *because("there is no range", "Range", scalar(0.0, "float32"), each(scalar(float("inf"), "float32"), scalar(float("nan"),
             "float32")), scalar(1.0, "float32")),
    *because("too large", "Range", scalar(0), scalar(2**31 - 1), scalar(1), types="int32"),
    *because("must be one number", "Range", ints(0, 1), scalar(3), scalar(1), types="int32"),
    *because("too large", "OneHot", ints(1), scalar(2**31 - 1), scalar(1.0, "float32"), scalar(0.0, "float32")),
    *because("too large", "Diag", x(1 << 14)),
    *because("have no diagonals|numbers of diagonals", "MatrixDiagPartV2", x(2, 3), each(ints(), ints(2, 1)), scalar(0.0,
             "float32")),
    *because("does not fit one of", "MatrixSolve", x(2, 2).const, x(3, 1).const),
    *because("cannot be split into 2 parts", "SplitV", x(5), ints(2, 2), scalar(0), num_split=2),
    *because("must be 4 numbers", "Pad", x(2, 3), ints(1, 1, 2)),
    *because("2 shifts and 1 axes", "Roll", x(3, 3), ints(1, 1), ints(0)),
    *because("must be 4 numbers", "SpaceToBatchND", IMAGE, ints(2, 2), ints(0, 0, 0)),
    *because("must be positive", "SpaceToBatchND", IMAGE, ints(0, 2), ints(0, 0, 0, 0)),
    *because("of which there is no mean", "FusedBatchNormGrad", x(0, 2, 2, 3), x(0, 2, 2, 3), x(3), x(3), x(3),
             is_training=True),
    *because("negative places", "DynamicStitch", ints(-1), x(1), N=1),
    *because("too large", "DynamicStitch", ints(2**31 - 1), x(1), N=1),
    *because("is -1, and must be 0 or more", "DenseBincount", ints(1), scalar(-1), x(0)),
    *because("scales positive", "ScaleAndTranslate", IMAGE, ints(2, 2), values([0.0, 1.0], "float32").const, values([0.0, 1.0],
             "float32").const),
    *because("too large", "ScaleAndTranslate", IMAGE, ints(2, 1 << 26), values([1.0, 1.0], "float32").const, values([0.0, 0.0],
             "float32").const),
    *because("also where the lengths are constants", "RaggedTensorToTensor", ints(2, 2), x(3), scalar(0.0, "float32"),
             ints(0, 1, 3), num_row_partition_tensors=1, row_partition_types=["ROW_SPLITS"]),
    *because("must be 2 numbers", "CropAndResize", IMAGE, x(1, 4), ints(0), ints(2, 2, 2)),
    *because("too large", "ResizeBicubic", IMAGE, ints(2**31 - 1, 2)),
    *because("would take too long", "MatrixInverse", x(2100, 2100).const),
    *because("0 boxes of a class", "CombinedNonMaxSuppression", x(1, 3, 1, 4), x(1, 3, 1), scalar(0), scalar(2), scalar(0.5,
             "float32"), scalar(0.1, "float32")),
    *because("as int64|as i64", "Bitcast", ints(1, 2, 3), type="int64"),
])
def test_shapes_sizes_and_counts(case: Any, why: str) -> None:
    _refused(case, why)


def _refused(case: Any, why: str) -> None:
    with pytest.raises(TransloadError) as caught:
        transload.lower(transload.load(text=case.graph, format="tensorflow"), "tosa", random="drawn", int64="assumed")
    assert caught.value.__cause__ is None, "a rewrite failed"
    assert re.search(why, str(caught.value)), caught.value


@pytest.mark.parametrize(("op", "inputs", "attributes", "why"), [
    ("Squeeze", ["x"], {"squeeze_dims": ["a"]}, "squeeze_dims"),
    ("Conv2D", ["x", "x"], {"strides": [1], "padding": "SAME"}, "strides"),
    ("SpaceToDepth", ["x"], {"block_size": 1}, "block_size"), ("AddN", [], {"N": 0}, "N would be 0"),
    ("IdentityN", ["x"], {"T": [F, F]}, "T would be 1 and 2"),
    ("ShapeN", ["x", "x"], {"N": 3, "out_type": T("int32")}, "N would be 2 and 3"),
])
def test_attributes_and_counts_that_the_registry_does_not_allow(
    op: str, inputs: list[str], attributes: dict[str, Any], why: str,
) -> None:
    given = graph(placeholder("x", (1, 2, 2, 1)), node("y", op, *inputs, **{"T": F, **attributes}))
    with pytest.raises(TransloadError, match=why) as caught:
        transload.lower(transload.load(text=given.SerializeToString(), format="tensorflow"))
    assert caught.value.__cause__ is None


def test_an_op_that_is_not_in_the_registry_and_has_no_operands() -> None:
    given = graph(placeholder("x", (2,)), node("n", "XlaShardingMade"), node("y", "_EagerConst", T=F))
    with pytest.raises(TransloadError) as caught:
        transload.lower(read_graph(given))
    assert caught.value.__cause__ is None


# --- numbers that were wrong

def test_classes_beyond_what_the_indices_can_say_are_not_those_at_the_beginning() -> None:
    case = cases("OneHot", values([0, 1, 255], "uint8"), scalar(300), scalar(1.0, "float32"), scalar(0.0, "float32"))[0]
    module = transload.load(text=case.graph, format="tensorflow")
    found = next(iter(transload.run(transload.lower(module, "top"), case.feeds).values()))
    np.testing.assert_array_equal(np.argwhere(found), [[0, 0], [1, 1], [2, 255]])


def test_what_a_normalization_adds_at_its_side_counts() -> None:
    ones = np.ones(3, np.float32)
    given = graph(
        placeholder("x", (1, 2, 2, 3)), placeholder("side", (1, 2, 2, 3)), const("c", ones),
        node("y", "_FusedBatchNormEx", "x", "c", "c", "c", "c", "side", T=F, U=F, num_side_inputs=1, is_training=False,
             epsilon=0.0, activation_mode="Relu"), node("z", "Identity", "y", T=F))
    x_, side = np.full((1, 2, 2, 3), 0.5, np.float32), np.full((1, 2, 2, 3), 4, np.float32)
    found = transload.run(transload.lower(read_graph(given), "top"), {"x": x_, "side": side})
    np.testing.assert_allclose(found["z"], x_ - 1 + 1 + side, rtol=1e-6)


def test_a_channel_whose_range_is_nothing_becomes_zero() -> None:
    case = cases("FakeQuantWithMinMaxVarsPerChannel", values([[-0.5, 1.0]], "float32"), values([0.0, 0.0], "float32").const,
                 values([0.0, 2.55], "float32").const)[0]
    found = transload.run(transload.lower(transload.load(text=case.graph, format="tensorflow"), "top"), case.feeds)
    np.testing.assert_allclose(next(iter(found.values())), [[0, 1]], atol=1e-6)


def test_numbers_that_many_ops_draw_are_counted_together() -> None:
    size = const("size", np.array([1 << 23], np.int32))
    drawn = [node(f"r{i}", "RandomUniform", "size", T=T("int32"), dtype=F) for i in range(9)]
    given = graph(size, *drawn, node("y", "AddN", *(each.name for each in drawn), N=9, T=F))
    with pytest.raises(TransloadError, match="with those drawn before these are too many"), allowed(grown=1 << 25):
        transload.lower(read_graph(given), random="drawn")


def test_tables_that_many_ops_take_are_counted_together() -> None:
    numbers = [const("start", np.int32(0)), const("step", np.int32(1)), const("limit", np.int32(1 << 20))]
    ranges = [node(f"r{i}", "Range", "start", "limit", "step", Tidx=T("int32")) for i in range(9)]
    given = graph(*numbers, *ranges, node("y", "AddN", *(each.name for each in ranges), N=9, T=T("int32")))
    with pytest.raises(TransloadError, match="too large"), allowed(grown=1 << 24):
        transload.lower(read_graph(given))


@pytest.mark.parametrize(("op", "shape", "dtype", "more", "attributes"), [
    ("MaxPoolWithArgmax", (1, 10**9, 1, 1), "float32", [], {
        "ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "VALID", "T": F}),
    ("InvertPermutation", (10**9,), "int32", [], {"T": T("int32")}),
    ("CropAndResize", (1, 10**9, 1, 1), "float32", [np.zeros((1, 4), np.float32), np.zeros(1, np.int32),
                                                        np.array([2, 2], np.int32)],
     {"T": F}),
])
def test_what_is_too_large_to_be_numbered(
    op: str, shape: tuple[int, ...], dtype: str, more: list[Any], attributes: dict[str, Any],
) -> None:
    inputs = [const(f"c{i}", array) for i, array in enumerate(more)]
    given = graph(placeholder("x", shape, dtype), *inputs, node("y", op, "x", *(each.name for each in inputs), **attributes))
    with pytest.raises(TransloadError, match="too large"):
        transload.lower(read_graph(given))


def test_sizes_that_depend_on_data_are_told_whatever_comes_before() -> None:
    """What only comes after an op that cannot be converted is counted; what could not be converted in any case is named."""
    module = read_graph(graph(
        placeholder("x", (1, 4, 4, 1)), placeholder("size", (2,), "int32"), const("none", np.float32(0)),
        node("resized", "ResizeBilinear", "x", "size", T=F), node("positive", "Greater", "resized", "none", T=F),
        node("places", "Where", "positive", T=T("bool")), node("y", "Neg", "resized", T=F)))
    with pytest.raises(ConversionError) as caught:
        transload.legalize(module)
    assert [finding.what for finding in caught.value.findings] == ["tf.ResizeBilinear", "tf.Where"]
    assert "the size of the result depends on data" in str(caught.value) and "2 more that come after them" in str(caught.value)


def test_the_end_of_a_region_goes_with_the_op_around_it() -> None:
    module = read_graph(cond())
    next(op for op in module.walk() if op.name == "tf.AddV2").name = "tf.Strange"
    with pytest.raises(ConversionError) as caught:
        transload.legalize(module)
    assert "tf.Yield" not in str(caught.value)

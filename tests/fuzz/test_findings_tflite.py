"""What fuzzing found in TFLite files, by class, in the smallest that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.engine.memory import peak_bytes
from transload.errors import ArtifactError, ConversionError, RunError
from transload.ir import F32, IntegerType, Op, QuantType, dtype_of, is_absent, update_function_type
from transload.ir.build import Builder
from transload.text import parse_module
from transload.verification.inputs import random_inputs
from transload_converters.tflite.writer import ModelWriter

from tests.fuzz.cases import Case, attempt
from tests.fuzz.tflite_files import decode, encode
from tests.support.tflite_models import read_bytes, write_operator
from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.measure import all_cases


def refused(content: bytes, why: str, to: str = "tosa") -> None:
    with pytest.raises(ConversionError, match=why) as caught:
        transload.lower(read_bytes(content), to)
    assert caught.value.__cause__ is None  # no rewrite failed


def test_any_of_floats() -> None:
    axes = ((1,), "int32", np.array([0], np.int32))
    content = write_operator("REDUCE_ANY", [((2, 3), "float32", None, None), (*axes, None)], [((3,), "float32", None, None)])
    refused(content, "ReduceAll and ReduceAny take i1")


def test_a_transform_of_no_numbers() -> None:
    lengths = ((2,), "int32", np.array([0, 0], np.int32), None)
    content = write_operator("RFFT2D", [((4, 4), "float32", None, None), lengths], [((4, 3), "complex64", None, None)])
    refused(content, "transform of no numbers|complex")


def test_inputs_of_text_are_not_made_up() -> None:
    model = ModelWriter()
    model.inputs = model.outputs = [model.add_tensor("words", (2,), "string")]
    with pytest.raises(RunError, match=r"'words' holds .*string, of which there are no random ones"):
        random_inputs(read_bytes(model.finish()))
    assert peak_bytes(read_bytes(model.finish()).body_of_main) == 0


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


def test_a_table_for_resizing_is_not_made_without_end() -> None:
    size = ((2,), "int32", np.array([1 << 28, 4], np.int32), None)
    given, made = [((1, 5, 4, 1), "bool", None, None), size], [((1,), "bool", None, None)]
    content = write_operator("RESIZE_NEAREST_NEIGHBOR", given, made, {"align_corners": True})
    refused(content, "would take a table of more than|sizes are at most")


def test_numbers_of_64_bits_with_a_scale_are_plain() -> None:
    """LiteRT's kernels look at no scale of such, and their quantized numbers ended as a defect."""
    places = ((1,), "int32", np.array([0], np.int32), None)
    counts = ((1,), "int32", np.array([2], np.int32), None)
    content = write_operator(
        "SLICE", [((4,), "int64", None, ([0.5], [0], 0)), places, counts], [((2,), "int64", None, ([0.5], [0], 0))])
    module = transload.lower(read_bytes(content), "top")
    found = transload.run(module, {next(iter(module.inputs)): np.arange(5, 9)})
    assert [array.tolist() for array in found.values()] == [[5, 6]]


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
    ("QUANTIZE", [((2,), *FLOAT)], [((2,), "complex64", None, None)], None, "works on complex numbers"),
    ("FAKE_QUANT", [((2,), *FLOAT)], [((2,), *FLOAT)], {"min": -np.inf, "max": 2.0, "num_bits": 8}, "cannot be quantized"),
    ("SUM", [((2,), "int8", None, SMALL), ((0,), "int32", np.zeros(0, np.int32), None)], [((2,), "int8", None, None)], None,
     "both have to be quantized, or none"),
    ("REDUCE_MAX", [((2,), "uint8", None, SMALL), ((1,), "int32", np.array([0], np.int32), None)], [((1,), "int32", None, SMALL)],
     None, "is stored as"),
    ("RESIZE_BILINEAR", [((1, 4, 5, 3), "int16", None, SMALL), ((2,), "int32", np.array([257, 1], np.int32), None)],
     [((1, 257, 1, 3), "int16", None, SMALL)], None, "reads pixels outside the image"),
    ("REVERSE_V2", [((2,), "int32", None, SMALL), ((1,), "int32", np.array([0], np.int32), None)],
     [((2,), "uint8", None, SMALL)], None, "of one element type"),
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


def test_a_file_that_contradicts_itself_is_not_written_again(tmp_path: Path) -> None:
    """Without a lowering between, too: LiteRT would say something else each time."""
    axes = ((1,), "int32", np.array([0], np.int32), None)
    content = write_operator("SUM", [((2, 3), "int8", None, SMALL), axes], [((3,), "float32", None, None)])
    file = tmp_path / "sum.tflite"
    file.write_bytes(content)
    for target in ("tflite", "tosa"):
        with pytest.raises(ConversionError, match="the file contradicts itself"):
            transload.convert(file, target, tmp_path / target)


@pytest.mark.parametrize(("operator", "inputs", "result", "options"), [
    ("REDUCE_MIN", [((2, 3), *FLOAT), ((1,), "int32", np.array([0], np.int32), None)], (3,), {"keep_dims": False}),
    ("RESHAPE", [((2, 3), *FLOAT), ((1,), "int32", np.array([6], np.int32), None)], (6,), None),
    ("SPLIT", [((), "int32", np.array(0, np.int32), None), ((2, 3), *FLOAT)], (2, 3), {"num_splits": 1}),
    ("SELECT", [((2, 3), "bool", None, None), ((2, 3), *FLOAT), ((2, 3), *FLOAT)], (2, 3), None),
])
def test_results_of_another_width_are_no_results(
    operator: str, inputs: list[Any], result: tuple[int, ...], options: dict[str, Any] | None,
) -> None:
    """LiteRT writes what it moves, in its own width, into memory of another."""
    content = write_operator(operator, inputs, [(result, "int64", None, None)], options)
    refused(content, "the file contradicts itself")


def test_a_step_with_a_result_too_many() -> None:
    """A basic LSTM of 5 results, of which the last is none."""
    step, state, weights, bias = ((1, 2), *FLOAT), ((1, 3), *FLOAT), np.zeros((12, 5), np.float32), np.zeros(12, np.float32)
    content = write_operator(
        "LSTM", [step, state, ((12, 5), "float32", weights, None), ((12,), "float32", bias, None), state],
        [state, state, ((1, 5), *FLOAT), ((1, 12), *FLOAT), state], {"fused_activation_function": "TANH", "kernel_type": "BASIC"})
    refused(content, "has 4 results, and here are 5")


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


def test_complex_numbers_have_no_order() -> None:
    axes = ((1,), "int32", np.array([0], np.int32), None)
    content = write_operator("REDUCE_MAX", [((2,), "complex64", None, None), axes], [((), "complex64", None, None)])
    refused(content, "works on complex numbers", "stablehlo")


def test_an_lstm_that_says_it_gives_other_numbers_than_it_takes() -> None:
    case = next(case for case in all_cases() if case.note == "integer" and case.op == "UNIDIRECTIONAL_SEQUENCE_LSTM")
    module = read_bytes(build(case).content)
    op = next(op for op in module.walk() if op.name == "tfl.unidirectional_sequence_lstm")
    said = QuantType(IntegerType(4, "u"), F32, (0.0071,), (4,))
    op.results[0].type = op.results[0].tensor_type.with_element(said)
    update_function_type(module.main)
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
    ("MEAN", [((2, 0), "int8", None, SMALL), ((1,), "int32", np.array([1], np.int32), None)], [((2,), "int8", None, SMALL)], None,
     "mean of no numbers"),
    ("MAX_POOL_2D", [((1, 4, 4, 1), "uint8", None, SMALL)], [((1, 4, 4, 1), "uint8", None, None)],
     {"stride_w": 1, "stride_h": 1, "filter_width": 1, "filter_height": 1}, "both have to be quantized, or none"),
    ("STRIDED_SLICE", [((7,), *FLOAT), *[((1,), "int32", np.array([number], np.int32), None) for number in (0, 2, 1)]],
     [((2,), *FLOAT)], {"new_axis_mask": 5}, "new_axis_mask is 101 in bits"),
    ("FILL", [((1,), "int32", np.array([2], np.int32), None), ((2,), *FLOAT)], [((2,), *FLOAT)], None, "the value is one number"),
    ("MATRIX_SET_DIAG", [((4, 3, 4), "int16", None, SMALL), ((4, 3), "int8", None, SMALL)], [((4, 3, 4), "int16", None, SMALL)],
     None, "reads both alike"),
    ("MATRIX_SET_DIAG", [((4, 3, 4), *FLOAT), ((1, 3), *FLOAT)], [((4, 3, 4), *FLOAT)], None, "reads past their end"),
    ("PRELU", [((1, 5), "int8", None, None)] * 2, [((1, 5), "int8", None, None)], None, "a slope of i8"),
    ("EMBEDDING_LOOKUP", [((2,), "int32", None, None), ((3, 2), *FLOAT)], [((2, 2), "int16", None, None)], None, "operand 1"),
    ("UNIDIRECTIONAL_SEQUENCE_RNN", [((2, 2), *FLOAT), ((2, 2), *FLOAT), ((2, 2), *FLOAT), ((2,), *FLOAT),
     ((1, 2), *FLOAT, "variable")], [((2, 2), "float16", None, None)], {"time_major": True}, "its result is stored as f16"),
    ("WHERE", [((2,), "bool", None, None)], [((2, 1), "int8", None, None)], None, "LiteRT's kernel gives i64"),
    ("HASHTABLE_LOOKUP", [((2,), "int32", None, None), ((3,), "int32", np.array([1, 1, 4], np.int32), None), ((3,), *FLOAT)],
     [((2,), *FLOAT), ((2,), "uint8", None, None)], None, "occur twice"),
    ("SOFTMAX", [((4,), "uint8", None, SMALL)], [((4,), "uint8", None, SMALL)], {"beta": 1.0}, "in steps of 1/256"),
    ("FULLY_CONNECTED", [((1, 2), "int8", None, SMALL), ((2, 2), "int8", np.ones((2, 2), np.int8), ([0.1, 0.2], [0, -1], 0)),
                         None], [((1, 2), "int8", None, SMALL)], None, "zero point other than 0"),
    ("FULLY_CONNECTED", [((1, 2), "int8", None, SMALL), ((2, 2), "uint8", np.ones((2, 2), np.uint8), SMALL), None],
     [((1, 2), "int8", None, SMALL)], None, "its weights are stored as ui8, and its input as i8"),
    ("ADD", [((1, 2), "int8", np.ones((1, 2), np.int8), ([0.1, 0.2], [0, 0], 1)), ((1, 2), "int8", None, SMALL)],
     [((1, 2), "int8", None, SMALL)], None, "its operand is .* a scale for each channel"),
    ("FULLY_CONNECTED", [((2, 2), "int8", np.ones((2, 2), np.int8), ([0.1, 0.2], [0, 0], 0)),
                         ((2, 2), "int8", np.ones((2, 2), np.int8), SMALL), None], [((2, 2), "int8", None, SMALL)], None,
     "its operand is .* a scale for each channel"),
    ("FULLY_CONNECTED", [((1, 2), "int8", None, SMALL), ((2, 2), "int8", np.ones((2, 2), np.int8), ([0.1, 0.2], [0, 0], 1)),
                         None], [((1, 2), "int8", None, SMALL)], None, "scales along dimension 1; .* along dimension 0"),
    ("LESS", [((1, 2), "int8", None, SMALL), ((1, 2), "int8", np.ones((1, 2), np.int8), ([0.1, 0.2], [0, 0], 1))],
     [((1, 2), "bool", None, None)], None, "its operand is .* a scale for each channel"),
    ("TANH", [((2, 2), "int8", None, SMALL)], [((2, 2), "int8", None, ([0.1, 0.2], [0, 0], 0))], None,
     "its result is .* a scale for each channel"),
    ("SPLIT_V", [((2, 9), *FLOAT), ((2,), "int32", np.array([2, 7], np.int32), None), ((), "int32", np.array(1, np.int32), None)],
     [((2, 2), *FLOAT), ((2, 7), *FLOAT), ((2, 1), *FLOAT)], {"num_splits": 2}, "cannot be split into 3 parts"),
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


@pytest.mark.parametrize("made", ["uint32", "uint64"])
def test_floats_less_than_zero_are_zero_without_a_sign(made: str) -> None:
    """Those of 16 bits fit into 32; the sign of those in i32 is none of theirs."""
    content = write_operator("CAST", [((4,), "float16", None, None)], [((4,), made, None, None)])
    x = np.array([-1.5, -200.0, 3.7, 60000.0], np.float16)
    (given,) = transload.run(transload.lower(read_bytes(content), "tosa"), {"in0": x}, engine="reference").values()
    assert given.tolist() == [0, 0, 3, 60000]


def test_a_scale_of_the_result_that_leaves_nothing() -> None:
    """HARD_SWISH divides by more than 2^62."""
    quantized = [((4,), "int8", None, (scale, [0], 0)) for scale in ([0.05], [1e30])]
    transload.lower(read_bytes(write_operator("HARD_SWISH", quantized[:1], quantized[1:])), "stablehlo")


def test_diagonals_of_other_matrices() -> None:
    content = write_operator("MATRIX_SET_DIAG", [((64, 40), *FLOAT), ((3, 40), *FLOAT)], [((64, 40), *FLOAT)])
    refused(content, "reads past their end")


def test_two_states_in_one_tensor() -> None:
    case = next(case for case in all_cases() if case.op == "UNIDIRECTIONAL_SEQUENCE_LSTM" and case.format == "f32")
    module = read_bytes(build(case).content)
    op = next(op for op in module.walk() if op.name == "tfl.unidirectional_sequence_lstm")
    op.set_operand(19, op.operands[18])
    with pytest.raises(ConversionError, match="two of its states are one tensor"):
        transload.lower(module, "tosa")


@pytest.mark.parametrize(("name", "count"), [("TFLite_Detection_PostProcess", 2), ("Convolution2DTransposeBias", 0)])
def test_a_custom_operator_with_other_operands_than_it_takes(name: str, count: int) -> None:
    model = ModelWriter()
    given = [model.add_tensor(f"x{i}", (1, 2, 4), "float32") for i in range(count)]
    model.inputs, model.outputs = given, [model.add_tensor("y", (1, 2, 4), "float32")]
    model.add_custom_operator(name, given, model.outputs, bytes(12))
    refused(model.finish(), "takes 3 tensors, and is given")


@pytest.mark.parametrize(("name", "count"), [("TFLite_Detection_PostProcess", 5), ("Convolution2DTransposeBias", 2)])
def test_a_custom_operator_with_other_results_than_it_gives(name: str, count: int) -> None:
    model = ModelWriter()
    model.inputs = [model.add_tensor(f"x{i}", (1, 2, 4, 1), "float32") for i in range(3)]
    model.outputs = [model.add_tensor(f"y{i}", (1, 2, 4), "float32") for i in range(count)]
    model.add_custom_operator(name, model.inputs, model.outputs, bytes(12))
    refused(model.finish(), "tensors, and here are")


@pytest.mark.parametrize("size", [2143289344, 1 << 23])
@pytest.mark.parametrize("operator", ["RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"])
def test_an_image_is_not_resized_to_more_places_than_can_be_numbered(operator: str, size: int) -> None:
    sizes = ((2,), "int32", np.array([size, 3], np.int32), None)
    content = write_operator(operator, [((1, 4, 5, 3), *FLOAT), sizes], [((), *FLOAT)])
    for to in ("tosa", "stablehlo"):
        refused(content, "sizes are at most", to)


def test_an_indicator_of_billions_of_steps() -> None:
    text = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
    layer { name: "y" type: "ContinuationIndicator" bottom: "x" top: "y"
            continuation_indicator_param { time_step: 2147483647 } }"""
    with pytest.raises(ConversionError, match="too large"):
        transload.lower(transload.load(text=text, format="caffe"), "tosa")


@pytest.mark.parametrize("gate", [1, 2, 3])
def test_an_lstm_without_weights_of_a_gate_that_is_needed(gate: int) -> None:
    """The input gate alone may be left out."""
    case = next(case for case in all_cases() if case.op == "UNIDIRECTIONAL_SEQUENCE_LSTM" and case.format == "f32")
    module = read_bytes(build(case).content)
    op = next(op for op in module.walk() if op.name == "tfl.unidirectional_sequence_lstm")
    absent = next(value for value in op.operands if is_absent(value))
    op.set_operand(1 + gate, absent)
    with pytest.raises(ConversionError, match=r"input_to_(forget|cell|output)_weights' must be a tensor, and is none"):
        transload.lower(module, "tosa")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("option", "limit"), [
    ("cell_clip", 1e-45), ("cell_clip", 0.0333), ("proj_clip", 0.0333), ("proj_clip", 0.5)])
def test_limits_of_an_lstm_of_integers(option: str, limit: float) -> None:
    """LiteRT cuts stored numbers, to whole steps, and by less than one not at all."""
    for case in all_cases():
        if case.note == "integer" and case.op == "UNIDIRECTIONAL_SEQUENCE_LSTM":
            tree = decode(build(case).content)
            (operator,) = tree["subgraphs"][0]["operators"]
            operator["builtin_options"][option] = limit
            outcome = attempt(Case(0, "tflite", encode(tree), "tosa", True))
            assert outcome.kind == "checked", outcome


@pytest.mark.parametrize(("limit", "kind"), [(np.nan, "refused"), (-np.inf, "judge refused"), (np.inf, "checked")])
def test_limits_of_an_lstm_of_integers_that_are_no_numbers(limit: float, kind: str) -> None:
    case = next(case for case in all_cases() if case.note == "integer" and case.op == "UNIDIRECTIONAL_SEQUENCE_LSTM")
    tree = decode(build(case).content)
    tree["subgraphs"][0]["operators"][0]["builtin_options"]["cell_clip"] = limit
    outcome = attempt(Case(0, "tflite", encode(tree), "tosa", True))
    assert outcome.kind == kind, outcome


@pytest.mark.parametrize("left_out", [21, 22, 23])
def test_an_lstm_that_normalizes_some_of_its_gates(left_out: int) -> None:
    """LiteRT goes by the forget gate's, and takes what is not there for zeros."""
    case = next(case for case in all_cases() if case.op == "UNIDIRECTIONAL_SEQUENCE_LSTM" and len(decode(build(case).content)[
        "subgraphs"][0]["operators"][0]["inputs"]) > 20 and case.format == "f32")
    tree = decode(build(case).content)
    tree["subgraphs"][0]["operators"][0]["inputs"][left_out] = -1
    refused(encode(tree), "layer normalization for some of its gates alone")


def test_depthwise_weights_of_16_bits() -> None:
    """LiteRT looks at those of other convolutions, and takes these for bytes."""
    tensor = ((1, 3, 3, 2), "int16", None, ((0.01,), (0,)))
    content = write_operator("DEPTHWISE_CONV_2D", [tensor, tensor, ((2,), "int64", np.zeros(2, np.int64), ((1e-4,), (0,)))], [
        ((1, 1, 1, 2), "int16", None, ((0.1,), (0,)))], {"stride_w": 1, "stride_h": 1, "depth_multiplier": 1, "padding": "VALID"})
    refused(content, "weights of 16 bits")


@pytest.mark.parametrize("format", ["f32", "hybrid", "hybrid_axis"])
def test_a_bias_is_a_number_for_each_column(format: str) -> None:
    """As LiteRT reads one of shape [6, 1], which was added to rows where there were as many."""
    case = next(case for case in all_cases() if case.op == "FULLY_CONNECTED" and case.format == format and len(case.inputs) > 2)
    tree = decode(build(case).content)
    graph = tree["subgraphs"][0]
    tensor = graph["tensors"][graph["operators"][0]["inputs"][2]]
    tensor["shape"] = [tensor["shape"][0], 1]
    assert attempt(Case(0, "tflite", encode(tree), "tosa", True)).kind == "checked"


@pytest.mark.parametrize("to", ["tosa", "tflite"])
def test_comparisons_give_truths(to: str, tmp_path: Path) -> None:
    """What a file says otherwise of the result was told as the fault of the target that ran it."""
    module = parse_module("""
        "func.func"() ({
        ^bb0(%a: tensor<4xf32> loc("a"), %b: tensor<4xf32> loc("b")):
          %r = "tfl.greater"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xbf16>
          "func.return"(%r) : (tensor<4xbf16>) -> ()
        }) {function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xbf16>, sym_name = "main"} : () -> ()""")
    with pytest.raises(ConversionError, match="contradicts itself"):
        transload.convert(module, to, tmp_path / "out", verify="no")


def test_integers_to_the_power_of_computed_floats() -> None:
    module = parse_module("""
        "func.func"() ({
        ^bb0(%a: tensor<4xi32> loc("a"), %b: tensor<4xf32> loc("b")):
          %r = "top.Pow"(%a, %b) : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xi32>
          "func.return"(%r) : (tensor<4xi32>) -> ()
        }) {function_type = (tensor<4xi32>, tensor<4xf32>) -> tensor<4xi32>, sym_name = "main"} : () -> ()""")
    with pytest.raises(ConversionError, match="computed floats"):
        transload.lower(module, "tosa")


def test_keys_of_a_look_up_have_a_dimension() -> None:
    keys, table = ((), "int32", np.array(3, np.int32), None), ((1, 2), "float32", np.ones((1, 2), np.float32), None)
    given = [((4,), "int32", None, None), keys, table]
    refused(write_operator("HASHTABLE_LOOKUP", given, [((4, 2), *FLOAT), ((4,), "uint8", None, None)]), "the keys")


def test_subscripts_of_few_bits() -> None:
    case = next(case for case in all_cases() if case.op == "EMBEDDING_LOOKUP_SPARSE")
    module = read_bytes(build(case).content)
    op = next(op for op in module.walk() if op.name == "tfl.embedding_lookup_sparse")
    few = IntegerType(2)
    numbers = np.zeros(op.operands[1].static_shape, dtype_of(few))
    op.set_operand(1, Builder(op.parent, op).constant(numbers, few, dialect="tfl"))
    transload.lower(module, "top")


def test_a_rank_is_an_integer(tmp_path: Path) -> None:
    """A file that says otherwise, converted to its own format, was told as the fault of the target that ran it."""
    pytest.importorskip("ai_edge_litert")
    content = write_operator("RANK", [((1, 5), "float32", None, None)], [((), *FLOAT)], {})
    (tmp_path / "rank.tflite").write_bytes(content)
    try:
        made = transload.convert(tmp_path / "rank.tflite", "tflite", tmp_path / "out")
    except ArtifactError as error:
        assert "gives int32 as output" in error.message and "contradict its operators" in str(error.hint)
    else:
        assert not made.verified


@pytest.mark.parametrize(("count", "refusing"), [(1, False), (3, True)])
def test_quantized_numbers_scattered_by_subscripts_of_nothing(count: int, refusing: bool) -> None:
    kind = ((0.5,), (0,))
    content = write_operator("SCATTER_ND", [
        ((count, 0), "int32", np.zeros((count, 0), np.int32), None), ((count, 3), "int8", None, kind),
        ((1,), "int32", np.array([3], np.int32), None)], [((3,), "int8", None, kind)])
    try:
        transload.lower(read_bytes(content), "top")
    except ConversionError as error:
        assert error.__cause__ is None and (not refusing or "to one place twice" in str(error))
    else:
        assert not refusing

"""Models of one or a few operators made by the TFLite writer: read back through the schema, and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from transload_converters.tflite.schema import (
    OptionField,
    operator_code,
    option_fields,
    options_table,
    union_member,
)
from transload_converters.tflite.writer import ModelWriter, Quantization
from transload_converters.tflite.writer_encoding import NUMPY_TYPES, encode_tensor_data, type_code

from tests.support.litert import interpreter_of, run_litert

tflite = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="LiteRT's schema is not installed")

OPTION_TABLES = [
    name
    for union in (tflite.BuiltinOptions, tflite.BuiltinOptions2)
    for name in vars(union)
    if name.endswith("Options")
]


def read(content: bytes) -> Any:
    """Return the schema package's reader of a model."""
    return tflite.Model.GetRootAs(content, 0)


def run(content: bytes, *inputs: Any) -> list[np.ndarray]:
    """Run a model once in LiteRT's reference kernels and return its outputs."""
    interpreter = interpreter_of(content)
    details = interpreter.get_input_details()
    return run_litert(content, [np.asarray(value, detail["dtype"]) for detail, value in zip(details, inputs, strict=True)])


def add_model() -> ModelWriter:
    """Return a model that adds a constant to its input and clips below zero."""
    model = ModelWriter(description="adds a constant")
    a = model.add_tensor("a", (1, 4), "float32", shape_signature=(-1, 4))
    b = model.add_tensor("b", (4,), "float32", data=[1.0, 2.0, 3.0, 4.0])
    total = model.add_tensor("total", (1, 4), "float32", shape_signature=(-1, 4))
    model.add_operator("ADD", [a, b], [total], {"fused_activation_function": "RELU"})
    model.inputs, model.outputs = [a], [total]
    return model


def one_operator(
    name: str, inputs: Sequence[tuple[Any, ...]], output: tuple[Any, ...], *options: Any, version: int = 1
) -> bytes:
    """Return a model of one operator; tensors are given as the arguments of add_tensor without the name.

    Inputs without data are inputs of the model.
    """
    model = ModelWriter()
    operands = [model.add_tensor(f"in{number}", *given) for number, given in enumerate(inputs)]
    result = model.add_tensor("out", *output)
    model.add_operator(name, operands, [result], *options, version=version)
    model.inputs = [operand for operand, given in zip(operands, inputs, strict=True) if len(given) == 2]
    model.outputs = [result]
    return model.finish()


def test_parts_of_a_model() -> None:
    content = add_model().finish()
    model = read(content)
    assert content[4:8] == b"TFL3"
    assert (model.Version(), model.Description()) == (3, b"adds a constant")
    assert (model.BuffersLength(), model.Buffers(0).DataLength(), model.SubgraphsLength()) == (2, 0, 1)

    graph = model.Subgraphs(0)
    assert graph.Name() == b"main"
    assert (graph.InputsAsNumpy().tolist(), graph.OutputsAsNumpy().tolist()) == ([0], [2])
    a, b = graph.Tensors(0), graph.Tensors(1)
    assert (a.Name(), a.Type(), a.Buffer(), a.HasRank()) == (b"a", tflite.TensorType.FLOAT32, 0, True)
    assert (a.ShapeAsNumpy().tolist(), a.ShapeSignatureAsNumpy().tolist()) == ([1, 4], [-1, 4])
    assert a.Quantization() is None
    assert (b.Buffer(), b.ShapeSignatureIsNone()) == (1, True)
    data = model.Buffers(1).DataAsNumpy()
    assert data.tobytes() == np.array([1, 2, 3, 4], "<f4").tobytes()
    assert content.index(data.tobytes()) % 16 == 0, "the schema wants the bytes of buffers aligned"


def test_finish_changes_nothing() -> None:
    model = add_model()
    assert model.finish() == model.finish() == add_model().finish()


def test_equal_operators_share_a_code() -> None:
    model = ModelWriter()
    tensors = [model.add_tensor(name, (2,), "float32") for name in "abcd"]
    model.add_operator("ABS", tensors[:1], tensors[1:2])
    model.add_operator("ABS", tensors[1:2], tensors[2:3], version=5)
    model.add_operator("ABS", tensors[2:3], tensors[3:4])
    content = read(model.finish())
    operators = [content.Subgraphs(0).Operators(number) for number in range(3)]
    assert [operator.OpcodeIndex() for operator in operators] == [0, 1, 0]
    assert [content.OperatorCodes(number).Version() for number in range(2)] == [1, 5]


def test_quantization_variables_unknown_rank_and_missing_input() -> None:
    model = ModelWriter()
    channels = Quantization([0.5, 0.25], [0, 3], axis=1, minimum=[-1.0], maximum=[2.0])
    weights = model.add_tensor("weights", (1, 2), np.int8, [[1, 2]], channels)
    state = model.add_tensor("state", None, "float32", is_variable=True)
    model.add_operator(
        "SVDF", [weights, None], [state], intermediates=[weights], mutating_variable_inputs=[False, True]
    )
    graph = read(model.finish()).Subgraphs(0)
    quantization = graph.Tensors(weights).Quantization()
    assert quantization.ScaleAsNumpy().tolist() == [0.5, 0.25]
    assert quantization.ZeroPointAsNumpy().tolist() == [0, 3]
    assert (quantization.QuantizedDimension(), quantization.Min(0), quantization.Max(0)) == (1, -1.0, 2.0)
    assert graph.Tensors(state).IsVariable()
    assert graph.Tensors(state).ShapeIsNone() and not graph.Tensors(state).HasRank()
    operator = graph.Operators(0)
    assert operator.InputsAsNumpy().tolist() == [weights, -1]
    assert operator.IntermediatesAsNumpy().tolist() == [weights]
    assert operator.MutatingVariableInputsAsNumpy().tolist() == [False, True]


def test_metadata_and_signatures() -> None:
    model = add_model()
    model.add_metadata("min_runtime_version", b"1.5.0")
    model.add_signature("serving_default", {"x": 0}, {"y": 2})
    content = read(model.finish())
    metadata, signature = content.Metadata(0), content.SignatureDefs(0)
    assert metadata.Name() == b"min_runtime_version"
    assert content.Buffers(metadata.Buffer()).DataAsNumpy().tobytes() == b"1.5.0"
    assert (signature.SignatureKey(), signature.SubgraphIndex()) == (b"serving_default", 0)
    assert (signature.Inputs(0).Name(), signature.Inputs(0).TensorIndex()) == (b"x", 0)
    assert (signature.Outputs(0).Name(), signature.Outputs(0).TensorIndex()) == (b"y", 2)


def test_operator_beyond_the_first_code_field() -> None:
    code = read(one_operator("STABLEHLO_CBRT", [((2,), "float32")], ((2,), "float32"))).OperatorCodes(0)
    assert code.BuiltinCode() == operator_code("STABLEHLO_CBRT") > 127
    assert code.DeprecatedBuiltinCode() == 127


def test_custom_operator() -> None:
    model = ModelWriter()
    a, b = (model.add_tensor(name, (2,), "float32") for name in "ab")
    model.add_custom_operator("MyOperator", [a], [b], b"\x01\x02\x03", version=2)
    model.inputs, model.outputs = [a], [b]
    content = read(model.finish())
    code, operator = content.OperatorCodes(0), content.Subgraphs(0).Operators(0)
    assert (code.BuiltinCode(), code.CustomCode(), code.Version()) == (32, b"MyOperator", 2)
    assert operator.CustomOptionsAsNumpy().tobytes() == b"\x01\x02\x03"
    assert operator.BuiltinOptionsType() == tflite.BuiltinOptions.NONE
    with pytest.raises(RuntimeError, match="MyOperator"):
        run(model.finish(), [1.0, 2.0])


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("table", OPTION_TABLES)
def test_every_field_of_every_options_table(table: str, truth: bool) -> None:
    """Write a value into each field, and read it back through the schema."""
    fields = option_fields(table)
    values = {name: _sample(field, truth) for name, field in fields.items()}
    model = ModelWriter()
    model.add_operator("ADD", [], [], values, table=table)
    operator = read(model.finish()).Subgraphs(0).Operators(0)
    union, member = union_member(table)
    types = (operator.BuiltinOptionsType(), operator.BuiltinOptions2Type())
    assert types == ((member, 0) if union == 1 else (0, member))

    reader = getattr(tflite, table)()
    stored = operator.BuiltinOptions() if union == 1 else operator.BuiltinOptions2()
    reader.Init(stored.Bytes, stored.Pos)
    for name, field in fields.items():
        suffix = "AsNumpy" if field.is_vector else ""
        found = getattr(reader, "".join(part[:1].upper() + part[1:] for part in name.split("_")) + suffix)()
        np.testing.assert_array_equal(found, values[name])


def _sample(field: OptionField, truth: bool) -> Any:
    """Return some value for an option: ``truth`` for a boolean, otherwise one that is no field's default."""
    if field.dtype is None:
        return b"text"
    if field.is_vector:
        return np.array([1, 0, 1], field.dtype)
    return truth if field.dtype == np.bool_ else 3


def test_operators_know_their_options_table() -> None:
    assert options_table("CONV_2D") == "Conv2DOptions"
    assert options_table("MAX_POOL_2D") == "Pool2DOptions"
    assert options_table("REDUCE_MAX") == "ReducerOptions"
    assert options_table("REDUCE_WINDOW") == "ReduceWindowOptions"
    assert options_table("ATAN2") == "ATan2Options"
    assert options_table("STABLEHLO_COMPOSITE") == "StableHLOCompositeOptions"
    assert options_table("RELU") is None
    used = {options_table(name) for name in vars(tflite.BuiltinOperator) if name.isupper()}
    assert set(OPTION_TABLES) <= used, "every table of the schema belongs to some operator"


def test_names_of_enumeration_members() -> None:
    output = ((1, 4, 4, 1), "float32")
    options = {"padding": "VALID", "fused_activation_function": "RELU6", "quantized_bias_type": "INT32"}
    operator = read(one_operator("CONV_2D", [output], output, options)).Subgraphs(0).Operators(0)
    reader = tflite.Conv2DOptions()
    reader.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
    assert reader.Padding() == tflite.Padding.VALID
    assert reader.FusedActivationFunction() == tflite.ActivationFunctionType.RELU6
    assert reader.QuantizedBiasType() == tflite.TensorType.INT32


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("CONV2D", {}, "no builtin operator 'CONV2D'"),
        ("__module__", {}, "no builtin operator"),
        ("CONV_2D", {"stride": 2}, "no field stride; it has padding, stride_w"),
        ("CONV_2D", {"padding": "FULL"}, "Padding has no member 'FULL'"),
        ("CONV_2D", {"stride_w": "2"}, "stride_w holds a number"),
        ("RELU", {"alpha": 1.0}, "RELU takes no options"),
    ],
)
def test_wrong_operators_and_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        one_operator(name, [((1,), "float32")], ((1,), "float32"), options)


def test_options_table_left_out_or_exchanged() -> None:
    model = ModelWriter()
    model.add_operator("CONV_2D", [], [], table="NONE")
    model.add_operator("CONV_2D", [], [], {"beta": 2.0}, table="SoftmaxOptions")
    graph = read(model.finish()).Subgraphs(0)
    types = [graph.Operators(number).BuiltinOptionsType() for number in range(2)]
    assert types == [tflite.BuiltinOptions.NONE, tflite.BuiltinOptions.SoftmaxOptions]


@pytest.mark.parametrize("name", [name for name in NUMPY_TYPES if name not in ("int2", "int4")])
def test_bytes_of_every_element_type(name: str) -> None:
    values = np.array([[0, 1], [1, 0]]).astype(NUMPY_TYPES[name])
    for dtype in (name, name.upper(), NUMPY_TYPES[name]):
        assert encode_tensor_data(values, dtype, (2, 2)) == values.tobytes()
    assert type_code(name) == getattr(tflite.TensorType, name.upper())


def test_int4_is_packed_low_half_first() -> None:
    assert encode_tensor_data([1, -1, 7, -8, 3], "int4", (5,)) == bytes([0xF1, 0x87, 0x03])
    assert encode_tensor_data(np.array([[-2, 5]], ml_dtypes.int4), ml_dtypes.int4, (1, 2)) == b"\x5e"


def test_int2_is_packed_lowest_bits_first() -> None:
    assert encode_tensor_data([1, -1, 0, -2, 1], "int2", (5,)) == bytes([0b10_00_11_01, 0b01])


def test_string_layout() -> None:
    expected = np.array([2, 16, 19, 20], "<i4").tobytes() + b"abcd"
    assert encode_tensor_data(["abc", b"d"], "string", (2,)) == expected


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        ([1, 2], "int8", (3,)),
        ([1.5], "int32", (1,)),
        ([300], "uint8", (1,)),
        ([-1], "uint32", (1,)),
        ([2], "bool", (1,)),
        ([8], "int4", (1,)),
        (["a"], "string", (2,)),
        ([1], "resource", (1,)),
        ([1], "float8", (1,)),
    ],
)
def test_values_that_do_not_fit(data: Any, dtype: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        ModelWriter().add_tensor("t", shape, dtype, data)


def test_ready_bytes_are_taken_unchecked() -> None:
    model = ModelWriter()
    model.add_tensor("t", (100,), "float32", b"\x07")
    assert read(model.finish()).Buffers(1).DataAsNumpy().tolist() == [7]


def test_run_add() -> None:
    [total] = run(add_model().finish(), [[-9.0, 0.0, 1.0, 2.0]])
    assert total.tolist() == [[0.0, 2.0, 4.0, 6.0]]


def test_run_convolution() -> None:
    """3x3 convolution, stride 2, "same" padding (0 before, 1 after for size 6) and a fused ReLU6."""
    random = np.random.default_rng(1)
    image = random.normal(size=(1, 6, 6, 2)).astype(np.float32)
    weights = random.normal(size=(3, 3, 3, 2)).astype(np.float32)
    bias = np.array([0.5, -1.0, 4.0], np.float32)
    constants = [((3, 3, 3, 2), "float32", weights), ((3,), "float32", bias)]
    options = {"padding": "SAME", "stride_h": 2, "stride_w": 2, "fused_activation_function": "RELU6"}
    output = ((1, 3, 3, 3), "float32")
    [found] = run(one_operator("CONV_2D", [((1, 6, 6, 2), "float32"), *constants], output, options), image)

    padded = np.pad(image, ((0, 0), (0, 1), (0, 1), (0, 0)))
    expected = np.empty((1, 3, 3, 3))
    for row in range(3):
        for column in range(3):
            window = padded[0, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
            expected[0, row, column] = np.tensordot(weights, window, axes=3) + bias
    np.testing.assert_allclose(found, expected.clip(0.0, 6.0), rtol=1e-5, atol=1e-5)


def test_run_int8_fully_connected() -> None:
    random = np.random.default_rng(2)
    x = random.integers(-128, 128, (2, 16), np.int8)
    weights = random.integers(-127, 128, (4, 16), np.int8)
    bias = random.integers(-2000, 2000, 4, np.int32)
    operands = [
        ((2, 16), "int8", None, ([0.02], [5])),
        ((4, 16), "int8", weights, ([0.01], [0])),
        ((4,), "int32", bias, ([0.02 * 0.01], [0])),
    ]
    model = ModelWriter()
    inputs = [model.add_tensor(f"in{number}", *given) for number, given in enumerate(operands)]
    output = model.add_tensor("out", (2, 4), "int8", quantization=([0.1], [-3]))
    model.add_operator("FULLY_CONNECTED", inputs, [output], version=4)
    model.inputs, model.outputs = inputs[:1], [output]
    [found] = run(model.finish(), x)

    sums = (x.astype(np.int32) - 5) @ weights.T.astype(np.int32) + bias
    expected = np.clip(np.round(sums * (0.02 * 0.01 / 0.1)) - 3, -128, 127)
    # The kernel multiplies by a 31-bit fraction, so it may round a tie the other way.
    np.testing.assert_allclose(found, expected, atol=1)
    assert np.ptp(found.astype(int)) > 50, "the values should spread, or the test shows little"


def test_run_int4_constant() -> None:
    values = np.array([[-8, -1, 0, 7, 3]])
    content = one_operator(
        "DEQUANTIZE", [((1, 5), "int4", values, ([0.5], [0]))], ((1, 5), "float32"), version=6
    )
    [found] = run(content)
    np.testing.assert_array_equal(found, values * 0.5)


def test_run_strings() -> None:
    constants = [((3,), "string", ["a", "", "zebra"]), ((3,), "string", [b"a", b"b", b"zebra"])]
    [found] = run(one_operator("EQUAL", constants, ((3,), "bool"), version=3))
    assert found.tolist() == [True, False, True]


def test_run_vector_of_floats_in_options() -> None:
    options = {"boundaries": [0, 10, 100]}
    [found] = run(
        one_operator("BUCKETIZE", [((3,), "float32")], ((3,), "int32"), options), [-5.0, 20.0, 300.0]
    )
    assert found.tolist() == [0, 2, 3]


def test_run_options_of_the_second_union() -> None:
    operands = [((2,), "float32"), ((), "float32", 9.0)]
    options = {"edge_padding_low": [1], "edge_padding_high": [2], "interior_padding": [0]}
    [found] = run(one_operator("STABLEHLO_PAD", operands, ((5,), "float32"), options), [1.0, 2.0])
    assert found.tolist() == [9.0, 1.0, 2.0, 9.0, 9.0]


@pytest.mark.parametrize(("condition", "expected"), [(True, [4.0, 6.0]), (False, [3.0, 8.0])])
def test_run_subgraphs(condition: bool, expected: list[float]) -> None:
    model = ModelWriter()
    branches = []
    for operator in ("ADD", "MUL"):
        branch = model.add_subgraph(operator)
        a, b, c = (branch.add_tensor(name, (2,), "float32") for name in "abc")
        branch.add_operator(operator, [a, b], [c])
        branch.inputs, branch.outputs = [a, b], [c]
        branches.append(branch.index)
    inputs = [model.add_tensor("condition", (), "bool")]
    inputs += [model.add_tensor(name, (2,), "float32") for name in "ab"]
    result = model.add_tensor("result", (2,), "float32")
    options = {"then_subgraph_index": branches[0], "else_subgraph_index": branches[1]}
    model.add_operator("IF", inputs, [result], options)
    model.inputs, model.outputs = inputs, [result]
    [found] = run(model.finish(), condition, [1.0, 2.0], [3.0, 4.0])
    assert found.tolist() == expected

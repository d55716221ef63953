"""Weights quantized in blocks, whose scales another tensor holds: against LiteRT where it computes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.verification.bounds import DYNAMIC

schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="LiteRT is not installed")
flatbuffers = pytest.importorskip("flatbuffers", reason="LiteRT's own packages are not installed")

G = np.random.default_rng(17)
TYPES = {"f32": "FLOAT32", "f16": "FLOAT16", "i32": "INT32", "i4": "INT4", "i8": "INT8", "i64": "INT64"}


def packed(numbers: np.ndarray) -> np.ndarray:
    """Two numbers of 4 bits in a byte, the first in its low half."""
    halves = numbers.reshape(-1).astype(np.uint8) & 15
    return halves[::2] | (halves[1::2] << 4)


def blockwise(scales: int, zero_points: int = 0, block_size: int = 0, block_shape: list[int] | None = None) -> Any:
    parameters, details = schema.QuantizationParametersT(), schema.BlockwiseQuantizationT()
    details.scales, details.zeroPoints, details.blockSize, details.blockShape = scales, zero_points, block_size, block_shape
    parameters.details, parameters.detailsType = details, schema.QuantizationDetails.BlockwiseQuantization
    return parameters


def model(file: Path, operator: str, tensors: list[Any], operands: list[int], result: int, version: int) -> Path:
    """A model of one operator; a tensor is (name, shape, type, data, quantization)."""
    made, code, graph, step = schema.ModelT(), schema.OperatorCodeT(), schema.SubGraphT(), schema.OperatorT()
    number = getattr(schema.BuiltinOperator, operator)
    code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), version
    made.version, made.operatorCodes, made.buffers, made.subgraphs = 3, [code], [schema.BufferT()], [graph]
    graph.tensors, graph.name = [], "main"
    for name, shape, type_, data, quantization in tensors:
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.hasRank, tensor.quantization = name, list(shape), True, quantization
        tensor.type = getattr(schema.TensorType, TYPES[type_])
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            made.buffers.append(buffer)
            tensor.buffer = len(made.buffers) - 1
        graph.tensors.append(tensor)
    if operator == "FULLY_CONNECTED":
        step.builtinOptions = schema.FullyConnectedOptionsT()
        step.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
    step.opcodeIndex, step.inputs, step.outputs = 0, operands, [result]
    graph.operators, graph.inputs, graph.outputs = [step], [operands[0]], [result]
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    file.write_bytes(bytes(builder.Output()))
    return file


def weights(rows: int, columns: int, block: int, scale_type: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of 4 bits, a scale for each block of a row, and what they stand for."""
    numbers = G.integers(-8, 8, (rows, columns))
    scales = G.uniform(0.01, 0.1, (rows, columns // block)).astype(np.float16 if scale_type == "f16" else np.float32)
    return numbers, scales, numbers * np.repeat(scales.astype(np.float32), block, 1)


def routes(file: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    hub = transload.legalize(transload.load(file))
    return {
        "top": transload.run(hub, inputs)["y"],
        "tosa": transload.run(transload.lower(transload.load(file), to="tosa"), inputs)["y"],
        "stablehlo": transload.run(transload.lower(transload.load(file), to="stablehlo"), inputs, engine="xla")["y"]}


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("block", [32, 64])
def test_embedding_lookup_is_litert_s(tmp_path: Path, block: int, flat: bool) -> None:
    """LiteRT has a kernel of its own for tables of 4 bits; scales may be a row of all."""
    from transload_converters.tflite.runtime import open_model

    numbers, scales, real = weights(8, 128, block, "f16")
    tensors = [
        ("i", (4,), "i32", None, None), ("w", numbers.shape, "i4", packed(numbers), blockwise(2, -1, block)),
        ("s", (scales.size,) if flat else scales.shape, "f16", scales, None), ("y", (4, 128), "f32", None, None)]
    file = model(tmp_path / "m.tflite", "EMBEDDING_LOOKUP", tensors, [0, 1], 3, 4)
    inputs = {"i": np.array([7, 0, 3, 3], np.int32)}
    wanted = open_model(file)(inputs)["y"]
    np.testing.assert_array_equal(wanted, real[inputs["i"]].astype(np.float32))
    for route, got in routes(file, inputs).items():
        np.testing.assert_array_equal(got, wanted, err_msg=route)


@pytest.mark.parametrize(("columns", "block"), [(128, 32), (64, 64)])
def test_a_layer_keeps_the_bound_of_what_xnnpack_quantizes(tmp_path: Path, columns: int, block: int) -> None:
    """XNNPACK quantizes the activations when it runs; we compute with them as they are, and verification knows the difference."""
    numbers, scales, real = weights(8, columns, block, "f16")
    tensors = [
        ("x", (4, columns), "f32", None, None), ("w", numbers.shape, "i4", packed(numbers), blockwise(2, -1, block)),
        ("s", scales.shape, "f16", scales, None), ("y", (4, 8), "f32", None, None)]
    file = model(tmp_path / "m.tflite", "FULLY_CONNECTED", tensors, [0, 1, -1], 3, 12)
    inputs = {"x": G.standard_normal((4, columns)).astype(np.float32)}
    for route, got in routes(file, inputs).items():
        np.testing.assert_allclose(got, inputs["x"] @ real.T, rtol=1e-4, atol=1e-5, err_msg=route)
    hub = transload.legalize(transload.load(file))
    product = next(op for op in hub.walk() if op.name == "top.MatMul")
    assert product.attributes[DYNAMIC] == "asymmetric"
    if block < columns:
        assert str(product.operands[1].op.operands[0].element).startswith(f"!quant.uniform<i4:f32:{{0:1, 1:{block}}}, ")
    result = transload.convert(file, target="tosa", out=tmp_path / "out")
    assert result.verification is not None and result.verification.passed


@pytest.mark.parametrize("scale_type", ["f16", "f32"])
def test_zero_points_and_blocks_of_two_dimensions(tmp_path: Path, scale_type: str) -> None:
    """What the schema can say and LiteRT does not compute: by the definition."""
    numbers = G.integers(-128, 128, (8, 6)).astype(np.int8)
    scales = G.uniform(0.01, 0.1, (4, 3)).astype(np.float16 if scale_type == "f16" else np.float32)
    points = G.integers(-5, 6, (4, 3))
    tensors = [
        ("i", (4,), "i32", None, None), ("w", (8, 6), "i8", numbers, blockwise(2, 3, 0, [2, 2])),
        ("s", (4, 3), scale_type, scales, None), ("z", (4, 3), "i32", points.astype(np.int32), None),
        ("y", (4, 6), "f32", None, None)]
    file = model(tmp_path / "m.tflite", "EMBEDDING_LOOKUP", tensors, [0, 1], 4, 4)
    inputs = {"i": np.array([7, 0, 3, 3], np.int32)}
    spread = [np.repeat(np.repeat(part, 2, 0), 2, 1) for part in (points, scales.astype(np.float32))]
    wanted = ((numbers.astype(np.float32) - spread[0]).astype(np.float32) * spread[1])[inputs["i"]]
    for route, got in routes(file, inputs).items():
        np.testing.assert_array_equal(got, wanted.astype(np.float32), err_msg=route)


@pytest.mark.parametrize(("parameters", "scales", "why"), [
    (blockwise(9, -1, 4), np.ones((8, 2), np.float16), "tensor 9, which does not exist"),
    (blockwise(-1, -1, 4), np.ones((8, 2), np.float16), "tensor -1, which does not exist"),
    (blockwise(2, -1, 3), np.ones((8, 2), np.float16), "cannot be divided"),
    (blockwise(2, -1, 0), np.ones((8, 2), np.float16), "cannot be divided"),
    (blockwise(2, -1, -4), np.ones((8, 2), np.float16), "cannot be divided"),
    (blockwise(2, -1, 0, [4]), np.ones((8, 2), np.float16), "cannot be divided"),
    (blockwise(2, -1, 4), np.ones((8, 3), np.float16), "24 scales for 16 blocks"),
    (blockwise(2, 2, 4), np.ones((8, 2), np.float16), "zero point"),
    (blockwise(0, -1, 4), np.ones((8, 2), np.float16), "no constants"),
    (blockwise(2, -1, 4), np.full((8, 2), np.nan, np.float16), "not a number"),
    (blockwise(2, -1, 4), -np.ones((8, 2), np.float16), "negative"),
])
def test_blocks_that_do_not_fit_are_refused(tmp_path: Path, parameters: Any, scales: np.ndarray, why: str) -> None:
    tensors = [
        ("i", (4,), "i32", None, None), ("w", (8, 8), "i4", packed(np.ones((8, 8))), parameters),
        ("s", scales.shape, "f16", scales, None), ("y", (4, 8), "f32", None, None)]
    file = model(tmp_path / "m.tflite", "EMBEDDING_LOOKUP", tensors, [0, 1], 3, 4)
    with pytest.raises(transload.TransloadError, match=why):
        transload.load(file)

"""How a described TFLite model becomes the bytes of a file.

The records of this module say what is in a model; :func:`assemble_model` writes them. People and tests use
:mod:`transload_converters.tflite.writer`, which fills the records.

Source: the TFLite schema, ``tensorflow/lite/schema/schema.fbs``, through the ``tflite`` package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import flatbuffers
import tflite

from transload_converters.tflite.writer_encoding import type_code, write_vector
from transload_converters.tflite.writer_options import union_member, write_options

#: The version of the schema that every TFLite file states.
_SCHEMA_VERSION = 3
#: Four bytes near the start of every TFLite file.
_FILE_IDENTIFIER = b"TFL3"
#: The schema forces the bytes of a buffer to this alignment, so that kernels may use them in place.
_BUFFER_ALIGNMENT = 16
#: The first, 8-bit field of operator codes ends here; later operators put this number into it.
_PLACEHOLDER_FOR_GREATER_OP_CODES = 127


class Quantization(NamedTuple):
    """How the integers of a tensor stand for real numbers: ``real = scale * (stored - zero_point)``.

    Attributes:
        scales: one scale for the whole tensor, or one for each slice along ``axis`` (float32 in the file).
        zero_points: as many as scales (int64 in the file).
        axis: the dimension along which scales differ (``quantized_dimension``).
        minimum: smallest real value seen in calibration, or nothing; only a note for readers.
        maximum: largest real value seen in calibration, or nothing.
    """

    scales: Sequence[float]
    zero_points: Sequence[int]
    axis: int = 0
    minimum: Sequence[float] = ()
    maximum: Sequence[float] = ()


@dataclasses.dataclass
class Sparsity:
    """How the numbers of a sparse constant are arranged, level by level.

    Attributes:
        order: the dimension of each level; dimensions within blocks come after the tensor's own.
        blocks: for each dimension within blocks, the one that it divides.
        levels: for each level how many indices it has, or, where only some are there, `(segments, indices)`: of node n
            those are `indices[segments[n]:segments[n + 1]]`.
    """

    order: Sequence[int]
    levels: Sequence[int | tuple[Sequence[int], Sequence[int]]]
    blocks: Sequence[int] = ()


@dataclasses.dataclass
class TensorRecord:
    """A tensor to be written.

    Attributes:
        name: the tensor's name.
        dtype: the schema name of its element type in lower case.
        shape: its shape, or None for unknown rank.
        shape_signature: its shape with -1 for dimensions that are not fixed, or None.
        data: the bytes of its buffer, or None where it is no constant.
        quantization: how its integers stand for real numbers, or None.
        is_variable: whether it keeps its value from one run to the next.
        sparsity: how the numbers of a sparse constant are arranged, or None.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    shape_signature: tuple[int, ...] | None
    data: bytes | None
    quantization: Quantization | None
    is_variable: bool
    sparsity: Sparsity | None = None


@dataclasses.dataclass
class OperatorRecord:
    """An operator to be written.

    Attributes:
        code: the schema's builtin code, the custom code (empty for a builtin operator) and the version.
        inputs: tensor numbers, -1 for an optional input that is not given.
        outputs: tensor numbers.
        table: the schema name of the options table, or None for no table.
        options: the table's values by schema field name.
        custom_options: the bytes of a custom operator's options.
        intermediates: numbers of the tensors that describe inner values.
        mutating_variable_inputs: for each input, whether the operator changes it; empty for none.
    """

    code: tuple[int, str, int]
    inputs: list[int]
    outputs: list[int]
    table: str | None
    options: dict[str, Any]
    custom_options: bytes
    intermediates: list[int]
    mutating_variable_inputs: list[bool]


@dataclasses.dataclass
class SubgraphRecord:
    """A subgraph to be written: its name, tensors and operators, and the numbers of inputs and outputs."""

    name: str
    tensors: list[TensorRecord]
    operators: list[OperatorRecord]
    inputs: list[int]
    outputs: list[int]


@dataclasses.dataclass
class SignatureRecord:
    """Names for the inputs and outputs of the subgraph with the index ``subgraph``."""

    key: str
    inputs: dict[str, int]
    outputs: dict[str, int]
    subgraph: int


@dataclasses.dataclass
class ModelRecord:
    """A model to be written: ``subgraphs[0]`` is the main one; ``metadata`` holds names with bytes."""

    description: str
    subgraphs: list[SubgraphRecord]
    metadata: list[tuple[str, bytes]]
    signatures: list[SignatureRecord]


def assemble_model(model: ModelRecord) -> bytes:
    """Return the bytes of the ``.tflite`` file for a model."""
    return _Assembly().model(model)


class _Assembly:
    """One pass of writing a model into a FlatBuffer.

    A FlatBuffer is written from the leaves to the root: each method writes what its table refers to, then
    the table, and returns the table's offset. Buffers and operator codes are shared by the whole model; they
    are gathered while the subgraphs are written, and are written after them.
    """

    def __init__(self) -> None:
        self._builder = flatbuffers.Builder(1024)
        # By convention the first buffer is empty: tensors that are no constants refer to it.
        self._buffers: list[bytes] = [b""]
        self._codes: dict[tuple[int, str, int], int] = {}

    def model(self, model: ModelRecord) -> bytes:
        """Write the whole model and return the file's bytes."""
        builder = self._builder
        subgraph_vector = self._tables([self._subgraph(subgraph) for subgraph in model.subgraphs])
        metadata = [self._metadata(name, data) for name, data in model.metadata]
        metadata_vector = self._tables(metadata) if metadata else None
        signatures = [self._signature(signature) for signature in model.signatures]
        signature_vector = self._tables(signatures) if signatures else None
        code_vector = self._tables([self._operator_code(*code) for code in self._codes])
        buffer_vector = self._tables([self._buffer(data) for data in self._buffers])
        description_string = builder.CreateString(model.description)

        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, _SCHEMA_VERSION)
        tflite.ModelAddOperatorCodes(builder, code_vector)
        tflite.ModelAddSubgraphs(builder, subgraph_vector)
        tflite.ModelAddDescription(builder, description_string)
        tflite.ModelAddBuffers(builder, buffer_vector)
        if metadata_vector is not None:
            tflite.ModelAddMetadata(builder, metadata_vector)
        if signature_vector is not None:
            tflite.ModelAddSignatureDefs(builder, signature_vector)
        builder.Finish(tflite.ModelEnd(builder), file_identifier=_FILE_IDENTIFIER)
        return bytes(builder.Output())

    def _tables(self, offsets: Sequence[int]) -> int:
        """Write a vector of references to tables that are written already."""
        builder = self._builder
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return int(builder.EndVector())

    def _subgraph(self, subgraph: SubgraphRecord) -> int:
        builder = self._builder
        tensors = self._tables([self._tensor(record) for record in subgraph.tensors])
        operators = self._tables([self._operator(record) for record in subgraph.operators])
        inputs = write_vector(builder, subgraph.inputs, "int32")
        outputs = write_vector(builder, subgraph.outputs, "int32")
        name = builder.CreateString(subgraph.name)
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, tensors)
        tflite.SubGraphAddInputs(builder, inputs)
        tflite.SubGraphAddOutputs(builder, outputs)
        tflite.SubGraphAddOperators(builder, operators)
        tflite.SubGraphAddName(builder, name)
        return int(tflite.SubGraphEnd(builder))

    def _tensor(self, record: TensorRecord) -> int:
        builder = self._builder
        buffer = 0
        if record.data is not None:
            buffer = len(self._buffers)
            self._buffers.append(record.data)
        name = builder.CreateString(record.name)
        shape = None if record.shape is None else write_vector(builder, record.shape, "int32")
        signature = None
        if record.shape_signature is not None:
            signature = write_vector(builder, record.shape_signature, "int32")
        quantization = None if record.quantization is None else self._quantization(record.quantization)
        sparsity = None if record.sparsity is None else self._sparsity(record.sparsity)

        tflite.TensorStart(builder)
        if shape is not None:
            tflite.TensorAddShape(builder, shape)
            tflite.TensorAddHasRank(builder, True)
        tflite.TensorAddType(builder, type_code(record.dtype))
        tflite.TensorAddBuffer(builder, buffer)
        tflite.TensorAddName(builder, name)
        if quantization is not None:
            tflite.TensorAddQuantization(builder, quantization)
        if sparsity is not None:
            tflite.TensorAddSparsity(builder, sparsity)
        tflite.TensorAddIsVariable(builder, record.is_variable)
        if signature is not None:
            tflite.TensorAddShapeSignature(builder, signature)
        return int(tflite.TensorEnd(builder))

    def _sparsity(self, sparsity: Sparsity) -> int:
        builder = self._builder
        levels = [self._level(level) for level in sparsity.levels]
        order, blocks = write_vector(builder, sparsity.order, "int32"), write_vector(builder, sparsity.blocks, "int32")
        metadata = self._tables(levels)
        tflite.SparsityParametersStart(builder)
        tflite.SparsityParametersAddTraversalOrder(builder, order)
        tflite.SparsityParametersAddBlockMap(builder, blocks)
        tflite.SparsityParametersAddDimMetadata(builder, metadata)
        return int(tflite.SparsityParametersEnd(builder))

    def _level(self, level: int | tuple[Sequence[int], Sequence[int]]) -> int:
        builder = self._builder
        if isinstance(level, int):
            tflite.DimensionMetadataStart(builder)
            tflite.DimensionMetadataAddFormat(builder, tflite.DimensionType.DENSE)
            tflite.DimensionMetadataAddDenseSize(builder, level)
            return int(tflite.DimensionMetadataEnd(builder))
        vectors = []
        for numbers in level:
            values = write_vector(builder, numbers, "int32")
            tflite.Int32VectorStart(builder)
            tflite.Int32VectorAddValues(builder, values)
            vectors.append(int(tflite.Int32VectorEnd(builder)))
        tflite.DimensionMetadataStart(builder)
        tflite.DimensionMetadataAddFormat(builder, tflite.DimensionType.SPARSE_CSR)
        tflite.DimensionMetadataAddArraySegmentsType(builder, tflite.SparseIndexVector.Int32Vector)
        tflite.DimensionMetadataAddArraySegments(builder, vectors[0])
        tflite.DimensionMetadataAddArrayIndicesType(builder, tflite.SparseIndexVector.Int32Vector)
        tflite.DimensionMetadataAddArrayIndices(builder, vectors[1])
        return int(tflite.DimensionMetadataEnd(builder))

    def _quantization(self, quantization: Quantization) -> int:
        builder = self._builder
        minimum = (
            write_vector(builder, quantization.minimum, "float32") if len(quantization.minimum) else None
        )
        maximum = (
            write_vector(builder, quantization.maximum, "float32") if len(quantization.maximum) else None
        )
        scales = write_vector(builder, quantization.scales, "float32")
        zero_points = write_vector(builder, quantization.zero_points, "int64")
        tflite.QuantizationParametersStart(builder)
        if minimum is not None:
            tflite.QuantizationParametersAddMin(builder, minimum)
        if maximum is not None:
            tflite.QuantizationParametersAddMax(builder, maximum)
        tflite.QuantizationParametersAddScale(builder, scales)
        tflite.QuantizationParametersAddZeroPoint(builder, zero_points)
        tflite.QuantizationParametersAddQuantizedDimension(builder, quantization.axis)
        return int(tflite.QuantizationParametersEnd(builder))

    def _operator(self, record: OperatorRecord) -> int:
        builder = self._builder
        code_index = self._codes.setdefault(record.code, len(self._codes))
        inputs = write_vector(builder, record.inputs, "int32")
        outputs = write_vector(builder, record.outputs, "int32")
        options = None if record.table is None else write_options(builder, record.table, record.options)
        custom = write_vector(builder, record.custom_options, "uint8") if record.custom_options else None
        intermediates = write_vector(builder, record.intermediates, "int32") if record.intermediates else None
        mutating = None
        if record.mutating_variable_inputs:
            mutating = write_vector(builder, record.mutating_variable_inputs, "bool")

        tflite.OperatorStart(builder)
        tflite.OperatorAddOpcodeIndex(builder, code_index)
        tflite.OperatorAddInputs(builder, inputs)
        tflite.OperatorAddOutputs(builder, outputs)
        if record.table is not None:
            union, member = union_member(record.table)
            if union == 1:
                tflite.OperatorAddBuiltinOptionsType(builder, member)
                tflite.OperatorAddBuiltinOptions(builder, options)
            else:
                tflite.OperatorAddBuiltinOptions2Type(builder, member)
                tflite.OperatorAddBuiltinOptions2(builder, options)
        if custom is not None:
            tflite.OperatorAddCustomOptions(builder, custom)
        if mutating is not None:
            tflite.OperatorAddMutatingVariableInputs(builder, mutating)
        if intermediates is not None:
            tflite.OperatorAddIntermediates(builder, intermediates)
        return int(tflite.OperatorEnd(builder))

    def _operator_code(self, builtin: int, custom: str, version: int) -> int:
        builder = self._builder
        custom_code = builder.CreateString(custom) if custom else None
        tflite.OperatorCodeStart(builder)
        # Readers that know only the 8-bit field must not take a later operator for an early one.
        tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(builtin, _PLACEHOLDER_FOR_GREATER_OP_CODES))
        if custom_code is not None:
            tflite.OperatorCodeAddCustomCode(builder, custom_code)
        tflite.OperatorCodeAddVersion(builder, version)
        tflite.OperatorCodeAddBuiltinCode(builder, builtin)
        return int(tflite.OperatorCodeEnd(builder))

    def _buffer(self, data: bytes) -> int:
        builder = self._builder
        vector = write_vector(builder, data, "uint8", _BUFFER_ALIGNMENT) if data else None
        tflite.BufferStart(builder)
        if vector is not None:
            tflite.BufferAddData(builder, vector)
        return int(tflite.BufferEnd(builder))

    def _metadata(self, name: str, data: bytes) -> int:
        builder = self._builder
        buffer = len(self._buffers)
        self._buffers.append(data)
        name_string = builder.CreateString(name)
        tflite.MetadataStart(builder)
        tflite.MetadataAddName(builder, name_string)
        tflite.MetadataAddBuffer(builder, buffer)
        return int(tflite.MetadataEnd(builder))

    def _signature(self, signature: SignatureRecord) -> int:
        builder = self._builder
        inputs = self._tables([self._tensor_map(*item) for item in signature.inputs.items()])
        outputs = self._tables([self._tensor_map(*item) for item in signature.outputs.items()])
        key = builder.CreateString(signature.key)
        tflite.SignatureDefStart(builder)
        tflite.SignatureDefAddInputs(builder, inputs)
        tflite.SignatureDefAddOutputs(builder, outputs)
        tflite.SignatureDefAddSignatureKey(builder, key)
        tflite.SignatureDefAddSubgraphIndex(builder, signature.subgraph)
        return int(tflite.SignatureDefEnd(builder))

    def _tensor_map(self, name: str, tensor: int) -> int:
        builder = self._builder
        name_string = builder.CreateString(name)
        tflite.TensorMapStart(builder)
        tflite.TensorMapAddName(builder, name_string)
        tflite.TensorMapAddTensorIndex(builder, tensor)
        return int(tflite.TensorMapEnd(builder))

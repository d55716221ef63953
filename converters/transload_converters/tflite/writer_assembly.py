"""How a described TFLite model becomes the bytes of a file.

The records of this module say what is in a model; :func:`assemble_model` writes them. People and tests use
:mod:`transload_converters.tflite.writer`, which fills the records.

Source: the TFLite schema, ``tensorflow/lite/schema/schema.fbs``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from transload.flatbuffer import FlatBuilder

from .schema import struct_code, union_member
from .writer_encoding import type_code
from .writer_options import write_options, write_table

#: The version of the schema that every TFLite file states.
_SCHEMA_VERSION = 3
#: Four bytes near the start of every TFLite file.
_FILE_IDENTIFIER = b"TFL3"
#: The schema forces the bytes of a buffer to this alignment, so that kernels may use them in place.
_BUFFER_ALIGNMENT = 16
#: Members of the enumeration `DimensionType`, and of the union `SparseIndexVector`.
_DENSE, _SPARSE_CSR, _INT32_VECTOR = 0, 1, 1
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
    the table, and returns its place.
    """

    def __init__(self) -> None:
        self._builder = FlatBuilder()
        # By convention the first buffer is empty: tensors that are no constants refer to it.
        self._buffers: list[bytes] = [b""]
        self._places: dict[int, int] = {}
        self._codes: dict[tuple[int, str, int], int] = {}

    def model(self, model: ModelRecord) -> bytes:
        """Write the whole model and return the file's bytes."""
        subgraphs = self._tables([self._subgraph(subgraph) for subgraph in model.subgraphs])
        metadata = [self._metadata(name, data) for name, data in model.metadata]
        signatures = [self._signature(signature) for signature in model.signatures]
        root = self._table(
            "Model",
            version=_SCHEMA_VERSION,
            operator_codes=self._tables([self._operator_code(*code) for code in self._codes]),
            subgraphs=subgraphs,
            description=self._builder.string(model.description),
            buffers=self._tables([self._buffer(data) for data in self._buffers]),
            metadata=self._tables(metadata) if metadata else None,
            signature_defs=self._tables(signatures) if signatures else None,
        )
        return b"".join(self._builder.finish(root, _FILE_IDENTIFIER, _BUFFER_ALIGNMENT))

    def _table(self, table: str, /, **values: Any) -> int:
        """Write a table: see :func:`writer_options.write_table`."""
        return write_table(self._builder, table, values)

    def _tables(self, places: Sequence[int]) -> int:
        """Write a vector of references to tables that are written already."""
        return self._builder.offsets(places)

    def _vector(self, dtype: str, values: Sequence[Any], *, always: bool = False) -> int | None:
        """Write a vector of numbers; an empty one is left out, unless it is ``always`` to be there."""
        return self._builder.vector(struct_code(dtype), values) if always or len(values) else None

    def _subgraph(self, subgraph: SubgraphRecord) -> int:
        return self._table(
            "SubGraph",
            tensors=self._tables([self._tensor(record) for record in subgraph.tensors]),
            operators=self._tables([self._operator(record) for record in subgraph.operators]),
            inputs=self._vector("int32", subgraph.inputs, always=True),
            outputs=self._vector("int32", subgraph.outputs, always=True),
            name=self._builder.string(subgraph.name),
        )

    def _tensor(self, record: TensorRecord) -> int:
        buffer = 0
        if record.data is not None:  # what two tensors share, as one object, is there once
            buffer = self._places.setdefault(id(record.data), len(self._buffers))
            if buffer == len(self._buffers):
                self._buffers.append(record.data)
        signature = record.shape_signature
        return self._table(
            "Tensor",
            shape=None if record.shape is None else self._vector("int32", record.shape, always=True),
            has_rank=record.shape is not None,
            type=type_code(record.dtype),
            buffer=buffer,
            name=self._builder.string(record.name),
            quantization=None if record.quantization is None else self._quantization(record.quantization),
            sparsity=None if record.sparsity is None else self._sparsity(record.sparsity),
            is_variable=record.is_variable,
            shape_signature=None if signature is None else self._vector("int32", signature, always=True),
        )

    def _sparsity(self, sparsity: Sparsity) -> int:
        return self._table(
            "SparsityParameters",
            traversal_order=self._vector("int32", sparsity.order, always=True),
            block_map=self._vector("int32", sparsity.blocks, always=True),
            dim_metadata=self._tables([self._level(level) for level in sparsity.levels]),
        )

    def _level(self, level: int | tuple[Sequence[int], Sequence[int]]) -> int:
        if isinstance(level, int):
            return self._table("DimensionMetadata", format=_DENSE, dense_size=level)
        segments, indices = (
            self._table("Int32Vector", values=self._vector("int32", numbers, always=True)) for numbers in level
        )
        return self._table(
            "DimensionMetadata", format=_SPARSE_CSR, array_segments_type=_INT32_VECTOR, array_segments=segments,
            array_indices_type=_INT32_VECTOR, array_indices=indices,
        )

    def _quantization(self, quantization: Quantization) -> int:
        return self._table(
            "QuantizationParameters",
            min=self._vector("float32", quantization.minimum),
            max=self._vector("float32", quantization.maximum),
            scale=self._vector("float32", quantization.scales, always=True),
            zero_point=self._vector("int64", quantization.zero_points, always=True),
            quantized_dimension=quantization.axis,
        )

    def _operator(self, record: OperatorRecord) -> int:
        options: dict[str, int] = {}
        if record.table is not None:
            union, member = union_member(record.table)
            field = "builtin_options" if union == 1 else "builtin_options2"
            options = {f"{field}_type": member, field: write_options(self._builder, record.table, record.options)}
        return self._table(
            "Operator",
            opcode_index=self._codes.setdefault(record.code, len(self._codes)),
            inputs=self._vector("int32", record.inputs, always=True),
            outputs=self._vector("int32", record.outputs, always=True),
            custom_options=self._builder.byte_vector(record.custom_options) if record.custom_options else None,
            mutating_variable_inputs=self._vector("bool", record.mutating_variable_inputs),
            intermediates=self._vector("int32", record.intermediates),
            **options,
        )

    def _operator_code(self, builtin: int, custom: str, version: int) -> int:
        return self._table(
            "OperatorCode",
            # Readers that know only the 8-bit field must not take a later operator for an early one.
            deprecated_builtin_code=min(builtin, _PLACEHOLDER_FOR_GREATER_OP_CODES),
            custom_code=self._builder.string(custom) if custom else None,
            version=version,
            builtin_code=builtin,
        )

    def _buffer(self, data: bytes) -> int:
        return self._table("Buffer", data=self._builder.byte_vector(data, _BUFFER_ALIGNMENT) if data else None)

    def _metadata(self, name: str, data: bytes) -> int:
        buffer = len(self._buffers)
        self._buffers.append(data)
        return self._table("Metadata", name=self._builder.string(name), buffer=buffer)

    def _signature(self, signature: SignatureRecord) -> int:
        return self._table(
            "SignatureDef",
            inputs=self._tables([self._tensor_map(*item) for item in signature.inputs.items()]),
            outputs=self._tables([self._tensor_map(*item) for item in signature.outputs.items()]),
            signature_key=self._builder.string(signature.key),
            subgraph_index=signature.subgraph,
        )

    def _tensor_map(self, name: str, tensor: int) -> int:
        return self._table("TensorMap", name=self._builder.string(name), tensor_index=tensor)

"""A small writer of TFLite models (``.tflite`` files) that needs no TensorFlow.

It is made for two uses: the example model, which is trained in this project, and tests, which want models of
one or a few operators with any options. It therefore writes what it is told and does not judge whether the
model makes sense; a test may need one that does not.

A model of one operator::

    model = ModelWriter(description="adds two vectors")
    a = model.add_tensor("a", (1, 4), "float32")
    b = model.add_tensor("b", (4,), "float32", data=[1.0, 2.0, 3.0, 4.0])
    total = model.add_tensor("total", (1, 4), "float32")
    model.add_operator("ADD", [a, b], [total], {"fused_activation_function": "RELU"})
    model.inputs, model.outputs = [a], [total]
    Path("add.tflite").write_bytes(model.finish())

Source: the TFLite schema, ``tensorflow/lite/schema/schema.fbs``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import DTypeLike

from .schema import operator_code, options_table
from .writer_assembly import (
    ModelRecord,
    OperatorRecord,
    Quantization,
    SignatureRecord,
    Sparsity,
    SubgraphRecord,
    TensorRecord,
    assemble_model,
)
from .writer_encoding import encode_tensor_data, type_name

__all__ = ["ModelWriter", "Quantization", "Sparsity", "SubgraphWriter"]

#: Stands in a list of operands for an optional input that is not given.
_NO_TENSOR = -1


class SubgraphWriter:
    """Collects the tensors and operators of one subgraph.

    Attributes:
        name: the subgraph's name.
        index: the subgraph's place in the model, which operators such as WHILE refer to.
        inputs: numbers of the tensors that the subgraph takes; assigned or extended by the user.
        outputs: numbers of the tensors that the subgraph gives.
    """

    def __init__(self, name: str, index: int) -> None:
        self.name = name
        self.index = index
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self._tensors: list[TensorRecord] = []
        self._operators: list[OperatorRecord] = []

    def add_tensor(
        self,
        name: str,
        shape: Sequence[int] | None,
        dtype: str | DTypeLike,
        data: Any = None,
        quantization: Quantization | tuple[Any, ...] | None = None,
        shape_signature: Sequence[int] | None = None,
        *,
        is_variable: bool = False,
        sparsity: Sparsity | None = None,
    ) -> int:
        """Add a tensor and return its number in this subgraph.

        Args:
            name: the tensor's name.
            shape: its shape, with 1 for dimensions that are not fixed; None for a tensor of unknown rank.
            dtype: its element type: a schema name such as ``"float32"``, ``"int4"`` or ``"string"``, or a
                NumPy dtype.
            data: its values if it is a constant (an array or nested sequence of ``shape``; for strings a flat
                sequence), or the ready bytes of its buffer, which are not checked.
            quantization: ``Quantization`` or a plain tuple ``(scales, zero_points[, axis])``.
            shape_signature: the shape with -1 for dimensions that are not fixed; only for such tensors.
            is_variable: whether the tensor keeps its value from one run to the next.
            sparsity: how a sparse constant is arranged; `data` are then the bytes of what is stored of it.
        """
        record = TensorRecord(
            name=name,
            dtype=type_name(dtype),
            shape=None if shape is None else tuple(int(size) for size in shape),
            shape_signature=None if shape_signature is None else tuple(int(size) for size in shape_signature),
            data=None if data is None else encode_tensor_data(data, dtype, shape or ()),
            quantization=None if quantization is None else Quantization(*quantization),
            is_variable=is_variable,
            sparsity=sparsity,
        )
        self._tensors.append(record)
        return len(self._tensors) - 1

    def add_operator(
        self,
        name: str,
        inputs: Sequence[int | None],
        outputs: Sequence[int],
        options: Mapping[str, Any] | None = None,
        *,
        version: int = 1,
        table: str | None = None,
        intermediates: Sequence[int] = (),
        mutating_variable_inputs: Sequence[bool] = (),
    ) -> int:
        """Add a builtin operator and return its number in this subgraph.

        Args:
            name: the operator's schema name, such as ``"CONV_2D"``.
            inputs: tensor numbers; None for an optional input that is not given.
            outputs: tensor numbers.
            options: the operator's options by schema field name, such as
                ``{"padding": "SAME", "stride_w": 2}``; see :func:`writer_options.write_options`.
            version: the operator's version; readers refuse versions newer than those they know.
            table: the options table, where it is not to be the operator's own; ``"NONE"`` leaves it out.
            intermediates: numbers of the tensors that hold the scales of inner values (quantized LSTM).
            mutating_variable_inputs: for each input, whether the operator changes it (recurrent operators).

        Raises:
            ValueError: the schema has no such operator, or the operator takes no options and some are given.
        """
        code = (operator_code(name), "", version)
        table = options_table(name) if table is None else table
        if table == "NONE":
            table = None
        if table is None and options:
            raise ValueError(f"{name} takes no options")
        return self._append_operator(
            OperatorRecord(
                code=code,
                inputs=[_NO_TENSOR if tensor is None else tensor for tensor in inputs],
                outputs=list(outputs),
                table=table,
                options=dict(options or {}),
                custom_options=b"",
                intermediates=list(intermediates),
                mutating_variable_inputs=list(mutating_variable_inputs),
            )
        )

    def add_custom_operator(
        self,
        custom_code: str,
        inputs: Sequence[int | None],
        outputs: Sequence[int],
        custom_options: bytes = b"",
        *,
        version: int = 1,
    ) -> int:
        """Add an operator that is not in the schema and return its number in this subgraph.

        Args:
            custom_code: the name by which a runtime finds the operator.
            inputs: tensor numbers; None for an optional input that is not given.
            outputs: tensor numbers.
            custom_options: bytes that the operator alone understands (by custom a FlexBuffers map).
            version: the operator's version.
        """
        return self._append_operator(
            OperatorRecord(
                code=(operator_code("CUSTOM"), custom_code, version),
                inputs=[_NO_TENSOR if tensor is None else tensor for tensor in inputs],
                outputs=list(outputs),
                table=None,
                options={},
                custom_options=custom_options,
                intermediates=[],
                mutating_variable_inputs=[],
            )
        )

    def _append_operator(self, record: OperatorRecord) -> int:
        self._operators.append(record)
        return len(self._operators) - 1

    def _record(self) -> SubgraphRecord:
        """Return the subgraph as it stands, for the model's assembly."""
        return SubgraphRecord(self.name, self._tensors, self._operators, self.inputs, self.outputs)


class ModelWriter(SubgraphWriter):
    """Collects a model and writes it; it is at the same time the writer of the model's main subgraph.

    Args:
        description: the model's description.
        name: the name of the main subgraph, which has the index 0.
    """

    def __init__(self, description: str = "", name: str = "main") -> None:
        super().__init__(name, index=0)
        self.description = description
        self._subgraphs: list[SubgraphWriter] = [self]
        self._metadata: list[tuple[str, bytes]] = []
        self._signatures: list[SignatureRecord] = []

    def add_subgraph(self, name: str) -> SubgraphWriter:
        """Add a subgraph (a branch of IF, a body of WHILE, ...) and return its writer."""
        self._subgraphs.append(SubgraphWriter(name, len(self._subgraphs)))
        return self._subgraphs[-1]

    def add_metadata(self, name: str, data: bytes) -> None:
        """Attach named bytes to the model."""
        self._metadata.append((name, data))

    def add_signature(
        self, key: str, inputs: Mapping[str, int], outputs: Mapping[str, int], subgraph: int = 0
    ) -> None:
        """Give names to the inputs and outputs of a subgraph.

        Args:
            key: the signature's name; a model with one signature calls it ``"serving_default"`` by custom.
            inputs: tensor numbers by argument name.
            outputs: tensor numbers by result name.
            subgraph: the subgraph's index.
        """
        self._signatures.append(SignatureRecord(key, dict(inputs), dict(outputs), subgraph))

    def finish(self) -> bytes:
        """Return the model as the bytes of a ``.tflite`` file. The writer may be used further afterwards."""
        subgraphs = [subgraph._record() for subgraph in self._subgraphs]
        return assemble_model(ModelRecord(self.description, subgraphs, self._metadata, self._signatures))

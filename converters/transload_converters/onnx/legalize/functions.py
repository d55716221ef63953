"""Operators that ONNX itself defines by others: they are replaced by their definition, and that is converted.

The definition comes from the schema in the `onnx` package. It may be written in another opset version
than the model, so its ops carry theirs as attribute `onnx.opset`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import ReadError, Unsupported
from transload.ir import Block, Dense, DenseArray, Op, TensorType, Value
from transload.rewrite import Rewriter

from ..dialect import schema_of
from ..graph import GraphImporter, Scope, fill_in
from ..tensors import TensorReader
from ..types import element_code
from .table import OnnxTable, attr, choice, flag, operand, opset

TABLE = OnnxTable()

DEFINED = (
    "Attention", "BlackmanWindow", "CausalConvWithState", "HammingWindow", "HannWindow",
    "LinearAttention", "NegativeLogLikelihoodLoss", "RotaryEmbedding", "SoftmaxCrossEntropyLoss", "SwiGLU",
)

FLAGS = ("interleaved", "is_causal")
"""Attributes of these that are 0 or 1."""
REDUCTIONS = ("none", "mean", "sum")
"""What a loss, which has the attribute `reduction`, may do with those of the samples: its definition takes others for sums."""


@TABLE(*(f"onnx.{name}" for name in DEFINED))
def expand(op: Op, rw: Rewriter) -> list[Value]:
    """The ops of the operator's definition, with its attributes and operands in place."""
    for name in FLAGS:
        flag(op, name)
    choice(op, "reduction", REDUCTIONS, "mean")
    domain = attr(op, "domain", "")
    op_type, version = op.name.rpartition(".")[2], opset(op, domain or "ai.onnx")
    schema = schema_of(op_type, version, domain)
    function = None if schema is None else _definition(op, op_type, schema, version)
    if function is None:
        raise Unsupported(f"ONNX defines {op_type} of opset {version} by no other operators")
    attributes = {attribute.name: attribute for attribute in _node(op, op_type).attribute}
    for name, declared in schema.attributes.items():
        if name not in attributes and declared.default_value.type:
            attributes[name] = declared.default_value
    absent = {name for index, name in enumerate(function.input) if operand(op, index) is None}
    for node in function.node:
        fill_in(node, attributes, absent)
    versions = {entry.domain: entry.version for entry in function.opset_import}
    importer = GraphImporter(TensorReader(op_type, None), versions, {"onnx.opset": versions.get("", version)})
    scope = Scope()
    for index, name in enumerate(function.input):
        if name not in absent:
            scope.values[name] = op.operands[index]
    block = Block()
    try:
        importer.nodes(function.node, block, scope)
        values = importer.outputs(function.output[: len(op.results)], scope, op_type)
        importer.finish()
    except ReadError as error:
        raise Unsupported(f"its definition cannot be used: {error}") from None
    for inner in block:
        block.remove(inner)
        inner.location = rw.location
        rw.block.insert(inner, rw.before)
    return values


def _definition(op: Op, op_type: str, schema: Any, version: int) -> Any:
    """The `FunctionProto` of an operator, for the opset version as far as there is one."""
    from onnx import FunctionProto

    if schema.has_context_dependent_function:
        choices = schema.context_dependent_function_opset_versions
        chosen = max((v for v in choices if v <= version), default=max(choices))
        types = [_type_bytes(value) for value in op.operands]
        try:
            data = schema.get_context_dependent_function_with_opset_version(
                chosen, _node(op, op_type).SerializeToString(), types)
        except RuntimeError as error:
            raise Unsupported(f"its definition cannot be made: {error}") from None
        function = FunctionProto()
        function.ParseFromString(data)
        return function if function.node else None
    if not schema.has_function:
        return None
    choices = schema.function_opset_versions
    chosen = max((v for v in choices if v <= version), default=max(choices))
    function = FunctionProto()
    function.ParseFromString(schema.get_function_with_opset_version(chosen))
    return function


def _node(op: Op, op_type: str) -> Any:
    """The op as a `NodeProto`."""
    from onnx import helper, numpy_helper

    inputs = ["" if operand(op, i) is None else f"i{i}" for i in range(len(op.operands))]
    node = helper.make_node(op_type, inputs, [f"o{i}" for i in range(len(op.results))])
    for key, value in op.attributes.items():
        if key in ("onnx.opset", "domain") or (key == "softcap" and value <= 0):  # which caps nothing (onnx.reference)
            continue
        if isinstance(value, Dense):
            node.attribute.append(helper.make_attribute(key, numpy_helper.from_array(np.asarray(value.numpy(), order="C"))))
        elif isinstance(value, DenseArray | tuple):
            node.attribute.append(helper.make_attribute(key, list(value), attr_type=None if value else 7))
        elif isinstance(value, str | int | float | list) and value != []:  # which is of no type
            node.attribute.append(helper.make_attribute(key, value))
    return node


def _type_bytes(value: Value) -> bytes:
    from onnx import helper

    type_ = value.type
    if not isinstance(type_, TensorType):
        return b""
    code = element_code(type_.element)
    if code is None:
        raise Unsupported(f"works on elements of type {type_.element}")
    return helper.make_tensor_type_proto(code, type_.shape).SerializeToString()

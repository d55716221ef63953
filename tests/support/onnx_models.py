"""Models of a few operators, made with `onnx.helper`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from transload.ir import NONE, Module, TensorType
from transload.plugin import Source
from transload_converters.onnx.reader import read

node = helper.make_node

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(np.float64): TensorProto.DOUBLE,
         np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int16): TensorProto.INT16,
         np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.uint16): TensorProto.UINT16,
         np.dtype(np.uint32): TensorProto.UINT32, np.dtype(np.uint64): TensorProto.UINT64,
         np.dtype(np.bool_): TensorProto.BOOL}


def make_model(
    nodes: Sequence[Any], inputs: Mapping[str, np.ndarray], outputs: Sequence[str], constants: Mapping[str, Any] | None = None,
    opset: int = 17, functions: Sequence[Any] = (), ml: int = 3,
) -> Any:
    """A model of some nodes; inputs have the shapes and dtypes of the arrays, outputs whatever they turn out to be."""
    graph = helper.make_graph(
        list(nodes), "test",
        [helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape) for name, array in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), name)
         for name, value in (constants or {}).items()])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    opsets += [helper.make_opsetid("ai.onnx.ml", ml)] if any(node.domain == "ai.onnx.ml" for node in nodes) else []
    opsets += [helper.make_opsetid(domain, 1) for domain in {f.domain for f in functions}]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    model.functions.extend(functions)
    return model


def read_model(model: Any, inputs: Mapping[str, Sequence[int]] | None = None) -> Module:
    """The module of a model, in dialect `onnx`."""
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return read(Source(_data=data, name="<test>"), {name: TensorType(tuple(shape), NONE) for name,
        shape in (inputs or {}).items()})


def op_names(module: Module) -> list[str]:
    """The names of a module's ops but constants and absent operands, in order."""
    return [op.name.partition(".")[2] for op in module.ops() if op.operands and op.name != "func.return"]

"""Small ONNX models of one input, and what verification says of one that is converted in place of another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import transload
from transload.verification.verify import Verification, verify_conversion


def saved(
    path: Path, nodes: Sequence[tuple[Any, ...]], shape: Sequence[int], constants: dict[str, Any], kind: str = "FLOAT",
    gives: str = "FLOAT", also: str = "", **integers: np.ndarray,
) -> Path:
    """A model of `x` of a kind, and of nodes (operator, inputs, outputs, attributes) that make `y`, of the type that it `gives`.

    `also` is another output, of floats.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    made = [helper.make_node(operator, inputs.split(), output.split(), **(more[0] if more else {}))
            for operator, inputs, output, *more in nodes]
    graph = helper.make_graph(
        made, "g", [helper.make_tensor_value_info("x", TensorProto.DataType.Value(kind), shape)],
        [helper.make_tensor_value_info("y", TensorProto.DataType.Value(gives), None),
         *([helper.make_tensor_value_info(also, TensorProto.FLOAT, None)] if also else [])],
        [*(numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants.items()),
         *(numpy_helper.from_array(value, name) for name, value in integers.items())])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def verified(right: Path, wrong: Path, **more: Any) -> Verification:
    other = transload.load(wrong)
    return verify_conversion(transload.load(right), transload.lower(other, "tosa"), hub=transload.legalize(other), **more)

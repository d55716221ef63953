"""Whether onnxruntime's optimized kernels of 8 bits are a judge on this processor.

On x86 without VNNI they add pairs of products of an unsigned and a signed byte in 16 bits, which saturate: 2 x 255 x 127 is
64,770.
Source: onnxruntime's page "Quantize ONNX models", the section on reduced range and U8S8. It shows on one layer of large numbers.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .roundtrip import run_model

__all__ = ["saturates"]

TERMS = 64


@cache
def saturates() -> bool:
    """Whether the greatest sum of int8 products is another one once onnxruntime has optimized the QDQ model of it."""
    arrays = {
        "one": np.float32(1.0), "step": np.float32(TERMS * 127 * 127 / 100), "zero": np.int8(0),
        "weights": np.full((TERMS, 8), 127, np.int8)}
    nodes = [("QuantizeLinear", ["x", "one", "zero"], "xq"), ("DequantizeLinear", ["xq", "one", "zero"], "xd"),
             ("DequantizeLinear", ["weights", "one", "zero"], "w"), ("MatMul", ["xd", "w"], "sums"),
             ("QuantizeLinear", ["sums", "step", "zero"], "yq"), ("DequantizeLinear", ["yq", "step", "zero"], "y")]
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, [output]) for kind, inputs, output in nodes], "sums",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, TERMS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    sample = {"x": np.full((1, TERMS), 127, np.float32)}
    plain, optimized = (run_model(model, sample, level)[0] for level in (False, True))
    return not np.array_equal(plain, optimized)

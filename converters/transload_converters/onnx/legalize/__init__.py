"""ONNX to `top`: one small function an operator, then QDQ patterns made into quantized ops.

The functions are grouped by subject; `table` holds what they share. An operator means what the model's
opset says it means: `opset(op)`.
"""

from __future__ import annotations

from functools import reduce as _join
from operator import add

from transload.conversion import hint_for
from transload.ir import Module
from transload.passes.dce import eliminate_dead_code
from transload.plugin_host import host
from transload.rewrite import RewriteTable, convert_ops

from . import (
    activation, arithmetic, contrib, control, convolution, creation, functions, indexing, matmul, movement, normalization, pooling,
    quantize, recurrent, reduce, resize,
)
from .qdq import fold_qdq

__all__ = ["NAME", "TABLE", "legalize"]

NAME = "onnx-to-top"

_FAMILIES = (
    activation, arithmetic, contrib, control, convolution, creation, functions, indexing, matmul, movement, normalization, pooling,
    quantize, recurrent, reduce, resize)

TABLE: RewriteTable = _join(add, (family.TABLE for family in _FAMILIES), RewriteTable())


def legalize(module: Module) -> None:
    """Convert a module of dialect `onnx` to `top`, in place.

    Raises `ConversionError` that lists every op that cannot be converted.
    """
    for function in module.functions.values():
        quantize.adopt_quantized_arguments(function.regions[0].block)
    convert_ops(module, host().table(NAME), "onnx", hint=hint_for(host().conversions[NAME]))
    module.attributes.pop("onnx.opset", None)
    fold_qdq(module)
    eliminate_dead_code(module)

"""ONNX to `top`: one small function an operator, then QDQ patterns made into quantized ops.

The functions are grouped by subject; `table` holds what they share. An operator means what the model's
opset says it means: `opset(op)`.
"""

from __future__ import annotations

from functools import reduce as _join
from operator import add

from transload.conversion import hint_for
from transload.errors import ConversionError
from transload.ir import Module
from transload.passes.dce import eliminate_dead_code
from transload.plugin import resolve
from transload.plugin_host import host
from transload.rewrite import RewriteTable, convert_ops

from . import (
    activation,
    arithmetic,
    attention,
    contrib,
    control,
    convolution,
    creation,
    functions,
    indexing,
    matmul,
    movement,
    normalization,
    pooling,
    quantize,
    recurrent,
    reduce,
    resize,
    sampling,
    sequences,
    signal,
)
from .qdq import fold_qdq
from .table import DEPENDS

__all__ = ["NAME", "TABLE", "legalize"]

NAME = "onnx-to-top"

_FAMILIES = (
    activation, arithmetic, attention, contrib, control, convolution, creation, functions, indexing, matmul, movement,
    normalization, pooling, quantize, recurrent, reduce, resize, sampling, sequences, signal)

TABLE: RewriteTable = _join(add, (family.TABLE for family in _FAMILIES), RewriteTable())


def legalize(module: Module) -> None:
    """Convert a module of dialect `onnx` to `top`, in place.

    Raises `ConversionError` that lists every op that cannot be converted.
    """
    for function in module.functions.values():
        quantize.adopt_quantized_arguments(function.regions[0].block)
    try:
        convert_ops(module, host().table(NAME), "onnx", hint=hint_for(host().conversions[NAME]))
    except ConversionError as error:
        raise _causes_alone(error) from None
    module.attributes.pop("onnx.opset", None)
    fold_qdq(module)
    quantize.round_once(module)
    eliminate_dead_code(module)
    sequences.refuse_sequences(module)
    resolve(host().get("passes", "recognize").run)(module)


def _causes_alone(error: ConversionError) -> ConversionError:
    """The error without the ops that are in it only because they come after another one in it."""
    causes = [finding for finding in error.findings if finding.why != DEPENDS]
    if not causes or len(causes) == len(error.findings):
        return error
    total = sum(finding.count for finding in causes)
    kinds = len({finding.what for finding in causes})
    return ConversionError(f"{total} op(s) of {kinds} kind(s) cannot be converted from 'onnx'", causes, error.hint)

"""Operators that tflite-micro has no kernel of, by those that it has: the pass `tflm-write-otherwise`.

Only what LiteRT's own kernel computes is written, operation by operation, so that what verification allows of floats holds.

Source: tflite-micro, micro_mutable_op_resolver.h (what there is); LiteRT, kernels/internal/reference/gelu.h.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.ir import F32, Module, Op, Value
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

__all__ = ["write_otherwise"]

TABLE = RewriteTable()


def write_otherwise(module: Module) -> bool:
    """Replace GELU by its formula of TANH, RELU_0_TO_1 by RELU and MINIMUM, and a POW with 2 by a product; of floats."""
    return apply_greedily(module, TABLE)


def _is_float(op: Op) -> bool:
    return all(value.element_or_none == F32 for value in (op.operands[0], op.results[0]))


def _emit(rw: Rewriter, name: str, *operands: Value | float, like: Value) -> Value:
    """An operator of values, and of numbers, which become constants of one element."""
    given = [each if isinstance(each, Value) else rw.constant(np.float32(each), dialect="tfl") for each in operands]
    result: Value = rw.emit(f"tfl.{name}", *given, types=[like.type])
    return result


@TABLE("tfl.gelu")
def gelu(op: Op, rw: Rewriter) -> Any:
    """`x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`; the exact one has no such formula."""
    if not _is_float(op) or not op.attribute("approximate", False):
        return None
    x = op.operands[0]
    cube = _emit(rw, "mul", _emit(rw, "mul", x, x, like=x), x, like=x)
    inner = _emit(rw, "add", x, _emit(rw, "mul", cube, 0.044715, like=x), like=x)
    share = _emit(rw, "add", _emit(rw, "tanh", _emit(rw, "mul", inner, math.sqrt(2 / math.pi), like=x), like=x), 1.0, like=x)
    return _emit(rw, "mul", _emit(rw, "mul", x, 0.5, like=x), share, like=op.results[0])


@TABLE("tfl.relu_0_to_1")
def between_0_and_1(op: Op, rw: Rewriter) -> Any:
    if not _is_float(op):
        return None
    x = op.operands[0]
    return _emit(rw, "minimum", _emit(rw, "relu", x, like=x), 1.0, like=op.results[0])


@TABLE("tfl.pow")
def squared(op: Op, rw: Rewriter) -> Any:
    """A product, where all exponents are 2 and none makes the result larger."""
    x, result = op.operands[0], op.results[0]
    exponent = rw.constant_of(op.operands[1])
    if not _is_float(op) or exponent is None or x.type != result.type or not np.all(exponent == 2):
        return None
    return _emit(rw, "mul", x, x, like=result)

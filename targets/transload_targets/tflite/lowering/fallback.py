"""What LiteRT has no kernel for in its quantized form.

A function of one quantized number is a table, looked up by GATHER: of 256 entries for int8, 65,536 for int16. What it holds, the
hub's own engine computes, so that it gives the same integers. Any other op goes through floats, as it does everywhere: operands
are dequantized, the result is quantized.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I8, I16, I32, UI8, Dense, Op, TensorType, Value, dtype_of, new_module, set_results
from transload.ir.build import Builder, constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.ops import TOP

from .common import A_STEP_AWAY, constant, dequantized, emit, left_float, quant, real

__all__ = ["table_for"]

_OF_INTEGERS = frozenset(f"top.{name}" for name in (
    "Add", "Sub", "Mul", "SquaredDifference", "PRelu", "LeakyRelu", "Interp", "AvgPool", "MaxPool"))
"""Ops that are integer arithmetic everywhere: through floats they would give other integers."""

_UP_TO_THE_SUM = frozenset(f"top.{name}" for name in (
    "Abs", "Add", "AvgPool", "Concat", "Depth2Space", "Expand", "Gather", "GatherElements", "GatherND", "Max", "MaxPool", "Min",
    "Neg", "Pack", "Permute", "Relu", "Reshape", "Reverse", "Slice", "Split", "Squeeze", "Sub", "Tile", "TopK", "Unpack",
    "Unsqueeze", "Upsample", "Where"))
"""Ops whose results are no larger than the magnitudes of all their operands together."""

_UP_TO_ONE = frozenset(f"top.{name}" for name in (
    "Cos", "Erf", "HardSigmoid", "Sigmoid", "Sign", "Sin", "Softmax", "Softsign", "Tanh"))
"""Ops whose results lie between -1 and 1; of some of them the logarithm may be asked for, which does not."""

_KEPT = frozenset(("top.Bitcast", "top.Cast", "top.Weight"))


def table_for(known: RewriteTable) -> RewriteTable:
    """The rewrites for quantized forms: tables for all elementwise ops, ways through floats for those that have one of floats."""
    table = RewriteTable()
    elementwise = [name for name, declaration in TOP.ops.items() if "elementwise" in declaration.traits]
    table(*(name for name in elementwise if name not in _KEPT))(by_table)
    table(*(name for name in known.functions if name not in _KEPT))(through_floats)
    return table


def _moving(op: Op) -> Value | None:
    """The one operand that is computed, where the others are constant numbers; None where it is not so."""
    moving = {value for value in op.operands if isinstance(value.type, TensorType) and constant_of(value) is None}
    held = [constant_of(value) for value in op.operands if value not in moving]
    numbers = all(dense.type.num_elements == 1 for dense in held if dense is not None)
    return moving.pop() if len(moving) == 1 and numbers else None


def by_table(op: Op, rw: Rewriter) -> Value | None:
    """GATHER in a table of what the op gives for every stored number."""
    target, x = quant(op.results[0]), _moving(op)
    source = quant(x)
    if x is None or source is None or target is None or not source.per_tensor or x.shape != op.results[0].shape:
        return None
    if source.storage not in (I8, UI8, I16) or target.storage not in (I8, UI8, I16):
        return None
    low, high = source.storage.range
    table = constant(rw, Dense(_results(op, x, tables.arange(low, high + 1).astype(dtype_of(source.storage)))), target)
    numbers = emit(rw, "cast", x, like=x, element=I32)  # of stored numbers: CAST looks at no scale
    if low:
        numbers = emit(rw, "add", numbers, constant(rw, np.asarray(-low, np.int32)), like=numbers)
    return emit(rw, "gather", table, numbers, like=op.results[0], axis=0)


def _results(op: Op, moving: Value, numbers: np.ndarray) -> np.ndarray:
    """What the reference engine computes of an op, quantized as it is, for these stored numbers in place of `moving`."""
    from transload.api import run

    module = new_module()
    function = module.add_function("main", [TensorType(numbers.shape, moving.element)], ["numbers"])
    block = function.regions[0].block
    build = Builder(block)
    operands = [block.arguments[0] if value is moving else _number(build, value) for value in op.operands]
    set_results(function, [build.emit(op.name, *operands, element=op.results[0].element, **op.attributes)], ["table"])
    return run(module, {"numbers": numbers}, engine="reference")["table"]


def _number(build: Builder, value: Value) -> Value:
    """A constant of one number, of rank 1."""
    dense = constant_of(value)
    assert dense is not None
    return build.constant(Dense(np.asarray(dense.numpy()).reshape(1)), element=value.element)


def through_floats(op: Op, rw: Rewriter) -> Any:
    """The op on real numbers, between DEQUANTIZE and QUANTIZE."""
    is_quantized = any(quant(value) is not None for value in (*op.operands, *op.results))
    if not is_quantized:
        return None
    if op.name in _OF_INTEGERS and rw.options.get("rounding") != "litert":
        values = *op.operands, op.results[0]
        held = ", ".join(dict.fromkeys(str(value.element_or_none) for value in values))
        in_floats = all(kind is None or kind.storage in (I8, UI8, I16) for kind in map(quant, values))
        otherwise = f"; --option rounding=litert has it computed in floats, and rounded behind that{A_STEP_AWAY}"
        raise Unsupported(f"LiteRT has no kernel of it for {held}", f"{left_float(op)}{otherwise if in_floats else ''}")
    operands = [dequantized(rw, value) for value in op.operands]
    types = [result.tensor_type.with_element(F32) if quant(result) is not None else result.type for result in op.results]
    attributes = {key: value for key, value in op.attributes.items() if key != "rounding"}
    made = rw.create(op.name, operands, types, attributes)
    results = [
        emit(rw, "quantize", _held(op, rw, new, quant(old)), like=old) if quant(old) is not None else new
        for old, new in zip(op.results, made.results, strict=True)]
    return results if len(results) != 1 else results[0]


_STEPS_HELD = 2.0**30
"""So many steps, and the zero point beside them, 32 bits hold."""


def _bound(op: Op) -> float:
    """What no result of an op is greater than in magnitude; infinity where that is not known."""
    if op.name in _UP_TO_ONE and not op.attribute("log", False):
        factor, added = op.attribute("scale", 1.0), op.attribute("bias", 0.0)  # which Sigmoid may have
        return abs(factor) + abs(added)
    is_between = op.name == "top.Reduce" and op.attribute("mode") in ("ReduceMax", "ReduceMin", "ReduceMean")
    is_up_to_the_sum = op.name in _UP_TO_THE_SUM and op.attribute("coeff", None) is None  # Add may have factors
    return sum(map(_magnitude, op.operands)) if is_between or is_up_to_the_sum else math.inf


def _magnitude(value: Value) -> float:
    """The greatest magnitude of a quantized number; of integers and truth values 0, which are places and choices."""
    kind = quant(value)
    if kind is None:
        return math.inf if value.is_float else 0.0
    if not kind.per_tensor:
        return math.inf
    return float(max(abs(end - kind.zero_point) for end in (kind.storage_min, kind.storage_max)) * kind.scale)


def _held(op: Op, rw: Rewriter, value: Value, target: Any) -> Value:
    """Floats that QUANTIZE saturates rightly: it casts to 32 bits first, which makes the least or any number of what is beyond.

    Which operand is on which side says what becomes of NaN: the least number, as onnxruntime has it.
    """
    if not target.per_tensor or _bound(op) < _STEPS_HELD * target.scale:
        return value
    low, high = ((end - target.zero_point) * target.scale for end in (target.storage_min, target.storage_max))
    below = emit(rw, "minimum", real(rw, high, value), value, like=value)
    return emit(rw, "maximum", below, real(rw, low, value), like=value)

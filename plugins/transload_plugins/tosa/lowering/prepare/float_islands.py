"""Float islands: what is computed in float of one quantized tensor, between its dequantization and a quantization.

Converters leave them where a framework has no integer kernel: each layer normalization of an int8 TFLite model holds
the negation of a mean, in float. An island that treats each element by itself is a function of one stored number: one
`tosa.table` of int8, which holds for all numbers what the float ops compute. A target without floats can then run it.
(A table of int16 interpolates, and would not compute the same.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.engine.quantized import dequantize
from transload.ir import F32, I8, Module, Op, QuantType, TensorType, Value, dtype_of
from transload.ir.build import constant_of
from transload.plugin_host import host
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.ops.cast import OF_STORED

from ...dialect.base import storage_of
from ..arithmetic.rescaling import quant
from ..arithmetic.tables import fits, lookup

__all__ = ["tabulate_islands"]

_MOST = 64
"""How many ops an island may have."""

_ROUNDINGS = ("HalfAwayFromZero", "HalfToEven", *OF_STORED)


def tabulate_islands(module: Module) -> bool:
    """Replace the quantization at the end of each float island by a table; what nothing uses any more is left to DCE."""
    changed = False
    for op in [op for op in module.walk() if op.name == "top.Cast"]:
        found = _island(op)
        if found is None:
            continue
        start, ops = found
        entries = _entries(op, start, ops)
        if entries is not None:
            rw = Rewriter(op)
            rw.replace(lookup(rw, start, entries, quant(op.result)))  # type: ignore[arg-type]
            changed = True
    return changed


def _island(end: Op) -> tuple[Value, list[Op]] | None:
    """The one quantized value that the quantization `end` depends on, and the ops between, in order; None without such."""
    if quant(end.result) is None or end.round_mode not in _ROUNDINGS or end.input.element != F32:
        return None
    start: Value | None = None
    found: set[Op] = set()
    pending = [end.input]
    while pending:
        value = pending.pop()
        op = value.op
        held = constant_of(value)
        if held is not None:
            if math.prod(held.shape) != 1 or quant(value) is not None:
                return None
        elif op is None or op.parent is not end.parent:
            return None
        elif op.name == "top.Cast":
            if start not in (None, op.input) or value.element != F32:
                return None
            start = op.input
        elif op not in found:
            if not _is_elementwise(op, end.result.shape) or len(found) == _MOST:
                return None
            found.add(op)
            pending.extend(op.operands)
    if start is None or not found or storage_of(start) != I8 or not fits(quant(start), quant(end.result)):
        return None
    if start.shape != end.result.shape:
        return None
    ops = [op for op in end.parent if op in found]  # type: ignore[union-attr]
    return start, ops


def _is_elementwise(op: Op, shape: tuple[int | None, ...]) -> bool:
    """Whether an op computes each element of one result, of the island's shape, without quantized numbers."""
    declaration = op.declaration
    if declaration is None or "elementwise" not in declaration.traits or len(op.results) != 1 or host().kernel(op.name) is None:
        return False
    type_ = op.result.type
    return isinstance(type_, TensorType) and not isinstance(type_.element, QuantType) and type_.shape == shape


def _entries(end: Op, start: Value, ops: list[Op]) -> np.ndarray | None:
    """The table; None where the island gives the same number for all."""
    source: QuantType = quant(start)  # type: ignore[assignment]
    cast: Any = host().kernel(end.name)[0]  # type: ignore[index]
    stored = tables.arange(source.storage.range[0], source.storage.range[1] + 1)
    values: dict[Value, Any] = {}

    def array_of(value: Value) -> Any:
        if value in values:
            return values[value]
        held = constant_of(value)
        return dequantize(stored, source) if held is None else held.numpy().reshape(-1)

    with np.errstate(all="ignore"):
        for op in ops:
            found: Any = host().kernel(op.name)
            computed = found[0](op, *(array_of(value) for value in op.operands))
            values[op.result] = np.asarray(computed).astype(dtype_of(op.result.element), copy=False)
        entries: np.ndarray = cast(end, array_of(end.input))
    return entries if entries.shape == stored.shape else None

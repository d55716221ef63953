"""Functions of one quantized number: tables of what the hub's op makes of every number that there is.

So LeakyReLU, PReLU with one slope, sigmoids, roots and all others (TPU-MLIR manual 6.3.5, 6.3.7) are exact on every chip,
whatever its multipliers. A table of 16 bits, which is interpolated, is taken where it gives each of the 65,536 results to the
last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.integers import exact_kernel
from transload.errors import Unsupported
from transload.ir import Op, QuantType, TensorType, Value, dtype_of, new_module
from transload.ir.build import Builder, constant_of
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.scales import clamp_factor

from ..arithmetic.scaling import limits_of
from ..arithmetic.tables import INT16_STEP, table
from .common import activation, chip_of, need, quantized, static
from .conversion import requantized

if TYPE_CHECKING:
    from transload_hub.ops.activation import Clip, Relu

__all__ = ["FALLBACK", "TABLE", "results_of"]

TABLE = RewriteTable()
FALLBACK = RewriteTable()
"""For every elementwise op of one quantized operand that nothing else converts."""


@TABLE("top.Relu", "top.Clip")
def clamp(op: Clip | Relu, rw: Rewriter) -> Value | None:
    """The numbers in the result's type, between the stored numbers of the limits."""
    source, target = quantized(op.input), quantized(op.result)
    if source is None or target is None or (chip_of(rw).multiplier_bits == 8 and source.storage.width == 8):
        return None
    limits = limits_of_clamp(op)
    factor = clamp_factor(source, target, limits, str(op.rounding))
    return requantized(rw, op.input, target, str(op.rounding), factor, **activation(op, limits))


def limits_of_clamp(op: Op) -> tuple[float, float]:
    """The reals between which Relu and Clip leave a number as it is; of limits the wrong way round the upper one holds."""
    if op.name == "top.Relu":
        return 0.0, op.relu_limit if op.relu_limit >= 0 else math.inf
    return min(op.min, op.max), op.max


class _Tables(dict[Any, Any]):
    """Tables by what they depend on: the op's name, attributes, types and constants."""


@FALLBACK("top.*")
def through_table(op: Op, rw: Rewriter) -> Value | None:
    """Any elementwise function of one quantized operand, the others being constant numbers."""
    if len(op.results) != 1 or op.declaration is None or "elementwise" not in op.declaration.traits:
        return None
    moving = {value for value in op.operands if constant_of(value) is None}
    target = quantized(op.results[0])
    if len(moving) != 1 or target is None:
        return None
    x = moving.pop()
    source = quantized(x)
    if source is None or static(x) != static(op.results[0]) or source.storage.width != target.storage.width:
        return None
    held = [constant_of(value) for value in op.operands]
    if any(dense is not None and math.prod(dense.shape) != 1 for dense in held):
        return None
    need(rw, "table", x)
    key = (op.name, str(sorted(op.attributes.items(), key=str)), source, target,
           *(None if dense is None else dense.numpy().tobytes() for dense in held))
    found = rw.scratch(_Tables)
    if key not in found:
        found[key] = _entries(op, x, source, target)
    entries = found[key]
    if entries is None:
        raise Unsupported("a function of 16 bits that no table of 513 places gives exactly")
    return rw.emit("tpu.table", x, rw.constant(entries), element=target)


def _results(op: Op, x: Value, numbers: np.ndarray) -> np.ndarray:
    """What the op makes of these stored numbers, its other operands being constants."""

    def alone(build: Builder, argument: Value) -> Value:
        mapping = {x: argument}
        for value in op.operands:
            if value not in mapping and value.op is not None:
                build.block.append(value.op.clone(mapping))
        copy = build.block.append(op.clone(mapping))
        copy.results[0].type = TensorType(numbers.shape, op.results[0].element)
        return copy.results[0]

    return results_of(x.element, alone, numbers)


def results_of(source: Any, build: Callable[[Builder, Value], Value], numbers: np.ndarray | None = None) -> np.ndarray:
    """What an op makes of stored numbers of type `source` (of all, of 8 bits), by the exact integers that it stands for.

    `build(builder, argument)` makes the op, and gives its result.
    """
    if numbers is None:
        numbers = tables.arange(source.storage.range[0], source.storage.range[1] + 1).astype(dtype_of(source.storage))
    module = new_module()
    block = module.add_function("main", [TensorType(numbers.shape, source)]).regions[0].block
    made = build(Builder(block), block.arguments[0]).op
    assert made is not None  # an op gives it
    found = host().kernel(made.name)
    if found is None:
        raise Unsupported(f"nothing here computes {made.name}")
    kernel, _ = exact_kernel(made, *found)
    held = [constant_of(value) for value in made.operands]
    return np.asarray(kernel(made, *(numbers if dense is None else dense.numpy() for dense in held)))


def _entries(op: Op, x: Value, source: QuantType, target: QuantType) -> np.ndarray | None:
    """The table; None of 16 bits where interpolation is not exact."""
    dtype = str(dtype_of(source.storage))
    low, high = limits_of(dtype)
    numbers = tables.arange(low, high + 1).astype(dtype)
    results = _results(op, x, numbers)
    if source.storage.width == 8:
        return results
    if source.storage.width != 16 or source.storage.unsigned:
        return None
    places = results[:: 1 << INT16_STEP].astype(np.int64)
    return _with_end(numbers, results, places)


def _with_end(numbers: np.ndarray, results: np.ndarray, places: np.ndarray) -> np.ndarray | None:
    """The entries at 512 places with the one behind them, which only what lies before it shows."""
    near = int(results[-1])
    for end in sorted(range(near - 4, near + 5), key=lambda candidate: abs(candidate - near)):
        if -32768 <= end <= 32767:
            entries = np.append(places, end).astype(np.int16)
            if np.array_equal(table(numbers, entries, dtype=str(results.dtype)), results):
                return entries
    return None

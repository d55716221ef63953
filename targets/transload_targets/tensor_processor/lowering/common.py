"""What rewrites of several families share: the chip, types of values, activations, small ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from transload.errors import Unsupported
from transload.ir import FloatType, IntegerType, Op, QuantType, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub.scales import activation_bounds

from ..chip import Chip

__all__ = [
    "activation", "bounds_of", "chip_of", "dtype_of_value", "has", "need", "permute", "quantized", "reshape", "same_numbers",
    "static",
]


def chip_of(rw: Rewriter) -> Chip:
    """The chip that is lowered for; `Unsupported` of an op inside of a loop or a branch, which run on the host as a whole."""
    around = rw.op.parent_op
    if around is not None and around.name != "func.func":
        raise Unsupported(f"is inside of {around.name}, which runs on the host")
    chip: Chip = rw.options["chip"]
    return chip


def static(value: Value) -> tuple[int, ...]:
    """The shape of a value, which a chip has to know; `Unsupported` otherwise."""
    shape = value.known_shape
    if shape is None or None in shape:
        raise Unsupported(f"{value.type} has sizes that are known only when the model runs")
    return tuple(shape)


def dtype_of_value(value: Value) -> str:
    """The name of the element type in which a value is stored."""
    stored = value.stored_element
    if not isinstance(stored, FloatType | IntegerType):
        raise Unsupported(f"{value.type} holds no numbers")
    return str(dtype_of(stored))


def has(rw: Rewriter, operation: str) -> bool:
    """Whether the chip has an operation, on elements of any type: rules of a plugin are asked about other plugins' chips, too."""
    return operation in chip_of(rw).operations


def need(rw: Rewriter, operation: str, *values: Value) -> None:
    """Raise `Unsupported` where the chip has no such operation on elements of the types of these values."""
    chip = chip_of(rw)
    for dtype in dict.fromkeys(map(dtype_of_value, values)):
        if not chip.supports(operation, dtype):
            raise Unsupported(f"{chip.name} has no {operation} of {dtype}")


def quantized(value: Value | None) -> QuantType | None:
    """The quantized type of a value that has one scale for all; None of others."""
    type_ = None if value is None else value.quant
    return type_ if type_ is not None and type_.per_tensor and type_.blocks is None else None


def same_numbers(a: QuantType, b: QuantType) -> bool:
    """Whether a stored number means the same in both types."""
    return (a.storage, a.scales, a.zero_points, a.axis, a.blocks) == (b.storage, b.scales, b.zero_points, b.axis, b.blocks)


def bounds_of(op: Op) -> tuple[float, float]:
    """The reals between which an op with `do_relu` clamps its result."""
    if not op.attribute("do_relu", False):
        return -math.inf, math.inf
    limit = op.attribute("relu_limit", -1.0)
    return 0.0, limit if limit >= 0 else math.inf


def activation(op: Op, reals: tuple[float, float] | None = None) -> dict[str, Any]:
    """The attributes `low` and `high` of what computes `op`, in stored numbers, where these are narrower than its type."""
    low, high = bounds_of(op) if reals is None else reals
    target = op.results[0].quant
    if target is None:
        return {key: value for key, value in (("low", low), ("high", high)) if not math.isinf(value)}
    bounds = activation_bounds(target, low, high)
    return {} if bounds is None else {"low": float(bounds[0]), "high": float(bounds[1])}


def reshape(rw: Rewriter, value: Value, shape: Sequence[int]) -> Value:
    """`value` in another shape; itself where it has it."""
    if static(value) == tuple(shape):
        return value
    made: Value = rw.emit("tpu.reshape", value, shape=tuple(shape))
    return made


def permute(rw: Rewriter, value: Value, order: Sequence[int]) -> Value:
    """`value` with its dimensions in another order; itself where that is the order they have."""
    if list(order) == list(range(len(order))):
        return value
    made: Value = rw.emit("tpu.permute", value, order=tuple(order))
    return made

"""The declarations of `signal.Delta`, `signal.Interleave` and `signal.Extremes`."""

from __future__ import annotations

from typing import Any

from transload.ir.declare import INT, Dialect, attribute, constraint, operand, result
from transload.ir.types import TensorType, Type

__all__ = ["SIGNAL"]

SIGNAL = Dialect("signal", "Operations on sampled signals.")


def _at(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


@SIGNAL.op("Delta")
class Delta:
    """`y[i] = x[i + 1] - x[i]` along a dimension (numpy `diff`; "delta features" of speech recognition)."""

    input = operand("the tensor")
    output = result("one shorter along axis")
    axis = attribute(INT, "the dimension", default=-1)

    @constraint
    def two_samples(op: Any) -> bool:
        """there are two samples along axis"""
        size = op.input.shape[op.axis] if op.input.shape is not None else None
        return size is None or size >= 2

    def infer(op: Any) -> Type:
        sizes = list(op.input.shape)
        axis = _at(op.axis, len(sizes))
        sizes[axis] = None if sizes[axis] is None else sizes[axis] - 1
        return TensorType(tuple(sizes), op.input.element)


@SIGNAL.op("Interleave")
class Interleave:
    """The samples of `ways` equal parts in turn: `y[i * ways + k] = x[k * size / ways + i]` along a dimension.

    ShuffleNet's channel shuffle, where the dimension is that of the channels.
    """

    input = operand("the tensor")
    output = result("of the same type")
    ways = attribute(INT, "how many parts")
    axis = attribute(INT, "the dimension", default=-1)

    @constraint
    def equal_parts(op: Any) -> bool:
        """ways divides the size along axis"""
        size = op.input.shape[op.axis] if op.input.shape is not None else None
        return op.ways > 0 and (size is None or size % op.ways == 0)

    def infer(op: Any) -> Type:
        return op.input.type


@SIGNAL.op("Extremes")
class Extremes:
    """The least and the greatest sample along a dimension, which goes: the envelope of a frame."""

    input = operand("the tensor")
    least = result("without axis")
    greatest = result("of the same type")
    axis = attribute(INT, "the dimension", default=-1)

    @constraint
    def some_sample(op: Any) -> bool:
        """there is a sample along axis"""
        return op.input.shape is None or op.input.shape[op.axis] != 0

    def infer(op: Any) -> list[Type]:
        sizes = list(op.input.shape)
        del sizes[_at(op.axis, len(sizes))]
        return [TensorType(tuple(sizes), op.input.element)] * 2

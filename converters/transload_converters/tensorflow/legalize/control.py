"""Control flow: regions become the hub's, or are put in the op's place. Functions were made regions before (`passes.inline`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.control import choose, loop, switch

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("tf.ToBool")
def to_bool(op: Op, rw: Rewriter) -> Value:
    """A tensor as the truth value that it is for a condition (TensorFlow's own MLIR has this op)."""
    return _truth(rw, op.operands[0])


@TABLE("tf.IfRegion")
def if_(op: Op, rw: Rewriter) -> Sequence[Value]:
    """One of two regions; where the condition is constant only the chosen one is left, in its place."""
    then, other = (region.block for region in op.regions)
    return choose(op, rw, _truth(rw, op.operands[0]), (then, other), ())


@TABLE("tf.CaseRegion")
def case(op: Op, rw: Rewriter) -> Sequence[Value]:
    """The region of a number, the last for a number that there is none of."""
    return switch(op, rw, op.operands[0], [region.block for region in op.regions], ())


@TABLE("tf.WhileRegion")
def while_(op: Op, rw: Rewriter) -> Sequence[Value]:
    """Two regions on the state, or the steps one after the other (`transload_hub.control.loop`)."""
    condition, body = (region.block for region in op.regions)
    return loop(op, rw, condition, body)


def _truth(rw: Rewriter, condition: Value) -> Value:
    """A condition as one truth value: a number is one where it is not zero, a tensor of another rank where it has elements."""
    shape = condition.known_shape
    if shape is None:
        raise Unsupported("its condition has a shape that is known only at run time")
    if shape != ():
        return rw.constant(np.array(0 not in shape))
    if condition.element == BOOL:
        return condition
    return rw.emit("top.Compare", condition, rw.constant(np.zeros((), _dtype(condition))), mode="NotEqual")


def _dtype(value: Value) -> np.dtype:
    from transload.ir import dtype_of

    return dtype_of(value.element)

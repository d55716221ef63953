"""Reductions within each lane before those over lanes, and bounds with the op that makes what is bounded.

The lanes hold channels. A reduction over these and over other dimensions gives one number, which one lane would make of all that
the others hold. So each reduces its own first, all at once, where the order does not matter.
"""

from __future__ import annotations

import numpy as np

from transload.ir import Block, Op, Value
from transload.ir.build import Builder

from ..chip import Chip
from ..shapes import places_of_rank
from .values import one_number

__all__ = ["ANY_ORDER", "bound_at_once", "reduce_in_lanes"]

ANY_ORDER = ("max", "min", "all", "any")
"""Reductions that give the same whatever the order."""
BOUNDED = ("tpu.add", "tpu.mul", "tpu.conv2d", "tpu.matmul", "tpu.avg_pool2d", "tpu.max_pool2d", "tpu.reduce")
"""Ops of floats that keep what they make between two numbers."""
EXTREMES = {"tpu.maximum": "low", "tpu.minimum": "high"}
"""Ops that bound floats where one operand is a number, and which bound that is."""


def reduce_in_lanes(block: Block, chip: Chip) -> bool:
    """Put a reduction of what lies in each lane before those over lanes and other dimensions."""
    changed = False
    for op in list(block):
        if op.name != "tpu.reduce" or op.attribute("function") not in ANY_ORDER or op.operands[0].op is None:
            continue
        shape, axes = op.operands[0].static_shape, op.attribute("axes")
        places = places_of_rank(len(shape))
        lanes = [axis for axis in axes if places is not None and places[axis] == 1 and shape[axis] > 1]
        within = tuple(axis for axis in axes if axis not in lanes and shape[axis] > 1)
        if lanes and within:
            build = Builder(block, op, op.location)
            op.set_operand(0, build.emit(
                "tpu.reduce", op.operands[0], element=op.operands[0].element, function=op.attribute("function"), axes=within))
            changed = True
    return changed


def bound_at_once(block: Block, chip: Chip) -> bool:
    """Let the op that makes floats keep them within the bounds that the only op that reads them gives."""
    changed = False
    for op in list(block):
        bounds = _bounds_of(op)
        if bounds is None:
            continue
        source, given = bounds
        maker, (result,) = source.op, op.results
        if maker is None or maker.name not in BOUNDED or not source.is_float or list(source.uses) != [op]:
            continue
        if source.type != result.type or maker.attribute("high") is not None:
            continue
        if maker.attribute("low") is not None and "low" in given:  # what is kept below comes after what is kept above
            continue
        if maker.name == "tpu.reduce" and maker.attribute("function") in ("all", "any"):
            continue
        for bound, number in given.items():
            maker.attributes[bound] = number
        result.replace_all_uses_with(source)
        changed = True
    return changed


def _bounds_of(op: Op) -> tuple[Value, dict[str, float]] | None:
    """What an op only bounds, and by which numbers; None of an op that does something else.

    A greatest of floats and one number bounds them from below, whether or not the number is the first operand.
    """
    if op.name == "tpu.unary" and op.attribute("function") == "identity":
        named = {bound: op.attribute(bound) for bound in ("low", "high")}
        return op.operands[0], {bound: number for bound, number in named.items() if number is not None}
    if op.name not in EXTREMES:
        return None
    for source, number in (op.operands, op.operands[::-1]):
        one = one_number(number)
        if one is not None and one_number(source) is None and source.is_float and not np.isnan(one[0]):
            return source, {EXTREMES[op.name]: float(one[0])}
    return None

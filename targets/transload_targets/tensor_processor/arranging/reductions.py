"""Reductions within each lane before those over lanes, and bounds with the op that makes what is bounded.

The lanes hold channels. A reduction over these and over other dimensions gives one number, which one lane would make of all that
the others hold. So each reduces its own first, all at once, where the order does not matter.
"""

from __future__ import annotations

from transload.ir import Block
from transload.ir.build import Builder

from ..chip import Chip
from ..shapes import places_of_rank

__all__ = ["ANY_ORDER", "bound_at_once", "reduce_in_lanes"]

ANY_ORDER = ("max", "min", "all", "any")
"""Reductions that give the same whatever the order."""
BOUNDED = ("tpu.add", "tpu.mul", "tpu.conv2d", "tpu.matmul", "tpu.avg_pool2d", "tpu.max_pool2d")
"""Ops of floats that keep what they make between two numbers."""


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
        if op.name != "tpu.unary" or op.attribute("function") != "identity":
            continue
        source, (result,) = op.operands[0], op.results
        maker = source.op
        if maker is None or maker.name not in BOUNDED or not source.is_float or list(source.uses) != [op]:
            continue
        if source.element != result.element or any(maker.attribute(bound) is not None for bound in ("low", "high")):
            continue
        for bound in ("low", "high"):
            if op.attribute(bound) is not None:
                maker.attributes[bound] = op.attributes[bound]
        result.replace_all_uses_with(source)
        changed = True
    return changed

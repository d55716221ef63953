"""SLICE, STRIDED_SLICE and DYNAMIC_UPDATE_SLICE."""

from __future__ import annotations

import math

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.slicing import Masks, Strided, entries, plain_slice, strided_slice, update_slice

from .common import constant_ints, limited, static_shape
from .storage import moves_stored

TABLE = RewriteTable()


@TABLE("tfl.slice")
@moves_stored
def slice_(op: Op, rw: Rewriter) -> Value:
    """SLICE: a size of -1 is all that follows. A begin that is computed at run time needs a size that is not."""
    static_shape(op.operands[0], "the input")
    begins = entries(rw, op.operands[1], "the begin of the slice")
    wanted = constant_ints(rw, op.operands[2], "the size of the slice")
    return plain_slice(rw, op.operands[0], begins, wanted, op.results[0].element)


@TABLE("tfl.strided_slice")
@moves_stored
def strided_slice_(op: Op, rw: Rewriter) -> Value:
    """STRIDED_SLICE with all its masks."""
    static_shape(op.operands[0], "the input")
    begins, ends = (entries(rw, op.operands[i], f"the {what} of the slice") for i, what in ((1, "begin"), (2, "end")))
    strides = constant_ints(rw, op.operands[3], "the stride of the slice")
    masks = Masks(*(op.attribute(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")))
    if masks.new_axis >> len(strides):
        raise Unsupported(f"new_axis_mask is {masks.new_axis:b} in bits, and the slice has {len(strides)} entries")
    if masks.ellipsis and op.attribute("offset"):
        raise Unsupported("an ellipsis beside ends that are offsets: LiteRT's kernel does not take it for all that there is")
    first = masks.begin & masks.shrink_axis  # an open begin is the first place in LiteRT, also where one element is taken
    begins = [(0 if stride > 0 else -1) if first >> i & 1 else begin
              for i, (begin, stride) in enumerate(zip(begins, strides, strict=False))]
    given = Strided(begins, ends, strides, masks, bool(op.attribute("offset")))
    return strided_slice(rw, op.operands[0], given, op.results[0].element)


@TABLE("tfl.dynamic_update_slice")
@moves_stored
def dynamic_update_slice(op: Op, rw: Rewriter) -> Value:
    """DYNAMIC_UPDATE_SLICE: the start is moved so that the update fits, then its elements are written one by one."""
    value, update, start = op.operands
    static_shape(value, "the operand")
    limited(math.prod(static_shape(update, "the update")), "the size of the update")
    return update_slice(rw, value, update, start, op.results[0].element)

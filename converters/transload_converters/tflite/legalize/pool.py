"""Pooling over windows of NHWC tensors."""

from __future__ import annotations

from typing import Any

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import activate, emit_activated, layout, pads_for, static_shape
from .storage import any_scale, moves_stored

TABLE = RewriteTable()


def _geometry(op: Op) -> dict[str, Any]:
    kernels = (op.attribute("filter_height"), op.attribute("filter_width"))
    strides = (op.attribute("stride_h"), op.attribute("stride_w"))
    if min(*kernels, *strides) < 1:
        raise Unsupported(f"the window {list(kernels)} and the strides {list(strides)} must be positive")
    sizes = static_shape(op.operands[0], "the input", 4)[1:-1]
    pads = pads_for(op.attribute("padding"), sizes, kernels, strides, (1, 1))
    return {"kernel_shape": kernels, "strides": strides, "pads": pads, "layout": layout}


@TABLE("tfl.average_pool_2d")
@moves_stored
@any_scale
def average_pool_2d(op: Op, rw: Rewriter) -> Value:
    """AVERAGE_POOL_2D: padding does not count."""
    return emit_activated(rw, op, "top.AvgPool", op.operands[0], **_geometry(op))


@TABLE("tfl.max_pool_2d")
@moves_stored
@any_scale
def max_pool_2d(op: Op, rw: Rewriter) -> Value:
    """MAX_POOL_2D."""
    return emit_activated(rw, op, "top.MaxPool", op.operands[0], **_geometry(op))


@TABLE("tfl.l2_pool_2d")
def l2_pool_2d(op: Op, rw: Rewriter) -> Value:
    """L2_POOL_2D: the root of the mean of the squares."""
    squares = rw.emit("top.Square", op.operands[0])
    root = rw.emit("top.Sqrt", rw.emit("top.AvgPool", squares, **_geometry(op)))
    return activate(rw, op, root, op.attribute("fused_activation_function"))

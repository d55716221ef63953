"""Ops that move elements between the spatial dimensions and the channels or the batch."""

from __future__ import annotations

from transload.ir.declare import BOOLEAN, INT, INTS, DeclaredOp, attribute, constraint, enum, operand, result
from transload.ir.types import TensorType, Type

from .base import LAYOUT, TOP
from .infer import channel_axis, fail, need_rank, show, spatial_axes


@TOP.op("Depth2Space")
class Depth2Space(DeclaredOp):
    """Blocks of channels become blocks of pixels, or, inversed, the reverse (TPU-MLIR manual 13.1, Depth2SpaceOp).

    The channels of a pixel are read as [block_h, block_w, C'] (ONNX mode DCR, TFLite DEPTH_TO_SPACE), or as
    [C', block_h, block_w] with is_CRD. With is_inversed, [N, C, H, W] becomes [N, C*bh*bw, H/bh, W/bw] (SPACE_TO_DEPTH).
    """

    input = operand("[N, C, H, W] (NCHW) or [N, H, W, C] (NHWC)")
    output = result("the same layout")
    block_h = attribute(INT, "rows of a block")
    block_w = attribute(INT, "columns of a block")
    is_CRD = attribute(BOOLEAN, "channels outermost in the depth (else innermost)", default=False)
    is_inversed = attribute(BOOLEAN, "space to depth", default=False)
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    traits = ("layout",)

    @constraint
    def blocks_are_positive(op) -> bool:
        """block_h and block_w are positive"""
        return op.block_h > 0 and op.block_w > 0

    def infer(op) -> Type:
        if op.block_h < 1 or op.block_w < 1:
            fail(op, "block_h and block_w must be positive")
        shape = need_rank(op, op.input, "the input", (4,))
        if shape is None:
            return TensorType((None,) * 4, op.input.element)
        sizes = list(shape)
        channels = channel_axis(op.layout, 4)
        rows, columns = spatial_axes(op.layout, 4)
        factors = {channels: op.block_h * op.block_w, rows: op.block_h, columns: op.block_w}
        divided = (rows, columns) if op.is_inversed else (channels,)
        for axis, factor in factors.items():
            size = shape[axis]
            if size is None:
                continue
            if axis not in divided:
                sizes[axis] = size * factor
            elif size % factor:
                fail(op, f"dimension {axis} of {show(shape)} cannot be split by {factor}")
            else:
                sizes[axis] = size // factor
        return TensorType(tuple(sizes), op.input.element)


class Blocked(DeclaredOp):
    """Base of the ops that move blocks between batch and space; channels are last."""

    input = operand("[N, spatial.., rest..]; the spatial dimensions are as many as block_shape has entries")
    output = result("of the same rank")
    block_shape = attribute(INTS, "a block's size per spatial dimension")
    layout = attribute(enum("NHWC"), "channels are last", default="NHWC")

    @constraint
    def blocks_are_positive(op) -> bool:
        """the entries of block_shape are positive"""
        return len(op.block_shape) > 0 and min(op.block_shape) > 0


def _check(op: BatchToSpace | SpaceToBatch, extras: tuple[int, ...], name: str) -> None:
    n = len(op.block_shape)
    if n < 1 or min(op.block_shape) < 1 or len(extras) != 2 * n or min(extras) < 0:
        fail(op, f"block_shape {list(op.block_shape)} and {name} {list(extras)} do not fit together")


@TOP.op("SpaceToBatch")
class SpaceToBatch(Blocked):
    """Pads with zeros, then makes each place of a block an image of its own (TFLite SPACE_TO_BATCH_ND).

    Image `b` of the input gives image `p*N + b` of the result for place p of a block, in row-major order.
    """

    pads = attribute(INTS, "padding per spatial dimension: all begins, then all ends")

    def infer(op) -> Type:
        _check(op, op.pads, "pads")
        n = len(op.block_shape)
        shape = need_rank(op, op.input, "the input", least=n + 1)
        if shape is None:
            return TensorType(None, op.input.element)
        sizes = list(shape)
        factor = 1
        for i, block in enumerate(op.block_shape):
            factor *= block
            size = shape[1 + i]
            if size is None:
                continue
            padded = size + op.pads[i] + op.pads[n + i]
            if padded % block:
                fail(op, f"spatial dimension {i} of {show(shape)}, padded to {padded}, cannot be split into blocks of {block}")
            sizes[1 + i] = padded // block
        sizes[0] = None if shape[0] is None else shape[0] * factor
        return TensorType(tuple(sizes), op.input.element)


@TOP.op("BatchToSpace")
class BatchToSpace(Blocked):
    """The reverse of SpaceToBatch: images become places of blocks, then `crops` are cut off (TFLite BATCH_TO_SPACE_ND)."""

    crops = attribute(INTS, "what to cut off per spatial dimension: all begins, then all ends")

    def infer(op) -> Type:
        _check(op, op.crops, "crops")
        n = len(op.block_shape)
        shape = need_rank(op, op.input, "the input", least=n + 1)
        if shape is None:
            return TensorType(None, op.input.element)
        sizes = list(shape)
        factor = 1
        for i, block in enumerate(op.block_shape):
            factor *= block
            size = shape[1 + i]
            if size is None:
                continue
            cropped = size * block - op.crops[i] - op.crops[n + i]
            if cropped < 0:
                fail(op, f"spatial dimension {i} of {show(shape)} times {block} is less than its crops")
            sizes[1 + i] = cropped
        if shape[0] is not None and shape[0] % factor:
            fail(op, f"a batch of {shape[0]} cannot be split into blocks of {factor}")
        sizes[0] = None if shape[0] is None else shape[0] // factor
        return TensorType(tuple(sizes), op.input.element)

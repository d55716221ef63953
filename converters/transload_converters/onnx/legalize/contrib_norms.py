"""Normalizations in groups of domain `com.microsoft`, as onnxruntime's optimizer writes them into diffusion networks.

Their definitions: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import F32, Op, Value
from transload.rewrite import Rewriter

from .table import OnnxTable, attr, cast, flag, need, need_attr, operand, permute, reshape, shape_of

__all__ = ["TABLE"]

TABLE = OnnxTable()
_MS = "onnx.com.microsoft"


@TABLE(f"{_MS}.GroupNorm")
def group_norm(op: Op, rw: Rewriter) -> Value:
    """GroupNorm: of the channels in each group and of all places, with SiLU behind it where `activation` is 1."""
    return _normalized(op, rw, need(op, 0))


@TABLE(f"{_MS}.SkipGroupNorm")
def skip_group_norm(op: Op, rw: Rewriter) -> list[Value]:
    """SkipGroupNorm: GroupNorm of a sum of the input, of `skip` and of a bias by channel; the sum is a second result."""
    value, skip, bias = need(op, 0), need(op, 3), operand(op, 4)
    shape = shape_of(value, rank=4)
    if len(shape_of(skip)) == 2:  # [N, C]: the same at all places
        images, channels = shape_of(skip)
        skip = reshape(rw, skip, (images, 1, 1, channels) if _last(op) else (images, channels, 1, 1))
    total = rw.emit("top.Add", value, skip)
    if bias is not None:
        total = rw.emit("top.Add", total, reshape(rw, bias, (shape[3],) if _last(op) else (shape[1], 1, 1)))
    return [_normalized(op, rw, total), total][: len(op.results)]


def _last(op: Op) -> bool:
    return flag(op, "channels_last", 1)


def _normalized(op: Op, rw: Rewriter, value: Value) -> Value:
    groups, element = need_attr(op, "groups"), value.element
    first = permute(rw, value, (0, 3, 1, 2)) if _last(op) else value
    channels = shape_of(first, rank=4)[1]
    if groups < 1 or channels % groups:
        raise Unsupported(f"{channels} channels cannot be split into {groups} groups")
    parts = [cast(rw, part, F32) for part in (first, need(op, 1), need(op, 2))]
    normal = rw.emit("top.GroupNorm", *parts, num_groups=groups, eps=float(attr(op, "epsilon", 1e-5)), layout="NCHW")
    if flag(op, "activation", 0):
        normal = rw.emit("top.SiLU", normal)
    result = cast(rw, normal, element)
    return permute(rw, result, (0, 2, 3, 1)) if _last(op) else result

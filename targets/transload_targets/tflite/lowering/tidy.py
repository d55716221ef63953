"""What is left to do on operators of TFLite: fused activations, and movements that do nothing or cancel."""

from __future__ import annotations

from typing import Any

from transload.ir import Module, Op
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

from .common import reshape, same_numbers, transpose

__all__ = ["fuse_activations", "tidy"]

FUSED = RewriteTable()
TIDY = RewriteTable()

_ACTIVATIONS = {"tfl.relu": "RELU", "tfl.relu6": "RELU6", "tfl.relu_n1_to_1": "RELU_N1_TO_1"}
_FUSING = frozenset(
    f"tfl.{name}" for name in (
        "conv_2d", "depthwise_conv_2d", "fully_connected", "add", "sub", "mul", "div", "average_pool_2d", "max_pool_2d",
        "transpose_conv", "conv_3d"))


def fuse_activations(module: Module) -> bool:
    """Make a ReLU part of the operator whose result nobody else uses, and which has the same type as the ReLU's."""
    return apply_greedily(module, FUSED)


def tidy(module: Module) -> bool:
    """Remove movements and quantizations that do nothing or cancel."""
    return apply_greedily(module, TIDY)


@FUSED(*_ACTIVATIONS)
def fuse(op: Op, rw: Rewriter) -> Any:
    made = op.operands[0]
    maker = made.op
    if maker is None or maker.name not in _FUSING or len(made.uses) != 1 or maker.fused_activation_function != "NONE":
        return None
    if made.type != op.results[0].type or maker.parent is not op.parent or not (made.is_float or made.is_quantized):
        return None
    if made.quant is not None and maker.name == "tfl.transpose_conv":
        return None
    maker.attributes["fused_activation_function"] = _ACTIVATIONS[op.name]
    maker.location = op.location
    return made


@TIDY("tfl.reshape")
def joined_reshapes(op: Op, rw: Rewriter) -> Any:
    """A reshape of a reshape is one; one to the same shape none."""
    value, result = op.operands[0], op.results[0]
    if value.type == result.type:
        return value
    before = value.op
    if before is None or before.name != "tfl.reshape" or before.operands[0].element_or_none != result.element_or_none:
        return None
    return reshape(rw, before.operands[0], result.tensor_type.static_shape)


@TIDY("tfl.transpose")
def joined_transposes(op: Op, rw: Rewriter) -> Any:
    """A transpose of a transpose is one, or none."""
    before = op.operands[0].op
    if before is None or before.name != "tfl.transpose":
        return None
    first, second = (constant_of(each.operands[1]) for each in (before, op))
    if first is None or second is None:
        return None
    orders = first.numpy().tolist(), second.numpy().tolist()
    return transpose(rw, before.operands[0], [orders[0][axis] for axis in orders[1]])


@TIDY("tfl.quantize")
def idle_quantization(op: Op, rw: Rewriter) -> Any:
    """A quantization to the type that is there."""
    source, target = op.operands[0].quant, op.results[0].quant
    return op.operands[0] if source is not None and target is not None and same_numbers(source, target) else None

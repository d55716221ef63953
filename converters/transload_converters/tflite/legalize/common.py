"""What the rewrites of several families share: activations, padding, constants, quantized types.

Every rewrite lets the hub infer shapes from its operands, which are static by then; from the operator's
results in the file it takes only the element type, because only the file knows how they are quantized.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, IntegerType, Op, QuantType, Type, Value
from transload.ir.constants import Dense
from transload.ir.registry import lookup
from transload.rewrite import Rewriter
from transload_hub.build import pads_for, same_padding

__all__ = [
    "activate", "axes_of", "axis_of", "constant_ints", "emit_activated", "emit_like", "is_hybrid", "layout", "limited",
    "need_no_activation", "need_plain", "pads_for", "quant_per_tensor", "same_padding", "scalar", "static_shape",
    "typed_bias",
]

layout = "NHWC"
"""TFLite's layout: channels last."""


def emit_like(rw: Rewriter, op: Op, name: str, *operands: Value | None, **attributes: Any) -> Value:
    """Emit a hub op whose result has the element type of the operator's first result."""
    return rw.emit(name, *operands, element=op.results[0].element, **attributes)


def emit_activated(
    rw: Rewriter, op: Op, name: str, *operands: Value | None, activation: str | None = None, **attributes: Any,
) -> Value:
    """`emit_like`, with the operator's fused activation.

    ReLU and ReLU6 become attributes of the hub op where it has them. Others follow as an op of their own, on
    the same element type: TFLite, too, clamps the quantized result.
    """
    activation = op.attribute("fused_activation_function", "NONE") if activation is None else activation
    declaration = lookup(name)
    limit = {"RELU": -1.0, "RELU6": 6.0}.get(activation)
    if limit is not None and declaration is not None and "do_relu" in declaration.attributes:
        return emit_like(rw, op, name, *operands, do_relu=True, relu_limit=limit if limit >= 0 else None, **attributes)
    return activate(rw, op, emit_like(rw, op, name, *operands, **attributes), activation)


def activate(rw: Rewriter, op: Op, value: Value, activation: str) -> Value:
    """Apply a fused activation as an op of its own, keeping the element type."""
    element = value.element
    if activation == "NONE":
        return value
    if activation == "RELU":
        return rw.emit("top.Relu", value, element=element)
    if activation == "RELU6":
        return rw.emit("top.Relu", value, relu_limit=6.0, element=element)
    if activation == "RELU_N1_TO_1":
        return rw.emit("top.Clip", value, min=-1.0, max=1.0, element=element)
    if activation == "TANH" and value.is_float:
        return rw.emit("top.Tanh", value, element=element)
    raise Unsupported(f"the fused activation {activation} of {op.name} on {element} is not supported")


def need_no_activation(op: Op) -> None:
    """Raise where an operator has a fused activation whose kernel takes none, though the schema has a field for it."""
    activation = op.attribute("fused_activation_function", "NONE")
    if activation != "NONE":
        raise Unsupported(f"it has the fused activation {activation}, with which LiteRT does not run it either",
                          "write the activation as an operator of its own")


# --- shapes and constants

def static_shape(value: Value | None, what: str, rank: int | None = None, least: int = 0) -> tuple[int, ...]:
    """The shape of a value, of `rank` or at least `least` dimensions; `Unsupported` where it is not known."""
    if value is None:
        raise Unsupported(f"it has no operand for {what}")
    shape = value.known_shape
    if shape is None:
        raise Unsupported(
            f"the shape of {what} is known only at run time: {value.type}",
            "give all inputs fixed shapes; sizes that depend on the data cannot be compiled")
    if len(shape) < least or rank not in (None, len(shape)):
        wanted = f"at least {least}" if rank is None else str(rank)
        raise Unsupported(f"{what} must have {wanted} dimensions, and has the shape {list(shape)}")
    return shape


def limited(count: int, what: str, most: int = 1 << 24) -> int:
    """`count`, which decides how large something is made; `Unsupported` where that is beyond reason."""
    if not 0 <= count <= most:
        raise Unsupported(f"{what} would be {count}; at most {most} is supported")
    return count


def constant_ints(rw: Rewriter, value: Value | None, what: str) -> tuple[int, ...]:
    """The integers of a constant tensor, flattened."""
    array = np.asarray(rw.need_constant(value, what))
    if array.dtype.kind not in "iu":
        raise Unsupported(f"{what} must be integers, and are {array.dtype}")
    return tuple(array.reshape(-1).tolist())


def axis_of(rw: Rewriter, value: Value | None, what: str = "the axis") -> int:
    """The one integer of a constant."""
    numbers = constant_ints(rw, value, what)
    if len(numbers) != 1:
        raise Unsupported(f"{what} must be one number, and is {list(numbers)}")
    return numbers[0]


def axes_of(rw: Rewriter, value: Value | None, rank: int, what: str = "the axes") -> tuple[int, ...]:
    """Constant axes of a tensor of `rank`, counted from the front, each once, in order."""
    axes = set()
    for axis in constant_ints(rw, value, what):
        if not -rank <= axis < rank:
            raise Unsupported(f"{what} name dimension {axis} of a tensor of rank {rank}")
        axes.add(axis % rank)
    return tuple(sorted(axes))


def scalar(rw: Rewriter, number: float, element: Type = F32) -> Value:
    """A constant scalar of a plain type."""
    from transload.ir import dtype_of

    return rw.constant(np.asarray(number, dtype_of(element)), element=element)


# --- element types

def is_hybrid(value: Value, weights: Value) -> bool:
    """Whether an operator is hybrid: float activations with quantized weights."""
    return value.is_float and isinstance(weights.element, QuantType)


def need_plain(op: Op) -> None:
    """Raise where an operand is quantized: the bits of a stored number say nothing of the real one."""
    for operand in op.operands:
        if isinstance(operand.element, QuantType):
            raise Unsupported(f"it works on the bits of numbers, and {operand.element} is quantized", "dequantize them first")


def quant_per_tensor(value: Value, what: str) -> QuantType:
    """The quantized element type of a value, which must be per tensor."""
    element = value.element
    if not isinstance(element, QuantType) or not element.per_tensor:
        raise Unsupported(f"{what} must be quantized per tensor, and is {element}")
    return element


def typed_bias(rw: Rewriter, bias: Value | None, value: Value, weights: Value) -> Value | None:
    """The bias of a quantized layer with the scale that TFLite gives it: input scale times weight scale.

    The kernels add the stored integers to the accumulator, whatever scale the file notes for them; some files
    note a rounded one, or none.
    """
    if bias is None or not isinstance(value.element, QuantType) or not isinstance(weights.element, QuantType):
        return bias
    stored = bias.element.storage if isinstance(bias.element, QuantType) else bias.element
    array = rw.constant_of(bias)
    if array is None or not isinstance(stored, IntegerType):
        return bias
    scales = value.element.scales[0] * weights.element.scale_array
    element = QuantType(stored, F32, scales, (0,), 0 if len(scales) > 1 else None)
    if element == bias.element:
        return bias
    return rw.constant(Dense(array, bias.tensor_type.with_element(stored)), element=element)

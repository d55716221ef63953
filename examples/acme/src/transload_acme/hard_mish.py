"""`acme.HardMish`: the declaration, the kernel, how TFLite files hold it, and its lowering to TOSA."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from transload import KernelTable, RewriteTable, Unsupported
from transload.engine.quantized import dequantize, quantize
from transload.ir import I8, FloatAttr, FloatType, QuantType
from transload.ir.declare import FLOAT, Dialect, attribute, constraint, operand, result

ACME = Dialect("acme", "Operations of Acme's networks.")
KERNELS = KernelTable()
FROM_TFLITE = RewriteTable()
TO_TOSA = RewriteTable()


@ACME.op("HardMish")
class HardMish:
    """`gain * x * clip(x + 2, 0, 2) / 2`, element by element: a mish without transcendental functions.

    Source: Acme's network handbook, section 4 (which exists for the sake of this example).
    """

    input = operand("float or quantized tensor")
    output = result("of the input's shape")
    gain = attribute(FLOAT, "factor of the result", default=1.0)

    @constraint
    def gain_is_positive(op: Any) -> bool:
        """the gain is positive"""
        return op.gain > 0

    def infer(op: Any) -> Any:
        return op.input.type


@KERNELS("acme.HardMish")
def hard_mish(op: Any, x: np.ndarray) -> np.ndarray:
    """On reals; the engine dequantizes and quantizes around it where the tensors are quantized."""
    return (op.gain * x * np.clip(x + 2, 0, 2) / 2).astype(x.dtype)


@FROM_TFLITE("tfl.custom")
def from_custom(op: Any, rw: Any) -> Any:
    """A TFLite custom op `AcmeHardMish`; its options are the gain, a little-endian float32."""
    if op.custom_code != "AcmeHardMish":
        return None
    options = bytes.fromhex(match[1]) if (match := re.search(r'"0x([0-9a-fA-F]*)"', op.custom_option.text)) else b""
    if len(options) not in (0, 4):
        raise Unsupported(f"the options of AcmeHardMish are {len(options)} bytes, not the 4 of a float32")
    gain = struct.unpack("<f", options)[0] if options else 1.0
    return rw.emit("acme.HardMish", op.operands[0], gain=float(gain), element=op.results[0].element)


@TO_TOSA("acme.HardMish")
def to_tosa(op: Any, rw: Any) -> Any:
    """Float: add, clamp, multiply. int8: a table of all 256 values, made by the kernel."""
    element = op.input.element
    if isinstance(element, QuantType):
        if element.storage != I8 or op.output.element.storage != I8:
            raise Unsupported(f"HardMish is lowered from int8 to int8, and this one is from {element} to {op.output.element}")
        stored = np.arange(-128, 128).astype(np.int8)
        outputs = quantize(hard_mish(op, dequantize(stored, element)), op.output.element)
        return rw.emit("tosa.table", op.input, rw.constant(outputs, dialect="tosa"), types=[op.output.type])
    if not isinstance(element, FloatType):
        raise Unsupported(f"HardMish is defined on floats and quantized tensors, not on {element}")

    def scalar(value: float) -> Any:
        return rw.constant(np.full((1,) * op.input.rank, value, np.float32), element, dialect="tosa")

    no_shift = rw.constant(np.zeros(1, np.int8), dialect="tosa")
    shifted = rw.emit("tosa.add", op.input, scalar(2.0))
    clipped = rw.emit("tosa.clamp", shifted, min_val=FloatAttr(0.0, element), max_val=FloatAttr(2.0, element))
    product = rw.emit("tosa.mul", op.input, clipped, no_shift)
    return rw.emit("tosa.mul", product, scalar(op.gain / 2), no_shift)

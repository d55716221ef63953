"""Quantized numbers of 16 bits, which OpenVINO computes as if they were not quantized, or does not load.

Measured with OpenVINO 2026.4: between a QuantizeLinear to i16 or ui16 and what takes its numbers back, nothing is rounded and
nothing saturates, and where nothing is between them the plugin ends in an error of its own ("FQ stripping failed"). So the two
are written by what they are: a quotient that is rounded and limited, a difference and a product. Floats of 32 bits hold all of
that exactly, the quotient but for its own rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.ir import F32, I16, I64, UI16, Dense, Module, Op, TensorType, Type, Value, is_absent
from transload.ir.build import Builder

__all__ = ["write_out_16_bits"]

_QUANTIZE = frozenset({"onnx.QuantizeLinear", "onnx.com.microsoft.QuantizeLinear"})
_DEQUANTIZE = frozenset({"onnx.DequantizeLinear", "onnx.com.microsoft.DequantizeLinear"})
_FLOAT = 1
_CODES: dict[Type, int] = {UI16: 4, I16: 5}
"""ONNX's numbers of element types (`TensorProto.DataType`)."""


def write_out_16_bits(module: Module) -> bool:
    """Write QuantizeLinear to 16 bits, and DequantizeLinear of these, by arithmetic of floats; not by blocks."""
    changed = False
    for op in list(module.walk()):
        if op.name in _QUANTIZE and op.results[0].element_or_none in _CODES and _is_known(op, op.operands[0]):
            _Written(op).quantized()
        elif op.name in _DEQUANTIZE and op.operands[0].element_or_none in _CODES and _is_known(op, op.results[0]):
            _Written(op).dequantized()
        else:
            continue
        changed = True
    return changed


def _is_known(op: Op, real: Value) -> bool:
    """Whether real numbers and scales have 32 bits, and scales are of the tensor or of an axis."""
    scale = op.operands[1]
    return (real.element_or_none == F32 and scale.element_or_none == F32 and scale.shape_or_none is not None
            and len(scale.shape_or_none) < 2 and real.shape_or_none is not None and not op.attribute("block_size", 0))


class _Written:
    """The operators in the place of one."""

    def __init__(self, op: Op) -> None:
        self.op, self.rw = op, Builder(op.parent, op, op.location)  # type: ignore[arg-type]
        self.real = op.operands[0].tensor_type.with_element(F32)

    def quantized(self) -> None:
        """`saturate(round(x / scale) + zero_point)`, halves to the even number."""
        element = self.op.results[0].element
        least, most = (-(1 << 15), (1 << 15) - 1) if element == I16 else (0, (1 << 16) - 1)
        made = self._made("Round", self._made("Div", self.op.operands[0], self._per_axis(self.op.operands[1])))
        if (zero := self._zero_point()) is not None:
            made = self._made("Add", made, zero)
        made = self._made("Min", self._made("Max", made, self._number(least)), self._number(most))
        self._replace("onnx.Cast", made, to=_CODES[element])

    def dequantized(self) -> None:
        """`(q - zero_point) * scale`."""
        made = self._made("Cast", self.op.operands[0], to=_FLOAT)
        if (zero := self._zero_point()) is not None:
            made = self._made("Sub", made, zero)
        self._replace("onnx.Mul", made, self._per_axis(self.op.operands[1]))

    def _zero_point(self) -> Value | None:
        if len(self.op.operands) < 3 or is_absent(self.op.operands[2]):
            return None
        given = self.op.operands[2]
        floats = self.rw.emit("onnx.Cast", given, types=[given.tensor_type.with_element(F32)], to=_FLOAT)
        return self._per_axis(floats)

    def _per_axis(self, value: Value) -> Value:
        """A scale or a zero point as it stretches over the tensor."""
        rank = self.op.operands[0].rank
        axis = int(self.op.attribute("axis", 1)) % rank if rank else 0
        if not value.rank or rank - axis == 1:
            return value
        shape = np.array([-1] + [1] * (rank - axis - 1), np.int64)
        held = self.rw.emit("onnx.Constant", types=[TensorType(shape.shape, I64)], value=Dense(shape))
        type_ = TensorType((*(value.shape or ()), *(1,) * (rank - axis - 1)), F32)
        stretched: Value = self.rw.emit("onnx.Reshape", value, held, types=[type_])
        return stretched

    def _number(self, number: int) -> Value:
        held: Value = self.rw.emit("onnx.Constant", types=[TensorType((), F32)], value=Dense(np.array(number, np.float32)))
        return held

    def _made(self, name: str, *operands: Value, **attributes: Any) -> Value:
        made: Value = self.rw.emit(f"onnx.{name}", *operands, types=[self.real], **attributes)
        return made

    def _replace(self, name: str, *operands: Value, **attributes: Any) -> None:
        made = self.rw.emit(name, *operands, types=[self.op.results[0].type], **attributes)
        self.op.results[0].replace_all_uses_with(made)
        self.op.erase()

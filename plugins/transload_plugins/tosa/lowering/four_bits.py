"""Weights of 4 bits as TOSA's own i4, after the lowering: convolutions of i8 take such (extension `int4`)."""

from __future__ import annotations

import numpy as np

from transload.ir import I4, I8, Dense, Module, Op, Packed4Data, TensorType
from transload.ir.build import Builder, constant_of
from transload.passes.storage import strip_quantized_types

from ..dialect.base import INT4, storage_of

__all__ = ["pack_weights"]

CONVOLUTIONS = ("tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d", "tosa.transpose_conv2d")
WEIGHT, WEIGHT_ZP = 1, 4


def pack_weights(module: Module, int4: bool = False) -> bool:
    """The pass `tosa-pack-weights`: constant weights whose type has 4 bits, held in i8 until now, as i4; whether there were any.

    Weights with a -8 among them, which TOSA's i4 has not, stay in i8.
    With `int4` false none is: who takes the module may have no such type. Quantized types, which tell, are stripped then
    (`strip_quantized_types`): TOSA's operators know none, and axes of scales may be those of other shapes.
    """
    found = [op for op in module.walk() if op.name in CONVOLUTIONS and _has_four_bits(op)] if int4 else []
    for op in found:
        _pack(op)
    return strip_quantized_types(module) or bool(found)


def _has_four_bits(op: Op) -> bool:
    x, weights = op.operands[0], op.operands[WEIGHT]
    kind, dense = weights.quant, constant_of(weights)
    if (kind is None or dense is None or not storage_of(x) == I8 == kind.storage or any(kind.zero_points)
            or kind.storage_min < I4.range[0] or I4.range[1] < kind.storage_max):
        return False
    numbers = dense.numpy()
    return bool(INT4[0] <= numbers.min(initial=0) and numbers.max(initial=0) <= INT4[1])


def _pack(op: Op) -> None:
    weights = op.operands[WEIGHT]
    dense, kind = constant_of(weights), weights.quant
    assert dense is not None and kind is not None
    build = Builder(op.parent, before=op, location=weights.name)  # type: ignore[arg-type]
    shape = dense.shape
    held = Dense(Packed4Data.of(dense.numpy()), TensorType(shape, I4))
    op.set_operand(WEIGHT, build.constant(held, kind.replace(storage=I4), dialect="tosa"))
    op.set_operand(WEIGHT_ZP, build.constant(Dense(Packed4Data.of(np.zeros(1, np.int8)), TensorType((1,), I4)), dialect="tosa"))

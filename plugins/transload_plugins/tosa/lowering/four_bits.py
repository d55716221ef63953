"""Weights of 4 bits as TOSA's own i4, after the lowering: convolutions of i8 take such (extension `int4`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transload.ir import I4, I8, Dense, Module, Op, Packed4Data, TensorType
from transload.ir.build import Builder, constant_of
from transload.passes.storage import strip_quantized_types

from ..dialect.base import INT4, storage_of

__all__ = ["pack_weights"]

CONVOLUTIONS = ("tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d", "tosa.transpose_conv2d")
WEIGHT, WEIGHT_ZP = 1, 4
_SHOWN = 4
"""Names that a note lists."""


def pack_weights(module: Module, int4: bool = False) -> bool:
    """The pass `tosa-pack-weights`: constant weights whose type has 4 bits, held in i8 until now, as i4; whether there were any.

    Weights with a -8 among them, which TOSA's i4 has not, stay in i8, and a note on the module says which.
    With `int4` false none is: who takes the module may have no such type. Quantized types, which tell, are stripped then
    (`strip_quantized_types`): TOSA's operators know none, and axes of scales may be those of other shapes.
    """
    found = [op for op in module.walk() if op.name in CONVOLUTIONS and _has_four_bits(op)] if int4 else []
    beyond = list[Op]()
    for op in found:
        if _is_symmetric(op):
            _pack(op)
        else:
            beyond.append(op)
    _tell(module, beyond)
    return strip_quantized_types(module) or len(found) > len(beyond)


def _has_four_bits(op: Op) -> bool:
    x, weights = op.operands[0], op.operands[WEIGHT]
    kind = weights.quant
    return (kind is not None and constant_of(weights) is not None and storage_of(x) == I8 == kind.storage
            and I4.range[0] <= kind.storage_min and kind.storage_max <= I4.range[1] and not any(kind.zero_points))


def _is_symmetric(op: Op) -> bool:
    """Whether its weights are all numbers of TOSA's i4."""
    dense = constant_of(op.operands[WEIGHT])
    assert dense is not None
    numbers = dense.numpy()
    return bool(INT4[0] <= numbers.min(initial=0) and numbers.max(initial=0) <= INT4[1])


def _tell(module: Module, beyond: Sequence[Op]) -> None:
    """Note which weights of 4 bits take a byte each: twice what the model's file has them in."""
    weights = list(dict.fromkeys(op.operands[WEIGHT] for op in beyond))
    if not weights:
        return
    names = list(dict.fromkeys(name for each in weights if (name := each.name)))
    listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    count = "1 constant of weights is" if len(weights) == 1 else f"{len(weights)} constants of weights are"
    note = f"{count} of 4 bits in the model, and of bytes here: a number is -8, and TOSA's int4_t ends at -7"
    module.notes = (*module.notes, f"{note}{f': {listed}' if listed else ''}")


def _pack(op: Op) -> None:
    weights = op.operands[WEIGHT]
    dense, kind = constant_of(weights), weights.quant
    assert dense is not None and kind is not None
    build = Builder(op.parent, before=op, location=weights.name)  # type: ignore[arg-type]
    shape = dense.shape
    held = Dense(Packed4Data.of(dense.numpy()), TensorType(shape, I4))
    op.set_operand(WEIGHT, build.constant(held, kind.replace(storage=I4), dialect="tosa"))
    op.set_operand(WEIGHT_ZP, build.constant(Dense(Packed4Data.of(np.zeros(1, np.int8)), TensorType((1,), I4)), dialect="tosa"))

"""Convolutions and products of integers wider than TOSA multiplies: taken apart into digits of 8 bits.

TOSA's convolutions and products of integers take i8 and sum in i32. A wider integer is, modulo 2^32,

    x = x0 + 256 x1 + 256^2 x2 + 256^3 x3,    each xi from -128 to 127,

so the sum of products of x and w is that of the sums of products of xi and wj times 256^(i+j), for i + j < 4. Numbers that
are known to fit in 8 bits, perhaps less a zero point, are one digit: a quantized layer that a program writes out in i32
(`(i8 - zero point) * weight`) is one product again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import F32, I8, I32, IntegerType, QuantType, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter

from ... import build
from ...dialect.base import storage_of
from ..ops.common import binary
from .bounds import DEPTH, bounds_of
from .rescaling import fused_activation, quant, retyped, shift_right

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv, Deconv
    from transload_hub.ops.matmul import MatMul

__all__ = ["are_integers", "by_digits", "digits"]

DIGITS = 4
"""As many digits as an i32 has."""


def are_integers(*values: Value) -> bool:
    """Whether all values are plain integers."""
    return all(quant(value) is None and isinstance(value.element, IntegerType) and value.element.width > 1 for value in values)


def by_digits(
    op: Conv | Deconv | MatMul, rw: Rewriter, lefts: list[Value] | None = None, rights: list[Value] | None = None,
) -> Value:
    """A product of plain integers (its operands 0 and 1; 2 is a bias along the last dimension) by products of their digits."""
    lefts = digits(rw, op.operands[0]) if lefts is None else lefts
    rights = digits(rw, op.operands[1]) if rights is None else rights
    same: dict[str, Any] = {key: value for key, value in op.attributes.items() if key not in ("do_relu", "relu_limit")}
    alone = len(lefts) == len(rights) == 1 and op.name != "top.MatMul" and constant_of(op.bias) is not None
    bias = op.bias if alone else None  # TOSA's convolutions add it themselves
    target = op.result.element
    places = min(DIGITS, -(-target.width // 8)) if isinstance(target, IntegerType) else DIGITS  # beyond these the result wraps
    terms = []
    for i, left in enumerate(lefts):
        for j, right in enumerate(rights):
            if i + j < places:
                term = rw.emit(op.name, left, right, bias, element=I32, **same)
                if i + j:
                    term = binary(rw, "logical_left_shift", term, build.scalar(rw, 8 * (i + j), I32))
                terms.append(term)
    total = terms[0]
    for term in terms[1:]:
        total = binary(rw, "add", total, term)
    if op.bias is not None and not alone:
        total = binary(rw, "add", total, build.cast(rw, op.bias, I32))
    return fused_activation(rw, build.cast(rw, total, op.result.element), op)


def digits(rw: Rewriter, x: Value) -> list[Value]:
    """The digits of plain integers, the lowest first: as quantized numbers of scale 1, whose zero point may be other than 0."""
    found = _stored_in_8_bits(rw, x)
    if found is not None:
        return [retyped(rw, found[0], _digit(found[1]))]
    low, high = bounds_of(x)
    held = constant_of(x)
    numbers = held.numpy().astype(np.int64) if held is not None else None
    point = min(max(-128 - low, -128), 127)
    if low + point >= -128 and high + point <= 127:
        point = 0 if low >= -128 and high <= 127 else point
        if numbers is not None:
            return [build.const(rw, (numbers + point).astype(np.int8), _digit(point))]
        moved = binary(rw, "add", build.cast(rw, x, I32), build.scalar(rw, point, I32)) if point else x
        return [build.cast(rw, moved, _digit(point))]
    rest: Any = build.cast(rw, x, I32) if numbers is None else numbers  # of i16, whose halves rounded up may be beyond it
    count = next((n for n in range(2, DIGITS) if -128 * _ones(n) <= low and high <= 127 * _ones(n)), DIGITS)
    made = []
    for place in range(count):
        if numbers is None:
            made.append(build.cast(rw, rest, _digit(0)))  # the lowest 8 bits
            rest = shift_right(rw, rest, 8) if place + 1 < count else rest  # rounded: what is left of the rest
        else:
            lowest = (rest + 128 & 255) - 128
            made.append(build.const(rw, lowest.astype(np.int8), _digit(0)))
            rest = rest - lowest >> 8
    return made


def _ones(count: int) -> int:
    """The number whose digits are all 1."""
    return int((256**count - 1) // 255)


def _digit(zero_point: int) -> QuantType:
    return QuantType(I8, F32, (1.0,), (zero_point,))


def _stored_in_8_bits(rw: Rewriter, x: Value, depth: int = DEPTH) -> tuple[Value, int] | None:
    """Numbers of 8 bits and a zero point that `x` is made of, without arithmetic other than their difference."""
    if storage_of(x) == I8:
        return x, 0
    maker = x.op
    if maker is None or depth == 0:
        return None
    if maker.name == "tosa.cast" and storage_of(maker.operands[0]) == I8:
        return maker.operands[0], 0
    if maker.name in ("tosa.reshape", "tosa.transpose"):
        found = _stored_in_8_bits(rw, maker.operands[0], depth - 1)
        if found is None:
            return None
        moved = (build.reshape(rw, found[0], x.shape) if maker.name == "tosa.reshape"
                 else build.transpose(rw, found[0], maker.attributes["perms"]))
        return moved, found[1]
    if maker.name not in ("tosa.add", "tosa.sub"):
        return None
    a, b = maker.operands
    if maker.name == "tosa.add" and constant_of(a) is not None:
        a, b = b, a
    held, inner = constant_of(b), a.op
    if held is None or inner is None or inner.name != "tosa.cast" or storage_of(inner.operands[0]) != I8 or a.shape != x.shape:
        return None
    numbers = held.numpy()
    if not numbers.size or numbers.min() != numbers.max():
        return None
    point = int(numbers.flat[0]) * (1 if maker.name == "tosa.sub" else -1)
    return (inner.operands[0], point) if -128 <= point <= 127 else None

"""Integers that OpenVINO's CPU plugin computes in another type than the model says: told, with the numbers that it holds for.

Measured with OpenVINO 2026.4: products of matrices, quotients, remainders, comparisons, limits, reductions and shifts to the
right of integers of 32 bits are those of floats, which are exact to 2^24; numbers of 64 bits, and those without a sign, are of 32
bits with one. Floats of 16 bits are of 32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from transload.ir import BF16, BOOL, F16, F32, F64, I32, I64, UI32, UI64, IntegerType, Module, Op, Value
from transload.ir.build import constant_of

__all__ = ["tell_inexact"]

_FLOATS, _SIGNED = float(1 << 24), float((1 << 31) - 1)
_WIDE = (I32, I64, UI32, UI64)
_SUMMED = frozenset(f"onnx.Reduce{name}" for name in ("Sum", "Mean", "L1"))


def _greatest(op: Op) -> float:
    return max(_bound(value) for value in op.operands if _is_wide(value))


def _of_products(op: Op) -> float:
    """The greatest sum of products of two matrices; what is added to it is left to its own size."""
    a, b = op.operands[:2]
    depth = a.static_shape[0 if op.attribute("transA", 0) else -1] if a.is_static and a.static_shape else math.inf
    return max([depth * _bound(a) * _bound(b), *(_bound(value) for value in op.operands[2:])])


def _of_sums(op: Op) -> float:
    value = op.operands[0]
    return _bound(value) * (math.prod(value.static_shape) if value.is_static else math.inf)


_IN_FLOATS: Mapping[str, Callable[[Op], float]] = {
    **{f"onnx.{name}": _greatest for name in (
        "Div", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal", "Mod", "Relu", "Clip", "ReduceMax",
        "ReduceMin")},
    "onnx.MatMul": _of_products, "onnx.Gemm": _of_products, **dict.fromkeys(_SUMMED, _of_sums),
    "onnx.BitShift": lambda op: _bound(op.operands[0]) if op.attribute("direction") == "RIGHT" else 0.0,
    **dict.fromkeys(("onnx.ReduceProd", "onnx.ReduceSumSquare", "onnx.ReduceL2"), lambda op: math.inf),
}
"""What is computed in floats, and how great the numbers are on the way."""
_IN_SIGNED = frozenset(f"onnx.{name}" for name in (
    "Abs", "Add", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CumSum", "Max", "Min", "Mul", "Neg",
    "Pow", "Sign", "Sub", "Sum", "TopK"))
"""What is computed in integers of 32 bits with a sign, where it is of 64 bits or without one."""


def tell_inexact(module: Module) -> bool:
    """Note the operators of integers that are not shown to stay where OpenVINO is exact; the module stays as it is."""
    floats, signed = dict[str, None](), dict[str, None]()
    short = dict[str, None]()
    for op in module.walk():
        if op.name == "onnx.Cast" and _is_short(op.results[0]) and op.operands[0].element_or_none in (F32, F64):
            short[_named(op)] = None
        if op.name == "onnx.Cast" and op.operands[0].is_float and op.results[0].element_or_none in (I64, UI32, UI64):
            signed[_named(op)] = None
        if not any(_is_wide(value) for value in op.operands):
            continue
        if op.name == "onnx.BitShift" and not _bound(op.operands[0]) <= _SIGNED:
            signed[_named(op)] = None
        if op.name in _IN_FLOATS and not _IN_FLOATS[op.name](op) <= _FLOATS:
            floats[_named(op)] = None
        elif op.name in _IN_SIGNED and (op.name != "onnx.Cast" or _is_wider(op)) and any(
                _is_wide(value) and value.element != I32 and not _bound(value) <= _SIGNED for value in op.operands):
            signed[_named(op)] = None
    told = [f"OpenVINO computes integers of {_few(names)} {how}" for names, how in (
        (floats, "as floats of 32 bits: numbers beyond 2^24 (16,777,216) lose their last digits"),
        (signed, "in 32 bits with a sign: numbers beyond 2^31 - 1 are others")) if names]
    told += [f"OpenVINO computes floats of 16 bits in 32: {_few(short)} rounds nothing"] if short else []
    module.notes = (*module.notes, *(note for note in told if note not in module.notes))
    return False


def _named(op: Op) -> str:
    return f"{op.name} at {op.origin!r}" if op.origin else op.name


def _few(names: Mapping[str, None]) -> str:
    said = ", ".join(list(names)[:3])
    return f"{said} and {len(names) - 3} more" if len(names) > 3 else said


def _is_short(value: Value) -> bool:
    return value.element_or_none in (F16, BF16)


def _is_wider(op: Op) -> bool:
    """Whether a cast of integers is to a type that keeps numbers beyond 2^31: of lower bits and truths any has the same."""
    return op.results[0].element_or_none in (I64, UI64) or op.results[0].is_float


def _is_wide(value: Value) -> bool:
    return value.element_or_none in _WIDE


_MOVES = frozenset(f"onnx.{name}" for name in (
    "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Slice", "Gather", "Expand", "Tile"))


def _bound(value: Value) -> float:
    """How great the numbers of a value are at most: of a constant, of what narrow ones were cast to, and of what moves these."""
    while (op := value.op) is not None and (op.name in _MOVES or op.name == "onnx.Cast"):
        if not isinstance(op.operands[0].element_or_none, IntegerType):
            break
        value = op.operands[0]
    held = constant_of(value)
    if held is not None:
        numbers = np.asarray(held.numpy())
        return float(np.abs(numbers.astype(np.float64)).max(initial=0.0))
    if op is not None and op.name in ("onnx.Shape", "onnx.Size", "onnx.ArgMax", "onnx.ArgMin"):
        return _FLOATS  # sizes and places
    element = value.element_or_none
    if element == BOOL:
        return 1.0
    return float(max(abs(number) for number in element.range)) if isinstance(element, IntegerType) else math.inf

"""What the lowerings of `top` ops to ONNX have in common: operators with their types, constants, the ReLU of an op."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from transload.errors import OpenSizes
from transload.ir import (
    BOOL,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    UI8,
    UI16,
    UI32,
    UI64,
    FloatType,
    IntegerType,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    dtype_of,
)
from transload.ir.build import Builder
from transload.ir.quantization import permuted
from transload.rewrite import Rewriter, Unsupported
from transload_hub.quotients import may_leave_range

from ..dialect import schema_of
from ..types import OPSET_WRITTEN, element_code, type_word

__all__ = [
    "activated", "as_summed", "broadcast", "cast", "clipped", "constant", "emit", "finish", "ints", "need_channels_second",
    "ordered", "quotient", "scalar", "static_shape", "transposed", "unordered", "wider",
]  # fmt: skip


def emit(
    rw: Builder, name: str, *operands: Value | None, like: Value | None = None, shape: Sequence[int | None] | None = None,
    element: Type | None = None, **attributes: Any,
) -> Value:
    """The only result of an operator of ONNX: its shape and element type are those of `like` (by default the first operand's).

    Numbers that the operator is not defined for, or that onnxruntime has no kernel for, are computed in the next wider type that
    has one: floats in f32, integers in i32 or i64, whose lower bits are the same. Unsigned ones of 64 bits are signed ones where
    bits are all that counts; what there is no other way for is `Unsupported`.
    """
    model = like if like is not None else operands[0]
    assert model is not None
    type_ = TensorType(tuple(shape) if shape is not None else model.tensor_type.shape, element or model.element)
    return _emit(rw, name, operands, type_, attributes)


def _emit(rw: Builder, name: str, operands: Sequence[Value | None], type_: TensorType, attributes: Mapping[str, Any]) -> Value:
    narrow = next((value.element for value in operands if value is not None and _is_narrow(value)), None)
    narrow = narrow or _wide_of(name, operands)
    wide = wider(name, narrow) if narrow is not None else None
    if narrow is not None and wide is None and narrow in _WITHOUT_KERNEL.get(name, ()):
        raise Unsupported(
            f"onnxruntime has no kernel of {name} for {narrow}",
            "the targets tosa and stablehlo may take it, or cast to i32 before it and back behind, where numbers fit")
    if narrow is not None and wide is not None:
        if name == "Cast":
            raise Unsupported(f"ONNX's Cast of opset {OPSET_WRITTEN} takes no {narrow}", "the target stablehlo has casts of it")
        given = [cast(rw, value, wide) if value is not None and value.element == narrow else value for value in operands]
        made_of = type_.with_element(wide) if type_.element == narrow else type_
        result = rw.emit(f"onnx.{name}", *given, types=[made_of], **attributes)
        return cast(rw, result, type_.element)
    made: Value = rw.emit(f"onnx.{name}", *operands, types=[type_], **attributes)
    return made


def _is_narrow(value: Value) -> bool:
    element = value.element_or_none
    return isinstance(element, FloatType | IntegerType) and element != BOOL and dtype_of(element).itemsize < 8


def _wide_of(name: str, operands: Sequence[Value | None]) -> Type | None:
    """The integer type of 64 bits that an operator without narrower numbers computes with, if any."""
    first = operands[_place_of(name)] if operands else None
    return None if first is None else first.element_or_none if first.element_or_none in (I64, UI64) else None


def _place_of(name: str) -> int:
    """Which operand has the type that an operator computes in."""
    return 1 if name == "Where" else 0


_EXTREMES = ("MaxPool",)
"""Operators that give one of their numbers, which floats of more bits hold as they are."""


_OF_16 = (I16, UI16)
_SMALL = (I8, UI8, *_OF_16, UI32)
_UNSIGNED = (UI32, UI64)
_WITHOUT_KERNEL: Mapping[str, Sequence[Type]] = {
    "ArgMax": (*_OF_16, *_UNSIGNED), "ArgMin": (*_OF_16, *_UNSIGNED), "Clip": _OF_16, "CumSum": _UNSIGNED,
    "Einsum": (*_SMALL, UI64), "NonZero": (I8, *_OF_16, *_UNSIGNED), "Pad": _OF_16,
    "Relu": (I16,), "Resize": (*_OF_16, I64, *_UNSIGNED),
    "TopK": (UI16, *_UNSIGNED), "Trilu": (*_SMALL, UI64), "Where": (*_OF_16, UI64),
    **{f"Reduce{mode}": _UNSIGNED for mode in ("Sum", "Mean", "Max", "Min", "Prod", "SumSquare", "L1", "L2")},
}
"""Integers that operators are defined for, and that onnxruntime 1.32 cannot compute on CPUs."""
_OF_BITS = ("CumSum", "Einsum", "Neg", "NonZero", "ReduceProd", "ReduceSum", "Trilu", "Where")
"""Operators whose results have the same bits whether numbers are signed or not."""


@cache
def wider(name: str, element: Type) -> Type | None:
    """The type that an operator computes in what it is not defined for; None where it is defined, or for none that is wider."""
    if _knows(name, element):
        return None
    if element == UI64:
        return I64 if name in _OF_BITS else None
    size = dtype_of(element).itemsize
    if isinstance(element, FloatType):
        candidates: Sequence[Type] = (F32,) if size < 4 else ()
    else:
        candidates = (I32, I64) if size < 4 else (I64,)
        if name in _EXTREMES and size < 8:
            candidates = (*candidates, F32, F64) if size < 4 else (*candidates, F64)
    return next((wide for wide in candidates if wide != element and _knows(name, wide)), None)


@cache
def _knows(name: str, element: Type) -> bool:
    """Whether an operator may compute with this element type, as its schema says, and runtimes do it."""
    schema = schema_of(name, OPSET_WRITTEN)
    known = schema is None or f"tensor({type_word(element)})" in schema.inputs[_place_of(name)].types
    return known and element not in _WITHOUT_KERNEL.get(name, ())


def broadcast(rw: Builder, name: str, *operands: Value, element: Type | None = None) -> Value:
    """An operator on tensors that broadcast."""
    known = [value.known_shape for value in operands]
    shape = None if None in known else np.broadcast_shapes(*known)  # type: ignore[arg-type]
    return _emit(rw, name, operands, TensorType(shape, element or operands[0].element), {})


def constant(rw: Builder, numbers: Any, element: Type) -> Value:
    """A constant of ONNX; `numbers` are an array or what numpy makes one of."""
    return rw.constant(np.asarray(numbers, dtype_of(element)), element, dialect="onnx")


def scalar(rw: Builder, number: float, element: Type) -> Value:
    """A constant of rank 0; of an integer type the number without its fraction."""
    return constant(rw, number if isinstance(element, FloatType) else int(number), element)


def quotient(rw: Builder, a: Value, b: Value) -> Value:
    """Div; of integers by -1 it divides their negatives by 1: the least one by -1 ends onnxruntime's process."""
    if may_leave_range(b, a):
        negative = broadcast(rw, "Equal", b, scalar(rw, -1, b.element), element=BOOL)
        a = broadcast(rw, "Where", negative, broadcast(rw, "Sub", scalar(rw, 0, a.element), a), a, element=a.element)
        b = broadcast(rw, "Where", negative, scalar(rw, 1, b.element), b, element=b.element)
    return broadcast(rw, "Div", a, b)


def ints(rw: Builder, numbers: Sequence[int]) -> Value:
    """A vector of i64, as which operators take shapes, axes and the like."""
    return constant(rw, np.array(tuple(numbers), np.int64), I64)


def static_shape(value: Value) -> tuple[int, ...]:
    """The shape of a value; `Unsupported` where a size is not known."""
    shape = value.known_shape
    if shape is None:
        raise OpenSizes(f"a tensor is of type {value.type}")
    return shape


def cast(rw: Builder, x: Value, element: Type) -> Value:
    """`x` in another element type, by Cast; `x` itself where it has that type.

    Floats become integers of few bits by way of wider ones, which cut off their fractions: onnxruntime's Cast rounds them.
    """
    if x.element == element:
        return x
    code = element_code(element)
    if code is None:
        raise Unsupported(f"ONNX has no element type {element}", "the target stablehlo may have it")
    if x.is_float and isinstance(element, IntegerType) and 1 < element.width < 8:
        x = cast(rw, x, I64 if x.element == F64 else I32)
    return emit(rw, "Cast", x, element=element, to=code)


def ordered(rw: Builder, x: Value) -> Value:
    """`x`, for operators that ask for the order of numbers: those of ui64, which onnxruntime has not got there, less 2^63 as i64.

    `unordered` makes them what they were.
    """
    return cast(rw, _by_half(rw, x), I64) if x.element == UI64 else x


def unordered(rw: Builder, x: Value, element: Type) -> Value:
    """What an operator made of `ordered` numbers that were of type `element`."""
    return _by_half(rw, cast(rw, x, UI64)) if element == UI64 else cast(rw, x, element)


def _by_half(rw: Builder, x: Value) -> Value:
    """`x` of ui64 plus 2^63, which wraps round: the order of signed numbers, or of unsigned ones, in the other."""
    return broadcast(rw, "Add", x, scalar(rw, 1 << 63, UI64))


def clipped(rw: Builder, x: Value, low: float, high: float) -> Value:
    """Clip, with those limits that can be reached; of floats with both where one is finite: onnxruntime takes one that is missing
    for the greatest finite number, which infinity becomes."""
    limits: list[Value | None]
    if isinstance(x.element, FloatType):
        if math.isinf(low) and math.isinf(high) and low < high:
            return x
        limits = [scalar(rw, limit, x.element) for limit in (low, high)]
    else:
        lowest, highest = x.element.range  # type: ignore[attr-defined]
        limits = [scalar(rw, min(low, highest), x.element) if low > lowest else None,
                  scalar(rw, max(high, lowest), x.element) if high < highest else None]
    if limits == [None, None]:
        return x
    return emit(rw, "Clip", x, *limits)


def activated(rw: Builder, op: Op, y: Value) -> Value:
    """`y` after the ReLU that the op's attributes do_relu and relu_limit ask for."""
    if not op.attributes.get("do_relu", False):
        return y
    limit = op.attributes.get("relu_limit", -1.0)
    return clipped(rw, y, 0.0, limit) if limit >= 0 else rectified(rw, y)


def rectified(rw: Builder, x: Value) -> Value:
    """Relu; of integers of 64 bits, for which runtimes lack it, Max; unsigned ones are what they are."""
    if isinstance(x.element, IntegerType) and x.element.unsigned:
        return x
    return emit(rw, "Max", x, scalar(rw, 0, I64)) if x.element == I64 else emit(rw, "Relu", x)


def finish(rw: Rewriter, op: Op, y: Value) -> Value:
    """`y` after the op's ReLU, in the element type of its result."""
    y = activated(rw, op, y)
    element = op.results[0].element
    return y if element == BOOL == y.element else cast(rw, y, element)


def as_summed(rw: Builder, op: Op, x: Value) -> Value:
    """An operand of a product, floats in the type of its sums where that is wider: ONNX's products have one type throughout."""
    sums = op.results[0].element
    if not isinstance(x.element, FloatType) or not isinstance(sums, FloatType):
        return x
    return cast(rw, x, sums) if dtype_of(sums).itemsize > dtype_of(x.element).itemsize else x


def need_channels_second(op: Op) -> None:
    """`Unsupported` where an op has its channels last, as no operator of ONNX has."""
    if op.attribute("layout") != "NCHW":
        raise Unsupported("its channels are last, and ONNX has them second", "run the pass layout{to=NCHW} before")


def transposed(rw: Builder, x: Value, order: Sequence[int]) -> Value:
    """`x` with its dimensions in another order; weights, dequantized ones too, are turned here and not at run time."""
    shape = x.tensor_type.shape
    turned = None if shape is None else tuple(shape[axis] for axis in order)
    owner = x.op
    if owner is not None and owner.name == "onnx.Constant":
        element = permuted(x.element, order) if isinstance(x.element, QuantType) else x.element
        numbers = owner.attributes["value"].numpy().transpose(order)
        return rw.constant(np.asarray(numbers, order="C"), element, dialect="onnx")
    if owner is not None and owner.name == "onnx.DequantizeLinear" and owner.operands[0].op is not None and (
            owner.operands[0].op.name == "onnx.Constant"):
        stored, *scales = owner.operands
        places = dict(owner.attributes)
        if "axis" in places:
            places["axis"] = list(order).index(places["axis"])
        if "block_size" in places:  # scales and zero points have the dimensions of what they are of, fewer places along one
            scales = [transposed(rw, each, order) for each in scales]
        return emit(rw, "DequantizeLinear", transposed(rw, stored, order), *scales, like=x, shape=turned, **places)
    return emit(rw, "Transpose", x, shape=turned, perm=tuple(order))

"""What the lowerings of several families share: operators, constants, activations, requantization, roundings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import OpenSizes, Unsupported
from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    I4,
    I8,
    I16,
    I32,
    I64,
    UI8,
    UI16,
    UI32,
    Dense,
    IntegerType,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    dtype_of,
)
from transload.ir.constants import LazyData
from transload.rewrite import Rewriter
from transload.shell import quoted
from transload_hub.permuting import merged
from transload_hub.scales import quantize_float32

__all__ = [
    "A_STEP_AWAY", "LITERT_ROUNDING", "NO_HALVES", "activated", "activated_wholly", "axes_of", "between", "compared_in",
    "constant", "dequantized", "emit", "fused", "int32", "ints", "is_narrow", "left_float", "need_floats",
    "need_quantized_alike", "need_rounding", "permuted_constant", "quant", "quantized_result", "real", "reshape",
    "retyped", "same_numbers", "signed", "static_shape", "stored_as_result", "transpose", "widened", "wider",
]

NO_HALVES = (
    "convert the model of float32: without --quantize, where that made halves of it; w8a16 makes weights small, int8 all; "
    "targets onnx, tosa, stablehlo and xla-cpu take floats of 16 bits")
"""What to do about floats of 16 bits, for which LiteRT has few kernels."""

NO_INTEGERS = (
    "a model whose products are of plain integers, as onnxruntime quantizes dynamically, is taken by the targets onnx, tosa, "
    "stablehlo and xla-cpu; for LiteRT convert the float model that it was made of, with --quantize dynamic or int8")
"""What to do about plain integers, which LiteRT multiplies with scales alone."""


def need_floats(what: str, *values: Value) -> None:
    """`Unsupported` where LiteRT has no kernel of `what` for floats of their types."""
    elements = [value.element for value in values]
    if any(element != F32 for element in elements):
        whole = all(isinstance(element, IntegerType) for element in elements)
        hint = NO_HALVES if F16 in elements or BF16 in elements else NO_INTEGERS if whole else "make the model float32"
        raise Unsupported(f"LiteRT has no {what} of {' and '.join(map(str, elements))}", hint)


def emit(rw: Rewriter, name: str, *operands: Value | None, like: Value | None = None, shape: Sequence[int] | None = None,
         element: Type | None = None, **attributes: Any) -> Value:
    """Emit the operator `tfl.<name>` with one result: of the type of `like`, with another shape or element type where given."""
    given = list(operands)
    while given and given[-1] is None:
        given.pop()
    type_ = like.type if like is not None else None
    assert type_ is None or isinstance(type_, TensorType)
    made = TensorType(
        tuple(shape) if shape is not None else type_.shape if type_ is not None else None,
        element if element is not None else type_.element if type_ is not None else F32)
    result: Value = rw.emit(f"tfl.{name}", *given, types=[made], **attributes)
    return result


def static_shape(value: Value, what: str = "the tensor") -> tuple[int, ...]:
    """The shape of a value; `Unsupported` where a size is not known."""
    shape = value.known_shape
    if shape is None:
        raise OpenSizes(f"{what} is of type {value.type}, a size of which is known only at run time")
    return shape


def quant(value: Value | None) -> QuantType | None:
    """The quantized element type of a value, None where it has another or is absent."""
    return None if value is None else value.quant


def axes_of(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Dimensions counted from the front."""
    return tuple(axis + rank if axis < 0 else axis for axis in axes)


# --- constants

def constant(rw: Rewriter, data: Any, element: Type | None = None) -> Value:
    """A constant of `tfl`: an array, a number, or a `Dense`; `element` is its type where that is not the array's own."""
    if isinstance(element, QuantType):
        dense = data if isinstance(data, Dense) else Dense(np.asarray(data, dtype_of(element.storage)))
        type_ = TensorType(tuple(dense.shape), element)
        stored = Dense(dense.data, type_.with_element(element.storage))
        return rw.create("tfl.pseudo_qconst", (), (type_,), {"value": stored, "qtype": type_}).results[0]
    return rw.constant(data, element=element, dialect="tfl")


def ints(rw: Rewriter, *numbers: int) -> Value:
    """A constant vector of int32: a shape, axes, an order."""
    return constant(rw, np.array(numbers, np.int32))


def real(rw: Rewriter, number: float, like: Value) -> Value:
    """A constant scalar of the element type of `like`; of a quantized type the nearest number that it has."""
    element = like.element
    if isinstance(element, QuantType):
        return constant(rw, np.asarray(quantize_float32(number, element), dtype_of(element.storage)), element)
    return constant(rw, np.asarray(number, dtype_of(element)), element)


class _Permuted(dict[tuple[int, tuple[int, ...], tuple[int, ...]], LazyData]):
    """Constants with their dimensions in another order, by what they were (which they keep alive), order and shape.

    A recurrent layer that is written out has a product with the same weights in each step: the file holds them once.
    """


def permuted_constant(rw: Rewriter, value: Value, order: Sequence[int], shape: Sequence[int] | None = None) -> Value | None:
    """A constant with its dimensions in another order, and then of another shape; None where it is computed.

    The numbers are laid out when they are first looked at. Scales along a dimension follow it.
    """
    from transload.ir.build import constant_of

    dense = constant_of(value)
    if dense is None:
        return None
    moved = tuple(dense.shape[axis] for axis in order)
    final = tuple(shape) if shape is not None else moved
    element = value.element
    if isinstance(element, QuantType) and element.axis is not None:
        along = list(order).index(element.axis)
        if final != moved:
            along = next((axis for axis, size in enumerate(final) if size == moved[along]
                          and np.prod(final[:axis], dtype=int) == np.prod(moved[:along], dtype=int)), -1)
        element = element.replace(axis=along)
    key = id(dense.data), tuple(order), final
    known = rw.scratch(_Permuted)
    data = known.get(key)
    if data is None:
        data = known[key] = LazyData(
            lambda: np.ascontiguousarray(dense.numpy().transpose(order)).reshape(final), final, dense.data.dtype)
    return constant(rw, Dense(data, TensorType(final, dense.type.element)), element)


# --- shapes

def reshape(rw: Rewriter, value: Value, shape: Sequence[int]) -> Value:
    """`value` in another shape; itself where it has that."""
    shape = tuple(int(size) for size in shape)
    if value.shape == shape:
        return value
    return emit(rw, "reshape", value, ints(rw, *shape), like=value, shape=shape, new_shape=shape)


def transpose(rw: Rewriter, value: Value, order: Sequence[int]) -> Value:
    """`value` with its dimensions in another order; a constant at once, a reshape where only dimensions of size 1 move.

    Of more than four dimensions those of size 1 are left out, and those that stay together merged: LiteRT has kernels for up to
    six, other runtimes of TFLite for fewer. More are moved one by one.
    """
    order = tuple(order)
    if order == tuple(range(len(order))):
        return value
    shape = static_shape(value)
    made = permuted_constant(rw, value, order)
    if made is not None:
        return made
    sizes, merged_order = merged(shape, order)
    result = [shape[axis] for axis in order]
    if len(merged_order) <= 1:
        return reshape(rw, value, result)
    if len(order) > 4 and len(merged_order) < len(order) and (value.quant is None or value.quant.per_tensor):
        value, order = reshape(rw, value, sizes), tuple(merged_order)
    if len(order) > 6:
        if value.quant is not None and not value.quant.per_tensor:
            raise Unsupported(f"LiteRT transposes up to 6 dimensions, and here are {len(order)}, with a scale for each channel")
        return reshape(rw, _transposed_one_by_one(rw, value, order), result)
    moved = emit(rw, "transpose", value, ints(rw, *order), like=value, shape=[static_shape(value)[axis] for axis in order])
    return reshape(rw, moved, result)


def _transposed_one_by_one(rw: Rewriter, value: Value, order: Sequence[int]) -> Value:
    """More dimensions than TRANSPOSE has: each is moved in front of those that stand before it and belong behind it."""
    shape, standing = static_shape(value), list(range(len(order)))
    for place, axis in enumerate(order):
        now = standing.index(axis)
        if now != place:
            done, between, behind = standing[:place], standing[place:now], standing[now + 1:]
            sizes = [math.prod(shape[each] for each in group) for group in (done, between, [axis], behind)]
            value = transpose(rw, reshape(rw, value, sizes), (0, 2, 1, 3))
            standing = [*done, axis, *between, *behind]
    return value


def negative_where_negative(rw: Rewriter, size: Value, x: Value, *, like: Value) -> Value:
    """Floats, negated where `x` is below 0: of operators that tflite-micro has, too, which has no SIGN."""
    is_below = emit(rw, "less", x, real(rw, 0.0, x), like=x, element=BOOL)
    return emit(rw, "select_v2", is_below, emit(rw, "neg", size, like=size), size, like=like)


# --- quantized types

def same_numbers(a: QuantType, b: QuantType) -> bool:
    """Whether stored numbers of two types mean the same real ones."""
    return (a.storage, a.scales, a.zero_points, a.axis) == (b.storage, b.scales, b.zero_points, b.axis)


def retyped(rw: Rewriter, value: Value, element: Type) -> Value:
    """A quantized value in another quantized type, as the hub's Cast rounds: LiteRT's QUANTIZE; any other value as it is."""
    source = quant(value)
    if source is None or not isinstance(element, QuantType) or same_numbers(source, element):
        return value
    if not source.per_tensor or not element.per_tensor:
        raise Unsupported(
            f"LiteRT does not requantize {source} to {element}", "quantize activations with one scale for the whole tensor")
    if element.storage == UI8 and source.storage.width > 8:  # to signed bytes alone, of which unsigned ones are made exactly
        value = emit(rw, "quantize", value, like=value, element=signed(element))
    return emit(rw, "quantize", value, like=value, element=element)


def signed(element: QuantType) -> QuantType:
    """The type of signed bytes for the real numbers of one of unsigned bytes, with one scale; of others itself."""
    if element.storage != UI8:
        return element
    ends = element.storage_min - 128, element.storage_max - 128
    return QuantType(I8, element.expressed, element.scales, (element.zero_point - 128,), None, *ends)


def stored_as_result(op: Op, rw: Rewriter, value: Value) -> Value:
    """An operand of a product, stored as the result is, for LiteRT's kernels give what they take: bytes in 16 bits.

    The numbers are the same. `Unsupported` where the result's storage does not hold them.
    """
    source, target = quant(value), quantized_result(op)
    if source is None or target is None or source.storage == target.storage:
        return value
    if target.storage != I16 or source.storage.width > 8:
        raise Unsupported(
            f"it takes {source.storage} and gives {target.storage}, and LiteRT's kernels of products give what they take",
            "quantize its input and its result in as many bits")
    return retyped(rw, value, QuantType(I16, source.expressed, source.scales, (0,) * len(source.scales), source.axis))


def dequantized(rw: Rewriter, value: Value) -> Value:
    """The real numbers of a quantized value."""
    return value if quant(value) is None else emit(rw, "dequantize", value, like=value, element=F32)


def quantized_result(op: Op) -> QuantType | None:
    """The quantized type of an op's result; None of floats and plain integers."""
    return quant(op.results[0])


A_STEP_AWAY = ": many numbers may be another integer by 1 then, which --tolerance integer=2 allows (more, where steps add up)"
"""What to know of `rounding=litert`: a scale that is twice another has every second number stand midway between two integers."""
LITERT_ROUNDING = f"--option rounding=litert takes LiteRT's rounding{A_STEP_AWAY}"


def need_rounding(op: Op, rw: Rewriter, *words: str, operator: str) -> None:
    """Refuse an op whose quantized result is rounded by none of the `words`, which are what LiteRT's operator does.

    With `rounding=litert` it is rounded as LiteRT does, instead.
    """
    if quantized_result(op) is None or rw.options.get("rounding") == "litert":
        return
    word = str(op.attribute("rounding", words[0]))
    if word not in words:
        raise Unsupported(
            f"its result is rounded {word!r}, and LiteRT's {operator} rounds {words[0]!r}",
            LITERT_ROUNDING)


_SUMS_MOVED_UP = {"top.Add": (20, 15), "top.Sub": (20, 15), "top.SquaredDifference": (14, 14)}
"""By how many bits a sum's result is moved up beside its operands, of 8 bits and of 16."""


def need_fine_operands(op: Op, *values: Value) -> None:
    """Refuse a sum, difference or squared difference of whose scales LiteRT makes a factor that ends the process.

    Its kernels divide twice the coarsest operand's scale (its square, of SQUARED_DIFFERENCE) by the result's, moved up by 20
    bits (15 of numbers of 16, 14 of SQUARED_DIFFERENCE), all in float32, and assert that this is above 0 and below 1; SUB takes
    what is above 1, too, but for 1 itself. Where a scale is so great that a float32 does not hold it moved up, it comes out as 0.

    Source: `Prepare` of the kernels ADD, SUB and SQUARED_DIFFERENCE, `QuantizeMultiplierSmallerThanOneExp`; LiteRT 2 was tried.
    """
    result = quantized_result(op)
    scales = [type_.scale for value in values if (type_ := quant(value)) is not None]
    bits = _SUMS_MOVED_UP.get(op.name)
    if result is None or not scales or bits is None:
        return
    with np.errstate(over="ignore"):
        coarsest = np.float32(2) * np.float32(max(scales))
        moved = np.float32(result.scale) * np.float32(2.0 ** bits[result.storage.width > 8])
        coarsest = coarsest * coarsest if op.name == "top.SquaredDifference" else coarsest
    factor = float(coarsest) / float(moved) if np.isfinite(coarsest) else math.inf
    if not 0.0 < factor < 1.0 and not (op.name == "top.Sub" and 1.0 < factor < math.inf):
        raise Unsupported(
            f"its operands have a step of {max(scales):g} beside {result.scale:g} of its result: LiteRT takes no such scales",
            left_float(op))


def left_float(op: Op) -> str:
    """How to have an op compute in floats that is in a quantized model: the option, to be typed as it is."""
    return f"`--floats {quoted(op.origin or 'NAME')}` keeps the op in floats, where it is quantized here"


def need_quantized_alike(op: Op, *values: Value | None) -> None:
    """Refuse an op of which some operands or the result are quantized and others are not."""
    kinds = {quant(value) is not None for value in (*values, op.results[0]) if value is not None}
    if len(kinds) > 1:
        raise Unsupported("some of its operands and its result are quantized and some are not", "quantize all of them, or none")


# --- activations

_FUSED = {-1.0: "RELU", 6.0: "RELU6"}


def fused(op: Op) -> str:
    """The activation that an op with the attributes do_relu and relu_limit has, as an option of an operator; NONE of others."""
    if not op.attribute("do_relu", False):
        return "NONE"
    limit = float(op.attribute("relu_limit", -1.0))
    return _FUSED.get(limit if limit >= 0 else -1.0, "RELU")


def activated(op: Op, rw: Rewriter, value: Value) -> Value:
    """`value`, to which `fused` was applied, with what that leaves of the op's activation: a limit other than 6."""
    limit = float(op.attribute("relu_limit", -1.0))
    if not op.attribute("do_relu", False) or limit < 0 or limit == 6.0:
        return value
    if value.is_integer:
        return between(rw, value, -math.inf, limit)
    return emit(rw, "minimum", value, real(rw, limit, value), like=value)


def activated_wholly(op: Op, rw: Rewriter, value: Value) -> Value:
    """`value` after the op's activation, of which no operator has taken any; of plain integers, too."""
    if not op.attribute("do_relu", False):
        return value
    if value.is_integer:
        limit = float(op.attribute("relu_limit", -1.0))
        return between(rw, value, 0.0, limit if limit >= 0 else math.inf)
    return activated(op, rw, emit(rw, "relu6" if fused(op) == "RELU6" else "relu", value, like=value))


def between(rw: Rewriter, value: Value, low: float, high: float) -> Value:
    """Plain integers kept between numbers, cut off to integers, by MAXIMUM and MINIMUM; by one of them, or none, where their type
    has nothing beyond."""
    element = value.element
    least, most = element.range  # type: ignore[attr-defined]
    made, held = value, compared_in(element)
    for name, limit, may_cut in (("maximum", low, low > least), ("minimum", high, high < most)):
        if may_cut:
            made = widened(rw, made, held)
            number = int(min(max(limit, least), most))
            made = emit(rw, name, made, constant(rw, np.asarray(number, dtype_of(held)), held), like=made)
    return widened(rw, made, element)


def compared_in(element: Type) -> Type:
    """The type of whose numbers LiteRT has MAXIMUM and MINIMUM where it has none of `element`: it casts i4 to f32 alone."""
    return {UI16: I32, UI32: I64, I4: F32}.get(element, element)  # type: ignore[call-overload]


def is_narrow(value: Value) -> bool:
    """Whether a value is of plain integers of less than 32 bits: most kernels of LiteRT take these for quantized, of scale 0."""
    element = value.element_or_none
    return isinstance(element, IntegerType) and element.width < 32 and element != BOOL


def wider(element: Type) -> IntegerType | None:
    """The type that integers are computed in, and cast back from, of which LiteRT's arithmetic has no kernels; it wraps round."""
    if not isinstance(element, IntegerType) or element == BOOL:
        return None
    return I32 if element.width < 32 else I64 if element == UI32 else None


def widened(rw: Rewriter, value: Value, element: Type) -> Value:
    """Numbers in another type; themselves where it is theirs."""
    return value if value.element == element else emit(rw, "cast", value, like=value, element=element)


def int32(rw: Rewriter, value: Value) -> Value:
    """Integers as int32, as LiteRT wants indices; of quantized numbers the stored ones: CAST looks at no scale."""
    return widened(rw, value, I32)

"""Quantization: QuantizeLinear, DequantizeLinear, and operators on quantized tensors (QLinearConv, ...).

A pair of scale and zero point that are constants becomes a quantized type: QuantizeLinear is a cast to
it, DequantizeLinear one from it, and an operator with such pairs is the hub's op on values of such types.
Scales in blocks, too. What no quantized type can say (scales computed at run time, 8-bit floats) becomes arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, UI8, FloatType, IntegerType, Module, Op, QuantType, TensorType, Type, Value, dtype_of
from transload.ir.build import constant_of
from transload.ir.quantization import block_size_for, quantized_over
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.simplify.qdq import kept

from ..types import element_of
from .arithmetic import to_float8
from .convolution import conv_attributes
from .table import OnnxTable, as_integers, attr, axis_of, cast, flag, need, operand, reshape, scalar_like, shape_of

__all__ = ["TABLE", "adopt_quantized_arguments", "bias_of", "drop_opset", "quantized_conv", "quantized_operand", "quantized_type"]

TABLE = OnnxTable()

STORAGE_WIDTHS = (2, 4, 8, 16, 32)
_IN_REALS = "write the operator on floats, between DequantizeLinear and QuantizeLinear, which take any finite scales"


# --- scales and zero points


def quantized_type(
    rw: Rewriter, storage: Type, scale: Value, zero: Value | None, axis: int, rank: int, expressed: Type = F32,
) -> QuantType | None:
    """The quantized type of a scale and a zero point; None where they are not constant or no such type says it.

    None for scales that are not positive, too: those are what numbers are multiplied by, and no step of a grid.
    """
    if not isinstance(storage, IntegerType) or storage.width not in STORAGE_WIDTHS:
        return None
    scales = rw.constant_of(scale)
    zeros = np.zeros(1, np.int64) if zero is None else rw.constant_of(zero)
    if scales is None or zeros is None:
        return None
    if not scale.is_float:
        raise Unsupported(f"has a scale of {scale.element}, and takes floats")
    scales, zeros = np.asarray(scales), np.asarray(zeros)
    count = max(scales.size, zeros.size)
    if count > 1 and (max(scales.ndim, zeros.ndim) != 1 or not -rank <= axis < rank):
        return None
    if not scales.size or not {scales.size, zeros.size} <= {1, count}:
        raise Unsupported(f"has {scales.size} scales and {zeros.size} zero points")
    values = tuple(np.broadcast_to(scales.reshape(-1), count).tolist())
    _need_finite(scales)
    if min(values, default=1.0) <= 0:
        return None
    points = tuple(int(z) for z in zeros.reshape(-1))
    return QuantType(storage, expressed, values, points, axis_of(axis, rank) if count > 1 else None)


def block_type(
    rw: Rewriter, storage: Type, scale: Value, zero: Value | None, axis: int, block: int, shape: Sequence[int], expressed: Type,
) -> QuantType | None:
    """The quantized type of a scale and a zero point for each block of `block` places along a dimension.

    The last block may be shorter. None where they are not constant, not integers, or scales are not positive.
    """
    if not isinstance(storage, IntegerType) or storage.width not in STORAGE_WIDTHS:
        return None
    scales = rw.constant_of(scale)
    zeros = None if scales is None else tables.zeros(scales.shape, np.int64) if zero is None else rw.constant_of(zero)
    if scales is None or zeros is None or (zeros.dtype.kind not in "iu" and zero is not None and zero.is_float):
        return None
    scales = np.asarray(scales)
    _need_finite(scales)
    if (scales <= 0).any():
        return None
    return blocked(storage, scales, np.asarray(zeros), axis_of(axis, len(shape)), block, shape, expressed)


def blocked(
    storage: IntegerType, scales: np.ndarray, zeros: np.ndarray, axis: int, block: int, shape: Sequence[int], expressed: Type,
) -> QuantType:
    """The type of a tensor with scales and zero points of its rank, one for `block` places along a dimension, the last fewer.

    The scales are positive; `mirrored` makes others so.
    """
    wanted = tuple(-(-size // block) if dim == axis else size for dim, size in enumerate(shape))
    if scales.shape != wanted or zeros.shape != wanted:
        raise Unsupported(
            f"scales {list(scales.shape)} and zero points {list(zeros.shape)} in blocks of {block} do not fit a tensor of shape "
            f"{list(shape)}")
    size = block_size_for(shape[axis], block)
    place = tables.arange(0, shape[axis], size) // block  # a block that does not fill the dimension is several smaller ones
    sizes = [size if dim == axis else 1 for dim in range(len(shape))]
    return quantized_over(
        QuantType(storage, expressed, (1.0,), (0,)), scales.astype(np.float64).take(place, axis),
        zeros.astype(np.int64).take(place, axis), sizes)


def _need_finite(scales: np.ndarray) -> None:
    """Refuse scales of which one is infinite or NaN."""
    wrong = scales[~np.isfinite(scales)]
    if wrong.size:
        hint = "a mask of -inf makes such scales" if np.isinf(wrong[0]) else "something that was calibrated was NaN"
        hint = f"quantize it again, calibrated over finite values: {hint}"
        raise Unsupported(f"has a scale of {float(wrong[0])}; scales must be finite", hint)


def mirrored(
    stored: np.ndarray, scales: np.ndarray, zeros: np.ndarray, storage: IntegerType, spread: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integers, scales and zero points that stand for the same `(stored - zero) * scale`, to the bit, with positive scales.

    A negative scale is no grid's step, but is what a product has: onnxruntime's quantizer of few bits gives the number of the
    largest magnitude the integer of the largest, which is the least one, and half of its scales are negative. There the
    integers are mirrored about the zero point; if one of them has no place then, all are mirrored about the middle of the
    type, zero points with them. All numbers of a scale of 0 are its zero point, and the scale is 1.
    `spread` makes scales and zero points broadcast to the integers. Raises Unsupported for scales that are not finite.
    """
    _need_finite(scales)
    if (scales > 0).all():
        return stored, scales, zeros
    low, high = storage.range
    exact = np.int32 if storage.width < 32 else np.int64
    numbers, points = stored.astype(exact), zeros.astype(exact)
    turned = scales < 0
    twice = np.where(turned, 2 * points, 0)
    if not _within(np.where(spread(turned), spread(twice) - numbers, low), low, high):
        twice = np.where(turned, low + high, 0)
        points = np.where(turned, low + high - points, points)
    numbers = np.where(spread(turned), spread(twice) - numbers, numbers)
    numbers = np.where(spread(scales == 0), spread(points), numbers)
    steps = np.where(scales == 0, np.ones_like(scales), np.abs(scales))
    return numbers.astype(dtype_of(storage)), steps, points


def _within(numbers: np.ndarray, low: int, high: int) -> bool:
    return bool(numbers.min(initial=low) >= low and numbers.max(initial=high) <= high)


def over_blocks(axis: int, block: int, size: int) -> Callable[[np.ndarray], np.ndarray]:
    """What gives each of the `size` places of a dimension the number of its block."""
    places = tables.arange(0, size) // block
    return lambda grid: grid.take(places, axis)


def _with_positive_scales(rw: Rewriter, op: Op, storage: Type, axis: int) -> tuple[Value, Value, Value | None]:
    """What a DequantizeLinear reads, scales and zero points; those of a constant with other scales `mirrored`."""
    value, scale, zero, block, shape = need(op, 0), need(op, 1), operand(op, 2), attr(op, "block_size", 0), shape_of(need(op, 0))
    stored, scales = rw.constant_of(value), rw.constant_of(scale)
    zeros = None if zero is None else rw.constant_of(zero)
    as_they_are = value, scale, zero
    if stored is None or scales is None or (zero is not None and (zeros is None or zero.is_float)):
        return as_they_are
    if not isinstance(storage, IntegerType) or storage.width not in STORAGE_WIDTHS or bool((np.asarray(scales) > 0).all()):
        return as_they_are
    place = axis_of(axis, len(shape)) if block or scales.size > 1 else 0
    fitting = scales.shape == tuple(-(-n // block) if i == place else n for i, n in enumerate(shape)) if block else (
        scales.size == 1 or scales.shape == (shape[place],))
    if not fitting or (zeros is not None and zeros.size != 1 and zeros.shape != scales.shape):
        return as_they_are  # and is refused for that
    points = np.broadcast_to(0 if zeros is None else zeros if zeros.size > 1 else zeros.reshape(()), scales.shape)
    spread = over_blocks(place, block, shape[place]) if block else _over_axis(place, len(shape))
    numbers, steps, points = mirrored(np.asarray(stored), np.asarray(scales), points, storage, spread)
    kind = storage if zero is None else zero.element
    return (rw.constant(numbers, element=value.element), rw.constant(steps, element=scale.element),
            rw.constant(points.astype(dtype_of(kind)), element=kind))


def _over_axis(axis: int, rank: int) -> Callable[[np.ndarray], np.ndarray]:
    """What makes one number, or one for each place of a dimension, broadcast to a tensor of a rank."""
    return lambda held: held.reshape([-1 if i == axis else 1 for i in range(rank)]) if held.size > 1 else held.reshape(())


def _kind_of_linear(
    op: Op, rw: Rewriter, parts: tuple[Value, Value, Value | None], storage: Type, axis: int, expressed: Type,
) -> QuantType | None:
    """The quantized type that a QuantizeLinear makes, or a DequantizeLinear reads, of a value, scales and zero points."""
    value, scale, zero = parts
    block, shape = attr(op, "block_size", 0), shape_of(value)
    if not block:
        kind = quantized_type(rw, storage, scale, zero, axis, len(shape), expressed)
        if kind is not None and kind.axis is not None and shape[kind.axis] not in (None, len(kind.scales)):
            raise Unsupported(f"has {len(kind.scales)} scales for the {shape[kind.axis]} places along dimension {kind.axis}")
        return kind
    if block < 0 or None in shape or 0 in shape:
        return None
    return block_type(rw, storage, scale, zero, axis, block, shape, expressed)


def _integers_of(value: Value) -> Type:
    """The integer type in which a value is stored."""
    element = value.element
    return element.storage if isinstance(element, QuantType) else element


def quantized_operand(rw: Rewriter, value: Value, scale: Value, zero: Value | None, axis: int = 0) -> Value:
    """The integers `value` with scale and zero point as a value of a quantized type."""
    kind = quantized_type(rw, _integers_of(value), scale, zero, axis, len(shape_of(value)))
    if kind is None:
        raise Unsupported("its scales and zero points must be constants, one or one per channel, and scales positive", _IN_REALS)
    return _as_quantized(rw, value, kind)


def _as_quantized(rw: Rewriter, value: Value, kind: QuantType) -> Value:
    if value.element == kind:
        return value
    if value.element == kind.storage:
        dense = constant_of(value)
        if dense is not None:
            return rw.constant(dense, element=kind)
    # Integers that come from elsewhere: their real values, quantized again; that is exact.
    integers = as_integers(rw, value)
    if not kind.per_tensor:
        raise Unsupported("a computed tensor is quantized per axis")
    real = _real(rw, integers, scalar_like_f32(rw, kind.scale), kind.zero_point)
    return rw.emit("top.Cast", real, element=kind, round_mode="HalfToEven")


def scalar_like_f32(rw: Rewriter, number: float) -> Value:
    """A constant f32 of rank 0."""
    return rw.constant(np.array(number, np.float32))


def _real(rw: Rewriter, integers: Value, scale: Value, zero_point: int) -> Value:
    centered = cast(rw, integers, F32)
    if zero_point:
        centered = rw.emit("top.AddConst", centered, const_val=-float(zero_point))
    return rw.emit("top.Mul", centered, scale)


# --- arguments that are quantized from the start

_TRIPLES: dict[str, tuple[tuple[int, int, int], ...]] = {
    "onnx.DequantizeLinear": ((0, 1, 2),), "onnx.com.microsoft.DequantizeLinear": ((0, 1, 2),),
    "onnx.QLinearConv": ((0, 1, 2),), "onnx.com.microsoft.QLinearConv": ((0, 1, 2),),
    "onnx.QLinearMatMul": ((0, 1, 2), (3, 4, 5)),
    "onnx.com.microsoft.QLinearAdd": ((0, 1, 2), (3, 4, 5)), "onnx.com.microsoft.QLinearMul": ((0, 1, 2), (3, 4, 5)),
    "onnx.com.microsoft.QGemm": ((0, 1, 2),),
    "onnx.com.microsoft.QLinearAveragePool": ((0, 1, 2),), "onnx.com.microsoft.QLinearGlobalAveragePool": ((0, 1, 2),),
}
"""Where an operator has (tensor, scale, zero point) among its operands."""


def adopt_quantized_arguments(module: Module) -> bool:
    """Give integer inputs of the model that are only used as quantized numbers, always of one kind, that type."""
    changed = False
    for argument in [argument for function in module.functions.values() for argument in function.regions[0].block.arguments]:
        type_ = argument.type
        element = type_.element if isinstance(type_, TensorType) else None
        if not isinstance(element, IntegerType) or element.width not in (8, 16) or not argument.uses:
            continue
        kinds = {_kind_at(user, argument, element) for user in argument.uses}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is not None:
            argument.type = type_.with_element(kind)  # type: ignore[attr-defined]
            changed = True
    return changed


def drop_opset(module: Module) -> bool:
    """Forget the number of the opset, which only ONNX's operators need."""
    return module.attributes.pop("onnx.opset", None) is not None


def _kind_at(user: Op, argument: Value, element: IntegerType) -> QuantType | None:
    """The quantized type, per tensor, by which an op reads an argument; None where it reads it otherwise."""
    kinds = []
    for x, scale, zero in _TRIPLES.get(user.name, ()):
        if operand(user, x) is not argument:
            continue
        scales = constant_of(operand(user, scale))
        points = constant_of(operand(user, zero)) if operand(user, zero) is not None else None
        if scales is None or scales.data.numpy().size != 1 or (operand(user, zero) is not None and points is None):
            return None
        point = 0 if points is None else int(points.numpy().reshape(-1)[0])
        step = float(scales.numpy().reshape(-1)[0])
        if not 0 < step < math.inf:
            return None
        kinds.append(QuantType(element, scales.type.element, (step,), (point,)))
    if len(kinds) != user.operands.count(argument) or len(set(kinds)) != 1:
        return None
    return kinds[0]


# --- QuantizeLinear, DequantizeLinear


@TABLE("onnx.QuantizeLinear", "onnx.com.microsoft.QuantizeLinear")
def quantize_linear(op: Op, rw: Rewriter) -> Value:
    """QuantizeLinear: a cast to a quantized type, halves to the even number."""
    value, scale, zero = need(op, 0), need(op, 1), operand(op, 2)
    storage: Type | None = zero.element if zero is not None else None
    if storage is None:
        storage = element_of(attr(op, "output_dtype", 0)) or UI8
    real = value if value.is_float else cast(rw, value, F32)
    axis = attr(op, "axis", 1)
    kind = _kind_of_linear(op, rw, (value, scale, zero), storage, axis, real.element)
    if kind is not None:
        return rw.emit("top.Cast", real, element=kind, round_mode="HalfToEven")
    # onnxruntime divides in f32; f16 does not hold zero points of 16 bits, either.
    steps = rw.emit("top.Div", cast(rw, real, F32), cast(rw, _along(rw, op, scale, real, axis), F32))
    if isinstance(storage, FloatType):
        return to_float8(rw, steps, storage, flag(op, "saturate", 1))
    steps = rw.emit("top.Round", steps)
    if zero is not None:
        steps = rw.emit("top.Add", steps, cast(rw, _along(rw, op, zero, real, axis), F32))
    return rw.emit("top.Cast", steps, element=storage, round_mode="HalfToEven", saturate=True)


@TABLE("onnx.DequantizeLinear", "onnx.com.microsoft.DequantizeLinear", stored="native")
def dequantize_linear(op: Op, rw: Rewriter) -> Value:
    """DequantizeLinear: a cast from a quantized type. That of a weight is kept, for what uses it to take the integers."""
    element = element_of(attr(op, "output_dtype", 0)) or need(op, 1).element
    axis = attr(op, "axis", 1)
    storage = _integers_of(need(op, 0))
    value, scale, zero = _with_positive_scales(rw, op, storage, axis)
    kind = _kind_of_linear(op, rw, (value, scale, zero), storage, axis, element)
    dense = constant_of(value)
    if kind is not None and (dense is not None or _same(value.element, kind)):
        stored = value if dense is None else rw.constant(dense, element=kind)
        in_blocks = dense is not None and kind.blocks is not None
        return kept(rw, "top.Cast", stored, element=element, stored=in_blocks or None)
    integers = as_integers(rw, value)
    centered = cast(rw, integers, F32)
    if zero is not None and not isinstance(zero.element, FloatType):
        centered = rw.emit("top.Sub", centered, cast(rw, _along(rw, op, zero, integers, axis), F32))
    return cast(rw, rw.emit("top.Mul", centered, cast(rw, _along(rw, op, scale, integers, axis), F32)), element)


def _same(a: Type, b: QuantType) -> bool:
    """Whether two types are quantized types that differ at most in the float they stand for."""
    return isinstance(a, QuantType) and a == b.replace(expressed=a.expressed)


def _along(rw: Rewriter, op: Op, part: Value, value: Value, axis: int) -> Value:
    """A scale or zero point in a shape that broadcasts to `value`: one number, one along an axis, or one per block."""
    shape, held = shape_of(value), shape_of(part)
    block = attr(op, "block_size", 0)
    if block:
        place = axis_of(axis, len(shape))
        if len(held) != len(shape) or -(-shape[place] // block) != held[place]:
            raise Unsupported(f"scales {held} in blocks of {block} do not fit a tensor of shape {shape}")
        wide = rw.emit("top.Unsqueeze", part, axes=(place + 1,))
        wide = rw.emit("top.Tile", wide, tile=tuple(block if i == place + 1 else 1 for i in range(len(shape) + 1)))
        wide = reshape(rw, wide, (*held[:place], held[place] * block, *held[place + 1 :]))
        from .movement import slice_along

        return slice_along(rw, wide, place, 0, shape[place])
    if len(held) == 1 and held[0] > 1:
        place = axis_of(axis, len(shape))
        return reshape(rw, part, tuple(held[0] if i == place else 1 for i in range(len(shape))))
    return reshape(rw, part, ()) if len(held) == 1 and len(shape) != 1 else part


@TABLE("onnx.DynamicQuantizeLinear")
def dynamic_quantize_linear(op: Op, rw: Rewriter) -> list[Value]:
    """DynamicQuantizeLinear: to unsigned bytes by the range of the values, zero included."""
    value = need(op, 0)
    axes = tuple(range(len(shape_of(value))))
    zero = scalar_like(rw, value, 0.0)
    high = rw.emit("top.Max", rw.emit("top.Reduce", value, axes=axes, keepdims=False, mode="ReduceMax"), zero)
    low = rw.emit("top.Min", rw.emit("top.Reduce", value, axes=axes, keepdims=False, mode="ReduceMin"), zero)
    spread = rw.emit("top.Sub", high, low)
    flat = rw.emit("top.Compare", spread, zero, mode="Equal")
    scale = rw.emit("top.Where", flat, scalar_like(rw, value, 1.0), rw.emit("top.Div", spread, scalar_like(rw, value, 255.0)))
    point = rw.emit("top.Round", rw.emit("top.Clip", rw.emit("top.Neg", rw.emit("top.Div", low, scale)), min=0.0, max=255.0))
    steps = rw.emit("top.Add", rw.emit("top.Round", rw.emit("top.Div", value, scale)), point)
    stored = rw.emit("top.Cast", rw.emit("top.Clip", steps, min=0.0, max=255.0), element=UI8)
    return [stored, scale, cast(rw, point, UI8)][: len(op.results)]


# --- operators on quantized tensors


def _operand(op: Op, rw: Rewriter, index: int, axis: int = 0) -> Value:
    """The quantized operand whose scale and zero point follow it."""
    return quantized_operand(rw, need(op, index), need(op, index + 1), operand(op, index + 2), axis)


def kind_of(value: Value) -> QuantType:
    """The quantized type of a value that has one."""
    element = value.element
    if not isinstance(element, QuantType):
        raise Unsupported(f"works on {value.type}, and needs a quantized tensor")
    return element


def result_type(op: Op, rw: Rewriter, scale: int, storage: Type) -> QuantType:
    """The quantized type of the result, whose scale is operand number `scale` and whose zero point follows."""
    zero = operand(op, scale + 1)
    kind = quantized_type(rw, storage if zero is None else zero.element, need(op, scale), zero, 0, 0)
    if kind is None:
        raise Unsupported("the scale and zero point of its result must be constants, and the scale positive", _IN_REALS)
    return kind


def bias_of(rw: Rewriter, bias: Value | None, value: QuantType, weights: QuantType) -> Value | None:
    """An i32 bias, whose scale is the product of the input's and the weights', as a value of that quantized type."""
    if bias is None:
        return None
    scales = tuple(value.scale * scale for scale in weights.scales)
    kind = QuantType(I32, F32, scales, (0,), 0 if len(scales) > 1 else None)
    integers = cast(rw, as_integers(rw, bias), I32)
    dense = constant_of(integers)
    if dense is None:
        raise Unsupported("its bias must be a constant")
    return rw.constant(dense, element=kind)


@TABLE("onnx.QLinearConv", stored="native")
def qlinear_conv(op: Op, rw: Rewriter) -> Value:
    """QLinearConv: a convolution of quantized tensors, weights per tensor or per output channel."""
    return quantized_conv(op, rw, _operand(op, rw, 0))


def quantized_conv(op: Op, rw: Rewriter, value: Value) -> Value:
    """What QLinearConv computes of its input `value`, whose channels are second."""
    weights = _operand(op, rw, 3)
    if not kind_of(value).per_tensor:
        raise Unsupported("its input is quantized per channel")
    kind = result_type(op, rw, 6, kind_of(value).storage)
    bias = bias_of(rw, operand(op, 8), kind_of(value), kind_of(weights))
    return rw.emit("top.Conv", value, weights, bias, element=kind, rounding="float32", **conv_attributes(op, value, weights))


@TABLE("onnx.QLinearMatMul", stored="native")
def qlinear_matmul(op: Op, rw: Rewriter) -> Value:
    """QLinearMatMul; with a scale per row or column of anything but constant weights, in reals."""
    a, b = need(op, 0), need(op, 3)
    left = quantized_type(rw, _integers_of(a), need(op, 1), operand(op, 2), -2, len(shape_of(a)))
    right = quantized_type(rw, _integers_of(b), need(op, 4), operand(op, 5), -1, len(shape_of(b)))
    if left is None or right is None:
        raise Unsupported(
            "its scales and zero points must be constants, one or one per row or column, and scales positive", _IN_REALS)
    kind = result_type(op, rw, 6, left.storage)
    if left.per_tensor and (right.per_tensor or constant_of(b) is not None):
        return rw.emit("top.MatMul", _as_quantized(rw, a, left), _as_quantized(rw, b, right), element=kind, rounding="float32")
    reals = [_dequantized(rw, value, kind_) for value, kind_ in ((a, left), (b, right))]
    return rw.emit("top.Cast", rw.emit("top.MatMul", *reals), element=kind, round_mode="HalfToEven")


def _dequantized(rw: Rewriter, value: Value, kind: QuantType) -> Value:
    """The real values of integers, by arithmetic that also knows scales per axis."""
    shape = [1] * len(shape_of(value))
    if kind.axis is not None:
        shape[kind.axis] = len(kind.scales)
    points = rw.constant(np.array(kind.zero_points, np.float32).reshape(shape if not kind.per_tensor else ()))
    scales = rw.constant(np.array(kind.scales, np.float32).reshape(shape if not kind.per_tensor else ()))
    return rw.emit("top.Mul", rw.emit("top.Sub", cast(rw, as_integers(rw, value), F32), points), scales)

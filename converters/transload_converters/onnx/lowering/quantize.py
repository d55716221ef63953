"""Casts: between plain types, and from and to quantized ones, by QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.quantized import dequantize
from transload.ir import BF16, BOOL, F16, F32, F64, I8, UI8, Dense, FloatType, IntegerType, LazyData, QuantType, Value, dtype_of
from transload.ir.build import Builder
from transload.ir.quantization import quantized_over
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub.build import quantized_as_stored
from transload_hub.ops.cast import OF_STORED
from transload_hub.simplify.weights import blocks_apart, reshaped_data

from ..types import element_code
from .common import cast, clipped, constant, emit, ints, scalar

if TYPE_CHECKING:
    from transload_hub.ops.cast import Bitcast, Cast

__all__ = ["TABLE"]

TABLE = RewriteTable()

STORED = (4, 8, 16, 32)
"""Bits of the integers that DequantizeLinear takes; QuantizeLinear gives those of at most 16."""
ROUNDS_ACTIVATIONS = (
    "onnxruntime's optimizer rounds what is multiplied by these weights to 8 bits (MatMulNBits): with the session option "
    "session.qdq_matmulnbits_accuracy_level of \"1\", or with basic optimizations, it computes what the model says")
"""Of products with weights in groups; source: onnxruntime, DQMatMulToMatMulNBitsAction, accuracy_level 4 where none is set."""


@TABLE("top.Cast")
def cast_(op: Cast, rw: Rewriter) -> Value:
    """Cast, QuantizeLinear, DequantizeLinear, or both of these."""
    source, target = op.input.quant, op.result.quant
    if source is not None and source.blocks is not None and any(user.name == "top.MatMul" for user in op.result.uses):
        rw.note(ROUNDS_ACTIVATIONS)
    x = op.input if source is None else _dequantized(rw, op.input, source)
    if target is not None and op.round_mode in OF_STORED:
        return quantized_as_stored(rw, x, target, op.round_mode)
    if target is not None:
        return _quantized(rw, x if x.is_float else cast(rw, x, target.expressed), target)
    return _plain(rw, op, x)


def _plain(rw: Rewriter, op: Cast, x: Value) -> Value:
    """Cast of numbers as they are; a float becomes an integer without its fraction unless the op says how it is rounded."""
    element = op.result.element
    if x.is_float and isinstance(element, IntegerType) and element != BOOL:
        if op.round_mode == "HalfToEven":
            x = emit(rw, "Round", x)
        elif op.round_mode == "HalfAwayFromZero":
            moved = emit(rw, "Floor", emit(rw, "Add", emit(rw, "Abs", x), scalar(rw, 0.5, x.element)))
            x = emit(rw, "Mul", emit(rw, "Sign", x), moved)
    if op.saturate and isinstance(element, IntegerType) and element != BOOL:
        low, high = element.range
        if x.is_float:  # the greatest float that is not beyond the type's end
            high = int(np.nextafter(dtype_of(x.element).type(high), 0)) if float(dtype_of(x.element).type(high)) > high else high
        x = clipped(rw, x, low, high)
    code = element_code(element)
    if code is not None and isinstance(element, FloatType) and dtype_of(element).itemsize == 1:
        return emit(rw, "Cast", x, element=element, to=code, saturate=int(op.saturate))
    return cast(rw, x, element)


@TABLE("top.Bitcast")
def bitcast(op: Bitcast, rw: Rewriter) -> Value:
    """Nothing where values of both types are of one storage type; a Cast between integers, which keeps their bits."""
    before, after = op.input.stored_element, op.result.stored_element
    if before != after and isinstance(before, IntegerType) and isinstance(after, IntegerType) and op.input.quant is None:
        return cast(rw, op.input, op.result.element)
    if before != after:
        raise Unsupported(f"ONNX cannot read the bits of {op.input.element} as {op.result.element} before opset 26")
    return emit(rw, "Identity", op.input, like=op.result)


def _dequantized(rw: Rewriter, x: Value, quant: QuantType) -> Value:
    """DequantizeLinear; constants of integers that it does not take become floats here."""
    owner = x.op
    if owner is not None and owner.name == "onnx.Constant" and quant.storage == I8 and rw.options.get("weights") == "unsigned":
        x, quant = _unsigned(rw, owner.attributes["value"], quant)
    elif owner is not None and owner.name == "onnx.Constant" and quant.storage.width not in STORED:
        dense, dtype = owner.attributes["value"], dtype_of(quant.expressed)
        return rw.constant(
            LazyData(lambda: dequantize(dense.numpy(), quant, dtype), dense.shape, dtype), quant.expressed, dialect="onnx")
    if owner is not None and owner.name == "onnx.Constant" and quant.blocks is not None and len(_longer(x, quant)) > 1:
        return _in_rows(rw, owner.attributes["value"], quant)
    return emit(rw, "DequantizeLinear", x, *_scales(rw, x, quant), element=quant.expressed, **_places(x, quant))


def _in_rows(rw: Rewriter, numbers: Dense, quant: QuantType) -> Value:
    """Constants in blocks along several dimensions: in a shape in which they lie along one, and then in their own.

    Where they do so in none, scales are repeated along all dimensions of places but the longest.
    """
    shape = numbers.shape
    split, grid = blocks_apart(quant, shape)
    inside = max((axis for axis, count in enumerate(grid) if count == 1), key=split.__getitem__)
    outer = tuple(1 if axis == inside else size for axis, size in enumerate(split))
    scales, points = (np.broadcast_to(np.reshape(values, grid), outer) for values in (quant.scale_array, quant.zero_points))
    kind = quantized_over(quant, scales, points, [size if axis == inside else 1 for axis, size in enumerate(split)])
    held = rw.constant(reshaped_data(numbers, split), kind, dialect="onnx")
    real = emit(rw, "DequantizeLinear", held, *_scales(rw, held, kind), element=kind.expressed, **_places(held, kind))
    return emit(rw, "Reshape", real, ints(rw, shape), shape=shape)


def _unsigned(rw: Rewriter, numbers: Dense, quant: QuantType) -> tuple[Value, QuantType]:
    """Constants of i8 as those of u8 that stand for the same numbers.

    onnxruntime's kernels for x86 add pairs of products of u8 by i8 in 16 bits, where they saturate, unless the processor has
    VNNI; those of u8 by u8 do not. Source: onnxruntime, "Quantize ONNX models", on U8S8 and saturation.
    """
    if rw.options.get("form") == "qoperator":
        raise Unsupported(
            "onnxruntime's operators on integers take unsigned weights beside unsigned activations alone",
            "--option form=qdq, or leave out weights=unsigned")
    shift = -I8.range[0]
    kind = quant.replace(
        storage=UI8, zero_points=tuple(point + shift for point in quant.zero_points),
        storage_min=quant.storage_min + shift, storage_max=quant.storage_max + shift)
    moved = LazyData(lambda: (numbers.numpy().astype(np.int16) + shift).astype(np.uint8), numbers.shape, np.dtype(np.uint8))
    return rw.constant(moved, kind, dialect="onnx"), kind


def _quantized(rw: Rewriter, x: Value, quant: QuantType) -> Value:
    """QuantizeLinear, before it Clip where the stored numbers are not all that their type has."""
    low, high = quant.storage.range
    if (quant.storage_min, quant.storage_max) != (low, high):
        x = _narrowed(rw, x, quant)
    if quant.storage.width > 16:
        return _quantized_wide(rw, x, quant)
    if x.element in (F16, BF16) and quant.expressed == F32:  # in which the scale would be another
        x = cast(rw, x, F32)
    scales = [cast(rw, each, x.element) if each.is_float else each for each in _scales(rw, x, quant)]
    return emit(rw, "QuantizeLinear", x, *scales, element=quant, **_places(x, quant))


def _quantized_wide(rw: Rewriter, x: Value, quant: QuantType) -> Value:
    """Integers of more than 16 bits, which QuantizeLinear does not give: divided, rounded and cast, in f64."""
    if not quant.per_tensor or quant.storage.width > 32:
        raise Unsupported(f"ONNX quantizes to integers of at most 32 bits with one scale, not {quant}")
    steps = emit(rw, "Round", emit(rw, "Div", cast(rw, x, F64), scalar(rw, quant.scale, F64)))
    if quant.zero_point:
        steps = emit(rw, "Add", steps, scalar(rw, quant.zero_point, F64))
    return emit(rw, "Cast", clipped(rw, steps, quant.storage_min, quant.storage_max), element=quant,
                to=element_code(quant.storage))


def _narrowed(rw: Rewriter, x: Value, quant: QuantType) -> Value:
    if not quant.per_tensor:
        raise Unsupported("ONNX cannot quantize to a part of a type's range by channels")
    low, high = (quant.scale * (end - quant.zero_point) for end in (quant.storage_min, quant.storage_max))
    return clipped(rw, x, low, high)


def _scales(rw: Builder, x: Value, quant: QuantType) -> list[Value]:
    """The operands for scales and zero points; int32 has none of these but zero, which it leaves out."""
    if element_code(quant.storage) is None:
        raise Unsupported(f"ONNX has no element type {quant.storage}")
    shape = quant.blocks.grid if quant.blocks is not None else () if quant.per_tensor else (len(quant.scales),)
    scales = constant(rw, np.reshape(quant.scales, shape), F32 if quant.expressed == F32 else quant.expressed)
    if quant.storage.width > 16:
        return [scales]
    return [scales, constant(rw, np.reshape(quant.zero_points, shape), quant.storage)]


def _places(x: Value, quant: QuantType) -> dict[str, Any]:
    """The attributes that say which scale is whose: by an axis, or by blocks along an axis (opset 21)."""
    if quant.blocks is None:
        return {} if quant.axis is None else {"axis": quant.axis}
    longer = _longer(x, quant) or [len(quant.blocks.sizes) - 1]  # each number has its own: blocks of one along any dimension
    if len(longer) != 1:
        raise Unsupported(
            f"ONNX has scales for blocks along one dimension, not of {list(quant.blocks.sizes)}",
            "--passes dequantize-weights makes such weights floats")
    size = quant.blocks.sizes[longer[0]]
    return {"axis": longer[0], "block_size": size if size is not None else x.static_shape[longer[0]]}


def _longer(x: Value, quant: QuantType) -> list[int]:
    """The dimensions along which blocks have more than one index."""
    assert quant.blocks is not None
    return [axis for axis, size in enumerate(quant.blocks.sizes) if size != 1 and x.static_shape[axis] != 1]

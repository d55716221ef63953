"""Convolutions and matrix products (TPU-MLIR manual 6.3.1, 6.3.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I8, I32, I64, UI8, FloatType, Op, QuantType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.scales import product_factors

from .common import activation, chip_of, dtype_of_value, need, permute, quantized, reshape, static
from .scaling import per_channel

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv
    from transload_hub.ops.matmul import MatMul

__all__ = ["TABLE", "operands_of"]

TABLE = RewriteTable()


def _need_types(op: Op, x: Value, w: Value) -> QuantType | None:
    """The type of quantized weights, None of floats; `Unsupported` where the operands cannot be multiplied."""
    a, b, target = x.quant, w.quant, op.results[0].element
    if a is None and b is None:
        if not isinstance(x.element, FloatType) or x.element != w.element or not isinstance(target, FloatType):
            raise Unsupported(f"products of {x.element} and {w.element} have no meaning for a chip")
        return None
    if quantized(x) is None or b is None or b.blocks is not None or quantized(op.results[0]) is None:
        raise Unsupported(f"products of {x.element} and {w.element} to {target} are none of integers alone")
    if len(set(b.zero_points)) != 1:
        raise Unsupported("weights have a zero point for each channel", "quantize weights symmetrically")
    return b


def _weights(rw: Rewriter, operation: str, w: Value) -> Value:
    """Weights as the chip takes them: of four bits, where it has none, in eight."""
    if dtype_of_value(w) in ("int4", "uint4") and not chip_of(rw).supports(operation, "int4"):
        array = rw.need_constant(w, "weights of four bits")
        wide: Any = np.int8 if dtype_of_value(w) == "int4" else np.uint8
        element = w.quant
        assert element is not None  # integers of four bits are no floats, and are quantized
        return rw.constant(array.astype(wide), element=element.replace(storage=UI8 if element.storage.unsigned else I8))
    return w


def _bias(rw: Rewriter, bias: Value | None, x: Value, w: Value, channels: int) -> Value | None:
    """The bias in the numbers of the sum: as it is where it has the product of the scales, else quantized so."""
    if bias is None:
        return None
    a, b, held = x.quant, w.quant, bias.quant
    array = rw.constant_of(bias)
    if a is None or b is None:
        if array is None and bias.rank != 1:
            raise Unsupported("a bias that is computed has to be of rank 1")
        return bias if bias.rank == 1 and static(bias) == (channels,) else rw.constant(
            np.broadcast_to(array.reshape(-1), (channels,)).copy())
    scales = a.scale * b.scale_array
    fits = held is not None and held.count in (1, b.count) and not any(held.zero_points) and np.allclose(
        held.scale_array, scales, 1e-3, 0)
    if array is None:
        raise Unsupported("a bias of quantized sums must be a constant")
    if held is not None and not fits:
        array = (array.astype(np.float64) - np.asarray(held.zero_points)) * held.scale_array
    if array.dtype.kind != "i":
        array = np.rint(array.astype(np.float64) / scales)
    element = I32 if np.abs(array.astype(np.float64)).max(initial=0) < 1 << 31 else I64
    return rw.constant(np.broadcast_to(array.reshape(-1), (channels,)).astype(dtype_of(element)))


def operands_of(
    op: Op, rw: Rewriter, operation: str, x: Value, w: Value, channels: int,
) -> tuple[list[Value | None], dict[str, Any]]:
    """Weights, bias, multiplier and shift, and the attributes that quantized sums have."""
    need(rw, operation, x)
    kind = _need_types(op, x, w)
    held, bias = _weights(rw, operation, w), _bias(rw, op.operands[2] if len(op.operands) > 2 else None, x, w, channels)
    if kind is None:
        return [held, bias], activation(op)
    source, target = quantized(x), quantized(op.results[0])
    assert source is not None and target is not None  # `_need_types` has seen to it
    rounding = str(op.attribute("rounding", "double"))
    fully = operation == "matmul"
    unsigned = source.storage.unsigned
    factors = product_factors(
        source, kind, target, rounding=rounding, in_float32=(rounding != "exact") if fully else unsigned)
    multiplier, shift, way = per_channel(rw, chip_of(rw), factors.tolist(), rounding, _is_wide(op, source, bias))
    return [held, bias, multiplier, shift], {
        "input_zero": source.zero_point, "weight_zero": kind.zero_points[0], "output_zero": target.zero_point, "rounding": way,
        **activation(op)}


def _is_wide(op: Op, source: QuantType, bias: Value | None) -> bool:
    """Whether LiteRT takes sums of 64 bits, which it scales by 15: of int16 numbers without a bias of 32 bits."""
    if source.storage.width != 16:
        return False
    held = op.operands[2].quant if len(op.operands) > 2 and bias is not None else None
    if op.attribute("rounding", "double") != "double":
        raise Unsupported("sums of 16-bit numbers are scaled as LiteRT's kernels do, and this op rounds otherwise")
    return held is None or held.storage != I32


@TABLE("top.Conv")
def conv(op: Conv, rw: Rewriter) -> Value:
    if op.layout != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    spatial = len(op.kernel_shape)
    if spatial > 2 or min(op.pads) < 0:
        raise Unsupported("convolutions of three dimensions" if spatial > 2 else "padding that cuts off elements")
    w = op.filter
    if spatial == 2 and w.quant is not None and w.quant.axis not in (None, 0):
        raise Unsupported("weights have a scale for each input channel")
    channels = static(op.result)[1]
    operands, attributes = operands_of(op, rw, "conv2d", op.input, w, channels)
    geometry: dict[str, Any] = {"strides": op.strides, "dilations": op.dilations, "pads": op.pads, "groups": op.group}
    x, filters = op.input, operands[0]
    assert filters is not None
    if spatial == 1:
        x, filters = (_planar(rw, value) for value in (x, filters))
        geometry.update(strides=(1, *op.strides), dilations=(1, *op.dilations), pads=(0, op.pads[0], 0, op.pads[1]))
    made = rw.emit("tpu.conv2d", x, filters, *operands[1:], element=op.result.element, **geometry, **attributes)
    return reshape(rw, made, static(op.result))


def _planar(rw: Rewriter, value: Value) -> Value:
    """[N, C, W] as [N, C, 1, W]; a constant at once."""
    n, c, w = static(value)
    array = rw.constant_of(value)
    return reshape(rw, value, (n, c, 1, w)) if array is None else rw.constant(array.reshape(n, c, 1, w), element=value.element)


@TABLE("top.MatMul")
def matmul(op: MatMul, rw: Rewriter) -> Value:
    """Of a constant on the right, all rows at once; else stacks of matrices of equal size."""
    x, w = op.input, op.right
    shape = static(op.result)
    if x.rank == 0 or w.rank == 0:
        raise Unsupported("a number is no matrix")
    if op.left_transpose and x.rank > 1:
        x = permute(rw, x, (*range(x.rank - 2), x.rank - 1, x.rank - 2))
    array = rw.constant_of(w)
    if w.rank <= 2 and array is not None:
        w = _rows(op, rw, w, array)
        left = reshape(rw, x, (math.prod(static(x)[:-1]), static(x)[-1]))
        transposed = True
    else:
        left, w, transposed = _stacks(op, rw, x, w)
    columns = static(w)[-2 if transposed else -1]
    bias = op.bias
    if bias is not None and bias.tensor_type.num_elements not in (1, columns):
        raise Unsupported("a bias that is not one number a column")
    operands, attributes = operands_of(op, rw, "matmul", left, w, columns)
    made: Value = rw.emit("tpu.matmul", left, *operands, element=op.result.element, transposed=transposed, **attributes)
    return reshape(rw, made, shape)


def _rows(op: MatMul, rw: Rewriter, w: Value, array: Any) -> Value:
    """A constant right operand with a row for each column of the result, [N, K], as weights lie in the lanes."""
    type_ = w.quant
    if w.rank == 1:
        array = array.reshape(1, -1)
    elif not op.right_transpose:
        array = np.ascontiguousarray(array.T)
    if type_ is not None and type_.axis is not None:
        if w.rank != 2 or type_.axis != (0 if op.right_transpose else 1):
            raise Unsupported("weights have a scale for each input")
        type_ = type_.replace(axis=0)
    return w if w.rank == 2 and op.right_transpose else rw.constant(array, element=type_ or w.element)


def _stacks(op: MatMul, rw: Rewriter, x: Value, w: Value) -> tuple[Value, Value, bool]:
    """Two stacks of matrices of rank 3."""
    left, right = static(x), static(w)
    if len(left) < 2 or len(right) < 2:
        raise Unsupported("a product with a vector that is computed")
    batch = math.prod(left[:-2])
    longest = max(len(left), len(right))
    if (1,) * (longest - len(left)) + left[:-2] != (1,) * (longest - len(right)) + right[:-2]:
        if math.prod(right[:-2]) != 1:
            raise Unsupported(f"stacks of matrices of unequal size, {left} and {right}")
        return reshape(rw, x, (1, math.prod(left[:-1]), left[-1])), reshape(rw, w, (1, *right[-2:])), op.right_transpose
    return reshape(rw, x, (batch, *left[-2:])), reshape(rw, w, (batch, *right[-2:])), op.right_transpose

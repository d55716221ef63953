"""CONV_2D, DEPTHWISE_CONV_2D, CONV_3D, TRANSPOSE_CONV.

Activations are NHWC. The filter of CONV_2D is O, height, width, I / groups, as the hub has it; of DEPTHWISE_CONV_2D 1, height,
width, O; of CONV_3D depth, height, width, I, O. A quantized bias has the scale of the products, as LiteRT's kernels take it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I4, I8, I16, I32, I64, UI8, Dense, IntegerType, Op, QuantType, Value, dtype_of
from transload.ir.quantization import spread
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.build import need_place

from .common import (
    LITERT_ROUNDING,
    activated,
    constant,
    emit,
    fused,
    ints,
    need_floats,
    need_quantized_alike,
    need_rounding,
    permuted_constant,
    quant,
    reshape,
    static_shape,
    stored_as_result,
    transpose,
)
from .hybrid import is_hybrid
from .windows import Window, need_channels_last, pad, padded, same_padding, window_of, with_height, without_height

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv, Deconv

__all__ = ["TABLE", "bias_type", "in_type_of_result", "need_narrow_weights", "product_bias"]

TABLE = RewriteTable()


def product_bias(
    rw: Rewriter, bias: Value | None, value: Value, weights: Value, channels: int, storage: IntegerType | None = None,
) -> Value | None:
    """The bias of a product, `[channels]`: of quantized operands integers in the scale of the products.

    Beside int16 it has the bits of `storage`, or those 32 it is given in, else 64: these say how sums are rounded (`bias_type`).
    Where there is none it is of zeros: LiteRT's convolutions want one. None where a float one is no number for each channel.
    `Unsupported` where it would have to be computed in another scale when the model runs.
    """
    a, b = quant(value), quant(weights)
    if (a is None or b is None) and bias is None:
        return constant(rw, tables.zeros(channels, np.float32))
    if a is None or b is None:
        return bias if bias is not None and bias.shape == (channels,) else None
    held = quant(bias)
    scales = tuple(float(np.float32(a.scale)) * float(np.float32(scale)) for scale in b.scales)
    array = rw.constant_of(bias) if bias is not None else np.zeros(1, np.int32)
    if a.storage != I16:
        storage = I32
    elif storage is None:
        storage = I32 if held is not None and held.storage == I32 else I64
    if array is None:
        if held is not None and held.storage == storage and np.allclose(held.scales, scales, 1e-3, 0):
            return bias
        raise Unsupported("its bias is computed in another scale than input scale times weight scale", "make the bias a constant")
    is_stored = held is not None and not any(held.zero_points) and len(held.scales) in (1, len(scales)) and np.allclose(
        held.scales, scales, 1e-3, 0)
    if held is not None and not is_stored:
        array = (array.astype(np.float64) - np.asarray(held.zero_points)) * np.asarray(held.scales)
    if array.dtype.kind != "i":
        array = np.rint(array.astype(np.float64) / np.asarray(scales))
    low, high = storage.range
    numbers = np.clip(array.astype(np.int64), low, high).astype(dtype_of(storage)).reshape(-1)
    numbers = np.ascontiguousarray(np.broadcast_to(numbers, (channels,)))
    element = QuantType(storage, F32, scales, (0,) * len(scales), 0 if len(scales) > 1 else None)
    return constant(rw, Dense(numbers), element)


def bias_type(value: Value, bias: Value | None) -> dict[str, Any]:
    """The option that says that a bias beside int16 has 32 bits: kernels read 64 without it, and sum and round as such."""
    a, held = quant(value), quant(bias)
    small = a is not None and held is not None and a.storage == I16 and held.storage == I32
    return {"quantized_bias_type": "INT32"} if small else {}


def in_type_of_result(op: Op, rw: Rewriter, value: Value, weights: Value) -> tuple[Value, Value]:
    """What a product is of, its input stored as its result is (`stored_as_result`), and weights that such kernels take.

    Beside unsigned bytes these are unsigned, beside signed numbers signed, with zero points of 0. Of signed bytes with one scale
    FULLY_CONNECTED takes another, and of 4 bits its weights, where its result is stored as its input.
    """
    made, kind = stored_as_result(op, rw, value), quant(weights)
    given = quant(made)
    if kind is None or given is None:
        return value, weights
    if given.storage == UI8:
        return value, in_bytes(rw, weights)
    layer = op.name == "top.MatMul" and made is value
    if kind.storage.unsigned or (any(kind.zero_points) and not (layer and kind.storage == I8 and kind.per_tensor)):
        weights = _without_zero_points(op, rw, weights, kind)
    return made, weights if made is value and kind.storage == I4 else in_bytes(rw, weights)


def _without_zero_points(op: Op, rw: Rewriter, weights: Value, kind: QuantType) -> Value:
    """Constant weights as signed bytes of the same real numbers with zero points of 0; `Unsupported` where they do not fit."""
    array = rw.constant_of(weights)
    if array is not None and kind.blocks is None:
        numbers = array.astype(np.int32) - spread(kind.zero_points, kind, array.ndim, np.int32)
        low, high = I8.range
        if not numbers.size or (low <= numbers.min() and numbers.max() <= high):
            plain = kind.replace(storage=I8, zero_points=(0,) * len(kind.scales), storage_min=None, storage_max=None)
            return constant(rw, Dense(numbers.astype(np.int8)), plain)
    what = "its weights have" if op.name == "top.MatMul" else "its filter has"
    raise Unsupported(f"{what} zero points other than 0, which kernels of signed bytes leave out",
                      "quantize weights symmetrically, as --quantize int8-sym does of the float model")


def need_narrow_weights(weights: QuantType) -> None:
    """Refuse weights of more bits than LiteRT's kernels take."""
    if weights.storage.width > 8:
        raise Unsupported(f"LiteRT's kernels take weights of 8 bits at most, and these are {weights.storage}",
                          "quantize weights in 8 bits, or leave them float")


def in_bytes(rw: Rewriter, weights: Value) -> Value:
    """Constant weights of less than 8 bits as bytes of the same numbers; others as they are.

    TRANSPOSE_CONV takes no others, and LiteRT's reference kernels have DEPTHWISE_CONV_2D of none.
    """
    kind, array = quant(weights), rw.constant_of(weights)
    if kind is None or array is None or kind.storage.width >= 8:
        return weights
    storage = UI8 if kind.storage.unsigned else I8
    return constant(rw, Dense(array.astype(dtype_of(storage))), kind.replace(storage=storage))


def _check_types(op: Conv | Deconv) -> None:
    if is_hybrid(op):
        return
    need_quantized_alike(op, op.input, op.filter)
    a, b = quant(op.input), quant(op.filter)
    if a is None:
        need_floats("convolution", op.input, op.filter)
    if a is not None and b is not None:
        if not a.per_tensor:
            raise Unsupported("its input is quantized per axis", "quantize activations with one scale for the whole tensor")
        need_narrow_weights(b)


@TABLE("top.Conv")
def conv(op: Conv, rw: Rewriter) -> Value:
    """A convolution of one, two or three dimensions; in as many groups as channels depthwise."""
    need_channels_last(op)
    _check_types(op)
    need_rounding(op, rw, "double", operator="CONV_2D")
    window = window_of(op)
    value, weights = in_type_of_result(op, rw, op.input, op.filter)
    channels = static_shape(weights)[0]
    bias = product_bias(rw, op.bias, value, weights, channels, I32 if value is not op.input else None)
    flat = len(window.kernel) == 1
    if flat:
        window, value = window.with_height(), with_height(rw, value)
        shape = static_shape(weights)
        weights = permuted_constant(rw, weights, (0, 1, 2), (shape[0], 1, *shape[1:])) or with_height(rw, weights)
    if len(window.kernel) == 3:
        return _conv_3d(op, rw, window, value, weights, bias)
    value, padding = padded(rw, value, window)
    sizes = static_shape(op.output)
    made = _convolve(op, rw, window, value, weights, bias, padding, (sizes[0], *(1,) * flat, *sizes[1:]))
    made = activated(op, rw, made)
    return without_height(rw, made) if flat else made


def _convolve(
    op: Conv, rw: Rewriter, window: Window, value: Value, weights: Value, bias: Value | None, padding: str,
    shape: tuple[int, ...],
) -> Value:
    """CONV_2D or DEPTHWISE_CONV_2D, the activation part of it."""
    options: dict[str, Any] = {
        "padding": padding, "stride_h": window.strides[0], "stride_w": window.strides[1], "fused_activation_function": fused(op),
        "dilation_h_factor": window.dilations[0], "dilation_w_factor": window.dilations[1]}
    outputs, height, width, _ = static_shape(weights)
    if op.group == 1 or op.group != static_shape(value)[-1]:
        return emit(rw, "conv_2d", value, weights, bias, like=op.output, shape=shape, **options, **bias_type(value, bias))
    weights, bias = in_bytes(rw, weights), _wide_bias(rw, value, bias)
    turned = permuted_constant(rw, weights, (3, 1, 2, 0), (1, height, width, outputs)) or transpose(rw, weights, (3, 1, 2, 0))
    options["depth_multiplier"] = outputs // op.group
    return emit(rw, "depthwise_conv_2d", value, turned, bias, like=op.output, shape=shape, **options)


def _wide_bias(rw: Rewriter, value: Value, bias: Value | None) -> Value | None:
    """The bias of DEPTHWISE_CONV_2D, which knows none of 32 bits beside int16: it sums and rounds in 64."""
    held = quant(bias)
    if bias is None or held is None or not bias_type(value, bias):
        return bias
    if rw.options.get("rounding") != "litert":
        raise Unsupported(
            "its sums have 32 bits, as those of bytes; those of LiteRT's DEPTHWISE_CONV_2D of 16 bits have 64, rounded otherwise",
            LITERT_ROUNDING)
    array = rw.need_constant(bias, "the bias of a depthwise convolution of 16 bits")
    return constant(rw, Dense(array.astype(np.int64)), held.replace(storage=I64, storage_min=None, storage_max=None))


def _conv_3d(op: Conv, rw: Rewriter, window: Window, value: Value, weights: Value, bias: Value | None) -> Value:
    """CONV_3D, which is of floats."""
    if quant(value) is not None or op.group > 1:
        raise Unsupported("LiteRT's convolution of three dimensions is of floats, and not in groups")
    value, padding = padded(rw, value, window)
    turned = transpose(rw, weights, (1, 2, 3, 4, 0))
    made = emit(
        rw, "conv_3d", value, turned, bias, like=op.output, padding=padding, fused_activation_function=fused(op),
        stride_d=window.strides[0], stride_h=window.strides[1], stride_w=window.strides[2], dilation_d_factor=window.dilations[0],
        dilation_h_factor=window.dilations[1], dilation_w_factor=window.dilations[2])
    return activated(op, rw, made)


# --- transposed

@TABLE("top.Deconv")
def deconv(op: Deconv, rw: Rewriter) -> Value:
    """A transposed convolution of one or two dimensions; the filter, dilations and groups written out, is O, height, width, I."""
    need_channels_last(op)
    _check_types(op)
    need_rounding(op, rw, "double", operator="TRANSPOSE_CONV")
    window, (value, weights) = window_of(op), in_type_of_result(op, rw, op.input, op.filter)
    channels = static_shape(weights)[0] * op.group
    extra = tuple(op.output_padding)
    flat = len(window.kernel) == 1
    if flat:
        window, value, extra = window.with_height(), with_height(rw, value), (0, *extra)
        shape = static_shape(weights)
        weights = permuted_constant(rw, weights, (0, 1, 2), (shape[0], 1, *shape[1:])) or with_height(rw, weights)
    if len(window.kernel) == 3:
        raise Unsupported("a transposed convolution of three dimensions", "LiteRT has none whose bits are known")
    weights = in_bytes(rw, _written_out(op, rw, window, weights))
    sums = I32 if value is not op.input else None
    bias = product_bias(rw, op.bias, value, weights, channels, sums)  # in the scales of all groups
    made = _transposed(op, rw, window, value, weights, bias, channels)
    made = activated(op, rw, made)
    return without_height(rw, made) if flat else made


def _written_out(op: Deconv, rw: Rewriter, window: Window, weights: Value) -> Value:
    """The filter without dilations and groups: zeros stand between its elements, and where an input is of another group."""
    if op.group == 1 and max(window.dilations) == 1:
        return weights
    if rw.constant_of(weights) is None and quant(weights) is None:
        return _written_out_as_it_runs(op, rw, window, weights)
    array = rw.need_constant(weights, "the filter of a transposed convolution with dilations or groups")
    element = weights.element
    outputs, _, _, inputs = array.shape
    groups, own = op.group, inputs // op.group
    zero = element.zero_points[0] if isinstance(element, QuantType) else 0
    need_place(groups * outputs, window.extent(0), window.extent(1), inputs)
    wide = tables.full((groups * outputs, window.extent(0), window.extent(1), inputs), zero, array.dtype)
    for group in range(groups):
        of_group = slice(group * own, (group + 1) * own)
        part = wide[group * outputs : (group + 1) * outputs, :: window.dilations[0], :: window.dilations[1]]
        part[..., of_group] = array[..., of_group]
    if isinstance(element, QuantType) and element.axis == 0 and groups > 1 and len(element.scales) == outputs:
        element = element.replace(scales=element.scales * groups, zero_points=element.zero_points * groups)
    return constant(rw, Dense(wide), element)


def _written_out_as_it_runs(op: Deconv, rw: Rewriter, window: Window, weights: Value) -> Value:
    """The same of a filter of floats that is computed, as from integers that are stored: by PAD, SLICE and CONCATENATION."""
    for axis in (1, 2):
        shape, step = static_shape(weights), window.dilations[axis - 1]
        if step == 1:
            continue
        apart = reshape(rw, weights, (math.prod(shape[: axis + 1]), 1, math.prod(shape[axis + 1 :])))
        wide = pad(rw, apart, ((0, 0), (0, step - 1), (0, 0)))
        wide = reshape(rw, wide, (*shape[:axis], shape[axis] * step, *shape[axis + 1 :]))
        made = (*shape[:axis], window.extent(axis - 1), *shape[axis + 1 :])
        weights = emit(rw, "slice", wide, ints(rw, 0, 0, 0, 0), ints(rw, *made), like=wide, shape=made)
    outputs, high, across, inputs = static_shape(weights)
    need_place(op.group * outputs, high, across, inputs)
    own, parts = inputs // op.group, list[Value]()
    for start in range(0, inputs, own) if op.group > 1 else ():
        shape = (outputs, high, across, own)
        part = emit(rw, "slice", weights, ints(rw, 0, 0, 0, start), ints(rw, *shape), like=weights, shape=shape)
        parts.append(pad(rw, part, ((0, 0), (0, 0), (0, 0), (start, inputs - start - own))))
    if not parts:
        return weights
    return emit(
        rw, "concatenation", *parts, like=weights, shape=(op.group * outputs, high, across, inputs), axis=0,
        fused_activation_function="NONE")


def _transposed(
    op: Deconv, rw: Rewriter, window: Window, value: Value, weights: Value, bias: Value | None, channels: int,
) -> Value:
    """TRANSPOSE_CONV: SAME or VALID where it pads as the op does, else VALID, of which a part is sliced out.

    LiteRT wants the size of the input to be that of the convolution whose gradient this is.
    """
    given = static_shape(op.output)
    shape = (given[0], 1, *given[1:]) if len(op.kernel_shape) == 1 else given
    sizes, begins = static_shape(value)[1:3], [before for before, _ in window.pads]
    kernel, strides = (window.extent(0), window.extent(1)), window.strides

    def emitted(shape: tuple[int, ...], padding: str) -> Value:
        return emit(
            rw, "transpose_conv", ints(rw, *shape), weights, value, bias, like=op.output, shape=shape, padding=padding,
            stride_h=strides[0], stride_w=strides[1], fused_activation_function=fused(op), **bias_type(value, bias))

    def fits(out: Sequence[int], padding: str) -> bool:
        counted = [-(-o // s) if padding == "SAME" else (o + s - k) // s for o, s, k in zip(out, strides, kernel, strict=True)]
        return counted == list(sizes)

    same = [same_padding(*each)[0] for each in zip(shape[1:3], kernel, strides, strict=True)]
    if begins == same and fits(shape[1:3], "SAME"):
        return emitted(shape, "SAME")
    if begins == [0, 0] and fits(shape[1:3], "VALID"):
        return emitted(shape, "VALID")
    whole = [
        max((size - 1) * s + k, begin + out)
        for size, s, k, begin, out in zip(sizes, strides, kernel, begins, shape[1:3], strict=True)]
    if min(begins) < 0 or not fits(whole, "VALID"):
        raise Unsupported(f"its paddings {list(op.pads)} and {list(op.output_padding)} are none that TRANSPOSE_CONV has")
    made = emitted((shape[0], *whole, channels), "VALID")
    return emit(rw, "slice", made, ints(rw, 0, *begins, 0), ints(rw, *shape), like=op.output, shape=shape)

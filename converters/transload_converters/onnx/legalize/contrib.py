"""Operators of domain `com.microsoft`: what onnxruntime's quantizer and optimizer write into models.

Their definitions: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BF16, F16, F32, UI8, IntegerType, Op, QuantType, TensorType, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import Window, counted
from transload_hub.simplify.qdq import kept

from .convolution import conv_attributes, read_window
from .matmul import gemm_product, integer_product, transpose_last
from .normalization import trailing_norm
from .pooling import average, global_average, pooling_window, wider
from .quantize import bias_of, blocked, kind_of, mirrored, over_blocks, quantized_conv, quantized_operand, result_type
from .table import OnnxTable, attr, axis_of, cast, first_of, flag, need, need_attr, operand, permute, reshape, shape_of

__all__ = ["TABLE", "activated", "unpacked"]

TABLE = OnnxTable()
_MS = "onnx.com.microsoft"


def _operand(op: Op, rw: Rewriter, index: int, axis: int = 0) -> Value:
    """The quantized operand whose scale and zero point follow it."""
    return quantized_operand(rw, need(op, index), need(op, index + 1), operand(op, index + 2), axis)


# --- on quantized tensors


@TABLE(f"{_MS}.QLinearAdd", f"{_MS}.QLinearMul", stored="native")
def qlinear_binary(op: Op, rw: Rewriter) -> Value:
    """QLinearAdd and QLinearMul."""
    a, b = _operand(op, rw, 0), _operand(op, rw, 3)
    name = "top.Add" if op.name.endswith("Add") else "top.Mul"
    return rw.emit(name, a, b, element=result_type(op, rw, 6, kind_of(a).storage), rounding="float32")


@TABLE(f"{_MS}.QLinearSigmoid", f"{_MS}.QLinearLeakyRelu", stored="native")
def qlinear_activation(op: Op, rw: Rewriter) -> Value:
    """QLinearSigmoid and QLinearLeakyRelu."""
    value = _operand(op, rw, 0)
    kind = result_type(op, rw, 3, kind_of(value).storage)
    if op.name.endswith("Sigmoid"):
        return rw.emit("top.Sigmoid", value, element=kind)
    return rw.emit("top.LeakyRelu", value, alpha=float(attr(op, "alpha", 0.01)), element=kind)


@TABLE(f"{_MS}.QLinearSoftmax", stored="native")
def qlinear_softmax(op: Op, rw: Rewriter) -> Value:
    """QLinearSoftmax; its attribute `opset` says which Softmax is meant.

    onnxruntime counts as many steps to 1 as there are whole ones, 254 of 1/255, which is a little more in float32.
    """
    value = _operand(op, rw, 0)
    kind = result_type(op, rw, 3, kind_of(value).storage)
    steps = np.float32(1.0) / np.float32(kind.scale)
    whole_steps = float(np.floor(steps))
    whole = kind if whole_steps in (0.0, steps) else QuantType(kind.storage, kind.expressed, (1 / whole_steps,), kind.zero_points)
    shape = shape_of(value)
    axis = axis_of(attr(op, "axis", -1), len(shape))
    if attr(op, "opset", 13) >= 13 or axis == len(shape) - 1:
        made = rw.emit("top.Softmax", value, axis=axis, element=whole)
    else:
        flat = reshape(rw, value, (int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))))
        made = reshape(rw, rw.emit("top.Softmax", flat, axis=1, element=whole), shape)
    return made if whole == kind else rw.emit("top.Bitcast", made, element=kind)


@TABLE(f"{_MS}.QLinearAveragePool", f"{_MS}.QLinearGlobalAveragePool", stored="native")
def qlinear_average(op: Op, rw: Rewriter) -> Value:
    """QLinearAveragePool and QLinearGlobalAveragePool, channels first or last."""
    value = _operand(op, rw, 0)
    kind = result_type(op, rw, 3, kind_of(value).storage)
    rank = len(shape_of(value))
    last = flag(op, "channels_last", 0)
    if last:
        value = permute(rw, value, (0, rank - 1, *range(1, rank - 1)))
    if "Global" in op.name:
        pooled = global_average(rw, value, kind)
    else:
        window, beyond = pooling_window(op, value)
        include_pad = flag(op, "count_include_pad", 0)
        if include_pad:  # onnxruntime divides by the whole window, also where `ceil_mode` puts it beyond the padding
            window = Window(window.kernel, window.strides, wider(window, beyond), window.dilations)
            beyond = (0,) * len(beyond)
        pooled = average(rw, value, window, beyond, include_pad, kind)
    return permute(rw, pooled, (0, *range(2, rank), 1)) if last else pooled


@TABLE(f"{_MS}.QLinearConv", stored="native")
def qlinear_conv_last(op: Op, rw: Rewriter) -> Value:
    """QLinearConv with the channels first or last; filters have them second in both."""
    last = flag(op, "channels_last", 0)
    value = _operand(op, rw, 0)
    rank = len(shape_of(value, least=3))
    if last:
        value = permute(rw, value, (0, rank - 1, *range(1, rank - 1)))
    result = quantized_conv(op, rw, value)
    return permute(rw, result, (0, *range(2, rank), 1)) if last else result


@TABLE(f"{_MS}.NhwcMaxPool", stored="carried")
def nhwc_max_pool(op: Op, rw: Rewriter) -> Value:
    """NhwcMaxPool: the greatest of each window, channels last."""
    value = need(op, 0)
    rank = len(shape_of(value, least=3))
    first = permute(rw, value, (0, rank - 1, *range(1, rank - 1)))
    window, beyond = pooling_window(op, first)
    pooled = rw.emit("top.MaxPool", first, kernel_shape=window.kernel, strides=window.strides, pads=wider(window, beyond),
                     dilations=window.dilations, layout="NCHW")
    return permute(rw, pooled, (0, *range(2, rank), 1))


@TABLE(f"{_MS}.DynamicQuantizeMatMul", stored="native")
def dynamic_quantize_matmul(op: Op, rw: Rewriter) -> Value:
    """DynamicQuantizeMatMul: floats quantized by their own range, times quantized weights."""
    kinds = [TensorType(shape_of(need(op, 0)), UI8), TensorType((), F32), TensorType((), UI8)]
    own = rw.create("onnx.DynamicQuantizeLinear", [need(op, 0)], kinds, {"onnx.opset": 11}).results
    none = rw.none("top")
    operands = [own[0], need(op, 1), own[1], need(op, 2), own[2], *(operand(op, i) or none for i in (3, 4))]
    return rw.create(f"{_MS}.MatMulIntegerToFloat", operands, [op.results[0].type], {"domain": "com.microsoft"}).results[0]


@TABLE(f"{_MS}.QLinearConcat", stored="native")
def qlinear_concat(op: Op, rw: Rewriter) -> Value:
    """QLinearConcat: operands are the result's scale and zero point, then a triple each."""
    if len(op.operands) < 5 or (len(op.operands) - 2) % 3:
        raise Unsupported(f"has {len(op.operands)} operands, not two and three for each tensor")
    parts = [_operand(op, rw, i) for i in range(2, len(op.operands), 3)]
    kind = result_type(op, rw, 0, kind_of(parts[0]).storage)
    axis = axis_of(need_attr(op, "axis"), len(shape_of(parts[0])))
    return rw.emit("top.Concat", *(requantized(rw, part, kind) for part in parts), axis=axis)


@TABLE(f"{_MS}.QLinearWhere", stored="native")
def qlinear_where(op: Op, rw: Rewriter) -> Value:
    """QLinearWhere."""
    a, b = _operand(op, rw, 1), _operand(op, rw, 4)
    kind = result_type(op, rw, 7, kind_of(a).storage)
    return rw.emit("top.Where", need(op, 0), requantized(rw, a, kind), requantized(rw, b, kind))


def requantized(rw: Rewriter, value: Value, kind: QuantType) -> Value:
    """`value` in another quantized type; of a constant, which is cast at once, rounded once, too."""
    return value if value.element == kind else rw.emit("top.Cast", value, element=kind, round_mode="HalfToEven", rounding="once")


@TABLE(f"{_MS}.QGemm", stored="native")
def qgemm(op: Op, rw: Rewriter) -> Value:
    """QGemm: a product of quantized matrices and an i32 bias; without a result scale the result is f32."""
    left, right = flag(op, "transA", 0), flag(op, "transB", 0)
    a, b = _operand(op, rw, 0), _operand(op, rw, 3, axis=0 if right else 1)
    if not kind_of(a).per_tensor:
        raise Unsupported("its left operand is quantized per axis")
    b = _times(rw, b, float(attr(op, "alpha", 1.0)))
    bias = bias_of(rw, operand(op, 6), kind_of(a), kind_of(b))
    columns = shape_of(b)[0 if right else 1]
    if bias is not None and math.prod(shape_of(bias)) == columns:  # else it broadcasts to the product
        bias = reshape(rw, bias, (columns,))
    attributes: dict[str, Any] = {"left_transpose": left or None, "right_transpose": right or None}
    if operand(op, 7) is not None:
        kind = result_type(op, rw, 7, kind_of(a).storage)
        return rw.emit("top.MatMul", a, b, bias, element=kind, rounding="float32", **attributes)
    real = [None if value is None else rw.emit("top.Cast", value, element=F32) for value in (a, b, bias)]
    return rw.emit("top.MatMul", *real, **attributes)


def _times(rw: Rewriter, value: Value, factor: float) -> Value:
    """A quantized constant times a factor: the same integers, of other scales."""
    if factor == 1.0:
        return value
    dense, kind = constant_of(value), kind_of(value)
    if dense is None or factor <= 0:
        raise Unsupported(f"multiplies by alpha {factor}, which must be positive, and 1 where the right operand is not constant")
    scales = tuple(scale * factor for scale in kind.scales)
    return rw.constant(dense, element=kind.replace(scales=scales))


@TABLE(f"{_MS}.MatMulIntegerToFloat")
def matmul_integer_to_float(op: Op, rw: Rewriter) -> Value:
    """MatMulIntegerToFloat: `(A - a_zero) @ (B - b_zero) * a_scale * b_scale + bias`, the product in integers.

    A scale for each row of A, or column of B.
    """
    product = integer_product(rw, need(op, 0), need(op, 1), operand(op, 4), operand(op, 5))
    a_scale = need(op, 2)
    if len(shape_of(a_scale)) == 1 and shape_of(a_scale)[0] > 1:
        a_scale = reshape(rw, a_scale, (*shape_of(a_scale), 1))
    real = rw.emit("top.Mul", rw.emit("top.Mul", cast(rw, product, F32), a_scale), need(op, 3))
    return real if operand(op, 6) is None else rw.emit("top.Add", real, operand(op, 6))


@TABLE(f"{_MS}.MatMulNBits")
def matmul_nbits(op: Op, rw: Rewriter) -> Value:
    """MatMulNBits: a product with constant weights of 2, 4 or 8 bits, quantized in blocks, which stay so.

    Zero points that are floats no quantized type has, nor groups whose columns lie apart: with these the weights become floats.
    """
    value = need(op, 0)
    bits, block = attr(op, "bits", 4), need_attr(op, "block_size")
    rows, columns = need_attr(op, "N"), need_attr(op, "K")
    if bits not in (2, 4, 8) or block < 1:
        raise Unsupported(f"has {bits} bits in blocks of {block}")
    if attr(op, "weight_prepacked", 0):
        raise Unsupported("has weights packed for a GPU", "export the model without packing weights beforehand")
    blocks = -(-columns // block)
    packed = np.asarray(rw.need_constant(need(op, 1), "the weights"))
    scales = np.asarray(rw.need_constant(need(op, 2), "the scales"))
    if packed.size * 8 != rows * blocks * block * bits or scales.size != rows * blocks:
        raise Unsupported(f"weights {packed.shape} and scales {scales.shape} do not fit N={rows}, K={columns}, blocks of {block}")
    stored = np.ascontiguousarray(unpacked(packed.reshape(-1), bits).reshape(rows, -1)[:, :columns])
    scales = scales.astype(np.float32).reshape(rows, blocks)
    given = operand(op, 3)
    zeros = tables.full((rows, blocks), 1 << (bits - 1))
    if given is not None:
        array = np.asarray(rw.need_constant(given, "the zero points"))
        if array.dtype == np.uint8:  # packed like the weights, each row by itself
            array = unpacked(array.reshape(rows, -1), bits)[:, :blocks]
        zeros = array.reshape(rows, blocks)
    in_order = counted(columns) // block
    places = _groups(op, rw, columns, blocks, bits) if operand(op, 4) is not None else in_order
    if zeros.dtype.kind not in "iu" or not np.array_equal(places, in_order):
        weights = (stored.astype(np.float32) - zeros.astype(np.float32)[:, places]) * scales[:, places]
        held = cast(rw, rw.constant(weights), value.element)
    else:
        storage = IntegerType(bits, "u")
        stored, scales, zeros = mirrored(stored, scales, zeros, storage, over_blocks(1, block, columns))
        kind = blocked(storage, scales, zeros, 1, block, (rows, columns), value.element)
        numbers = rw.constant(stored.astype(dtype_of(storage)), element=kind)
        held = kept(rw, "top.Cast", numbers, element=value.element, stored=True)
    return rw.emit("top.MatMul", value, held, operand(op, 5), right_transpose=True)


def _groups(op: Op, rw: Rewriter, columns: int, groups: int, bits: int) -> np.ndarray:
    """The group of each column, whose scale and zero point it has; there may be more of them, which are of no column."""
    given = np.asarray(rw.need_constant(need(op, 4), "the groups of columns")).reshape(-1)
    if bits != 4 or operand(op, 3) is not None:
        raise Unsupported("says which columns form a group, which onnxruntime takes of 4 bits alone, and without zero points",
                          "put the columns of each group side by side, and leave the group index out")
    if given.size < columns:
        raise Unsupported(f"says of {given.size} columns which group they are of, and has {columns}")
    wrong = next((int(group) for group in given[:columns] if not 0 <= group < groups), None)
    if wrong is not None:
        raise Unsupported(f"has columns of a group of {wrong}, and {groups} groups")
    return given[:columns].astype(np.int64)


def unpacked(packed: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of `bits` bits along the last dimension, the first in a byte's lowest bits."""
    shifts = tables.arange(0, 8, bits, dtype=np.uint8)
    numbers = (packed[..., None] >> shifts) & ((1 << bits) - 1)
    return numbers.reshape(*packed.shape[:-1], -1)


# --- fused floats


@TABLE(f"{_MS}.Gelu", f"{_MS}.BiasGelu", f"{_MS}.FastGelu")
def gelu(op: Op, rw: Rewriter) -> Value:
    """Gelu of the input, plus a bias where there is one; FastGelu by tanh."""
    value, bias = need(op, 0), operand(op, 1)
    if bias is not None:
        value = rw.emit("top.Add", value, bias)
    return rw.emit("top.GELU", value, approx=op.name.endswith("FastGelu") or None)


@TABLE(f"{_MS}.QuickGelu")
def quick_gelu(op: Op, rw: Rewriter) -> Value:
    """QuickGelu: `x * sigmoid(alpha * x)`."""
    value = need(op, 0)
    gate = rw.emit("top.Sigmoid", rw.emit("top.MulConst", value, const_val=float(attr(op, "alpha", 1.702))))
    return rw.emit("top.Mul", value, gate)


_ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "Relu": (), "Sigmoid": (), "Tanh": (), "LeakyRelu": ("alpha",), "Clip": ("min", "max"), "HardSigmoid": ("alpha", "beta"),
    "Elu": ("alpha",), "Softplus": (), "Softsign": ()}
"""The hub's activations and the names of their parameters, in ONNX's order."""


def activated(rw: Rewriter, value: Value, name: str | None, parameters: tuple[float, ...]) -> Value:
    """The activation that a fused operator ends with."""
    if not name:
        return value
    if name not in _ACTIVATIONS:
        raise Unsupported(f"ends with activation {name!r}")
    attributes: dict[str, Any] = dict(zip(_ACTIVATIONS[name], map(float, parameters), strict=False))
    return rw.emit(f"top.{name}", value, **attributes)


@TABLE(f"{_MS}.FusedConv")
def fused_conv(op: Op, rw: Rewriter) -> Value:
    """FusedConv: a convolution, plus another tensor, then an activation."""
    value, weights = need(op, 0), need(op, 1)
    result = rw.emit("top.Conv", value, weights, operand(op, 2), **conv_attributes(op, value, weights))
    if operand(op, 3) is not None:
        result = rw.emit("top.Add", result, operand(op, 3))
    return activated(rw, result, attr(op, "activation"), attr(op, "activation_params", ()))


@TABLE(f"{_MS}.NhwcConv", f"{_MS}.NhwcFusedConv")
def nhwc_conv(op: Op, rw: Rewriter) -> Value:
    """NhwcConv and NhwcFusedConv: a convolution with the channels last, in the input and in the filter [O, kernel.., C/group].

    NhwcFusedConv adds another tensor, and ends with an activation.
    """
    value, weights = need(op, 0), need(op, 1)
    sizes = shape_of(value)[1:-1]
    if not 1 <= len(sizes) <= 3:
        raise Unsupported(f"a convolution of {len(sizes)} spatial dimensions; 1 to 3 can be converted")
    window = read_window(op, sizes, shape_of(weights)[1:-1])
    result = rw.emit(
        "top.Conv", value, weights, operand(op, 2), kernel_shape=window.kernel, strides=window.strides, pads=window.pads,
        dilations=window.dilations, group=attr(op, "group", 1), layout="NHWC")
    if operand(op, 3) is not None:
        result = rw.emit("top.Add", result, operand(op, 3))
    return activated(rw, result, attr(op, "activation"), attr(op, "activation_params", ()))


@TABLE(f"{_MS}.FusedGemm")
def fused_gemm(op: Op, rw: Rewriter) -> Value:
    """FusedGemm: a Gemm, then an activation."""
    product = gemm_product(
        rw, need(op, 0), need(op, 1), operand(op, 2), float(attr(op, "alpha", 1.0)), float(attr(op, "beta", 1.0)),
        flag(op, "transA", 0), flag(op, "transB", 0))
    name = attr(op, "activation")
    parameters = tuple(op.attributes[f"activation_{key}"] for key in ("alpha", "beta") if f"activation_{key}" in op.attributes)
    return activated(rw, product, name, parameters)


@TABLE(f"{_MS}.FusedMatMul", f"{_MS}.TransposeMatMul")
def fused_matmul(op: Op, rw: Rewriter) -> Value:
    """FusedMatMul: a product of matrices that may be transposed, times a factor.

    Where an operand's batch is transposed, its first dimension is that of rows: it comes behind the others of the batch.
    """
    factors = []
    for index, side in enumerate("AB"):
        value = need(op, index)
        rank = len(shape_of(value))
        if attr(op, f"transBatch{side}", 0) and rank > 2:
            value = permute(rw, value, (*range(1, rank - 1), 0, rank - 1))
        factors.append(transpose_last(rw, value) if attr(op, f"trans{side}", 0) and rank > 1 else value)
    product = rw.emit("top.MatMul", *factors)
    alpha = float(attr(op, "alpha", 1.0))
    return product if alpha == 1.0 else rw.emit("top.MulConst", product, const_val=alpha)


@TABLE(f"{_MS}.SkipLayerNormalization", f"{_MS}.SkipSimplifiedLayerNormalization")
def skip_layer_norm(op: Op, rw: Rewriter) -> list[Value]:
    """The sum of two tensors (and a bias), normalized over the last dimension; the sum is the fourth result."""
    simplified = "Simplified" in op.name
    total = rw.emit("top.Add", need(op, 0), need(op, 1))
    bias = operand(op, 3 if simplified else 4)
    if bias is not None:
        total = rw.emit("top.Add", total, bias)
    epsilon = float(attr(op, "epsilon", 1e-12))
    scales = (need(op, 2),) if simplified else (need(op, 2), operand(op, 3))
    name = "top.RMSNorm" if simplified else "top.LayerNorm"
    normal = trailing_norm(rw, name, total, scales, len(shape_of(total)) - 1, epsilon)
    for result in op.results[1:3]:
        if result.uses:
            raise Unsupported(f"its output {result.name!r} is used, and exists in training only")
    return [normal, normal, normal, total][: len(op.results)]


@TABLE("onnx.SimplifiedLayerNormalization", f"{_MS}.SimplifiedLayerNormalization")
def simplified_layer_norm(op: Op, rw: Rewriter) -> list[Value]:
    """SimplifiedLayerNormalization: RMS normalization, and what it multiplies by, before the scale."""
    value, epsilon = need(op, 0), float(attr(op, "epsilon", 1e-5))
    rank = len(shape_of(value))
    axis = axis_of(attr(op, "axis", -1), rank)
    normal = trailing_norm(rw, "top.RMSNorm", value, (need(op, 1),), axis, epsilon)
    if len(op.results) == 1 or not op.results[1].uses:
        return first_of(op, normal)
    work = cast(rw, value, F32) if value.element in (F16, BF16) else value
    squares = rw.emit("top.Reduce", rw.emit("top.Square", work), axes=tuple(range(axis, rank)), mode="ReduceMean")
    return [normal, rw.emit("top.Rsqrt", rw.emit("top.AddConst", squares, const_val=epsilon))]



"""Versions of operators, and the releases of the runtime that they came with.

An operator has a new version when its kernels learn a new form of it: int8, then int16 numbers, grouped convolutions. A runtime
refuses operators of versions that it does not know, so that each operator is written with the earliest that has its form.

Source: `tensorflow/lite/tools/versioning`, op_version.cc and runtime_version.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from transload.ir import BOOL, F16, F32, I4, I8, I16, I32, I64, UI32, Op, QuantType, TensorType, Type, Value

__all__ = ["RUNTIME_VERSION", "operator_version", "runtime_version"]

RUNTIME_VERSION = "min_runtime_version"
"""The metadata that says which release of the runtime is needed."""

_BY_ELEMENT = {
    name: (int8, int16)
    for names, int8, int16 in (
        ("AVERAGE_POOL_2D MAX_POOL_2D LOGISTIC TANH PACK CONCATENATION BATCH_MATMUL SOFTMAX MEAN REDUCE_MAX REDUCE_MIN", 2, 3),
        ("RELU RELU6 RSQRT MIRROR_PAD LESS GREATER_EQUAL", 2, 3),
        ("MAXIMUM MINIMUM MUL RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR SPLIT GATHER SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND", 2, 4),
        ("UNPACK", 2, 4), ("TRANSPOSE", 2, 5), ("PAD PADV2 ABS", 2, 3), ("SLICE", 2, 4), ("ADD", 2, 3), ("SUB", 2, 5),
        ("ARG_MAX ARG_MIN L2_NORMALIZATION SPACE_TO_DEPTH DEPTH_TO_SPACE LOG_SOFTMAX GREATER LESS_EQUAL NOT_EQUAL EXP LOG", 2, 2),
        ("STRIDED_SLICE SELECT SUM SQUARED_DIFFERENCE TOPK_V2 GELU FLOOR_MOD", 2, 2), ("EQUAL", 2, 4), ("FLOOR_DIV", 3, 3),
        ("TILE FILL REVERSE_V2", 3, 3), ("LEAKY_RELU QUANTIZE", 1, 2), ("GATHER_ND", 1, 3), ("DEQUANTIZE", 2, 3),
        ("CONV_2D DEPTHWISE_CONV_2D", 3, 1))
    for name in names.split()
}
"""The versions for which the data is int8, and int16; the first is for floats."""

_DATA = {"SPLIT": 1, "TRANSPOSE_CONV": 2, "SELECT": 1, "SELECT_V2": 1, "FILL": 1, "SPARSE_TO_DENSE": 2, "SCATTER_ND": 1}
"""Which operand the data is, where it is not the first."""


def _stored(value: Value | None) -> Type | None:
    if value is None:
        return None
    element = value.element_or_none
    return element.storage if isinstance(element, QuantType) else element


def _is_hybrid(op: Op) -> bool:
    return _stored(op.operands[0]) == F32 and _stored(op.operands[1]) in (I8, I4)


def _per_channel(op: Op) -> bool:
    element = op.operands[1].element_or_none
    return isinstance(element, QuantType) and not element.per_tensor


def _has_wide_bias(op: Op, place: int = 2) -> bool:
    """Whether the type of the bias of a product of int16 numbers is said."""
    said = str(op.attribute("quantized_bias_type", "FLOAT32")) != "FLOAT32"
    return said and len(op.operands) > place and _stored(op.operands[0 if place == 2 else 2]) == I16


def _shape(value: Value) -> tuple[int | None, ...]:
    """The sizes of a tensor; none where its rank is not known, as that of a scalar that the file gives no shape."""
    return (value.type.shape if isinstance(value.type, TensorType) else None) or ()


def _conv(op: Op, usual: int) -> int:
    if _has_wide_bias(op):
        return 8
    image, kernel = _shape(op.operands[0]), _shape(op.operands[1])
    if image and kernel and image[-1] != kernel[-1]:
        return 6
    if _is_hybrid(op):
        return 5 if _per_channel(op) else 2
    return 7 if _stored(op.operands[1]) == I4 else usual


def _depthwise(op: Op, usual: int) -> int:
    if _is_hybrid(op):
        return 6 if _per_channel(op) else 4
    if _stored(op.operands[1]) == I4:
        return 7
    return max(usual, 2 if max(op.dilation_h_factor, op.dilation_w_factor) > 1 else 1)


def _fully_connected(op: Op, usual: int) -> int:
    if _is_hybrid(op) and _per_channel(op):
        return 12
    if _has_wide_bias(op):
        return 11
    if len(op.operands) == 2:
        return 6
    if op.keep_num_dims:
        return 5
    if _stored(op.operands[1]) == I4:
        return 10
    if _is_hybrid(op):
        return 9 if op.asymmetric_quantize_inputs else 3
    return 4 if _stored(op.operands[0]) == I8 else 1


def _transpose_conv(op: Op, usual: int) -> int:
    if _has_wide_bias(op, 3):
        return 5
    if op.fused_activation_function != "NONE":
        return 4
    return 3 if len(op.operands) == 4 else 2 if _stored(op.operands[1]) == I8 else 1


def _mul(op: Op, usual: int) -> int:
    if _stored(op.operands[0]) == I64:
        return 5
    if _stored(op.operands[0]) == UI32:
        return 7
    types = [value.quant for value in (*op.operands, *op.results)]
    if None not in types and _stored(op.operands[0]) != I16:
        a, b, made = (type_.scales[0] for type_ in types if type_ is not None)
        return max(usual, 3 if made and a * b / made >= 1.0 else 1)
    return usual


def _of_rank(least: int, version: int) -> Callable[[Op, int], int]:
    return lambda op, usual: max(usual, version if max(len(_shape(value)) for value in op.operands) >= least else 1)


def _resized(op: Op, usual: int) -> int:
    nearest = op.name == "tfl.resize_nearest_neighbor"
    return max(usual, 3 if op.half_pixel_centers or (nearest and op.align_corners) else 1)


_SPECIAL: dict[str, Callable[[Op, int], int]] = {
    "CONV_2D": _conv, "DEPTHWISE_CONV_2D": _depthwise, "FULLY_CONNECTED": _fully_connected, "TRANSPOSE_CONV": _transpose_conv,
    "MUL": _mul, "RESIZE_BILINEAR": _resized, "RESIZE_NEAREST_NEIGHBOR": _resized,
    "ADD": lambda op, usual: 4 if _stored(op.operands[0]) == I64 else usual,
    "SUB": lambda op, usual: 4 if _stored(op.operands[0]) == I64 else _of_rank(5, 3)(op, usual),
    "DIV": _of_rank(5, 2), "PAD": _of_rank(5, 4), "PADV2": _of_rank(5, 4), "SLICE": _of_rank(5, 5),
    "STRIDED_SLICE": _of_rank(5, 4),
    "TRANSPOSE": lambda op, usual: max(_of_rank(5, 4)(op, usual), _of_rank(6, 6)(op, usual)),
    "MAXIMUM": _of_rank(5, 3), "MINIMUM": _of_rank(5, 3),
    "GATHER": lambda op, usual: 5 if op.batch_dims else 3 if _stored(op.operands[0]) == BOOL else usual,
    "SPLIT": lambda op, usual: 3 if _stored(op.operands[1]) == I32 else usual,
    "DEQUANTIZE": lambda op, usual: 3 if _stored(op.operands[0]) == F16 else usual,
    "QUANTIZE": lambda op, usual: 2 if _stored(op.results[0]) == I16 else usual,
    "BROADCAST_TO": lambda op, usual: 2,
    "SIGN": lambda op, usual: 2 if _stored(op.operands[0]) == I32 else 1,
    "RANGE": lambda op, usual: 2 if _stored(op.operands[0]) == I64 else 1,
    "LSTM": lambda op, usual: 2 if op.name == "tfl.basic_lstm" else 1,
}


def operator_version(operator: str, op: Op) -> int:
    """The version of an operator (by its schema name) that has the form of `op`: types of operands, ranks, options."""
    place = _DATA.get(operator, 0)
    stored = _stored(op.operands[place]) if len(op.operands) > place else None
    int8, int16 = _BY_ELEMENT.get(operator, (1, 1))
    usual = int8 if stored == I8 else int16 if stored == I16 else 1
    special = _SPECIAL.get(operator)
    return special(op, usual) if special is not None else usual


_RELEASES = """
ABS 1.13 2.4 2.5|ADD 1.5 1.14 2.4 2.6|ADD_N 1.14|ARG_MAX 1.9 1.14 2.9|ARG_MIN 1.9 1.14 2.9|ATAN2 2.10
AVERAGE_POOL_2D 1.5 1.14 2.3|BATCH_MATMUL 2.3 2.3 2.4 2.5|BATCH_TO_SPACE_ND 1.6 1.14 2.3 2.12|BROADCAST_TO 2.5 2.5 2.5
CAST 1.5|CEIL 1.14|CONCATENATION 1.5 1.14 2.3|CONV_2D 1.5 1.14 1.14 2.3 2.4 2.9 2.12 2.13|CONV_3D 2.5|COS 1.14|CUMSUM 2.4
DEPTHWISE_CONV_2D 1.5 1.12 1.14 2.2 2.3 2.3 2.12|DEPTH_TO_SPACE 2.1 2.5|DEQUANTIZE 1.13 1.14 1.15 2.2 2.7|DIV 1.6 2.3|ELU 1.14
EQUAL 1.14 1.14 2.3 2.12|EXP 1.7 2.12|EXPAND_DIMS 1.10|FILL 1.13 2.3 2.5|FLOOR 1.9|FLOOR_DIV 1.14 1.14 2.12
FLOOR_MOD 1.13 2.12|FULLY_CONNECTED 1.5 1.10 1.14 1.14 2.0 2.1 2.3 2.3 2.3 2.12 2.13 2.17|GATHER 1.6 1.14 1.15 2.4 2.5
GATHER_ND 1.14 2.3 2.5|GELU 2.9 2.9|GREATER 1.14 1.14|GREATER_EQUAL 1.14 1.14 2.12|HARD_SWISH 1.15|IF 1.15
L2_NORMALIZATION 1.5 1.14|LEAKY_RELU 1.13 2.3|LESS 1.14 1.14 2.12|LESS_EQUAL 1.14 1.14|LOCAL_RESPONSE_NORMALIZATION 1.5
LOG 1.14 2.12|LOGICAL_AND 1.11|LOGICAL_NOT 1.11|LOGICAL_OR 1.11|LOGISTIC 1.14 1.14 2.3|LOG_SOFTMAX 1.14 1.14
MAXIMUM 1.14 1.14 2.3 2.3|MAX_POOL_2D 1.5 1.14 2.3|MEAN 1.6 1.14 2.4|MINIMUM 1.14 1.14 2.3 2.3|MIRROR_PAD 1.13 2.3 2.12
MUL 1.5 1.14 1.15 2.3 2.6 2.11 2.12|NEG 1.9|NOT_EQUAL 1.14 1.14 2.3|ONE_HOT 1.11|PACK 1.11 1.14 2.3|PAD 1.5 1.14 2.4 2.6
PADV2 1.9 1.14 2.4 2.6|POW 1.10|PRELU 1.8|QUANTIZE 1.14 1.15 2.7|RANGE 1.13 2.12|REDUCE_ALL 2.6|REDUCE_ANY 1.11
REDUCE_MAX 1.11 1.14 2.5|REDUCE_MIN 1.11 1.14 2.5|REDUCE_PROD 1.11 2.6|RELU 1.5 2.1 2.5|RELU6 1.5 1.14 2.5|RELU_0_TO_1 2.10
RELU_N1_TO_1 1.5|RESHAPE 1.5|RESIZE_BILINEAR 1.7 1.14 2.2 2.5|RESIZE_NEAREST_NEIGHBOR 1.13 1.14 2.3 2.4|REVERSE_SEQUENCE 1.14
REVERSE_V2 1.14 2.2 2.5|ROUND 1.14|RSQRT 1.10 2.5 2.12|SCATTER_ND 2.1|SELECT 1.14 1.14|SELECT_V2 2.2|SHAPE 1.10|SIGN 2.12 2.12
SIN 1.9|SLICE 1.14 1.14 1.14 2.4 2.5|SOFTMAX 1.5 1.14 2.3|SPACE_TO_BATCH_ND 1.6 1.14 2.3 2.12|SPACE_TO_DEPTH 1.5 1.14
SPLIT 1.5 1.14 1.14 2.3|SPLIT_V 1.13 2.3|SQRT 1.10|SQUARE 1.12|SQUARED_DIFFERENCE 1.13 2.5|SQUEEZE 1.6 2.5
STRIDED_SLICE 1.6 1.14 2.1 2.2 2.5 2.6|SUB 1.6 1.14 2.3 2.4 2.4|SUM 1.10 1.15|TANH 1.14 1.14 2.3|TILE 1.10 2.2 2.8
TOPK_V2 1.7 1.14|TRANSPOSE 1.6 1.14 1.15 2.3 2.4 2.12|TRANSPOSE_CONV 1.9 2.2 2.3 2.12 2.13
UNIDIRECTIONAL_SEQUENCE_LSTM 1.13 1.14 2.3|UNPACK 1.11 1.14 2.2 2.3|WHERE 1.14 2.8|WHILE 1.15
"""
"""For each operator the releases of the runtime that its versions came with, from the first one on."""


def runtime_version(needed: Iterable[tuple[str, int]]) -> str:
    """The earliest release of the runtime that has all of the operators, each given with its version: `"2.4.0"`."""
    releases = {words[0]: words[1:] for line in _RELEASES.split("\n") for item in line.split("|") if (words := item.split())}
    found = [(1, 5)]
    for operator, version in needed:
        known = releases.get(operator, ())
        if known:
            major, minor = known[min(version, len(known)) - 1].split(".")
            found.append((int(major), int(minor)))
    return "{}.{}.0".format(*max(found))

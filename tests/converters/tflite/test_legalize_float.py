"""Every float (and plain integer) operator: one-operator models against LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload_converters.tflite.runtime import open_model
from transload_hub.scales import nudged

from tests.support.tflite_models import read_bytes

RNG = np.random.default_rng(7)
F = "float32"


def floats(*shape: int) -> np.ndarray:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def ints(*values: Any) -> tuple[Any, ...]:
    """A constant int32 tensor."""
    array = np.asarray(values if len(values) != 1 or not isinstance(values[0], list | np.ndarray) else values[0], np.int32)
    return (array.shape, "int32", array)


def scalar(value: int) -> tuple[Any, ...]:
    return ((), "int32", np.asarray(value, np.int32))


def t(*shape: int, dtype: str = F) -> tuple[Any, ...]:
    """An input of the model."""
    return (shape, dtype)


def const(array: Any, dtype: str = F) -> tuple[Any, ...]:
    return (np.shape(array), dtype, np.asarray(array))


Case = tuple[str, list[Any], list[Any], dict[str, Any]]
CASES: dict[str, Case] = {}


def case(label: str, operator: str, inputs: list[Any], outputs: list[Any], **options: Any) -> None:
    assert label not in CASES, label
    CASES[label] = (operator, inputs, outputs, options)


# --- elementwise

for name in ("ADD", "SUB", "MUL"):
    for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1"):
        case(f"{name}-{activation}", name, [t(2, 3, 4), t(3, 1)], [t(2, 3, 4)], fused_activation_function=activation)
case("ADD-int", "ADD", [t(4, dtype="int32"), t(2, 1, dtype="int32")], [t(2, 4, dtype="int32")])
case("SUB-scalar", "SUB", [t(4), const(1.5)], [t(4)])
case("MUL-int64", "MUL", [t(4, dtype="int64"), t(4, dtype="int64")], [t(4, dtype="int64")])
case("DIV", "DIV", [t(2, 3), const(floats(3) + 3)], [t(2, 3)])
case("ADD_N", "ADD_N", [t(2, 3), t(2, 3), t(2, 3)], [t(2, 3)])
for name in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "ATAN2"):
    second = t(2, 3) if name == "ATAN2" else t(3)
    case(name, name, [t(2, 3), second], [t(2, 3)])
case("POW", "POW", [const(np.abs(floats(2, 3)) + 0.1), t(2, 3)], [t(2, 3)])
case("FLOOR_DIV", "FLOOR_DIV", [t(2, 3), const(floats(2, 3) + 3)], [t(2, 3)])
case("FLOOR_DIV-powers", "FLOOR_DIV", [t(4, 3), const([2.0, 0.25, -4.0])], [t(4, 3)])
case("FLOOR_DIV-int", "FLOOR_DIV", [t(8, dtype="int32"), const([2, -3, 2, 3, -2, 3, 4, 5], "int32")], [t(8, dtype="int32")])
case("FLOOR_MOD", "FLOOR_MOD", [t(2, 3), const(floats(2, 3) + 3)], [t(2, 3)])
case("FLOOR_MOD-int", "FLOOR_MOD", [t(8, dtype="int32"), const([2, -3, 2, 3, -2, 3, 4, 5], "int32")], [t(8, dtype="int32")])
for name in ("ABS", "NEG", "EXP", "SQUARE", "FLOOR", "CEIL", "ROUND", "SIN", "COS", "SIGN"):
    case(name, name, [t(3, 5)], [t(3, 5)])
for name in ("LOG", "SQRT", "RSQRT"):
    case(name, name, [t(3, 5)], [t(3, 5)])
for name in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
    case(name, name, [t(2, 3), t(3)], [t(2, 3, dtype="bool")])
    case(f"{name}-int", name, [t(40, dtype="int32"), t(40, dtype="int32")], [t(40, dtype="bool")])
for name in ("LOGICAL_AND", "LOGICAL_OR"):
    case(name, name, [t(2, 4, dtype="bool"), t(4, dtype="bool")], [t(2, 4, dtype="bool")])
case("LOGICAL_NOT", "LOGICAL_NOT", [t(5, dtype="bool")], [t(5, dtype="bool")])
case("BITWISE_XOR", "BITWISE_XOR", [t(5, dtype="int32"), t(5, dtype="int32")], [t(5, dtype="int32")])
case("RIGHT_SHIFT", "RIGHT_SHIFT", [t(5, dtype="int32"), const([0, 1, 2, 1, 0], "int32")], [t(5, dtype="int32")])
case("SELECT", "SELECT", [t(2, 3, dtype="bool"), t(2, 3), t(2, 3)], [t(2, 3)])
case("SELECT-rows", "SELECT", [t(4, dtype="bool"), t(4, 3), t(4, 3)], [t(4, 3)])
case("SELECT-scalar", "SELECT", [t(dtype="bool"), t(4, 3), t(4, 3)], [t(4, 3)])
case("SELECT_V2", "SELECT_V2", [t(2, 1, dtype="bool"), t(2, 3), t(3)], [t(2, 3)])

# --- activations and normalization

for name in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "ELU", "HARD_SWISH", "LOGISTIC", "TANH", "LOG_SOFTMAX"):
    case(name, name, [t(3, 7)], [t(3, 7)])
case("LEAKY_RELU", "LEAKY_RELU", [t(3, 7)], [t(3, 7)], alpha=0.3)
case("GELU", "GELU", [t(3, 7)], [t(3, 7)], approximate=False)
case("GELU-tanh", "GELU", [t(3, 7)], [t(3, 7)], approximate=True)
case("PRELU", "PRELU", [t(1, 2, 3, 4), const(floats(1, 1, 4))], [t(1, 2, 3, 4)])
case("SOFTMAX", "SOFTMAX", [t(2, 3, 7)], [t(2, 3, 7)], beta=1.5)
case("L2_NORMALIZATION", "L2_NORMALIZATION", [t(2, 3, 3, 7)], [t(2, 3, 3, 7)])
case(
    "LOCAL_RESPONSE_NORMALIZATION",
    "LOCAL_RESPONSE_NORMALIZATION",
    [t(1, 3, 3, 9)],
    [t(1, 3, 3, 9)],
    radius=2,
    bias=1.5,
    alpha=0.3,
    beta=0.6,
)

# --- convolution, matrix products, pooling

for padding in ("SAME", "VALID"):
    out = (1, 4, 4, 4) if padding == "SAME" else (1, 3, 2, 4)
    case(
        f"CONV_2D-{padding}",
        "CONV_2D",
        [t(1, 7, 8, 3), const(floats(4, 3, 4, 3)), const(floats(4))],
        [t(*out)],
        padding=padding,
        stride_h=2,
        stride_w=2,
        fused_activation_function="RELU",
    )
    case(
        f"DEPTHWISE-{padding}",
        "DEPTHWISE_CONV_2D",
        [t(1, 7, 8, 3), const(floats(1, 3, 3, 6)), const(floats(6))],
        [t(*out[:3], 6)],
        padding=padding,
        stride_h=2,
        stride_w=2,
        depth_multiplier=2,
        fused_activation_function="RELU6",
    )
    case(
        f"AVERAGE_POOL-{padding}",
        "AVERAGE_POOL_2D",
        [t(1, 7, 8, 3)],
        [t(*out[:3], 3)],
        padding=padding,
        stride_h=2,
        stride_w=2,
        filter_height=3,
        filter_width=4,
    )
    case(
        f"MAX_POOL-{padding}",
        "MAX_POOL_2D",
        [t(1, 7, 8, 3)],
        [t(*out[:3], 3)],
        padding=padding,
        stride_h=2,
        stride_w=2,
        filter_height=3,
        filter_width=4,
        fused_activation_function="RELU",
    )
    case(
        f"L2_POOL-{padding}",
        "L2_POOL_2D",
        [t(1, 7, 8, 3)],
        [t(*out[:3], 3)],
        padding=padding,
        stride_h=2,
        stride_w=2,
        filter_height=3,
        filter_width=4,
    )
    case(
        f"CONV_3D-{padding}",
        "CONV_3D",
        [t(1, 4, 5, 6, 2), const(floats(2, 3, 2, 2, 3)), const(floats(3))],
        [t(1, 2, 3, 3, 3)],
        padding=padding,
        stride_d=2,
        stride_h=2,
        stride_w=2,
    )
case(
    "CONV_2D-dilated",
    "CONV_2D",
    [t(1, 9, 9, 2), const(floats(3, 3, 3, 2)), const(floats(3))],
    [t(1, 9, 9, 3)],
    padding="SAME",
    stride_h=1,
    stride_w=1,
    dilation_h_factor=2,
    dilation_w_factor=3,
)
case(
    "CONV_2D-grouped",
    "CONV_2D",
    [t(1, 5, 5, 4), const(floats(6, 3, 3, 2)), const(floats(6))],
    [t(1, 5, 5, 6)],
    padding="SAME",
    stride_h=1,
    stride_w=1,
)
case(
    "CONV_2D-computed-filter",
    "CONV_2D",
    [t(1, 5, 5, 2), t(3, 2, 2, 2), const(floats(3))],
    [t(1, 5, 5, 3)],
    padding="SAME",
    stride_h=1,
    stride_w=1,
)
case(
    "TRANSPOSE_CONV-SAME",
    "TRANSPOSE_CONV",
    [ints(1, 8, 10, 3), const(floats(3, 3, 3, 2)), t(1, 4, 5, 2)],
    [t(1, 8, 10, 3)],
    padding="SAME",
    stride_h=2,
    stride_w=2,
)
case(
    "TRANSPOSE_CONV-odd",
    "TRANSPOSE_CONV",
    [ints(1, 7, 9, 3), const(floats(3, 3, 4, 2)), t(1, 4, 5, 2)],
    [t(1, 7, 9, 3)],
    padding="SAME",
    stride_h=2,
    stride_w=2,
)
case(
    "TRANSPOSE_CONV-VALID",
    "TRANSPOSE_CONV",
    [ints(1, 9, 15, 3), const(floats(3, 3, 3, 2)), t(1, 4, 5, 2), const(floats(3))],
    [t(1, 9, 15, 3)],
    padding="VALID",
    stride_h=2,
    stride_w=3,
)
case(
    "CONV_3D_TRANSPOSE",
    "CONV_3D_TRANSPOSE",
    [ints(1, 4, 6, 8, 2), const(floats(2, 2, 2, 2, 3)), t(1, 2, 3, 4, 3)],
    [t(1, 4, 6, 8, 2)],
    padding="SAME",
    stride_d=2,
    stride_h=2,
    stride_w=2,
)
case(
    "FULLY_CONNECTED",
    "FULLY_CONNECTED",
    [t(3, 5), const(floats(4, 5)), const(floats(4))],
    [t(3, 4)],
    fused_activation_function="RELU",
)
case("FULLY_CONNECTED-flattens", "FULLY_CONNECTED", [t(2, 3, 5), const(floats(4, 15)), None], [t(2, 4)])
case("FULLY_CONNECTED-keeps", "FULLY_CONNECTED", [t(2, 3, 5), const(floats(4, 5)), None], [t(2, 3, 4)], keep_num_dims=True)
for x, y in ((False, False), (True, False), (False, True), (True, True)):
    case(
        f"BATCH_MATMUL-{x}-{y}",
        "BATCH_MATMUL",
        [t(2, *((4, 3) if x else (3, 4))), t(2, *((5, 4) if y else (4, 5)))],
        [t(2, 3, 5)],
        adj_x=x,
        adj_y=y,
    )

# --- shape and movement

case("RESHAPE", "RESHAPE", [t(2, 6), ints(3, -1)], [t(3, 4)])
case("RESHAPE-option", "RESHAPE", [t(2, 6)], [t(3, 4)], new_shape=[3, 4])
case("SQUEEZE", "SQUEEZE", [t(1, 2, 1, 3)], [t(2, 1, 3)], squeeze_dims=[0])
case("SQUEEZE-all", "SQUEEZE", [t(1, 2, 1, 3)], [t(2, 3)])
case("SQUEEZE-negative", "SQUEEZE", [t(1, 2, 1)], [t(1, 2)], squeeze_dims=[-1])
case("EXPAND_DIMS", "EXPAND_DIMS", [t(2, 3), scalar(-1)], [t(2, 3, 1)])
case("TRANSPOSE", "TRANSPOSE", [t(2, 3, 4), ints(2, 0, 1)], [t(4, 2, 3)])
case("BROADCAST_TO", "BROADCAST_TO", [t(3, 1), ints(2, 3, 4)], [t(2, 3, 4)])
case("TILE", "TILE", [t(2, 3), ints(2, 3)], [t(4, 9)])
case("REVERSE_V2", "REVERSE_V2", [t(2, 3, 4), ints(1)], [t(2, 3, 4)])
case("REVERSE_SEQUENCE", "REVERSE_SEQUENCE", [t(2, 4, 3), ints(2, 3)], [t(2, 4, 3)], seq_dim=1, batch_dim=0)
case("CONCATENATION", "CONCATENATION", [t(2, 3), t(2, 1), t(2, 4)], [t(2, 8)], axis=-1)
case("PACK", "PACK", [t(2, 3), t(2, 3)], [t(2, 2, 3)], axis=1, values_count=2)
case("UNPACK", "UNPACK", [t(2, 3, 2)], [t(2, 2)] * 3, axis=1, num=3)
case("UNPACK-one", "UNPACK", [t(2, 1)], [t(2)], axis=1, num=1)
case("SPLIT", "SPLIT", [scalar(1), t(2, 6)], [t(2, 2)] * 3, num_splits=3)
case("SPLIT-one", "SPLIT", [scalar(1), t(2, 6)], [t(2, 6)], num_splits=1)
case("SPLIT_V", "SPLIT_V", [t(2, 6), ints(1, -1, 2), scalar(1)], [t(2, 1), t(2, 3), t(2, 2)], num_splits=3)
case("PAD", "PAD", [t(2, 3), ints([[1, 0], [2, 1]])], [t(3, 6)])
case("PADV2", "PADV2", [t(2, 3), ints([[1, 0], [2, 1]]), const(1.5)], [t(3, 6)])
case("PADV2-int", "PADV2", [t(2, 3, dtype="int32"), ints([[1, 0], [2, 1]]), scalar(7)], [t(3, 6, dtype="int32")])
case("MIRROR_PAD-REFLECT", "MIRROR_PAD", [t(3, 4), ints([[1, 2], [2, 1]])], [t(6, 7)], mode="REFLECT")
case("MIRROR_PAD-SYMMETRIC", "MIRROR_PAD", [t(3, 4), ints([[1, 2], [2, 1]])], [t(6, 7)], mode="SYMMETRIC")
case("DEPTH_TO_SPACE", "DEPTH_TO_SPACE", [t(1, 2, 3, 8)], [t(1, 4, 6, 2)], block_size=2)
case("SPACE_TO_DEPTH", "SPACE_TO_DEPTH", [t(1, 4, 6, 2)], [t(1, 2, 3, 8)], block_size=2)
case("SPACE_TO_BATCH_ND", "SPACE_TO_BATCH_ND", [t(1, 3, 4, 2), ints(2, 2), ints([[1, 0], [0, 2]])], [t(4, 2, 3, 2)])
case("BATCH_TO_SPACE_ND", "BATCH_TO_SPACE_ND", [t(4, 2, 3, 2), ints(2, 2), ints([[1, 0], [0, 2]])], [t(1, 3, 4, 2)])
case("DILATE", "DILATE", [t(2, 3), ints(2, 3), const(0.5)], [t(3, 7)])
case("SLICE", "SLICE", [t(4, 5), ints(1, 2), ints(2, -1)], [t(2, 3)])
case("STRIDED_SLICE", "STRIDED_SLICE", [t(4, 5), ints(1, 4), ints(4, 0), ints(2, -2)], [t(2, 2)])
case(
    "STRIDED_SLICE-masks",
    "STRIDED_SLICE",
    [t(4, 5, 6), ints(1, 0, 2), ints(3, 0, 3), ints(1, 1, 1)],
    [t(2, 5)],
    begin_mask=2,
    end_mask=2,
    shrink_axis_mask=4,
)
case(
    "STRIDED_SLICE-ellipsis",
    "STRIDED_SLICE",
    [t(2, 3, 4, 5), ints(1, 0, -2), ints(2, 0, -1), ints(1, 1, 1)],
    [t(3, 4)],
    ellipsis_mask=2,
    shrink_axis_mask=5,
)
case(
    "STRIDED_SLICE-new-axis",
    "STRIDED_SLICE",
    [t(3, 4), ints(0, 0, 1), ints(3, 0, 3), ints(1, 1, 1)],
    [t(3, 1, 2)],
    new_axis_mask=2,
)
case("STRIDED_SLICE-reverse", "STRIDED_SLICE", [t(5), ints(0), ints(0), ints(-1)], [t(5)], begin_mask=1, end_mask=1)
case("DYNAMIC_UPDATE_SLICE", "DYNAMIC_UPDATE_SLICE", [t(4, 5), t(2, 3), t(2, dtype="int32")], [t(4, 5)])

# --- reductions, indices

for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
    case(name, name, [t(2, 3, 4), ints(0, -1)], [t(3)], keep_dims=False)
    case(f"{name}-keep", name, [t(2, 3, 4), ints(1)], [t(2, 1, 4)], keep_dims=True)
case("REDUCE_ALL", "REDUCE_ALL", [t(3, 3, dtype="bool"), ints(1)], [t(3, dtype="bool")], keep_dims=False)
case("REDUCE_ANY", "REDUCE_ANY", [t(3, 3, dtype="bool"), scalar(0)], [t(3, dtype="bool")], keep_dims=False)
case("ARG_MAX", "ARG_MAX", [t(3, 7), scalar(-1)], [t(3, dtype="int64")], output_type="INT64")
case("ARG_MIN", "ARG_MIN", [t(3, 7), scalar(0)], [t(7, dtype="int32")], output_type="INT32")
case("CUMSUM", "CUMSUM", [t(3, 7), scalar(1)], [t(3, 7)], exclusive=True, reverse=True)
case("TOPK_V2", "TOPK_V2", [t(3, 7), scalar(4)], [t(3, 4), t(3, 4, dtype="int32")])
case("GATHER", "GATHER", [t(3, 4, 5), ints([[2, 0], [1, 1]])], [t(3, 2, 2, 5)], axis=1)
case("GATHER-batch", "GATHER", [t(2, 4, 5), ints([[2, 0], [1, 1]])], [t(2, 2, 5)], axis=1, batch_dims=1)
case("GATHER_ND", "GATHER_ND", [t(3, 4, 5), ints([[2, 0], [1, 1]])], [t(2, 5)])
case("EMBEDDING_LOOKUP", "EMBEDDING_LOOKUP", [ints(2, 0, 1), t(3, 4)], [t(3, 4)])
case("SCATTER_ND", "SCATTER_ND", [ints([[1], [3], [1]]), t(3, 2), ints(4, 2)], [t(4, 2)])
case("SEGMENT_SUM", "SEGMENT_SUM", [t(4, 2), ints(0, 0, 1, 2)], [t(3, 2)])
for name in ("SUM", "PROD", "MAX", "MIN"):
    case(f"UNSORTED_SEGMENT_{name}", f"UNSORTED_SEGMENT_{name}", [t(4, 2), ints(2, 0, 0, 2), scalar(3)], [t(3, 2)])
case("SPARSE_TO_DENSE", "SPARSE_TO_DENSE", [ints([[0, 1], [2, 0]]), ints(3, 2), t(2), const(0.5)], [t(3, 2)])
case("ONE_HOT", "ONE_HOT", [ints(1, -1, 3, 0), scalar(4), t(), t()], [t(4, 4)], axis=-1)
case("ONE_HOT-axis", "ONE_HOT", [ints([1, 2]), scalar(4), t(), t()], [t(4, 2)], axis=0)
case("MATRIX_DIAG", "MATRIX_DIAG", [t(2, 3)], [t(2, 3, 3)])
case("MATRIX_SET_DIAG", "MATRIX_SET_DIAG", [t(2, 3, 4), t(2, 3)], [t(2, 3, 4)])
case("BUCKETIZE", "BUCKETIZE", [t(2, 5)], [t(2, 5, dtype="int32")], boundaries=[-1.0, 0.0, 0.5])

# --- shapes and types

case("FILL", "FILL", [ints(2, 3), t()], [t(2, 3)])
case("ZEROS_LIKE", "ZEROS_LIKE", [t(2, 3)], [t(2, 3)])
case("CAST", "CAST", [t(2, 3)], [t(2, 3, dtype="int32")])
case("CAST-bool", "CAST", [t(2, 3, dtype="bool")], [t(2, 3)])
case("FAKE_QUANT", "FAKE_QUANT", [t(3, 9)], [t(3, 9)], min=-1.0, max=1.3, num_bits=8, narrow_range=False)
for most in (0.5, 1.0, 2.5):  # 0 lies between two steps, 127.49999 from the first in float32
    for bits in (4, 8):
        case(f"FAKE_QUANT-symmetric-{most}-{bits}", "FAKE_QUANT", [t(3, 99)], [t(3, 99)], min=-most, max=most, num_bits=bits)
case("DEQUANTIZE-f16", "DEQUANTIZE", [const(floats(3, 4).astype(np.float16), "float16")], [t(3, 4)])
for corners, centres in ((False, False), (True, False), (False, True)):
    for name in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        for size in ((7, 9), (3, 2)):
            case(
                f"{name}-{corners}-{centres}-{size}",
                name,
                [t(1, 4, 5, 2), ints(*size)],
                [t(1, *size, 2)],
                align_corners=corners,
                half_pixel_centers=centres,
            )


@pytest.mark.parametrize(("low", "high", "bits"), [
    (-1.0, 2.0, 15), (-1.0, 1.0, 8), (-0.37, 5.1, 8), (0.0, 6.0, 8), (-5.0, 0.0, 8), (-3.0, 2.5, 4), (-8.0, 7.999755859375, 16)])
def test_fake_quantization_rounds_halves_up(
    write: Callable[..., bytes], judge: Callable[..., Any], low: float, high: float, bits: int,
) -> None:
    """All halves, and the numbers next to them: those below 0 went down, and quotients are halves where LiteRT's are not."""
    scale, point = nudged(low, high, 0, (1 << bits) - 1)
    x = ((np.arange(-2, 1 << bits) - point + 0.5) * float(scale)).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(9)), np.nextafter(x, np.float32(-9))])
    attributes = {"min": low, "max": high, "num_bits": bits, "narrow_range": False}
    judge(write("FAKE_QUANT", [t(*x.shape)], [t(*x.shape)], attributes), {"in0": x}, tolerance=1e-6)


def test_nan_is_beyond_all_boundaries(write: Callable[..., bytes], judge: Callable[..., Any]) -> None:
    given = np.array([[np.nan, np.inf, -np.inf, 0.0, 0.5]], np.float32)
    content = write("BUCKETIZE", [t(1, 5)], [t(1, 5, dtype="int32")], {"boundaries": [-1.0, 0.0, 0.5]})
    judge(content, {"in0": given})


@pytest.mark.parametrize("divisor", [2.0, -0.25, 3.0, 0.3])
def test_quotients_rounded_down_are_one_op_that_stays_float(write: Callable[..., bytes], divisor: float) -> None:
    """Of what is left of a division, in steps of integers, most came to lie on another whole number."""
    content = write("FLOOR_DIV", [t(4, 64), const([divisor])], [t(4, 64)])
    samples = [{"in0": np.random.default_rng(seed).uniform(-20, 20, (4, 64)).astype(np.float32)} for seed in range(4)]
    module = read_bytes(content)
    hub = transload.legalize(module)
    assert [op.name for op in hub.ops() if op.name.startswith("top.")] == ["top.Weight", "top.FloorDiv"]
    quantized = transload.quantize(hub, "int8", samples)
    for sample in samples:
        (made,) = transload.run(quantized, sample).values()
        np.testing.assert_array_equal(made, np.floor(sample["in0"].astype(np.float64) / np.float32(divisor)).astype(np.float32))


def test_quotients_of_f32_are_rounded_down_as_by_litert(write: Callable[..., bytes], tmp_path: Path) -> None:
    """In f64, and written as the same operator again: beyond 2^24, too, and of a quotient that is nearly whole or no f32."""
    rng = np.random.default_rng(3)
    b = rng.normal(size=4000).astype(np.float32)
    a = np.concatenate([(rng.integers(-99, 99, 2000) * b[:2000]).astype(np.float32), (b[2000:] * 1e8).astype(np.float32)])
    a[:8], b[:8] = (6, 1, -1e-40, 3, np.inf, -0.0, 1e38, np.nan), (0.3, -np.inf, 1e38, -1e-45, 2, 5, 1e-38, 1)
    content = write("FLOOR_DIV", [t(4000), t(4000)], [t(4000)])
    (tmp_path / "given.tflite").write_bytes(content)
    hub = transload.legalize(read_bytes(content))
    lowered = transload.save(transload.lower(hub, "tfl"), tmp_path / "made.tflite")
    (wanted,) = open_model(tmp_path / "given.tflite")({"in0": a, "in1": b}).values()
    for made in (transload.run(hub, {"in0": a, "in1": b}), open_model(lowered)({"in0": a, "in1": b})):
        np.testing.assert_array_equal(next(iter(made.values())), wanted)


@pytest.mark.parametrize("label", CASES)
def test_operator(label: str, write: Callable[..., bytes], judge: Callable[..., Any]) -> None:
    operator, inputs, outputs, options = CASES[label]
    needs_positive = operator in ("LOG", "SQRT", "RSQRT")
    # LiteRT's reference kernel of this operator leaves out the last element of the window, unlike its usual one.
    reference = operator != "LOCAL_RESPONSE_NORMALIZATION"
    version = {"GATHER": 5, "STRIDED_SLICE": 6, "BROADCAST_TO": 2}.get(operator, 1)
    content = write(operator, inputs, outputs, options, version=version)
    judge(content, tolerance=2e-6, low=0.1 if needs_positive else -2.0, reference=reference)

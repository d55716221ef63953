# ruff: noqa: E501 - the table of cases reads best with one case a line
"""Operators in the forms that opset versions gave them, each against onnxruntime; and what they become in `top`.

ONNX's own tests of the newest form of every operator run in `test_backend.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import transload
from transload.errors import ConversionError
from transload.ir import QuantType

from tests.support.judge_versions import newer_onnxruntime
from tests.support.onnx_models import make_model, node, op_names, read_model

G = np.random.default_rng(3)
F = lambda *shape: G.standard_normal(shape).astype(np.float32)  # noqa: E731
I = lambda *values: np.array(values, np.int64)  # noqa: E731
X4 = F(2, 3, 5, 7)

Case = tuple[str, Any, dict[str, Any], dict[str, Any], int]
CASES: list[Case] = [
    # arithmetic
    ("add broadcasts", node("Add", ["x", "w"], ["y"]), {"x": X4}, {"w": F(3, 1, 7)}, 7),
    ("sum of three", node("Sum", ["x", "w", "x"], ["y"]), {"x": X4}, {"w": F(1, 1)}, 8),
    ("mean of three", node("Mean", ["x", "w", "x"], ["y"]), {"x": X4}, {"w": F(5, 1)}, 13),
    ("integers divide towards zero", node("Div", ["x", "w"], ["y"]), {"x": np.array([-7, 7, 8], np.int32)}, {"w": np.array([2, -2, 3], np.int32)}, 14),
    ("power of floats by integers", node("Pow", ["x", "w"], ["y"]), {"x": F(4)}, {"w": I(2, 3, 1, 0)}, 15),
    ("power of integers by floats", node("Pow", ["x", "w"], ["y"]), {"x": np.array([2, 3], np.int32)}, {"w": np.array([2.5, 2], np.float32)}, 15),
    ("power beyond f32's whole numbers", node("Pow", ["x", "w"], ["y"]), {"x": I(3, 3), "w": np.array([20, 21], np.float32)}, {}, 15),
    ("power of an integer that no f32 is", node("Pow", ["x", "w"], ["y"]), {"x": np.array([16777217], np.int32)}, {"w": np.float32(1)}, 15),
    ("power of an integer that no f16 is", node("Pow", ["x", "w"], ["y"]), {"x": np.array([7], np.int32), "w": np.array([7], np.float16)}, {}, 15),
    ("power by a wider integer", node("Pow", ["x", "w"], ["y"]), {"x": np.array([0, -1, -1, 1, -1, 3], np.int32), "w": I(1 << 32, (1 << 32) + 1, 1 << 40, 1 << 40, -(1 << 32) - 1, 5)}, {}, 15),
    ("power of floats by a float that their type is not", node("Pow", ["x", "w"], ["y"]), {"x": np.array([1e30, 1e30], np.float32), "w": np.array([1.23456789, -1.1])}, {}, 15),
    ("power of floats by an integer that their type is not", node("Pow", ["x", "w"], ["y"]), {"x": np.array([-1, -1], np.float32), "w": I((1 << 24) + 1, 1 << 24)}, {}, 15),
    ("modulo with the divisor's sign", node("Mod", ["x", "w"], ["y"]), {"x": I(-7, 7, -8)}, {"w": I(3, -3, 5)}, 13),
    ("modulo as C's fmod", node("Mod", ["x", "w"], ["y"], fmod=1), {"x": F(6)}, {"w": F(6)}, 13),
    ("prelu with a slope per channel", node("PRelu", ["x", "w"], ["y"]), {"x": X4}, {"w": F(3, 1, 1)}, 9),
    ("infinite of one sign", node("IsInf", ["x"], ["y"], detect_negative=0), {"x": np.array([1, np.inf, -np.inf], np.float32)}, {}, 10),
    ("shift right", node("BitShift", ["x", "w"], ["y"], direction="RIGHT"), {"x": np.array([255, 16, 3], np.uint8)}, {"w": np.array([1, 3, 9], np.uint8)}, 11),
    # activations
    ("clip by attributes", node("Clip", ["x"], ["y"], min=-0.5, max=0.25), {"x": X4}, {}, 7),
    ("clip without an upper limit", node("Clip", ["x", "a"], ["y"]), {"x": X4}, {"a": np.float32(0.1)}, 12),
    ("clip of integers", node("Clip", ["x", "a", "b"], ["y"]), {"x": I(-5, 0, 1 << 60)}, {"a": np.int64(-1), "b": np.int64((1 << 55) + 1)}, 12),
    ("clip by inputs", node("Clip", ["x", "a", "b"], ["y"]), {"x": X4, "a": np.float32(-0.1), "b": np.float32(0.3)}, {}, 13),
    ("softmax over all from the axis", node("Softmax", ["x"], ["y"], axis=2), {"x": X4}, {}, 11),
    ("softmax of old by default", node("Softmax", ["x"], ["y"]), {"x": X4}, {}, 11),
    ("softmax along the axis", node("Softmax", ["x"], ["y"], axis=1), {"x": X4}, {}, 13),
    ("log softmax of old", node("LogSoftmax", ["x"], ["y"], axis=-2), {"x": X4}, {}, 11),
    ("hardmax of old", node("Hardmax", ["x"], ["y"], axis=1), {"x": X4}, {}, 11),
    ("gelu by tanh", node("Gelu", ["x"], ["y"], approximate="tanh"), {"x": X4}, {}, 20),
    ("selu", node("Selu", ["x"], ["y"]), {"x": X4}, {}, 7),
    ("shrink", node("Shrink", ["x"], ["y"], bias=0.1, lambd=0.4), {"x": X4}, {}, 9),
    # convolution and pooling
    ("conv in groups", node("Conv", ["x", "w", "b"], ["y"], group=2, pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2]), {"x": F(1, 4, 9, 8)}, {"w": F(6, 2, 3, 3), "b": F(6)}, 11),
    ("conv in one dimension", node("Conv", ["x", "w"], ["y"], auto_pad="SAME_LOWER", strides=[2]), {"x": F(2, 3, 10)}, {"w": F(4, 3, 4)}, 11),
    ("conv in three dimensions", node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER"), {"x": F(1, 2, 4, 5, 6)}, {"w": F(3, 2, 3, 2, 3)}, 11),
    ("conv with computed weights", node("Conv", ["x", "w"], ["y"]), {"x": F(1, 2, 5, 5), "w": F(3, 2, 3, 3)}, {}, 11),
    ("transposed conv", node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 3], pads=[1, 0, 1, 2], output_padding=[1, 0], group=2), {"x": F(1, 4, 4, 5)}, {"w": F(4, 3, 3, 4), "b": F(6)}, 11),
    ("transposed conv to a shape", node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], output_shape=[9, 8], auto_pad="SAME_UPPER"), {"x": F(1, 2, 4, 4)}, {"w": F(2, 3, 4, 3)}, 11),
    ("transposed conv in one dimension", node("ConvTranspose", ["x", "w"], ["y"], strides=[2], dilations=[2]), {"x": F(1, 2, 4)}, {"w": F(2, 3, 3)}, 11),
    ("max pool, rounded up", node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), {"x": F(1, 2, 6, 9)}, {}, 11),
    ("max pool with holes", node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[2, 3], pads=[0, 1, 1, 1]), {"x": F(1, 2, 6, 9)}, {}, 11),
    ("max pool, same", node("MaxPool", ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_LOWER"), {"x": X4}, {}, 8),
    ("average pool with padding", node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]), {"x": X4}, {}, 7),
    ("average pool, padding counted", node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1), {"x": X4}, {}, 11),
    ("average pool, rounded up, padding counted", node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[3, 2], ceil_mode=1, count_include_pad=1), {"x": F(1, 2, 6, 8)}, {}, 19),
    ("average pool with holes", node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1]), {"x": X4}, {}, 19),
    ("average pool in one dimension", node("AveragePool", ["x"], ["y"], kernel_shape=[3], strides=[2]), {"x": F(1, 2, 9)}, {}, 11),
    ("norm pool", node("LpPool", ["x"], ["y"], kernel_shape=[2, 3], p=3, pads=[0, 1, 0, 1]), {"x": X4}, {}, 18),
    ("global average of three dimensions", node("GlobalAveragePool", ["x"], ["y"]), {"x": F(1, 2, 3, 4, 5)}, {}, 7),
    ("global maximum", node("GlobalMaxPool", ["x"], ["y"]), {"x": X4}, {}, 7),
    # normalization
    ("batch norm", node("BatchNormalization", ["x", "g", "b", "m", "v"], ["y"], epsilon=0.01), {"x": X4}, {"g": F(3), "b": F(3), "m": F(3), "v": np.abs(F(3))}, 9),
    ("instance norm", node("InstanceNormalization", ["x", "g", "b"], ["y"]), {"x": X4}, {"g": F(3), "b": F(3)}, 7),
    ("layer norm of the last two", node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-2), {"x": X4}, {"g": F(5, 7), "b": F(5, 7)}, 17),
    ("group norm with a scale per group", node("GroupNormalization", ["x", "g", "b"], ["y"], num_groups=2), {"x": F(2, 6, 3, 3)}, {"g": F(2), "b": F(2)}, 18),
    ("local response", node("LRN", ["x"], ["y"], size=3, alpha=0.1, beta=0.6, bias=2.0), {"x": X4}, {}, 7),
    ("1-norm", node("LpNormalization", ["x"], ["y"], axis=1, p=1), {"x": X4}, {}, 7),
    ("2-norm", node("LpNormalization", ["x"], ["y"]), {"x": X4}, {}, 7),
    # products
    ("matmul of vectors", node("MatMul", ["x", "w"], ["y"]), {"x": F(4)}, {"w": F(4, 3)}, 9),
    ("matmul broadcasts", node("MatMul", ["x", "w"], ["y"]), {"x": F(2, 1, 3, 4)}, {"w": F(5, 4, 2)}, 9),
    ("gemm with everything", node("Gemm", ["x", "w", "c"], ["y"], alpha=0.5, beta=2.0, transA=1, transB=1), {"x": F(4, 3)}, {"w": F(5, 4), "c": F(3, 1)}, 11),
    ("gemm with a scalar", node("Gemm", ["x", "w", "c"], ["y"]), {"x": F(4, 3)}, {"w": F(3, 5), "c": F(1)}, 7),
    ("gemm by infinity", node("Gemm", ["x", "z"], ["y"], alpha=float("inf")), {"x": F(4, 3), "z": F(3, 2)}, {}, 11),
    ("gemm by much", node("Gemm", ["x", "w", "c"], ["y"], alpha=3e38), {"x": F(4, 3)}, {"w": F(3, 5), "c": F(5)}, 11),
    ("gemm of two inputs", node("Gemm", ["x", "z"], ["y"], alpha=0.3), {"x": F(4, 3), "z": F(3, 2)}, {}, 11),
    ("einsum", node("Einsum", ["x", "w"], ["y"], equation="bij, bjk -> bki"), {"x": F(2, 3, 4)}, {"w": F(2, 4, 5)}, 12),
    # reductions
    ("mean over axes in an attribute", node("ReduceMean", ["x"], ["y"], axes=[1, -1], keepdims=0), {"x": X4}, {}, 11),
    ("mean over axes in an operand", node("ReduceMean", ["x", "a"], ["y"]), {"x": X4}, {"a": I(2)}, 18),
    ("sum over axes in an operand", node("ReduceSum", ["x", "a"], ["y"], keepdims=0), {"x": X4}, {"a": I(0, 3)}, 13),
    ("sum over everything", node("ReduceSum", ["x"], ["y"]), {"x": X4}, {}, 13),
    ("sum over nothing", node("ReduceSum", ["x"], ["y"], noop_with_empty_axes=1), {"x": X4}, {}, 13),
    ("log of sum of exponentials", node("ReduceLogSumExp", ["x"], ["y"], axes=[1]), {"x": X4}, {}, 13),
    ("last greatest", node("ArgMax", ["x"], ["y"], axis=1, select_last_index=1, keepdims=0), {"x": np.round(X4)}, {}, 12),
    ("running sum", node("CumSum", ["x", "a"], ["y"], exclusive=1, reverse=1), {"x": X4}, {"a": np.int32(-1)}, 11),
    # movement
    ("reshape keeps a size", node("Reshape", ["x", "s"], ["y"]), {"x": X4}, {"s": I(0, -1, 7)}, 8),
    ("flatten by a negative axis", node("Flatten", ["x"], ["y"], axis=-1), {"x": X4}, {}, 11),
    ("squeeze by attribute", node("Squeeze", ["x"], ["y"], axes=[0, 2]), {"x": F(1, 3, 1, 1)}, {}, 11),
    ("squeeze of all ones", node("Squeeze", ["x"], ["y"]), {"x": F(1, 3, 1)}, {}, 13),
    ("unsqueeze by attribute", node("Unsqueeze", ["x"], ["y"], axes=[0, -1]), {"x": F(3, 2)}, {}, 11),
    ("transpose reverses", node("Transpose", ["x"], ["y"]), {"x": X4}, {}, 7),
    ("slice by attributes", node("Slice", ["x"], ["y"], starts=[1, -3], ends=[100, -1], axes=[1, 3]), {"x": X4}, {}, 9),
    ("slice backwards past the first", node("Slice", ["x", "s", "e", "a", "t"], ["y"]), {"x": X4}, {"s": I(-1, 4), "e": I(-(1 << 40), 0), "a": I(-1, 2), "t": I(-2, -1)}, 13),
    ("slice backwards from before the first", node("Slice", ["x", "s", "e", "a", "t"], ["y"]), {"x": X4}, {"s": I(-100), "e": I(-(1 << 40)), "a": I(-1), "t": I(-1)}, 13),
    ("slice of nothing", node("Slice", ["x", "s", "e"], ["y"]), {"x": F(3, 2)}, {"s": I(2), "e": I(1)}, 13),
    ("join of no elements", node("Concat", ["x", "x"], ["y"], axis=0), {"x": F(2, 0)}, {}, 11),
    ("split by attribute", [node("Split", ["x"], ["a", "b"], axis=3, split=[2, 5]), node("Concat", ["b", "a"], ["y"], axis=-1)], {"x": X4}, {}, 11),
    ("split into uneven parts", [node("Split", ["x"], ["a", "b"], axis=3, num_outputs=2), node("Concat", ["b", "a"], ["y"], axis=-1)], {"x": X4}, {}, 18),
    ("pad by attributes", node("Pad", ["x"], ["y"], pads=[0, 0, 1, 2, 0, 0, 3, 0], value=1.5), {"x": X4}, {}, 10),
    ("pad and crop", node("Pad", ["x", "p", "v"], ["y"]), {"x": X4}, {"p": I(0, 1, -1, 2, 0, 0, 0, -2), "v": np.float32(-3)}, 13),
    ("pad some axes", node("Pad", ["x", "p", "", "a"], ["y"], mode="reflect"), {"x": X4}, {"p": I(2, 1, 1, 3), "a": I(2, -1)}, 18),
    ("determinants of small matrices", node("Det", ["x"], ["y"]), {"x": F(2, 4, 3, 3)}, {}, 11),
    ("a determinant with a pivot that is 0 at first", node("Det", ["x"], ["y"]), {"x": np.fliplr(np.eye(5, dtype=np.float32)) + np.triu(F(5, 5), 2)}, {}, 11),
    ("determinants by elimination", node("Det", ["x"], ["y"]), {"x": F(3, 7, 7)}, {}, 11),
    ("a determinant of columns that repeat", node("Det", ["x"], ["y"]), {"x": np.tile(F(6, 3), 2)}, {}, 11),
    ("pad by wrapping what is left", node("Pad", ["x", "p"], ["y"], mode="wrap"), {"x": F(6, 5)}, {"p": I(-1, 2, 2, -2)}, 19),
    ("pad by wrapping", node("Pad", ["x", "p"], ["y"], mode="wrap"), {"x": F(3, 4)}, {"p": I(1, 2, 5, 0)}, 19),
    ("pad with a computed value", node("Pad", ["x", "p", "v"], ["y"]), {"x": F(2, 2), "v": np.array(2.5, np.float32)}, {"p": I(1, 0, 0, 1)}, 13),
    ("pad with integers that no float is", [node("Pad", ["x", "p", "v"], ["y"])], {"x": I(1, 2)}, {"p": I(1, 1), "v": I(2**62 + 1)}, 13),
    ("pad with the greatest integer", [node("Pad", ["x", "p", "v"], ["y"])], {"x": I(1, 2)}, {"p": I(1, 1), "v": I(2**63 - 1)}, 13),
    ("pad with a great unsigned integer", [node("Pad", ["x", "p", "v"], ["y"])], {"x": np.uint64([1, 2])}, {"p": I(1, 1), "v": np.uint64([2**63 + 1])}, 13),
    ("tile", node("Tile", ["x", "r"], ["y"]), {"x": F(2, 3)}, {"r": I(2, 3)}, 13),
    ("expand both ways", node("Expand", ["x", "s"], ["y"]), {"x": F(3, 1)}, {"s": I(2, 1, 4)}, 13),
    ("depth to space, columns first", node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="CRD"), {"x": F(1, 8, 2, 3)}, {}, 11),
    ("space to depth", node("SpaceToDepth", ["x"], ["y"], blocksize=2), {"x": F(1, 2, 4, 6)}, {}, 13),
    ("gather with negative indices", node("Gather", ["x", "i"], ["y"], axis=2), {"x": X4}, {"i": np.array([[0, -1], [3, -5]])}, 13),
    ("gather with computed negative indices", node("Gather", ["x", "i"], ["y"], axis=-1), {"x": X4, "i": I(-1, 2)}, {}, 13),
    ("scatter of old", node("Scatter", ["x", "i", "u"], ["y"], axis=1), {"x": F(2, 5)}, {"i": np.array([[1, 3], [0, 4]]), "u": F(2, 2)}, 9),
    ("cache written at computed places", node("TensorScatter", ["x", "u", "n"], ["y"]), {"x": F(2, 3, 5, 4), "u": F(2, 3, 2, 4), "n": I(3, 0)}, {}, 24),
    ("cache written round its end", node("TensorScatter", ["x", "u", "n"], ["y"], axis=1, mode="circular"), {"x": F(2, 5, 3), "u": F(2, 3, 3), "n": I(4, 11)}, {}, 24),
    ("cache written at known places", node("TensorScatter", ["x", "u", "n"], ["y"], axis=-1), {"x": F(2, 3, 5), "u": F(2, 3, 1)}, {"n": I(4, 2)}, 24),
    ("scatter adding", node("ScatterND", ["x", "i", "u"], ["y"], reduction="add"), {"x": F(4, 3)}, {"i": np.array([[1], [1], [3]]), "u": F(3, 3)}, 16),
    ("compress", node("Compress", ["x", "c"], ["y"], axis=1), {"x": F(2, 4)}, {"c": np.array([True, False, True])}, 11),
    ("one hot with negative places", node("OneHot", ["x", "d", "v"], ["y"], axis=1), {"x": I(0, -1, 7)}, {"d": np.int64(4), "v": np.array([-1, 5], np.float32)}, 11),
    ("trilu", node("Trilu", ["x", "k"], ["y"], upper=0), {"x": F(3, 4)}, {"k": np.int64(1)}, 14),
    # resizing
    ("upsample by attribute", node("Upsample", ["x"], ["y"], scales=[1.0, 1.0, 2.0, 3.0]), {"x": X4}, {}, 7),
    ("upsample linearly", node("Upsample", ["x", "s"], ["y"], mode="linear"), {"x": X4}, {"s": np.array([1, 1, 2, 1.5], np.float32)}, 9),
    ("resize of opset 10", node("Resize", ["x", "s"], ["y"], mode="nearest"), {"x": X4}, {"s": np.array([1, 1, 0.6, 2.5], np.float32)}, 10),
    ("resize linearly", node("Resize", ["x", "", "s"], ["y"], mode="linear"), {"x": X4}, {"s": np.array([1, 1, 1.7, 0.8], np.float32)}, 13),
    ("resize by corners", node("Resize", ["x", "", "", "n"], ["y"], mode="linear", coordinate_transformation_mode="align_corners"), {"x": X4}, {"n": I(2, 3, 9, 4)}, 13),
    ("resize by cubic", node("Resize", ["x", "", "", "n"], ["y"], mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1), {"x": X4}, {"n": I(2, 3, 8, 9)}, 13),
    ("resize of channels last", node("Resize", ["x", "", "s"], ["y"], mode="linear"), {"x": F(1, 5, 6, 2)}, {"s": np.array([1, 2, 2, 1], np.float32)}, 13),
    ("resize nearest to the same sizes, half_pixel", node("Resize", ["x", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode="half_pixel"), {"x": F(1, 1, 10, 44)}, {"s": np.array([1, 1, 1.05, 1.0172391], np.float32)}, 13),
    ("resize linear to the same sizes, half_pixel", node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="half_pixel"), {"x": F(1, 1, 10, 44)}, {"s": np.array([1, 1, 1.05, 1.0172391], np.float32)}, 13),
    ("resize cubic to the same sizes, half_pixel", node("Resize", ["x", "", "s"], ["y"], mode="cubic", coordinate_transformation_mode="half_pixel"), {"x": F(1, 1, 10, 44)}, {"s": np.array([1, 1, 1.05, 1.0172391], np.float32)}, 13),
    ("resize nearest to the same sizes, align_corners", node("Resize", ["x", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode="align_corners"), {"x": F(1, 1, 10, 44)}, {"s": np.array([1, 1, 1.05, 1.0172391], np.float32)}, 13),
    ("resize linear to the same sizes, align_corners", node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="align_corners"), {"x": F(1, 1, 10, 44)}, {"s": np.array([1, 1, 1.05, 1.0172391], np.float32)}, 13),
    ("resize cubic to the same sizes, align_corners", node("Resize", ["x", "", "s"], ["y"], mode="cubic", coordinate_transformation_mode="align_corners"), {"x": F(1, 1, 10, 44)}, {"s": np.array([1, 1, 1.05, 1.0172391], np.float32)}, 13),
    ("resize to the same sizes and another", node("Resize", ["x", "", "s"], ["y"], mode="linear"), {"x": F(1, 1, 10, 10)}, {"s": np.array([1, 1, 1.05, 2], np.float32)}, 13),
    ("upsample to the same sizes", node("Upsample", ["x", "s"], ["y"], mode="nearest"), {"x": F(1, 1, 10, 44)}, {"s": np.array([1, 1, 1.05, 1.0172391], np.float32)}, 9),
    ("upsample to sizes of 32 bits", node("Upsample", ["x"], ["y"], mode="nearest", scales=[1.0, 1.0, 1.3, 1.3]), {"x": F(1, 1, 50, 50)}, {}, 7),
    ("resize of opset 10 to sizes of 32 bits", node("Resize", ["x", "s"], ["y"], mode="linear"), {"x": F(1, 1, 50, 50)}, {"s": np.array([1, 1, 1.3, 1.3], np.float32)}, 10),
    ("resize of one axis", node("Resize", ["x", "", "", "n"], ["y"], axes=[2], mode="nearest", nearest_mode="ceil"), {"x": X4}, {"n": I(8)}, 18),
    ("crop at halves", node("Resize", ["x", "r", "", "n"], ["y"], mode="nearest", nearest_mode="round_prefer_ceil", coordinate_transformation_mode="tf_crop_and_resize"), {"x": F(1, 1, 21, 39)}, {"r": np.array([0, 0, 0, 0.1, 1, 1, 0.9, 0.75], np.float32), "n": I(1, 1, 49, 24)}, 13),
    # recurrent
    ("lstm both ways", node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=3, direction="bidirectional"), {"x": F(5, 2, 4)}, {"w": F(2, 12, 4), "r": F(2, 12, 3), "b": F(2, 24)}, 7),
    ("lstm of some steps", node("LSTM", ["x", "w", "r", "", "n"], ["y"], hidden_size=3), {"x": F(5, 2, 4)}, {"w": F(1, 12, 4), "r": F(1, 12, 3), "n": np.array([3, 5], np.int32)}, 7),
    ("gru, reset after", node("GRU", ["x", "w", "r", "b", "", "h"], ["", "y"], hidden_size=3, linear_before_reset=1, direction="reverse"), {"x": F(5, 2, 4)}, {"w": F(1, 9, 4), "r": F(1, 9, 3), "b": F(1, 18), "h": F(1, 2, 3)}, 7),
    ("rnn with another activation", node("RNN", ["x", "w", "r"], ["y"], hidden_size=3, activations=["Relu"]), {"x": F(5, 2, 4)}, {"w": F(1, 3, 4), "r": F(1, 3, 3)}, 7),
    # casts
    ("cast truncates", node("Cast", ["x"], ["y"], to=TensorProto.INT8), {"x": np.array([-1.9, 1.9, 100.5], np.float32)}, {}, 9),
    ("cast to truth", node("Cast", ["x"], ["y"], to=TensorProto.BOOL), {"x": np.array([0, -0.5, 2], np.float32)}, {}, 9),
]


OTHERWISE = {"sum over nothing": newer_onnxruntime("expects one number of it")}


@pytest.mark.parametrize(("nodes", "inputs", "constants", "opset"), [
    pytest.param(*case[1:], id=case[0], marks=OTHERWISE.get(case[0], ())) for case in CASES])
def test_as_onnxruntime(compare: Callable[..., Any], nodes: Any, inputs: Any, constants: Any, opset: int) -> None:
    compare(nodes, inputs, ("y",), constants, opset=opset)


def becomes(nodes: Any, inputs: dict[str, Any], constants: dict[str, Any] | None = None, opset: int = 17) -> list[str]:
    return op_names(transload.legalize(read_model(make_model(nodes, inputs, ["y"], constants, opset=opset))))


@pytest.mark.parametrize("more", [{"strides": [2, 2]}, {"strides": [2, 1], "pads": [1, 0, 1, 1]}, {"dilations": [2, 2]},
                                  {"strides": [2, 2], "ceil_mode": 1}])
def test_the_places_of_greatest_elements(compare: Callable[..., Any], normal: Callable[..., Any], more: dict[str, Any]) -> None:
    compare(node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 2], **more), {"x": normal(2, 3, 8, 7)}, ("y", "i"))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_the_places_of_greatest_integers(compare: Callable[..., Any], dtype: Any) -> None:
    x = np.random.default_rng(0).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (2, 3, 8, 7), dtype, endpoint=True)
    compare(node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 2], pads=[1, 1, 1, 0]), {"x": x}, ("y", "i"), atol=0.0)


@pytest.mark.parametrize(("kernel", "more"), [
    ([2, 2], {"pads": [1, 1, 1, 1]}), ([1, 3], {"pads": [0, 1, 0, 1], "storage_order": 1}),
    ([3, 2], {"pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}), ([2, 2], {"strides": [2, 2]}),
])
def test_the_greatest_of_what_is_endlessly_small(compare: Callable[..., Any], normal: Callable[..., Any], kernel: list[int],
                                                 more: dict[str, Any]) -> None:
    """The padding is never the greatest element of a window, of which the first is, where all are negative infinity."""
    x = normal(2, 3, 5, 6)
    x = np.where((normal(2, 3, 5, 6) > 0.2) & (np.arange(6) < 5), x, -np.inf).astype(np.float32)
    hub = compare(node("MaxPool", ["x"], ["y", "i"], kernel_shape=kernel, **more), {"x": x}, ("y", "i"), atol=0.0)
    wanted = transload.run(hub, {"x": x})
    for name, got in transload.run(transload.lower(hub, to="tosa"), {"x": x}).items():
        np.testing.assert_array_equal(got, wanted[name])


@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
def test_places_in_padded_windows_can_be_quantized(normal: Callable[..., Any], scheme: str) -> None:
    """Nothing on the way is infinite, also where all numbers are below the zeros of a padding."""
    x = normal(1, 2, 6, 6) - 20
    nodes = [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
             node("MaxPool", ["c"], ["y", "i"], kernel_shape=[3, 2], pads=[1, 1, 2, 0], strides=[2, 2], dilations=[1, 2])]
    model = make_model(nodes, {"x": x}, ["y", "i"], {"w": np.abs(normal(3, 2, 3, 3))}, opset=12)
    hub = transload.lower(read_model(model), to="top")
    wanted, found = (transload.run(module, {"x": x}) for module in (hub, transload.quantize(hub, scheme, [{"x": x}])))
    np.testing.assert_allclose(found["y"], wanted["y"], atol=2)
    assert (found["i"] == wanted["i"]).mean() > 0.9


def test_elements_go_back_to_their_places(compare: Callable[..., Any], normal: Callable[..., Any]) -> None:
    pool = node("MaxPool", ["x"], ["h", "i"], kernel_shape=[2, 2], strides=[2, 2])
    back = node("MaxUnpool", ["h", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    compare([pool, back], {"x": normal(2, 3, 6, 8)})


def test_shape_arithmetic_is_computed() -> None:
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Unsqueeze", ["n", "zero1"], ["n1"]),
             node("Concat", ["n1", "rest"], ["to"], axis=0), node("Reshape", ["x", "to"], ["y"])]
    constants = {"zero": np.array(0), "zero1": I(0), "rest": I(-1)}
    assert becomes(nodes, {"x": X4}, constants) == ["Reshape"]


@pytest.mark.parametrize(("limits", "wanted"), [
    ({"min": 0.0}, "Relu"), ({"min": 0.0, "max": 6.0}, "Relu"), ({"min": 0.0, "max": 3.4028234663852886e38}, "Relu"), ({"min": -1.0, "max": 1.0}, "Clip")])
def test_clipping_from_zero_is_relu(limits: dict[str, float], wanted: str) -> None:
    assert becomes([node("Clip", ["x"], ["y"], **limits)], {"x": X4}, opset=7) == [wanted]


@pytest.mark.parametrize("mode", ["asymmetric", "half_pixel"])
def test_repeating_pixels_is_upsample(mode: str) -> None:
    resize = node("Resize", ["x", "", "s"], ["y"], coordinate_transformation_mode=mode,
                  nearest_mode="floor" if mode == "asymmetric" else "round_prefer_floor")
    assert becomes([resize], {"x": X4}, {"s": np.array([1, 1, 2, 2], np.float32)}) == ["Upsample"]


def test_dropout_and_identity_are_nothing() -> None:
    assert becomes([node("Dropout", ["x"], ["h", "mask"]), node("Identity", ["h"], ["i"]), node("Neg", ["i"], ["y"])], {"x": X4}) == ["Neg"]


def test_a_gemm_with_a_bias_is_one_op() -> None:
    assert becomes([node("Gemm", ["x", "w", "b"], ["y"], transB=1)], {"x": F(1, 3)}, {"w": F(4, 3), "b": F(4)}) == ["MatMul"]


def test_an_operator_that_onnx_defines_by_others() -> None:
    names = becomes([node("Attention", ["q", "k", "v"], ["y"])], {key: F(1, 2, 3, 4) for key in "qkv"}, opset=23)
    assert names.count("MatMul") == 2 and "Softmax" in names


def test_names_stay_with_their_values() -> None:
    hub = transload.legalize(read_model(make_model(
        [node("Softmax", ["x"], ["probabilities"], axis=1), node("TopK", ["probabilities", "k"], ["best", "y"])], {"x": X4}, ["y"], {"k": I(2)}, opset=11)))
    values = [result.name for op in hub.ops() for result in op.results]
    assert {"probabilities", "best", "y"} <= set(values)


# --- what cannot be converted


def test_every_cause_is_reported_and_nothing_else() -> None:
    nodes = [node("Enigma", ["b", "s"], ["n"], domain="com.example"), node("Cast", ["n"], ["f"], to=1), node("Mystery", ["x"], ["m"], domain="com.example"),
             node("Mystery", ["m"], ["m2"], domain="com.example"), node("Add", ["f", "m2"], ["y"])]
    with pytest.raises(ConversionError) as caught:
        becomes(nodes, {"b": F(1, 3, 4), "s": F(1, 1, 3), "x": X4})
    whats = [(finding.what, finding.names) for finding in caught.value.findings]
    assert whats == [("onnx.com.example.Enigma", ("n",)), ("onnx.com.example.Mystery", ("m", "m2"))]
    assert "Conversion(extends='onnx-to-top'" in caught.value.findings[0].hint


@pytest.mark.parametrize(("nodes", "inputs", "why"), [
    (node("Reshape", ["x", "s"], ["y"]), {"x": X4, "s": I(2, 105)}, "the new shape must be a constant"),
    (node("NonZero", ["x"], ["y"]), {"x": X4}, "depends on values computed at run time"),
    (node("Transpose", ["x"], ["y"], perm=[0, 1]), {"x": X4}, "is no order of 4 dimensions"),
    (node("Softmax", ["x"], ["y"], axis=9), {"x": X4}, "axis 9 is outside a tensor of rank 4"),
    (node("Concat", ["x", "z"], ["y"], axis=0), {"x": X4, "z": F(2, 3)}, "different ranks"),
    (node("Conv", ["x", "z"], ["y"]), {"x": X4, "z": F(4, 2, 3, 3)}, "channels"),
    (node("LSTM", ["x", "z", "z"], ["y"], hidden_size=2), {"x": X4, "z": F(1, 8, 2)}, "needs one of rank 3"),
    (node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="zz"), {"x": F(1, 8, 2, 2)}, "mode is 'zz', and must be one of DCR, CRD"),
    (node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode="zz"), {"x": F(1, 2, 4, 4)}, "mode is 'zz'"),
    (node("ConvTranspose", ["x", "z"], ["y"], auto_pad="zz"), {"x": X4, "z": F(3, 2, 3, 3)}, "auto_pad is 'zz'"),
    (node("RoiAlign", ["x", "r", "b"], ["y"], coordinate_transformation_mode="zz"),
     {"x": X4, "r": F(2, 4), "b": I(0, 0)}, "coordinate_transformation_mode is 'zz'"),
    (node("NegativeLogLikelihoodLoss", ["x", "l"], ["y"], reduction="zz"), {"x": F(3, 5), "l": I(0, 4, 2)}, "reduction is 'zz'"),
    (node("SoftmaxCrossEntropyLoss", ["x", "l"], ["y"], reduction="zz"), {"x": F(3, 5), "l": I(0, 4, 2)}, "reduction is 'zz'"),
])
def test_reasons(nodes: Any, inputs: dict[str, Any], why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        becomes([nodes], inputs)


def test_text_is_refused() -> None:
    graph = helper.make_graph([node("StringConcat", ["x", "x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.STRING, [2])])
    with pytest.raises(ConversionError):
        transload.legalize(read_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)))


def test_no_quantized_types_without_quantization() -> None:
    hub = transload.legalize(read_model(make_model([node("Relu", ["x"], ["y"])], {"x": X4}, ["y"])))
    assert not any(isinstance(result.element, QuantType) for op in hub.ops() for result in op.results)


def test_a_cast_that_contradicts_the_declared_type_is_refused() -> None:
    """As converters to float16 leave it, and onnxruntime refuses it."""
    model = make_model([node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)], {"x": np.zeros(3, np.int32)}, ("y",))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT16, (3,)))
    with pytest.raises(ConversionError, match="says that its result is of f16"):
        transload.legalize(read_model(model))


@pytest.mark.parametrize(("operator", "shape", "constants"), [
    (node("Resize", ["x", "", "", "n"], ["y"], mode="nearest"), (1, 1, 2, 2), {"n": np.array([1, 1, 2, 1 << 45])}),
    (node("Pad", ["x", "p"], ["y"], mode="wrap"), (2, 2), {"p": np.array([0, 0, 0, 1 << 45])}),
])
def test_tables_that_would_be_too_large_are_refused(
    tmp_path: Path, operator: Any, shape: tuple[int, ...], constants: dict[str, np.ndarray],
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(make_model([operator], {"x": np.zeros(shape, np.float32)}, ("y",), constants, opset=19).SerializeToString())
    with pytest.raises(transload.TransloadError, match=r"too large|elements"):
        transload.lower(transload.load(path), "tosa")


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_running_products_of_what_is_computed(exclusive: int, reverse: int, dtype: type) -> None:
    """onnxruntime has no CumProd."""
    x = G.integers(-3, 4, (2, 7, 3)).astype(dtype) if dtype is np.int32 else F(2, 7, 3)
    given = make_model([node("CumProd", ["x", "a"], ["y"], exclusive=exclusive, reverse=reverse)], {"x": x}, ["y"], {"a": I(1)}, 26)
    wanted = np.flip(x, 1) if reverse else x
    wanted = np.cumprod(np.concatenate([np.ones_like(x[:, :1]), wanted[:, :-1]], 1) if exclusive else wanted, 1, dtype)
    hub = transload.legalize(read_model(given))
    for module in (hub, transload.lower(hub, "tosa"), transload.lower(hub, "stablehlo")):
        (found,) = transload.run(module, {"x": x}).values()
        assert found.dtype == dtype
        np.testing.assert_allclose(found, np.flip(wanted, 1) if reverse else wanted, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_determinants_of_constants(dtype: type) -> None:
    """numpy has none of f16, and those of constants may be of any size."""
    x, z = np.diag(np.linspace(0.5, 1.5, 40)).astype(dtype), np.zeros(1, dtype)
    given = make_model([node("Det", ["x"], ["d"]), node("Add", ["d", "z"], ["y"])], {"z": z}, ["y"], {"x": x}, 22)
    (found,) = transload.run(transload.legalize(read_model(given)), {"z": z}).values()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, [np.linalg.det(x.astype(np.float64)).astype(dtype)])


def test_a_constant_that_is_no_square_has_no_determinant() -> None:
    given = make_model(
        [node("Det", ["x"], ["d"]), node("Add", ["d", "z"], ["y"])], {"z": F(1)}, ["y"], {"x": np.zeros((2, 3), np.float32)}, 22)
    with pytest.raises(ConversionError, match="square matrix"):
        transload.legalize(read_model(given))


@pytest.mark.parametrize(("shape", "why"), [((2, 3), "square matrix"), ((40, 40), "40 rows"), ((4,), "2 dimensions|rank")])
def test_determinants_that_are_refused(shape: tuple[int, ...], why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        transload.legalize(read_model(make_model([node("Det", ["x"], ["y"])], {"x": np.zeros(shape, np.float32)}, ("y",))))


def test_runs_of_numbers_that_do_not_fit_their_pool_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    operator = node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
                    ngram_counts=[0, 2], ngram_indexes=[0, 1, 2], pool_int64s=[1, 2, 3, 4, 5])
    path.write_bytes(make_model([operator], {"x": np.zeros(6, np.int32)}, ("y",)).SerializeToString())
    with pytest.raises(ConversionError, match="no runs of 2"):
        transload.legalize(transload.load(path))


@pytest.mark.parametrize("wrong", [{"ngram_counts": []}, {"ngram_indexes": [0, -1, 2]}, {"max_skip_count": -1}])
def test_runs_of_no_length_and_places_below_zero_are_refused(wrong: dict[str, Any]) -> None:
    said = {"ngram_counts": [0, 1], "ngram_indexes": [0, 1, 2], "max_skip_count": 0, **wrong}
    operator = node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1, max_gram_length=2, pool_int64s=[1, 2, 3, 4, 5],
                    **{name: value for name, value in said.items() if value != []})
    if not said["ngram_counts"]:
        from onnx import AttributeProto

        operator.attribute.append(AttributeProto(name="ngram_counts", type=AttributeProto.INTS))
    with pytest.raises(ConversionError, match="lengths of runs, the places"):
        transload.legalize(read_model(make_model([operator], {"x": np.zeros(6, np.int32)}, ("y",))))


@pytest.mark.parametrize("name", ["LpPool", "GlobalLpPool"])
def test_norms_of_narrow_floats_are_rounded_once(name: str) -> None:
    """By numpy in f64: powers are beyond f16, and 1/3 is none of its numbers."""
    x = np.array([10, 20, 60, 5], np.float16).reshape(1, 1, 2, 2)
    size = {"kernel_shape": [2, 2]} if name == "LpPool" else {}
    module = read_model(make_model([node(name, ["x"], ["y"], p=3, **size)], {"x": x}, ["y"], opset=18))
    want = np.cbrt((x.astype(np.float64) ** 3).sum())
    (found,) = transload.run(transload.legalize(module), {"x": x}).values()
    np.testing.assert_allclose(found.astype(np.float64).ravel(), want, rtol=float(np.finfo(np.float16).eps))


@pytest.mark.parametrize("more", [{"axis": 0}, {"axis": 1}, {}])
def test_a_condition_longer_than_what_it_chooses_from(
        compare: Callable[..., Any], normal: Callable[..., Any], more: dict[str, Any]) -> None:
    condition = np.arange(20) % 2 == 1
    compare(node("Compress", ["x", "c"], ["y"], **more), {"x": normal(3, 4)}, constants={"c": condition})

"""Custom operators: those whose meaning is known, and the others as opaque hub ops.

Sources: `tensorflow/lite/kernels/detection_postprocess.cc`; MediaPipe's
`mediapipe/util/tflite/operations/transpose_conv_bias.cc`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from transload.errors import Unsupported
from transload.ir import Op, TensorType, Value
from transload.rewrite import Rewriter, RewriteTable

from ..operators import bytes_of
from .common import static_shape
from .conv import transposed
from .detection import detection_postprocess

TABLE = RewriteTable()


@TABLE("tfl.custom")
def custom(op: Op, rw: Rewriter) -> Any:
    """CUSTOM: by the operator's name."""
    name = op.attribute("custom_code")
    if name not in _KNOWN:
        return _opaque(op, rw)
    known, count, made = _KNOWN[name]
    if len(op.operands) != count or not all(isinstance(value.type, TensorType) for value in op.operands):
        given = ", ".join(str(value.type) for value in op.operands)
        raise Unsupported(f"the custom operator {name!r} takes {count} tensors, and is given {given[:200] or 'nothing'}")
    if len(op.results) != made:
        raise Unsupported(f"the custom operator {name!r} gives {made} tensors, and here are {len(op.results)}")
    return known(op, rw)


def _opaque(op: Op, rw: Rewriter) -> Any:
    """An operator that nobody here knows: a plugin may know it by its name and lower it."""
    name = op.attribute("custom_code")
    types = [result.type for result in op.results]
    if not all(isinstance(type_, TensorType) and type_.is_static for type_ in types):
        hint = "convert the model without select TensorFlow ops" if name.startswith("Flex") else ""
        raise Unsupported(f"the custom operator {name!r} is not known, and its results have no static shape", hint)
    return _all(rw.emit(
        "top.Custom", *op.operands, types=types, name=name, options={"custom_option": op.attribute("custom_option")}))


def _all(outcome: Any) -> tuple[Value, ...]:
    return (outcome,) if isinstance(outcome, Value) else tuple(outcome)


def transpose_conv_bias(op: Op, rw: Rewriter) -> Value:
    """Convolution2DTransposeBias: a transposed convolution with a bias, its options a C struct of three integers.

    With SAME the result is stride times as large as the input.
    """
    data = bytes_of(op.attribute("custom_option"))
    if len(data) < 12:
        raise Unsupported(f"it has options of {len(data)} bytes; 12 are wanted")
    padding, stride_w, stride_h = struct.unpack_from("<3i", data)
    value, weights, bias = op.operands
    if padding not in (1, 2) or min(stride_w, stride_h) < 1:
        raise Unsupported(f"its padding {padding} and strides {stride_h}, {stride_w} are not possible")
    strides = (stride_h, stride_w)
    sizes, kernels = static_shape(value, "the input", 4)[1:-1], static_shape(weights, "the weights", 4)[1:-1]
    same = padding == 1
    wanted = tuple(
        size * stride if same else (size - 1) * stride + kernel
        for size, stride, kernel in zip(sizes, strides, kernels, strict=True))
    return transposed(op, rw, value, weights, bias, wanted, strides, "SAME" if same else "VALID")


_KNOWN: dict[str, tuple[Callable[[Op, Rewriter], Any], int, int]] = {
    "TFLite_Detection_PostProcess": (detection_postprocess, 3, 4),
    "Convolution2DTransposeBias": (transpose_conv_bias, 3, 1),
}
"""By name, what is made of a custom operator, and how many operands and results it has, which no schema says."""

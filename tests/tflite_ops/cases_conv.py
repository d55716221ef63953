"""Convolutions and pooling: padding, strides, dilations, groups, activations, in every format."""

from __future__ import annotations

from .spec import Case, axes, b, cases, each, w, x, y

ACTIVATIONS = each("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
FULL = "f32 f16 i8 i8t u8 i16 i16t i4 hybrid hybrid_axis hybrid4"
EXACT = "f32 i8 u8 i16"
TRANSPOSE_FORMATS = "f32 f16 i8 i8t u8 i16"
STRIDES = {"stride_h": 1, "stride_w": 1}


def strided(height: int, width: int) -> dict[str, int]:
    return {"stride_h": height, "stride_w": width}


def dilated(height: int, width: int) -> dict[str, int]:
    return {**STRIDES, "dilation_h_factor": height, "dilation_w_factor": width}


GEOMETRIES = (strided(1, 1), strided(2, 1), strided(2, 3), dilated(2, 1), dilated(2, 3))
PADDINGS = each("SAME", "VALID")

CONV = [
    *(case for more in GEOMETRIES for case in cases(
        "CONV_2D", x(2, 8, 9, 3), w(5, 3, 3, 3), b(5), formats="f32 f16 i8 i8t u8 i16 i16t", padding=PADDINGS, **more)),
    *(case for more in GEOMETRIES for case in cases(
        "CONV_2D", x(2, 8, 9, 4), w(5, 3, 3, 4), b(5), formats="hybrid hybrid_axis i4", padding="SAME", **more)),
    *cases("CONV_2D", x(1, 5, 5, 4), w(6, 1, 1, 4), b(6), formats=FULL, padding="VALID", **STRIDES),
    *cases("CONV_2D", x(1, 5, 4, 2), w(4, 2, 3, 2), b(4), formats=EXACT, padding=PADDINGS, fused_activation_function=ACTIVATIONS, **STRIDES),
    *cases("CONV_2D", x(1, 6, 6, 4), w(6, 3, 3, 2), b(6), formats="f32 i8 i16", padding=PADDINGS, **STRIDES),
    *cases("CONV_2D", x(1, 6, 6, 4), w(4, 3, 3, 1), b(4), formats="f32 i8", padding="SAME", **strided(2, 2)),
    *cases("CONV_2D", x(1, 6, 5, 2).sized(3, 6, 5, 2), w(4, 3, 3, 2), b(4), formats="f32 i8 hybrid", padding="SAME", **strided(2, 2)),
    *cases("CONV_2D", x(1, 6, 5, 2).sized(2, 7, 8, 2), w(4, 3, 3, 2), b(4), formats="f32 i8 i16", padding="SAME", **strided(2, 2)),
    *cases("CONV_2D", x(1, 1, 16, 3), w(4, 1, 5, 3), b(4), formats=FULL, padding=PADDINGS, **strided(1, 2)),
    *cases("CONV_2D", x(1, 3, 3, 2), w(2, 3, 3, 2), b(2), result=each(y(by=0.05), y(by=8.0)), formats="i8 u8 i16", padding="SAME", **STRIDES),
    *cases("CONV_2D", x(1, 4, 4, 2), w(3, 5, 5, 2), b(3), formats=EXACT, padding="SAME", **STRIDES),
]

DEPTHWISE = [
    *(case for more in GEOMETRIES for case in cases(
        "DEPTHWISE_CONV_2D", x(2, 8, 9, 3), w(1, 3, 3, 3, axis=3), b(3), formats="f32 f16 i8 i8t u8 i16 i16t",
        padding=PADDINGS, depth_multiplier=1, **more)),
    *(case for more in GEOMETRIES[:2] for case in cases(
        "DEPTHWISE_CONV_2D", x(2, 8, 9, 4), w(1, 3, 3, 4, axis=3), b(4), formats="hybrid_axis i4", padding="SAME", depth_multiplier=1, **more)),
    *cases("DEPTHWISE_CONV_2D", x(1, 5, 5, 2), w(1, 3, 2, 6, axis=3), b(6), formats="f32 f16 i8 u8 i16 hybrid_axis", padding=PADDINGS, depth_multiplier=3, **STRIDES),
    *cases("DEPTHWISE_CONV_2D", x(1, 5, 5, 1), w(1, 3, 3, 4, axis=3), b(4), formats="f32 i8 i16", padding="SAME", depth_multiplier=4, **strided(2, 2)),
    *cases("DEPTHWISE_CONV_2D", x(1, 5, 4, 2), w(1, 2, 3, 2, axis=3), b(2), formats=EXACT, padding="SAME", depth_multiplier=1, fused_activation_function=ACTIVATIONS, **STRIDES),
    *cases("DEPTHWISE_CONV_2D", x(1, 5, 4, 2), w(1, 2, 3, 2, axis=3), formats="f32 i8", padding="SAME", depth_multiplier=1, **STRIDES),
    *cases("DEPTHWISE_CONV_2D", x(1, 6, 5, 2).sized(3, 6, 5, 2), w(1, 3, 3, 2, axis=3), b(2), formats="f32 i8 i16", padding="SAME", depth_multiplier=1, **STRIDES),
]

TRANSPOSED = [
    *(case for up, left in ((1, 1), (2, 2), (3, 2)) for case in cases(
        "TRANSPOSE_CONV", axes(1, 4 * up, 5 * left, 3), w(3, 3, 2, 2), x(1, 4, 5, 2), each(None, b(3)), formats=TRANSPOSE_FORMATS,
        padding="SAME", **strided(up, left))),
    *(case for up, left in ((1, 1), (2, 2), (3, 4)) for case in cases(
        "TRANSPOSE_CONV", axes(1, 3 * up + 3, 4 * left + 2, 3), w(3, 3, 2, 2), x(1, 4, 5, 2), each(None, b(3)), formats=TRANSPOSE_FORMATS,
        padding="VALID", **strided(up, left))),
    *cases("TRANSPOSE_CONV", axes(1, 8, 8, 3), w(3, 3, 3, 2), x(1, 4, 4, 2), b(3), formats="f32 i8 i16",
           padding="SAME", fused_activation_function=each("RELU", "RELU6"), **strided(2, 2)),
    *cases("TRANSPOSE_CONV", axes(2, 7, 7, 3), w(3, 3, 3, 2), x(2, 4, 4, 2), formats="f32 i8", padding="SAME", **strided(2, 2)),
    *cases("TRANSPOSE_CONV", axes(1, 8, 7, 1), w(1, 5, 4, 4), x(1, 4, 4, 4), formats="f32 i8", padding="SAME", **strided(2, 2)),
]

POOL = [
    *(case for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D") for more in (strided(1, 1), strided(2, 2), strided(3, 1)) for case in cases(
        op, x(2, 7, 8, 3), result=x(), formats="f32 i8t u8 i16t", padding=PADDINGS, filter_height=3, filter_width=2, **more)),
    *(case for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D") for case in cases(
        op, x(1, 5, 4, 2), result=x(), formats="f32 i8t u8 i16t", padding="SAME", filter_height=2, filter_width=2, fused_activation_function=ACTIVATIONS, **strided(2, 2))),
    *(case for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D") for case in cases(
        op, x(1, 5, 4, 2).sized(3, 5, 4, 2), result=x(), formats="f32 i8t", padding="SAME", filter_height=2, filter_width=2, **strided(2, 2))),
    *(case for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D") for case in cases(
        op, x(1, 7, 7, 5), result=x(), formats="f32 i8t u8 i16t", padding="VALID", filter_height=7, filter_width=7, **STRIDES)),
    *cases("L2_POOL_2D", x(2, 7, 8, 3), padding=PADDINGS, filter_height=3, filter_width=2, fused_activation_function=each("NONE", "RELU6"), **strided(2, 2)),
]

CONV_3D = [
    *cases("CONV_3D", x(1, 4, 5, 6, 2), w(2, 3, 2, 2, 4), each(b(4), None), padding=PADDINGS, stride_d=each(1, 2), stride_h=1, stride_w=2),
    *cases("CONV_3D", x(1, 6, 6, 6, 2), w(2, 2, 2, 2, 3), b(3), padding=PADDINGS, dilation_d_factor=2, dilation_h_factor=1, dilation_w_factor=2,
           stride_d=1, stride_h=1, stride_w=1, fused_activation_function=each("NONE", "RELU")),
    *cases("CONV_3D_TRANSPOSE", axes(1, 8, 10, 6, 3), w(3, 3, 2, 3, 2), x(1, 4, 5, 3, 2), each(None, b(3)), padding=each("SAME"), stride_d=2, stride_h=2, stride_w=2),
    *cases("CONV_3D_TRANSPOSE", axes(1, 6, 6, 4, 3), w(3, 2, 2, 3, 2), x(1, 4, 5, 3, 2), b(3), padding="VALID", stride_d=1, stride_h=1, stride_w=1),
]

CASES = CONV + DEPTHWISE + TRANSPOSED + POOL + CONV_3D

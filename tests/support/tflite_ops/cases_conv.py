"""Convolutions and pooling: padding, strides, dilations, groups, activations, in every format."""

from __future__ import annotations

from typing import Any

from .spec import axes, b, cases, each, w, x, y

ACTIVATIONS = each("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
PADDINGS = each("SAME", "VALID")
ALL = "f32 f16 i8 i8t u8 i16 i16t i4 hybrid hybrid_axis hybrid4"
USUAL = "f32 f16 i8 i8t u8 i16 i16t"
FEW = "f32 i8 u8 i16"


def strided(height: int, width: int) -> dict[str, Any]:
    return {"stride_h": height, "stride_w": width}


def dilated(height: int, width: int) -> dict[str, Any]:
    return {**ONE, "dilation_h_factor": height, "dilation_w_factor": width}


ONE, TWO = strided(1, 1), strided(2, 2)
GEOMETRIES = (ONE, strided(2, 1), strided(2, 3), dilated(2, 1), dilated(2, 3))

CONV = [
    *cases("CONV_2D", x(2, 8, 9, 3), w(5, 3, 3, 3), b(5), formats=USUAL, ways=GEOMETRIES, padding=PADDINGS),
    *cases("CONV_2D", x(2, 8, 9, 4), w(5, 3, 3, 4), b(5), formats="hybrid hybrid_axis i4", ways=GEOMETRIES, padding="SAME"),
    *cases("CONV_2D", x(1, 5, 5, 4), w(6, 1, 1, 4), b(6), formats=ALL, padding="VALID", **ONE),
    *cases("CONV_2D", x(1, 5, 4, 2), w(4, 2, 3, 2), b(4), formats=FEW, padding=PADDINGS, fused_activation_function=ACTIVATIONS,
           **ONE),
    *cases("CONV_2D", x(1, 6, 6, 4), w(6, 3, 3, 2), b(6), formats="f32 i8 i16", padding=PADDINGS, note="groups", **ONE),
    *cases("CONV_2D", x(1, 6, 6, 4), w(4, 3, 3, 1), b(4), formats="f32 i8", padding="SAME", note="groups", **TWO),
    *cases("CONV_2D", x(1, 6, 5, 2).sized(3, 6, 5, 2), w(4, 3, 3, 2), b(4), formats="f32 i8 hybrid", padding="SAME", **TWO),
    *cases("CONV_2D", x(1, 6, 5, 2).sized(2, 7, 8, 2), w(4, 3, 3, 2), b(4), formats="f32 i8 i16", padding="SAME", **TWO),
    *cases("CONV_2D", x(1, 1, 16, 3), w(4, 1, 5, 3), b(4), formats=ALL, padding=PADDINGS, **strided(1, 2)),
    *cases("CONV_2D", x(1, 3, 3, 2), w(2, 3, 3, 2), b(2), result=each(y(by=0.05), y(by=8.0)), formats="i8 u8 i16", padding="SAME",
           **ONE),
    *cases("CONV_2D", x(1, 4, 4, 2), w(3, 5, 5, 2), b(3), formats=FEW, padding="SAME", **ONE),
]


def depthwise(channels: int, height: int = 3, width: int = 3) -> Any:
    return w(1, height, width, channels, axis=3)


DEPTHWISE = [
    *cases("DEPTHWISE_CONV_2D", x(2, 8, 9, 3), depthwise(3), b(3), formats=USUAL, ways=GEOMETRIES, padding=PADDINGS,
           depth_multiplier=1),
    *cases("DEPTHWISE_CONV_2D", x(2, 8, 9, 4), depthwise(4), b(4), formats="hybrid_axis i4", ways=GEOMETRIES[:2], padding="SAME",
           depth_multiplier=1),
    *cases("DEPTHWISE_CONV_2D", x(1, 5, 5, 2), depthwise(6, 3, 2), b(6), formats="f32 f16 i8 u8 i16 hybrid_axis",
           padding=PADDINGS,
           depth_multiplier=3, **ONE),
    *cases("DEPTHWISE_CONV_2D", x(1, 5, 5, 1), depthwise(4), b(4), formats="f32 i8 i16", padding="SAME", depth_multiplier=4,
           **TWO),
    *cases("DEPTHWISE_CONV_2D", x(1, 5, 4, 2), depthwise(2, 2, 3), b(2), formats=FEW, padding="SAME", depth_multiplier=1,
           fused_activation_function=ACTIVATIONS, **ONE),
    *cases("DEPTHWISE_CONV_2D", x(1, 5, 4, 2), depthwise(2, 2, 3), formats="f32 i8", padding="SAME", depth_multiplier=1, **ONE),
    *cases("DEPTHWISE_CONV_2D", x(1, 6, 5, 2).sized(3, 6, 5, 2), depthwise(2), b(2), formats="f32 i8 i16", padding="SAME",
           depth_multiplier=1, **ONE),
]


def enlarged(up: int, left: int, beyond: tuple[int, int] = (0, 0)) -> tuple[Any, ...]:
    """Operands of a transposed convolution of an image of 4 x 5."""
    return axes(1, 4 * up + beyond[0], 5 * left + beyond[1], 3), w(3, 3, 2, 2), x(1, 4, 5, 2), each(None, b(3))


TRANSPOSED = [
    *cases("TRANSPOSE_CONV", on=[enlarged(1, 1)], formats="f32 f16 i8 i8t u8 i16 i16t", padding="SAME", **ONE),
    *cases("TRANSPOSE_CONV", on=[enlarged(2, 2)], formats="f32 f16 i8 i8t u8 i16", padding="SAME", **TWO),
    *cases("TRANSPOSE_CONV", on=[enlarged(3, 2)], formats="f32 f16 i8 i8t u8 i16", padding="SAME", **strided(3, 2)),
    *cases("TRANSPOSE_CONV", on=[enlarged(1, 1, (2, 1))], formats="f32 f16 i8 i8t u8 i16", padding="VALID", **ONE),
    *cases("TRANSPOSE_CONV", on=[enlarged(2, 2, (1, 0))], formats="f32 f16 i8 i8t u8 i16", padding="VALID", **TWO),
    *cases("TRANSPOSE_CONV", on=[enlarged(3, 4, (0, -2))], formats="f32 f16 i8 i8t u8 i16", padding="VALID", **strided(3, 4)),
    *cases("TRANSPOSE_CONV", axes(1, 8, 8, 3), w(3, 3, 3, 2), x(1, 4, 4, 2), b(3), formats="f32 i8 i16", padding="SAME",
           fused_activation_function=each("RELU", "RELU6"), **TWO),
    *cases("TRANSPOSE_CONV", axes(1, 8, 8, 3), w(3, 3, 3, 2), x(1, 4, 4, 2), b(3), formats="hybrid hybrid_axis",
           padding="SAME", **TWO),
    *cases("TRANSPOSE_CONV", axes(2, 7, 7, 3), w(3, 3, 3, 2), x(2, 4, 4, 2), formats="f32 i8 i16t", padding="SAME", **TWO),
    *cases("TRANSPOSE_CONV", axes(1, 8, 7, 1), w(1, 5, 4, 4), x(1, 4, 4, 4), formats="f32 i8", padding="SAME", **TWO),
]

POOLED = "f32 i8t u8 i16t"
POOL = [
    *cases("MAX_POOL_2D AVERAGE_POOL_2D", x(2, 7, 8, 3), result=x(), formats=POOLED, ways=(ONE, TWO, strided(3, 1)),
           padding=PADDINGS,
           filter_height=3, filter_width=2),
    *cases("MAX_POOL_2D AVERAGE_POOL_2D", x(1, 5, 4, 2), result=x(), formats=POOLED, padding="SAME", filter_height=2,
           filter_width=2,
           fused_activation_function=ACTIVATIONS, **TWO),
    *cases("MAX_POOL_2D AVERAGE_POOL_2D", x(1, 5, 4, 2).sized(3, 5, 4, 2), result=x(), formats="f32 i8t", padding="SAME",
           filter_height=2, filter_width=2, **TWO),
    *cases("MAX_POOL_2D AVERAGE_POOL_2D", x(1, 7, 7, 5), result=x(), formats=POOLED, padding="VALID", filter_height=7,
           filter_width=7, **ONE),
    *cases("MAX_POOL_2D AVERAGE_POOL_2D", x(2, 7, 8, 3), result=y(), formats="i8t u8 i16t", padding="SAME", filter_height=3,
           filter_width=2, fused_activation_function=each("NONE", "RELU6"), **ONE),
    *cases("MAX_POOL_2D AVERAGE_POOL_2D", x(2, 7, 8, 3), formats="raw_i8 raw_u8 raw_i16", padding="SAME", filter_height=3,
           filter_width=2, **TWO),
    *cases("L2_POOL_2D", x(2, 7, 8, 3), padding=PADDINGS, filter_height=3, filter_width=2,
           fused_activation_function=each("NONE", "RELU6"), **TWO),
]

CONV_3D = [
    *cases("CONV_3D", x(1, 4, 5, 6, 2), w(2, 3, 2, 2, 4), each(b(4), None), formats="f32 f16", padding=PADDINGS,
           stride_d=each(1, 2), stride_h=1, stride_w=2),
    *cases("CONV_3D", x(1, 6, 6, 6, 2), w(2, 2, 2, 2, 3), b(3), padding=PADDINGS, stride_d=1, dilation_d_factor=2,
           dilation_w_factor=2,
           fused_activation_function=each("NONE", "RELU"), **ONE),
    *cases("CONV_3D_TRANSPOSE", axes(1, 8, 10, 6, 3), w(3, 3, 2, 3, 2), x(1, 4, 5, 3, 2), each(None, b(3)), formats="f32 f16",
           padding="SAME", stride_d=2, **TWO),
    *cases("CONV_3D_TRANSPOSE", axes(1, 6, 6, 4, 3), w(3, 2, 2, 3, 2), x(1, 4, 5, 3, 2), b(3), padding="VALID", stride_d=1,
           **ONE),
    *cases("CONV_3D_TRANSPOSE", axes(1, 8, 10, 6, 3), w(3, 3, 2, 3, 2), x(1, 4, 5, 3, 2), b(3), formats="f32 f16",
           padding="SAME", stride_d=2, dilation_d_factor=1, dilation_h_factor=2, dilation_w_factor=3, **TWO),
    *cases("CONV_3D_TRANSPOSE", axes(1, 6, 9, 4, 3), w(3, 3, 2, 3, 2), x(1, 4, 5, 3, 2), b(3), padding="VALID", stride_d=1,
           dilation_d_factor=1, dilation_h_factor=2, dilation_w_factor=1, **ONE),
]

CASES = CONV + DEPTHWISE + TRANSPOSED + POOL + CONV_3D

"""Operators that move numbers: reshape, transpose, slices, joins, padding, space and depth."""

from __future__ import annotations

from functools import partial

from .spec import axes, cases as any_cases, each, i8, i32, number, x, y, z

STORED = "f32 i32 i64 bool i8t u8 i16t"
QUANTIZED = "i8t u8 i16t"
cases = partial(any_cases, result=x())

SHAPES = [
    *cases("RESHAPE", x(2, 3, 4), axes(6, 4), formats=STORED, new_shape=[6, 4]),
    *cases("RESHAPE", x(2, 3, 4), each(axes(-1), axes(4, -1), axes(2, 1, 12, 1), axes(2, 2, 3, 2, 1, 1)), formats=STORED),
    *cases("RESHAPE", x(2, 3, 4), new_shape=each((6, 4), (-1, 2))),
    *cases("RESHAPE", x(1, 12).sized(3, 12), axes(-1, 3, 4), formats="f32 i8t"),
    *cases("RESHAPE", each(x(1), x(1, 1)), axes(), formats="f32 i8t"),
    *cases("SQUEEZE", x(1, 3, 1, 4), formats=STORED, squeeze_dims=each((0,), (2,), (0, 2), (-2,), ())),
    *cases("EXPAND_DIMS", x(3, 4), each(number(0), number(1), number(2), number(-1), number(-3), axes(1)), formats=STORED),
    *cases("TRANSPOSE", x(2, 3), axes(1, 0), formats=STORED),
    *cases("TRANSPOSE", x(2, 3, 4), each(axes(2, 0, 1), axes(0, 2, 1), axes(0, 1, 2)), formats=STORED),
    *cases("TRANSPOSE", x(2, 3, 4, 2), each(axes(3, 0, 2, 1), axes(0, 3, 1, 2), axes(-1, 0, 1, -2)), formats="f32 i8t i32"),
    *cases("TRANSPOSE", x(2, 3, 2, 2, 3), each(axes(4, 3, 2, 1, 0), axes(0, 2, 1, 4, 3)), formats="f32 i8t"),
    *cases("TRANSPOSE", x(2, 1, 3, 2, 2, 3), axes(5, 0, 4, 1, 3, 2), formats="f32 i8t"),
]

JOINS = [
    *cases("CONCATENATION", x(2, 3), x(2, 3), formats=STORED, axis=each(0, 1, -1)),
    *cases("CONCATENATION", x(2, 3), x(4, 3), x(1, 3).const, formats="f32 i32 i64 bool i8t u8 i16t", axis=0),
    *cases("CONCATENATION", x(2, 1, 3, 2), x(2, 4, 3, 2), formats="f32 i8t u8", axis=each(1, -3)),
    *cases("CONCATENATION", x(2, 3), z(2, 5), formats="u8", axis=1, result=y()),
    *cases("CONCATENATION", x(3), formats="f32 i8t", axis=0),
    *cases("CONCATENATION", x(2, 3), x(2, 3), formats="f32", axis=1, fused_activation_function="NONE"),
    *cases("PACK", x(2, 3), x(2, 3), x(2, 3), formats="f32 i32 i64 i8t u8 i16t", values_count=3, axis=each(0, 1, 2, -1, -3)),
    *cases("PACK", x(), x(), formats="f32 i32", values_count=2, axis=0),
    *(case for count, axis in ((2, 0), (3, 1), (3, -2), (4, -1)) for case in cases(
        "UNPACK", x(2, 3, 4), results=[x()] * count, formats="f32 i32 bool i8t u8 i16t", num=count, axis=axis)),
    *(case for place, count in ((0, 2), (1, 3), (-1, 2), (-2, 3)) for case in cases(
        "SPLIT", number(place), x(4, 6), results=[x()] * count, formats="f32 i32 i8t u8 i16t", num_splits=count)
        if (4, 6)[place] % count == 0),
    *cases("SPLIT_V", x(2, 9), axes(2, 3, 4), number(1), results=[x()] * 3, formats="f32 i32 i64 i8t u8 i16t", num_splits=3),
    *cases("SPLIT_V", x(2, 9), axes(2, -1), number(-1), results=[x()] * 2, formats="f32 i32 i8t", num_splits=2),
    *cases("SPLIT_V", x(5, 2, 2), axes(4, 1), number(0), results=[x()] * 2, formats="f32 i8t", num_splits=2),
]

SLICES = [
    *cases("SLICE", x(4, 5, 6), axes(1, 0, 2), each(axes(2, 3, 4), axes(-1, 5, -1)), formats=STORED),
    *cases("SLICE", x(7), axes(2), axes(3), formats="f32 i8t"),
    *cases("SLICE", x(2, 2, 3, 3, 4), axes(0, 1, 1, 0, 1), axes(2, 1, 2, 3, -1), formats="f32 i8t"),
    *cases("SLICE", x(4, 5), axes(1, 0, dtype="int64"), axes(2, 3, dtype="int64")),
    *cases("STRIDED_SLICE", x(6, 7), axes(1, 2), axes(5, 6), axes(1, 1), formats=STORED),
    *cases("STRIDED_SLICE", x(6, 7), axes(0, 1), axes(6, 7), axes(2, 3), formats="f32 i8t"),
    *cases("STRIDED_SLICE", x(6, 7), axes(-1, 5), axes(0, 1), axes(-1, -2), formats="f32 i8t"),
    *cases("STRIDED_SLICE", x(6, 7), axes(5, 6), axes(-100, -100), axes(-2, -1), formats="f32"),
    *cases("STRIDED_SLICE", x(6, 7), axes(2, 3), axes(4, 5), axes(1, 1), formats="f32 i8t", begin_mask=each(0, 1, 2, 3), end_mask=each(0, 1, 3)),
    *cases("STRIDED_SLICE", x(6, 7), axes(2, 3), axes(3, 5), axes(1, 2), formats="f32 i8t", shrink_axis_mask=1),
    *cases("STRIDED_SLICE", x(6, 7), axes(-2, 3), axes(0, 4), axes(1, 1), formats="f32 i8t", shrink_axis_mask=3),
    *cases("STRIDED_SLICE", x(6, 7), axes(1), axes(4), axes(1), formats="f32 i8t"),
    *cases("STRIDED_SLICE", x(3, 4, 5), axes(0, 1), axes(0, 3), axes(1, 1), formats="f32 i8t", ellipsis_mask=1, ),
    *cases("STRIDED_SLICE", x(3, 4), axes(0, 0, 0), axes(3, 1, 4), axes(1, 1, 1), formats="f32 i8t", new_axis_mask=2),
    *cases("STRIDED_SLICE", x(6, 7), axes(1, 2), axes(3, 4), axes(1, 1), formats="f32 i8t", offset=True),
    *cases("STRIDED_SLICE", x(2, 3, 4, 2, 3), axes(0, 1, 0, 0, 0), axes(2, 3, 4, 2, 3), axes(1, 1, 2, 1, 1), formats="f32 i8t"),
    *cases("STRIDED_SLICE", x(1, 7).sized(4, 7), axes(0, 1), axes(0, 5), axes(1, 2), formats="f32 i8t", begin_mask=1, end_mask=1),
    *cases("DYNAMIC_UPDATE_SLICE", x(4, 5), x(2, 3), each(axes(1, 2), axes(3, 4), axes(-1, 0)), formats="f32 i32 i64 bool"),
    *cases("DYNAMIC_UPDATE_SLICE", x(4, 5), x(2, 3), i32(2, low=0, high=4), formats="f32 i32"),
]

PADDING = [
    *cases("PAD", x(3, 4), i32(2, 2, data=[[1, 2], [0, 3]]), formats="f32 i32 i64 bool i8t u8 i16t"),
    *cases("PAD", x(5), i32(1, 2, data=[[2, 1]]), formats="f32 i8t"),
    *cases("PAD", x(1, 3, 4, 2), i32(4, 2, data=[[0, 0], [1, 1], [2, 0], [0, 0]]), formats="f32 i32 i8t u8 i16t"),
    *cases("PAD", x(1, 2, 3, 2, 2), i32(5, 2, data=[[0, 0], [1, 1], [2, 0], [0, 0], [0, 1]]), formats="f32 i8t"),
    *cases("PADV2", x(3, 4), i32(2, 2, data=[[1, 2], [0, 3]]), x(data=-1), formats="f32 i32 i64 i8t"),
    *cases("PADV2", x(1, 3, 4, 2), i32(4, 2, data=[[0, 0], [1, 1], [2, 0], [0, 0]]), x().const, formats="f32 i32"),
    *cases("PADV2", x(3, 4), i32(2, 2, data=[[1, 2], [0, 3]]), x(data=7), formats="u8 i8t"),
    *cases("MIRROR_PAD", x(3, 4), i32(2, 2, data=[[1, 2], [0, 3]]), formats="f32 i32 i64 i8t u8", mode=each("REFLECT", "SYMMETRIC")),
    *cases("MIRROR_PAD", x(1, 3, 4, 2), i32(4, 2, data=[[0, 0], [1, 1], [2, 0], [0, 0]]), formats="f32 i8t", mode=each("REFLECT", "SYMMETRIC")),
]

SPACE = [
    *cases("SPACE_TO_DEPTH", x(2, 4, 6, 3), formats="f32 i32 i64 i8t u8", block_size=2),
    *cases("DEPTH_TO_SPACE", x(2, 2, 3, 8), formats="f32 i32 i64 i8t u8", block_size=2),
    *cases("DEPTH_TO_SPACE", x(1, 2, 3, 9), formats="f32 i8t", block_size=3),
    *cases("SPACE_TO_BATCH_ND", x(2, 4, 6, 3), axes(2, 3), i32(2, 2, data=[[0, 0], [0, 0]]), formats="f32 i32 i64 i8t u8 i16t"),
    *cases("SPACE_TO_BATCH_ND", x(1, 3, 5, 2), axes(2, 2), i32(2, 2, data=[[1, 0], [1, 2]]), formats="f32 i32 i8t u8 i16t"),
    *cases("SPACE_TO_BATCH_ND", x(1, 5, 2), axes(3), i32(1, 2, data=[[1, 0]]), formats="f32 i8t"),
    *cases("BATCH_TO_SPACE_ND", x(12, 2, 3, 2), axes(2, 3), i32(2, 2, data=[[0, 0], [0, 0]]), formats="f32 i32 i64 i8t u8 i16t"),
    *cases("BATCH_TO_SPACE_ND", x(4, 3, 3, 2), axes(2, 2), i32(2, 2, data=[[1, 0], [2, 1]]), formats="f32 i32 i8t u8 i16t"),
    *cases("BATCH_TO_SPACE_ND", x(6, 3, 2), axes(3), i32(1, 2, data=[[1, 0]]), formats="f32 i8t"),
]

REPEATS = [
    *cases("TILE", x(2, 3), each(axes(1, 1), axes(2, 3), axes(3, 1)), formats="f32 i32 i64 bool i8t u8 i16t"),
    *cases("TILE", x(2, 1, 3, 2), axes(1, 3, 2, 2, dtype="int64"), formats="f32 i8t"),
    *cases("BROADCAST_TO", x(2, 1, 3), each(axes(2, 4, 3), axes(5, 2, 1, 3)), formats="f32 i32 i64 bool i8t u8 i16t", version=2),
    *cases("BROADCAST_TO", x(3), axes(2, 3, dtype="int64"), formats="f32 i8t", version=2),
    *cases("REVERSE_V2", x(2, 3, 4), each(axes(0), axes(1), axes(2), axes(-1), axes(1, 2)), formats="f32 i32 i64 bool i8t u8 i16t"),
    *cases("REVERSE_SEQUENCE", x(4, 5, 2), axes(2, 5, 1, 3), formats="f32 i32 i64 u8 i16t", seq_dim=1, batch_dim=0),
    *cases("REVERSE_SEQUENCE", x(4, 5, 2), axes(2, 4, 1, 3, 2), formats="f32", seq_dim=0, batch_dim=1),
    *cases("REVERSE_SEQUENCE", x(4, 5, 2), i32(5, low=1, high=4), formats="f32 i32", seq_dim=0, batch_dim=1),
    *cases("DILATE", x(3, 4), axes(2, 3), x(data=0), formats="f32 i32 i8t"),
]

CASES = SHAPES + JOINS + SLICES + PADDING + SPACE + REPEATS

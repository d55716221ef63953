"""Operators that move numbers: reshape, transpose, slices, joins, padding, space and depth."""

from __future__ import annotations

from functools import partial

from .spec import Tensor, axes, each, i32, number, x, y, z
from .spec import cases as any_cases

STORED = "f32 i32 i64 bool i8t u8 i16t"
SOME = "f32 i32 i8t u8 i16t"
TWO, QUANTIZED = "f32 i8t", "i8t u8 i16t"
cases = partial(any_cases, result=x())


def pairs(*numbers: tuple[int, int]) -> Tensor:
    """A constant matrix of two columns: what is added before and after each dimension."""
    return i32(len(numbers), 2, data=numbers)


SHAPES = [
    *cases("RESHAPE", x(2, 3, 4), axes(6, 4), formats=STORED, new_shape=[6, 4]),
    *cases("RESHAPE", x(2, 3, 4), each(axes(-1), axes(4, -1), axes(2, 1, 12, 1), axes(2, 2, 3, 2, 1, 1)), formats=STORED),
    *cases("RESHAPE", x(2, 3, 4), new_shape=each((6, 4), (-1, 2))),
    *cases("RESHAPE", x(1, 12).sized(3, 12), axes(-1, 3, 4), formats=TWO),
    *cases("RESHAPE", each(x(1), x(1, 1)), axes(), formats=TWO),
    *cases("SQUEEZE", x(1, 3, 1, 4), formats=STORED, squeeze_dims=each((0,), (2,), (0, 2), (-2,), ())),
    *cases("EXPAND_DIMS", x(3, 4), each(number(0), number(1), number(2), number(-1), number(-3), axes(1)), formats=STORED),
    *cases("TRANSPOSE", x(2, 3), axes(1, 0), formats=STORED),
    *cases("TRANSPOSE", x(2, 3, 4), each(axes(2, 0, 1), axes(0, 2, 1), axes(0, 1, 2)), formats=STORED),
    *cases("TRANSPOSE", x(2, 3, 4, 2), each(axes(3, 0, 2, 1), axes(0, 3, 1, 2), axes(-1, 0, 1, -2)), formats="f32 i8t i32"),
    *cases("TRANSPOSE", x(2, 3, 2, 2, 3), each(axes(4, 3, 2, 1, 0), axes(0, 2, 1, 4, 3)), formats=TWO),
    *cases("TRANSPOSE", x(2, 1, 3, 2, 2, 3), axes(5, 0, 4, 1, 3, 2), formats=TWO),
]

JOINS = [
    *cases("CONCATENATION", x(2, 3), x(2, 3), formats=STORED, axis=each(0, 1, -1)),
    *cases("CONCATENATION", x(2, 3), x(4, 3), x(1, 3).const, formats=STORED, axis=0),
    *cases("CONCATENATION", x(2, 1, 3, 2), x(2, 4, 3, 2), formats="f32 i8t u8", axis=each(1, -3)),
    *cases("CONCATENATION", x(2, 40), z(2, 50), formats="u8", axis=1, result=y()),
    *cases("CONCATENATION", x(3), formats=TWO, axis=0),
    *cases("PACK", x(2, 3), x(2, 3), x(2, 3), formats="f32 i32 i64 i8t u8 i16t", values_count=3, axis=each(0, 1, 2, -1, -3)),
    *cases("PACK", x(), x(), formats="f32 i32", values_count=2, axis=0),
    *cases("UNPACK", x(2, 3, 4), results=[x()] * 2, formats="f32 i32 bool i8t u8 i16t", num=2, axis=0),
    *cases("UNPACK", x(2, 3, 4), results=[x()] * 3, formats="f32 i32 bool i8t u8 i16t", num=3, axis=each(1, -2)),
    *cases("UNPACK", x(2, 3, 4), results=[x()] * 4, formats="f32 i32 bool i8t u8 i16t", num=4, axis=-1),
    *cases("SPLIT", each(number(0), number(-1), number(-2)), x(4, 6), results=[x()] * 2, formats=SOME, num_splits=2),
    *cases("SPLIT", each(number(1), number(-1)), x(4, 6), results=[x()] * 3, formats=SOME, num_splits=3),
    *cases("SPLIT_V", x(2, 9), axes(2, 3, 4), number(1), results=[x()] * 3, formats="f32 i32 i64 i8t u8 i16t", num_splits=3),
    *cases("SPLIT_V", x(2, 9), axes(2, -1), number(-1), results=[x()] * 2, formats="f32 i32 i8t", num_splits=2),
    *cases("SPLIT_V", x(5, 2, 2), axes(4, 1), number(0), results=[x()] * 2, formats=TWO, num_splits=2),
]

STRIDES = partial(cases, "STRIDED_SLICE", formats=TWO)
SLICES = [
    *cases("SLICE", x(4, 5, 6), axes(1, 0, 2), each(axes(2, 3, 4), axes(-1, 5, -1)), formats=STORED),
    *cases("SLICE", x(7), axes(2), axes(3), formats=TWO),
    *cases("SLICE", x(2, 2, 3, 3, 4), axes(0, 1, 1, 0, 1), axes(2, 1, 2, 3, -1), formats=TWO),
    *cases("SLICE", x(4, 5), axes(1, 0, dtype="int64"), axes(2, 3, dtype="int64")),
    *cases("STRIDED_SLICE", x(6, 7), axes(1, 2), axes(5, 6), axes(1, 1), formats=STORED),
    *STRIDES(x(6, 7), axes(0, 1), axes(6, 7), axes(2, 3)),
    *STRIDES(x(6, 7), axes(-1, 5), axes(0, 1), axes(-1, -2)),
    *STRIDES(x(6, 7), axes(5, 6), axes(-100, -100), axes(-2, -1)),
    *STRIDES(x(6, 7), axes(2, 3), axes(4, 5), axes(1, 1), begin_mask=each(0, 1, 2, 3), end_mask=each(0, 1, 3)),
    *STRIDES(x(6, 7), axes(2, 3), axes(3, 5), axes(1, 2), shrink_axis_mask=1),
    *STRIDES(x(6, 7), axes(-2, 3), axes(0, 4), axes(1, 1), shrink_axis_mask=3),
    *STRIDES(x(6, 7), axes(1), axes(4), axes(1)),
    *STRIDES(x(3, 4, 5), axes(0, 1), axes(0, 3), axes(1, 1), ellipsis_mask=1),
    *STRIDES(x(3, 4), axes(0, 0, 0), axes(3, 1, 4), axes(1, 1, 1), new_axis_mask=2),
    *STRIDES(x(6, 7), axes(1, 2), axes(3, 4), axes(1, 1), offset=True),
    *STRIDES(x(2, 3, 4, 2, 3), axes(0, 1, 0, 0, 0), axes(2, 3, 4, 2, 3), axes(1, 1, 2, 1, 1)),
    *STRIDES(x(1, 7).sized(4, 7), axes(0, 1), axes(0, 5), axes(1, 2), begin_mask=1, end_mask=1),
    *cases("DYNAMIC_UPDATE_SLICE", x(4, 5), x(2, 3), each(axes(1, 2), axes(3, 4), axes(-1, 0)), formats="f32 i32 i64 bool"),
    *cases("DYNAMIC_UPDATE_SLICE", x(4, 5), x(2, 3), i32(2, low=0, high=4), formats="f32 i32"),
]

IMAGE = pairs((0, 0), (1, 1), (2, 0), (0, 0))
PADDING = [
    *cases("PAD", x(3, 4), pairs((1, 2), (0, 3)), formats=STORED),
    *cases("PAD", x(5), pairs((2, 1)), formats=TWO),
    *cases("PAD", x(1, 3, 4, 2), IMAGE, formats=SOME),
    *cases("PAD", x(1, 2, 3, 2, 2), pairs((0, 0), (1, 1), (2, 0), (0, 0), (0, 1)), formats=TWO),
    *cases("PADV2", x(3, 4), pairs((1, 2), (0, 3)), x(data=-1), formats="f32 i32 i64 i8t"),
    *cases("PADV2", x(3, 4), pairs((1, 2), (0, 3)), x(data=7), formats="u8 i8t"),
    *cases("PADV2", x(1, 3, 4, 2), IMAGE, x().const, formats="f32 i32"),
    *cases("MIRROR_PAD", x(3, 4), pairs((1, 2), (0, 3)), formats="f32 i32 i64 i8t u8", mode=each("REFLECT", "SYMMETRIC")),
    *cases("MIRROR_PAD", x(1, 3, 4, 2), IMAGE, formats=TWO, mode=each("REFLECT", "SYMMETRIC")),
]

SPACE = [
    *cases("SPACE_TO_DEPTH", x(2, 4, 6, 3), formats="f32 i32 i64 i8t u8", block_size=2),
    *cases("DEPTH_TO_SPACE", x(2, 2, 3, 8), formats="f32 i32 i64 i8t u8", block_size=2),
    *cases("DEPTH_TO_SPACE", x(1, 2, 3, 9), formats=TWO, block_size=3),
    *cases("SPACE_TO_BATCH_ND", x(2, 4, 6, 3), axes(2, 3), pairs((0, 0), (0, 0)), formats="f32 i32 i64 i8t u8 i16t"),
    *cases("SPACE_TO_BATCH_ND", x(1, 3, 5, 2), axes(2, 2), pairs((1, 0), (1, 2)), formats=SOME),
    *cases("SPACE_TO_BATCH_ND", x(1, 5, 2), axes(3), pairs((1, 0)), formats=TWO),
    *cases("BATCH_TO_SPACE_ND", x(12, 2, 3, 2), axes(2, 3), pairs((0, 0), (0, 0)), formats="f32 i32 i64 i8t u8 i16t"),
    *cases("BATCH_TO_SPACE_ND", x(4, 3, 3, 2), axes(2, 2), pairs((1, 0), (2, 1)), formats=SOME),
    *cases("BATCH_TO_SPACE_ND", x(6, 3, 2), axes(3), pairs((1, 0)), formats=TWO),
]

REPEATS = [
    *cases("TILE", x(2, 3), each(axes(1, 1), axes(2, 3), axes(3, 1)), formats=STORED),
    *cases("TILE", x(2, 1, 3, 2), axes(1, 3, 2, 2, dtype="int64"), formats=TWO),
    *cases("BROADCAST_TO", x(2, 1, 3), each(axes(2, 4, 3), axes(5, 2, 1, 3)), formats=STORED, version=2),
    *cases("BROADCAST_TO", x(3), axes(2, 3, dtype="int64"), formats=TWO, version=2),
    *cases("REVERSE_V2", x(2, 3, 4), each(axes(0), axes(1), axes(2), axes(-1), axes(1, 2)), formats=STORED),
    *cases("REVERSE_SEQUENCE", x(4, 5, 2), axes(2, 5, 1, 3), formats="f32 i32 i64 u8 i16t", seq_dim=1, batch_dim=0),
    *cases("REVERSE_SEQUENCE", x(4, 5, 2), axes(2, 4, 1, 3, 2), formats="f32", seq_dim=0, batch_dim=1),
    *cases("REVERSE_SEQUENCE", x(4, 5, 2), i32(5, low=1, high=4), formats="f32 i32", seq_dim=0, batch_dim=1),
    *cases("DILATE", x(3, 4), axes(2, 3), x(data=0), formats="f32 i32 i8t"),
]

ALL_PLAIN = "raw_i8 raw_u8 raw_i16 raw_u16 raw_u32"
PLAIN = [
    *cases("RESHAPE", x(2, 3), axes(3, 2), formats=ALL_PLAIN),
    *cases("SQUEEZE", x(1, 3), formats=ALL_PLAIN),
    *cases("EXPAND_DIMS", x(3), number(0), formats=ALL_PLAIN),
    *cases("TRANSPOSE", x(2, 3, 4), axes(2, 0, 1), formats=ALL_PLAIN),
    *cases("SLICE", x(4, 5), axes(1, 0), axes(2, -1), formats=ALL_PLAIN),
    *cases("STRIDED_SLICE", x(6, 7), axes(1, 2), axes(5, 6), axes(2, 1), formats=ALL_PLAIN),
    *cases("DYNAMIC_UPDATE_SLICE", x(4, 5), x(2, 3), axes(1, 2), formats=f"{ALL_PLAIN} {QUANTIZED}"),
    *cases("TILE", x(2, 3), axes(2, 3), formats=ALL_PLAIN),
    *cases("BROADCAST_TO", x(2, 1), axes(2, 3), formats=ALL_PLAIN, version=2),
    *cases("MIRROR_PAD", x(3, 4), pairs((1, 2), (0, 3)), formats=f"{ALL_PLAIN} i16t bool", mode="REFLECT"),
    *cases("SPACE_TO_BATCH_ND", x(1, 4, 6, 3), axes(2, 3), pairs((0, 0), (0, 0)), formats=f"{ALL_PLAIN} bool"),
    *cases("BATCH_TO_SPACE_ND", x(6, 2, 3, 2), axes(2, 3), pairs((0, 0), (0, 0)), formats=f"{ALL_PLAIN} bool"),
    *cases("DILATE", x(3, 4), axes(2, 3), x(data=0), formats=f"{ALL_PLAIN} u8 i16t i64 bool"),
    *cases("CONCATENATION", x(2, 3), x(2, 3), formats="raw_i8 raw_u8 raw_i16 raw_u32", axis=1),
    *cases("PACK", x(2, 3), x(2, 3), formats="raw_i8 raw_u8 raw_i16 raw_u32", values_count=2, axis=1),
    *cases("UNPACK", x(2, 3), results=[x()] * 2, formats="raw_i8 raw_u8 raw_i16", num=2, axis=0),
    *cases("SPLIT", number(1), x(4, 6), results=[x()] * 2, formats="i64 raw_i8 raw_u8 raw_i16", num_splits=2),
    *cases("SPLIT_V", x(2, 9), axes(2, 7), number(1), results=[x()] * 2, formats="raw_i8 raw_u8 raw_i16", num_splits=2),
    *cases("PAD", x(3, 4), pairs((1, 2), (0, 3)), formats="raw_i8 raw_u8 raw_i16"),
    *cases("PADV2", x(3, 4), pairs((1, 2), (0, 3)), x(data=1), formats="i16t bool raw_i8 raw_u8 raw_i16"),
    *cases("SPACE_TO_DEPTH", x(2, 4, 6, 3), formats="raw_i8 raw_u8", block_size=2),
    *cases("DEPTH_TO_SPACE", x(2, 2, 3, 8), formats="raw_i8 raw_u8", block_size=2),
    *cases("REVERSE_V2", x(2, 3), axes(1), formats="raw_i8 raw_u8 raw_i16"),
    *cases("REVERSE_SEQUENCE", x(3, 4), axes(2, 4, 1), formats="raw_u8 raw_i16", seq_dim=1, batch_dim=0),
]
"""Integers without a quantization, and what is rare."""

CASES = SHAPES + JOINS + SLICES + PADDING + SPACE + REPEATS + PLAIN

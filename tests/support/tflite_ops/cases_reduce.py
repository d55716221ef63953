"""Reductions, arg max and min, cumulative sums, top k."""

from __future__ import annotations

from .spec import axes, cases, each, i32, i64, number, x, y

KEEP = each(True, False)
AXES = each(axes(0), axes(1), axes(-1), axes(0, 2), axes(0, 1, 2), axes(-2, 1))
QUANTIZED = "i8t u8 i16t"
PLACES = each(number(0), number(1), number(2), number(-1), axes(-2))

REDUCTIONS = [
    *cases("SUM MEAN REDUCE_MAX REDUCE_MIN REDUCE_PROD", x(3, 4, 5), AXES, formats="f32 i32", keep_dims=KEEP),
    *cases("SUM MEAN", x(3, 4, 5), AXES, formats=QUANTIZED, keep_dims=KEEP),
    *cases("REDUCE_PROD", x(3, 4, 5, by=0.15), AXES, formats="i8t i16t", keep_dims=KEEP),
    *cases("REDUCE_MAX REDUCE_MIN", x(3, 4, 5), AXES, formats=QUANTIZED, result=x(), keep_dims=KEEP),
    *cases("SUM MEAN REDUCE_MAX REDUCE_MIN REDUCE_PROD", x(3, 4), axes(0, 1), formats="i64", keep_dims=KEEP),
    *cases("REDUCE_ANY REDUCE_ALL", x(3, 4, 5), AXES, formats="bool", keep_dims=KEEP),
    *cases("SUM MEAN REDUCE_MAX", each(x(9), x(2, 3, 2, 2, 3)), axes(0), formats="f32 i8t", result=x(), keep_dims=KEEP),
    *cases("SUM MEAN REDUCE_MAX", x(1, 5).sized(4, 5), axes(1), formats="f32 i8t", result=x(), keep_dims=KEEP),
    *cases("MEAN", x(2, 7, 6, 3), axes(1, 2), formats=f"f32 i32 {QUANTIZED}", result=each(x(), y(), y(by=0.3)), keep_dims=KEEP),
    *cases("SUM", x(2, 7, 6, 3), axes(1, 2), formats=QUANTIZED, result=each(y(by=6.0), y(by=30.0)), keep_dims=KEEP),
    *cases("SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN", each(x(3, 4, 5), x(9)), axes(0), formats="bool", result=x(), keep_dims=KEEP),
    *cases("SUM", x(2, 3), axes(), formats="f32", keep_dims=KEEP),
]

ORDER = [
    *cases("ARG_MAX ARG_MIN", x(3, 4, 5), PLACES, formats="f32 i32 i8t u8", result=i32(), output_type="INT32"),
    *cases("ARG_MAX ARG_MIN", each(x(7), x(2, 3, 2, 3)), number(0), formats="f32 i8t", result=i64(), output_type="INT64"),
    *cases("ARG_MAX ARG_MIN", x(2, 5, low=0, high=1), number(1), formats="i32 bool", result=i32(), output_type="INT32"),
    *cases("CUMSUM", x(3, 4), each(number(0), number(1), number(-1)), formats="f32 i32 i64", exclusive=KEEP, reverse=KEEP),
    *cases("TOPK_V2", each(x(9), x(3, 9), x(2, 2, 9)), each(number(1), number(4), number(9)), formats="f32 i32 i64 i8t u8 i16t",
           results=[x(), i32()]),
    *cases("TOPK_V2", x(2, 9, low=0, high=2), number(5), formats="i32", results=[x(), i32()]),
]

CASES = REDUCTIONS + ORDER

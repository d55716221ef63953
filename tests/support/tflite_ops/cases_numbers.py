"""Operators that change or make numbers: casts, quantization, shapes, ranges, constants."""

from __future__ import annotations

from functools import partial
from itertools import permutations, product
from typing import Any

from .spec import Case, Tensor, axes, bools, cases, each, f32, i8, i16, i32, i64, number, u8, w, x, y, z


def _tensor(dtype: str, *shape: int, **more: Any) -> Tensor:
    return Tensor(shape, dtype, **more)


f16, u16, u32 = (partial(_tensor, dtype) for dtype in ("float16", "uint16", "uint32"))
PLAIN = {
    "FLOAT32": f32, "INT8": i8, "UINT8": u8, "INT16": i16, "INT32": i32, "INT64": i64, "BOOL": bools, "FLOAT16": f16,
    "UINT16": u16, "UINT32": u32}


def cast(given: str, wanted: str, low: float, high: float) -> list[Case]:
    return cases("CAST", PLAIN[given](4, 5, low=low, high=high), result=PLAIN[wanted](), in_data_type=given, out_data_type=wanted)


STORED = [
    *cases("CAST", x(16, 32), formats="i8t", result=f32(), in_data_type="INT8", out_data_type="FLOAT32"),
    *cases("CAST", x(16, 32), formats="u8", result=f32(), in_data_type="UINT8", out_data_type="FLOAT32"),
    *cases("CAST", x(16, 32), formats="i16t", result=i32(), in_data_type="INT16", out_data_type="INT32"),
    *cases("CAST", f32(4, 5, low=-90, high=90), formats="i8t", in_data_type="FLOAT32", out_data_type="INT8"),
]
WIDE, NARROW = ("FLOAT32", "INT32", "INT64"), ("INT8", "UINT8", "INT16")
CAST = [
    *(case for pair in permutations(PLAIN, 2) for case in cast(*pair, 0 if "U" in pair[0][0] + pair[1][0] else -90, 90)),
    # what does not fit: floats become the nearest number that does, integers wrap round
    *(case for pair in product(WIDE, NARROW) for case in cast(*pair, -1e5, 1e5)),
]

QUANTIZATION = [
    *cases("QUANTIZE", each(f32(64, 80, low=-9, high=9), f32(), f32(2, 3, 2, 2)), formats="i8t u8 i16t"),
    *cases("QUANTIZE", x(16, 32), formats="i8t u8 i16t", result=each(y(), y(by=0.3), x(by=3.0), z())),
    *cases("QUANTIZE", x(16, 32), formats="i8t", result=each(u8(scale=0.05, zero=131), i16(scale=3e-4))),
    *cases("QUANTIZE", x(16, 32), formats="u8", result=each(i8(scale=0.05, zero=3), i8(scale=0.047, zero=3))),
    *cases("QUANTIZE", i32(16, 32, scale=3e-6, low=-90000, high=90000), formats="i8t i16t"),
    *cases("QUANTIZE", x(16, 32), formats="f32", result=each(i8(scale=0.05, zero=3), u8(scale=0.05, zero=131), i16(scale=3e-4))),
    *cases("QUANTIZE", x(16, 32), formats="i16t", result=each(i8(scale=0.05, zero=3), i32(scale=3e-6))),
    *cases("DEQUANTIZE", each(x(16, 16), x(), x(2, 3, 2, 2)), formats="i8t u8 i16t", result=f32()),
    *cases("DEQUANTIZE", x(1, 5).sized(4, 5), formats="i8t u8 i16t", result=f32()),
    *cases("DEQUANTIZE", w(4, 3, 2), formats="i8 i4 i2 i8t i16 hybrid hybrid_axis hybrid4 hybrid2", result=f32()),
    *cases("DEQUANTIZE", w(4, 3, 5, axis=2), formats="i8 i4 i2", result=f32()),
    *cases("DEQUANTIZE", Tensor((3, 4), "float16"), result=f32()),
    *cases("FAKE_QUANT", x(16, 16, low=-3, high=3), min=-1.0, max=2.0, num_bits=each(8, 4, 16)),
    *cases("FAKE_QUANT", x(16, 16, low=-3, high=3), min=0.0, max=1.5, num_bits=8),
    *cases("BITCAST", i8(3, 4, low=-100, high=100), result=u8()),
    *cases("BITCAST", u8(3, 4, low=0, high=250), result=i8()),
]

SHAPES = [
    *cases("SHAPE", each(x(2, 3, 4), x(5)), formats="f32 i8t u8 i16t i32 i64 bool", result=i32(), out_type="INT32"),
    *cases("SHAPE", x(2, 3), formats="f32", result=i64(), out_type="INT64"),
    *cases("RANK", each(x(2, 3, 4), x(5), x()), formats="f32 i8t u8 i16t i32 i64 bool", result=i32()),
    *cases("FILL", axes(2, 3), each(x(), x().const), formats="f32 i32 i64 bool i8t u8 i16t raw_i8 raw_u8 raw_u16", result=x()),
    *cases("FILL", axes(2, 1, 3, dtype="int64"), x(), formats="f32", result=x()),
    *cases("RANGE", number(2), number(11), number(3), result=i32()),
    *cases("RANGE", number(9), number(-4), number(-2), result=i32()),
    *cases("RANGE", number(2, "int64"), number(11, "int64"), number(3, "int64"), result=i64()),
    *cases("RANGE", number(0.5, "float32"), number(3.0, "float32"), number(0.25, "float32"), result=f32()),
    *cases("BROADCAST_ARGS", axes(2, 1, 3), axes(4, 1), result=i32()),
    *cases("BROADCAST_ARGS", axes(5, dtype="int64"), axes(4, 1, dtype="int64"), result=i64()),
    *cases("UNIQUE", i32(9, low=0, high=4).const, results=[i32(), i32()], idx_out_type="INT32"),
    *cases("UNIQUE", f32(6, data=[2, 7, 2, 1, 7, 7]), results=[f32(), i64()], idx_out_type="INT64"),
    *cases("WHERE", bools(3, 2, data=[[True, False], [False, True], [True, True]]), result=i64()),
]

CASES = CAST + STORED + QUANTIZATION + SHAPES

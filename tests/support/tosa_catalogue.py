"""One-op graphs: every operator, element type and attribute that TOSA allows together, as data."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import transload
from transload.errors import ConversionError
from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    I4,
    I8,
    I16,
    I32,
    I48,
    FloatType,
    IntegerType,
    Module,
    TensorType,
    Type,
    dtype_of,
    element_type_of,
    new_module,
    set_results,
)
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.build import Builder
from transload_plugins.tosa.build import const, shape_const

BFLOAT16 = ml_dtypes.bfloat16
FLOATS: tuple[Any, ...] = (np.float32, np.float16, BFLOAT16)
INTS: tuple[Any, ...] = (np.int8, np.int16, np.int32)
SPECIAL = [np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 1e-7]


@dataclass
class Const:
    """An operand that is a constant; `element` where it is not the array's own type."""

    array: Any
    element: Type | None = None


@dataclass
class Shape:
    """An operand that is a constant shape."""

    sizes: Any


@dataclass
class Case:
    """One op with its operands; arrays among them are the graph's inputs.

    `tolerance` is the greatest relative error of floats, relative to the greatest number where `to_greatest`
    (sums cancel); None stands for the usual one of the type.
    """

    op: str
    operands: list[Any]
    element: Type | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    version: str = "1.0"
    tolerance: float | None = None
    to_greatest: bool = False
    note: str = ""

    def __str__(self) -> str:
        types = [str(element_type_of(o.dtype)) for o in self.operands if isinstance(o, np.ndarray)]
        return "-".join([
            self.op[5:], *types[:2], *([str(self.element)] if self.element else []), *([self.note] if self.note else [])])


def rng_of(*key: Any) -> np.random.Generator:
    """A generator that gives the same numbers for the same key in every run."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def numbers(dtype: Any, *shape: int, low: int | None = None, high: int | None = None) -> np.ndarray:
    """Random numbers: integers of the whole range or from `low` to `high`, normal floats, booleans."""
    kind = np.dtype(dtype)
    rng = rng_of(kind.name, shape, low, high)
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind not in "iu":
        return rng.standard_normal(shape).astype(np.float32).astype(dtype)
    info = np.iinfo(kind)
    return rng.integers(
        info.min if low is None else low, (info.max if high is None else high) + 1, shape, dtype=np.int64).astype(kind)


def special(dtype: Any) -> np.ndarray:
    return np.array(SPECIAL, np.float32).astype(dtype)


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every special number with every other."""
    return np.repeat(special(dtype), 8), np.tile(special(dtype), 8)


def zero(dtype: Any, value: int = 0, element: Type | None = None) -> Const:
    return Const(np.array([value], dtype), element)


def elementwise_floats() -> Iterator[Case]:
    for dtype in FLOATS:
        for name in ("erf", "sigmoid", "tanh", "ceil", "cos", "exp", "floor", "reciprocal", "sin", "abs"):
            # The reference model's own tanh is good to about five digits.
            yield Case(
                f"tosa.{name}", [numbers(dtype, 3, 40) * dtype(3)],
                tolerance=5e-5 if name == "tanh" and dtype == np.float32 else None)
            if name != "tanh":
                yield Case(f"tosa.{name}", [special(dtype)], note="special")
        for name in ("log", "rsqrt"):
            yield Case(f"tosa.{name}", [np.abs(numbers(dtype, 3, 40))], tolerance=1e-3 if dtype == np.float32 else None)
            yield Case(f"tosa.{name}", [special(dtype)], note="special")
        for name in ("add", "sub", "maximum", "minimum", "equal", "greater", "greater_equal"):
            yield Case(f"tosa.{name}", [numbers(dtype, 2, 3, 4), numbers(dtype, 1, 3, 1)])
            yield Case(f"tosa.{name}", [*pairs(dtype)], note="special")
        yield Case("tosa.pow", [np.abs(numbers(dtype, 3, 4)), numbers(dtype, 3, 4)])
        yield Case("tosa.mul", [numbers(dtype, 3, 4), numbers(dtype, 1, 4), zero(np.int8)])
        yield Case("tosa.negate", [special(dtype), zero(dtype), zero(dtype)])
        yield Case("tosa.select", [numbers(bool, 3, 4), numbers(dtype, 3, 4), numbers(dtype, 1, 4)])
        element = element_type_of(dtype)
        for mode in ("PROPAGATE", "IGNORE"):
            for name in ("maximum", "minimum"):
                yield Case(f"tosa.{name}", [*pairs(dtype)], None, {"nan_mode": mode}, note=mode)
            stacked = np.stack(pairs(dtype))
            for name in ("reduce_max", "reduce_min", "argmax"):
                yield Case(f"tosa.{name}", [stacked], None, {"axis": 0, "nan_mode": mode}, note=mode)
            bounds = {"min_val": FloatAttr(-0.5, element), "max_val": FloatAttr(0.5, element)}
            yield Case("tosa.clamp", [special(dtype)], None, {**bounds, "nan_mode": mode}, note=mode)


def elementwise_integers() -> Iterator[Case]:
    for dtype in INTS:
        bits = np.dtype(dtype).itemsize * 8
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
            yield Case(f"tosa.{name}", [numbers(dtype, 3, 4), numbers(dtype, 3, 1)])
        yield Case("tosa.bitwise_not", [numbers(dtype, 30)])
        counts = numbers(dtype, 100, low=0, high=bits - 1)
        for name in ("logical_left_shift", "logical_right_shift"):
            yield Case(f"tosa.{name}", [numbers(dtype, 100), counts])
        for rounds in (True, False):
            yield Case(
                "tosa.arithmetic_right_shift", [numbers(dtype, 100), counts], None, {"round": rounds}, note=f"round={rounds}")
        yield Case("tosa.select", [numbers(bool, 3, 4), numbers(dtype, 3, 4), numbers(dtype, 1, 4)])
        yield Case("tosa.negate", [numbers(dtype, 50, low=-100), zero(dtype), zero(dtype)])
    every = np.arange(-128, 128).astype(np.int8)
    yield Case("tosa.negate", [every, zero(np.int8, 5), zero(np.int8, -7)], note="zero points")
    yield Case("tosa.table", [every, Const(numbers(np.int8, 256))])
    yield Case("tosa.table", [numbers(np.int16, 3000), Const(np.sort(numbers(np.int16, 513)))])
    for dtype in (np.int8, np.int16):
        element = element_type_of(dtype)
        yield Case("tosa.mul", [numbers(dtype, 30), numbers(dtype, 30), zero(np.int8)])
        yield Case("tosa.clamp", [numbers(dtype, 30)], None, {"min_val": IntAttr(-20, element), "max_val": IntAttr(30, element)})
    wide = np.int32
    yield Case("tosa.mul", [numbers(wide, 30, low=-40000, high=40000), numbers(wide, 1, low=-40000, high=40000), zero(np.int8)])
    for shift in (1, 2, 20, 31, 40):
        other = numbers(wide, 100, low=-(1 << 20), high=1 << 20) if shift > 14 else numbers(wide, 100, low=-30, high=30)
        yield Case(
            "tosa.mul", [numbers(wide, 100, low=-(1 << 25), high=1 << 25), other, zero(np.int8, shift)], note=f"shift={shift}")
    for name in ("add", "sub", "maximum", "minimum", "equal", "greater", "greater_equal"):
        yield Case(f"tosa.{name}", [numbers(wide, 3, 4, low=-9, high=9), numbers(wide, 1, 4, low=-9, high=9)])
    divisor = numbers(wide, 100, low=1, high=100) * np.where(numbers(bool, 100), 1, -1).astype(wide)
    yield Case("tosa.intdiv", [numbers(wide, 100), divisor])
    yield Case("tosa.abs", [numbers(wide, 100)])
    yield Case("tosa.clz", [np.array([0, 1, -1, 2**30, 2**31 - 1, -(2**31), 255, 256], wide)])
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield Case(f"tosa.{name}", [numbers(bool, 3, 4), numbers(bool, 1, 4)])
    yield Case("tosa.logical_not", [numbers(bool, 3, 4)])
    yield Case("tosa.select", [numbers(bool, 3, 1), numbers(bool, 1, 4), numbers(bool, 3, 4)])


def scalars() -> Iterator[Case]:
    """Tensors of rank 0, which numpy likes to turn into numbers."""
    for dtype in FLOATS:
        x = np.array(0.75, np.float32).astype(dtype)
        for name in ("erf", "sigmoid", "ceil", "cos", "exp", "floor", "reciprocal", "sin", "abs", "log", "rsqrt"):
            yield Case(f"tosa.{name}", [x], note="rank 0", tolerance=1e-3 if dtype == np.float32 else None)
        for name in ("add", "sub", "maximum", "minimum", "equal", "greater", "greater_equal", "pow"):
            yield Case(f"tosa.{name}", [x, x], note="rank 0")
        yield Case("tosa.mul", [x, x, zero(np.int8)], note="rank 0")
        yield Case("tosa.cast", [x], I32, note="rank 0")
        element = element_type_of(dtype)
        yield Case(
            "tosa.clamp", [x], None, {"min_val": FloatAttr(-0.5, element), "max_val": FloatAttr(0.5, element)}, note="rank 0")
    for dtype in INTS:
        x = np.array(5, dtype)
        yield Case("tosa.negate", [x, zero(dtype), zero(dtype)], note="rank 0")
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "logical_left_shift", "logical_right_shift"):
            yield Case(f"tosa.{name}", [x, x], note="rank 0")
        yield Case("tosa.arithmetic_right_shift", [x, np.array(1, dtype)], None, {"round": True}, note="rank 0")
        yield Case("tosa.select", [np.array(True), x, x], note="rank 0")
        yield Case("tosa.reverse", [x.reshape(1)], None, {"axis": 0}, note="rank 1")
        yield Case("tosa.concat", [x.reshape(1), x.reshape(1)], None, {"axis": 0}, note="rank 1")
        yield Case("tosa.argmax", [x.reshape(1)], None, {"axis": 0}, note="rank 1") if dtype != np.int32 else Case(
            "tosa.clz", [x], note="rank 0")
        yield _rescale(x, I8, [1 << 30], [31], 0, 0, "rank 0")
    wide = np.array(1000, np.int32)
    for name in ("add", "sub", "maximum", "minimum", "equal", "greater", "intdiv"):
        yield Case(f"tosa.{name}", [wide, wide], note="rank 0")
    yield Case("tosa.abs", [wide], note="rank 0")
    yield Case("tosa.mul", [wide, wide, zero(np.int8, 3)], note="rank 0")
    yield Case("tosa.table", [np.array(5, np.int8), Const(numbers(np.int8, 256))], note="rank 0")
    yield Case("tosa.table", [np.array(500, np.int16), Const(np.sort(numbers(np.int16, 513)))], note="rank 0")
    yield Case("tosa.logical_not", [np.array(True)], note="rank 0")


def reductions() -> Iterator[Case]:
    for dtype in (*FLOATS, *INTS):
        floats = dtype in FLOATS
        for axis in range(3):
            x = numbers(dtype, 3, 5, 4) if floats else numbers(dtype, 3, 5, 4, low=-100, high=100)
            for name in ("reduce_max", "reduce_min"):
                yield Case(f"tosa.{name}", [x], None, {"axis": axis}, note=f"axis={axis}")
            if floats or dtype == np.int32:
                yield Case("tosa.reduce_sum", [x], None, {"axis": axis}, to_greatest=True, note=f"axis={axis}", tolerance=2e-2 if
                           dtype == BFLOAT16 else None)
            if floats:
                yield Case(
                    "tosa.reduce_product", [x], None, {"axis": axis}, to_greatest=True, note=f"axis={axis}", tolerance=2e-2 if
                           dtype == BFLOAT16 else None)
            if dtype != np.int32:
                yield Case("tosa.argmax", [x], None, {"axis": axis}, note=f"axis={axis}")
    for dtype in (np.int8, np.int16):
        yield Case("tosa.argmax", [numbers(dtype, 5, 60, low=0, high=3)], None, {"axis": 1}, note="ties")
    for name in ("reduce_all", "reduce_any"):
        yield Case(f"tosa.{name}", [numbers(bool, 30, 2)], None, {"axis": 1})


_CONVOLUTION_TYPES: list[tuple[Any, Any, Any, Type, Type | None, Type | None, int, int]] = [
    # input, weights, bias, accumulator, elements of weights and bias, zero points of input and weights
    (np.int8, np.int8, np.int32, I32, None, None, -13, 0), (np.int8, np.int8, np.int32, I32, None, None, 120, 7),
    (np.int8, np.int8, np.int32, I32, I4, None, 3, 0), (np.int16, np.int8, np.int64, I48, None, I48, 0, 0),
    (np.float32, np.float32, np.float32, F32, None, None, 0, 0), (np.float16, np.float16, np.float16, F16, None, None, 0, 0),
    (np.float16, np.float16, np.float16, F32, None, None, 0, 0), (BFLOAT16, BFLOAT16, BFLOAT16, F32, None, None, 0, 0),
]


def _convolution(op: str, types: Any, x_shape: Any, w_shape: Any, channels: int, attributes: dict[str, Any], note: str) -> Case:
    dtype, w_dtype, b_dtype, accumulator, w_element, b_element, input_zp, weight_zp = types
    low, high = (-7, 7) if w_element == I4 else (None, None)
    return Case(
        op, [numbers(dtype, *x_shape), Const(numbers(w_dtype, *w_shape, low=low, high=high), w_element),
             Const(numbers(b_dtype, channels, low=-5000, high=5000), b_element), zero(dtype, input_zp),
             zero(w_dtype, weight_zp, w_element)],
        None, {"acc_type": accumulator, **attributes}, to_greatest=True, note=f"{w_element or ''}{accumulator}-{note}",
        tolerance=2e-2 if dtype == BFLOAT16 else 1e-2 if accumulator == F16 else None)


def convolutions() -> Iterator[Case]:
    for types in _CONVOLUTION_TYPES:
        for op, w_shape, channels in (("tosa.conv2d", (6, 3, 2, 5), 6), ("tosa.depthwise_conv2d", (3, 2, 5, 2), 10)):
            for stride, dilation, pad in (
                ((1, 1), (1, 1), (1, 1, 0, 1)), ((1, 1), (1, 1), (0, 2, 1, 0)), ((2, 1), (1, 1), (1, 1, 0, 1)),
                ((1, 1), (2, 3), (2, 2, 3, 3)), ((2, 2), (2, 2), (2, 2, 2, 3)),
            ):
                attributes = {"stride": stride, "dilation": dilation, "pad": pad}
                yield _convolution(op, types, (2, 9, 8, 5), w_shape, channels, attributes, f"{stride}{dilation}{pad}")
            yield _convolution(op, types, (2, 9, 8, 5), w_shape, 1, attributes, "one bias")
        for stride, out_pad in (
            ((1, 1), (0, 0, 0, 0)), ((2, 3), (-1, 0, -1, 2)), ((3, 2), (1, 2, -2, -1)), ((4, 4), (1, 1, 0, 0)),
        ):
            yield _convolution(
                "tosa.transpose_conv2d", types, (2, 4, 3, 5), (6, 3, 4, 5), 6, {"stride": stride, "out_pad": out_pad},
                               f"{stride}{out_pad}")
        for stride, dilation, pad in (((1, 1, 1), (1, 1, 1), (1, 1, 0, 1, 1, 0)), ((2, 1, 2), (1, 2, 1), (1, 1, 0, 0, 1, 0))):
            attributes = {"stride": stride, "dilation": dilation, "pad": pad}
            yield _convolution("tosa.conv3d", types, (1, 4, 7, 5, 3), (4, 2, 3, 2, 3), 4, attributes, f"{stride}")
    integer = _CONVOLUTION_TYPES[0]
    point = {"stride": (1, 1), "dilation": (1, 1), "pad": (0, 0, 0, 0)}
    yield _convolution("tosa.conv2d", integer, (1, 1, 1, 3000), (4, 1, 1, 3000), 4, point, "long sums")
    yield _convolution("tosa.conv2d", integer, (1, 4, 5, 30), (4, 1, 1, 30), 4, {**point, "stride": (3, 2)}, "1x1 strided")


def products_and_pools() -> Iterator[Case]:
    for dtype, out in (
        (np.int8, I32), (np.int16, I48), (np.float32, F32), (np.float16, F16), (np.float16, F32), (BFLOAT16, F32),
    ):
        points = (zero(dtype, 7), zero(dtype, -9)) if dtype == np.int8 else (zero(dtype), zero(dtype))
        # Sums of i16 products must fit i32 where the test hands them out.
        limit = {"low": -9000, "high": 9000} if dtype == np.int16 else {}
        a, b = numbers(dtype, 3, 4, 5, **limit), numbers(dtype, 3, 5, 6, **limit)
        yield Case("tosa.matmul", [a, b, *points], out, to_greatest=True, tolerance=3e-3 if dtype == np.float16 else None)
        turned = np.ascontiguousarray(b[:1].transpose(0, 2, 1))
        yield Case(
            "tosa.matmul_t", [a, turned, *points], out, version="1.1", to_greatest=True,
            tolerance=3e-3 if dtype == np.float16 else None)
    for kernel, stride, pad in (
        ((2, 2), (1, 1), (0, 0, 0, 0)), ((3, 3), (2, 2), (1, 1, 1, 1)), ((3, 2), (2, 1), (2, 0, 1, 0)),
        ((7, 9), (1, 1), (0, 0, 0, 0)),
        ((5, 5), (1, 1), (4, 4, 4, 4)), ((1, 1), (3, 2), (0, 0, 0, 0)),
    ):
        window = {"kernel": kernel, "stride": stride, "pad": pad}
        for dtype, accumulator in (
            (np.int8, I32), (np.int16, I32), (np.float32, F32), (np.float16, F16), (np.float16, F32), (BFLOAT16, F32),
        ):
            x = numbers(dtype, 2, 7, 9, 3)
            points = [zero(dtype, -128), zero(dtype, 11)] if dtype == np.int8 else [zero(dtype), zero(dtype)]
            note = f"{accumulator}-{kernel}{stride}{pad}"
            yield Case("tosa.max_pool2d", [x], None, window, note=note)
            yield Case("tosa.avg_pool2d", [x, *points], None, {**window, "acc_type": accumulator}, to_greatest=True, note=note,
                       tolerance=2e-2 if dtype in (np.float16, BFLOAT16) else None)
            if accumulator != F16:
                shapes = [Shape(kernel), Shape(stride), Shape(pad)]
                yield Case("tosa.max_pool2d_adaptive", [x, *shapes], version="1.1", note=note)
    yield Case(
        "tosa.fft2d", [numbers(np.float32, 2, 8, 4), numbers(np.float32, 2, 8, 4)], None, {"inverse": False}, to_greatest=True)
    yield Case(
        "tosa.fft2d", [numbers(np.float32, 2, 8, 4), numbers(np.float32, 2, 8, 4)], None, {"inverse": True}, to_greatest=True)
    yield Case("tosa.rfft2d", [numbers(np.float32, 2, 8, 16)], to_greatest=True)


def movements() -> Iterator[Case]:
    for dtype in (np.bool_, *INTS, *FLOATS):
        three = numbers(dtype, 2, 3, 4)
        yield Case("tosa.concat", [three, numbers(dtype, 2, 1, 4), numbers(dtype, 2, 5, 4)], None, {"axis": 1})
        yield Case("tosa.concat", [three], None, {"axis": 1}, note="one")
        yield Case("tosa.pad", [three, Shape((1, 0, 2, 3, 0, 1)), Const(numbers(dtype, 1))])
        for shape in ((4, 6), (1, 2, 3, 4, 1)):
            yield Case("tosa.reshape", [three, Shape(shape)], note=str(shape))
        yield Case("tosa.reshape", [numbers(dtype, 1, 1), Shape(())], note="scalar")
        for axis in range(3):
            yield Case("tosa.reverse", [three], None, {"axis": axis}, note=f"axis={axis}")
        yield Case("tosa.slice", [numbers(dtype, 4, 5, 6), Shape((1, 0, 2)), Shape((2, 5, 3))])
        yield Case("tosa.tile", [numbers(dtype, 2, 3, 1), Shape((3, 1, 4))])
        yield Case("tosa.transpose", [numbers(dtype, 2, 3, 4, 5, 2)], None, {"perms": (3, 0, 2, 1, 4)})
        yield Case("tosa.identity", [three])
        if dtype != np.bool_:
            places = numbers(np.int32, 2, 7, low=0, high=2)
            yield Case("tosa.gather", [numbers(dtype, 2, 5, 3), places])
            yield Case("tosa.row_gather", [numbers(dtype, 2, 5, 3), places, Const(np.array([3], np.int32))], version="1.1")
            distinct = np.array([[4, 0, 2], [1, 3, 0]], np.int32)
            yield Case("tosa.scatter", [numbers(dtype, 2, 5, 3), distinct, numbers(dtype, 2, 3, 3)])


def _cast_input(element: Type) -> np.ndarray:
    """Numbers around every limit and tie, without NaN, whose cast to an integer TOSA leaves open."""
    dtype = dtype_of(element)
    if element == BOOL:
        return numbers(bool, 64)
    if isinstance(element, IntegerType):
        info = np.iinfo(dtype)
        return np.concatenate([numbers(dtype, 60), np.array([0, 1, -1, info.min, info.max], dtype)])
    ties = [0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 127.5, 128.5, -128.5]
    limits = [np.inf, -np.inf, 1e6, -1e6, 3e9, -3e9, 1e30, 65519, 65520, 450, 464, 465, 57344, 61440, 61439]
    small = [1e-8, 2**-9, 2**-10, 3 * 2**-11, 2**-16, 2**-17, 1.5 * 2**-17]
    with np.errstate(over="ignore"):
        return np.concatenate([numbers(np.float32, 60) * 100, np.array([*ties, *limits, *small], np.float32)]).astype(dtype)


def casts() -> Iterator[Case]:
    integers, floats = (I8, I16, I32), (F16, BF16, F32)
    tiny = (FloatType("f8E4M3FN"), FloatType("f8E5M2"))
    ways = [
        *((BOOL, t) for t in integers), *((t, BOOL) for t in integers), *((a, b) for a in integers for b in integers if a != b),
            *((a, b) for a in integers for b in floats), *((a, b) for a in floats for b in integers),
            *((a, b) for a in floats for b in floats if a != b and {a, b} != {F16, BF16}),
            *((a, b) for a in floats for b in tiny), *((a, b) for a in tiny for b in floats)]
    for source, target in ways:
        yield Case("tosa.cast", [_cast_input(source)], target, tolerance=0)


def _rescale(
    x: np.ndarray, target: Type, multipliers: list[int], shifts: list[int], input_zp: int, output_zp: int, note: str, **more: Any,
) -> Case:
    attributes = {
        "scale32": True, "rounding_mode": "SINGLE_ROUND", "per_channel": False, "input_unsigned": False,
        "output_unsigned": False, **more}

    def point(value: int, dtype: Any) -> Const:
        bits = 8 * np.dtype(dtype).itemsize
        return Const(np.array([value - (1 << bits) if value >= 1 << (bits - 1) else value], dtype))

    return Case(
        "tosa.rescale", [x, Const(np.array(multipliers, np.int32 if attributes["scale32"] else np.int16)),
                         Const(np.array(shifts, np.int8)), point(input_zp, x.dtype), point(output_zp, dtype_of(target))],
        target, attributes, note=note)


def rescales() -> Iterator[Case]:
    for source in (I8, I16, I32):
        for target in (I8, I16, I32):
            for mode in ("SINGLE_ROUND", "DOUBLE_ROUND"):
                for shift in (20, 30, 31, 32, 33, 40, 47):
                    dtype = dtype_of(source)
                    # Values keep to the range for which the specification defines the result.
                    limit = min({I8: 128, I16: 32768, I32: 1 << 30}[source], 1 << (shift - 2))
                    x = numbers(dtype, 4, 300, low=-limit, high=limit - 1)[:, : 1 + shift * 5]
                    points = (11 if source == I8 else 0, -7 if target == I8 else 0)
                    channels = x.shape[1]
                    rng = rng_of("scale", str(source), str(target), mode, shift)
                    multiplier = 5000 if shift == 20 else int(rng.integers(1 << 30, (1 << 31) - 1))
                    note = f"{mode}-{shift}"
                    yield _rescale(x, target, [multiplier], [shift], *points, note, rounding_mode=mode)
                    yield _rescale(x, target, [multiplier] * channels, [shift] * (channels - 1) + [shift + 1], *points,
                                   note + "-channels", rounding_mode=mode, per_channel=True)
                    if mode == "SINGLE_ROUND":
                        small = np.clip(x, -(1 << 20), 1 << 20).astype(dtype)
                        yield _rescale(
                            small, target, [int(rng.integers(1, 32767))], [min(shift, 31)], *points, note + "-16", scale32=False)
    for source, target in ((I8, I8), (I16, I8), (I8, I16), (I16, I16)):
        for side in ("input_unsigned", "output_unsigned"):
            points = [(200 if t == I8 else 32768) if side == s else (-5 if t == I8 else 0)
                      for t, s in ((source, "input_unsigned"), (target, "output_unsigned"))]
            for shift in (30, 31):
                yield _rescale(
                    numbers(dtype_of(source), 50), target, [1 << 30], [shift], *points, f"{side}-{shift}", **{side: True})


def resizes() -> Iterator[Case]:
    for mode in ("NEAREST_NEIGHBOR", "BILINEAR"):
        for scale, offset, border, (height, width) in (
            ((2, 1, 2, 1), (0, 0), (0, 0), (4, 5)), ((4, 2, 4, 2), (-1, -1), (1, 1), (4, 5)),
            ((1, 2, 1, 2), (0, 0), (-1, 0), (6, 5)),
            ((16, 3, 16, 1), (-4, 0), (1, 0), (5, 3)), ((6, 4, 10, 2), (1, -3), (-1, 5), (5, 3)),
            ((1, 1, 1, 1), (0, 0), (0, 0), (1, 1)),
            ((5, 1, 7, 1), (0, 0), (4, 6), (1, 1)),
        ):
            ends = list(border)
            for axis, size in ((0, height), (1, width)):
                while ((size - 1) * scale[2 * axis] - offset[axis] + ends[axis]) % scale[2 * axis + 1]:
                    ends[axis] -= 1
            for dtype in (np.int8, np.int16, *FLOATS):
                x = numbers(dtype, 2, height, width, 3)
                if dtype == np.int16:
                    x = x // np.int16(64)  # so that bilinear sums fit the i32 in which the test hands them out
                yield Case("tosa.resize", [x, Shape(scale), Shape(offset), Shape(ends)], None, {"mode": mode}, to_greatest=True,
                           tolerance=2e-2 if dtype in (np.float16, BFLOAT16) else None, note=f"{mode}-{scale}{offset}")


def all_cases() -> list[Case]:
    """The whole catalogue."""
    makers = (
        elementwise_floats, elementwise_integers, scalars, reductions, convolutions, products_and_pools, movements, casts,
        rescales, resizes)
    return [case for maker in makers for case in maker()]


def graph_of(cases: Sequence[Case]) -> tuple[Module, dict[str, np.ndarray]]:
    """A module that computes all the cases, its results named by case and number of result, and its inputs."""
    module = new_module()
    function = module.add_function("main", [])
    block = function.regions[0].block
    builder = Builder(block)
    inputs: dict[str, np.ndarray] = {}
    results, names = [], []
    for number, case in enumerate(cases):
        values = []
        for operand in case.operands:
            if isinstance(operand, Const):
                values.append(const(builder, operand.array, operand.element))
            elif isinstance(operand, Shape):
                values.append(shape_const(builder, operand.sizes))
            else:
                name = f"x{len(inputs)}"
                inputs[name] = operand
                values.append(block.add_argument(TensorType(operand.shape, element_type_of(operand.dtype)), name))
        made = builder.emit(case.op, *values, element=case.element, location=f"case {number}", **case.attributes)
        for value in made if isinstance(made, tuple) else (made,):
            results.append(value)
            names.append(f"{number} {case} {len(results)}")
    set_results(function, results, names)
    function.attributes["arg_attrs"] = [{"ml_program.identifier": name} for name in inputs]
    return module, inputs


def in_32_bits(cases: Sequence[Case]) -> tuple[Module, dict[str, np.ndarray]]:
    """`graph_of` those that need no numbers of 64 bits in ONNX; that is all that others may be refused for."""
    module, inputs = graph_of(cases)
    try:
        transload.lower(module, "onnx", bits="32")
    except ConversionError as error:
        assert all("more than" in finding.why for finding in error.findings), error
        refused = {name for finding in error.findings for name in finding.names}
        cases = [case for number, case in enumerate(cases) if f"case {number}" not in refused]
        module, inputs = graph_of(cases)
    assert cases
    return module, inputs

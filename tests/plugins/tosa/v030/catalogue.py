"""One-op graphs of TOSA 0.30: every operator and element type, as data for `test_v030`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from transload.ir import BF16, BOOL, F16, F32, I4, I8, I16, I32, I48, UI8, UI16, FloatType, Type, dtype_of, element_type_of
from transload.ir.attributes import DenseArray, FloatAttr, IntAttr

BFLOAT16 = ml_dtypes.bfloat16
FLOATS: tuple[Any, ...] = (np.float32, np.float16, BFLOAT16)
INTS: tuple[Any, ...] = (np.int8, np.int16, np.int32)


@dataclass
class Const:
    """An operand that is a constant; `element` where it is not the array's own type."""

    array: Any
    element: Type | None = None


@dataclass
class Case:
    """One op: arrays among the operands are inputs. `newer` is False where 1.0 cannot say it."""

    op: str
    operands: list[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    element: Type | None = None
    note: str = ""
    newer: bool = True
    back: bool = True
    """Whether 1.0's version of it can be said in 0.30 again."""

    def __str__(self) -> str:
        types = [str(element_type_of(o.dtype)) for o in self.operands if isinstance(o, np.ndarray)]
        return "-".join([
            self.op, *types[:1], *([str(self.element)] if self.element else []), *([self.note] if self.note else [])])


def numbers(dtype: Any, *shape: int, low: int | None = None, high: int | None = None) -> np.ndarray:
    """Random numbers, the same for the same arguments."""
    kind = np.dtype(dtype)
    rng = np.random.default_rng(zlib.crc32(repr((kind.name, shape, low, high)).encode()))
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind not in "iu":
        return rng.standard_normal(shape).astype(np.float32).astype(dtype)
    info = np.iinfo(kind)
    return rng.integers(
        info.min if low is None else low, (info.max if high is None else high) + 1, shape, dtype=np.int64).astype(kind)


def special(dtype: Any) -> np.ndarray:
    return np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 1e-7], np.float32).astype(dtype)


def elementwise() -> Iterator[Case]:
    for dtype in FLOATS:
        for name in ("sigmoid", "tanh", "ceil", "exp", "floor", "reciprocal", "abs"):
            yield Case(name, [numbers(dtype, 3, 5) * dtype(3)])
            yield Case(name, [special(dtype)], note="special")
        for name in ("log", "rsqrt"):
            yield Case(name, [np.abs(numbers(dtype, 3, 5))])
            yield Case(name, [special(dtype)], note="special")
        for name in ("add", "sub", "mul", "maximum", "minimum", "equal", "greater", "greater_equal"):
            yield Case(name, [numbers(dtype, 2, 3, 4), numbers(dtype, 1, 3, 1)])
            yield Case(name, [np.repeat(special(dtype), 8), np.tile(special(dtype), 8)], note="special")
        yield Case("pow", [np.abs(numbers(dtype, 3, 4)), numbers(dtype, 3, 4)])
        yield Case("negate", [special(dtype)])
        element = element_type_of(dtype)
        yield Case("clamp", [special(dtype)], {"min_val": FloatAttr(-0.5, element), "max_val": FloatAttr(0.5, element)})
    for dtype in INTS:
        bits = 8 * np.dtype(dtype).itemsize
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
            yield Case(name, [numbers(dtype, 3, 4), numbers(dtype, 3, 1)])
        yield Case("bitwise_not", [numbers(dtype, 30)])
        counts = numbers(dtype, 60, low=0, high=bits - 1)
        for name in ("logical_left_shift", "logical_right_shift"):
            yield Case(name, [numbers(dtype, 60), counts])
        for rounds in (True, False):
            yield Case("arithmetic_right_shift", [numbers(dtype, 60), counts], {"round": rounds}, note=f"round={rounds}")
        yield Case("negate", [numbers(dtype, 50, low=-100)])
        if dtype != np.int32:
            element = element_type_of(dtype)
            yield Case("clamp", [numbers(dtype, 30)], {"min_val": IntAttr(-20, element), "max_val": IntAttr(30, element)})
            yield Case("mul", [numbers(dtype, 30), numbers(dtype, 30)])
    yield Case("negate", [np.arange(-128, 128).astype(np.int8)], {"input1_zp": 5, "output_zp": -7}, note="zero points")
    wide = np.int32
    yield Case("mul", [numbers(wide, 30, low=-40000, high=40000), numbers(wide, 1, low=-40000, high=40000)])
    for shift in (1, 20, 40):
        other = numbers(wide, 60, low=-(1 << 20), high=1 << 20) if shift > 14 else numbers(wide, 60, low=-30, high=30)
        yield Case("mul", [numbers(wide, 60, low=-(1 << 25), high=1 << 25), other], {"shift": shift}, note=f"shift={shift}")
    for name in ("add", "sub", "maximum", "minimum", "equal", "greater", "greater_equal"):
        yield Case(name, [numbers(wide, 3, 4, low=-9, high=9), numbers(wide, 1, 4, low=-9, high=9)])
    divisor = numbers(wide, 60, low=1, high=100) * np.where(numbers(bool, 60), 1, -1).astype(wide)
    yield Case("intdiv", [numbers(wide, 60), divisor])
    yield Case("abs", [numbers(wide, 60)])
    yield Case("clz", [np.array([0, 1, -1, 2**30, 2**31 - 1, -(2**31), 255, 256], wide)])
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield Case(name, [numbers(bool, 3, 4), numbers(bool, 1, 4)])
    yield Case("logical_not", [numbers(bool, 3, 4)])
    for dtype in (np.bool_, *INTS, *FLOATS):
        yield Case("select", [numbers(bool, 3, 1), numbers(dtype, 1, 4), numbers(dtype, 3, 4)])
        yield Case("identity", [numbers(dtype, 2, 3)])
    yield Case("table", [np.arange(-128, 128).astype(np.int8), Const(numbers(np.int8, 256))])
    yield Case("table", [numbers(np.int16, 500), Const(np.sort(numbers(np.int16, 513)))])
    for source, target in (
        *((BOOL, t) for t in (I8, I16, I32)), *((t, BOOL) for t in (I8, I16, I32)),
        *((a, b) for a in (I8, I16, I32) for b in (I8, I16, I32, F16, BF16, F32) if a != b),
        *((a, b) for a in (F16, BF16, F32) for b in (I8, I16, I32)),
    ):
        x = numbers(dtype_of(source), 60)
        if isinstance(source, FloatType):
            ends = np.array([np.inf, -np.inf, 6e4, 0.5, 1.5], np.float32)
            x = np.concatenate([x * dtype_of(source).type(90), ends.astype(x.dtype)])
        yield Case("cast", [x], element=target)


def reductions() -> Iterator[Case]:
    for dtype in (*FLOATS, *INTS):
        floats = dtype in FLOATS
        x = numbers(dtype, 3, 5, 4) if floats else numbers(dtype, 3, 5, 4, low=-100, high=100)
        for axis in range(3):
            for name in ("reduce_max", "reduce_min"):
                yield Case(name, [x], {"axis": axis}, note=f"axis={axis}")
            if floats or dtype == np.int32:
                yield Case("reduce_sum", [x], {"axis": axis}, note=f"axis={axis}")
            if floats:
                yield Case("reduce_product", [x], {"axis": axis}, note=f"axis={axis}")
            if dtype != np.int32:
                yield Case("argmax", [x], {"axis": axis}, note=f"axis={axis}")
        if floats:
            holes = np.where(np.abs(x.astype(np.float32)) > 1, np.float32(np.nan), x.astype(np.float32)).astype(dtype)
            yield Case("argmax", [holes], {"axis": 1}, note="NaNs")
            yield Case("reduce_max", [holes], {"axis": 1}, note="NaNs")
            yield Case("reduce_min", [holes], {"axis": 1}, note="NaNs")
    for name in ("reduce_all", "reduce_any"):
        yield Case(name, [numbers(bool, 20, 2)], {"axis": 1})


_TYPES: list[tuple[Any, Any, Any, Type | None, Type | None, Type | None, int, int]] = [
    # input, weights, bias, elements of weights, bias and result, zero points of input and weights
    (np.int8, np.int8, np.int32, None, None, None, -13, 0), (np.int8, np.int8, np.int32, None, None, None, 120, 7),
    (np.int8, np.int8, np.int32, I4, None, None, 3, 0), (np.int16, np.int8, np.int64, None, I48, None, 0, 0),
    (np.float32, np.float32, np.float32, None, None, None, 0, 0), (np.float16, np.float16, np.float16, None, None, None, 0, 0),
    (np.float16, np.float16, np.float32, None, None, F32, 0, 0), (BFLOAT16, BFLOAT16, np.float32, None, None, None, 0, 0),
]


def _weighted(op: str, types: Any, x_shape: Any, w_shape: Any, channels: int, attributes: dict[str, Any], note: str) -> Case:
    dtype, w_dtype, b_dtype, w_element, b_element, element, input_zp, weight_zp = types
    low, high = (-7, 7) if w_element == I4 else (None, None)
    operands = [
        numbers(dtype, *x_shape), Const(numbers(w_dtype, *w_shape, low=low, high=high), w_element),
        Const(numbers(b_dtype, channels, low=-5000, high=5000), b_element)]
    # A cast of f16 to f32, which 1.0 needs for sums in f32, does not exist in 0.30; nor a rescale of rank 5, by
    # which the test hands out i48.
    back = dtype in (np.int8, np.float32) or (dtype == np.int16 and op != "conv3d")
    return Case(
        op, operands, {**attributes, "input_zp": input_zp, "weight_zp": weight_zp}, element,
        f"{w_element or ''}{element or ''}{note}", back=back)


def products() -> Iterator[Case]:
    for types in _TYPES:
        for stride, dilation, pad in (
            ((1, 1), (1, 1), (1, 1, 0, 1)), ((2, 1), (1, 1), (1, 1, 0, 1)), ((2, 2), (2, 2), (2, 2, 2, 3)),
        ):
            more = {"stride": stride, "dilation": dilation, "pad": pad}
            yield _weighted("conv2d", types, (1, 5, 6, 3), (4, 3, 2, 3), 4, more, f"{stride}{dilation}{pad}")
            yield _weighted("depthwise_conv2d", types, (2, 5, 6, 3), (3, 2, 3, 2), 6, more, f"{stride}{dilation}{pad}")
        more = {"stride": (2, 1, 2), "dilation": (1, 2, 1), "pad": (1, 1, 0, 0, 1, 0)}
        yield _weighted("conv3d", types, (1, 4, 5, 4, 2), (3, 2, 3, 3, 2), 3, more, "")
        for stride, out_pad, out_shape in (
            ((1, 1), (0, 0, 0, 0), (2, 6, 6, 4)), ((2, 3), (1, 0, 1, 2), (2, 8, 7, 4)), ((3, 2), (2, 2, 3, 1), (2, 8, 4, 4)),
        ):
            yield _weighted(
                "transpose_conv2d", types, (2, 4, 3, 3), (4, 3, 4, 3), 4,
                {"stride": stride, "out_pad": out_pad, "out_shape": out_shape}, f"{stride}{out_pad}")
        yield _weighted("fully_connected", types, (3, 7), (5, 7), 5, {}, "")
    for dtype, element in (
        (np.int8, None), (np.int16, None), (np.float32, None), (np.float16, None), (np.float16, F32), (BFLOAT16, None),
    ):
        limit = {"low": -9000, "high": 9000} if dtype == np.int16 else {}
        points = {"a_zp": 7, "b_zp": -9} if dtype == np.int8 else {}
        yield Case("matmul", [numbers(dtype, 2, 3, 4, **limit), numbers(dtype, 2, 4, 5, **limit)], points, element)
    for window in (
        {"kernel": (2, 2), "stride": (1, 1), "pad": (0, 0, 0, 0)}, {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1, 1, 1)},
        {"kernel": (3, 2), "stride": (2, 1), "pad": (2, 0, 1, 0)},
    ):
        for dtype in (np.int8, np.int16, *FLOATS):
            x = numbers(dtype, 2, 7, 9, 2)
            points = {"input_zp": -128, "output_zp": 11} if dtype == np.int8 else {}
            note = f"{window['kernel']}{window['stride']}"
            yield Case("max_pool2d", [x], window, note=note)
            yield Case("avg_pool2d", [x], {**window, **points}, note=note)
    complex_ = [numbers(np.float32, 2, 8, 4), numbers(np.float32, 2, 8, 4, low=1)]
    yield Case("fft2d", complex_, {"inverse": False})
    yield Case("fft2d", complex_, {"inverse": True}, note="inverse")
    yield Case("rfft2d", [numbers(np.float32, 2, 8, 16)])
    yield Case("rfft2d", [numbers(np.float32, 1, 1, 2)], note="small")


def movements() -> Iterator[Case]:
    for dtype in (np.bool_, *INTS, *FLOATS):
        three = numbers(dtype, 2, 3, 4)
        element = element_type_of(dtype)
        value: Any = True if dtype == np.bool_ else FloatAttr(1.5, element) if dtype in FLOATS else IntAttr(-5, element)
        yield Case("concat", [three, numbers(dtype, 2, 1, 4), numbers(dtype, 2, 5, 4)], {"axis": 1})
        yield Case("pad", [three], {"padding": (1, 0, 2, 3, 0, 1), "pad_const": value})
        for shape in ((4, 6), (1, 2, 3, 4, 1)):
            yield Case("reshape", [three], {"new_shape": shape}, note=str(shape))
        yield Case("reshape", [numbers(dtype, 1, 1)], {"new_shape": ()}, note="scalar")
        for axis in range(3):
            yield Case("reverse", [three], {"axis": axis}, note=f"axis={axis}")
        yield Case("slice", [numbers(dtype, 4, 5, 6)], {"start": (1, 0, 2), "size": (2, 5, 3)})
        yield Case("tile", [numbers(dtype, 2, 3, 1)], {"multiples": (3, 1, 4)})
        yield Case("transpose", [numbers(dtype, 2, 3, 4, 2)], {"perms": (3, 0, 2, 1)})
        if dtype != np.bool_:
            yield Case("gather", [numbers(dtype, 2, 5, 3), numbers(np.int32, 2, 7, low=0, high=4)])
            distinct = np.array([[4, 0, 2], [1, 3, 0]], np.int32)
            yield Case("scatter", [numbers(dtype, 2, 5, 3), distinct, numbers(dtype, 2, 3, 3)])


def rescales() -> Iterator[Case]:
    for source in (I8, I16, I32):  # products give i48 and rescale it
        for target in (I8, I16, I32):
            for wide, double, shift in (
                (True, False, 20), (True, False, 33), (True, True, 33), (True, True, 40), (False, False, 20),
            ):
                limit = min({I8: 128, I16: 32768, I32: 1 << 30}[source], 1 << (shift - 2))
                points = {"input_zp": 11 if source == I8 else 0, "output_zp": -7 if target == I8 else 0}
                x = numbers(dtype_of(source), 3, 20, low=-limit, high=limit - 1)
                multiplier = (5000 if shift == 20 else 1500000000) if wide else 20000
                attributes = {**points, "scale32": wide, "double_round": double}
                yield Case(
                    "rescale", [x], {**attributes, "per_channel": False, "multiplier": (multiplier,), "shift": (shift,)}, target,
                           f"{wide}{double}-{shift}")
                yield Case("rescale", [x], {
                    **attributes, "per_channel": True, "multiplier": (multiplier,) * 20,
                    "shift": (*(shift,) * 19, shift + 1)}, target,
                    f"{wide}{double}-{shift}-channels")
    one = {"scale32": True, "double_round": False, "per_channel": False, "multiplier": (1 << 30,), "shift": (31,)}
    for source, target, points in (
        (UI8, I8, (200, -5)), (UI8, I16, (128, 0)), (UI16, I16, (32768, 0)), (I8, UI8, (-5, 200)), (I16, UI8, (0, 3)),
        (I16, UI16, (0, 32768)),
    ):
        yield Case("rescale", [numbers(dtype_of(source), 50)], {**one, "input_zp": points[0], "output_zp": points[1]}, target)


def resizes() -> Iterator[Case]:
    for mode in ("NEAREST", "BILINEAR"):
        for shift, stride, offset, border, size, out, newer in (
            (1, (1, 1), (0, 0), (0, 0), (4, 5), (7, 9), True), (2, (2, 2), (-1, -1), (0, 0), (4, 5), (7, 9), True),
            (2, (3, 5), (0, 2), (0, 0), (5, 7), (6, 5), True), (11, (3000, 900), (-100, 10), (0, 0), (5, 3), (3, 5), True),
            (2, (2, 2), (-1, -1), (1, 1), (4, 5), (8, 10), True), (1, (2, 2), (0, 0), (-30, 0), (40, 3), (10, 3), False),
        ):
            parameters = {"output_size": out, "stride": stride, "offset": offset, "border": border, "shift": shift, "mode": mode}
            for dtype in (np.int8, np.int16):
                x = numbers(dtype, 2, *size, 2)
                if dtype == np.int16:
                    x = x // np.int16(64)  # so that bilinear sums fit the i32 in which the test hands them out
                yield Case("resize", [x], parameters, note=f"{mode}{shift}{stride}{offset}", newer=newer)
        for stride_, offset_, out in (
            ((0.5, 0.5), (0.0, 0.0), (7, 9)), ((0.5, 0.25), (-0.25, -0.375), (7, 18)), ((1.5, 2.0), (0.5, 0.0), (2, 3)),
        ):
            parameters = {
                "output_size": out, "stride": DenseArray(stride_, F32), "offset": DenseArray(offset_, F32), "border": (0, 0),
                "shift": 0, "mode": mode}
            for dtype in FLOATS:
                yield Case("resize", [numbers(dtype, 2, 4, 5, 2)], parameters, note=f"{mode}{stride_}{offset_}")


def all_cases() -> list[Case]:
    """The whole catalogue."""
    return [case for maker in (elementwise, reductions, products, movements, rescales, resizes) for case in maker()]

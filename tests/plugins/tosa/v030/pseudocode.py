"""The pseudo-code of the TOSA 0.30 specification, place by place, in Python's own numbers.

Each function takes an op's attributes, its input arrays and the shape of its result, and gives the result. It is
slow and shares nothing with the kernels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Attributes = dict[str, Any]


def places(*sizes: int) -> Iterator[tuple[int, ...]]:
    """`for_each`: every index below these sizes."""
    return itertools.product(*map(range, sizes))


def read(array: np.ndarray, index: tuple[int, ...]) -> Any:
    """`tensor_read`: a number, integers in full precision."""
    value = array[index]
    return bool(value) if array.dtype == np.bool_ else int(value) if array.dtype.kind in "iu" else float(value)


def broadcast(shape: tuple[int, ...], index: tuple[int, ...]) -> tuple[int, ...]:
    """`apply_broadcast`."""
    return tuple(0 if size == 1 else i for size, i in zip(shape, index, strict=True))


def apply_scale_32(value: int, multiplier: int, shift: int, double_round: bool = False) -> int:
    assert multiplier >= 0 and 2 <= shift <= 62
    rounding = 1 << (shift - 1)
    if double_round and shift > 31:
        rounding += (1 << 30) if value >= 0 else -(1 << 30)
    return (value * multiplier + rounding) >> shift


def reciprocal_scale(value: int) -> tuple[int, int]:
    k = (value - 1).bit_length()
    return (((1 << 30) + 1) << k) // value, 30 + k


def clip(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def limits(dtype: Any) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def elementwise(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """An operator whose result at a place depends on the broadcast places of its operands."""

    def run(a: Attributes, out: np.ndarray, *inputs: np.ndarray) -> None:
        for index in places(*out.shape):
            values = [read(x, broadcast(x.shape, index)) for x in inputs]
            with np.errstate(all="ignore"):
                out[index] = function(a, out.dtype, *values)

    return run  # type: ignore[return-value]


def wrapped(value: int, dtype: Any) -> int:
    bits = 8 * np.dtype(dtype).itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _maximum(a: Any, b: Any) -> Any:
    return math.nan if a != a or b != b else a if a >= b else b


def _minimum(a: Any, b: Any) -> Any:
    return math.nan if a != a or b != b else a if a < b else b


def _shift_right(a: Attributes, dtype: Any, x: int, n: int) -> int:
    result = x >> n
    if a["round"] and n > 0 and (x >> (n - 1)) & 1:
        result += 1
    return clip(result, *limits(dtype))


def _mul(a: Attributes, dtype: Any, x: Any, y: Any) -> Any:
    if isinstance(x, float):
        return x * y
    shift = a.get("shift", 0)
    return (x * y + (1 << (shift - 1))) >> shift if shift else wrapped(x * y, dtype)


def _negate(a: Attributes, dtype: Any, x: Any) -> Any:
    if isinstance(x, float):
        return -x
    return clip(-(x - a.get("input1_zp", 0)) + a.get("output_zp", 0), *limits(dtype))


def _clz(a: Attributes, dtype: Any, x: int) -> int:
    return 32 - (x & 0xFFFFFFFF).bit_length()


def _float(function: Callable[[np.float64], Any]) -> Callable[..., np.ndarray]:
    return elementwise(lambda a, dtype, x: function(np.float64(x)))


def _cast(a: Attributes, dtype: Any, x: Any) -> Any:
    if dtype == np.bool_:
        return x != 0
    if isinstance(x, float) and np.dtype(dtype).kind in "iu":
        low, high = limits(dtype)
        return low if x <= low else high if x >= high else clip(int(np.rint(x)), low, high)
    return wrapped(int(x), dtype) if np.dtype(dtype).kind in "iu" else float(x)


def _idiv(a: int, b: int) -> int:
    return int(a / b)


def reduce(start: Callable[[Any], Any], join: Callable[[Any, Any], Any]) -> Callable[..., None]:
    def run(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
        state = {index: start(x.dtype) for index in places(*out.shape)}
        for index in places(*x.shape):
            at = tuple(0 if d == a["axis"] else i for d, i in enumerate(index))
            state[at] = join(state[at], read(x, index))
        for index, value in state.items():
            out[index] = value

    return run


def _least(dtype: Any) -> Any:
    return limits(dtype)[0] if np.dtype(dtype).kind in "iu" else -math.inf


def _greatest(dtype: Any) -> Any:
    return limits(dtype)[1] if np.dtype(dtype).kind in "iu" else math.inf


def argmax(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    axis = a["axis"]
    for index in places(*out.shape):
        best, found = _least(x.dtype), 0
        for i in range(x.shape[axis]):
            value = read(x, (*index[:axis], i, *index[axis:]))
            if value > best:
                best, found = value, i
        out[index] = found


def avg_pool2d(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    for n, oy, ox, c in places(*out.shape):
        total: Any = 0
        count = 0
        for ky, kx in places(*a["kernel"]):
            y, column = oy * a["stride"][0] - a["pad"][0] + ky, ox * a["stride"][1] - a["pad"][2] + kx
            if 0 <= y < x.shape[1] and 0 <= column < x.shape[2]:
                count += 1
                total += read(x, (n, y, column, c)) - a.get("input_zp", 0)
        if x.dtype.kind == "i":
            total = clip(apply_scale_32(total, *reciprocal_scale(count)) + a.get("output_zp", 0), *limits(x.dtype))
        else:
            total /= count
        out[n, oy, ox, c] = total


def max_pool2d(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    for n, oy, ox, c in places(*out.shape):
        best = _least(x.dtype)
        for ky, kx in places(*a["kernel"]):
            y, column = oy * a["stride"][0] - a["pad"][0] + ky, ox * a["stride"][1] - a["pad"][2] + kx
            if 0 <= y < x.shape[1] and 0 <= column < x.shape[2]:
                best = _maximum(best, read(x, (n, y, column, c)))
        out[n, oy, ox, c] = best


def convolution(a: Attributes, out: np.ndarray, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> None:
    spatial = x.ndim - 2
    for index in places(*out.shape):
        n, at, oc = index[0], index[1:-1], index[-1]
        total: Any = 0
        for k in places(*weight.shape[1:-1]):
            y = [at[d] * a["stride"][d] - a["pad"][2 * d] + k[d] * a["dilation"][d] for d in range(spatial)]
            if all(0 <= y[d] < x.shape[1 + d] for d in range(spatial)):
                for ic in range(x.shape[-1]):
                    total += (read(x, (n, *y, ic)) - a.get("input_zp", 0)) * (read(weight, (oc, *k, ic)) - a.get("weight_zp", 0))
        out[index] = total + read(bias, (oc,))


def depthwise(a: Attributes, out: np.ndarray, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> None:
    kh, kw, channels, m = weight.shape
    for n, oy, ox, c, multiple in places(*out.shape[:3], channels, m):
        total: Any = 0
        for ky, kx in places(kh, kw):
            y = oy * a["stride"][0] - a["pad"][0] + ky * a["dilation"][0]
            column = ox * a["stride"][1] - a["pad"][2] + kx * a["dilation"][1]
            if 0 <= y < x.shape[1] and 0 <= column < x.shape[2]:
                total += (read(x, (n, y, column, c)) - a.get("input_zp", 0)) * (
                    read(weight, (ky, kx, c, multiple)) - a.get("weight_zp", 0))
        out[n, oy, ox, c * m + multiple] = total + read(bias, (c * m + multiple,))


def transpose_convolution(a: Attributes, out: np.ndarray, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> None:
    total = {index: read(bias, (index[3],)) for index in places(*out.shape)}
    for n, iy, ix, oc, ic, ky, kx in places(*x.shape[:3], weight.shape[0], x.shape[3], *weight.shape[1:3]):
        oy, ox = iy * a["stride"][0] - a["out_pad"][0] + ky, ix * a["stride"][1] - a["out_pad"][2] + kx
        if (n, oy, ox, oc) in total:
            total[n, oy, ox, oc] += (read(x, (n, iy, ix, ic)) - a.get("input_zp", 0)) * (
                read(weight, (oc, ky, kx, ic)) - a.get("weight_zp", 0))
    for index, value in total.items():
        out[index] = value


def fully_connected(a: Attributes, out: np.ndarray, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> None:
    for n, oc in places(*out.shape):
        out[n, oc] = read(bias, (oc,)) + sum(
            (read(x, (n, ic)) - a.get("input_zp", 0)) * (read(weight, (oc, ic)) - a.get(
                "weight_zp", 0)) for ic in range(x.shape[1]))


def matmul(a: Attributes, out: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    for n, h, w in places(*out.shape):
        out[n, h, w] = sum(
            (read(left, (n, h, c)) - a.get("a_zp", 0)) * (read(right, (n, c, w)) - a.get(
                "b_zp", 0)) for c in range(left.shape[2]))


def fourier(a: Attributes, real: np.ndarray, imaginary: np.ndarray, x: np.ndarray, y: np.ndarray | None = None) -> None:
    sign = -1.0 if a.get("inverse") else 1.0
    _, height, width = x.shape
    for n, oy, ox in places(*real.shape):
        total_real = total_imaginary = 0.0
        for iy, ix in places(height, width):
            angle = sign * 2 * math.pi * ((iy * oy) / height + (ix * ox) / width)
            re, im = float(x[n, iy, ix]), 0.0 if y is None else float(y[n, iy, ix])
            total_real += re * math.cos(angle) + im * math.sin(angle)
            total_imaginary += -re * math.sin(angle) + im * math.cos(angle)
        real[n, oy, ox], imaginary[n, oy, ox] = total_real, total_imaginary


def table(a: Attributes, out: np.ndarray, x: np.ndarray, entries: np.ndarray) -> None:
    for index in places(*x.shape):
        value = read(x, index)
        if x.dtype == np.int8:
            out[index] = entries[value + 128]
            continue
        place, fraction = (value + 32768) >> 7, value & 0x7F
        base, following = int(entries[place]), int(entries[place + 1])
        out[index] = (base << 7) + (following - base) * fraction


def concat(a: Attributes, out: np.ndarray, *parts: np.ndarray) -> None:
    axis = a["axis"]
    for index in places(*out.shape):
        at = list(index)
        for part in parts:
            if 0 <= at[axis] < part.shape[axis]:
                out[index] = part[tuple(at)]
            at[axis] -= part.shape[axis]


def pad(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    for index in places(*out.shape):
        at = tuple(i - a["padding"][2 * d] for d, i in enumerate(index))
        inside = all(0 <= i < size for i, size in zip(at, x.shape, strict=True))
        out[index] = x[at] if inside else a["pad_const"]


def reshape(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    flat = [x[index] for index in places(*x.shape)]
    for value, index in zip(flat, places(*out.shape), strict=True):
        out[index] = value


def reverse(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    for index in places(*out.shape):
        out[index] = x[tuple(x.shape[d] - 1 - i if d == a["axis"] else i for d, i in enumerate(index))]


def slice_(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    for index in places(*out.shape):
        out[index] = x[tuple(i + start for i, start in zip(index, a["start"], strict=True))]


def tile(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    for index in places(*out.shape):
        out[index] = x[tuple(i % size for i, size in zip(index, x.shape, strict=True))]


def transpose(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    for index in places(*out.shape):
        at = [0] * x.ndim
        for i, dimension in enumerate(a["perms"]):
            at[dimension] = index[i]
        out[index] = x[tuple(at)]


def gather(a: Attributes, out: np.ndarray, values: np.ndarray, indices: np.ndarray) -> None:
    for n, w, c in places(*out.shape):
        out[n, w, c] = values[n, indices[n, w], c]


def scatter(a: Attributes, out: np.ndarray, values: np.ndarray, indices: np.ndarray, rows: np.ndarray) -> None:
    out[...] = values
    for n, w, c in places(*rows.shape):
        out[n, indices[n, w], c] = rows[n, w, c]


def resize(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    floats = x.dtype.kind != "i"
    shift = a.get("shift", 0)
    unit: Any = 1.0 if floats else 1 << shift
    for n, oy, ox, c in places(*out.shape):
        y, column = oy * a["stride"][0] + a["offset"][0], ox * a["stride"][1] + a["offset"][1]
        iy, ix = (math.floor(y), math.floor(column)) if floats else (y >> shift, column >> shift)
        dy, dx = y - iy * unit, column - ix * unit
        iy0, iy1 = max(iy, 0), min(iy + 1, x.shape[1] - 1)
        ix0, ix1 = max(ix, 0), min(ix + 1, x.shape[2] - 1)
        assert ix0 <= ix1 and iy0 <= iy1  # REQUIRE
        if a["mode"] == "BILINEAR":
            v = {(i, j): read(x, (n, i, j, c)) for i in (iy0, iy1) for j in (ix0, ix1)}
            out[n, oy, ox, c] = (
                v[iy0, ix0] * (unit - dy) * (unit - dx) + v[iy0, ix1] * (unit - dy) * dx + v[iy1, ix0] * dy * (unit - dx)
                + v[iy1, ix1] * dy * dx)
        else:
            half = unit / 2 if floats else unit // 2
            out[n, oy, ox, c] = x[n, iy1 if dy >= half else iy0, ix1 if dx >= half else ix0, c]


def rescale(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    for index in places(*out.shape):
        c = index[-1] if a["per_channel"] else 0
        value = apply_scale_32(
            read(x, index) - a.get("input_zp", 0), a["multiplier"][c], a["shift"][c], a["double_round"])
        out[index] = clip(value + a.get("output_zp", 0), *limits(out.dtype))


def _identity(a: Attributes, out: np.ndarray, x: np.ndarray) -> None:
    out[...] = x


OPERATORS: dict[str, Callable[..., None]] = {
    "argmax": argmax, "avg_pool2d": avg_pool2d, "max_pool2d": max_pool2d, "conv2d": convolution, "conv3d": convolution,
    "depthwise_conv2d": depthwise, "transpose_conv2d": transpose_convolution, "fully_connected": fully_connected,
    "matmul": matmul,
    "fft2d": fourier, "rfft2d": fourier, "table": table, "concat": concat, "pad": pad, "reshape": reshape, "reverse": reverse,
    "slice": slice_, "tile": tile, "transpose": transpose, "gather": gather, "scatter": scatter, "resize": resize,
    "rescale": rescale,
    "identity": _identity,
    "clamp": elementwise(lambda a, t, x: _minimum(_maximum(x, a["min_val"]), a["max_val"])),
    "sigmoid": _float(lambda x: 1 / (1 + np.exp(-x))), "tanh": _float(np.tanh), "ceil": _float(np.ceil), "exp": _float(np.exp),
    "floor": _float(np.floor), "log": _float(np.log), "reciprocal": _float(lambda x: 1 / x),
    "rsqrt": _float(lambda x: 1 / np.sqrt(x)),
    "add": elementwise(lambda a, t, x, y: x + y), "sub": elementwise(lambda a, t, x, y: x - y),
    "arithmetic_right_shift": elementwise(_shift_right),
    "bitwise_and": elementwise(lambda a, t, x, y: x & y), "bitwise_or": elementwise(lambda a, t, x, y: x | y),
    "bitwise_xor": elementwise(lambda a, t, x, y: x ^ y), "bitwise_not": elementwise(lambda a, t, x: ~x),
    "intdiv": elementwise(lambda a, t, x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)),
    "logical_and": elementwise(lambda a, t, x, y: x and y), "logical_or": elementwise(lambda a, t, x, y: x or y),
    "logical_xor": elementwise(lambda a, t, x, y: x != y), "logical_not": elementwise(lambda a, t, x: not x),
    "logical_left_shift": elementwise(lambda a, t, x, y: wrapped(x << y, t)),
    "logical_right_shift": elementwise(lambda a, t, x, y: wrapped((x & ((1 << 8 * t.itemsize) - 1)) >> y, t)),
    "maximum": elementwise(lambda a, t, x, y: _maximum(x, y)), "minimum": elementwise(lambda a, t, x, y: _minimum(x, y)),
    "mul": elementwise(_mul), "pow": elementwise(lambda a, t, x, y: np.float64(x) ** np.float64(y)),
    "abs": elementwise(lambda a, t, x: abs(x)), "clz": elementwise(_clz), "negate": elementwise(_negate),
    "select": elementwise(lambda a, t, c, x, y: x if c else y), "equal": elementwise(lambda a, t, x, y: x == y),
    "greater": elementwise(lambda a, t, x, y: x > y), "greater_equal": elementwise(lambda a, t, x, y: x >= y),
    "cast": elementwise(_cast),
    "reduce_all": reduce(lambda t: True, lambda s, x: s and x), "reduce_any": reduce(lambda t: False, lambda s, x: s or x),
    "reduce_max": reduce(_least, _maximum), "reduce_min": reduce(_greatest, _minimum),
    "reduce_product": reduce(lambda t: 1.0, lambda s, x: s * x), "reduce_sum": reduce(lambda t: 0, lambda s, x: s + x),
}

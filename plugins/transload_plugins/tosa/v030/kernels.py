"""Kernels of TOSA 0.30: those of 1.0, given its attributes as the operands that they became."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.tiled import tiled
from transload.errors import RunError
from transload.ir import FloatType, Op, dtype_of
from transload.plugin import KernelTable

from ..dialect.base import storage_of
from ..kernels import KERNELS as NEWER
from ..kernels.base import apply_scale, float_of, is_float, limits, result_dtype, to_result
from .base import UNCHANGED
from .dialect import TOSA030

if TYPE_CHECKING:
    from ..dialect.spatial import ArgMax
    from .elementwise import Mul, Negate
    from .movement import Custom, Pad, Rescale, Reshape, Resize, Slice, Tile
    from .tensor import AvgPool2d, Conv2d, Conv3d, DepthwiseConv2d, FullyConnected, MatMul, Rfft2d, TransposeConv2d

__all__ = ["KERNELS"]

KERNELS = KernelTable()

class _View:
    """An op as the 1.0 operator `name` sees it: with other attributes, and the rest its own."""

    def __init__(self, op: Op, name: str, **attributes: Any) -> None:
        self.op = op
        self.name = f"tosa.{name}"
        self.attributes = {**op.attributes, **attributes}

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)


def _newer(name: str) -> Callable[..., Any]:
    return NEWER.kernels[f"tosa.{name}"][0]


def _kernel(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return KERNELS(f"tosa030.{name}", quantized="native")


def _same(name: str) -> Callable[..., Any]:
    run_newer = _newer(name)
    needs = {key: member.default for key, member in TOSA030.ops[f"tosa030.{name}"].attributes.items()}

    def run(op: Op, *arrays: Any, **more: Any) -> Any:
        return run_newer(_View(op, name, **{key: op.attribute(key) for key in needs}), *arrays, **more)

    return run


for _name in [*UNCHANGED.split(), "cond_if", "while_loop"]:
    _kernel(_name)(_same(_name))


def _point(op: Op, index: int, value: int) -> np.ndarray:
    """A zero point as the operand of one element that 1.0 has."""
    return np.array([value]).astype(dtype_of(storage_of(op.operands[index])))


@_kernel("argmax")
def argmax(op: ArgMax, x: np.ndarray) -> np.ndarray:
    """The first place of the greatest; a NaN is greater than nothing, and where nothing is greater it is place 0."""
    if is_float(op.operands[0]):
        x = float_of(x)
        x = np.where(np.isnan(x), -np.inf, x)
    return to_result(op, np.argmax(x, axis=op.attributes["axis"]))


@_kernel("avg_pool2d")
def average(op: AvgPool2d, x: np.ndarray) -> np.ndarray:
    points = (_point(op, 0, op.attribute("input_zp")), _point(op, 0, op.attribute("output_zp")))
    return _newer("avg_pool2d")(_View(op, "avg_pool2d"), x, *points)


@_kernel("conv2d")
def convolution(op: Conv2d, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return _weighted(op, "conv2d", x, weight, bias)


@_kernel("conv3d")
def convolution3d(op: Conv3d, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return _weighted(op, "conv3d", x, weight, bias)


@_kernel("depthwise_conv2d")
def depthwise(op: DepthwiseConv2d, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return _weighted(op, "depthwise_conv2d", x, weight, bias)


def _weighted(op: Op, name: str, x: np.ndarray, weight: np.ndarray, bias: np.ndarray, **attributes: Any) -> np.ndarray:
    points = (_point(op, 0, op.attribute("input_zp")), _point(op, 1, op.attribute("weight_zp")))
    return _newer(name)(_View(op, name, **attributes), x, weight, bias, *points)


@_kernel("transpose_conv2d")
def transpose_convolution(op: TransposeConv2d, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """0.30 cuts `out_pad` off where 1.0 adds it."""
    return _weighted(op, "transpose_conv2d", x, weight, bias, out_pad=tuple(-pad for pad in op.attributes["out_pad"]))


@_kernel("fully_connected")
def fully_connected(op: FullyConnected, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """A 1x1 convolution of one place."""
    point = {"stride": (1, 1), "dilation": (1, 1), "pad": (0, 0, 0, 0)}
    out = _weighted(op, "conv2d", x[:, None, None, :], weight[:, None, None, :], bias, **point)
    return out.reshape(x.shape[0], weight.shape[0])


@_kernel("matmul")
def matmul(op: MatMul, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    points = (_point(op, 0, op.attribute("a_zp")), _point(op, 1, op.attribute("b_zp")))
    return _newer("matmul")(_View(op, "matmul"), a, b, *points)


@_kernel("rfft2d")
def rfft2d(op: Rfft2d, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns that 0.30 keeps: up to half of each."""
    real, imaginary = _newer("rfft2d")(_View(op, "rfft2d"), x)
    rows = x.shape[1] // 2 + 1
    return real[:, :rows], imaginary[:, :rows]


@_kernel("mul")
def multiply(op: Mul, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _newer("mul")(_View(op, "mul"), a, b, np.array([op.attribute("shift")], np.int8))


@_kernel("negate")
def negate(op: Negate, x: np.ndarray) -> np.ndarray:
    points = (_point(op, 0, op.attribute("input1_zp")), _point(op, 0, op.attribute("output_zp")))
    return _newer("negate")(_View(op, "negate"), x, *points)


@_kernel("pad")
def pad(op: Pad, x: np.ndarray) -> np.ndarray:
    value = np.array([op.attributes["pad_const"]]).astype(x.dtype)
    return _newer("pad")(_View(op, "pad"), x, np.array(op.attributes["padding"], np.int64), value)


@_kernel("reshape")
def reshape(op: Reshape, x: np.ndarray) -> np.ndarray:
    return x.reshape(op.attributes["new_shape"])


@_kernel("slice")
def slice_(op: Slice, x: np.ndarray) -> np.ndarray:
    return x[tuple(slice(a, a + n) for a, n in zip(op.attributes["start"], op.attributes["size"], strict=True))]


@_kernel("tile")
def tile(op: Tile, x: np.ndarray) -> np.ndarray:
    return tiled(x, op.attributes["multiples"])


@_kernel("rescale")
def rescale(op: Rescale, x: np.ndarray) -> np.ndarray:
    """`apply_scale(x - input_zp) + output_zp`, saturated; unsigned numbers are of unsigned types."""
    per_channel = op.attributes["per_channel"]
    multiplier, shift = (np.array(op.attributes[key], np.int64) for key in ("multiplier", "shift"))
    if not per_channel:
        multiplier, shift = multiplier.reshape(()), shift.reshape(())
    value = np.asarray(x.astype(np.int64) - op.attribute("input_zp"))
    value = apply_scale(value, multiplier, shift, op.attributes["double_round"])
    return np.clip(value + op.attribute("output_zp"), *limits(op)).astype(result_dtype(op))


@_kernel("resize")
def resize(op: Resize, x: np.ndarray) -> np.ndarray:
    """Samples at `o * stride + offset`, in units of `2^-shift` of an input place."""
    floats = isinstance(storage_of(op.operands[0]), FloatType)
    unit: Any = np.float32(1) if floats else np.int64(1 << op.attribute("shift"))
    kind: Any = np.float32 if floats else np.int64
    rows, columns = (
        _positions(size, out, kind(step), kind(start), unit) for size, out, step, start in zip(
            x.shape[1:3], op.attributes["output_size"], op.attributes["stride"], op.attributes["offset"], strict=True))
    (y0, y1, dy), (x0, x1, dx) = rows, columns
    if op.attributes["mode"] == "NEAREST":
        half = unit / 2 if floats else unit // 2
        return x[:, np.where(dy >= half, y1, y0)][:, :, np.where(dx >= half, x1, x0)]
    wide = float_of(x) if floats else x.astype(result_dtype(op))
    wy, wx = dy.astype(wide.dtype)[:, None, None], dx.astype(wide.dtype)[:, None]
    one = wide.dtype.type(unit)
    lines = wide[:, y0] * (one - wy) + wide[:, y1] * wy
    return to_result(op, lines[:, :, x0] * (one - wx) + lines[:, :, x1] * wx)


def _positions(size: int, out: int, step: Any, start: Any, unit: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each output place: the input before it, the one after it, and how far it lies between."""
    position = np.arange(out).astype(type(step)) * step + start
    before = np.floor(position).astype(np.int64) if isinstance(unit, np.floating) else position // unit
    fraction = position - before.astype(type(step)) * unit
    return np.clip(before, 0, size - 1), np.clip(before + 1, 0, size - 1), fraction


@_kernel("custom")
def custom(op: Custom, *inputs: np.ndarray) -> Any:
    """Nothing is known of it here."""
    raise RunError(
        f"{op.called}: the operator {op.attribute('identifier')!r} cannot be run",
        hint="only the implementation that defines this operator can execute it")

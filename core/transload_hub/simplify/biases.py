"""Biases of quantized products: how finely they are held, and the pass that makes them plain.

A product of quantized tensors is a sum of integers times `S = scale of input * scale of weights`, plus a bias. Integer chips add
the bias as an i32 in steps of `S`, which moves a result by up to half of `S`: of a few results in ten thousand, the nearest level
is then another. But sums of 8-bit numbers take far fewer than 32 bits: a layer of 4,608 products of weights up to 127 reaches
2^26. In steps of `S / 2^n` the bias is `2^n` times as near, and what is computed is still exact in 32 bits:

    result = round(((sum << n) + bias) * (S / 2^n / scale of result)) + zero point

The hub says so by the type of the bias alone: its scale is `S / 2^n`, with an `n` for each channel. How a model meant it is told
by where its bias comes from: an i32 in steps of `S` (TFLite, most QDQ models) stays one, a float (pt2e) becomes as fine as fits.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from transload.ir import I32, Dense, FloatType, Module, Op, QuantType, Value
from transload.ir.build import Builder, constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

__all__ = ["PRODUCTS", "add_computed_biases", "added_bits", "finest", "output_axis", "plain_biases", "reach_of"]

PRODUCTS = ("top.Conv", "top.Deconv", "top.MatMul")
"""Ops with weights, operand 1, which may be quantized per output channel, and a bias, operand 2."""

_MOST = I32.range[1]
_ENOUGH = 16
"""More bits than these bring nothing: 2^-17 of a product of two steps is below what float32, in which models are made, holds."""
_LEAST_FACTOR = 2.0**-28
"""Sums are multiplied by no less than this: a `tosa.rescale` shifts by up to 62, with a multiplier of 31 bits."""
_CHUNK = 1 << 20


def output_axis(op: Op, weights: Value) -> int | None:
    """The dimension of the weights, constant or not, that is the output channel; None where no dimension alone is."""
    if op.name == "top.Conv":
        return 0
    if op.name == "top.Deconv":
        return (1 if op.attribute("layout") == "NCHW" else 0) if op.attribute("group") == 1 else None
    return None if weights.rank == 1 else weights.rank - (2 if op.attribute("right_transpose") else 1)  # a vector is summed over


def reach_of(op: Op, value: QuantType, weights: Value, kind: QuantType) -> np.ndarray | None:
    """How far from 0 the sums of an op may lie, for each output channel or for all, `[O]` or `[1]`, in products of steps.

    None where nothing is known: of weights that are computed, and of numbers of more than 8 bits.
    """
    dense, axis = constant_of(weights), output_axis(op, weights)
    if dense is None or kind.blocks is not None or len(set(kind.zero_points)) != 1 or value.storage.width > 8:
        return None
    if kind.storage.width > 8:
        return None
    widest = max(value.zero_point - value.storage_min, value.storage_max - value.zero_point)
    numbers = dense.numpy()
    rows = numbers.reshape(1, -1) if axis is None else np.moveaxis(numbers, axis, 0)
    sums = np.zeros(len(rows), np.int64)
    step = max(1, _CHUNK // max(1, rows[:1].size))
    for start in range(0, len(rows), step):
        part = rows[start : start + step].astype(np.int32)
        sums[start : start + step] = np.abs(part - kind.zero_points[0]).sum(axis=tuple(range(1, part.ndim)), dtype=np.int64)
    return sums * widest


class Stored(NamedTuple):
    """A bias as integers `[O]` of i32, and the scales of them."""

    numbers: np.ndarray
    scales: np.ndarray


def finest(real: np.ndarray, scales: np.ndarray, reach: np.ndarray | None, result: QuantType | None) -> Stored | None:
    """A bias of real numbers `[O]` in the finest steps that leave the sums their 32 bits; None where it does not fit in any.

    `scales` are those of the products, `[O]` or `[1]`; `reach` is how far from 0 their sums may lie, None: nothing is known.
    """
    plain = np.asarray(real, np.float64) / scales
    if not np.isfinite(plain).all() or np.abs(np.rint(plain)).max(initial=0) > _MOST:
        return None
    whole = np.abs(plain - np.rint(plain)) <= 1e-6 * np.maximum(1.0, np.abs(plain))
    if reach is None or result is None or whole.all():
        return Stored(np.rint(plain).astype(np.int32), np.asarray(scales, np.float64))
    with np.errstate(divide="ignore"):
        spare = np.floor(np.log2(_MOST / (reach + np.abs(plain) + 1.0)))
        small = np.floor(np.log2(scales / (result.scale * _LEAST_FACTOR)))
    bits = np.clip(np.minimum(spare, small), 0, _ENOUGH).astype(int)
    if len(scales) == 1:
        bits = bits.min(keepdims=True)
    fine = scales * 2.0 ** -bits
    return Stored(np.rint(real / fine).astype(np.int32), fine)


def added_bits(bias: QuantType, scales: np.ndarray) -> np.ndarray | None:
    """By how many bits a bias is finer than the products, whose scales are `scales`: `[O]` or `[1]`; None where by no bits."""
    if bias.storage != I32 or any(bias.zero_points) or bias.count not in (1, len(scales)) or not bias.scale_array.all():
        return None
    bits = np.log2(scales / bias.scale_array)
    whole = np.rint(bits)
    if np.abs(bits - whole).max() > 1e-5 or whole.min() < 0 or whole.max() > 30 or not whole.any():
        return None
    return whole.astype(np.int64)


def plain_biases(module: Module, bias: Literal["plain", "fine"] = "plain") -> bool:
    """The pass `plain-biases`: finer biases become integers in steps of the products, which all integer chips add.

    What that moves is noted on the module. With `bias="fine"` nothing is done.
    """
    if bias == "fine":
        return False
    worst, count = 0.0, 0
    for op in list(module.walk()):
        moved = _made_plain(op)
        if moved is not None:
            worst, count = max(worst, moved), count + 1
    if count:
        module.notes = (
            *module.notes, f"{count} biases, which are finer in the model, are rounded to products of two scales, as integer "
            f"chips add them: that moves what is rounded by up to {worst:.2g} of a step")
    return count > 0


def _made_plain(op: Op) -> float | None:
    """Round the bias of an op to steps of its products; by how much of a step of the result, None where it was no finer."""
    if op.name not in PRODUCTS or len(op.operands) < 3:
        return None
    x, w, held = (value.quant for value in op.operands[:3])
    dense = constant_of(op.operands[2])
    if x is None or w is None or held is None or dense is None or not x.per_tensor or w.blocks is not None:
        return None
    scales = x.scale * w.scale_array
    bits = added_bits(held, scales)
    if bits is None:
        return None
    numbers = dense.numpy().astype(np.float64)
    steps = numbers * 2.0 ** -bits
    made = np.rint(steps)
    element = held.replace(
        scales=tuple(scales.tolist()), zero_points=(0,) * len(scales), axis=None if len(scales) == 1 else 0)
    build = Builder(op.parent, before=op, location=op.operands[2].name)  # type: ignore[arg-type]
    op.set_operand(2, build.constant(Dense(made.astype(np.int32)), element=element))
    result = op.results[0].quant
    step = result.scale if result is not None and result.per_tensor else float("inf")
    return float((np.abs(steps - made) * scales).max(initial=0.0) / step)


_COMPUTED = RewriteTable()


def add_computed_biases(module: Module) -> bool:
    """Add the biases of products of floats behind them where they are no constants. Returns whether there were any.

    A bias of integers is held in the scale of the products, so it has to be known; a sum of two tensors has no such need.
    """
    return apply_greedily(module, _COMPUTED)


@_COMPUTED(*PRODUCTS)
def _added_behind(op: Op, rw: Rewriter) -> Value | None:
    bias = op.operands[2] if len(op.operands) > 2 else None
    if bias is None or constant_of(bias) is not None or not isinstance(bias.element_or_none, FloatType):
        return None
    apart = {name: value for name, value in op.attributes.items() if name not in ("do_relu", "relu_limit")}
    activation = {name: value for name, value in op.attributes.items() if name not in apart}
    name = f"{op.result.name}/products" if op.result.name else None
    products = rw.emit(op.name, *op.operands[:2], location=name, **apart)
    if op.name != "top.MatMul" and op.attribute("layout") == "NCHW":
        bias = rw.emit("top.Reshape", bias, shape=(-1, *(1,) * (products.rank - 2)))
    added: Value = rw.emit("top.Add", products, bias, **activation)
    return added

"""Simplifications of `x * scale + shift` with constants: of chains of it, and into the weights before it.

Scaling and shifting by constants comes in many forms (MulConst, AddConst, Mul, Add, Sub, Div, Scale,
BatchNorm). Each is seen as one `Affine`; where a Conv, Deconv or MatMul with constant weights computes
`x`, and nobody else wants `x`, the weights take it in. Only floats: on quantized tensors every step rounds.

Source: the algebra of batch normalization folding, e.g. Jacob et al., "Quantization and Training of
Neural Networks for Efficient Integer-Arithmetic-Only Inference" (2018), section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from transload.analysis.movement import is_cast, moves_of
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.affine import (
    Affine,
    Array,
    affine_of,
    constant_array,
    is_coarse,
    is_ranked_float,
    least_normal,
    relu_of,
    used_once,
)
from ..ops.infer import channel_axis
from ..tables import distinct
from .biases import output_axis
from .weights import fades, rescaled

if TYPE_CHECKING:
    from ..ops.conv import Conv, Deconv
    from ..ops.matmul import MatMul

__all__ = ["TABLE"]

TABLE = RewriteTable()

_FEW = 8


def _emit(rw: Rewriter, affine: Affine, relu: dict[str, Any]) -> Value | None:
    """The shortest op that computes `affine`; None where its constants are too large for the element type."""
    source, scale, shift = affine.source, affine.scale, affine.shift
    dtype = dtype_of(source.element)
    with np.errstate(over="ignore"):
        cast = [None if array is None else array.astype(dtype) for array in (scale, shift)]
    if any(array is not None and not np.isfinite(array.astype(np.float64)).all() for array in cast):
        return None
    if scale is not None and shift is not None:
        return rw.emit("top.Scale", source, rw.constant(cast[0]), rw.constant(cast[1]), **relu)
    name, array, stored = ("Mul", scale, cast[0]) if shift is None else ("Add", shift, cast[1])
    if array is None:
        return rw.emit("top.Relu", source, relu_limit=relu.get("relu_limit")) if relu else source
    if array.size == 1:
        return rw.emit(f"top.{name}Const", source, const_val=float(array.reshape(())), **relu)
    return rw.emit(f"top.{name}", source, rw.constant(stored), **relu)


@TABLE("top.MulConst", "top.AddConst", "top.Mul", "top.Add", "top.Sub", "top.Div", "top.Scale", "top.BatchNorm")
def into_weights(op: Op, rw: Rewriter) -> Any:
    """Scaling and shifting per output channel goes into the constant weights and bias of what computes its input.

    Not where integers in floats are multiplied (quantization at run time): that product is exact, and
    would be no longer.
    """
    affine = affine_of(op)
    if affine is None or not used_once(affine.source):
        return None
    maker = affine.source.op
    if maker is None or maker.parent is not op.parent or maker.name not in _ABSORBERS or maker.attribute("do_relu", False):
        return None
    if affine.scale is not None and _holds_integers(maker.operands[0]):
        return None
    absorbed = _ABSORBERS[maker.name](maker, affine, rw)
    if absorbed is None:
        return None
    weights, bias = absorbed
    attributes = {**maker.attributes, **relu_of(op)}
    return rw.emit(maker.name, maker.operands[0], weights, bias, element=op.results[0].element, **attributes)


_KEEPING = frozenset(f"top.{name}" for name in ("Add", "Sub", "Mul"))


def _holds_integers(value: Value, depth: int = 8) -> bool:
    """Whether a float tensor holds integers: it was rounded, and then moved about, compared with or added to other integers."""
    op = value.op
    if op is None or depth == 0:
        return False
    if op.name in ("top.Round", "top.Floor", "top.Ceil", "top.FloorDiv"):
        return True
    if is_cast(op):
        return not is_ranked_float(op.operands[0]) and op.operands[0].quant is None
    moves = moves_of(op)
    if moves is not None and all(number.is_integer() or math.isinf(number) for number in moves.constants):
        return all(_holds_integers(operand, depth - 1) for operand in moves.operands(op))
    if op.name in _KEEPING:
        return all(_holds_integers(operand, depth - 1) for operand in op.operands)
    constant = constant_array(value)
    return constant is not None and bool((constant == np.rint(constant)).all())


@TABLE("top.MulConst", "top.AddConst", "top.Mul", "top.Add", "top.Sub", "top.Div", "top.Scale", "top.BatchNorm")
def affine_chain(op: Op, rw: Rewriter) -> Any:
    """Two in a row are one where that saves work; one that does nothing goes; a constant BatchNorm is a Scale.

    Tensors of a few numbers (scales that a model computes for its own quantization) are left to the exact
    order of their operations: joining would save nothing there, and the last bit may decide what a later
    rounding gives.
    """
    affine = affine_of(op)
    if affine is None or (op.results[0].tensor_type.is_static and op.results[0].tensor_type.num_elements <= _FEW):
        return None
    steps = affine.steps
    inner = affine.source.op
    if inner is not None and inner.parent is op.parent and used_once(affine.source) and not inner.attribute("do_relu", False):
        before = affine_of(inner)
        if before is not None and not (_fade(before, affine) or _round(before, affine) or _guards(before, affine)):
            joined = _shortened(before.then(affine))
            if joined.steps < before.steps + steps and joined.size() <= max(before.size(), affine.size()):
                return _emit(rw, joined, relu_of(op))
    shorter = _shortened(affine)
    if shorter.steps < steps or op.name == "top.BatchNorm":
        return _emit(rw, shorter, relu_of(op))
    return None


def _fade(first: Affine, second: Affine) -> bool:
    """Whether the product of two scales has a number that the element type does not hold with all its digits, or as 0.

    What one of them multiplies first may be as large as to be there after both. A shift that is as small is lost in what the
    result is rounded to.
    """
    if first.scale is None or second.scale is None:
        return False
    meant = (first.scale != 0) & (second.scale != 0)
    with np.errstate(under="ignore"):
        sizes = np.abs(first.scale * second.scale)
    return bool((meant & (sizes < least_normal(dtype_of(first.source.element)))).any())


def _round(first: Affine, second: Affine) -> bool:
    """Whether of two shifts one is there to round: see `is_coarse`."""
    shifts, dtype = (first.shift, second.shift), dtype_of(first.source.element)
    return all(shift is not None for shift in shifts) and any(is_coarse(shift, dtype) for shift in shifts)


def _guards(first: Affine, second: Affine) -> bool:
    """Whether the second shift is one small number that the first loses when they are added up, where it is not 0 itself.

    Of `(1 - p) + 1e-12` the sum of both constants is 1 in float32, and where p is 1 the logarithm behind it has no end.
    """
    if first.shift is None or second.shift is None:
        return False
    guards = np.abs(distinct(second.shift))
    if not guards.size or not 0 < guards.min() == guards.max():
        return False
    moved = np.abs(first.shift if second.scale is None else first.shift * second.scale)
    return bool((guards.min() < moved * float(ml_dtypes.finfo(dtype_of(first.source.element)).eps)).any())


def _shortened(affine: Affine) -> Affine:
    """Without a scale of ones and a shift of zeros."""
    scale, shift = affine.scale, affine.shift
    return Affine(affine.source, None if scale is not None and (scale == 1).all() else scale,
                  None if shift is not None and (shift == 0).all() else shift)


def _per_channel(array: Array | None, axis: int, rank: int, channels: int) -> Array | None:
    """A constant that varies along one dimension only as an array of that dimension's size; None where it does not."""
    if array is None:
        return None
    shape = (1,) * (rank - array.ndim) + array.shape
    if any(size != 1 for place, size in enumerate(shape) if place != axis):
        return None
    return np.broadcast_to(array.reshape(-1), (channels,))


def _absorb(
    maker: Any, affine: Affine, rw: Rewriter, axis: int, weights: Value, scaled: Callable[[Array, Array], Array],
) -> tuple[Value, Value | None] | None:
    """New weights and bias of `maker`, whose output channels are dimension `axis`."""
    channels = affine.source.shape[axis]
    if channels is None:
        return None
    rank = affine.source.rank
    scale = _per_channel(affine.scale, axis, rank, channels)
    shift = _per_channel(affine.shift, axis, rank, channels)
    if (affine.scale is not None and scale is None) or (affine.shift is not None and shift is None):
        return None
    bias = None if maker.bias is None else constant_array(maker.bias)
    if maker.bias is not None and (bias is None or bias.ndim > 1):
        return None
    dtype = dtype_of(affine.source.element)
    if shift is not None and (is_coarse(bias, dtype) or (scale is None and is_coarse(shift, dtype))):
        return None  # it rounds; what a batch normalization scales and shifts may be as far away
    new_weights = weights
    if scale is not None:
        if not used_once(weights):  # others use them as they are: no second copy
            return None
        product = _times(maker, weights, scale, rw, scaled)
        if product is None:
            return None
        new_weights = product
    total = bias
    if bias is not None and scale is not None:
        total = bias * scale
    if shift is not None:
        total = shift if total is None else total + shift
    if total is None:
        return new_weights, None
    stored = _cast(np.broadcast_to(total, (channels,)), dtype)
    return None if stored is None else (new_weights, rw.constant(stored))


def _times(maker: Op, weights: Value, scale: Array, rw: Rewriter, scaled: Callable[[Array, Array], Array]) -> Value | None:
    """Constant weights times a factor for each output channel; None where they are none, or it cannot be held.

    Of weights that integers stand for, as training rounded them, the integers stay.
    """
    dense, axis = constant_array(weights), output_axis(maker, weights)
    if dense is None:
        return None if axis is None or weights.shape[axis] != len(scale) else rescaled(weights, axis, scale, rw)
    dtype = dtype_of(weights.element)
    with np.errstate(under="ignore"):
        exact = scaled(dense, scale)
    if fades(exact, scaled(dense != 0, scale != 0), dtype, axis):
        return None
    product = _cast(exact, dtype)
    return None if product is None else rw.constant(product)


def _cast(array: Array, dtype: np.dtype) -> Array | None:
    """In the element type, contiguous; None where a number is too large for it."""
    with np.errstate(over="ignore"):
        stored = array.astype(dtype, order="C")
    return stored if np.isfinite(stored.astype(np.float64)).all() else None


def _conv(op: Conv, affine: Affine, rw: Rewriter) -> tuple[Value, Value | None] | None:
    """Output channels are the first dimension of the filter, in both layouts."""
    return _absorb(op, affine, rw, channel_axis(op.layout, affine.source.rank), op.filter,
                   lambda weights, scale: weights * scale.reshape((-1,) + (1,) * (weights.ndim - 1)))


def _deconv(op: Deconv, affine: Affine, rw: Rewriter) -> tuple[Value, Value | None] | None:
    """The filter is [I, O/group, ..] or [O/group, .., I]; input i belongs to group `i // (I/group)`."""

    def scaled(weights: Array, scale: Array) -> Array:
        groups = scale.reshape(op.group, -1)  # [group, O/group]
        if op.layout == "NCHW":
            factors = np.repeat(groups, weights.shape[0] // op.group, axis=0)
            return weights * factors.reshape(factors.shape + (1,) * (weights.ndim - 2))
        factors = np.repeat(groups, weights.shape[-1] // op.group, axis=0).T  # [O/group, I]
        return weights * factors.reshape((factors.shape[0], *(1,) * (weights.ndim - 2), factors.shape[1]))

    return _absorb(op, affine, rw, channel_axis(op.layout, affine.source.rank), op.filter, scaled)


def _matmul(op: MatMul, affine: Affine, rw: Rewriter) -> tuple[Value, Value | None] | None:
    """Columns of the product are columns of the right operand, or its rows where it is transposed."""
    if op.input.rank < 2 or op.right.rank < 2:  # no column dimension, or one that is the only one
        return None

    def scaled(weights: Array, scale: Array) -> Array:
        return weights * (scale[:, None] if op.right_transpose else scale)

    return _absorb(op, affine, rw, affine.source.rank - 1, op.right, scaled)


_ABSORBERS: dict[str, Callable[[Any, Affine, Rewriter], tuple[Value, Value | None] | None]] = {
    "top.Conv": _conv, "top.Deconv": _deconv, "top.MatMul": _matmul,
}

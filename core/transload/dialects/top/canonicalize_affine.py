"""Simplifications of `x * scale + shift` with constants: of chains of it, and into the weights before it.

Scaling and shifting by constants comes in many forms (MulConst, AddConst, Mul, Add, Sub, Div, Scale,
BatchNorm). Each is seen as one `Affine`; where a Conv, Deconv or MatMul with constant weights computes
`x`, and nobody else wants `x`, the weights take it in. Only floats: on quantized tensors every step rounds.

Source: the algebra of batch normalization folding, e.g. Jacob et al., "Quantization and Training of
Neural Networks for Efficient Integer-Arithmetic-Only Inference" (2018), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir import ElidedData, FloatType, Op, TensorType, Value, dtype_of
from ...ir.build import constant_of
from ...rewrite import Rewriter, RewriteTable
from .infer import channel_axis

__all__ = ["TABLE", "Affine", "affine_of", "is_float", "relu_of", "used_once"]

TABLE = RewriteTable()

Array = np.ndarray[Any, Any]
_FEW = 8


def is_float(value: Value) -> bool:
    """Whether a value is a tensor of plain floats, of known rank."""
    type_ = value.type
    return isinstance(type_, TensorType) and isinstance(type_.element, FloatType) and type_.shape is not None


def used_once(value: Value) -> bool:
    """Whether one operand of one op is all that uses a value."""
    return len(value.uses) == 1 and next(iter(value.uses.values())) == 1


def relu_of(op: Op) -> dict[str, Any]:
    """The attributes that say which ReLU an op ends with; empty where with none."""
    if not op.attribute("do_relu", False):
        return {}
    limit = op.attribute("relu_limit", -1.0)
    return {"do_relu": True, "relu_limit": limit if limit >= 0 else None}


@dataclass
class Affine:
    """`source * scale + shift`, in float64; the arrays broadcast to `source` without enlarging it. None: 1, or 0."""

    source: Value
    scale: Array | None
    shift: Array | None

    @property
    def steps(self) -> int:
        """How many elementwise operations it takes."""
        return (self.scale is not None) + (self.shift is not None)

    def then(self, outer: Affine) -> Affine:
        """This one, and `outer` on its result."""
        scale, shift = self.scale, self.shift
        if outer.scale is not None:
            scale = outer.scale if scale is None else scale * outer.scale
            shift = None if shift is None else shift * outer.scale
        if outer.shift is not None:
            shift = outer.shift if shift is None else shift + outer.shift
        return Affine(self.source, scale, shift)

    def size(self) -> int:
        """Elements of the larger constant."""
        return max(array.size if array is not None else 0 for array in (self.scale, self.shift))


def affine_of(op: Op) -> Affine | None:
    """The op as an affine function of one operand with finite constants, or None where it is none."""
    view = _VIEWS.get(op.name)
    if view is None or not is_float(op.results[0]):
        return None
    affine = view(op)
    if affine is None or not is_float(affine.source) or affine.source.type != op.results[0].type:
        return None
    rank = affine.source.rank
    for array in (affine.scale, affine.shift):
        if array is not None and (array.ndim > rank or not np.isfinite(array).all()):
            return None
    return affine


# --- ops as affine functions


def _constant(value: Value | None) -> Array | None:
    """A constant float operand, in float64."""
    dense = constant_of(value)
    if dense is None or not isinstance(dense.type.element, FloatType) or isinstance(dense.data, ElidedData):
        return None
    return dense.numpy().astype(np.float64)


def _two(op: Op) -> tuple[Value, Array, bool] | None:
    """Of a binary op with one constant operand: the other one, the constant, and whether that is the first."""
    if len(op.operands) != 2:
        return None
    left, right = op.operands
    constant = _constant(right)
    if constant is not None:
        return None if constant_of(left) is not None else (left, constant, False)
    constant = _constant(left)
    return None if constant is None else (right, constant, True)


def _mul(op: Op) -> Affine | None:
    parts = _two(op)
    return None if parts is None else Affine(parts[0], parts[1], None)


def _add(op: Op) -> Affine | None:
    parts = _two(op) if op.attribute("coeff") is None else None
    return None if parts is None else Affine(parts[0], None, parts[1])


def _sub(op: Op) -> Affine | None:
    parts = _two(op)
    if parts is None:
        return None
    source, constant, first = parts
    return Affine(source, np.asarray(-1.0), constant) if first else Affine(source, None, -constant)


def _div(op: Op) -> Affine | None:
    parts = _two(op)
    if parts is None or parts[2]:
        return None
    with np.errstate(divide="ignore"):
        return Affine(parts[0], 1.0 / parts[1], None)


def _scale(op: Op) -> Affine | None:
    scale, bias = _constant(op.operands[1]), _constant(op.operands[2])
    return None if scale is None or bias is None else Affine(op.operands[0], scale, bias)


def _batch_norm(op: Any) -> Affine | None:
    arrays = []
    for value, absent in ((op.mean, None), (op.variance, None), (op.gamma, 1.0), (op.beta, 0.0)):
        array = np.float64(absent) if value is None and absent is not None else _constant(value)
        if array is None:
            return None
        arrays.append(array)
    mean, variance, gamma, beta = arrays
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = gamma / np.sqrt(variance + op.epsilon)
        shift = beta - mean * scale
    if not is_float(op.input):
        return None
    rank = op.input.rank
    shape = [1] * rank
    shape[channel_axis(op.layout, rank)] = -1
    return Affine(op.input, np.asarray(scale).reshape(shape), np.asarray(shift).reshape(shape))


_VIEWS: dict[str, Callable[[Any], Affine | None]] = {
    "top.MulConst": lambda op: Affine(op.input, np.asarray(float(op.const_val)), None),
    "top.AddConst": lambda op: Affine(op.input, None, np.asarray(float(op.const_val))),
    "top.Mul": _mul, "top.Add": _add, "top.Sub": _sub, "top.Div": _div, "top.Scale": _scale, "top.BatchNorm": _batch_norm,
}


# --- rewrites


def _emit(rw: Rewriter, affine: Affine, relu: dict[str, Any]) -> Value | None:
    """The shortest op that computes `affine`; None where its constants do not fit the element type."""
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
    return rw.emit(maker.name, maker.operands[0], weights, bias, element=op.results[0].element, **attributes)  # type: ignore[attr-defined]


_MOVING = frozenset(
    f"top.{name}" for name in ("Reshape", "Permute", "Pad", "Slice", "Clip", "Relu", "MaxPool", "Squeeze", "Unsqueeze"))
_KEEPING = frozenset(f"top.{name}" for name in ("Add", "Sub", "Mul", "Max", "Min"))


def _holds_integers(value: Value, depth: int = 8) -> bool:
    """Whether a float tensor holds integers: it was rounded, and then moved about, added to other integers, clipped."""
    op = value.op
    if op is None or depth == 0:
        return False
    if op.name in ("top.Round", "top.Floor", "top.Ceil"):
        return True
    if op.name == "top.Cast":
        return not is_float(op.operands[0])
    if op.name in _MOVING:
        return _holds_integers(op.operands[0], depth - 1)
    if op.name in _KEEPING:
        return all(_holds_integers(operand, depth - 1) for operand in op.operands)
    constant = _constant(value)
    return constant is not None and bool((constant == np.rint(constant)).all())


@TABLE("top.MulConst", "top.AddConst", "top.Mul", "top.Add", "top.Sub", "top.Div", "top.Scale", "top.BatchNorm")
def affine_chain(op: Op, rw: Rewriter) -> Any:
    """Two in a row are one where that saves work; one that does nothing goes; a constant BatchNorm is a Scale.

    Tensors of a few numbers (scales that a model computes for its own quantization) are left to the exact
    order of their operations: joining would save nothing there, and the last bit may decide what a later
    rounding gives.
    """
    affine = affine_of(op)
    if affine is None or (op.results[0].type.is_static and op.results[0].type.num_elements <= _FEW):  # type: ignore[attr-defined]
        return None
    steps = affine.steps
    inner = affine.source.op
    if inner is not None and inner.parent is op.parent and used_once(affine.source) and not inner.attribute("do_relu", False):
        before = affine_of(inner)
        if before is not None:
            joined = _shortened(before.then(affine))
            if joined.steps < before.steps + steps and joined.size() <= max(before.size(), affine.size()):
                return _emit(rw, joined, relu_of(op))
    shorter = _shortened(affine)
    if shorter.steps < steps or op.name == "top.BatchNorm":
        return _emit(rw, shorter, relu_of(op))
    return None


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
    bias = None if maker.bias is None else _constant(maker.bias)
    if maker.bias is not None and (bias is None or bias.ndim > 1):
        return None
    dtype = dtype_of(affine.source.element)
    new_weights = weights
    if scale is not None:
        dense = _constant(weights)
        if dense is None or not used_once(weights):  # others use them as they are: no second copy
            return None
        product = _cast(scaled(dense, scale), dtype)
        if product is None:
            return None
        new_weights = rw.constant(product)
    total = bias
    if bias is not None and scale is not None:
        total = bias * scale
    if shift is not None:
        total = shift if total is None else total + shift
    if total is None:
        return new_weights, None
    stored = _cast(np.broadcast_to(total, (channels,)), dtype)
    return None if stored is None else (new_weights, rw.constant(stored))


def _cast(array: Array, dtype: np.dtype) -> Array | None:
    """In the element type, contiguous; None where a number is too large for it."""
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(array.astype(dtype))
    return stored if np.isfinite(stored.astype(np.float64)).all() else None


def _conv(op: Any, affine: Affine, rw: Rewriter) -> tuple[Value, Value | None] | None:
    """Output channels are the first dimension of the filter, in both layouts."""
    return _absorb(op, affine, rw, channel_axis(op.layout, affine.source.rank), op.filter,
                   lambda weights, scale: weights * scale.reshape((-1,) + (1,) * (weights.ndim - 1)))


def _deconv(op: Any, affine: Affine, rw: Rewriter) -> tuple[Value, Value | None] | None:
    """The filter is [I, O/group, ..] or [O/group, .., I]; input i belongs to group `i // (I/group)`."""

    def scaled(weights: Array, scale: Array) -> Array:
        groups = scale.reshape(op.group, -1)  # [group, O/group]
        if op.layout == "NCHW":
            factors = np.repeat(groups, weights.shape[0] // op.group, axis=0)
            return weights * factors.reshape(factors.shape + (1,) * (weights.ndim - 2))
        factors = np.repeat(groups, weights.shape[-1] // op.group, axis=0).T  # [O/group, I]
        return weights * factors.reshape((factors.shape[0], *(1,) * (weights.ndim - 2), factors.shape[1]))

    return _absorb(op, affine, rw, channel_axis(op.layout, affine.source.rank), op.filter, scaled)


def _matmul(op: Any, affine: Affine, rw: Rewriter) -> tuple[Value, Value | None] | None:
    """Columns of the product are columns of the right operand, or its rows where it is transposed."""
    if op.input.rank < 2 or op.right.rank < 2:  # no column dimension, or one that is the only one
        return None

    def scaled(weights: Array, scale: Array) -> Array:
        return weights * (scale[:, None] if op.right_transpose else scale)

    return _absorb(op, affine, rw, affine.source.rank - 1, op.right, scaled)


_ABSORBERS: dict[str, Callable[[Any, Affine, Rewriter], tuple[Value, Value | None] | None]] = {
    "top.Conv": _conv, "top.Deconv": _deconv, "top.MatMul": _matmul,
}

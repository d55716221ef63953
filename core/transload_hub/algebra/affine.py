"""Scaling and shifting by constants as one thing: `x * scale + shift`, whatever ops of `top` write it.

MulConst, AddConst, Mul, Add, Sub, Div, Scale and BatchNorm are each seen as one `Affine`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from transload.ir import ElidedData, FloatType, Op, TensorType, Value
from transload.ir.build import constant_of

from ..ops.infer import channel_axis

if TYPE_CHECKING:
    from ..ops.normalization import BatchNorm

__all__ = [
    "Affine", "Array", "affine_of", "constant_array", "is_coarse", "is_ranked_float", "least_normal", "relu_of", "used_once"]

Array = np.ndarray[Any, Any]


def is_ranked_float(value: Value) -> bool:
    """Whether a value is a tensor of plain floats, of known rank."""
    type_ = value.type
    return isinstance(type_, TensorType) and isinstance(type_.element, FloatType) and type_.shape is not None


def least_normal(dtype: np.dtype) -> float:
    """The least number above 0 that an element type holds with all its digits."""
    return float(ml_dtypes.finfo(dtype).smallest_normal)


_STEPS = 2 ** 8
_OTHERWISE = 128.0
"""Less than this is added by the way: means of pictures, and biases."""


def is_coarse(shift: Array | None, dtype: np.dtype) -> bool:
    """Whether a sum with a shift is rounded to 256ths or coarser, and the shift is none that is added by the way.

    Such a number is added to round, and taken away again: `(x + 12582912) - 12582912` is x to the next whole number in float32,
    where 1.5 * 2**19 leaves 16ths. A sum with both, or of one with another shift, would not round, or would lose the other.
    """
    if shift is None:
        return False
    least = max(2.0 ** ml_dtypes.finfo(dtype).nmant / _STEPS, _OTHERWISE)
    return bool((np.abs(shift) >= least).any())


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
    if view is None or not is_ranked_float(op.results[0]):
        return None
    affine = view(op)
    if affine is None or not is_ranked_float(affine.source) or affine.source.type != op.results[0].type:
        return None
    rank = affine.source.rank
    for array in (affine.scale, affine.shift):
        if array is not None and (array.ndim > rank or not np.isfinite(array).all()):
            return None
    return affine


# --- ops as affine functions


def constant_array(value: Value | None) -> Array | None:
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
    constant = constant_array(right)
    if constant is not None:
        return None if constant_of(left) is not None else (left, constant, False)
    constant = constant_array(left)
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
    scale, bias = constant_array(op.operands[1]), constant_array(op.operands[2])
    return None if scale is None or bias is None else Affine(op.operands[0], scale, bias)


def _batch_norm(op: BatchNorm) -> Affine | None:
    arrays = []
    for value, absent in ((op.mean, None), (op.variance, None), (op.gamma, 1.0), (op.beta, 0.0)):
        array = np.float64(absent) if value is None and absent is not None else constant_array(value)
        if array is None:
            return None
        arrays.append(array)
    mean, variance, gamma, beta = arrays
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = gamma / np.sqrt(variance + op.epsilon)
        shift = beta - mean * scale
    if not is_ranked_float(op.input):
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

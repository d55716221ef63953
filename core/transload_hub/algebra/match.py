"""Questions about values that the patterns of `recognize` ask: numbers, products, affine functions, who uses what.

A pattern replaces an op by one that computes the same from the same inputs. The ops between must serve nobody
else (`only_serves`): a composite beside half of its own parts would be no gain, and names would point at both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np

from transload.ir import ElidedData, FloatType, Op, TensorType, Value, dtype_of
from transload.ir.build import constant_of

from ..tables import distinct
from .affine import affine_of, is_coarse, is_ranked_float, used_once

if TYPE_CHECKING:
    from ..ops.reduce import Reduce

__all__ = [
    "Linear", "Product", "inverse_root_of", "is_near", "is_static_float", "linear", "made_by", "number", "only_serves", "product",
    "reduced", "root_of", "same_axes", "square_of",
]

_DEPTH = 8
"""How many steps an expression is followed back: more than any formula has, few enough for chains of any length."""
_DIGITS = {"f16": 2e-3, "bf16": 1e-2}
_NEAR = 2e-6
"""How near a constant must be to what a formula says: a few units in the last place of float32, or of the narrower type."""


def is_near(value: float, wanted: float, of: Value | None = None) -> bool:
    """Whether a constant is the wanted number, as the element type of `of` can hold it (float32's precision by default)."""
    near = _NEAR if of is None else _DIGITS.get(str(of.element), _NEAR)
    return abs(value - wanted) <= near * max(abs(wanted), 1e-30)


def is_static_float(value: Value) -> bool:
    """Whether a value is a tensor of plain floats and static shape."""
    return is_ranked_float(value) and isinstance(value.type, TensorType) and value.type.is_static


def number(value: Value | None) -> float | None:
    """The number that is in every place of a constant; None of what varies or is computed."""
    dense = constant_of(value)
    if dense is None or isinstance(dense.data, ElidedData) or not isinstance(dense.type.element, FloatType):
        return None
    one = dense.splat_value()
    return None if one is None else float(np.asarray(one, dtype_of(dense.type.element)).astype(np.float64))


def made_by(value: Value | None, *names: str) -> Any:
    """The op, called `top.<one of the names>` and without a ReLU of its own, that computes a value; else None."""
    op = value.op if value is not None else None
    if op is None or op.name.partition(".")[2] not in names or op.dialect != "top" or op.attributes.get("do_relu", False):
        return None
    return None if op.name == "top.Add" and op.attribute("coeff") is not None else op


def inputs_of(op: Op) -> Iterator[tuple[Value, Value]]:
    """The two operands of a commutative op, in both orders; nothing where there are more."""
    if len(op.operands) == 2:
        a, b = op.operands
        yield a, b
        if a is not b:
            yield b, a


def only_serves(root: Op, ends: Iterable[Value]) -> bool:
    """Whether all that lies between the values `ends` and `root` is of its block, and used for nothing but `root`."""
    stop = set(ends)
    inside: set[Op] = {root}
    pending = [root]
    while pending:
        for value in pending.pop().operands:
            op = value.op
            if value in stop or op is None or constant_of(value) is not None or op in inside:
                continue
            if op.parent is not root.parent or len(inside) > 256:
                return False
            inside.add(op)
            pending.append(op)
    return all(user in inside for op in inside if op is not root for result in op.results for user in result.uses)


class Linear(NamedTuple):
    """`scale * source + shift`, of numbers that are the same everywhere."""

    source: Value
    scale: float
    shift: float


def linear(value: Value) -> Linear:
    """A value as an affine function of another, through as many steps as only it uses; at least `1 * value + 0`."""
    source, scale, shift = value, 1.0, 0.0
    dtype = dtype_of(value.element) if is_ranked_float(value) else np.dtype(np.float32)
    for _ in range(_DEPTH):
        step = _affine_step(source) if source is value or used_once(source) else None
        if step is None or (step.shift and shift and any(is_coarse(np.asarray(each), dtype) for each in (step.shift, shift))):
            break
        source, scale, shift = step.source, scale * step.scale, scale * step.shift + shift
    return Linear(source, scale, shift)


def _affine_step(value: Value) -> Linear | None:
    op = value.op
    if op is None or op.attributes.get("do_relu", False):
        return None
    if op.name == "top.Neg" and is_ranked_float(value):
        return Linear(op.operands[0], -1.0, 0.0)
    affine = affine_of(op)
    if affine is None or op.name == "top.BatchNorm":
        return None
    scale, shift = (default if array is None else _same_everywhere(array)
                    for array, default in ((affine.scale, 1.0), (affine.shift, 0.0)))
    return None if scale is None or shift is None else Linear(affine.source, scale, shift)


def _same_everywhere(array: np.ndarray) -> float | None:
    """The number in every place of an array, or None."""
    array = distinct(array)
    first = array.reshape(-1)[:1]
    return float(first[0]) if first.size and bool((array == first[0]).all()) else None


@dataclass
class Product:
    """`factor` times the values `over`, divided by the values `under`."""

    factor: float = 1.0
    over: list[Value] = field(default_factory=list)
    under: list[Value] = field(default_factory=list)

    def is_held_by(self, element: Any) -> bool:
        """Whether a float type has the factor with all its digits: a product of several may be too large or too small for it."""
        limits = ml_dtypes.finfo(dtype_of(element))
        return self.factor == 0 or float(limits.smallest_normal) <= abs(self.factor) <= float(limits.max)


def product(value: Value, root: bool = True) -> Product:
    """A value as a product and quotient, taken apart where only it uses the parts."""
    made = Product()
    _multiply(made, value, False, root, 0)
    return made


def _multiply(made: Product, value: Value, below: bool, root: bool, depth: int) -> None:
    constant = number(value)
    if constant is not None and (constant != 0 or not below):
        made.factor = made.factor / constant if below else made.factor * constant
        return
    inside = is_ranked_float(value) and (root or used_once(value)) and depth < _DEPTH
    op = made_by(value, "Mul", "MulConst", "Div", "Neg", "Reciprocal") if inside else None
    if op is None or any(not is_ranked_float(operand) for operand in op.operands):
        (made.under if below else made.over).append(value)
    elif op.name == "top.Div":
        _multiply(made, op.operands[0], below, False, depth + 1)
        _multiply(made, op.operands[1], not below, False, depth + 1)
    elif op.name == "top.Reciprocal":
        _multiply(made, op.input, not below, False, depth + 1)
    else:
        factor = {"top.Neg": -1.0, "top.MulConst": op.attributes.get("const_val", 1.0)}.get(op.name, 1.0)
        if factor == 0:
            (made.under if below else made.over).append(value)
            return
        made.factor = made.factor / factor if below else made.factor * factor
        for operand in op.operands:
            _multiply(made, operand, below, False, depth + 1)


def square_of(value: Value) -> Value | None:
    """The x for which a value is `x * x`, also as `|x| ** 2`; or None."""
    op = made_by(value, "Square", "Mul", "Pow")
    if op is None:
        return None
    x: Value = op.operands[0]
    if op.name == "top.Pow" and number(op.exponent) != 2:
        return None
    if op.name == "top.Mul" and (len(op.operands) != 2 or op.operands[1] is not x):
        return None
    size = made_by(x, "Abs")
    return size.input if size is not None else x


def root_of(value: Value | None) -> Value | None:
    """The x for which a value is `sqrt(x)` or `x ** 0.5`; or None."""
    return _raised(value, "Sqrt", 0.5)


def inverse_root_of(value: Value | None) -> Value | None:
    """The x for which a value is `rsqrt(x)` or `x ** -0.5`; or None."""
    return _raised(value, "Rsqrt", -0.5)


def _raised(value: Value | None, name: str, exponent: float) -> Value | None:
    op = made_by(value, name, "Pow")
    if op is None or (op.name == "top.Pow" and (number(op.exponent) != exponent or op.result.shape != op.base.shape)):
        return None
    base: Value = op.operands[0]
    return base


def reduced(value: Value, mode: str, keepdims: bool = True) -> Any:
    """The `Reduce` of that mode, its dimensions kept or not and at least one, that computes a value; else None."""
    op = made_by(value, "Reduce")
    if op is None or op.mode != mode or op.keepdims != keepdims or not op.axes:
        return None
    return op if is_static_float(op.input) else None


def axes_of(op: Reduce) -> tuple[int, ...]:
    """A reduction's dimensions, counted from the front and in order."""
    return tuple(sorted(axis % op.input.rank for axis in op.axes))


def same_axes(a: Reduce, b: Reduce) -> bool:
    """Whether two reductions are over the same dimensions."""
    return axes_of(a) == axes_of(b)


def count_of(op: Reduce) -> int:
    """How many elements a reduction makes one of."""
    return math.prod(op.input.static_shape[axis] for axis in axes_of(op))

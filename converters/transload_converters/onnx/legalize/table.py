"""What the rewrite functions of all families share: their table, and how they read an ONNX op.

ONNX's quantized tensors are plain integers beside a scale and a zero point. In `top` they are values of
a quantized type. An operator that meets such a value may mean its integers (Cast, Add), may only move
or compare them (Reshape, MaxPool), or may know of quantization (DequantizeLinear): `stored=` says which
when a function is entered into the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from transload.errors import RunError, ShapeError, Unsupported
from transload.ir import (
    DialectType,
    NoneType,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
)
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.build import MAX_CONSTANT, cast, permute, reshape, scalar_like, splat

from ..types import UNKNOWN

__all__ = [
    "MAX_CONSTANT", "Failed", "Impossible", "OnnxTable", "as_integers", "attr", "axes_of", "axis_of", "cast", "choice",
    "constant_ints", "first_of", "flag", "need", "need_attr", "operand", "opset", "permute", "reshape",
    "scalar_like", "shape_of", "splat", "unused_results",
]

"""Why an op is not converted that comes after one which could not be: not worth a finding of its own."""


@dataclass
class Failed:
    """What a run of the table notes: the ops that fail whenever they are run, as their operands' shapes do not fit."""

    ops: set[Op] = field(default_factory=set)


class Impossible(Unsupported):
    """Raised by a rewrite function for an op that no runtime could compute, shapes being what they are."""


F = TypeVar("F", bound=Callable[..., Any])
_HAND_ON = ("integers", "carried", "bundles", "native")


class OnnxTable(RewriteTable):
    """A rewrite table whose functions say how they take quantized operands.

    `stored="integers"` (the default): they are first turned into the plain integers they hold;
    `"carried"`: the op moves or compares numbers, so values of one quantized type, per tensor, stay as
    they are; `"bundles"`: as "integers", and the function takes sequences of tensors, too; `"native"`: it sees to all.
    """

    def __call__(self, *names: str, stored: str = "integers") -> Callable[[F], F]:
        if stored not in _HAND_ON:
            raise ValueError(f"stored= must be one of {_HAND_ON}")
        enter = super().__call__(*names)

        def add(function: F) -> F:
            enter(_guarded(function, stored))
            return function

        return add


def _guarded(function: Callable[..., Any], stored: str) -> Callable[..., Any]:
    def rewrite(op: Op, rw: Rewriter) -> Any:
        for value in op.operands:
            if (isinstance(value.owner, Op) and value.owner.dialect == op.dialect) or value.type == UNKNOWN:
                raise Unsupported("uses a value whose op cannot be converted", follows=True)
            if stored not in ("native", "bundles") and not _is_numbers(value.type):
                raise Unsupported(f"works on a value of type {value.type}, and only tensors of numbers can be converted")
        try:
            outcome = taking(op, rw)
            computed = 1 if isinstance(outcome, Value) else len(outcome) if isinstance(outcome, list | tuple) else len(op.results)
            if computed != len(op.results):
                raise Unsupported(f"has {len(op.results)} outputs, of which {computed} can be computed")
            return outcome
        except (ShapeError, Impossible):
            rw.scratch(Failed).ops.add(op)
            raise
        except RunError as error:  # computing a constant: a subscript out of range, ...
            raise Unsupported(str(error)) from None

    def taking(op: Op, rw: Rewriter) -> Any:
        if stored == "native":
            return function(op, rw)
        kinds = [v.type.element for v in op.operands if isinstance(v.type, TensorType) and isinstance(v.type.element, QuantType)]
        if not kinds or (stored == "carried" and kinds[0].per_tensor and _only(op, kinds[0])):
            return function(op, rw)
        before = op.operands
        op.operands = tuple(as_integers(rw, value) for value in before)
        try:
            outcome = function(op, rw)
        except Exception:
            op.operands = before
            raise
        if outcome is None:
            op.operands = before
        return outcome

    rewrite.__doc__ = function.__doc__
    rewrite.__wrapped__ = function  # type: ignore[attr-defined]
    return rewrite


def _is_numbers(type_: Type) -> bool:
    """Whether a value is absent, or a tensor of numbers: no text, no sequence."""
    return isinstance(type_, NoneType) or (isinstance(type_, TensorType) and not isinstance(type_.element, DialectType))


def _only(op: Op, kind: QuantType) -> bool:
    """Whether every operand of `kind`'s storage type is of `kind` itself: no plain integers among them."""
    return all(v.type.element == kind for v in op.operands
               if isinstance(v.type, TensorType) and (v.type.element == kind.storage or isinstance(v.type.element, QuantType)))


def as_integers(rw: Rewriter, value: Value) -> Value:
    """The integers that a quantized value holds, as a plain tensor; any other value as it is."""
    element = value.type.element if isinstance(value.type, TensorType) else None
    if not isinstance(element, QuantType):
        return value
    dense = rw.constant_of(value)
    if dense is not None:
        return rw.constant(dense, element=element.storage)
    if not element.per_tensor:
        raise Unsupported("uses the integers of a tensor that is quantized per axis")
    real = rw.emit("top.Cast", value, element=element.expressed)
    steps = rw.emit("top.Div", real, scalar_like(rw, real, element.scale))
    shifted = rw.emit("top.AddConst", steps, const_val=float(element.zero_point)) if element.zero_point else steps
    return rw.emit("top.Cast", shifted, element=element.storage, round_mode="HalfToEven", saturate=True)


# --- reading an op


def opset(op: Op, domain: str = "ai.onnx") -> int:
    """The opset version by which an op is meant: its own, where it comes from an operator's definition, or the model's."""
    version = op.attributes.get("onnx.opset")
    if version is not None:
        return version
    outer = op
    while (parent := outer.parent_op) is not None:
        outer = parent
    return outer.attributes.get("onnx.opset", {}).get(domain, 1 << 30)


def operand(op: Op, index: int) -> Value | None:
    """Operand number `index`; None where it is left out."""
    values = op.operands
    if index >= len(values) or isinstance(values[index].type, NoneType):
        return None
    return values[index]


def need(op: Op, index: int, what: str = "") -> Value:
    """Operand number `index`, which must be there."""
    value = operand(op, index)
    if value is None:
        raise Unsupported(f"operand {what or index} is missing")
    return value


def attr(op: Op, name: str, default: Any = None) -> Any:
    """An attribute's value in the file, or `default`; `Impossible` where one of them is a list, text or a number alone."""
    value = op.attributes.get(name, default)
    if default is not None and value is not default:
        for kind in (str, (list, tuple), Real):
            if isinstance(value, kind) != isinstance(default, kind):
                raise Impossible(f"{name} is {value!r:.80}, and must be of the kind of {default!r}")
    return value


def flag(op: Op, name: str, default: bool | int = 0) -> bool:
    """An attribute that is 0 or 1: what another number means, readers of the file do not agree upon."""
    value = attr(op, name, default)
    if value not in (0, 1):
        raise Impossible(f"{name} is {value}, and must be 0 or 1")
    return bool(value)


def choice(op: Op, name: str, known: Collection[Any], default: Any = None) -> Any:
    """An attribute that is one of a few; `Impossible` for any other."""
    value = attr(op, name, default)
    if value not in tuple(known):  # which may not be hashable
        raise Impossible(f"{name} is {value!r:.80}, and must be one of {', '.join(map(str, known))}")
    return value


def need_attr(op: Op, name: str) -> Any:
    """An attribute that must be there."""
    if name not in op.attributes:
        raise Unsupported(f"attribute {name!r} is missing")
    return op.attributes[name]


def shape_of(value: Value, rank: int | None = None, least: int = 0) -> tuple[int, ...]:
    """The static shape of a value, of `rank` or at least `least` dimensions."""
    type_ = value.type
    if not isinstance(type_, TensorType):
        raise Unsupported(f"works on a value of type {type_}, and only tensors can be converted")
    if not type_.is_static:
        raise Unsupported(f"the shape of {value.name or 'an operand'!r} is not known: {type_}",
                          "it depends on values computed at run time")
    shape: tuple[int, ...] = type_.static_shape
    if len(shape) < least or rank not in (None, len(shape)):
        wanted = f"at least {least}" if rank is None else str(rank)
        raise Impossible(f"{value.name or 'an operand'!r} must have {wanted} dimensions, and has the shape {list(shape)}")
    return shape


def constant_int(rw: Rewriter, value: Value | None, what: str) -> int:
    """The one whole number of a constant operand."""
    number = rw.need_number(value, what)
    if not math.isfinite(number):
        raise Unsupported(f"{what} must be a whole number, and is {number}")
    return int(number)


def axis_of(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise Impossible(f"{what} {axis} is outside a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def axes_of(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order of occurrence."""
    return tuple(axis_of(int(axis), rank) for axis in axes)


def constant_ints(rw: Rewriter, value: Value | None, what: str) -> tuple[int, ...]:
    """The integers of a constant operand of rank 0 or 1."""
    array = np.asarray(rw.need_constant(value, what))
    if array.ndim > 1:
        raise Unsupported(f"{what} has {array.ndim} dimensions")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise Unsupported(f"{what} must be whole numbers, and is {array.tolist()}")
    return tuple(int(n) for n in array.reshape(-1))


# --- making values


def unused_results(op: Op, value: Value, first: int = 1) -> list[Value]:
    """What replaces the results of an op of which only the first is computed: the others must have no use."""
    for index, result in enumerate(op.results[first:], first):
        if result.uses:
            raise Unsupported(f"its output number {index} ({result.name!r}) is used, and cannot be computed")
    return [value] * (len(op.results) - first)


def first_of(op: Op, value: Value) -> list[Value]:
    """Replacements for all results where only the first is computed."""
    return [value, *unused_results(op, value)]

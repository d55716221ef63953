"""What the rewrite functions of all families share: their table, and how they read an op of TensorFlow.

A graph says of its tensors the element types only. Operands are converted already, and have static shapes; of an op's own
results the element type alone is looked at. What TensorFlow gives as an operand and the hub wants as an attribute (a shape,
axes, sizes) has to be a constant by then, as shape arithmetic is: it folds while it is converted.

Sources: the op definitions of TensorFlow 2.18 and the API documentation of `tf.raw_ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from transload.errors import RunError, Unsupported
from transload.ir import ComplexType, DialectType, Op, TensorType, Type, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.build import need_place

__all__ = [
    "TfTable", "attr", "axes_of", "axis_of", "channels_last", "constant_array", "constant_count", "constant_data",
    "constant_float", "constant_int", "constant_ints", "constant_sizes", "element_of", "ints_attr", "need_place", "number",
    "shape_of",
]

F = TypeVar("F", bound=Callable[..., Any])


class TfTable(RewriteTable):
    """A rewrite table whose functions get tensors of numbers only, unless they are entered with `anything=True`.

    `sized_by` are the operands on whose numbers the size of the result depends: an op is refused for them, whatever is before it.
    """

    def __call__(self, *names: str, anything: bool = False, sized_by: tuple[int, ...] = ()) -> Callable[[F], F]:
        enter = super().__call__(*(f"tf.{name}" for name in names))

        def add(function: F) -> F:
            enter(_guarded(function, anything, sized_by))
            return function

        return add


def _guarded(function: Callable[..., Any], anything: bool, sized_by: tuple[int, ...]) -> Callable[..., Any]:
    def rewrite(op: Op, rw: Rewriter) -> Any:
        for place in sized_by:
            constant_data(rw, op.operands[place] if place < len(op.operands) else None)
        for value in op.operands:
            if isinstance(value.owner, Op) and value.owner.dialect == op.dialect:
                raise Unsupported("uses a value whose op cannot be converted", follows=True)
            if not anything:
                _need_numbers(value)
        if op.declaration is None and not op.operands:
            raise Unsupported("has no operands")
        try:
            return function(op, rw)
        except RunError as error:  # of computing a constant: a subscript out of range, ...
            raise Unsupported(error.findings[0].why if error.findings else str(error)) from None

    rewrite.__doc__ = function.__doc__
    rewrite.__wrapped__ = function  # type: ignore[attr-defined]
    return rewrite


def _need_numbers(value: Value) -> None:
    type_ = value.type
    if not isinstance(type_, TensorType) or isinstance(type_.element, DialectType):
        raise Unsupported(
            f"works on a value of type {type_}", "only tensors of numbers can be converted: cut the model where these begin")
    if isinstance(type_.element, ComplexType):
        raise Unsupported("works on complex numbers, which only Fourier transforms and what takes them apart can be converted of",
                          "take real and imaginary parts or sizes of them")


# --- reading an op

def attr(op: Op, name: str, default: Any = None) -> Any:
    """An attribute's value: that of the op, else what its declaration says, else `default`."""
    value = op.attribute(name, default)
    return default if value is None else value


def ints_attr(op: Op, name: str) -> tuple[int, ...]:
    """A list of integers; empty where the attribute is absent."""
    return tuple(int(n) for n in attr(op, name, ()))


def element_of(op: Op, index: int = 0) -> Type:
    """The element type of a result, which the graph says."""
    return op.results[index].element


def shape_of(value: Value, rank: int | None = None, least: int = 0, what: str = "an operand") -> tuple[int, ...]:
    """The static shape of a value, of `rank` or at least `least` dimensions."""
    shape = value.known_shape
    if shape is None:
        raise Unsupported(f"the shape of {what} is not known before the model runs: {value.type}", "it depends on data")
    if len(shape) < least or rank not in (None, len(shape)):
        wanted = f"at least {least}" if rank is None else str(rank)
        raise Unsupported(f"{what} must have {wanted} dimensions, and has the shape {list(shape)}")
    return shape


def constant_array(rw: Rewriter, value: Value, what: str) -> np.ndarray:
    """The numbers of a constant operand, of which there are not too many to compute with here."""
    array = np.asarray(rw.need_constant(value, what))
    need_place(array.size)
    return array


def constant_ints(rw: Rewriter, value: Value, what: str, count: int | None = None) -> tuple[int, ...]:
    """The integers of a constant operand, flattened; `count` of them, where that is given."""
    array = constant_array(rw, value, what)
    if array.dtype.kind not in "iu":
        raise Unsupported(f"{what} must be integers, and are {array.dtype}")
    if count not in (None, array.size):
        raise Unsupported(f"{what} must be {count} numbers, and has the shape {list(array.shape)}")
    return tuple(array.reshape(-1).tolist())


def constant_data(rw: Rewriter, value: Value | None) -> np.ndarray:
    """The numbers of a constant operand on which the size of a result depends. Where it is none, nothing before is to blame."""
    found = rw.constant_of(value)
    if found is None:
        raise Unsupported("the size of the result depends on data", "cut the model before it with --outputs", follows=False)
    need_place(np.size(found))
    return np.asarray(found)


def constant_sizes(rw: Rewriter, value: Value, what: str, count: int | None = None, least: int = 0) -> tuple[int, ...]:
    """The sizes that a constant operand says, none less than `least`."""
    sizes = constant_ints(rw, value, what, count)
    if any(size < least for size in sizes):
        raise Unsupported(f"{what} is {list(sizes)}, and cannot be less than {least}")
    return sizes


def constant_count(rw: Rewriter, value: Value, what: str, least: int = 0) -> int:
    """How many there are to be of something, which a constant operand says: `least` or more, and no more than a constant has."""
    count = constant_int(rw, value, what)
    if count < least:
        raise Unsupported(f"{what} is {count}, and must be {least} or more")
    need_place(count)
    return count


def constant_int(rw: Rewriter, value: Value, what: str) -> int:
    """The one integer of a constant operand."""
    numbers = constant_ints(rw, value, what)
    if len(numbers) != 1:
        raise Unsupported(f"{what} must be one number, and is {list(numbers)}")
    return numbers[0]


def constant_float(rw: Rewriter, value: Value, what: str) -> float:
    """The one number of a constant operand."""
    array = constant_array(rw, value, what)
    if array.size != 1:
        raise Unsupported(f"{what} must be one number, and has the shape {list(array.shape)}")
    return float(array.reshape(()))


def axis_of(axis: int, rank: int, what: str = "the axis") -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise Unsupported(f"{what} {axis} is outside a tensor of rank {rank}")
    return axis % rank


def axes_of(axes: Sequence[int], rank: int, what: str = "an axis") -> tuple[int, ...]:
    """Axes counted from the front, in order, each once."""
    return tuple(sorted({axis_of(axis, rank, what) for axis in axes}))


_LAST = ("NHWC", "NDHWC", "NWC", "CHANNELS_LAST")
_SECOND = ("NCHW", "NCDHW", "NCW", "CHANNELS_FIRST")


def channels_last(op: Op, name: str = "data_format") -> bool:
    """Whether a data format has the channels last ("NHWC", "NDHWC", "NWC"), not second ("NCHW", "NCDHW")."""
    format_ = attr(op, name, "NHWC")
    if format_ not in _LAST + _SECOND:
        raise Unsupported(f"{name} is {format_!r}", "these are known: NHWC, NCHW, NDHWC, NCDHW")
    return format_ in _LAST


def number(rw: Rewriter, value: float, element: Type) -> Value:
    """A constant of rank 0."""
    from transload.ir import dtype_of

    return rw.constant(np.asarray(value, dtype_of(element)), element=element)

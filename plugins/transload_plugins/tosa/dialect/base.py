"""What the declarations of TOSA ops share: the dialect, kinds of attributes and types, shape arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from transload.errors import ShapeError
from transload.ir import (
    BF16,
    F16,
    F32,
    I4,
    I8,
    I16,
    I32,
    I48,
    I64,
    Dense,
    ElidedData,
    FloatType,
    IntegerType,
    Packed4Data,
    QuantType,
    TensorType,
    Type,
)
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.build import constant_of
from transload.ir.core import Op, Value
from transload.ir.declare import AttributeKind, DeclaredOp, Dialect, TypeConstraint, constraint, enum
from transload.ir.types import DialectType
from transload.limits import MAX_RANK

__all__ = [
    "ACCUMULATORS", "BOUND", "F8E4M3", "F8E5M2", "FLOATS", "FP8", "INT4", "INTEGERS", "MAX_SIZES", "NAN_MODE",
    "RESIZE_MODE", "ROUNDING_MODE", "SCALAR", "SHAPE", "TOSA", "DataTypes", "SameElements", "axis_fits", "axis_of",
    "broadcast", "count_of", "dims_of", "equal_sizes", "inferred_shapes_fit", "int4_excess", "merge_dims", "need",
    "one_element_type", "rank", "same", "shape_of", "shape_rank", "shape_type", "storage", "storage_of", "typed_rows",
    "zero_points_fit",
]

T = TypeVar("T")


class _TypedDialect(Dialect):
    """A dialect whose operators have tables of element types (`datatypes`), which the verifier looks into."""

    def op(self, name: str) -> Callable[[type[T]], type[T]]:
        declare = super().op(name)

        def with_types(definition: type[T]) -> type[T]:
            if hasattr(definition, "datatypes"):
                definition.element_types = element_types  # type: ignore[attr-defined]
            return declare(definition)

        return with_types


@constraint
def element_types(op: Any) -> bool | str:
    """the element types are those of a mode of the operator (its table of supported data types, of 1.0 or 1.1)"""
    definition = op.declaration.definition
    on_the_way = getattr(definition, "on_the_way", ())
    if on_the_way and all(getattr(value.type, "element", None) in on_the_way for value in (*op.operands[:1], *op.results)):
        return True
    return definition.datatypes.refuse(op, LATEST) or True


_OF_VARIABLES = ("tosa.variable_read", "tosa.variable_write")

LATEST = (1, 1)
"""The newest version of the specification, by whose tables IR is verified; targets ask for the version that they write."""

TOSA = _TypedDialect(
    "tosa",
    """Tensor Operator Set Architecture: whole-tensor operators with exactly specified arithmetic.

    Names, operands and attributes are those of MLIR's TOSA dialect at specification version 1.0.
    """,
    constant="tosa.const",
    states=lambda op: ((op.name.partition("_")[0], op.attributes.get("name")),) if op.name in _OF_VARIABLES else (),
    exact=True,
)

# --- attributes

NAN_MODE = enum("PROPAGATE", "IGNORE", text="#tosa.nan_mode<{}>".format)
RESIZE_MODE = enum("NEAREST_NEIGHBOR", "BILINEAR", text="#tosa.resize_mode<{}>".format)
ROUNDING_MODE = enum("SINGLE_ROUND", "INEXACT_ROUND", "DOUBLE_ROUND", text="#tosa.rounding_mode<{}>".format)
BOUND: AttributeKind[float] = AttributeKind(
    "number with the type of the tensor's elements", lambda v: isinstance(v, int | float) and not isinstance(v, bool))
"""`min_val` and `max_val` of clamp: `IntAttr(0, I8)`, `FloatAttr(6.0, F32)`."""

# --- types

F8E4M3, F8E5M2 = FloatType("f8E4M3FN"), FloatType("f8E5M2")


def storage(type_: Type) -> Type:
    """What the elements of a tensor type, or an element type, are stored as: of `!quant.uniform<i8:...>`, `i8`."""
    if isinstance(type_, TensorType):
        type_ = type_.element
    return type_.storage if isinstance(type_, QuantType) else type_


def storage_of(value: Value) -> Type:
    """The stored element type of a value."""
    type_ = value.type
    element = type_.element if isinstance(type_, TensorType) else type_
    return element.storage if isinstance(element, QuantType) else element


MAX_SIZES = 2 * MAX_RANK
"""As many sizes as one list can hold: those before and behind each dimension, of a padding."""


def shape_type(length: int) -> DialectType:
    """The type `!tosa.shape<length>` of a list of sizes."""
    return DialectType(f"tosa.shape<{length}>")


def shape_rank(type_: Type) -> int:
    """How many sizes a value of type `!tosa.shape<N>` holds; `ShapeError` for other types, and for more than `MAX_SIZES`."""
    text = str(type_)
    if not text.startswith("!tosa.shape<"):
        raise ShapeError(f"{type_} is not a !tosa.shape")
    length = int(text[12:-1])
    if length > MAX_SIZES:
        raise ShapeError(f"{type_} is a list of sizes, of which {MAX_SIZES} are the limit")
    return length


def rank(*ranks: int) -> TypeConstraint:
    """Tensors of one of these ranks (or of unknown rank)."""
    name = "a tensor of rank " + " or ".join(map(str, ranks))
    return TypeConstraint(name, lambda t: isinstance(t, TensorType) and (t.shape is None or len(t.shape) in ranks))


def _is_scalar(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.shape in ((1,), (None,), None)


SCALAR = TypeConstraint("a tensor of shape 1", _is_scalar)
INTEGERS = TypeConstraint("a tensor of integers", lambda t: isinstance(t, TensorType) and isinstance(storage(t), IntegerType))
SHAPE = TypeConstraint("a !tosa.shape", lambda t: isinstance(t, DialectType) and t.text.startswith("tosa.shape<"))

# --- supported data types


class DataTypes:
    """Which element types an operator takes: the table "Supported Data Types" of its section.

    `slots` names operands, results and type attributes (`acc_type`), `rows` gives their element types. Rows
    of `later` came with specification 1.1.
    """

    def __init__(self, slots: str, rows: Iterable[str], later: Iterable[str] = ()) -> None:
        self.slots = tuple(slots.split())
        self.rows = frozenset(tuple(row.split()) for row in rows)
        self.later = frozenset(tuple(row.split()) for row in later)

    def refuse(self, op: Op, version: tuple[int, int] = (1, 0)) -> str | None:
        """Why the operator does not take the element types of `op`, or None where it does."""
        names = [_element_names(op, slot) for slot in self.slots]
        width = max(map(len, names), default=0)
        for index in range(width):
            row = tuple(found[min(index, len(found) - 1)] for found in names)
            if row not in self.rows and not (version >= (1, 1) and row in self.later):
                shown = ", ".join(f"{slot} {element}" for slot, element in zip(self.slots, row, strict=True))
                since = " before TOSA 1.1" if row in self.later else ""
                return f"no mode of the operator takes these element types{since}: {shown}"
        return None


def _element_names(op: Op, slot: str) -> list[str]:
    if slot in op.declaration.attributes:
        return [str(op.attribute(slot))]
    values = op.declaration.getters[slot](op)
    return [str(storage_of(value)) for value in (values if isinstance(values, tuple) else (values,))] or ["none"]


def typed_rows(slots: str, *rows: str, later: Iterable[str] = ()) -> DataTypes:
    """A table with one element type a slot in each row."""
    return DataTypes(slots, rows, later)


def same(slots: str, types: str, later: str = "") -> DataTypes:
    """A table in which all slots have the same type."""
    n = len(slots.split())
    return DataTypes(slots, (" ".join([t] * n) for t in types.split()), (" ".join([t] * n) for t in later.split()))


FLOATS = "f16 bf16 f32"
FP8 = "f8E4M3FN f8E5M2"
"""The small floats, since 1.0."""
ACCUMULATORS = (I32, I48, I64, F16, F32)

# --- numbers of 4 bits

INT4 = (-7, 7)
"""The least and the greatest number of TOSA's int4_t: without -8, the range of weights is symmetric about zero."""


def int4_excess(dense: Dense) -> str | None:
    """What is wrong with a constant of i4 that holds -8; None of any other."""
    if dense.type.element != I4 or isinstance(dense.data, ElidedData):
        return None
    if isinstance(dense.data, Packed4Data):  # not taken apart, which would take twice the memory; padding is no number
        packed, count = dense.data.packed.reshape(-1), dense.type.num_elements
        found = (packed[: -(-count // 2)] & 0xF == 8).any() or (packed[: count // 2] >> 4 == 8).any()
    else:
        found = (dense.numpy().astype(np.int8) < INT4[0]).any()
    return "a number is -8, and TOSA's int4_t ends at -7" if found else None


# --- shape arithmetic; a dimension of None is not known until run time


def shape_of(value: Value) -> tuple[int | None, ...] | None:
    """The shape of a tensor, None where the rank is unknown."""
    return value.type.shape if isinstance(value.type, TensorType) else None


def dims_of(value: Value | tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The sizes that a value of type `!tosa.shape`, or a small integer tensor, holds; None where they are computed.

    What 0.30 has as an attribute, where 1.0 has an operand, is what it is. A constant of more than `MAX_SIZES` is none of sizes:
    it may claim any number of them in a few bytes.
    """
    if isinstance(value, tuple):
        return value
    dense = constant_of(value)
    if dense is None or dense.type.num_elements > MAX_SIZES:
        return None
    return tuple(int(size) for size in dense.numpy().reshape(-1))


def merge_dims(op: Op, a: int | None, b: int | None) -> int | None:
    """The broadcast of two sizes; `ShapeError` where they do not fit."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if a is None or b is None:
        return b if a is None else a  # the unknown one is 1 or the same
    raise ShapeError(
        f"{op.called}: sizes {a} and {b} do not broadcast", hint="they must be equal, or one of them 1")


def broadcast(op: Op, *values: Value) -> tuple[int | None, ...] | None:
    """The shape of operands of equal rank broadcast together (0.30 section 1.8.4)."""
    shapes = [shape_of(value) for value in values]
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes):
        return None
    out = known[0]
    for shape in known[1:]:
        if shape == out:
            continue
        if len(shape) != len(out):
            raise ShapeError(
                f"{op.called}: operands of rank {len(out)} and {len(shape)}",
                hint="TOSA broadcasts sizes of 1 only; reshape the operand of lower rank first")
        out = tuple(merge_dims(op, a, b) for a, b in zip(out, shape, strict=True))
    return out


def equal_sizes(a: Sequence[int | None] | None, b: Sequence[int | None] | None) -> bool:
    """Whether two shapes can be the same, unknown sizes fitting any."""
    if a == b or a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def need(op: Op, **counts: int) -> list[Any]:
    """The numbers of these attributes; `ShapeError` where one does not hold as many as said, or strides are not positive."""
    found = []
    for name, count in counts.items():
        values = op.attribute(name)
        if len(values) != count:
            raise ShapeError(f"{op.called}: {name} has {len(values)} numbers, not {count}")
        if name in ("stride", "kernel", "dilation") and min(values) < 1:
            raise ShapeError(f"{op.called}: {name} is {values}", hint="its numbers are at least 1")
        found.append(values)
    return found


def axis_of(op: Op, shape: Sequence[Any]) -> int:
    """The op's axis; `ShapeError` where the tensor has no such dimension (TOSA counts from the front only)."""
    axis = op.attributes["axis"]
    if not 0 <= axis < len(shape):
        raise ShapeError(f"{op.called}: axis {axis} of a tensor of rank {len(shape)}")
    return axis


def inferred_shapes_fit(op: Op) -> bool | str:
    """Whether the results have the shapes that inference gives, for constraints."""
    try:
        inferred = op.declaration.infer(op)
    except ShapeError as error:
        return error.message
    for type_, value in zip(inferred if isinstance(inferred, list) else [inferred], op.results, strict=True):
        if not equal_sizes(type_.shape, shape_of(value)):
            return f"{value.type}, where {type_} is expected"
    return True


# --- constraints used by many ops


@constraint
def axis_fits(op: Op) -> bool | str:
    """the axis is a dimension of the input (ERROR_IF axis < 0 || axis >= rank)"""
    values = op.operands
    shape = shape_of(values[0]) if values else None
    return shape is None or 0 <= op.axis < len(shape) or f"axis {op.axis} of a tensor of rank {len(shape)}"


def zero_points_fit(op: Op, *pairs: tuple[str, str]) -> bool | str:
    """Whether zero points are 0 but for tensors of 8 bits: `pairs` name each tensor and its zero point.

    These are operands, or attributes as in 0.30.
    """
    for name, point in pairs:
        stored = storage_of(op.declaration.getters[name](op))
        if isinstance(stored, IntegerType) and stored.width == 8:
            continue
        given = op.declaration.getters[point](op)
        dense = None if isinstance(given, int) else constant_of(given)
        number = given if isinstance(given, int) else 0 if dense is None else dense.numpy().flat[0] if dense.numpy().size else 0
        if number:
            return f"{point} is {number} for {stored}"
    return True


def count_of(value: Value | tuple[int, ...]) -> int:
    """How many sizes a value of type `!tosa.shape` holds, or an attribute of 0.30."""
    return len(value) if isinstance(value, tuple) else shape_rank(value.type)


class SameElements(DeclaredOp):
    """Base of declarations whose result must have the operands' stored element type."""

    @constraint
    def result_elements(op) -> bool | str:
        """the result has the element type of the first operand"""
        if not op.operands:
            return True
        a, b = storage_of(op.operands[0]), storage_of(op.results[0])
        return a == b or f"{b}, not {a}"


def one_element_type(values: Iterable[Value]) -> bool | str:
    """Whether all values have the same stored element type, for a constraint."""
    found = dict.fromkeys(map(storage_of, values))
    return len(found) <= 1 or " and ".join(map(str, found))


def bound_type(value: Any) -> Type:
    """The type of the number that a `BOUND` attribute holds."""
    if isinstance(value, IntAttr | FloatAttr):
        return value.type
    return I64 if isinstance(value, int) else FloatType("f64")


def is_integer(type_: Type) -> bool:
    """Whether a stored element type is an integer (not `i1`)."""
    return isinstance(type_, IntegerType) and type_.width > 1


def accumulator_result(input_element: Type) -> Type:
    """The element type of what a convolution of such inputs gives: `i8` sums to `i32`, `i16` to `i48`."""
    stored = storage(input_element)
    if stored == I8:
        return I32
    if stored == I16:
        return I48
    if stored in (F8E4M3, F8E5M2):
        return F16
    if stored in (F16, BF16, F32):
        return stored
    raise ShapeError(
        f"TOSA has no convolution of {stored} inputs",
        hint="int8, int16 and floats are taken; rescale unsigned tensors to signed ones first")

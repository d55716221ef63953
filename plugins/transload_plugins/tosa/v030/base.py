"""What the declarations of TOSA 0.30 share: each is that of 1.0, and says what differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from transload.ir import FloatType, Type
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.declare import INT, AttributeKind, Dialect, absent, attribute

from ..dialect.base import FLOATS, FP8, TOSA, DataTypes

__all__ = ["FLOATS", "INTEGER_ROWS", "NUMBER", "NUMBERS", "TOSA030", "UNCHANGED", "instead", "older", "one_number", "zero_point"]

TOSA030 = Dialect(
    "tosa030",
    """Tensor Operator Set Architecture 0.30, with the profiles BI, MI and MT.

    Operands and attributes are the specification's. Weights, biases and tables are operands: constants in BI and
    MI, anything in MT. In text these are the ops that MLIR called `tosa.*` at that time: see `v030.text`.
    """,
    constant="tosa030.const",
)

INTEGER_ROWS = "i8 i16 i32"
UNCHANGED = """
    sigmoid tanh add sub arithmetic_right_shift bitwise_and bitwise_or bitwise_xor intdiv logical_and logical_left_shift
    logical_right_shift logical_or logical_xor maximum minimum pow table abs bitwise_not ceil clz exp floor log logical_not
    reciprocal rsqrt select equal greater greater_equal reduce_all reduce_any reduce_max reduce_min reduce_product reduce_sum
    concat reverse transpose gather scatter cast identity fft2d max_pool2d clamp
"""
"""Operators with the same operands and attributes in both versions, NaN modes and error bounds aside."""

# --- by difference

LATER = ("nan_mode", "acc_type", "local_bound")
"""Attributes that no operator has before 1.0: NaNs have one meaning, sums one type, and there are no error bounds."""

T = TypeVar("T")


def older(name: str) -> Callable[[type[T]], type[T]]:
    """Declare operator `name` by a class that derives from 1.0's and says what differs.

    Its data types are the class's, or 1.0's, for the operands and results that it has, without the small floats of
    1.0 and what came later; its docstring is 1.0's where it has none.
    """

    def declare(definition: type[T]) -> type[T]:
        for later in LATER:
            if hasattr(definition, later):
                setattr(definition, later, absent())
        definition.__doc__ = definition.__doc__ or TOSA.ops[f"tosa.{name}"].doc
        TOSA030.op(name)(definition)
        table = getattr(definition, "datatypes", None)
        if table is not None:
            declaration = TOSA030.ops[f"tosa030.{name}"]
            definition.datatypes = _restricted(table, [  # type: ignore[attr-defined]
                slot.name for slot in (*declaration.operands, *declaration.results)])
        return definition

    return declare


def _restricted(table: DataTypes, names: list[str]) -> DataTypes:
    """A table for some of its slots, without rows of small floats."""
    kept = [index for index, slot in enumerate(table.slots) if slot in names]
    rows = (" ".join(row[index] for index in kept) for row in table.rows if not {*row} & {*FP8.split()})
    return DataTypes(" ".join(table.slots[index] for index in kept), rows)


def unchanged(name: str, doc: str = "", **differences: Any) -> None:
    """Declare an operator as 1.0 does, but for members that are named here."""
    newer = TOSA.ops[f"tosa.{name}"].definition
    older(name)(type(newer.__name__, (newer,), {"__doc__": doc, "__module__": __name__, **differences}))


def instead(kind: AttributeKind[Any], doc: str, **more: Any) -> Any:
    """Declare an attribute where 1.0 has an operand of the same name."""
    return attribute(kind, doc, **more)


def zero_point(what: str) -> Any:
    """Declare a zero point, an attribute here, and 0 where it is not given."""
    return instead(INT, f"zero point of {what}, 0 for other types than i8", default=0)


# --- attributes that hold numbers of the tensor's type


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


NUMBER: AttributeKind[float] = AttributeKind("number or boolean with the type of the tensor's elements", _is_number)
"""`pad_const`: `IntAttr(0, I8)`, `FloatAttr(0.0, F32)`, `False`."""
NUMBERS: AttributeKind[tuple[float, ...]] = AttributeKind(
    "integers, or floats (f32)", lambda v: isinstance(v, tuple) and all(map(_is_number, v)))
"""`stride` and `offset` of resize: a tuple of integers, or `DenseArray(..., F32)`."""


def one_number(value: Any, element: Type) -> IntAttr | FloatAttr | bool:
    """A number as an attribute with the type of a tensor's elements."""
    if isinstance(element, FloatType):
        return FloatAttr(float(value), element)
    return bool(value) if str(element) == "i1" else IntAttr(int(value), element)

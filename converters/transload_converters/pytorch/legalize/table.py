"""What the rewrite functions of all families share: their table, and how they read a call of an operator.

    @TABLE("hardtanh.default")
    def hardtanh(call: Call, rw: Rewriter) -> Value:
        return rw.emit("top.Clip", call.self, min=float(call.min_val), max=float(call.max_val))

A `Call` has the arguments of the operator by the names of its signature, with its defaults: tensors are values or None, lists of
them lists, numbers are numbers.

In `top`, quantized tensors are values of a quantized type, where PyTorch has integers. An operator that meets one may mean its
integers, or may only move or compare them: `stored=` says which.

PyTorch computes most operators on 16-bit floats in f32, and rounds the result. A function that makes one op does the same; one
that makes several, each of which would round, or overflow, says `rounded="once"`. (Some PyTorch itself rounds on its way:
`logit`, `special_entr`, `xlogy`.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from transload.errors import RunError, Unsupported, is_short
from transload.ir import (
    BOOL,
    F32,
    ComplexType,
    Dense,
    DenseArray,
    FloatType,
    IntegerType,
    NoneType,
    Op,
    QuantType,
    SplatData,
    TensorType,
    Type,
    Value,
    dtype_of,
)
from transload.rewrite import Rewriter, RewriteTable

from ..schemas import NARROW, Argument, schema_of

__all__ = [
    "MAX_CONSTANT", "AtenTable", "Call", "Taken", "as_integers", "axes_of", "axis_of", "cast", "common_element",
    "compared_element", "is_complex", "number_in", "number_like", "pairs", "per_dimension", "permute", "places_of", "reshape",
    "shape_of", "shape_together", "splat", "wide",
]

MAX_CONSTANT = 1 << 28
"""Elements that a constant computed here may have."""

Taken = Literal["wrapped", "held", "cut"]
"""How numbers become those of an element type (`number_in`)."""

F = TypeVar("F", bound=Callable[..., Any])


class Call:
    """The arguments of an op by their names in the operator's signature; `widened` where f32 stand for its 16-bit floats."""

    def __init__(self, op: Op, widened: bool = False) -> None:
        self.op = op
        self.widened = widened
        self._arguments = _bound(op)

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._arguments[name]
        except KeyError:
            raise AttributeError(name) from None
        if isinstance(value, str) and name in self._open():
            raise Unsupported(f"its {name} is {value}, which is known only at run time",
                              "sizes must follow from the shapes of the inputs")
        return value

    def _open(self) -> frozenset[str]:
        """The arguments that are numbers, of which texts say that they are not known."""
        schema = schema_of(self.op.name)
        return frozenset(a.name for a in schema.arguments
                         if a.kind not in ("str", "Tensor", "ScalarType")) if schema else frozenset()

    def get(self, name: str, default: Any = None) -> Any:
        """An argument that not all of the operators have to which a function belongs, or whose name is one of a call's own."""
        return self.__getattr__(name) if name in self._arguments else default

    def choice(self, name: str, known: Collection[Any], default: Any = None) -> Any:
        """An argument that is one of a few. Raises `Unsupported` for any other."""
        value = self.get(name, default)
        if value not in tuple(known):  # which may not be hashable
            raise Unsupported(f"its {name} is {value!r:.100}, and can be {', '.join(map(repr, known))}")
        return value

    @property
    def overload(self) -> str:
        return self.op.name.rpartition(".")[2]

    @property
    def base(self) -> str:
        """The operator's name without library and overload: `add` of `aten.add.Tensor`."""
        return self.op.name.split(".")[-2]

    @property
    def element(self) -> Type:
        """The element type of the (first) result, which the program says; that it is computed in where it is rounded after."""
        type_ = self.op.results[0].type
        element: Type = type_.element if isinstance(type_, TensorType) else F32
        return F32 if self.widened and element in NARROW else element

    def used(self, place: int) -> bool:
        """Whether somebody uses a result."""
        return place < len(self.op.results) and bool(self.op.results[place].uses)

    def refuse_use(self, place: int, what: str) -> None:
        if self.used(place):
            raise Unsupported(f"its result number {place}, {what}, is used, and cannot be computed")


def places_of(op: Op, names: Collection[str]) -> set[int]:
    """The places among an op's operands of the tensors of these names; a number of such a name has none."""
    schema = schema_of(op.name)
    tensors = [] if schema is None else [
        argument.name for argument in schema.arguments if argument.is_tensor and argument.name in names]
    bound = _bound(op, range(len(op.operands)))
    given = map(bound.get, tensors)
    return {place for each in given for place in (each if isinstance(each, list) else [each]) if place is not None}


def _bound(op: Op, operands: Sequence[Any] | None = None) -> dict[str, Any]:
    """The operands, or what is given in their stead, and attributes of an op by argument."""
    schema = schema_of(op.name)
    if schema is None:
        return {**op.attributes, "operands": list(op.operands)}
    if operands is None:
        operands = [None if isinstance(value.type, NoneType) else value for value in op.operands]
    values = list(operands)
    lists = sum(argument.is_tensor and argument.many for argument in schema.arguments)
    single = sum(argument.is_tensor and not argument.many for argument in schema.arguments)
    segments = list(op.attributes.get("segments", ()))
    found: dict[str, Any] = {}
    place = 0
    for argument in schema.arguments:
        if not argument.is_tensor:
            value = op.attributes.get(argument.name, argument.default)
            if value is None and argument.required and not argument.optional:
                raise Unsupported(f"lacks its argument {argument.name}, which PyTorch demands")
            found[argument.name] = _spread(value, argument.size if argument.many else 0)
            _check_kind(argument, found[argument.name])
            continue
        if lists > 1:
            count = segments.pop(0)
        else:
            count = len(values) - single if argument.many else 1
        taken = values[place : place + count]
        if not argument.many and argument.required and not argument.optional and taken[:1] in ([], [None]):
            raise Unsupported(f"lacks its argument {argument.name}, which PyTorch demands")
        found[argument.name] = taken if argument.many else (taken[0] if taken else None)
        place += count
    return found


def _spread(value: Any, size: int) -> Any:
    """A list as a tuple; one number for as many as are due."""
    if isinstance(value, DenseArray | list):
        value = tuple(value)
    if size and isinstance(value, int) and not isinstance(value, bool):
        return (value,) * size
    if isinstance(value, tuple):
        if any(isinstance(each, str) for each in value) and all(isinstance(each, str | int) for each in value) and any(
                isinstance(each, int) for each in value):
            text = next(each for each in value if isinstance(each, str))
            raise Unsupported(f"has the size {text}, which is known only at run time",
                              "sizes must follow from the shapes of the inputs")
        if size and len(value) == 1:
            return value * size
    return value


_NUMBERS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "int": (int, "whole numbers"), "SymInt": (int, "whole numbers"), "bool": (int, "truth values"),
    "float": ((int, float), "numbers")}
"""What arguments are by their kind; texts stand for numbers that are known only at run time."""


def _check_kind(argument: Argument, value: Any) -> None:
    """An argument is of the signature's kind, one or a list; a list has as many as are due, or none where it may be left out.

    `int[1]` is of any length. Raises `Unsupported`.
    """
    if value is None or (type(value) is type(argument.default) and value == argument.default):
        return
    if isinstance(value, tuple) != argument.many:
        raise Unsupported(f"its {argument.name} is {value!r:.100}, and must be {'a list' if argument.many else 'one'}")
    each = [part for part in value if part is not None] if isinstance(value, tuple) else [value]
    wanted, what = _NUMBERS.get(argument.kind, (object, ""))
    if argument.kind == "str" and not all(isinstance(text, str) for text in each):
        raise Unsupported(f"its {argument.name} is {value!r:.100}, and must be a text")
    if any(not isinstance(part, wanted) and not isinstance(part, str | Type) for part in each) or (
            "int" in argument.kind.lower() and any(isinstance(part, bool) for part in each)):
        raise Unsupported(f"its {argument.name} is {value!r:.100}, and must be of {what}")
    if argument.many and argument.size >= 2 and len(value) != argument.size and (value or argument.default != ()):
        raise Unsupported(f"its {argument.name} has {len(value)} numbers, and must have {argument.size}")


Rounded = str | Callable[[Call], str]
"""How often a rewrite rounds 16-bit floats, `each` or `once`; or what says so of a call."""


class AtenTable(RewriteTable):
    """A rewrite table of functions that are given a `Call`, and say how they take quantized operands.

    `stored="integers"` (the default): they are first turned into the plain integers they hold; `"carried"`: the op moves or
    compares numbers, so quantized values stay as they are; `"native"`: the function sees to it. `"complex"`: the function is only
    asked where operands or results are complex numbers, which no other is given.

    `rounded` says when 16-bit floats are rounded: by `"each"` op that the function makes (the default), or `"once"`: it is given
    f32 in their stead, and what it makes is rounded after. Where arguments decide, a function of the call says which.
    """

    def __call__(self, *names: str, stored: str = "integers", rounded: Rounded = "each") -> Callable[[F], F]:
        enter = super().__call__(*(f"aten.{name}" for name in names))

        def add(function: F) -> F:
            enter(_guarded(function, stored, rounded))
            return function

        return add

    def refuse_all(self, why: str, hint: str, *names: str) -> None:
        """Say of operators why they are not converted."""
        self.refuse({f"aten.{name}": (why, hint) for name in names})


def is_complex(value: Value) -> bool:
    """Whether a value holds complex numbers."""
    return isinstance(value.type, TensorType) and isinstance(value.type.element, ComplexType)


def _guarded(function: Callable[..., Any], stored: str, rounded: Rounded) -> Callable[..., Any]:
    def rewrite(op: Op, rw: Rewriter) -> Any:
        complex_numbers = any(map(is_complex, (*op.operands, *op.results)))
        if stored == "complex" and not complex_numbers:
            return None
        if any(isinstance(value.owner, Op) and value.owner.dialect == op.dialect for value in op.operands):
            raise Unsupported("uses a value whose op cannot be converted", follows=True)
        if complex_numbers and stored != "complex":
            raise Unsupported("computes with complex numbers, which is not converted of this operator",
                              "write this part of the network with real and imaginary parts")
        before = op.operands
        if stored == "integers":
            op.operands = tuple(as_integers(rw, value) for value in before)
        try:
            once = (rounded if isinstance(rounded, str) else rounded(Call(op))) == "once"
            made = _rounded_once(function, op, rw) if once else function(Call(op), rw)
            if isinstance(made, list) and len(made) != len(op.results):
                raise Unsupported(f"gives {len(made)} tensors, and the program takes {len(op.results)}: {_forms(op)}")
            if made is not None:
                _refuse_other_types(op, [made] if isinstance(made, Value) else made)
            return made
        except RunError as error:  # computing a constant: a subscript out of range, ...
            raise Unsupported(str(error)) from None
        except (IndexError, ValueError) as error:
            if not is_short(error):
                raise
            raise Unsupported("has operands of fewer dimensions, or lists of fewer numbers, than it needs: "
                              f"{_forms(op)}") from None

    rewrite.__doc__ = function.__doc__
    rewrite.__wrapped__ = function  # type: ignore[attr-defined]
    return rewrite


def _refuse_other_types(op: Op, made: Sequence[Value]) -> None:
    """Raise `Unsupported` where what an op becomes has another element type than the program says of it, or another shape.

    What is computed after it would be with other numbers than PyTorch's. Sizes that either leaves open contradict nothing,
    results that nobody uses are not looked at, and of one without a known rank the program says no more than a guess.
    """
    for result, value in zip(op.results, made, strict=True):
        if result.type == value.type or not result.uses or result.shape_or_none is None:
            continue
        element, sizes = value.element_or_none, value.shape_or_none
        stored = element.storage if isinstance(element, QuantType) else element
        fits = sizes is None or (len(sizes) == result.rank and all(
            a == b or None in (a, b) for a, b in zip(result.shape, sizes, strict=True)))
        if stored != result.element or not fits:
            raise Unsupported(f"its result is said to be {result.type}, and is {value.type}",
                              "types of the model contradict each other")


def _rounded_once(function: Callable[..., Any], op: Op, rw: Rewriter) -> Any:
    """What a function makes of an op whose 16-bit floats are f32 meanwhile."""
    op.operands = tuple(wide(rw, value)[0] if isinstance(value.type, TensorType) else value for value in op.operands)
    made = function(Call(op, widened=True), rw)

    def narrow(value: Value, result: Value) -> Value:
        return cast(rw, value, result.element) if value.element == F32 and result.element in NARROW else value

    return list(map(narrow, made, op.results)) if isinstance(made, list) else narrow(made, op.results[0])


def _forms(op: Op) -> str:
    """The types of an op's operands, and its lists."""
    types = [str(value.type) for value in op.operands]
    lists = [f"{name} {list(value)}" for name, value in op.attributes.items() if isinstance(value, tuple | list | DenseArray)]
    return f"({', '.join(types)}){', ' if lists else ''}{', '.join(lists)}"[:300]


def as_integers(rw: Rewriter, value: Value) -> Value:
    """The integers that a quantized value holds, as a plain tensor; any other value as it is."""
    element = value.type.element if isinstance(value.type, TensorType) else None
    if not isinstance(element, QuantType):
        return value
    dense = rw.constant_of(value)
    if dense is not None:
        return rw.constant(dense, element=element.storage)
    return rw.emit("top.Bitcast", value, element=element.storage)


# --- reading


def shape_of(value: Value | None, rank: int | None = None) -> tuple[int, ...]:
    """The static shape of a value, of `rank` dimensions. Refused where there is no value."""
    if value is None:
        raise Unsupported("lacks an operand that it would compute with")
    type_ = value.type
    if not isinstance(type_, TensorType) or not type_.is_static:
        raise Unsupported(f"the shape of {value.name or 'an operand'!r} is not known: {type_}",
                          "it depends on numbers computed at run time")
    shape: tuple[int, ...] = type_.static_shape
    if rank not in (None, len(shape)):
        raise Unsupported(f"{value.name or 'an operand'!r} must have {rank} dimensions, and has the shape {list(shape)}")
    return shape


def shape_together(*values: Value) -> tuple[int, ...]:
    """The shape that tensors broadcast to with each other; `Unsupported` where they do not."""
    shapes = [shape_of(value) for value in values]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise Unsupported(f"the shapes {' and '.join(str(list(shape)) for shape in shapes)} do not broadcast") from None


def axis_of(axis: int, rank: int, least: int = 0) -> int:
    """A dimension counted from the front; of a scalar 0 and -1 are none, which a tensor of `least` dimensions or more is not."""
    if rank < least or not -max(rank, 1) <= axis < max(rank, 1):
        raise Unsupported(f"dimension {axis} is outside a tensor of rank {rank}")
    return axis % max(rank, 1)


def axes_of(axes: int | Sequence[int] | None, rank: int, empty_is_all: bool = True) -> tuple[int, ...]:
    """Dimensions counted from the front, in order; all where none are given, and, for most operators, of an empty list."""
    if axes is None or (empty_is_all and not isinstance(axes, int) and not axes):
        return tuple(range(rank))
    given = (axes,) if isinstance(axes, int) else axes
    return tuple(sorted({axis_of(axis, rank) for axis in given})) if rank else ()


def per_dimension(numbers: int | Sequence[int], n: int, what: str, least: int = 0) -> tuple[int, ...]:
    """One number, of `least` or more, for each of `n` dimensions; a single one stands for all."""
    given = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    given = given * n if len(given) == 1 else given
    if len(given) != n:
        raise Unsupported(f"its {what} has {len(given)} numbers, and there are {n} dimensions")
    if min(given, default=least) < least:
        raise Unsupported(f"its {what} is {list(given)}, and must be {least} or more")
    return given


def pairs(first: Sequence[Any], second: Sequence[Any], what: str) -> list[tuple[Any, Any]]:
    """The elements of two lists that belong together; `what` names them, as in `shifts and dims`."""
    if len(first) != len(second):
        raise Unsupported(f"its {what} must have the same length, and have {len(first)} and {len(second)}")
    return list(zip(first, second, strict=True))


def common_element(*values: Value | None) -> Type:
    """The element type in which PyTorch computes with tensors: the widest of the highest kind; scalars decide by kind alone.

    Of two types neither of which holds the other's numbers it is one that holds both's: f32 of f16 and bf16, i16 of ui8 and i8.
    """
    best: tuple[int, int, int, Type] | None = None
    for value in values:
        if value is None:
            continue
        element = value.element
        kind = 0 if element == BOOL else 1 if isinstance(element, IntegerType) else 2
        rank = (kind, 1 if value.rank else 0, dtype_of(element).itemsize, element)
        if best is not None and rank[:2] == best[:2]:
            element = _holding_both(best[3], element)
            rank = (kind, rank[1], dtype_of(element).itemsize, element)
        if best is None or rank[:3] > best[:3]:
            best = rank
    if best is None:
        return F32
    return best[3]


def _holding_both(first: Type, second: Type) -> Type:
    """The second of two element types of a kind, or, where it does not hold all of the first's numbers, one that holds both's."""
    if {first, second} == set(NARROW):
        return F32
    if isinstance(first, IntegerType) and isinstance(second, IntegerType) and first.unsigned != second.unsigned:
        unsigned, signed = (first, second) if first.unsigned else (second, first)
        if unsigned.width >= signed.width:
            return IntegerType(min(2 * unsigned.width, 64))
    return second


def compared_element(value: Value, other: Any) -> Type:
    """The element type in which PyTorch compares a tensor with another, or with a number. Truth values are numbers there."""
    if isinstance(other, Value):
        element = common_element(value, other)
        return IntegerType(8) if element == BOOL else element
    if isinstance(other, float) and not is_float(value.element):
        return F32
    if value.element == BOOL:
        return IntegerType(8 if isinstance(other, bool) else 64)
    return value.element


# --- making values


def cast(rw: Rewriter, value: Value | None, element: Type) -> Value:
    """`value` with elements of another type, as PyTorch casts: fractions cut off. Refused where there is no value."""
    if value is None:
        raise Unsupported("lacks an operand that it would compute with")
    if value.element == element:
        return value
    return rw.emit("top.Cast", value, element=element)


def wide(rw: Rewriter, value: Value) -> tuple[Value, Type]:
    """`value` in the floats that PyTorch adds up 16-bit ones in, and the element type that it had."""
    element = value.element
    return (cast(rw, value, F32), element) if element in NARROW else (value, element)


def reshape(rw: Rewriter, value: Value, shape: Sequence[int]) -> Value:
    """`value` in another static shape; itself where it has it."""
    if value.shape == tuple(shape):
        return value
    if math.prod(shape_of(value)) != math.prod(shape):
        raise Unsupported(f"{list(shape_of(value))} cannot be seen as {list(shape)}")
    return rw.emit("top.Reshape", value, shape=tuple(int(n) for n in shape))


def permute(rw: Rewriter, value: Value, order: Sequence[int]) -> Value:
    """`value` with its dimensions in another order; itself where that is the order they have."""
    if list(order) == list(range(len(order))):
        return value
    return rw.emit("top.Permute", value, order=tuple(int(n) for n in order))


def splat(rw: Rewriter, number: Any, shape: Sequence[int], element: Type) -> Value:
    """A constant with one number in every place; it takes no memory."""
    if math.prod(shape) > MAX_CONSTANT:
        raise Unsupported(f"makes a constant of shape {tuple(shape)}, more than {MAX_CONSTANT:,} elements")
    if min(shape, default=0) < 0:
        raise Unsupported(f"makes a tensor of the sizes {list(shape)}")
    data = SplatData(number_in(number, element, "cut"), tuple(shape), dtype_of(element))
    return rw.constant(Dense(data, TensorType(tuple(shape), element)))


def number_like(rw: Rewriter, number: Any, element: Type, taken: Taken = "wrapped") -> Value:
    """A constant of rank 0 of an element type (`number_in`)."""
    return rw.constant(np.array(number_in(number, element, taken), dtype_of(element)), element=element)


def number_in(number: Any, element: Type, taken: Taken = "wrapped") -> Any:
    """A number as one of an element type, as PyTorch takes it.

    Arithmetic and relations take of integers out of range their bits: 44 of ui8 for 300. Others convert the number, and it is
    refused (`held`), but integers below zero of unsigned ones: 253 of ui8 for -3. A fraction is refused of integers or, where
    something is filled with the number (`cut`, which is held, too), left away.
    """
    if not isinstance(element, IntegerType):
        return number
    if element == BOOL:
        return bool(number)
    if not math.isfinite(number) or (number % 1 and taken != "cut"):
        raise Unsupported(f"{number} is none of {element}, which the tensor is of")
    least, most = element.range
    lowest = -most if least == 0 and isinstance(number, int) else least
    if taken != "wrapped" and not lowest <= number <= most:
        raise Unsupported(f"{number} is none of {element}, which PyTorch refuses to convert it to")
    return (int(number) - least) % (1 << element.width) + least


def is_float(element: Type) -> bool:
    return isinstance(element, FloatType)

"""What the calls that are known by name take and give: a call of another form is one that nobody here knows.

The names are no part of StableHLO, so that a program may mean something else by them. Whoever gives such a call a meaning asks
`has_form` first, and may then rely on how many operands and results there are, and of what types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from transload.ir.types import BOOL, I32, FloatType, IntegerType, TensorType, Type

from ..types import compatible_types, shape_of

__all__ = ["FUNCTIONS", "IDENTITIES", "KNOWN", "SPREADING", "form_of", "gives_back", "has_form"]

SPREADING = ("SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape")
"""Calls that cut a tensor into the parts of several devices, or join them, where its shape is another then."""
IDENTITIES = frozenset((
    "Sharding", *SPREADING, "annotate_device_placement", "LayoutConstraint", "MoveToHost", "MoveToDevice",
    "xla.sdy.FuncResultSharding", "PinToDevice", "InspectSharding"))
"""Calls that say where or how a value is kept, and give it back."""
FUNCTIONS = {
    "erf": "erf",
    **{f"mhlo.{name}": name for name in ("erf", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "tan")}}
"""Functions of one operand that exporters call by these names (JAX before 0.7 those of CHLO), by the names that CHLO has."""

_Types = Sequence[Type]


class _Form(NamedTuple):
    """What a call takes and gives, in words, and whether operands and results of some types are that."""

    says: str
    fits: Callable[[_Types, _Types], bool]


def has_form(op: Any) -> bool:
    """Whether a call is known by its name, and takes and gives what a call of that name does."""
    form = _FORMS.get(op.call_target_name)
    return form is not None and form.fits([value.type for value in op.operands], [value.type for value in op.results])


def form_of(name: str) -> str | None:
    """What a call that is known by this name takes and gives, to say it; None of a name that is not known."""
    return f"a call of {name!r} takes {_FORMS[name].says}" if name in _FORMS else None


KNOWN = {"stablehlo.custom_call": has_form}
"""The facts `call-form` of the dialect."""


# --- types

def _element(type_: Type) -> Any:
    """The type of a tensor's elements; None of what is no tensor."""
    return type_.element if isinstance(type_, TensorType) else None


def _are(types: _Types, shape: tuple[Any, ...], *elements: Any) -> bool:
    """Whether types are tensors of this shape, and of these elements in order: a type, or a class of types."""
    return len(types) == len(elements) and all(
        isinstance(type_, TensorType) and type_.shape == shape
        and (isinstance(type_.element, element) if isinstance(element, type) else type_.element == element)
        for type_, element in zip(types, elements, strict=True))


def _are_lists(types: _Types) -> bool:
    """Whether types are lists of integers: tensors of one dimension."""
    return all(isinstance(_element(type_), IntegerType) and len(shape_of(type_)) == 1 for type_ in types)


def _is_real(type_: Type) -> bool:
    return isinstance(_element(type_), FloatType | IntegerType)


# --- forms

def _asserts(operands: _Types, results: _Types) -> bool:
    return bool(operands) and not results and _are(operands[:1], (), BOOL) and all(
        _are([type_], (), IntegerType) for type_ in operands[1:])


def gives_back(operands: _Types, results: _Types) -> bool:
    """Whether the results may be the operands: sizes that are open on one side may be those of the other."""
    return len(operands) == len(results) and all(map(_may_be, operands, results))


def _may_be(one: Type, other: Type) -> bool:
    if not (isinstance(one, TensorType) and isinstance(other, TensorType)):
        return one == other
    return one.element == other.element and compatible_types(one, other)


def _spreads(operands: _Types, results: _Types) -> bool:
    if [*operands] == [*results]:
        return True
    return len(operands) == len(results) == 1 and _element(operands[0]) is not None and (
        _element(operands[0]) == _element(results[0]) and len(shape_of(operands[0])) == len(shape_of(results[0])))


def _computes(operands: _Types, results: _Types) -> bool:
    return len(operands) == 1 and gives_back(operands, results) and isinstance(_element(operands[0]), FloatType)


def _takes_best(operands: _Types, results: _Types) -> bool:
    """The last dimension of what is kept may be shorter."""
    if len(operands) != 1 or len(results) != 2 or not _is_real(operands[0]):
        return False
    whole, kept = shape_of(operands[0]), shape_of(results[0])
    return bool(whole and kept) and whole[:-1] == kept[:-1] and None not in (whole[-1], kept[-1]) and (
        kept[-1] <= whole[-1] and _are(results, kept, _element(operands[0]), I32))


def _approximates(operands: _Types, results: _Types) -> bool:
    """One dimension of what is kept may be shorter."""
    if len(operands) != 4 or len(results) != 2 or not _is_real(operands[0]):
        return False
    values, places = _element(operands[0]), _element(operands[1])
    whole, kept = shape_of(operands[0]), shape_of(results[0])
    return isinstance(places, IntegerType) and _are(operands[:2], whole, values, places) and (
        _are(operands[2:], (), values, places) and _are(results, kept, values, places)) and (
        len(whole) == len(kept) and None not in (*whole, *kept) and all(a >= b for a, b in zip(whole, kept, strict=True)))


def _approximates_some(operands: _Types, results: _Types) -> bool:
    """How many is said by one operand more."""
    return _are(operands[4:], (), IntegerType) and _approximates(operands[:4], results)


def _reduces_windows(operands: _Types, results: _Types) -> bool:
    count, odd = divmod(len(operands) - 5, 2)
    if count < 1 or odd or len(results) != count:
        return False
    *lists, padding = operands[-5:]
    return _are_lists(lists) and isinstance(_element(padding), IntegerType) and shape_of(padding)[1:] == (2,) and (
        None not in map(_element, (*operands[:2 * count], *results)))


def _takes_first(operands: _Types, results: _Types) -> bool:
    return len(operands) == len(results) == 2 and _is_real(operands[0]) and _are(operands[1:], (), IntegerType) and (
        _element(results[0]) == _element(operands[0]) and isinstance(_element(results[1]), IntegerType))


def _draws(operands: _Types, results: _Types) -> bool:
    return len(operands) == len(results) == 2 and None not in map(_element, (operands[0], *results)) and _are_lists(operands[1:])


def _are_matrices(types: _Types) -> bool:
    """Whether types are matrices of one type of floats, of one batch."""
    return bool(types) and isinstance(_element(types[0]), FloatType) and all(
        _element(type_) == _element(types[0]) and len(shape_of(type_)) > 1
        and shape_of(type_)[:-2] == shape_of(types[0])[:-2] for type_ in types)


def _is_square(type_: Type) -> bool:
    return shape_of(type_)[-1] == shape_of(type_)[-2]


def _factors(operands: _Types, results: _Types) -> bool:
    return len(operands) == 1 and _are_matrices(operands) and _is_square(operands[0]) and (
        [*results] == [operands[0], TensorType(shape_of(operands[0])[:-2], I32)])


def _solves(operands: _Types, results: _Types) -> bool:
    """The right sides are of one size with the matrix, in the dimension that `side` names."""
    return len(operands) in (2, 3) and _are_matrices(operands[:2]) and _is_square(operands[0]) and (
        [*results] == [operands[1]] and all(_are([type_], (), _element(operands[0])) for type_ in operands[2:]))


def _exchanges(operands: _Types, results: _Types) -> bool:
    if len(operands) != 1 or not _are_matrices(operands):
        return False
    *batch, rows, columns = shape_of(operands[0])
    return None not in (rows, columns) and [*results] == [
        operands[0], TensorType((*batch, min(rows, columns)), I32), TensorType(tuple(batch), I32)]


_FORMS = {
    "shape_assertion": _Form(
        "a scalar of i1, and scalars of integers that its message shows, and gives nothing", _asserts),
    **dict.fromkeys(IDENTITIES, _Form("values, and gives as many of the same types", gives_back)),
    **dict.fromkeys(SPREADING, _Form("a tensor, and gives one of the same type, whose sizes may be others", _spreads)),
    **dict.fromkeys(FUNCTIONS, _Form("a tensor of floats, and gives one of the same type", _computes)),
    **dict.fromkeys(("mhlo.topk", "TopK"), _Form(
        "a tensor of real numbers, and gives as many elements of its last dimension, and their places of i32", _takes_best)),
    "ApproxTopK": _Form(
        "a tensor, the places of its elements, and two scalars to begin with, and gives elements of it and their places",
        _approximates),
    "stablehlo.dynamic_approx_top_k": _Form(
        "what ApproxTopK does, and a scalar, and gives as many elements and their places", _approximates_some),
    "stablehlo.dynamic_reduce_window": _Form(
        "tensors, as many initial values, sizes, strides, dilations of both and padding, and gives as many tensors",
        _reduces_windows),
    "stablehlo.dynamic_top_k": _Form("a tensor and a scalar, and gives elements of it and their places", _takes_first),
    "stablehlo.dynamic_rng_bit_generator": _Form("a state and a list of sizes, and gives a state and a tensor", _draws),
    **{f"lapack_{letter}{name}_ffi": form for letter in "sd" for name, form in (
        ("potrf", _Form("square matrices of floats, and gives as many, and i32 for each", _factors)),
        ("trsm", _Form("square matrices and right sides of floats, and gives what has the type of these", _solves)),
        ("getrf", _Form("matrices of floats, and gives as many, and of i32 the rows of each and a number", _exchanges)))},
}

"""custom_call: an operation that only an implementation knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from transload.ir.attributes import Symbol
from transload.ir.declare import (
    BOOLEAN,
    LIST,
    STRING,
    AttributeKind,
    DeclaredOp,
    attribute,
    constraint,
    variadic,
    variadic_result,
)
from transload.ir.types import TensorType, TupleType, Type

from ..attributes import ALIASES, API_VERSIONS, CUSTOM_CALL_API, LAYOUTS, aliases_of
from ..types import PASSED, is_buffer, shape_of
from .base import STABLEHLO
from .call_forms import FUNCTIONS, IDENTITIES, SPREADING, has_form
from .call_forms import gives_back as are_given_back
from .control import function_called


def gives_back(op: CustomCall) -> bool:
    """Whether a call only annotates its operands, which are its results."""
    operands, results = ([value.type for value in values] for values in (op.operands, op.results))
    return op.call_target_name in IDENTITIES and (
        operands == results or (op.call_target_name not in SPREADING and are_given_back(operands, results)))


_BEST = frozenset(("mhlo.topk", "TopK"))


def function_of(op: CustomCall) -> str | None:
    """The function of one tensor of real numbers that a call computes, of `FUNCTIONS`; None for any other call."""
    return FUNCTIONS.get(op.call_target_name) if has_form(op) else None


def directions_of(op: CustomCall) -> list[str]:
    """The comparisons, `GT` or `LT`, in the function by which a call orders elements."""
    comparator = function_called(op, op.called_computations[0]) if op.called_computations else None
    return [] if comparator is None else [
        inner.comparison_direction for inner in comparator.walk() if inner.name == "stablehlo.compare"]


def top_k_of(op: CustomCall) -> tuple[int, bool] | None:
    """How many elements of the last dimension a call takes, and whether the greatest; None for any other call.

    `mhlo.topk` says it among its attributes (`mhlo.attributes = {k, largest}`), XLA's own `TopK` by a comparison.
    """
    if op.call_target_name not in _BEST or not has_form(op):
        return None
    kept = shape_of(op.results[0])
    told = op.attributes.get("mhlo.attributes")
    if op.called_computations:
        directions = directions_of(op)
        return (kept[-1], directions == ["GT"]) if directions in (["GT"], ["LT"]) else None
    return kept[-1], bool(told.get("largest", True)) if isinstance(told, dict) else True


_BACKEND_CONFIG: AttributeKind[str | dict[str, Any]] = AttributeKind(
    "string or dictionary", lambda v: isinstance(v, dict) or STRING.accepts(v))
_TYPED = API_VERSIONS.index("typed FFI")


@STABLEHLO.op("custom_call")
class CustomCall(DeclaredOp):
    """An operation that only an implementation knows, kept as it is; a plugin can claim it by its name."""

    inputs = variadic("the operands", PASSED)
    outputs = variadic_result("the results", PASSED)
    call_target_name = attribute(STRING, "its name")
    has_side_effect = attribute(BOOLEAN, "whether it must not be left out", default=False)
    backend_config = attribute(_BACKEND_CONFIG, "what the implementation is told", optional=True)
    api_version = attribute(CUSTOM_CALL_API, "how it is called", default=1)
    called_computations = attribute(LIST, "functions that it calls", default=lambda op: [])
    operand_layouts = attribute(LAYOUTS, "in what order the operands' dimensions lie in memory", optional=True)
    result_layouts = attribute(LAYOUTS, "in what order the results' dimensions lie in memory", optional=True)
    result_tilings = attribute(LIST, "of each result: the sizes of the tiles, outer ones first, that it lies in", optional=True)
    output_operand_aliases = attribute(ALIASES, "results that may share memory with operands", optional=True)
    traits = ("effects", "open")

    def infer(op) -> list[Type]:
        """The types of the operands where those are the results, or a function of each of their elements, or share memory."""
        if gives_back(op) or function_of(op) is not None:
            return [value.type for value in op.operands]
        types = [value.type for value in op.results]
        for outer, number, inner in aliases_of(op.output_operand_aliases):
            place = outer[0] if len(types) > 1 and outer else 0
            if len(outer) == (len(types) > 1) and not inner and place < len(types) and 0 <= number < len(op.operands) and (
                    are_given_back([op.operands[number].type], [types[place]])):
                types[place] = op.operands[number].type
        return types

    @constraint
    def i6(op) -> bool:
        """(I6) called_computations are names of functions"""
        return all(isinstance(name, Symbol) for name in op.called_computations)

    @constraint
    def i4(op) -> bool | str:
        """(I4) backend_config is a dictionary for the typed FFI, else a string"""
        fits = op.backend_config is None or isinstance(op.backend_config, dict) == (int(op.api_version) == _TYPED)
        return fits or f"the interface is {op.api_version}"

    @constraint
    def layouts_come_together(op) -> bool:
        """operands and results have layouts, or neither have"""
        return (op.operand_layouts is None) == (op.result_layouts is None)

    @constraint
    def layouts_fit(op) -> bool | str:
        """a layout orders all dimensions of its tensor, and is empty for what is no tensor"""
        if op.operand_layouts is None or op.result_layouts is None:
            return True
        results: Sequence[Type] = [value.type for value in op.results]
        if len(results) == 1 and isinstance(results[0], TupleType):
            results = results[0].types
        fit = _layouts_fit([value.type for value in op.operands], op.operand_layouts, "operand")
        return _layouts_fit(results, op.result_layouts, "result") if fit is True else fit

    @constraint
    def aliases_fit(op) -> bool | str:
        """output_operand_aliases are of results and operands that are there, and have the same type"""
        types: list[Type] = [value.type for value in op.results]
        whole = types[0] if len(types) == 1 else TupleType(tuple(types))
        for outer, number, inner in aliases_of(op.output_operand_aliases):
            if not 0 <= number < len(op.operands):
                return f"there is no operand {number}"
            pair = [_part(whole, outer), _part(op.operands[number].type, inner)]
            if None in pair:
                return f"{list(outer)} and {list(inner)} are not both places in tuples"
            if pair[0] != pair[1]:
                return f"the result has {pair[0]}, and operand {number} {pair[1]}"
        return True

    @constraint
    def buffers_are_made_or_passed_on(op) -> bool | str:
        """Pin, Unpin and CreateBuffer make buffers and tensors of them; any other buffer that is given is an operand"""
        types = [value.type for value in op.results]
        if op.call_target_name in _MAKERS:
            return _made_fits(op.call_target_name, [value.type for value in op.operands], types)
        whole = types[0] if len(types) == 1 else TupleType(tuple(types))
        passed = Counter(outer for outer, _, _ in aliases_of(op.output_operand_aliases))
        wrong = [place for place in _buffers_of(whole, ()) if passed[place] != 1]
        return not wrong or f"the buffer at {list(wrong[0])} has {passed[wrong[0]]} of output_operand_aliases, and needs one"


_MAKERS = {"Pin": ("a tensor", "a buffer"), "Unpin": ("a buffer", "a tensor"), "CreateBuffer": ("", "a buffer")}
"""Calls that make a buffer of a tensor, or the other way, or one that holds nothing yet: what they take and give."""


def _made_fits(name: str, operands: Sequence[Type], results: Sequence[Type]) -> bool | str:
    kinds = [
        ["a buffer" if is_buffer(each) else "a tensor" if isinstance(each, TensorType) else "another" for each in types]
        for types in (operands, results)]
    wanted = [[kind] if kind else [] for kind in _MAKERS[name]]
    if kinds != wanted:
        return f"{name} takes {wanted[0][0] if wanted[0] else 'nothing'} and gives {wanted[1][0]}"
    held = {str(type_).partition("<")[2].partition(",")[0].removesuffix(">") for type_ in (*operands, *results)}
    return len(held) == 1 or f"{name} gives {results[0]} of {operands[0]}"


def _buffers_of(type_: Type, place: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The places of the buffers in nested tuples."""
    if isinstance(type_, TupleType):
        for index, part in enumerate(type_.types):
            yield from _buffers_of(part, (*place, index))
    elif is_buffer(type_):
        yield place


def _layouts_fit(types: Sequence[Type], layouts: Sequence[Any], kind: str) -> bool | str:
    if len(types) != len(layouts):
        return f"{len(layouts)} layouts for {len(types)} {kind}s"
    for type_, layout in zip(types, layouts, strict=True):
        if isinstance(type_, TupleType):
            return f"a {kind} is a tuple, which can have no layout"
        rank = len(shape_of(type_)) if isinstance(type_, TensorType) else 0
        order = layout.numpy().tolist() if layout.shape == (rank,) else None
        if order is None or sorted(order) != list(range(rank)):
            return f"{order or layout.shape} is no order of the dimensions of {type_}"
    return True


def _part(type_: Type, places: Sequence[int]) -> Type | None:
    """What is at a place in nested tuples; None where there is no such place."""
    for place in places:
        if not isinstance(type_, TupleType) or not 0 <= place < len(type_.types):
            return None
        type_ = type_.types[place]
    return type_

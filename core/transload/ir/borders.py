"""What a function takes and gives as its users see it: names, and types, where its own cannot say what they are.

TOSA's integers have no sign, and none of 64 bits: the function that a model of unsigned bytes becomes takes `i8`, whose bits
are those bytes. The element type that the model itself has there is an attribute of the argument or result (`ELEMENT`), which
goes wherever the function goes: through passes, clones and MLIR text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .given import items_of, misfit_part
from .types import IntegerType, TensorType, Type

if TYPE_CHECKING:
    from .core import Block, Op, Value
    from .module import Module

__all__ = [
    "ELEMENT", "NAME", "RANGE", "input_limits", "input_names", "input_types", "name_borders", "note_elements", "noted_elements",
    "output_names", "output_names_kept", "output_types", "same_width", "seen_as",
]

NAME = "ml_program.identifier"
"""Attribute of an argument or result: its name, by which MLIR's TOSA serializer, too, names inputs and outputs."""

ELEMENT = "transload.element"
"""Attribute of an argument or result: the element type that it has in the model, where the function has another one."""

RANGE = "transload.range"
"""Attribute of an argument, `[low, high]`: the values that it takes, where the model's file says so."""


def input_names(function: Op) -> list[str]:
    """The names of a function's inputs, in order; `arg0`, ... where the model has none, made unique where it repeats one."""
    values = _block_of(function).arguments
    return _unique(_noted(function, "arg_attrs", values), values, "arg")


def input_limits(function: Op) -> dict[str, tuple[float, float]]:
    """The least and the greatest number that inputs take, by name; of those of which the model's file says it."""
    names = input_names(function)
    attributes = _noted(function, "arg_attrs", _block_of(function).arguments)
    return {
        name: (float(limits[0]), float(limits[1]))
        for name, each in zip(names, attributes, strict=True) if (limits := each.get(RANGE)) is not None}


def output_names(function: Op) -> list[str]:
    """The names of a function's outputs, in order; made unique where the model repeats one."""
    values = _block_of(function).terminator.operands
    return _unique(_noted(function, "res_attrs", values), values, "result")


def name_borders(function: Op, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Call a function's inputs and outputs so, as many as there are."""
    for side, before, names in (("arg_attrs", input_names(function), inputs), ("res_attrs", output_names(function), outputs)):
        if before != list(names):
            attributes = function.attributes.get(side) or [{}] * len(before)
            function.attributes[side] = [{**own, NAME: name} for own, name in zip(attributes, names, strict=True)]


@contextmanager
def output_names_kept(module: Module) -> Iterator[None]:
    """Whatever is done to a module meanwhile, its functions' results are called as before.

    A result that has no name of its own (`NAME`) is called as the value that is given, and another one may come to be given: an
    operand, where the last op folds away, or one of several results. Who uses the model knows it by the name that it had. What
    comes to another place takes its name along, what is added has its own, and names that are given meanwhile stay.
    """
    before = {name: _Outputs.of(function) for name, function in _public(module)}
    yield
    for name, function in _public(module):
        now = function.attributes.get("res_attrs")
        if name in before and (not now or len(now) == len(_block_of(function).terminator.operands)):
            _call_as_before(function, before[name])


@dataclass(frozen=True)
class _Outputs:
    """A function's outputs, what they are called, and which of these names are noted (`NAME`)."""

    values: tuple[Value, ...]
    names: tuple[str, ...]
    called: tuple[str | None, ...]
    """As the values are, which names say which is which where the values themselves are others."""
    noted: tuple[str | None, ...]

    @staticmethod
    def of(function: Op) -> _Outputs:
        values = tuple(_block_of(function).terminator.operands)
        noted = tuple(each.get(NAME) for each in _noted(function, "res_attrs", values))
        return _Outputs(values, tuple(output_names(function)), tuple(value.name for value in values), noted)

    def places_of(self, now: _Outputs) -> list[int | None]:
        """Which of these each of other outputs is, itself or, where all are others in another order, by the name of its value."""
        keys, others = self.values, now.values
        is_moved = self.called != now.called and len({*self.called}) == len(self.called)
        if not {*keys} & {*others} and is_moved and None not in self.called and {*self.called} == {*now.called}:
            keys, others = self.called, now.called  # type: ignore[assignment]
        found: list[int | None] = [
            place if place < len(keys) and keys[place] == other else None for place, other in enumerate(others)]
        taken, left = {*found}, defaultdict[Any, list[int]](list)
        for old in range(len(keys) - 1, -1, -1):  # the first one comes last, and is the first that is taken
            if old not in taken:
                left[keys[old]].append(old)
        return [left[other].pop() if place is None and left[other] else place for place, other in zip(found, others, strict=True)]


def _call_as_before(function: Op, before: _Outputs) -> None:
    """Note the names that a function's outputs had, where these are called otherwise now and nobody has named them."""
    now = _Outputs.of(function)
    places = before.places_of(now)
    is_unmoved = all(old in (None, place) for place, old in enumerate(places))
    is_alike = len(places) == len(before.names) or (
        len(places) > len(before.names) and is_unmoved and any(old is not None for old in places))
    given: list[str | None] = [None] * len(places)
    if now.noted != before.noted:  # where outputs have moved, a note may have stayed at its place, of another one of them
        left = set() if is_unmoved else {before.noted[old] for old in places if old is not None}
        given = [None if name in left else name for name in now.noted]
    wanted: list[str | None] = []
    kept, renamed = {*places}, {*given}
    for place, old in enumerate(places):
        if old is None and is_alike and place < len(before.names) and place not in kept:
            old = place
        own = None if old is None or before.names[old] in renamed else before.names[old]
        wanted.append(given[place] or own)
    is_called_so = all(name in (None, own) for name, own in zip(wanted, now.names, strict=True))
    if is_called_so and (None not in wanted or not any(now.noted)):
        return
    attributes = _noted(function, "res_attrs", now.values)
    others = ({key: value for key, value in each.items() if key != NAME} for each in attributes)
    function.attributes["res_attrs"] = [
        other if name is None else {**other, NAME: name} for other, name in zip(others, wanted, strict=True)]


def _public(module: Module) -> Iterator[tuple[str, Op]]:
    """The functions that others than the module's own may call, of one block each."""
    for name, function in module.functions.items():
        if function.attributes.get("sym_visibility") != "private" and len(function.regions[0].blocks) == 1:
            yield name, function


def _block_of(function: Op) -> Block:
    """The block of a function; `BuildError` where it is no function, or is only declared."""
    regions = getattr(function, "regions", None)
    if not isinstance(regions, list) or len(regions) != 1 or len(regions[0].blocks) != 1:
        raise misfit_part("that", "a function", function, "an op with one block", "as module.main")
    block: Block = regions[0].blocks[0]
    return block


def _noted(function: Op, key: str, values: Sequence[Value]) -> Sequence[Mapping[str, Any]]:
    """What is noted of a function's arguments or results, a dictionary each; `BuildError` where it is anything else."""
    held = function.attributes.get(key)
    if not held:
        return [{}] * len(values)
    if not isinstance(held, list) or len(held) != len(values) or not all(isinstance(each, dict) for each in held):
        raise misfit_part(f"{function.name}", key, held, f"a list of {len(values)} dictionaries")
    return held


def _unique(attributes: Sequence[Mapping[str, Any]], values: Sequence[Value], prefix: str) -> list[str]:
    names: list[str] = []
    seen: set[str] = set()
    for index, (attrs, value) in enumerate(zip(attributes, values, strict=True)):
        noted = attrs.get(NAME)
        name = (noted if isinstance(noted, str) else "") or value.name or f"{prefix}{index}"
        while name in seen:
            name = f"{name}_{index}"
        names.append(name)
        seen.add(name)
    return names


def input_types(function: Op) -> list[Type]:
    """The types of the arrays that a function is given, in order: of its arguments, integers with the sign they have outside."""
    noted, _ = noted_elements(function)
    return [_seen(argument.type, element) for argument, element in zip(_block_of(function).arguments, noted, strict=True)]


def output_types(function: Op) -> list[Type]:
    """The types of the arrays that a function gives, in order: of its results, integers with the sign they have outside."""
    _, noted = noted_elements(function)
    operands = _block_of(function).terminator.operands
    return [_seen(value.type, element) for value, element in zip(operands, noted, strict=True)]


def noted_elements(function: Op) -> tuple[list[Type | None], list[Type | None]]:
    """The element types that are noted of a function's arguments and results; None where nothing is."""
    block = _block_of(function)
    noted: list[list[Type | None]] = []
    for key, values in (("arg_attrs", block.arguments), ("res_attrs", block.terminator.operands)):
        found = [each.get(ELEMENT) for each in _noted(function, key, values)]
        noted.append([element if isinstance(element, Type) else None for element in found])
    return noted[0], noted[1]


def note_elements(function: Op, inputs: Sequence[Type | None], outputs: Sequence[Type | None]) -> None:
    """Note the element types that a function's arguments and results have in the model, None where they are the function's."""
    block = _block_of(function)
    for key, given, values in (
            ("arg_attrs", inputs, block.arguments), ("res_attrs", outputs, block.terminator.operands)):
        elements = items_of(given, Type | None, "note_elements()", key, "an element type, or None,")
        if len(elements) != len(values):
            raise misfit_part("note_elements()", key, given, f"a tuple of {len(values)}")
        attributes = _noted(function, key, values)
        if not any(elements) and not any(ELEMENT in each for each in attributes):
            continue
        others = ({name: value for name, value in each.items() if name != ELEMENT} for each in attributes)
        function.attributes[key] = [
            other if element is None else {**other, ELEMENT: element} for other, element in zip(others, elements, strict=True)]


def same_width(a: Type | None, b: Type | None) -> bool:
    """Whether two element types are integers of as many bits, so that the bits of one may be read as the other."""
    return isinstance(a, IntegerType) and isinstance(b, IntegerType) and a.width == b.width


def seen_as(held: Type | None, element: Type | None) -> Type | None:
    """The element type that integers of `held` have outside, where `element` is noted of them; None where that is `held`'s own.

    Fewer bits are the model's, and a sign. More bits than the function has are not there to be given: of 64 it may have 32, with
    their sign, and nothing else is noted of fewer than there are.
    """
    if not isinstance(held, IntegerType) or not isinstance(element, IntegerType):
        return None
    if element.width <= held.width:
        return element
    return IntegerType(held.width, "u") if element.unsigned and (element.width, held.width) == (64, 32) else None


def _seen(held: Type, element: Type | None) -> Type:
    outside = seen_as(held.element, element) if isinstance(held, TensorType) else None
    return held if outside is None else held.with_element(outside)  # type: ignore[attr-defined]

"""What a rewrite, kernel or rule says of its op (`op: Conv`) is what the ops are that it is registered for.

A type checker cannot know: the decorator names ops by text.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from transload import host
from transload.facts import Given
from transload.ir import registry
from transload.ir.declare import DeclaredOp

OURS = ("transload.", "transload_hub.", "transload_plugins.", "transload_converters.", "transload_targets.")


def functions_in(fact: Any) -> Iterator[Callable[..., Any]]:
    """The functions that a fact, or a rewrite table's entry, holds: itself, or members of a tuple or list."""
    if isinstance(fact, tuple | list):
        for part in fact:
            yield from functions_in(part)
    elif inspect.isfunction(fact):
        yield inspect.unwrap(fact)


def registered() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function that is registered for ops by name, with such a name."""
    for conversion in host().conversions:
        for name, functions in host().table(conversion).functions.items():
            for function in functions_in(functions):
                yield name, function
    given: list[Given] = host()._facts[1]
    for each in given:
        for name, fact in each.entries().items():
            for function in functions_in(fact):
                yield name, function


CASES = sorted({(name, function) for name, function in registered()}, key=lambda case: (case[0], case[1].__qualname__))


def classes_of(op_name: str) -> set[str]:
    declaration = registry.lookup(op_name)
    return set() if declaration is None else {base.__name__ for base in declaration.definition.__mro__}


def test_there_are_many():
    typed = [case for case in CASES if annotation_of(case[1]) not in ("", "Op", "Any")]
    assert len(typed) > 400


def is_declaration(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, DeclaredOp)


def annotation_of(function: Callable[..., Any]) -> str:
    """The annotation of the first parameter that is an op, as it is written; "" where there is none."""
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first.annotation if first is not None and isinstance(first.annotation, str) else ""


def test_functions_are_annotated_by_the_ops_they_are_registered_for():
    """Those of `aten` take a `Call`: the arguments of any overload of an operator, by name. What reads text has no op yet.

    What a chip computes is a function of numbers; other facts, of what their modules import when they run, which is no op.
    """
    wrong = []
    for name, function in CASES:
        said = annotation_of(function)
        names = {word.rpartition(".")[2] for word in re.split(r"\s*\|\s*", said)}
        if not said or names & {"Op", "Any", "Call", "AssemblyParser", "ndarray"}:
            continue
        there = vars(inspect.getmodule(function))
        if all(word in there and not is_declaration(there[word]) for word in names):
            continue
        if not function.__module__.startswith(OURS) or name.endswith(".*"):
            continue
        imported = {word: getattr(value, "__name__", word) for word, value in vars(inspect.getmodule(function)).items()}
        if not {imported.get(word, word).removesuffix("Op") for word in names} & {
                base.removesuffix("Op") for base in classes_of(name)}:
            wrong.append(f"{function.__module__}.{function.__qualname__} takes {said}, and is registered for {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["top.Conv", "tosa.conv2d", "stablehlo.convolution"])
def test_our_declarations_are_types(name: str):
    assert issubclass(registry.lookup(name).definition, DeclaredOp)

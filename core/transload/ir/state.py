"""State of a model as inputs and outputs: what one run gives, the next one takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .constants import Dense
from .core import Value
from .types import FunctionType, Type

if TYPE_CHECKING:
    from .module import Module

__all__ = ["State", "add_state", "initial_states"]


@dataclass(frozen=True)
class State:
    """An input and an output of the main function that are one state, and what the first run is given (storage numbers)."""

    input: str
    output: str
    initial: Dense


def add_state(module: Module, name: str, type_: Type, initial: Dense) -> tuple[Value, int]:
    """Add an input `name` of the main function, and an output `name_next` that so far gives the input itself.

    A name that is taken gets a number behind it. Returns the input's value, and which operand of the
    function's return the output is, for the caller to set.
    """
    from .module import NAME, input_names, output_names

    main = module.main
    block = main.regions[0].block
    inputs, outputs = input_names(main), output_names(main)
    taken = {*inputs, *(output.removesuffix("_next") for output in outputs)}
    unique, number = name, 1
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    for kind, names, added in (("arg_attrs", inputs, unique), ("res_attrs", outputs, f"{unique}_next")):
        noted = main.attributes.get(kind) or [{} for _ in names]
        main.attributes[kind] = [{NAME: each, **own} for each, own in zip(names, noted, strict=True)] + [{NAME: added}]
    value = block.add_argument(type_, unique)
    terminator = block.terminator
    terminator.operands = (*terminator.operands, value)
    main.attributes["function_type"] = FunctionType(
        tuple(argument.type for argument in block.arguments), tuple(each.type for each in terminator.operands))
    module.states = (*module.states, State(unique, f"{unique}_next", initial))
    return value, len(terminator.operands) - 1


def initial_states(module: Module) -> dict[str, np.ndarray]:
    """What the first run is given for each state, by input name."""
    return {state.input: state.initial.numpy() for state in module.states}

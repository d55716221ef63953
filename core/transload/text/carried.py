"""What is known of a module beside its IR, carried in its text: notes, states, and how far it has come on its journey.

MLIR knows none of this, so it stands in an attribute of the module, `transload.dump`, or, in other files of modules that have
states, `transload.states`; whoever reads the text takes it from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import ReadError
from ..ir import Dense, Module, State, TensorType
from ..read_again import command

__all__ = ["ATTRIBUTE", "carrying", "carrying_states", "take_up"]

ATTRIBUTE = "transload.dump"
STATES = "transload.states"


@contextmanager
def carrying(module: Module, model: str, stages: Sequence[str]) -> Iterator[None]:
    """Inside, the module has the attribute: of which model it is, and how it was read, which stages it has behind it, its notes,
    and its states."""
    module.attributes[ATTRIBUTE] = {
        "model": model, "reading": list(module.reading), "stages": list(stages), "notes": list(module.notes),
        "states": _said(module.states)}
    try:
        yield
    finally:
        del module.attributes[ATTRIBUTE]


@contextmanager
def carrying_states(module: Module) -> Iterator[None]:
    """Inside, a module that has states has the attribute that says them."""
    if module.states:
        module.attributes[STATES] = _said(module.states)
    try:
        yield
    finally:
        module.attributes.pop(STATES, None)


def take_up(module: Module, say: bool = True) -> None:
    """Give a module that was read the notes and states that its text carries; with `say`, a note says where it comes from.

    Raises `ReadError` where an attribute is not as it is made here.
    """
    said = module.attributes.pop(STATES, None)
    if said is not None:
        try:
            module.states = tuple(_state(state, module) for state in said)
        except (KeyError, TypeError, ValueError):
            raise ReadError(f"the attribute {STATES} of the module does not read") from None
    about = module.attributes.pop(ATTRIBUTE, None)
    if about is None:
        return
    try:
        notes, stages, model = _texts(about["notes"]), _texts(about["stages"]), str(about["model"])
        reading = _texts(about.get("reading", ()))  # which dumps of earlier versions have not
        states = tuple(_state(state, module) for state in about["states"])
    except (KeyError, TypeError, ValueError):
        raise ReadError(f"the attribute {ATTRIBUTE} of the module does not read", hint="`convert --dump` writes it") from None
    module.notes, module.states = notes, states
    if say:
        line = command("convert", model, reading=reading, more=("--dump", "DIR", "--from", "STAGE"))
        module.notes = (*notes, f"this is a dump of {model}, after {stages[-1] if stages else 'nothing'}, and not judged by it: "
                                f"`{line}` goes on with it, and verifies the result")


def _said(states: Sequence[State]) -> list[dict[str, Any]]:
    return [{"input": state.input, "output": state.output, "initial": state.initial} for state in states]


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise TypeError
    return tuple(value)


def _state(value: Mapping[str, Any], module: Module) -> State:
    """A state of a module that has an input and an output for it. Raises `KeyError`, `TypeError` or `ValueError` for others."""
    initial, function = value["initial"], module.functions.get("main")
    if not isinstance(initial, Dense) or not isinstance(value["input"], str) or not isinstance(value["output"], str):
        raise TypeError
    if function is not None:
        taken = module.inputs[value["input"]]
        if value["output"] not in module.outputs or not isinstance(taken, TensorType) or taken.shape != initial.type.shape:
            raise ValueError
    return State(value["input"], value["output"], initial)

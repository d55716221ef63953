"""State that a model keeps from one run to the next.

TFLite keeps the state of SVDF, LSTM and RNN operators in variable tensors, which are zero at first, and what is assigned to
resource variables until something else is. A compiled model has no memory between runs. So, by the option `state`:

- `zero`: each run is the first one. The states are constants at first, and what becomes of them is computed where something else
  of the run reads it, or it is an output.
- `explicit`: each state is an input of the model, by the name of its tensor or variable, and what it becomes an output,
  by that name with `_next` behind it. The caller hands the outputs of one run to the next; what the first one is given
  is in `Module.states` and in the report.

Here the operators' states are exposed: an operator with n states gets n more results, which its rewrite computes.
`variables` does the same for resource variables.

Source: `tensorflow/lite/core/subgraph.cc` (ResetVariableTensors) and the kernels of those operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from transload.context import current
from transload.errors import ConversionError, Finding
from transload.ir import FusedLocation, Module, Op, QuantType, Value, add_state
from transload.ir.build import constant_of
from transload.rewrite import Rewriter
from transload_hub.tables import distinct

from ..dialect import STATES

__all__ = ["expose_states", "is_zero", "n_states"]


@dataclass
class _Exposed:
    """What a run notes: of each operator whose states are exposed, how many of its results, the last ones, are states."""

    states: dict[Op, int] = field(default_factory=dict)


def n_states(op: Op) -> int:
    """How many states the rewrite of an operator has to give, behind its results."""
    return current().scratch(_Exposed).states.get(op, 0)


def is_zero(rw: Rewriter, state: Value) -> bool:
    """Whether a state is known to be zeros, as all are unless they are exposed."""
    held = constant_of(state)
    zero = state.element.zero_points[0] if isinstance(state.element, QuantType) else 0
    return held is not None and not np.any(distinct(held.numpy()) != zero)


def expose_states(module: Module, state: Literal["zero", "explicit"] = "zero") -> bool:
    """Give what operators leave in variable tensors to those that read them later, in the order of the file.

    With `state="explicit"` the states of operators are inputs and outputs of the main function, too. Else only those are looked
    at that somebody besides one operator reads: of others nobody sees what they become.
    Raises `ConversionError` where a subgraph that an operator runs has state, and it is to be explicit.
    """
    main, explicit = module.main, state == "explicit"
    block = main.regions[0].block
    variables = {op.operands[index] for op in block for index in _states_of(op)}
    if explicit:
        _need_states_in_main(module)
    else:
        variables = {variable for variable in variables if sum(variable.uses.values()) > 1}
    now: dict[Value, Value] = {}
    places: dict[Value, int] = {}
    for op in list(block):
        read = {index: variable for index, variable in enumerate(op.operands) if variable in variables}
        if not read:
            continue
        for variable in read.values():
            if explicit and variable not in now:
                initial: Any = constant_of(variable)  # a variable tensor is one, by what `_states_of` asks
                now[variable], places[variable] = add_state(module, variable.name or "state", variable.type, initial)
        indices = [index for index in _states_of(op) if index in read]
        every = [index for index in STATES.get(op.name, ()) if index < len(op.operands)] if indices else []
        made = _with_states(op, [op.operands[index] for index in every]) if indices else op
        for index, variable in read.items():
            made.set_operand(index, now.get(variable, variable))
        if indices:
            left = dict(zip(every, made.results[-len(every) :], strict=True))  # of all, as its rewrite gives them
            now.update((read[index], left[index]) for index in indices)
            op.replace_with(made.results[: len(op.results)])
    for variable, place in places.items():
        block.terminator.set_operand(place, now[variable])
    return bool(now)


def _need_states_in_main(module: Module) -> None:
    findings = [
        Finding(op.name, "its state lies in a subgraph that another operator runs, and cannot be an input of the model",
                (op.origin,) if op.origin else (), "convert with state=zero, or run the subgraph as a model of its own")
        for function in module.functions.values() if function is not module.main
        for op in function.walk() if _states_of(op)]
    if findings:
        raise ConversionError("the state of the model cannot be made explicit", findings)


def _states_of(op: Op) -> Sequence[int]:
    """The operands of an operator that are variable tensors, which keep what it leaves in them."""
    return [
        index for index in STATES.get(op.name, ())
        if index < len(op.operands) and (maker := op.operands[index].op) is not None and maker.attribute("is_variable", False)]


def _with_states(op: Op, states: Sequence[Value]) -> Op:
    """The operator once more, in front of itself, with a result for each state."""
    names = (*(result.name for result in op.results), *(f"{state.name}_next" if state.name else None for state in states))
    types = [*(result.type for result in op.results), *(state.type for state in states)]
    made = Op(op.name, op.operands, types, dict(op.attributes), (), FusedLocation(names))
    current().scratch(_Exposed).states[made] = len(states)
    op.parent.insert(made, op)  # type: ignore[union-attr]
    return made

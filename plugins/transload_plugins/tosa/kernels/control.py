"""Control flow, variables and custom operators."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from transload.errors import RunError
from transload.ir import Dense, Op

from .base import kernel

_variables: weakref.WeakKeyDictionary[Any, dict[str, np.ndarray]] = weakref.WeakKeyDictionary()


@kernel("tosa.cond_if")
def cond_if(op: Op, condition: np.ndarray, *inputs: np.ndarray, run: Callable[..., list[np.ndarray]]) -> tuple[np.ndarray, ...]:
    """The graph that the condition chooses; one without arguments uses outer values."""
    graph = op.regions[0 if condition.reshape(-1)[0] else 1]
    return tuple(run(graph, *inputs[: len(graph.blocks[0].arguments)]))


@kernel("tosa.while_loop")
def while_loop(op: Op, *inputs: np.ndarray, run: Callable[..., list[np.ndarray]]) -> tuple[np.ndarray, ...]:
    """The body, as long as the condition holds."""
    condition, body = op.regions
    values = list(inputs)
    while run(condition, *values)[0].reshape(-1)[0]:
        values = run(body, *values)
    return tuple(values)


def reset_variables(module: Op) -> None:
    """Give a module's variables their initial values again."""
    _variables.pop(module, None)


def _variable(op: Op) -> tuple[dict[str, np.ndarray], str]:
    """What the module's variables hold, and the name of the one that `op` reads or writes."""
    name = op.attributes["name"]
    module: Op = op
    while module.parent_op is not None:
        module = module.parent_op
    held = _variables.get(module)
    if held is None:
        held = _variables[module] = {}
        for found in module.walk():
            if found.name == "tosa.variable":
                initial = found.attributes.get("initial_value")
                if isinstance(initial, Dense):
                    held[found.attributes["sym_name"]] = initial.numpy()
    return held, name


@kernel("tosa.variable_read")
def variable_read(op: Op) -> np.ndarray:
    """What was written last, by this run or an earlier one, or the initial value."""
    held, name = _variable(op)
    if name not in held:
        raise RunError(f"variable {name!r} is read before it is written", hint="give the variable an initial value")
    return held[name]


@kernel("tosa.variable_write")
def variable_write(op: Op, value: np.ndarray) -> tuple[()]:
    """Keeps the tensor for later reads."""
    held, name = _variable(op)
    held[name] = value
    return ()


@kernel("tosa.custom")
def custom(op: Op, *inputs: np.ndarray) -> Any:
    """Nothing is known of it here: a plugin that knows the domain registers its own engine or replaces the op."""
    raise RunError(
        f"tosa.custom {op.attribute('operator_name')!r} of domain {op.attribute('domain_name')!r} at {op.origin!r} cannot be run",
        hint="only the implementation that defines this domain can execute it")

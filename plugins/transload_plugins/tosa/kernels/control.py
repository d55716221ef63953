"""Control flow, variables and custom operators."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.anew import beginning
from transload.engine.custom import run_custom
from transload.errors import RunError
from transload.ir import Dense, Op

from .base import kernel

if TYPE_CHECKING:
    from ..dialect.control import CondIf, Custom, VariableRead, VariableWrite, WhileLoop

_variables: weakref.WeakKeyDictionary[Any, tuple[object, dict[str, np.ndarray]]] = weakref.WeakKeyDictionary()
"""What the variables of a module hold, and of which `beginning` on."""


@kernel("tosa.cond_if")
def cond_if(
    op: CondIf, condition: np.ndarray, *inputs: np.ndarray, run: Callable[..., list[np.ndarray]],
) -> tuple[np.ndarray, ...]:
    """The graph that the condition chooses; one without arguments uses outer values."""
    graph = op.regions[0 if condition.reshape(-1)[0] else 1]
    return tuple(run(graph, *inputs[: len(graph.blocks[0].arguments)]))


@kernel("tosa.while_loop")
def while_loop(op: WhileLoop, *inputs: np.ndarray, run: Callable[..., list[np.ndarray]]) -> tuple[np.ndarray, ...]:
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
    begun, held = _variables.get(module, (None, None))
    if held is None or begun is not beginning() is not None:
        held = {}
        _variables[module] = (beginning(), held)
        for found in module.walk():
            if found.name == "tosa.variable":
                initial = found.attributes.get("initial_value")
                if isinstance(initial, Dense):
                    held[found.attributes["sym_name"]] = initial.numpy()
    return held, name


@kernel("tosa.variable_read")
def variable_read(op: VariableRead) -> np.ndarray:
    """What was written last, by this run or an earlier one, or the initial value."""
    held, name = _variable(op)
    if name not in held:
        raise RunError(f"variable {name!r} is read before it is written", hint="give the variable an initial value")
    return held[name]


@kernel("tosa.variable_write")
def variable_write(op: VariableWrite, value: np.ndarray) -> tuple[()]:
    """Keeps the tensor for later reads."""
    held, name = _variable(op)
    held[name] = value
    return ()


@kernel("tosa.custom")
def custom(op: Custom, *inputs: np.ndarray) -> Any:
    """By the kernel of the dialect that is named as the domain; its attributes are text in JSON, where they are any."""
    return run_custom(op, f"{op.domain_name}.{op.operator_name}", _options(op), inputs)


def _options(op: Custom) -> dict[str, Any]:
    """The attributes; what is no JSON object is handed on as it is."""
    text = op.implementation_attrs
    try:
        options = json.loads(text) if text else {}
    except ValueError:
        options = None
    return options if isinstance(options, dict) else {"implementation_attrs": text}

"""Bounds of the difference where a model's framework quantizes when it runs, and our result does not.

A framework may multiply quantized weights by activations that it quantizes only then ("dynamic range"). Where such a model
was converted to plain floats, each product differs from the framework's by at most

    step * sum of |weight|     over the weights of that product,

with the step of the activations' quantization: the range of the activations over 255, or (half a step) their greatest
absolute value over 254 where it is symmetric. A hub op that stands for such a product says so by the attribute `DYNAMIC`.

The bound is one of the op, not of the model: through a deep network worst cases multiply, and would allow anything. So the
result is verified with the framework's own intermediate results. Every tensor that such a product decides, and that has a
name on both sides, is compared with its bound, and the framework's numbers go on in its place; all the rest of the
model is held to the usual tolerance.

How errors go through an op, and how a dynamically quantized product makes one, are facts of kind "error-bound" (`ErrorBound`).
Behind an op that such errors reach and no fact knows, nothing is known: no tensor there has a bound, and the model's outputs are
held to the usual tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.analysis.movement import moves_of
from transload.ir import FloatType, Module, Op, TensorType, Value, initial_states, output_names
from transload.ir.build import Builder
from transload.ir.module import update_function_type
from transload.plugin_host import host

from .cutting import cut, cut_module, execute, named_values

__all__ = ["DYNAMIC", "Bounded", "ErrorBound", "check_bounds", "has_bounds", "moved_errors", "rounded_as_it_runs"]

DYNAMIC = "dynamic_quantization"
"""Attribute of a hub op on real weights whose first operand the framework quantizes: "symmetric" or "asymmetric"."""


@dataclass(frozen=True)
class Bounded:
    """A tensor with a bound: the greatest difference, the greatest bound, and whether every element keeps its own."""

    name: str
    max_abs: float
    bound: float
    kept: bool


def _is_float(type_: TensorType) -> bool:
    return isinstance(type_.element, FloatType)


def has_bounds(hub: Module) -> bool:
    """Whether ops of the module stand for products of activations that the framework quantizes."""
    return any(DYNAMIC in op.attributes for op in hub.body_of_main)


def rounded_as_it_runs(module: Module) -> Module:
    """A copy whose products round their activations to 8 bits, as a runtime does that quantizes when it runs.

    Products that no fact of kind "as-it-runs" knows stay as they are.
    """
    made, facts = module.clone(), host().facts("as-it-runs")
    for op in list(made.body_of_main):
        if DYNAMIC in op.attributes and (rule := facts[op.name]) is not None:
            op.set_operand(0, rule(op, Builder(made.body_of_main, op)))
    return made


def check_bounds(
    result: Module, hub: Module, given: Mapping[str, Any], reference: Mapping[str, np.ndarray], engine: str,
) -> tuple[dict[str, np.ndarray], list[Bounded], list[str]]:
    """Run `result` with the framework's numbers in place of those that have a bound.

    `reference` are the framework's tensors by name, intermediate ones included. Returns the model's outputs, what became of
    each bound, and the names of the ops behind which no bound is known.
    """
    fed = [*given.values(), *initial_states(hub).values()]
    known = named_values(result, {name: array.shape for name, array in reference.items()}, _is_float)
    bounding, names, unknown = _bounding_module(hub, {name: reference[name] for name in known})
    parts, found = cut_module(result, {name: reference[name].shape for name in names}, _is_float)
    bounds = execute(bounding, [*fed, *(reference[name] for name in names)], "reference")
    outputs = execute(parts, [*fed, *(reference[name].reshape(shape) for name, shape in found)], engine)
    n_outputs = len(outputs) - len(found)
    checked = []
    for (name, _), ours in zip(found, outputs[n_outputs:], strict=True):
        bound = bounds[names.index(name)].astype(np.float64).reshape(-1)
        off = np.abs(ours.astype(np.float64).reshape(-1) - reference[name].astype(np.float64).reshape(-1))
        kept = bool((off <= bound).all() and np.isfinite(bound).all())
        checked.append(Bounded(name, float(off.max(initial=0)), float(bound.max(initial=0)), kept))
    n_outputs -= len(result.states)
    given_back = dict(zip(output_names(result.main)[:n_outputs], outputs[:n_outputs], strict=True))
    return given_back, checked, unknown


# --- the module of bounds

def _bounding_module(hub: Module, reference: Mapping[str, np.ndarray]) -> tuple[Module, list[str], list[str]]:
    """A copy that computes bounds instead of the outputs; the names of the tensors that they are bounds of, its last inputs.

    Last the names of the ops that errors reach, and that nothing is known of.
    """
    module = hub.clone()
    block = module.body_of_main
    errors: dict[Value, Value | None] = {}  # those that have none are exact; None: unknown
    names: list[str] = []
    outputs: list[Value] = []
    stopped: dict[str, None] = {}
    for op in list(block):
        for value, error in zip(op.results, _errors_of(op, errors, Builder(block, op.next), stopped), strict=False):
            name = value.name
            if error is not None and name is not None and name in reference and reference[name].shape == value.shape:
                names.append(name)
                outputs.append(error)
                cut(module, value, name)
            else:
                errors[value] = error
    block.terminator.operands = tuple(outputs)
    module.main.attributes.pop("res_attrs", None)
    module.states = ()
    update_function_type(module.main)
    return module, names, list(stopped)


# --- how errors go through an op

ErrorBound = Callable[[Op, Builder, list[Value | None]], Any]
"""A fact of kind "error-bound": a function of an op, a builder behind it, and bounds of the errors of its operands (None: exact).

It emits ops that compute bounds of the errors of the results, and returns them; `()` where nothing can be said. Where the op
has the attribute `DYNAMIC`, its own error is to be counted, too.
"""


def _errors_of(
    op: Op, errors: Mapping[Value, Value | None], build: Builder, stopped: dict[str, None],
) -> Sequence[Value | None]:
    """The bounds of the errors of an op's results, None where one is unknown; nothing where they are exact.

    The op's name is added to `stopped` where errors reach it that are known, and those behind it are not.
    """
    parts = list(op.walk())
    reached = [operand for each in parts for operand in each.operands if operand in errors]
    if not reached and not any(DYNAMIC in each.attributes for each in parts):
        return ()
    unknown: list[Value | None] = [None] * len(op.results)
    if any(errors[operand] is None for operand in reached):
        return unknown
    made: Any = ()
    if not op.regions:  # what a region does with errors, no fact says
        rule: ErrorBound = host().facts("error-bound")[op.name] or moved_errors
        made = rule(op, build, [errors.get(operand) for operand in op.operands])
        made = [made] if isinstance(made, Value) else list(made)
    if len(made) < len(op.results):
        stopped[op.name] = None
    return [*made, *unknown[len(made) :]]


def moved_errors(op: Op, build: Builder, errors: list[Value | None], **changed: Any) -> Any:
    """Errors go where the numbers go: what is known of an op that only moves numbers, and adds none but zeros.

    `changed` are attributes that the op on errors has other values of; None leaves one out.
    """
    moves = moves_of(op)
    if moves is None or (not changed and (moves.by_value or any(moves.constants))):
        return ()
    data = moves.operands(op)
    if any(error is not None and operand not in data for operand, error in zip(op.operands, errors, strict=True)):
        return ()  # where a number goes, or whether, is itself not certain
    given = [
        (build.constant(np.zeros(operand.shape, np.float32)) if error is None else error)
        if operand in data else operand
        for operand, error in zip(op.operands, errors, strict=True)]
    return build.emit(op.name, *given, **{**op.attributes, **changed})

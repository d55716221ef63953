"""Running `tf` ops in the reference engine: an op's kernel is its own lowering.

An op is lowered alone, on the types that its operands have when it is met, and the ops of the hub that it becomes are run. So
each op is defined once, and a model runs whose shapes are known only then. What an op needs to know before it is lowered (a
shape, an axis) is a constant of that lowering; which operands these are is found by trying.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.conversion import rewriting_of
from transload.engine.run import Plan
from transload.errors import Finding, RunError, TransloadError
from transload.ir import Dense, FloatType, IntegerType, Module, Op, TensorType, Value, new_module, set_results
from transload.ir.constants import element_type_of
from transload.plugin import KernelTable
from transload.plugin_host import host

from .executor.run import graph
from .kernels_arrays import add_arrays
from .kernels_control import add_control
from .kernels_selection import add_selection

__all__ = ["EXECUTOR_KERNELS", "KERNELS"]

KERNELS, EXECUTOR_KERNELS = KernelTable(), KernelTable()
add_arrays(KERNELS)
add_control(KERNELS)
add_selection(KERNELS)
EXECUTOR_KERNELS("tf_executor.graph", quantized="native")(graph)

_CONVERSION = "tf-to-top"
_SMALL = 1 << 12
"""Elements up to which an operand may be a shape, an axis, or the like."""
_NEWEST = 64
"""Lowerings of an op that are kept; the oldest are forgotten."""


class _Lowered:
    """One op made ready to run: what it was lowered to, by the types and constants of its operands."""

    def __init__(self, op: Op, plan: Plan | None = None) -> None:
        self.op = op
        self.made: dict[tuple[Any, ...], tuple[Plan, tuple[int, ...]]] = {}
        self.first = 0
        """The first way (`_ways`) on which it could be lowered."""

    def __call__(self, op: Op, *arrays: Any) -> Any:
        plan, taken = self._plan(arrays)
        results = plan.execute([arrays[place] for place in taken])
        return results[0] if len(op.results) == 1 else tuple(results)

    def _plan(self, arrays: Sequence[Any]) -> tuple[Plan, tuple[int, ...]]:
        """The plan for such operands, and which of these it takes; the others are constants in it."""
        ways, problem = _ways(arrays), ""
        for number in range(min(self.first, len(ways) - 1), len(ways)):
            key = (number, *(_key(array, place in ways[number]) for place, array in enumerate(arrays)))
            found = self.made.get(key)
            if found is None:
                try:
                    found = _lowered(self.op, arrays, ways[number])
                except TransloadError as error:
                    problem = error.message
                    continue
                if len(self.made) >= _NEWEST:
                    self.made.pop(next(iter(self.made)))
                self.made[key] = found
                self.first = number
            return found
        raise RunError("an op cannot be run", [Finding(self.op.name, problem, (self.op.origin or "",))])


@KERNELS("tf.*", quantized="native")
def by_lowering(op: Op, *arrays: Any) -> Any:
    """What an op computes, by the ops of the hub that it is lowered to."""
    return _Lowered(op)(op, *arrays)


by_lowering.plans = _Lowered  # type: ignore[attr-defined]


def _ways(arrays: Sequence[Any]) -> list[frozenset[int]]:
    """The operands that are constants, on the ways that are tried: none; small integers; all that are small; all."""
    def small(array: Any, kinds: str) -> bool:
        return isinstance(array, np.ndarray | np.generic) and array.size <= _SMALL and array.dtype.kind in kinds

    found = [frozenset(), frozenset(i for i, each in enumerate(arrays) if small(each, "iub")),
             frozenset(i for i, each in enumerate(arrays) if small(each, "iubfcV")), frozenset(range(len(arrays)))]
    return list(dict.fromkeys(found))


def _key(array: Any, constant: bool) -> tuple[Any, ...]:
    shape, dtype = np.shape(array), np.asarray(array).dtype
    return (shape, dtype, np.asarray(array).tobytes()) if constant else (shape, dtype)


def _lowered(op: Op, arrays: Sequence[Any], constants: frozenset[int]) -> tuple[Plan, tuple[int, ...]]:
    """An op alone in a module, lowered on the types of these arrays."""
    module = new_module()
    taken = tuple(place for place in range(len(arrays)) if place not in constants)
    types = [_type(op, place, arrays[place]) for place in range(len(arrays))]
    main = module.add_function("main", [types[place] for place in taken])
    block = main.regions[0].block
    operands: list[Value] = []
    for place, array in enumerate(arrays):
        if place in constants:
            dense = Dense(np.asarray(array), types[place])
            operands.append(block.append(Op("tf.Const", (), [types[place]], {"value": dense})).result)
        else:
            operands.append(block.arguments[taken.index(place)])
    alone = block.append(Op(op.name, operands, [value.type for value in op.results], dict(op.attributes), (), op.location))
    set_results(main, alone.results)
    _convert(module)
    plan = Plan(module.main.regions[0], module)
    if plan.missing:
        raise RunError("an op has no kernel", plan.missing)
    return plan, taken


def _convert(module: Module) -> None:
    rewriting = rewriting_of(host().conversions[_CONVERSION], module)
    if findings := rewriting.rewrite(module):
        raise RunError("; ".join(f"{finding.why}" for finding in findings))


def _type(op: Op, place: int, array: Any) -> TensorType:
    """The type of an operand: its own element, where that says more than the array does."""
    if not isinstance(array, np.ndarray | np.generic) or array.dtype == object:
        raise RunError("an operand is no tensor of numbers")
    declared = op.operands[place].type
    element = declared.element if isinstance(declared, TensorType) else None
    if not isinstance(element, IntegerType | FloatType):
        element = element_type_of(array.dtype)
    return TensorType(tuple(array.shape), element)

"""Running `tf` ops in the reference engine: an op's kernel is its own lowering.

An op is lowered alone, on the types that its operands have when it is met, and the ops of the hub that it becomes are run. So
each op is defined once, and a model runs whose shapes are known only then. What an op needs to know before it is lowered (a
shape, an axis) is a constant of that lowering; which operands these are is found by trying.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from transload.budget import TimeOver
from transload.conversion import rewriting_of
from transload.engine.room import NoRoom, memory_of, need_bytes
from transload.engine.run import Plan
from transload.errors import Finding, RunError, TransloadError
from transload.ir import Dense, FloatType, IntegerType, Module, Op, TensorType, Type, Value, new_module, set_results
from transload.ir.constants import element_type_of
from transload.ir.types import ComplexType
from transload.passes.dce import eliminate_dead_code
from transload.plugin import KernelTable
from transload.plugin_host import host

from .executor.run import graph
from .kernels_arrays import add_arrays
from .kernels_control import add_control
from .kernels_selection import add_selection
from .kernels_variables import Variable, add_variables
from .passes.freeze import NOT_FOLLOWED

__all__ = ["EXECUTOR_KERNELS", "KERNELS"]

KERNELS, EXECUTOR_KERNELS = KernelTable(), KernelTable()
add_arrays(KERNELS)
add_control(KERNELS)
add_selection(KERNELS)
add_variables(KERNELS)
EXECUTOR_KERNELS("tf_executor.graph", quantized="native")(graph)

_CONVERSION = "tf-to-top"
_WITHOUT_TEXTS = "texts are not computed with: --outputs NAME of `transload convert` or `extract` leaves out what needs them"
_SETTINGS = {"random": "drawn"}
"""An engine runs a model once: random numbers are those of TensorFlow's first run."""
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
        """What the first way computes that can be run; where none can, the first's reason.

        A lowering that knows less may be of fewer cases: a list grows where the place that is written is a constant.
        """
        failed: RunError | None = None
        for plan, taken in self._plans(arrays):
            given = [array for place in taken for array in _parts(arrays[place])]
            try:
                results = _joined(op, plan.execute(given))
            except (TimeOver, NoRoom):
                raise
            except RunError as error:
                failed = failed or error
            else:
                return results[0] if len(op.results) == 1 else tuple(results)
        assert failed is not None  # there was a plan
        raise failed

    def _plans(self, arrays: Sequence[Any]) -> Iterator[tuple[Plan, tuple[int, ...]]]:
        """The plans for such operands, and which of these each takes; the others are constants in it.

        Raises `RunError` where it is lowered on no way.
        """
        ways, problem, hint, n_lowered = _ways(arrays), "", "", 0
        for number in range(min(self.first, len(ways) - 1), len(ways)):
            key = (number, *(_key(array, place in ways[number]) for place, array in enumerate(arrays)))
            found = self.made.get(key)
            if found is None:
                try:
                    found = _lowered(self.op, arrays, ways[number])
                except NoRoom:
                    raise
                except TransloadError as error:
                    problem, hint = error.message, error.hint
                    continue
                if len(self.made) >= _NEWEST:
                    self.made.pop(next(iter(self.made)))
                self.made[key] = found
            if not n_lowered:
                self.first = number
            n_lowered += 1
            yield found
        if not n_lowered:
            raise RunError("an op cannot be run", [Finding(self.op.name, problem, (self.op.origin or "",), hint)])


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
    main = module.add_function("main", [_part(types[place]) for place in taken for _ in _parts(arrays[place])])
    block = main.regions[0].block
    operands: list[Value] = []
    arguments = iter(block.arguments)
    for place, array in enumerate(arrays):
        if place in constants:
            dense = Dense(np.asarray(array), types[place])
            operands.append(block.append(Op("tf.Const", (), [types[place]], {"value": dense})).result)
        elif _is_complex(types[place]):
            parts = [next(arguments), next(arguments)]
            operands.append(block.append(Op("tf.Complex", parts, [types[place]])).result)
        else:
            operands.append(next(arguments))
    alone = block.append(Op(op.name, operands, [value.type for value in op.results], dict(op.attributes), (), op.location))
    set_results(main, [
        part for value in alone.results for part in (
            [block.append(Op(f"tf.{name}", [value], [_part(value.type)])).result for name in ("Real", "Imag")]
            if _is_complex(value.type) else [value])])
    _convert(module)
    need_bytes(memory_of(module))
    plan = Plan(module.main.regions[0], module)
    if plan.missing:
        raise RunError("an op has no kernel", plan.missing)
    return plan, taken


# Complex numbers, which the hub does not have, go in and come out as their two parts.


def _is_complex(type_: Type) -> bool:
    """Whether a tensor holds complex numbers."""
    return isinstance(type_, TensorType) and isinstance(type_.element, ComplexType)


def _part(type_: Type) -> Type:
    """The type of the real part."""
    if isinstance(type_, TensorType) and isinstance(type_.element, ComplexType):
        return TensorType(type_.shape, type_.element.element)
    return type_


def _parts(array: Any) -> list[Any]:
    return [np.real(array), np.imag(array)] if np.iscomplexobj(array) else [array]


def _joined(op: Op, results: Sequence[Any]) -> list[Any]:
    """The results of an op, of which complex ones came in two parts."""
    parts, found = iter(results), []
    for value in op.results:
        part = next(parts)
        if _is_complex(value.type):
            part = (part + 1j * next(parts)).astype(np.complex128 if part.dtype == np.float64 else np.complex64)
        found.append(part)
    return found


def _convert(module: Module) -> None:
    rewriting = rewriting_of(host().conversions[_CONVERSION], module, _SETTINGS)
    if findings := rewriting.rewrite(module):
        raise RunError("; ".join(f"{finding.why}" for finding in findings))
    eliminate_dead_code(module)


def _type(op: Op, place: int, array: Any) -> TensorType:
    """The type of an operand: its own element, where that says more than the array does."""
    if isinstance(array, Variable):
        raise RunError(NOT_FOLLOWED[0], hint=NOT_FOLLOWED[1])
    if not isinstance(array, np.ndarray | np.generic) or array.dtype == object:
        raise RunError("an operand is no tensor of numbers", hint=_WITHOUT_TEXTS)
    declared = op.operands[place].type
    element = declared.element if isinstance(declared, TensorType) else None
    if not isinstance(element, IntegerType | FloatType | ComplexType):
        element = element_type_of(array.dtype)
    return TensorType(tuple(array.shape), element)

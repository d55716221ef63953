"""The `reference` engine: numpy kernels, one op at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..budget import VARIABLE, most_ops, timed
from ..errors import RunError, merge_findings
from ..guard import process_kept
from ..ir import Module, Value
from ..lending import apart, read_only
from .integers import note_of
from .room import own_bytes, room_of
from .run import Plan, Watch, check_inputs, named_outputs

__all__ = ["Execution", "prepare", "run_function"]


class Execution:
    """A function planned once, to be run often.

    Called with the inputs' arrays by name, it gives the outputs by name, in order, each in memory of its own; with `keep`, every
    named intermediate before them. `watch(value, array)` is called for every result as it is computed, named or not, those inside
    regions each time, with a view that cannot be written to; `change(value, array)` gives what is computed with in place of each
    result. `notes` say what a user should know of the numbers.
    """

    def __init__(self, module: Module, function: str) -> None:
        self.main = module.function(function)
        self.own = own_bytes(module, self.main.regions[0].block)
        self.plan = Plan(self.main.regions[0], module, is_checked=True)
        if self.plan.missing:
            raise RunError("the module cannot be run: some ops have no kernel", merge_findings(self.plan.missing))
        _need_few_calls(module, self.plan.count)
        self.notes = note_of(self.plan.inexact)

    @process_kept()
    def __call__(
        self, inputs: Mapping[str, Any], keep: bool = False, watch: Watch | None = None, change: Watch | None = None,
    ) -> dict[str, np.ndarray]:
        arrays = check_inputs(self.main, inputs)
        block = self.main.regions[0].block
        kept: dict[str, np.ndarray] = {}

        def remember(value: Value, array: np.ndarray) -> np.ndarray:
            if watch is not None:
                watch(value, read_only(array))
            if change is not None:
                array = change(value, array)
            if keep and value.name is not None and value.op is not None and value.op.parent is block:
                kept[value.name] = array
            return array

        with timed(), room_of(max(self.own, sum(getattr(array, "nbytes", 0) for array in arrays))):
            computed = self.plan.execute(arrays, watch=remember if keep or watch or change else None)
        outputs = named_outputs(self.main, computed)
        return apart({**kept, **outputs} if keep else outputs, arrays)


_RUNS_OF_ONE = 16
"""Ops that functions may run by calling each other for each that converting may make: to run one takes a fraction of that."""


_MOST_ADVISED = 10**9
"""What nobody waits for is not advised."""


def _need_few_calls(module: Module, count: int) -> None:
    """Raise `RunError` where functions that call others twice, and these others, run far more ops than converting may make."""
    if count <= _RUNS_OF_ONE * most_ops(0):
        return
    most = most_ops(sum(1 for _ in module.walk()))
    if count > _RUNS_OF_ONE * most:
        more, needed = "let functions call fewer others", -(-count // _RUNS_OF_ONE)
        if needed <= _MOST_ADVISED:
            more = f"{more}; {VARIABLE}=ops={needed} allows that, {_RUNS_OF_ONE} for each"
        raise RunError(
            f"functions that call each other would run more than {_RUNS_OF_ONE * most:,} ops, and the module has few", hint=more)


def prepare(module: Module, function: str = "main") -> Execution:
    """Plan a function once, to run it often. Raises `RunError` that lists every op without a kernel, or for calls without end."""
    return Execution(module, function)


def run_function(
    module: Module,
    inputs: Mapping[str, Any],
    function: str = "main",
    keep: bool = False,
) -> dict[str, np.ndarray]:
    """Run a function of a module by its ops' kernels; see `transload.run`."""
    return prepare(module, function)(inputs, keep)

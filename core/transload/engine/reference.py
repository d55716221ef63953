"""The `reference` engine: numpy kernels, one op at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import RunError, merge_findings
from ..ir import Module, Value
from .run import Plan, Watch, check_inputs, named_outputs

__all__ = ["prepare", "run_function"]


def prepare(module: Module, function: str = "main") -> Callable[..., dict[str, np.ndarray]]:
    """Plan a function once, to run it often.

    Returns `execute(inputs, keep=False, watch=None)`, which maps input names to arrays and gives the outputs
    by name, in order; with `keep`, every named intermediate before them. `watch(value, array)` is called for
    every result as it is computed, named or not, those inside regions each time. Raises `RunError` that
    lists every op without a kernel.
    """
    main = module.function(function)
    plan = Plan(main.regions[0], module)
    if plan.missing:
        raise RunError("the module cannot be run: some ops have no kernel", merge_findings(plan.missing))

    block = main.regions[0].block

    def execute(inputs: Mapping[str, Any], keep: bool = False, watch: Watch | None = None) -> dict[str, np.ndarray]:
        arrays = check_inputs(main, inputs)
        kept: dict[str, np.ndarray] = {}

        def remember(value: Value, array: np.ndarray) -> None:
            if watch is not None:
                watch(value, array)
            if keep and value.name is not None and value.op is not None and value.op.parent is block:
                kept[value.name] = array

        outputs = named_outputs(main, plan.execute(arrays, watch=remember if keep or watch is not None else None))
        return {**kept, **outputs} if keep else outputs

    return execute


def run_function(
    module: Module,
    inputs: Mapping[str, Any],
    function: str = "main",
    keep: bool = False,
) -> dict[str, np.ndarray]:
    """Run a function of a module by its ops' kernels; see `transload.run`."""
    return prepare(module, function)(inputs, keep)

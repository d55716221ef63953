"""Control flow of dialect `tf` in the reference engine: regions, functions, and ops that hand on whatever they are given."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np

from transload.budget import check_deadline
from transload.engine.run import Plan
from transload.errors import Finding
from transload.ir import Module, Op
from transload.passes.inline import calls_itself
from transload.plugin import KernelTable

__all__ = ["add_control"]

_CALLS = ("tf.PartitionedCall", "tf.StatefulPartitionedCall", "tf.LegacyCall")


def add_control(kernels: KernelTable) -> None:
    """Enter these kernels into a table."""
    native = {"quantized": "native"}
    kernels("tf.Identity", "tf.IdentityN", "tf.StopGradient", "tf.PreventGradient", "tf.Snapshot", **native)(_hand_on)
    kernels("tf.IfRegion", **native)(_if_region)
    kernels("tf.CaseRegion", **native)(_case_region)
    kernels("tf.WhileRegion", **native)(_while_region)
    kernels("tf.Assert", "tf.NoOp", **native)(lambda op, *arrays: ())
    kernels(*_CALLS, "tf.If", "tf.Case", "tf.While", **native)(_functional)


def _hand_on(op: Op, *arrays: Any) -> Any:
    return arrays


def _truth(condition: Any) -> bool:
    """A number is true where it is not zero, a tensor of another rank where it has elements."""
    array = np.asarray(condition)
    return bool(array) if array.ndim == 0 else array.size > 0


def _if_region(op: Op, condition: Any, run: Any) -> Any:
    return tuple(run(op.regions[0 if _truth(condition) else 1]))


def _chosen(index: Any, count: int) -> int:
    place = int(index)
    return place if 0 <= place < count else count - 1


def _case_region(op: Op, index: Any, run: Any) -> Any:
    return tuple(run(op.regions[_chosen(index, len(op.regions))]))


def _while_region(op: Op, *state: Any, run: Any) -> Any:
    condition, body = op.regions
    while _truth(run(condition, *state)[0]):
        check_deadline()
        state = tuple(run(body, *state))
    return state


def _functional(op: Op, *arrays: Any) -> Any:
    """The kernel of ops that run functions; what runs them is made by `plans`."""
    raise NotImplementedError(op.name)


_DEEPEST = 100
"""How deep functions may call each other."""


class _Making:
    """Functions that are made ready to run: their plans so far, and how deep in calls the one is that is made now."""

    def __init__(self) -> None:
        self.plans: dict[str, Plan] = {}
        self.depth = 0


_making: ContextVar[_Making | None] = ContextVar("functions that are made ready to run", default=None)


def _misfit(op: Op, name: str, function: Op) -> str:
    """Why a function cannot be run with what an op gives, and for what it takes; empty where it can."""
    block = function.regions[0].block
    asks = op.name in ("tf.If", "tf.While") and "cond" in op.attributes
    given = len(op.operands) - (op.name in ("tf.If", "tf.Case") and not asks)
    wanted = 1 if asks and name == str(op.attribute("cond")) else len(op.results)
    takes, gives = len(block.arguments), len(block.terminator.operands)
    if (takes, gives) == (given, wanted):
        return ""
    return f"runs @{name} with {given} values for {wanted} results, and that takes {takes} and gives {gives}"


class _Functions:
    """An op that runs functions, made ready to run."""

    def __init__(self, op: Op, plan: Plan) -> None:
        self.asks = op.name == "tf.If" and "cond" in op.attributes  # as TensorFlow's page has it: a function gives the condition
        branches = ("true_branch", "false_branch", "cond") if self.asks else ("then_branch", "else_branch")
        keys = {"tf.If": branches, "tf.While": ("cond", "body")}.get(op.name, ("f",))
        names = [str(op.attribute(key)) for key in keys] if op.name != "tf.Case" else list(map(str, op.attribute("branches")))
        functions = plan.module.functions if isinstance(plan.module, Module) else {}
        missing = [name for name in names if name not in functions]
        plan.missing.extend(Finding(op.name, f"runs @{name}, which the module does not have") for name in missing)
        if not missing and (endless := calls_itself(names, functions)):
            plan.missing.append(Finding(op.name, f"runs @{endless}, which calls itself", hint="write the recursion as a loop"))
            missing = [endless]
        plan.missing.extend(misfits := [] if missing else [
            Finding(op.name, why, (op.origin or "",)) for name in names if (why := _misfit(op, name, functions[name]))])
        making = _making.get()
        if making is not None and making.depth >= _DEEPEST:
            plan.missing.append(Finding(op.name, f"functions call each other more than {_DEEPEST} deep", (op.origin or "",),
                                        "the module runs once it is converted, where they stand where they are called"))
            missing = names
        self.plans = [] if missing or misfits else self._planned(names, functions, plan)
        for each in self.plans:
            plan.missing.extend(each.missing)
            plan.inexact.extend(each.inexact)
        plan.count += max((each.count for each in self.plans), default=0)

    @staticmethod
    def _planned(names: list[str], functions: Mapping[str, Op], plan: Plan) -> list[Plan]:
        """The plans of functions; of those that several call, one."""
        making = _making.get() or _Making()
        token = _making.set(making)
        making.depth += 1
        try:
            for name in names:
                if name not in making.plans:
                    making.plans[name] = Plan(functions[name].regions[0], plan.module)
            return [making.plans[name] for name in names]
        finally:
            making.depth -= 1
            _making.reset(token)

    def __call__(self, op: Op, *arrays: Any) -> Any:
        check_deadline()
        if op.name == "tf.While":
            state = arrays
            while _truth(self.plans[0].execute(state)[0]):
                check_deadline()
                state = tuple(self.plans[1].execute(state))
            return state
        if self.asks:
            return tuple(self.plans[0 if _truth(self.plans[2].execute(arrays)[0]) else 1].execute(arrays))
        if op.name == "tf.If":
            return tuple(self.plans[0 if _truth(arrays[0]) else 1].execute(arrays[1:]))
        if op.name == "tf.Case":
            return tuple(self.plans[_chosen(arrays[0], len(self.plans))].execute(arrays[1:]))
        return tuple(self.plans[0].execute(arrays))


_functional.plans = _Functions  # type: ignore[attr-defined]

"""Keeping of a module what its outputs need, and no more."""

from __future__ import annotations

from collections.abc import Hashable

from ..errors import UsageError
from ..ir import Block, Module, Op, Value
from ..ir.regions import captured_values, functions_named
from ..ir.states import States
from .dce import eliminate_dead_code
from .inline import reached_functions

__all__ = ["keep_main", "keep_needed"]


def keep_main(module: Module) -> bool:
    """Erase the functions that are no part of the main one, public ones too: for a format of one graph.

    Where nobody knows which is the main one, all stay, and who writes the format says so.
    """
    try:
        used = reached_functions(module, module.main)
    except UsageError:
        return False
    others = [function for name, function in module.functions.items() if name not in used]
    for function in others:
        function.erase()
    return bool(others)


def keep_needed(module: Module) -> None:
    """Erase what the outputs of a module's main function do not need, whatever it does, and functions that only this ran.

    An op is needed for its results, or for a state that it changes and that a needed op sees: a variable, in this run or, as it
    lives on, in the next one. Nobody needs what an op prints or checks. Unlike `eliminate_dead_code`, which leaves what a model
    does as it is, this is for parts of models: unknown ops go, too, and are taken to have no states but by their dialect's word.
    """
    block = module.body_of_main
    ran = _running(module, module.main)
    needed = _needed(module, block)
    for op in reversed(list(block)):
        if op not in needed:
            op.erase()
    eliminate_dead_code(module)
    functions = module.functions
    still: set[str] = set()
    for name in functions:
        if name not in ran:
            still |= {name} | _running(module, functions[name])
    for name in ran - still:
        functions[name].erase()


def _running(module: Module, function: Op) -> set[str]:
    """The functions that a function runs, and those that they run."""
    functions, found, pending = module.functions, set[str](), [function]
    while pending:
        for op in pending.pop().walk():
            for name in functions_named(op):
                if name in functions and name not in found:
                    found.add(name)
                    pending.append(functions[name])
    return found


def _needed(module: Module, block: Block) -> set[Op]:
    states_of, place = States(module), {op: index for index, op in enumerate(block)}
    changing = [(op, states) for op in block if _has_effects(op) and (states := states_of(op))]
    needed: set[Op] = set()
    seen: dict[Hashable, int] = {}
    """Where each state is seen last; what is an operand counts as one."""
    pending = [block.terminator]
    while pending:
        while pending:
            op = pending.pop()
            if op in needed:
                continue
            needed.add(op)
            uses = [*op.operands, *captured_values(op)] if op.regions else op.operands
            pending += [value.op for value in uses if value.op is not None and value.op.parent is block]
            if op is not block.terminator:  # which sees an output as it was computed
                for state in (*uses, *states_of(op)) if changing else ():
                    seen[state] = max(seen.get(state, 0), place[op])
        pending = [op for op, states in changing if op not in needed and any(
            state in seen and (_lives_on(state) or place[op] < seen[state]) for state in states)]
    return needed


def _has_effects(op: Op) -> bool:
    return any((declaration := inner.declaration) is None or "effects" in declaration.traits for inner in op.walk())


def _lives_on(state: Hashable) -> bool:
    """Whether a state is one in all runs; what is computed from others is new in each."""
    return not isinstance(state, Value) or state.op is None or not state.op.operands

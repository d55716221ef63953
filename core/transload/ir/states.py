"""What ops change and see beside their results: variables that they name, and what they are given a handle of.

A dialect says it of its ops by a function (`Dialect(states=...)`), which gives for an op the *states* that it may change or see:
names, if these live from one run to the next, or values, which stand for what they hold. An op of which nothing is said
has none: it gives what it computes, prints or checks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from .core import Block, Op, Value
from .module import Module
from .regions import functions_named
from .registry import dialect

__all__ = ["States", "StatesOf", "by_handles"]

StatesOf = Callable[[Op], Iterable[Hashable]]
"""What a dialect says of an op."""


def by_handles(is_handle: Callable[[Value], bool], name: Callable[[Op], Hashable | None]) -> StatesOf:
    """States that ops are given by handles: `name(op)` is that of an op that makes one; None: the handle alone stands for it."""

    def states(op: Op) -> Iterator[Hashable]:
        pending = [value for value in (*op.operands, *op.results) if is_handle(value)]
        done = set()
        while pending:
            value = pending.pop()
            if value in done:
                continue
            done.add(value)
            handed_on = [each for each in value.op.operands if is_handle(each)] if value.op is not None else []
            pending += handed_on
            if not handed_on:
                named = name(value.op) if value.op is not None else None
                yield value if named is None else named

    return states


class States:
    """The states of a module's ops, with those of the ops in their regions and in the functions that they run."""

    def __init__(self, module: Module) -> None:
        self._functions = module.functions
        self._of_functions: dict[str, set[Hashable]] = {}

    def __call__(self, op: Op) -> set[Hashable]:
        found, inside = set(self._said(op)), set[Hashable]()
        blocks = _blocks(op)
        for block in blocks:
            for inner in block:
                inside |= self(inner)
        for name in functions_named(op):
            if name in self._functions:
                inside |= self._of_function(name)
                blocks += _blocks(self._functions[name])
        for block in blocks:  # what decides (a branch's condition) comes first, and is no argument
            for argument, value in zip(reversed(block.arguments), reversed(op.operands), strict=False):
                if argument in inside:
                    found |= {value, *(self._said(value.op) if value.op is not None else ())}
            inside.difference_update(block.arguments)
        return found | inside

    def _of_function(self, name: str) -> set[Hashable]:
        if name not in self._of_functions:
            self._of_functions[name] = set()  # of one that runs itself
            self._of_functions[name] = {
                state for block in _blocks(self._functions[name]) for inner in block for state in self(inner)}
        return self._of_functions[name]

    @staticmethod
    def _said(op: Op) -> Iterable[Hashable]:
        declared = dialect(op.dialect)
        return declared.states(op) if declared is not None and declared.states is not None else ()


def _blocks(op: Op) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]

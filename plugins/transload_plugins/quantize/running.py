"""What the tensors of a module are on a sample, computed on the fastest engine at hand."""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from transload.budget import TimeOver, check_deadline
from transload.cores import cores
from transload.engine import reference
from transload.engine.choice import Choice, choose_measuring
from transload.engine.run import fitted
from transload.errors import TransloadError, UsageError
from transload.ir import Module, Value, input_names, set_results, update_function_type
from transload.ir.build import constant_of
from transload.passes.dce import eliminate_dead_code
from transload.plugin_host import host
from transload.worker import ChildLate

from .observe import observed

__all__ = ["Runner", "Tell"]

RUNS = 64
"""How often a module is run where nobody says: what decides whether compiling pays."""

Made = TypeVar("Made")
Tell = Callable[[str, np.ndarray], None]
"""Told of each tensor by name, and what it is."""


class Runner:
    """`runner(sample)` gives the tensors of a module on one sample, a dict of arrays by name; `visit` tells of one after another.

    `tensors` says which: names as `observed` has them, or values of the module's main function by names of one's own; all that
    `observed` names where nothing is said. For a quantized module, values are given: `Runner(quantized, {"sums": op.result})`;
    what is of a quantized type comes as stored integers, the same on every engine.

    A module of floats goes to an engine that begins at once, where one is installed (`Engine.measures`). Else it compiles, with
    the tensors as outputs, where so many `runs` make up for it, and else runs op by op: an engine that gives all tensors away
    can fuse little, and compiling takes the longer for it. The reference engine drops each tensor when all that use it are
    computed. A runner may be called from several threads at a time.
    """

    def __init__(
        self, module: Module, tensors: Iterable[str] | Mapping[str, Value] | None = None, runs: int = RUNS,
    ) -> None:
        wanted = _values(module, tensors)
        arguments = dict(zip(module.body_of_main.arguments, input_names(module.main), strict=True))
        self.inputs = list(arguments.values())
        self.names = list(wanted)
        self._given = {name: arguments[value] for name, value in wanted.items() if value in arguments}
        constants = {name: constant_of(value) for name, value in wanted.items() if name not in self._given}
        self._known = {name: dense.numpy() for name, dense in constants.items() if dense is not None}
        self._computed = {name: wanted[name] for name in constants if name not in self._known}
        self._module = module
        self.choice: Choice
        """The engine, and why that one."""
        self._execute: Callable[[Mapping[str, Any]], dict[str, np.ndarray]] | None = None
        """Of an engine that gives all tensors at once; it is let go with the runner, what it holds is much."""
        self._interpret: Callable[[Mapping[str, Any], Tell], None] | None = None
        self._prepare(runs)

    def visit(self, sample: Mapping[str, Any], tell: Tell) -> None:
        """Run on one sample, a dict of arrays by input name, and `tell(name, array)` of each tensor, in order.

        Raises `RunError` where the sample does not fit the module, and `TimeOver` where the time is over.
        """
        check_deadline()
        inputs = fitted(self._module.main, {name: sample[name] for name in self.inputs})  # else as much is told of as it says
        for name, given in self._given.items():
            tell(name, np.asarray(inputs[given]))
        for name, array in self._known.items():
            tell(name, array)
        if not self._computed:
            return
        if self._execute is not None:
            try:
                results = self._execute(inputs)
            except (TimeOver, ChildLate):  # another engine would take as long again
                raise
            except TransloadError as error:  # some compile at their first run; a sample that is bad is so for both
                interpret = self._interpreted()
                interpret(inputs, tell)
                self.choice = Choice("reference", f"{self.choice.engine} cannot take it: {error.message}")
                self._execute, self._interpret = None, interpret
                return
            for name, array in zip(self._computed, results.values(), strict=True):
                tell(name, array)
        elif self._interpret is not None:
            self._interpret(inputs, tell)

    def __call__(self, sample: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """All tensors on one sample. Raises as `visit` does."""
        found: dict[str, np.ndarray] = {}
        self.visit(sample, found.__setitem__)
        return {name: found[name] for name in self.names}

    def each(
        self, samples: Iterable[Mapping[str, Any]], look: Callable[[dict[str, np.ndarray]], Made], workers: int | None = None,
    ) -> Iterator[Made]:
        """What `look` makes of the tensors on each sample, in order, by so many threads, or as many as there are cores.

        No more samples are under way, and no more results wait, than keep the threads busy. Raises as `visit` does.
        """
        def one(sample: Mapping[str, Any]) -> Made:
            return look(self(sample))

        most = workers or cores()
        waiting: deque[Future[Made]] = deque()
        with ThreadPoolExecutor(most) as pool:
            try:
                for sample in samples:
                    waiting.append(pool.submit(contextvars.copy_context().run, one, sample))
                    if len(waiting) > most:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _interpreted(self) -> Callable[[Mapping[str, Any], Tell], None]:
        module, values = self._giving()
        module.body_of_main.terminator.operands = ()  # nothing is held to the end
        module.main.attributes.pop("res_attrs", None)
        update_function_type(module.main)
        names: dict[Value, list[str]] = {}
        for name, value in zip(self._computed, values, strict=True):
            names.setdefault(value, []).append(name)
        execute = reference.prepare(module)

        def visit(sample: Mapping[str, Any], tell: Tell) -> None:
            def watch(value: Value, array: Any) -> None:
                for name in names.get(value, ()):
                    tell(name, np.asarray(array))

            execute(sample, watch=watch)

        return visit

    def _prepare(self, runs: int) -> None:
        """By the first engine that takes the module. Raises `TimeOver` where the time is over."""
        check_deadline()
        module, _ = self._giving()
        refused: list[str] = []
        for self.choice in choose_measuring(module, runs):
            if self.choice.engine == "reference":
                break
            try:
                self._execute = host().engine(self.choice.engine)(module)
                return
            except TimeOver:
                raise
            except TransloadError as error:
                refused.append(f"{self.choice.engine} cannot take it: {error.message}")
        else:
            self.choice = Choice("reference", "; ".join(refused))
        self._interpret = self._interpreted()

    def _giving(self) -> tuple[Module, list[Value]]:
        """A copy of the module that gives the tensors and computes nothing else; and which they are there."""
        mine: dict[Value, Value] = {}
        copy = self._module.clone(mine)
        values = [mine[value] for value in self._computed.values()]
        copy.body_of_main.terminator.erase()
        set_results(copy.main, values, [f"tensor{index}" for index in range(len(values))])
        eliminate_dead_code(copy)
        return copy, values


def _values(module: Module, tensors: Iterable[str] | Mapping[str, Value] | None) -> Mapping[str, Value]:
    if isinstance(tensors, Mapping):
        return tensors
    there = observed(module)
    if tensors is None:
        return there
    names = list(tensors)
    unknown = [name for name in names if name not in there]
    if unknown:
        raise UsageError(
            f"the module has no float tensor {', '.join(map(repr, unknown[:5]))}", hint="names are those of `observed`")
    return {name: there[name] for name in names}

"""The engine `auto`: a compiling engine where compiling pays, the reference engine where it does not.

Compiling takes seconds, whatever the model; running what was compiled is several times faster than the reference engine.
So the work of a run is estimated from the module, and weighed against the time that compiling would take:

    runs * reference > compile + runs * reference / SPEEDUP

The estimates are those of `benchmarks/engines.py --fit`, on the models that it runs. They need to be right to a factor of
two or three, no more: near the limit, both engines take the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..budget import TimeOver
from ..errors import TransloadError
from ..forks import thread_lock
from ..ir import Module
from ..plugin import unavailable
from ..plugin_host import host
from ..worker import ChildLate
from .reference import prepare as prepare_reference
from .steps import products_of, size_of

__all__ = ["Choice", "Work", "choose", "choose_measuring", "prepare", "work_of"]

PRODUCTS_PER_SECOND = 1e10
ELEMENTS_PER_SECOND = 4e8
SECONDS_PER_OP = 2e-5
"""Of the reference engine."""
COMPILE_SECONDS = 0.2
COMPILE_SECONDS_PER_PRODUCT = 3e-2
COMPILE_SECONDS_PER_OP = 1.5e-3
SPEEDUP = 4.0
"""Of the compiling engine."""
STARTING_SECONDS = 0.1
STARTING_SECONDS_PER_OP = 3e-4
"""Until an engine that measures can run: from importing it to its session."""



@dataclass(frozen=True)
class Work:
    """What a run of a function takes: ops that are products (convolutions and such), their multiplications, elements of all
    results, ops."""

    kernels: int
    products: int
    elements: int
    ops: int

    @property
    def reference_seconds(self) -> float:
        """How long the reference engine will take, about."""
        return self.products / PRODUCTS_PER_SECOND + self.elements / ELEMENTS_PER_SECOND + self.ops * SECONDS_PER_OP

    @property
    def compile_seconds(self) -> float:
        """How long a compiling engine will take before it can run, about."""
        return COMPILE_SECONDS + self.kernels * COMPILE_SECONDS_PER_PRODUCT + self.ops * COMPILE_SECONDS_PER_OP


@dataclass(frozen=True)
class Choice:
    """The engine to use, and why."""

    engine: str
    why: str


NONE_COMPILES = Choice("reference", "no compiling engine is installed")


def work_of(module: Module, function: str = "main") -> Work:
    """The work of a function, from the types of its values; ops in regions count once, dynamic sizes as 1."""
    kernels = products = elements = ops = 0
    for op in module.function(function).walk():
        if op.name in ("func.func", "func.return") or not op.operands:
            continue
        made = sum(size_of(result) for result in op.results)
        ops += 1
        elements += made
        if multiplied := products_of(op):
            kernels += 1
            products += multiplied
    return Work(kernels, products, elements, ops)


def choose(module: Module, function: str = "main", runs: int = 1) -> Choice:
    """The engine for `runs` runs of a function."""
    usable = _usable("compiles")
    if not usable:
        return NONE_COMPILES
    return _choice(work_of(module, function), runs, usable[0])


def _choice(work: Work, runs: int, compiling_engine: str) -> Choice:
    """The engine for so many runs of some work."""
    reference, compiling = runs * work.reference_seconds, work.compile_seconds
    estimate = f"about {reference:.2g} s in the reference engine, {compiling:.2g} s to compile"
    if reference > compiling + reference / SPEEDUP:
        return Choice(compiling_engine, f"compiling pays: {estimate}")
    return Choice("reference", f"compiling does not pay: {estimate}")


def choose_measuring(module: Module, runs: int = 1) -> list[Choice]:
    """The engines for so many runs in which numbers are looked at, not judged: the one to take, and what to take where it cannot.

    Modules of floats go to an engine that `measures`, where one is there and the runs make up for its beginning.
    """
    work, compiles = work_of(module), _usable("compiles")
    last = _choice(work, runs, compiles[0]) if compiles else NONE_COMPILES
    starting = STARTING_SECONDS + work.ops * STARTING_SECONDS_PER_OP
    if runs * work.reference_seconds < starting or any(value.quant is not None for op in module.walk() for value in op.results):
        return [last]
    why = f"about {runs * work.reference_seconds:.2g} s in the reference engine, {starting:.2g} s until this one can begin"
    return [Choice(name, why) for name in _usable("measures")] + [last]


def _usable(trait: str) -> list[str]:
    """The engines that have a trait and can be used here."""
    return [
        engine.name for engine in host().engines.values()
        if getattr(engine, trait) and unavailable(engine.available) is None]


class _Execute:
    """Runs by the engine chosen; where that cannot take the module after all, by the reference engine."""

    def __init__(self, module: Module, function: str, choice: Choice) -> None:
        self.module, self.function, self.choice = module, function, choice
        self.run: Callable[..., dict[str, np.ndarray]] | None = None
        self._beginning = thread_lock()
        if choice.engine == "reference":
            self.run = prepare_reference(module, function)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of the numbers that it gives."""
        return getattr(self.run, "notes", ())

    def __call__(self, inputs: Mapping[str, Any], keep: bool = False) -> dict[str, np.ndarray]:
        if self.run is None:
            with self._beginning:  # of several threads one compiles, and the others wait for it
                if self.run is None:
                    return self._begin(inputs, keep)
        return self.run(inputs, keep)

    def _begin(self, inputs: Mapping[str, Any], keep: bool) -> dict[str, np.ndarray]:
        """The first run, with which an engine is chosen for good."""
        if self.choice.engine != "reference":
            try:
                execute = host().engine(self.choice.engine)(self.module, self.function)
                outputs: dict[str, np.ndarray] = execute(inputs, keep)
                self.run = execute
                return outputs
            except (TimeOver, ChildLate):  # another engine would take as long again
                raise
            except TransloadError as error:
                self.choice = Choice("reference", f"{self.choice.engine} cannot take it: {error.message}")
        self.run = prepare_reference(self.module, self.function)
        return self.run(inputs, keep)


def prepare(module: Module, function: str = "main", runs: int = 1) -> _Execute:
    """`execute(inputs, keep=False)` by the engine that `choose` gives for `runs` runs; `execute.choice` says which, and why."""
    return _Execute(module, function, choose(module, function, runs))

"""What a run may cost, counted in one place: a file of a hundred bytes can ask for work without end.

Whoever makes ops, folds constants, inlines or executes spends from the run's `Budget`. Where that is used up, an op stays
unfolded, a loop stays a loop, or a finding says what it would have cost. What may be spent is an `Allowance`, which the
environment changes for a process (`TRANSLOAD_BUDGET=ops=1000000,seconds=7200`), and `allowed` for some code:

    with allowed(ops=1_000_000):
        transload.lower(module)
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace

from .context import current
from .errors import RunError, Unsupported, UsageError

__all__ = [
    "VARIABLE", "Allowance", "Budget", "TimeOver", "allowance", "allowed", "budget", "check_deadline", "more_than",
    "most_ops", "need_elements", "seconds_left", "text_fault", "timed"]

VARIABLE = "TRANSLOAD_BUDGET"


@dataclass(frozen=True)
class Allowance:
    """What one run may spend."""

    ops: int = 200_000
    """Ops that conversions and passes make, those of unrolled loops and inlined functions among them. Functions that call each
    other may run sixteen times as many, rounds of loops not counted."""
    grown: int = 1 << 28
    """Bytes by which constants that are computed while converting exceed, together, what they are computed of.

    Where a model has many, it is four times their size: weights are dequantized and cast.
    """
    folded: int = 1 << 36
    """Bytes that are read and written for that."""
    elements: int = 1 << 34
    """Elements of all values together that verification computes."""
    products: int = 1 << 42
    """Multiplications of convolutions and matrix products that verification computes: ten minutes of the reference engine. A
    sixteenth of these may be of constants, while converting."""
    memory: int = 1 << 29
    """Bytes that the values of a model may hold at one time where it is verified.

    Where the model's constants and inputs are large, it is 64 times their size: a file of a kilobyte may make gigabytes.
    """
    seconds: float = 1800.0
    """What one execution of a module by an engine may take, and what a quantizer may look for beside ranges."""
    rounds: float = 60.0
    """Seconds that the verification of a module may take whose loops end when their data says so."""
    ends: int = 1 << 12
    """Inputs and outputs of a model together that are filled and compared where it is verified: each takes a millisecond or more,
    whatever its size, and a file may list one tensor a hundred thousand times."""
    text: int = 1 << 26
    """Characters of the names, attributes and scales of a model's ops, with what its calls stand for.

    A file holds a name once that is the name of a hundred thousand values, and each of them is written out.
    """


_OPS_OF_ONE = 16
"""Ops that each op of a model may become, all stages of its way together, where these are more than the allowance."""

_FOLDED_OF_VERIFIED = 16
"""Of what verification may multiply, which part constants may that are computed while converting: half a minute."""


class Budget:
    """What is left of a run's allowance."""

    __slots__ = ("allowance", "folded", "grown", "most_ops", "most_text", "multiplied", "ops", "text")

    def __init__(self) -> None:
        self.allowance = allowance()
        self.ops = self.most_ops = self.allowance.ops
        self.text = self.most_text = _OPS_OF_ONE * self.allowance.text
        self.grown = self.allowance.grown
        self.folded = self.allowance.folded
        self.multiplied = self.allowance.products // _FOLDED_OF_VERIFIED

    def hold(self, ops: int, size: int, text: int = 0) -> None:
        """Note of how many ops the model is, of how many bytes its own constants, and how long its names and attributes are.

        Large ones may make more of each.
        """
        most = _OPS_OF_ONE * ops
        if most > self.most_ops:
            self.ops += most - self.most_ops
            self.most_ops = most
        longest = _OPS_OF_ONE * text
        if longest > self.most_text:
            self.text += longest - self.most_text
            self.most_text = longest
        self.grown = max(self.grown, 4 * size)

    def over(self) -> None:
        """Raise `Unsupported`: more ops were made than the run may make."""
        raise Unsupported(f"it would take more than {self.most_ops:,} ops to say what this model computes",
                          f"{VARIABLE}=ops={more_than(self.most_ops)} allows more")

    def spend_ops(self, count: int, text: int = 0) -> None:
        """Count ops, and the characters of their names; `Unsupported` where there are too many."""
        self.ops -= count
        self.text -= text
        if self.ops < 0:
            self.over()
        if self.text < 0:
            raise Unsupported(f"the ops that say what this model computes have names of more than {self.most_text:,} characters",
                              "give shorter names; "
                              f"{VARIABLE}=text={more_than(self.most_text // _OPS_OF_ONE)} allows more")

    def may_fold(self, read: int, written: int, products: int = 0) -> bool:
        """Whether constants of so many bytes may become others of so many, by so many multiplications; then they are counted."""
        growth = max(written - read, 0)
        if growth > self.grown or read + written > self.folded or products > self.multiplied:
            return False
        self.multiplied -= products
        self.grown -= growth
        self.folded -= read + written
        return True


def most_ops(ops: int) -> int:
    """How many ops a model of so many may become."""
    return max(allowance().ops, _OPS_OF_ONE * ops)


def more_than(most: float) -> float:
    """What to allow where that was not enough: four times as much, or 1 where it was nothing; of a whole number a whole one."""
    return 4 * most or 1


def budget() -> Budget:
    """That of the run; outside of one, a new one."""
    here = current()
    return here.scratch(Budget) if here.is_run else Budget()


_allowance: ContextVar[Allowance | None] = ContextVar("transload.allowance", default=None)


def allowance() -> Allowance:
    """What runs that begin here may spend. Raises `UsageError` where the environment says what cannot be."""
    return _allowance.get() or _of_environment()


@contextmanager
def allowed(**changes: float) -> Iterator[None]:
    """Allow runs that begin inside more or less: a field of `Allowance` each."""
    token = _allowance.set(replace(allowance(), **changes))  # type: ignore[arg-type]
    try:
        yield
    finally:
        _allowance.reset(token)


def _of_environment() -> Allowance:
    text = os.environ.get(VARIABLE, "")
    kinds = {field.name: int if field.type == "int" else float for field in fields(Allowance)}
    changes = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        try:
            changes[name.strip()] = most = kinds[name.strip()](number)
            if not most >= 0:  # NaN, with which everything compares as false, would allow everything
                raise ValueError(number)
        except (KeyError, ValueError):
            raise UsageError(f"{VARIABLE} has {part!r}", hint=f"name=number, of {', '.join(kinds)}") from None
    return Allowance(**changes)  # type: ignore[arg-type]


# --- time

_deadline: ContextVar[tuple[float, float, str]] = ContextVar("transload.deadline", default=(math.inf, math.inf, "seconds"))
"""When it is, how many seconds that were, and what of the allowance they are."""


class TimeOver(RunError):
    """An execution did not end within the seconds that it was given."""


@contextmanager
def timed(kind: str = "seconds") -> Iterator[None]:
    """What is executed inside has to end within the seconds that are allowed, or within what is left of those around it.

    `kind` is `seconds` or `rounds` (`Allowance`).
    """
    seconds: float = getattr(allowance(), kind)
    token = _deadline.set(min(_deadline.get(), (time.monotonic() + seconds, seconds, kind)))
    try:
        yield
    finally:
        _deadline.reset(token)


def check_deadline() -> None:
    """Raise `TimeOver` where the time is over; asked between ops."""
    end, seconds, kind = _deadline.get()
    if time.monotonic() > end:
        raise TimeOver(f"the module was executed for {seconds:g} s without coming to an end",
                       hint=f"{VARIABLE}={kind}={more_than(seconds):g} allows more")


def need_elements(shape: Sequence[int], what: str) -> None:
    """Raise `RunError` where what a kernel makes for itself has more elements than all values together may have.

    Values are counted by their types before anything is executed; an image with its padding is no value.
    """
    count, most = math.prod(shape), allowance().elements
    if count > most:
        raise RunError(f"{what} would have {count:,} elements", hint=f"{VARIABLE}=elements={count} allows that")


def text_fault(count: int, size: int) -> tuple[str, str]:
    """What is wrong with a model whose ops have so many characters together, and what to do; both empty where nothing is.

    `size` is what they are in the file, or were before calls were replaced: a large model may have four times as many.
    """
    most = max(allowance().text, 4 * size)
    if count <= most:
        return "", ""
    return (f"the names and attributes of its ops have {count:,} characters together, and {most:,} are the limit",
            f"give shorter names; {VARIABLE}=text={4 * count} allows more")


def seconds_left() -> float:
    """What is left to what is executed now; infinity where nothing limits it."""
    return max(_deadline.get()[0] - time.monotonic(), 0.0)

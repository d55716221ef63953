"""What functions that plugins give as facts about ops say, looked at where the plugin is known (`FactKind.gives`).

Each takes what a function gave, and what that was given; it says what is wrong with it, or None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from .ir import Op, Value
from .outcomes import a_kind, no_answer

__all__ = ["answer", "count", "errors", "intervals", "kernel", "landmarks", "moves", "signs"]


def answer(outcome: Any, *_: Any) -> str | None:
    """Whether something holds; who says nothing says that it does not."""
    return None if outcome is None else no_answer(outcome)


def count(outcome: Any, *_: Any) -> str | None:
    """A number of something, 0 or more."""
    known = isinstance(outcome, Integral) and not isinstance(outcome, bool) and int(outcome) >= 0
    return None if known else f"gives {a_kind(outcome)}, where a whole number of 0 or more is wanted"


def kernel(outcome: Any, *_: Any) -> str | None:
    """A function that computes, or none."""
    return None if outcome is None or callable(outcome) else f"gives {a_kind(outcome)}, where a kernel or None is wanted"


def moves(outcome: Any, *_: Any) -> str | None:
    """How an op moves numbers, or that it computes."""
    from .analysis.movement import Moves

    if outcome is None:
        return None
    if not isinstance(outcome, Moves):
        return f"gives {a_kind(outcome)}, where a Moves or None is wanted"
    if outcome.data is not None and not _are_numbers(outcome.data):
        return f"gives a Moves of the operands {outcome.data!r:.100}, where their numbers are wanted"
    if not isinstance(outcome.constants, tuple) or not all(isinstance(each, Real) for each in outcome.constants):
        return f"gives a Moves with the constants {outcome.constants!r:.100}, where numbers are wanted"
    return None


def intervals(outcome: Any, op: Op, *_: Any) -> str | None:
    """The interval of all results of an op, a list of one for each, or that nothing is known."""
    if outcome is None:
        return None
    if not isinstance(outcome, list):
        return _no_interval(outcome)
    wrong = next((wrong for each in outcome if (wrong := _no_interval(each)) is not None), None)
    if wrong is None and len(outcome) != len(op.results):
        return f"gives {len(outcome)} intervals, where the op has {len(op.results)} results"
    return wrong


def _no_interval(outcome: Any) -> str | None:
    if not isinstance(outcome, tuple) or len(outcome) != 2 or not all(isinstance(end, Real) for end in outcome):
        return f"gives {a_kind(outcome)}, where an interval is wanted: two numbers, or None"
    low, high = outcome
    return f"gives an interval that begins at {low} and ends at {high}" if low > high else None


def landmarks(outcome: Any, op: Op, *_: Any) -> str | None:
    """What is asked about the operands of an op, by number."""
    from .analysis.landmarks import Landmarks

    if not isinstance(outcome, Mapping) or not all(
            isinstance(number, int) and isinstance(each, Landmarks) for number, each in outcome.items()):
        return f"gives {a_kind(outcome)}, where Landmarks by the numbers of operands are wanted"
    return None


def signs(outcome: Any, op: Op, *_: Any) -> str | None:
    """The numbers of the operands that an op reads, and of the results that it writes, as unsigned."""
    if not isinstance(outcome, tuple) or len(outcome) != 2 or not all(map(_are_numbers, outcome)):
        return f"gives {a_kind(outcome)}, where the numbers of operands and those of results are wanted, two tuples"
    for said, held, what in zip(outcome, (op.operands, op.results), ("operands", "results"), strict=True):
        beyond = next((number for number in said if not -len(held) <= number < len(held)), None)
        if beyond is not None:
            return f"names number {beyond} of {len(held)} {what}"
    return None


def errors(outcome: Any, op: Op, *_: Any) -> str | None:
    """The values that bound the errors of an op's results, None where nothing can be said of one."""
    if isinstance(outcome, Value):
        return None
    if not isinstance(outcome, list | tuple) or not all(each is None or isinstance(each, Value) for each in outcome):
        return f"gives {a_kind(outcome)}, where values that bound the errors of the results are wanted"
    if len(outcome) > len(op.results):
        return f"gives {len(outcome)} bounds, where the op has {len(op.results)} results"
    return None


def _are_numbers(outcome: Any) -> bool:
    return isinstance(outcome, Iterable) and not isinstance(outcome, str | bytes) and hasattr(outcome, "__len__") and all(
        isinstance(each, int) for each in outcome)

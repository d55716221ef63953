"""Every argument of every operator, given what it is not, and every tensor in another shape: each is converted, or refused in
words, in little memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import transload
from transload.budget import allowed
from transload.errors import PluginFailure, TransloadError
from transload.ir import Module

from .cases.record import all_cases, recorded
from .cases.run import module_of
from .cases.spec import T

GIVEN: tuple[Any, ...] = (
    0, -1, 7, 2**40, -(2**63), 0.0, -1.5, float("inf"), float("nan"), None, "foo", True, [], [0], [-1, 3], [2**40, 1],
    [5, 1, 2, 3, 4], [0.5], [None], ["a"], [[]])
SHAPES = ((), (0,), (5,), (1, 7), (2, 3, 6, 2), (1,) * 7)
SHARES = 64
"""Of how many parts a quick run takes eight."""


def calls(share: int) -> Iterator[tuple[str, Module]]:
    """Two calls of each operator with one argument replaced: those of a share."""
    wanted, seen, number = recorded(), Counter[str](), 0
    for case in all_cases():
        seen[case.op] += 1
        if seen[case.op] > 2:
            continue
        for name, usual in case.arguments.items():
            for given in [replace(usual, shape=shape, values=None) for shape in SHAPES] if isinstance(usual, T) else GIVEN:
                number += 1
                if number % SHARES == share:
                    with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # it makes no op
                        changed = replace(case, arguments={**case.arguments, name: given})
                        yield f"{case.op} with {name}={given!r}", module_of(changed, wanted[case.name])


def broken(told: str, module: Module) -> str:
    try:
        with allowed(elements=1 << 24, seconds=15):
            transload.lower(module, "tosa")
    except TransloadError as error:
        failed = error if isinstance(error, PluginFailure) else error.__cause__
        return f"{told}: {failed}" if isinstance(failed, PluginFailure) else ""
    return ""


@pytest.mark.one_in(8)
@pytest.mark.parametrize("share", [
    share if share < 8 else pytest.param(share, marks=pytest.mark.slow) for share in range(SHARES)])
def test_it_is_converted_or_refused(share: int) -> None:
    with np.errstate(all="ignore"):
        found = [broken(told, module) for told, module in calls(share)]
    assert len(found) > 300 and not list(filter(None, found))

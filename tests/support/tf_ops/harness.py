"""Runs a case through our conversion and compares with what tensorflow computed.

A case's graph is loaded by the reader of GraphDefs, legalized to the hub and run there, then lowered to TOSA and run again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from transload.api import legalize, load, lower, run
from transload.errors import ConversionError
from transload.ir import Module

from .spec import Case
from .tolerances import float_tolerance, integer_steps
from tests.support.tflite_ops.harness import relative_difference

__all__ = ["check", "judge", "lowered"]


# --- judging

def lowered(case: Case) -> Module:
    """The case in TOSA; integers of 64 bits are assumed to fit in 32 where that cannot be proved."""
    source = loaded(case)
    try:
        return lower(source, "tosa", random="drawn")
    except ConversionError as error:
        if not error.findings or not all("int64=assumed" in finding.hint for finding in error.findings):
            raise
    return lower(loaded(case), "tosa", int64="assumed", random="drawn")


def loaded(case: Case) -> Module:
    """The case's graph as it is read."""
    return load(text=case.graph, format="tensorflow")


def judge(case: Case, wanted: list[np.ndarray]) -> tuple[Module, list[tuple[str, float]]]:
    """Fail where the hub's or TOSA's results are not tensorflow's.

    Returns the case in TOSA and by how much each result is off: `("integer", steps)` or `("float", relative difference)`.
    """
    hub = legalize(loaded(case), random="drawn")
    found = check(case, run(hub, case.feeds).values(), wanted, "hub")
    if case.hub_only:
        return hub, found
    module = lowered(case)
    return module, check(case, run(module, case.feeds).values(), wanted, "TOSA")


def check(case: Case, actual: Iterable[np.ndarray], wanted: list[np.ndarray], where: str) -> list[tuple[str, float]]:
    """Compare results one by one."""
    results = [np.asarray(array) for array in actual]
    assert len(results) == len(wanted), f"{where}: {len(results)} results, and tensorflow gives {len(wanted)}"
    pairs = zip(results, wanted, strict=True)
    return [_compare(case, mine, theirs, f"{where}, result {i}") for i, (mine, theirs) in enumerate(pairs)]


def _compare(case: Case, actual: np.ndarray, wanted: np.ndarray, what: str) -> tuple[str, float]:
    assert actual.shape == wanted.shape, f"{what}: the shape is {actual.shape} and must be {wanted.shape}"
    if wanted.dtype.kind == "b":
        assert actual.dtype.kind == "b" and np.array_equal(actual, wanted), f"{what}: {_first(actual, wanted, actual != wanted)}"
        return "integer", 0
    if wanted.dtype.kind in "iu":
        assert actual.dtype.kind in "iu", f"{what}: the type is {actual.dtype} and must be {wanted.dtype}"
        if actual.dtype.itemsize == wanted.dtype.itemsize:
            actual = actual.view(wanted.dtype)
        off = np.abs(actual.astype(np.float64) - wanted.astype(np.float64))
        assert not (off > integer_steps(case)).any(), f"{what}: {_first(actual, wanted, off > integer_steps(case))}"
        return "integer", int(off.max(initial=0))
    off = relative_difference(actual.astype(np.float64), wanted.astype(np.float64))
    wrong = ~(off <= float_tolerance(case, wanted.dtype.name))
    assert not wrong.any(), f"{what}: off by up to {np.nanmax(off)}; {_first(actual, wanted, wrong)}"
    return "float", float(off.max(initial=0))


def _first(actual: np.ndarray, wanted: np.ndarray, wrong: Any) -> str:
    places = np.argwhere(wrong)
    place = tuple(places[0]) if len(places) else ()
    return f"{len(places)} of {wrong.size} differ, first at {list(place)}: {actual[place]} and not {wanted[place]}"

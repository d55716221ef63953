"""Runs the model of a case with LiteRT's reference kernels and through our conversion to TOSA, and judges.

The route that is judged: the `.tflite` file is loaded, legalized to the hub, lowered to TOSA and run by our reference
engine; the same TOSA is written to a `.tosa` file and run by the TOSA reference model, where that is installed.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.api import load, lower, run, save
from transload.errors import ConversionError
from transload.ir import Module, dtype_of

from .build import Built, build
from .spec import Case
from .tolerances import float_tolerance, integer_steps, needs_usual_kernels
from tests.support import litert
from tests.support.tosa_reference import run_file

__all__ = ["Refused", "convert", "is_assumed_small", "judge", "loaded", "run_litert"]


class Refused(Exception):
    """LiteRT does not take the model: the case is no case."""


# --- running

def run_litert(built: Built, usual: bool = False) -> list[np.ndarray]:
    """What LiteRT's reference kernels compute; with `usual`, and for operators that have no others, its usual ones."""
    try:
        return litert.run_litert(built.content, built.feeds, reference=not usual)
    except (RuntimeError, ValueError) as error:
        raise Refused(" ".join(str(error).split())) from None


def convert(built: Built) -> Module:
    """The model in TOSA, by the route that is judged."""
    source = loaded(built)
    return lower(source, "tosa", int64="assumed" if is_assumed_small(source) else "proved")


def loaded(built: Built) -> Module:
    """The model as it is read, its inputs of the shapes that are fed."""
    return load(text=built.content, format="tflite", inputs={name: array.shape for name, array in built.feeds.items()})


def is_assumed_small(source: Module) -> bool:
    """Whether a model converts only where its 64-bit integers are assumed to fit in 32 bits, and is refused by default."""
    try:
        lower(source, "tosa")
    except ConversionError as error:
        return all("int64=assumed" in finding.hint for finding in error.findings)
    return False


def run_reference_model(module: Module, feeds: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """What the TOSA reference model computes on the module written as a `.tosa` file.

    None where it is not installed, or a tensor is empty: TOSA has no such tensors, and the model aborts.
    """
    empty = any(0 in (getattr(result.type, "shape", None) or ()) for op in module.ops() for result in op.results)
    if empty or find_spec("tosa_reference_model") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        content = save(module, Path(folder) / "case.tosa").read_bytes()
    arguments = module.body_of_main.arguments
    arrays = [_stored(array, argument.type.element) for array, argument in zip(feeds.values(), arguments, strict=True)]
    return run_file(content, arrays)


def _stored(array: np.ndarray, element: Any) -> np.ndarray:
    """An input as TOSA holds it: unsigned numbers by their bits, 64-bit ones in 32."""
    dtype = dtype_of(element)
    return array.view(dtype) if array.dtype.itemsize == dtype.itemsize else array.astype(dtype)


# --- judging

def expected_results(case: Case) -> list[np.ndarray]:
    """What LiteRT computes, or the case's own function where LiteRT has no kernel."""
    built = build(case)
    if case.expect is not None:
        return [np.asarray(case.expect(*built.feeds.values()))]
    try:
        return run_litert(built, needs_usual_kernels(case))
    except Refused as error:
        pytest.fail(f"LiteRT refuses the case: {error}")


def judge(case: Case) -> tuple[Module, list[tuple[str, float]]]:
    """Fail where our result differs from LiteRT's, or the TOSA reference model's from ours.

    Returns the model in TOSA, and for each result by how much it is off LiteRT's: `("integer", steps)` or
    `("float", relative difference)`.
    """
    expected = expected_results(case)
    built = build(case, [array.shape for array in expected])
    module = convert(built)
    actual = list(run(module, built.feeds).values())
    found = [
        compare(case, mine, theirs, f"result {index}, LiteRT")
        for index, (mine, theirs) in enumerate(zip(actual, expected, strict=True))
    ]
    judged = run_reference_model(module, built.feeds)
    for index, (mine, theirs) in enumerate(zip(judged if judged is not None else actual, actual, strict=True)):
        compare(case, mine, theirs, f"result {index}, TOSA reference model")
    return module, found


def compare(case: Case, actual: np.ndarray, expected: np.ndarray, what: str) -> tuple[str, float]:
    """Shapes, kinds of types and bools equal, integers but for the steps allowed to the operator, floats near.

    TOSA holds unsigned numbers by their bits, and 64-bit ones in 32.
    """
    assert actual.shape == expected.shape, f"{what}: the shape is {actual.shape} and must be {expected.shape}"
    kinds = {array.dtype.kind.replace("u", "i") for array in (actual, expected)}
    assert len(kinds) == 1, f"{what}: the type is {actual.dtype} and must be {expected.dtype}"
    if expected.dtype.kind in "iu":
        if actual.dtype.kind in "iu" and actual.dtype.itemsize == expected.dtype.itemsize:
            actual = actual.view(expected.dtype)
        off = np.abs(actual.astype(np.int64) - expected.astype(np.int64))
        wrong = off > integer_steps(case)
        assert not wrong.any(), f"{what}: {_count(wrong)}, by up to {off.max()}; first {_first(actual, expected, wrong)}"
        return "integer", int(off.max(initial=0))
    if expected.dtype.kind == "b":
        assert np.array_equal(actual, expected), f"{what}: bools differ"
        return "integer", 0
    off = relative_difference(actual, expected)
    wrong = ~(off <= float_tolerance(case))
    assert not wrong.any(), f"{what}: {_count(wrong)}; first {_first(actual, expected, wrong)}"
    return "float", float(off.max(initial=0))


def relative_difference(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """How far floats are apart, for their size and a tenth of the greatest one's; 0 where both are NaN or alike infinite."""
    greatest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    with np.errstate(all="ignore"):
        off = np.abs(actual - expected) / (np.abs(expected) + greatest / 10)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    return np.where(same, 0.0, off)


def _count(wrong: np.ndarray) -> str:
    return f"{np.count_nonzero(wrong)} of {wrong.size} differ"


def _first(actual: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> str:
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f"{actual[place]} for {expected[place]} at {place}"

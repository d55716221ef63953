"""The generated ops of the StableHLO tests, each raised by itself, against StableHLO's own kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.plugins.stablehlo.kernels import test_elementwise_against_xla as elementwise
from tests.plugins.stablehlo.kernels import test_structure_against_xla as structure
from tests.plugins.stablehlo.raising import raising
from tests.support import xla_oracle

QUICK = ("f32", "i32")
"""Element types of the default run."""
NARROWED = ("i64", "ui64", "f8E4M3FN", "f8E5M2", "i4", "ui4")
"""Element types that TOSA does not compute in; what is done in others instead shows where numbers are large."""


class _Anything:
    """What a generator compares its count with: the ops are counted here."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def _swept(monkeypatch: pytest.MonkeyPatch, generate: Callable[..., None], *given: Any, tosa: bool, refused: Any = ()) -> int:
    counts: list[int] = []

    def run(batch: xla_oracle.Batch) -> Any:
        counts.append(raising.check(batch, tosa, refused))
        return _Anything()

    monkeypatch.setattr(xla_oracle.Batch, "run", run)
    generate(*given)
    return sum(counts)


FAMILIES = [
    (elementwise.test_unary_of_floats, xla_oracle.FLOATS, 100),
    (elementwise.test_unary_of_complex_numbers, xla_oracle.COMPLEX, 90),
    (elementwise.test_unary_of_integers, xla_oracle.INTS, 28),
    (elementwise.test_binary_of_floats, xla_oracle.FLOATS, 49),
    (elementwise.test_binary_of_integers, xla_oracle.INTS, 84),
    (elementwise.test_comparison_and_selection, elementwise.ALL, 12),
    (elementwise.test_conversion, elementwise.ALL, len(elementwise.ALL)),
    (structure.test_movement, structure.TYPES, 44),
    (structure.test_dot_general, ("i8", "ui8", "i32", "i64", "bf16", "f16", "f32", "f64", *xla_oracle.COMPLEX), 7),
    (structure.test_reduction, ("i8", "i16", "i32", "i64", "ui8", "ui32", "bf16", "f16", "f32", "f64"), 40),
    (structure.test_numerics, ("f32", "f64"), 26),
    (structure.test_convolution, tuple(range(12)), 5),
    (structure.test_gather_and_scatter, tuple(range(12)), 8),
]
CASES = [
    pytest.param(generate, given, least, id=f"{generate.__name__.removeprefix('test_')}-{given}",
                 marks=[] if given in QUICK or given in (0, 1, "complex<f32>", "ui32") or (
                     generate is structure.test_dot_general and given == "ui8") else [pytest.mark.slow])
    for generate, types, least in FAMILIES for given in types]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("generate", "given", "least"), CASES)
def test_ops(monkeypatch: pytest.MonkeyPatch, generate: Callable[..., None], given: Any, least: int) -> None:
    assert _swept(monkeypatch, generate, given, tosa=given not in NARROWED) >= least


def test_booleans(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _swept(monkeypatch, elementwise.test_booleans, tosa=True) == 40


def test_random_bits_are_refused_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _swept(monkeypatch, structure.test_random_bits, "ui32", tosa=False, refused=["rng_bit_generator"]) == 0

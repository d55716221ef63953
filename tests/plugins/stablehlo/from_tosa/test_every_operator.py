"""Every operator of TOSA on every type and form of the catalogue: our kernels of TOSA judge those of StableHLO, and XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transload.ir.registry import dialect
from transload.plugin_host import host


@pytest.mark.one_in(3)
@pytest.mark.parametrize("third", range(3))
def test_operator(operator: str, third: int, cases_of: Callable[[str], list[Any]], graph: Any, check: Any) -> None:
    every = cases_of(operator)
    cases = every[third::3] or every
    module, inputs = graph(cases)
    check(module, inputs, cases)


def test_every_operator_has_a_rewrite() -> None:
    table = host().table("tosa-to-stablehlo")
    assert not [name for name in dialect("tosa").ops if name not in table]

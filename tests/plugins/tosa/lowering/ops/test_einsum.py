"""Einstein sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SHAPES = {"i": 3, "j": 4, "k": 5, "b": 2, "h": 3, "q": 4, "d": 5, "l": 2}


@pytest.mark.parametrize("equation", [
    "ij,jk->ik", "bij,bjk->bik", "bhqd,bhkd->bhqk", "ij->ji", "ij->", "ij->i", "ii->i", "ii->", "i,j->ij", "ij,ij->ij", "ij,ij->",
    "bij,jk", "ij,jk,kl->il", "bqhd,bkhd->bhqk", "ijk,jil->kl", "b...i,i->b...", "...ij,...jk->...ik", "ij,j->i", "ij,k->i",
])
def test_equations(same_op: Callable[..., Any], normal: Any, equation: str) -> None:
    terms = equation.split("->")[0].split(",")
    arrays = []
    for number, term in enumerate(terms):
        sizes = [[SHAPES[letter] for letter in part] for part in (term + "...").split("...")[:2]]
        middle = [[2, 3], [3], [1, 3]][number] if "..." in term else []
        arrays.append(normal(*sizes[0], *middle, *sizes[1]))
    same_op("Einsum", *arrays, equation=equation)
    same_op("Einsum", *arrays, equation=equation, constants=range(1, len(arrays)))

"""The letters of sums of products: what they name is there."""

from __future__ import annotations

import pytest

from transload.errors import ShapeError
from transload.ir import F32, Block, TensorType, Value
from transload.ir.build import Builder
from transload.ir.verify import faults_of


def faults(config: str, *shapes: tuple[int, ...], result: tuple[int, ...]) -> list[str]:
    values = [Value(TensorType(shape, F32), Block(), 0) for shape in shapes]
    name = "stablehlo.einsum" if len(shapes) == 2 else "stablehlo.unary_einsum"
    made = Builder(Block()).emit(name, *values, types=[TensorType(result, F32)], einsum_config=config)
    assert isinstance(made, Value) and made.op is not None
    return faults_of(made.op) or []


@pytest.mark.parametrize(("config", "shapes", "result"), [
    ("ab,bc->ac", ((2, 3), (3, 4)), (2, 4)), ("a,b->ab", ((2,), (3,)), (2, 3)), ("ab->a", ((2, 3),), (2,)), ("->", ((),), ()),
    ("ab -> ba", ((2, 3),), (3, 2)), ("aa->a", ((2, 2),), (2,)), ("...a->...", ((2, 3),), (2,)), ("aB->Ba", ((2, 3),), (3, 2))])
def test_letters_that_name_the_dimensions_are_right(
        config: str, shapes: tuple[tuple[int, ...], ...], result: tuple[int, ...]) -> None:
    assert faults(config, *shapes, result=result) == []


@pytest.mark.parametrize(("config", "shapes", "why"), [
    ("SAME", ((4,),), "'SAME' does not name the dimensions"), ("a->a", ((4,), (4,)), "has 1 terms for 2 operands"),
    ("a,a->a", ((4,),), "has 2 terms for 1 operands"), ("1->1", ((4,),), "other characters than letters"),
    ("ab->b", ((4,),), "'ab' does not name"), ("a->b", ((4,),), "einsum_config has a letter for each"),
    ("a->aa", ((4,),), "'aa' does not name"), ("a......->a", ((4,),), "other characters")])
def test_other_letters_are_found(config: str, shapes: tuple[tuple[int, ...], ...], why: str) -> None:
    """The kernel failed at them, and was told as defective."""
    try:
        (found,) = faults(config, *shapes, result=(4,))
    except ShapeError as error:  # one that is seen before the result's type is known
        found = str(error)
    assert why in found

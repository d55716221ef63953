"""Operators one by one: brought to the hub and written again, they have in LiteRT the results of the file they came from."""

from __future__ import annotations

import numpy as np
import pytest

from transload.errors import ConversionError

from tests.support.tflite_ops.cases_activation import CASES as ACTIVATIONS
from tests.support.tflite_ops.cases_conv import CASES as CONVOLUTIONS
from tests.support.tflite_ops.cases_elementwise import CASES as ELEMENTWISE
from tests.support.tflite_ops.cases_gather import CASES as GATHERING
from tests.support.tflite_ops.cases_matmul import CASES as PRODUCTS
from tests.support.tflite_ops.cases_movement import CASES as MOVEMENT
from tests.support.tflite_ops.cases_reduce import CASES as REDUCTIONS
from tests.support.tflite_ops.cases_resize import CASES as RESIZING
from tests.support.tflite_ops.harness import relative_difference
from tests.support.tflite_ops.spec import Case
from tests.support.tflite_ops.tolerances import integer_steps
from tests.support.tflite_ops.written import there_and_back

pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")

FORMATS = ("f32", "i8", "i8t", "i16", "i16t", "i32", "bool")
"""Formats whose results the hub has as LiteRT does: uint8 has kernels of its own, and hybrid operators are written out."""
THROUGH_FLOATS = ("REDUCE_PROD",)
"""Operators whose integers are rounded from floats, of which another order of multiplications gives others."""
FAMILIES = {
    "activation": ACTIVATIONS, "conv": CONVOLUTIONS, "elementwise": ELEMENTWISE, "gather": GATHERING, "matmul": PRODUCTS,
    "movement": MOVEMENT, "reduce": REDUCTIONS, "resize": RESIZING,
}


def chosen(cases: list[Case]) -> list[Case]:
    """Of each operator in each format the first case and some more."""
    met: dict[tuple[str, str], int] = {}
    some = []
    for case in cases:
        key = (case.op, case.format)
        met[key] = met.get(key, -1) + 1
        if case.format in FORMATS and met[key] % 5 == 0:
            some.append(case)
    return some


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", FAMILIES)
def test_an_operator_comes_back(family: str) -> None:
    wrong, exact = [], 0
    for case in chosen(FAMILIES[family]):
        try:
            made = there_and_back(case)
        except ConversionError:
            continue  # a finding tells it; which these are, the benchmark lists
        for theirs, ours in zip(made.expected, made.actual, strict=True) if made is not None else ():
            if theirs.dtype.kind == "f" and ours.shape == theirs.shape:
                near = (relative_difference(ours, theirs) <= 1e-5).all()
            else:
                assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, str(case)
                near = (np.abs(ours.astype(np.int64) - theirs) <= max(integer_steps(case), case.op in THROUGH_FLOATS)).all()
            exact += bool(near)
            if not near:
                wrong.append(str(case))
    assert not wrong and exact > 5

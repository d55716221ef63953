"""The cases as a whole: every operator of the schema has some, and the tables of exceptions name what there is."""

import pytest

from transload_converters.tflite.schema import operators

from tests.support.tflite_ops.cases_refused import UNSUPPORTED
from tests.support.tflite_ops.measure import all_cases
from tests.support.tflite_ops.spec import Case
from tests.support.tflite_ops.tolerances import FLOATS, STEPS, USUAL_KERNELS


@pytest.fixture(scope="module")
def every_case() -> list[Case]:
    return all_cases()


def test_every_operator_has_cases_or_a_reason(every_case: list[Case]) -> None:
    covered = {"CUSTOM" if case.custom is not None else case.op for case in every_case}
    assert covered | set(UNSUPPORTED) == set(operators().values())
    assert not covered & set(UNSUPPORTED)


def test_exceptions_are_of_cases_that_there_are(every_case: list[Case]) -> None:
    there = {(case.op, case.format) for case in every_case}
    assert there >= STEPS.keys() | FLOATS.keys() | USUAL_KERNELS.keys()

"""The cases as a whole: every operator of the schema has some, and the tables of exceptions name what there is."""

import importlib
from pathlib import Path

import pytest

from transload_converters.tflite.schema import operators

from .cases_refused import UNSUPPORTED
from .spec import Case
from .tolerances import FLOATS, STEPS, USUAL_KERNELS


@pytest.fixture(scope="module")
def every_case() -> list[Case]:
    package = __name__.rpartition(".")[0]
    families = [path.stem for path in Path(__file__).parent.glob("cases_*.py") if path.stem != "cases_refused"]
    return [case for family in families for case in importlib.import_module(f"{package}.{family}").CASES]


def test_every_operator_has_cases_or_a_reason(every_case: list[Case]) -> None:
    covered = {"CUSTOM" if case.custom is not None else case.op for case in every_case}
    assert covered | set(UNSUPPORTED) == set(operators().values())
    assert not covered & set(UNSUPPORTED)


def test_exceptions_are_of_cases_that_there_are(every_case: list[Case]) -> None:
    there = {(case.op, case.format) for case in every_case}
    assert there >= STEPS.keys() | FLOATS.keys() | USUAL_KERNELS.keys()

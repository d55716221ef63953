"""What cannot be converted says so, with a reason and what to do; and every operator of the schema is in a case or in that list."""

import importlib
from pathlib import Path

import pytest

from transload.errors import ConversionError
from transload_converters.tflite.schema import operators

from .cases_refused import FORMS, OPERATORS, UNSUPPORTED
from .harness import build, convert
from .spec import Case


@pytest.mark.parametrize(("why", "case"), [*OPERATORS, *FORMS], ids=str)
def test_refused(why: str, case: Case) -> None:
    with pytest.raises(ConversionError, match=why) as caught:
        convert(build(case))
    [finding] = caught.value.findings
    assert finding.names == ("out0",)
    assert finding.hint, "the error says what to do"


def test_every_operator_is_covered() -> None:
    """Every builtin operator of the schema has cases, or is among those that have no conversion; none is both."""
    package = __name__.rpartition(".")[0]
    families = [path.stem for path in Path(__file__).parent.glob("cases_*.py") if path.stem != "cases_refused"]
    cases = [case for family in families for case in importlib.import_module(f"{package}.{family}").CASES]
    covered = {"CUSTOM" if case.custom is not None else case.op for case in cases}
    assert covered | set(UNSUPPORTED) == set(operators().values())
    assert not covered & set(UNSUPPORTED)

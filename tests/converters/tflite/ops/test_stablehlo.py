"""StableHLO operations, against LiteRT."""

import pytest

import transload
from transload.errors import ConversionError

from tests.support.tflite_models import read_bytes, write_operator
from tests.support.tflite_ops.cases_stablehlo import CASES
from tests.support.tflite_ops.harness import judge
from tests.support.tflite_ops.spec import Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_stablehlo(case: Case) -> None:
    judge(case)


def test_a_custom_call_whose_result_has_open_sizes_is_refused() -> None:
    """Nothing says what it gives: as many results as it has were none."""
    content = write_operator(
        "STABLEHLO_CUSTOM_CALL", [((2, 3), "int32")], [((1,), "int32", None, None, (-1,))],
        {"call_target_name": "mine", "has_side_effect": False, "backend_config": "", "api_version": 0})
    with pytest.raises(ConversionError, match="the shape of its result is known only at run time") as caught:
        transload.lower(read_bytes(content), "top")
    assert "please report it" not in str(caught.value)

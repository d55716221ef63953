"""What cannot be converted says so, with a reason and what to do."""

import pytest

from transload.errors import ConversionError, Finding
from transload.ir.registry import lookup
from transload_converters.tflite.schema import option_fields, options_table
from transload_converters.tflite.writer import ModelWriter

from tests.support.tflite_ops.build import Built, build
from tests.support.tflite_ops.cases_refused import FORMS, UNSUPPORTED
from tests.support.tflite_ops.harness import convert, is_assumed_small, loaded
from tests.support.tflite_ops.spec import Case, cases, x, z


def bare_model(operator: str) -> Built:
    """A model of one operator with as many tensors as it must have; the subgraphs that it runs are one that does nothing."""
    model = ModelWriter()
    declaration = lookup(f"tfl.{operator.lower()}")
    operands = sum(not slot.optional for slot in declaration.operands)
    results = sum(not slot.optional for slot in declaration.results)
    body = model.add_subgraph("body")
    body.inputs = body.outputs = [body.add_tensor("same", (4,), "float32")]
    model.inputs = [model.add_tensor(f"in{index}", (4,), "float32") for index in range(operands)]
    model.outputs = [model.add_tensor(f"out{index}", (4,), "float32") for index in range(results)]
    table = options_table(operator)
    subgraphs = [name for name in option_fields(table) if name.endswith("subgraph_index")] if table else []
    model.add_operator(operator, model.inputs, model.outputs, dict.fromkeys(subgraphs, 1), table=None if subgraphs else "NONE")
    return Built(model.finish())


def finding(built: Built, why: str) -> Finding:
    """The one thing that the conversion finds."""
    with pytest.raises(ConversionError, match=why) as caught:
        convert(built)
    [found] = caught.value.findings
    return found


@pytest.mark.parametrize("operator", UNSUPPORTED)
def test_unsupported_operator(operator: str) -> None:
    found = finding(bare_model(operator), UNSUPPORTED[operator])
    assert found.what == f"tfl.{operator.lower()}"
    assert found.hint, "the error says what to do"


@pytest.mark.parametrize(("why", "case"), FORMS, ids=str)
def test_unsupported_form(why: str, case: Case) -> None:
    assert finding(build(case), why).names == ("out0",)


@pytest.mark.parametrize(("operator", "refused"), [("ADD", False), ("MUL", True), ("MAXIMUM", False)])
def test_int64_that_may_not_fit(operator: str, refused: bool) -> None:
    """Of two arguments the sum fits in 32 bits, the product need not."""
    for case in cases(operator, x(2, 3), z(3), formats="i64"):
        assert is_assumed_small(loaded(build(case, [(2, 3)]))) == refused

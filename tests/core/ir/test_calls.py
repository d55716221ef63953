"""A call fits the function that it names."""

from __future__ import annotations

import pytest

import transload
from transload.errors import ReadError

TEXT = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<2xf32>):
    %0 = CALL
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<?xf32>) -> tensor<?xf32>, sym_name = "helper"}> ({
  ^bb0(%x: tensor<?xf32>):
    %0 = "top.Abs"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    "func.return"(%0) : (tensor<?xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def text(call: str, helper: str = "?xf32") -> str:
    return TEXT.replace("CALL", call).replace("?xf32", helper)


@pytest.mark.parametrize("helper", ["?xf32", "2xf32"])
def test_sizes_may_be_open(helper: str) -> None:
    call = '"func.call"(%x) <{callee = @helper}> : (tensor<2xf32>) -> tensor<2xf32>'
    assert list(transload.load(text=text(call, helper), format="mlir").functions) == ["main", "helper"]


@pytest.mark.parametrize(("call", "helper", "why"), [
    ('"func.call"(%x, %x) <{callee = @helper}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>', "2xf32",
     "a function of 1 arguments and 1 results with 2 values, for 1 results"),
    ('"func.call"() <{callee = @helper}> : () -> tensor<2xf32>', "2xf32", "with 0 values, for 1 results"),
    ('"func.call"(%x) <{callee = @helper}> : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)', "2xf32",
     "with 1 values, for 2 results"),
    ('"func.call"(%x) <{callee = @helper}> : (tensor<2xf32>) -> tensor<2xf32>', "3xf32",
     r"argument 0 of @helper is tensor<3xf32>, and in the call tensor<2xf32>"),
    ('"func.call"(%x) <{callee = @helper}> : (tensor<2xf32>) -> tensor<2xf32>', "2xi8",
     r"argument 0 of @helper is tensor<2xi8>, and in the call tensor<2xf32>"),
], ids=["more values", "fewer values", "more results", "sizes", "elements"])
def test_what_does_not_fit_is_said(call: str, helper: str, why: str) -> None:
    held = text(call, helper)
    if "-> (tensor<2xf32>, tensor<2xf32>)" in call:
        held = held.replace("%0 = " + call, "%0:2 = " + call).replace('"func.return"(%0) : (tensor<2xf32>)',
                                                                     '"func.return"(%0#0) : (tensor<2xf32>)', 1)
    with pytest.raises(ReadError) as error:
        transload.load(text=held, format="mlir")
    (finding,) = error.value.findings
    assert finding.what == "func.call" and why in finding.why

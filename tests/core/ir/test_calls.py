"""A call fits the function that it names."""

from __future__ import annotations

from typing import Any

import pytest

import transload
from transload.errors import ReadError
from transload.passes import inline
from transload.text import parse_module

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


def test_a_call_is_looked_at_once_where_it_is_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    """All calls of a function were looked at again with each that it calls: minutes for some thousand functions."""
    count = 200
    calls = "".join(
        f'%v{i + 1} = "func.call"(%v{i}) {{callee = @f{i}}} : (tensor<4xf32>) -> tensor<4xf32>\n' for i in range(count))
    function = ('"func.func"() <{{sym_name = "{}", function_type = (tensor<4xf32>) -> tensor<4xf32>}}> ({{\n'
                '^b(%v0: tensor<4xf32>):\n{}"func.return"(%v{}) : (tensor<4xf32>) -> () }}) : () -> ()\n')
    functions = function.format("main", calls, count) + "".join(function.format(f"f{i}", "", 0) for i in range(count))
    module = parse_module('"builtin.module"() ({ ' + functions + " }) : () -> ()")
    seen: list[Any] = []
    monkeypatch.setattr(inline, "_fault_of", lambda call, *given: (seen.append(call), ("", ""))[1])
    assert inline.inline_calls(module) and len(seen) == count


_RELU = """"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %0 = "tosa.abs"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  "func.return"(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
"""
_CALL = _RELU.replace('"tosa.abs"(%a)', '"func.call"(%a) <{callee = @g}>')
_DECLARED = """"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "g"}> ({ }) : () -> ()
"""


@pytest.mark.parametrize(("functions", "why"), [
    (_RELU * 2, "@main is defined 2 times"),
    (_CALL + _RELU.replace("main", "g") * 2, "@g is defined 2 times"),
    (_RELU + '"builtin.module"() <{sym_name = "main"}> ({ }) : () -> ()', "@main is defined 2 times"),
    (_CALL, "there is no @g"),
    (_CALL + '"builtin.module"() <{sym_name = "g"}> ({ }) : () -> ()', "there is no @g"),
    (_RELU.replace('"main"', '"main", sym_visibility = "x"'), "'sym_visibility' must be 'public' or 'private' or 'nested'"),
    (_RELU.replace('"main"', '"main", sym_visibility'), "'sym_visibility' must be 'public' or 'private' or 'nested'"),
    (_RELU.replace('"main"', '"main", sym_visibility = @private'), "'sym_visibility' must be 'public' or 'private' or 'nested'"),
    (_RELU.replace('"main"', "@main"), "'sym_name' must be string, and is @main"),
    (_RELU + _DECLARED, "without a body, is private"),
    (_RELU.replace("%0 =", _RELU.replace("%", "%in").replace("main", "g") + "%0 ="), "a function is no part of another one"),
])
def test_names_of_functions_are_looked_at(functions: str, why: str) -> None:
    """Of two functions of one name the last ran, and calls of none were seen when they ran."""
    with pytest.raises(ReadError) as error:
        transload.load(text='"builtin.module"() ({ ' + functions + " }) : () -> ()", format="mlir")
    assert any(why in finding.why for finding in error.value.findings)


def test_functions_that_are_declared_and_nested_are_fine() -> None:
    text = '"builtin.module"() ({ ' + _CALL + _DECLARED.replace('"g"', '"g", sym_visibility = "private"') + (
        '"builtin.module"() ({ ' + _RELU + " }) : () -> ()") + " }) : () -> ()"
    assert list(transload.load(text=text, format="mlir").functions) == ["main", "g"]

"""Ops in their dialect's own form: core's own, and those whose reading a plugin gives."""

from __future__ import annotations

import pytest

from transload.errors import TextError
from transload.facts import Facts, FactTable
from transload.text import parse_module, print_module
from transload.text.assembly import AssemblyParser, Written

from tests.core.test_facts import plugin, using

FORMS = FactTable("acme")


@FORMS("mix")
def mix(parser: AssemblyParser, name: str) -> Written:
    """`acme.mix %a, %b {...} : type`."""
    operands = parser.take_uses()
    attributes = parser.take_attributes(name)
    parser.take(":")
    type_ = parser.take_type()
    return Written(operands, [type_], attributes)


@FORMS("acme.*")
def region(parser: AssemblyParser, name: str) -> Written:
    """`acme.any { ops }`."""
    return Written(regions=[parser.take_region()])


def read(text: str) -> str:
    with using(plugin("acme", Facts("assembly", "acme", FORMS))):
        return print_module(parse_module(text))


def test_functions_are_read_as_tools_print_them() -> None:
    pretty = """
module @m attributes {a = 1 : i64} {
  func.func private @g(%arg0: tensor<2xf32> {x.y = "q"} loc("in")) -> (tensor<2xf32> {u}) attributes {k} {
    return %arg0 : tensor<2xf32> loc("out")
  }
  func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = call @g(%arg0) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc1)
    func.return %0 : tensor<2xf32>
  }
  func.func private @declared(tensor<2xf32>, i32)
}
#loc1 = loc("called")
"""
    generic = """
"builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{sym_name = "g", function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_visibility = "private",
                  arg_attrs = [{x.y = "q"}], res_attrs = [{u}]}> ({
  ^bb0(%arg0: tensor<2xf32> loc("in")):
    "func.return"(%arg0) : (tensor<2xf32>) -> () loc("out")
  }) {k} : () -> ()
  "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> tensor<2xf32>}> ({
  ^bb0(%arg0: tensor<2xf32>):
    %0 = "func.call"(%arg0) <{callee = @g}> : (tensor<2xf32>) -> tensor<2xf32> loc("called")
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{sym_name = "declared", function_type = (tensor<2xf32>, i32) -> (), sym_visibility = "private"}> ({
  }) : () -> ()
}) {a = 1 : i64} : () -> ()
"""
    assert print_module(parse_module(pretty)) == print_module(parse_module(generic))


def test_a_plugin_says_how_its_ops_are_read() -> None:
    text = read("""
func.func @main(%a: f32) -> f32 {
  %b = "acme.mix"(%a, %a) : (f32, f32) -> f32
  %c = acme.mix %a, %b {gain = 2 : i64} : f32 loc("c")
  acme.twice { %d = acme.mix %c : f32 }
  return %c : f32
}""")
    assert '%1 = "acme.mix"(%arg0, %0) {gain = 2 : i64} : (f32, f32) -> f32 loc("c")' in text
    assert '%2 = "acme.mix"(%1) : (f32) -> f32' in text


@pytest.mark.parametrize(("body", "place", "message"), [
    ("%b = acme.mix %c : f32", "2:15", "'%c' is not defined"),
    ("%b, %c = acme.mix %a : f32", "2:1", "has 1 results"),
    ("acme.twice { %b = acme.mix %a : f32 }\n acme.mix %b : f32", "3:11", "'%b' is not defined"),
    ("other.mix %a : f32", "2:1", "no plugin says how other.mix is written"),
    ("return %a : f64", "2:1", "is of type f32 where it is defined, and of f64 here"),
    ("return %a, %a : f32", "2:1", "2 operands and 1 types"),
    ("call @g(%a : (f32) -> f32", "2:12", "expected ')'"),
    ("acme.twice {" * 200, "2:1201", "nested more than"),
])
def test_what_is_wrong_is_said_with_its_place(body: str, place: str, message: str) -> None:
    with pytest.raises(TextError) as caught:
        read(f"func.func @main(%a: f32) {{\n{body}\n}}")
    assert f":{place}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_misspelt_op_is_told_the_nearest_of_its_dialect() -> None:
    with pytest.raises(TextError) as caught:
        read("func.func @main(%a: f32) {\n  func.retrun %a : f32\n}")
    assert "the nearest op is 'func.return'" in caught.value.hint

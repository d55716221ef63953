"""How `module`, `func.func`, `return` and `call` are written (MLIR's builtin and func dialects)."""

from __future__ import annotations

import re
from typing import Any

from ..facts import FactTable
from ..ir import Block, FunctionType, Region, Symbol, Type
from ..text.assembly import AssemblyParser, Written
from ..text.strings import BARE_NAME, SUFFIX_NAME

__all__ = ["BUILTIN_FORMS", "FUNC_FORMS"]

BUILTIN_FORMS, FUNC_FORMS = FactTable("builtin"), FactTable("func")

_argument = re.compile(rf"%{SUFFIX_NAME}")
_bare = re.compile(BARE_NAME)
_visibility = re.compile(r"(?:private|public|nested)\b")
_arrow = re.compile("->")


@BUILTIN_FORMS("module")
def module(parser: AssemblyParser, name: str) -> Written:
    """`module @name attributes {...} { ops }`."""
    attributes: dict[str, Any] = {"sym_name": parser.take_symbol_name()} if parser.peek() == "@" else {}
    attributes |= parser.take_attributes(name, "attributes")
    return Written(attributes=attributes, regions=[parser.take_isolated_region()])


@FUNC_FORMS("func")
def function(parser: AssemblyParser, name: str) -> Written:
    """`func.func private @name(%x: type {...}) -> (type {...}) attributes {...} { ops }`."""
    visibility = parser.try_match(_visibility)
    symbol = parser.take_symbol_name() if parser.peek() == "@" else parser.take_match(_bare, "the name of a function")
    block = Block()
    names, argument_attributes = _arguments(parser, block)
    results: list[Type] = []
    result_attributes: list[dict[str, Any]] = []
    if parser.try_match(_arrow):
        _results(parser, results, result_attributes)
    attributes: dict[str, Any] = {
        "sym_name": symbol, "function_type": FunctionType(tuple(value.type for value in block.arguments), tuple(results))}
    if visibility is not None:
        attributes["sym_visibility"] = visibility
    if any(argument_attributes):
        attributes["arg_attrs"] = argument_attributes
    if any(result_attributes):
        attributes["res_attrs"] = result_attributes
    attributes |= parser.take_attributes(name, "attributes")
    region = parser.take_isolated_region(block, names) if parser.peek() == "{" else Region()
    return Written(attributes=attributes, regions=[region])


def _arguments(parser: AssemblyParser, block: Block) -> tuple[list[str], list[dict[str, Any]]]:
    """Add the arguments in parentheses to a block; their names (those of a function without a body need none) and attributes."""
    names: list[str] = []
    attributes: list[dict[str, Any]] = []
    parser.take("(", "before the arguments")
    while parser.peek() != ")":
        argument = parser.try_match(_argument)
        if argument is not None:
            parser.take(":", "before the argument's type")
        value = block.add_argument(parser.take_type())
        attributes.append(parser.take_dictionary() if parser.peek() == "{" else {})
        parser.try_location(value)
        names.append(argument or "")
        if not parser.try_take(","):
            break
    parser.take(")", "after the arguments")
    return names, attributes


def _results(parser: AssemblyParser, results: list[Type], attributes: list[dict[str, Any]]) -> None:
    if not parser.try_take("("):
        results.append(parser.take_type())
        attributes.append({})
        return
    while parser.peek() != ")":
        results.append(parser.take_type())
        attributes.append(parser.take_dictionary() if parser.peek() == "{" else {})
        if not parser.try_take(","):
            break
    parser.take(")", "after the results")


@FUNC_FORMS("return")
def leave(parser: AssemblyParser, name: str) -> Written:
    """`return %a, %b : type, type`."""
    attributes = parser.take_attributes(name)
    values = parser.take_uses()
    if values:
        parser.take(":", "before the types")
        parser.expect_types(values, parser.take_types(), name)
    return Written(values, attributes=attributes)


@FUNC_FORMS("call")
def call(parser: AssemblyParser, name: str) -> Written:
    """`call @name(%a) : (type) -> type`."""
    attributes: dict[str, Any] = {"callee": Symbol(parser.take_symbol_name())}
    parser.take("(", "before the operands")
    values = parser.take_uses()
    parser.take(")", "after the operands")
    attributes |= parser.take_attributes(name)
    parser.take(":", "before the types")
    inputs, outputs = parser.take_signature()
    parser.expect_types(values, inputs, name)
    return Written(values, outputs, attributes)

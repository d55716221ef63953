"""The conversion as a whole: what is done to a module before, during and after."""

from __future__ import annotations

from typing import Any

from transload.context import new_run
from transload.errors import ConversionError, Finding, PassError, merge_findings
from transload.ir import Module, update_function_type
from transload.passes.inline import named_functions
from transload.plugin import resolve
from transload.plugin_host import host
from transload.rewrite import convert_ops

from .structure import check_borders, fill_in_sizes, flatten_tuples

__all__ = ["raise_module"]

AFTER = ("fold-constants", "dce", "cse", "recognize", "dce")
"""Passes run after the conversion, those of them that there are."""


def raise_module(module: Module) -> None:
    """Convert a module of StableHLO ops to `top`, in place.

    Calls are replaced by the functions' ops first, and loops of a known number of rounds by copies of their bodies. Raises
    `ConversionError` with every op that cannot be converted.
    """
    try:
        _run(module, "inline")
    except PassError as error:
        raise ConversionError(error.message, error.findings or [Finding("func.call", error.message)]) from None
    flatten_tuples(module)
    fill_in_sizes(module)
    _run(module, "dce")
    check_borders(module)
    with new_run():  # how much its loops may become counts for the whole module
        _convert_functions(module)
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)
    for name in AFTER:
        _run(module, name)


def _convert_functions(module: Module) -> None:
    """Convert what is run; functions that ops only name, as composites do their decompositions, go."""
    findings: list[Finding] = []
    table = host().table("stablehlo-to-top")
    functions = list(module.functions.values())
    named = named_functions(module)
    entries = [
        function for function in functions
        if function.attribute("sym_visibility") != "private" and function.attributes["sym_name"] not in named] or functions
    for function in entries:
        try:
            convert_ops(function, table, "stablehlo", hint=_hint)
        except ConversionError as error:
            findings.extend(error.findings)
    if findings:
        merged = merge_findings(findings)
        kinds = len({finding.what for finding in merged})
        total = sum(finding.count for finding in merged)
        raise ConversionError(f"{total} op(s) of {kinds} kind(s) cannot be converted from 'stablehlo'", merged)
    for function in functions:
        if function not in entries:
            function.erase()


def _run(module: Module, name: str, **options: Any) -> None:
    """Run a pass, if there is one of that name."""
    there = host().passes.get(name)
    if there is not None:
        resolve(there.run)(module, **options)


def _hint(op_name: str) -> str:
    return (f"a plugin can add it: hook register_conversions with Conversion(extends='stablehlo-to-top', "
            f"table=<a RewriteTable with {op_name!r}>)")

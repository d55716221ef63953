# ruff: noqa: E501 - lines of programs
"""f64 on the way to TOSA: said, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import transload
from transload.errors import ConversionError
from transload.ir import Module
from transload.text import parse_module


def _module(element: str) -> Module:
    type_ = f"tensor<4x{element}>"
    return parse_module(
        f'"func.func"() <{{function_type = ({type_}) -> ({type_}), sym_name = "main", arg_attrs = [{{transload.name = "x"}}]}}> ({{\n'
        f'^bb0(%a: {type_}):\n%r = "top.Exp"(%a) : ({type_}) -> {type_} loc("e")\n"func.return"(%r) : ({type_}) -> ()\n}}) : () -> ()\n')


def test_narrowing_is_noted(tmp_path: Path) -> None:
    (note,) = transload.lower(_module("f64"), to="tosa").notes
    assert "2 values are f64" in note
    assert "f64=refused" in note
    assert transload.lower(_module("f32"), to="tosa").notes == ()
    transload.convert(_module("f64"), "tosa", tmp_path, verify=False)
    assert json.loads((tmp_path / "report.json").read_text())["notes"] == [note]


def test_narrowing_is_refused_on_request() -> None:
    with pytest.raises(ConversionError) as raised:
        transload.lower(_module("f64"), to="tosa", f64="refused")
    assert {(finding.what, finding.names) for finding in raised.value.findings} >= {("top.Exp", ("e",))}
    assert all("f64" in finding.why for finding in raised.value.findings)
    transload.lower(_module("f32"), to="tosa", f64="refused")

# ruff: noqa: E501 - lines of programs
"""f64 on the way to TOSA: said, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import Module
from transload.testing import build_op
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


@pytest.mark.parametrize("target", ["tosa", "tflite"])
@pytest.mark.parametrize(("most", "is_told"), [(1e300, True), (3e38, False), (np.inf, False)])
def test_numbers_that_become_infinite_are_named(target: str, most: float, is_told: bool) -> None:
    module = build_op("top.Add", np.zeros(2), np.array([1.0, most]), constant=(1,))
    (note,) = transload.lower(module, to="tosa" if target == "tosa" else "tfl").notes
    assert ("become infinite" in note) == is_told


def test_narrowing_is_refused_on_request() -> None:
    with pytest.raises(ConversionError) as raised:
        transload.lower(_module("f64"), to="tosa", f64="refused")
    assert {(finding.what, finding.names) for finding in raised.value.findings} >= {("top.Exp", ("e",))}
    assert all("f64" in finding.why for finding in raised.value.findings)
    transload.lower(_module("f32"), to="tosa", f64="refused")

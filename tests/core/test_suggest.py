"""What is proposed in place of a name that there is not: one that may be meant, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from transload.suggest import nearest

TARGETS = ("tosa", "openvino", "ethos-u55-128", "ethos-u55-32", "sophgo", "tflite")


@pytest.mark.parametrize(("name", "meant"), [
    ("tsoa", "tosa"), ("openvion", "openvino"), ("nope", None), ("ethos", "ethos-u55-32"), ("e", None), ("", None),
    ("tfltie", "tflite"), ("TOSA", "tosa"), ("TFLite", "tflite"), ("Ethos-U55-32", "ethos-u55-32")])
def test_the_name_that_may_be_meant(name: str, meant: str | None) -> None:
    assert nearest(name, TARGETS) == meant


@pytest.mark.parametrize(("option", "meant"), [
    ("--nope", ""), ("--anw", " Did you mean '--anew'?"), ("--jsn", " Did you mean '--json'?")])
def test_options_are_not_alike_for_what_all_begin_with(option: str, meant: str, cli: Any) -> None:
    code, _, error = cli("convert", "m.onnx", option)
    assert code == 2 and error.endswith(f"error: No such option '{option}'.{meant}\n")


def test_what_is_always_refused_is_not_proposed(cli: Any) -> None:
    code, _, error = cli("convert", "m.onnx", "--quantize", "int5")
    assert code == 2 and "no quantizer is called 'int5'" in error and "'int4'" not in error


@pytest.mark.parametrize("line", [["convert"], ["convert", "m.onnx", "--jsn"], ["convert", "m.onnx", "--verify=perhaps"]])
def test_json_says_mistakes_in_the_same_words(line: list[str], cli: Any) -> None:
    code, out, error = cli(*line, "--json")
    assert code == 2 and error.endswith(f"error: {json.loads(out)['error']['message']}\n")

"""A conversion's report given as a model: it says which folder is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

import transload
from transload.errors import ReadError


@pytest.mark.parametrize("target", ["tosa", "stablehlo", "xla-cpu", "onnx", "tflite"])
def test_the_report_of_a_conversion_is_no_model(examples: Path, tmp_path: Path, target: str) -> None:
    """The hint listed all readers, where the folder itself is taken; that of StableHLO took reports that name its ops."""
    transload.convert(examples / "digits" / "digits_float.tflite", target, tmp_path, verify=False)
    with pytest.raises(ReadError, match="is the report of a conversion, and no model") as caught:
        transload.load(tmp_path / "report.json")
    assert caught.value.hint == f"give its folder, {tmp_path}"


@pytest.mark.parametrize("name", ["report.json", "conversions.json", "ops.json"])
def test_json_that_names_ops_is_no_program(tmp_path: Path, name: str) -> None:
    """As a damaged report, or what is written of a program: it was parsed as MLIR, and refused at its first brace."""
    for text in ('{"ops": {"stablehlo.add": 2}}', '\n[\n "stablehlo.add"]', '{"ops": {"stablehlo.add": 2'):
        (tmp_path / name).write_text(text)
        with pytest.raises(ReadError) as caught:
            transload.load(tmp_path / name)
        assert "that can be read" not in str(caught.value)

"""A conversion's report given as a model: it says which folder is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

import transload
from transload.errors import ReadError


def test_the_report_of_a_conversion_is_no_model(examples: Path, tmp_path: Path) -> None:
    """No reader knew its format, and the hint listed all readers, where `run` and the folder itself are taken."""
    transload.convert(examples / "digits" / "digits_float.tflite", "tosa", tmp_path, verify=False)
    with pytest.raises(ReadError, match="no reader knows this format") as caught:
        transload.load(tmp_path / "report.json")
    assert "report of a conversion" in caught.value.hint and str(tmp_path) in caught.value.hint

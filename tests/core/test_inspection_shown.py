"""What a notebook and a prompt show of an inspection."""

from __future__ import annotations

from pathlib import Path

import transload


def test_an_inspection_is_shown_as_modules_are(examples: Path) -> None:
    found = transload.inspect(examples / "digits" / "digits_float.onnx", "ethos-u55-128")
    assert repr(found).startswith("<Inspection of onnx: ") and repr(found).endswith(", not taken by ethos-u55-128>")
    assert "<table>" in found._repr_html_() and "input image: tensor&lt;" in found._repr_html_()

"""What tflite-micro's interpreter prints is caught, also where nothing can be written to catch it in."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from transload.errors import TransloadError
from transload_targets.tflm.runtime import _said


def test_what_is_printed_is_caught() -> None:
    with _said() as said:
        os.write(2, b"/a/kernels.cc:12 no kernel\n[Recording] 5\n")
        assert said() == "no kernel"


def test_no_place_for_what_is_printed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a FileNotFoundError of the plugin."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(TransloadError, match="no temporary file can be written"), _said():
        pass

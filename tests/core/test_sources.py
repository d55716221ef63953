"""What a reader is given of a file, and what becomes of that when the file changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import transload.plugin
from transload.plugin import Source

CUT = """
import os, shutil, sys
import transload
from transload.text import print_module
shutil.copy(sys.argv[1], sys.argv[2])
model = transload.load(sys.argv[2])
before = print_module(model, constants="inline")
os.truncate(sys.argv[2], 0)
again = transload.load(sys.argv[1])
assert print_module(model, constants="inline") == print_module(again, constants="inline") == before
"""


@pytest.mark.parametrize("name", ["digits_int8.tflite", "digits_float.onnx"])
def test_a_file_that_is_cut_short_while_it_is_used_ends_nothing(name: str, examples: Path, tmp_path: Path) -> None:
    """Of a file that is mapped, the pages behind its new end are none, and whoever reads them is killed."""
    command = [sys.executable, "-c", CUT, str(examples / "digits" / name), str(tmp_path / name)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_large_files_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transload.plugin, "MAPPED_FROM", 4)
    for content in (b"", b"1234", b"12345"):
        (tmp_path / "x").write_bytes(content)
        source = Source(tmp_path / "x")
        assert bytes(source.data) == content
        assert isinstance(source._data, bytes) == (len(content) <= 4)
        assert source.data.readonly

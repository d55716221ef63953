"""What a process finds around it: how wide the terminal is, what its environment says, names too long for a disk."""

from __future__ import annotations

from pathlib import Path

import pytest

import transload.cli


@pytest.mark.parametrize("columns", [1, 2, 7, 20, 33])
def test_tables_on_narrow_terminals(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A row told one column below the other was too wide as well, and so was that told once more, for ever."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert transload.cli.run(["targets", "tosa"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and max(map(len, lines)) <= max(columns, 2 + 2)


@pytest.mark.parametrize("columns", ["0", "", "x", "-5"])
def test_terminals_that_do_not_say_how_wide_they_are(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert transload.cli.run(["targets", "tosa"]) == 0
    assert "TOSA" in capsys.readouterr().out


@pytest.mark.parametrize(("said", "shown"), [("0", False), ("", False), ("1", True), ("yes", True)])
def test_debug_is_asked_for(said: str, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLOAD_DEBUG", said)
    if shown:
        with pytest.raises(transload.TransloadError):
            transload.cli.run(["inspect", "nothing.tflite"])
    else:
        assert transload.cli.run(["inspect", "nothing.tflite"]) == 3


def test_names_too_long_for_a_disk_are_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("convert", "inspect", "run"):
        assert transload.cli.run([command, str(tmp_path / ("a" * 300 + ".tflite"))]) == 3, command
        assert "File name too long" in capsys.readouterr().err

"""What a process finds around it: how wide the terminal is, what its environment says, names too long for a disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import transload.cli
from transload.guard import PluginInfo, failure


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
    assert transload.cli.run(["targets", "nothing"]) == 2 and "no target is called 'nothing'" in capsys.readouterr().err
    assert transload.cli.run(["--nothing"]) == 2 and "No such option" in capsys.readouterr().err


@pytest.mark.parametrize(("said", "shown"), [("0", False), ("", False), ("1", True), ("yes", True)])
def test_debug_is_asked_for(
    said: str, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    """A traceback is shown beside what is told without it: the same words, the same JSON, the same exit code."""
    monkeypatch.setenv("TRANSLOAD_DEBUG", said)
    assert transload.cli.run(["inspect", "nothing.tflite", "--json"]) == 3
    told = capsys.readouterr()
    assert json.loads(told.out)["exit_code"] == 3
    assert "error: nothing.tflite: there is no such file" in told.err
    assert ("Traceback" in told.err) == shown


@pytest.mark.parametrize(("line", "code"), [
    (["convert", "nothing.tflite"], 3), (["targets", "nothing"], 2), (["targets", "-x"], 2)])
def test_a_traceback_changes_no_exit_code(line: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert transload.cli.run([*line, "--debug"]) == transload.cli.run(line) == code
    assert capsys.readouterr().err.count("Traceback") == (line[-1] != "-x")


def test_names_too_long_for_a_disk_are_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("convert", "inspect", "run"):
        assert transload.cli.run([command, str(tmp_path / ("a" * 300 + ".tflite"))]) == 3, command
        assert "File name too long" in capsys.readouterr().err


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["tosa", "stablehlo", "ethos-u85-256"])
def test_a_python_without_docstrings_makes_the_same(target: str, examples: Path, tmp_path: Path) -> None:
    """`python -OO` has none: plugins were said to have failed, `'NoneType' object has no attribute 'expandtabs'`."""
    made = []
    for flags in ((), ("-OO",)):
        out = tmp_path / f"out{len(made)}"
        done = subprocess.run(
            [sys.executable, *flags, "-m", "transload", "convert", examples / "digits/digits_int8.tflite", "-t", target,
             "-o", out], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        made.append({file.name: file.read_bytes() for file in out.iterdir() if file.name != "report.json"})
    assert made[0] and made[0] == made[1]


def test_rules_without_docstrings_are_told_by_their_names(examples: Path, tmp_path: Path) -> None:
    told = []
    for flags in ((), ("-OO",)):
        done = subprocess.run(
            [sys.executable, *flags, "-m", "transload", "convert", examples / "digits/digits_float.onnx", "-t", "ethos-u85-256",
             "-o", tmp_path / "out"], capture_output=True, text=True)
        told.append((done.returncode, len(done.stderr.splitlines()) > 3, "Traceback" in done.stderr))
    assert told[0] == told[1] and not told[0][2]


def test_checks_of_plugins_are_none_where_python_leaves_out_asserts() -> None:
    done = subprocess.run([sys.executable, "-O", "-c", "import transload.testing"], capture_output=True, text=True)
    assert done.returncode != 0 and "which `python -O` leaves out" in done.stderr


def test_files_have_the_permissions_that_the_user_gives(examples: Path, tmp_path: Path) -> None:
    """Artifacts could be read by everybody where the umask said nobody."""
    before = os.umask(0o027)
    try:
        assert transload.cli.run(["convert", str(examples / "digits/digits_int8.tflite"), "-o", str(tmp_path / "out")]) == 0
        assert transload.cli.run(["new-plugin", "acme", "-o", str(tmp_path / "acme")]) == 0
    finally:
        os.umask(before)
    for folder in (tmp_path / "out", tmp_path / "acme/acme"):
        assert folder.stat().st_mode & 0o777 == 0o750
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir() if file.is_file()} == {0o640}


@pytest.mark.parametrize("lack", [
    OSError(24, "Too many open files"), ImportError("x.so: failed to map segment from shared object")])
def test_what_the_system_has_no_more_of_is_nobodys_fault(lack: Exception) -> None:
    told = failure(None, "reader 'onnx' (warm)", lack)
    assert str(lack) in told.message and "ulimit -a" in str(told.hint) and "report" not in str(told.hint)


def test_no_plugin_is_named_for_what_the_system_has_no_more_of() -> None:
    """A limit of open files was told as a plugin that failed."""
    told = failure(PluginInfo("acme", "acme-chips", "1.2", "acme"), "runtime 'chip' (warm)", OSError(24, "Too many open files"))
    assert told.message.startswith("the system gives this process no more of what it needs, in runtime 'chip' (warm): OSError: ")
    assert "acme" not in told.message and told.exit_code == 3

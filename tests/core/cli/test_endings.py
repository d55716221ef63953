"""What becomes of an exception that no command caught."""

from __future__ import annotations

import pytest

from transload.cli import main, run
from transload.cli.endings import ending
from transload.cli.session import Session
from transload.errors import RunError
from transload.shortage import SYSTEM, shortage


@pytest.mark.parametrize("error", [
    MemoryError(), OSError(12, "Cannot allocate memory"),
    SystemError("<built-in function compile> returned NULL without setting an exception"),
    ImportError("x.so: failed to map segment from shared object"), ImportError("x.so: cannot allocate memory")])
def test_a_library_that_memory_does_not_hold_is_no_defect(error: BaseException) -> None:
    end = ending(error, Session(debug=False))
    assert isinstance(end.error, RunError) and "not enough memory" in str(end.error) and end.code == 3


def test_a_process_that_may_open_no_more_files_is_no_defect() -> None:
    end = ending(OSError(24, "Too many open files", "m.onnx"), Session(debug=False))
    assert end.code == 3 and "m.onnx: Too many open files" in str(end.error) and "ulimit -a" in str(end.error)


@pytest.mark.parametrize("error", [
    RuntimeError("can't start new thread"), RuntimeError("std::system_error: Resource temporarily unavailable")])
def test_a_process_that_may_start_no_thread_is_no_defect(error: RuntimeError) -> None:
    """Under `ulimit -u`: it asked to be reported."""
    end = ending(error, Session(debug=False))
    assert isinstance(end.error, RunError) and end.code == 3 and str(error) in str(end.error) and "ulimit -a" in str(end.error)
    assert shortage(error) == SYSTEM and shortage(RuntimeError("dictionary changed size during iteration")) is None


def test_a_page_about_a_library_is_told_in_its_line() -> None:
    page = ImportError("\n\nIMPORTANT: PLEASE READ THIS FOR ADVICE ON HOW TO SOLVE THIS ISSUE!\n\nWe have compiled some common "
                       "reasons.\n\nOriginal error was: libblas.so: failed to map segment from shared object\n")
    said = str(ending(page, Session(debug=False)).error)
    assert "libblas.so: failed to map segment" in said and "ADVICE" not in said


@pytest.mark.parametrize("error", [
    MemoryError(), RuntimeError("can't start new thread"), OSError(24, "Too many open files"),
    ImportError("x.so: failed to map segment")])
def test_where_not_even_the_error_can_be_told_it_is_said_in_a_line(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    """What tells of errors did not load any more, and Python's traceback was all there was."""
    def fails(arguments: object) -> int:
        raise error

    monkeypatch.setattr("transload.cli.run", fails)
    with pytest.raises(SystemExit) as ended:
        main(["targets"])
    said = capsys.readouterr().err
    assert ended.value.code == 3 and said.startswith("error: ") and "ulimit -a" in said and "Traceback" not in said
    with pytest.raises(type(error)):
        main(["targets", "--debug"])


def test_another_library_that_does_not_load_is_one() -> None:
    assert ending(ImportError("x.so: undefined symbol: f"), Session(debug=False)).code == 1


def test_a_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    """As click has it: to standard error, with exit code 2; it was one line of an error, with `\\n` for each newline."""
    assert run(["npz"]) == 2
    err = capsys.readouterr().err
    assert run(["npz", "--help"]) == 0
    assert err == capsys.readouterr().out


def test_a_missing_argument_is_told_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "error: Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish"

"""Tables fit the terminal, with their words whole."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from transload.cli import run
from transload.cli.show import console, table

LISTINGS: list[tuple[str, ...]] = [
    ("plugins",), ("targets",), ("targets", "ethos-u85-256"), ("targets", "tosa"), ("passes",), ("ops", "tosa"),
    ("ops", "top.Conv"), ("coverage", "--from", "onnx", "--to", "top"), ("--help",), ("convert", "--help"), ("run", "--help"),
]


@pytest.mark.parametrize("arguments", LISTINGS)
def test_listings_fit_80_columns(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each line has 80 columns at most, and each word of a wide listing is there in the narrow one."""
    said = {}
    for width in ("80", "400"):
        monkeypatch.setenv("COLUMNS", width)
        assert run(list(arguments)) == 0
        said[width] = capsys.readouterr().out
    assert max(map(len, said["80"].splitlines())) <= 80
    words = {word for word in said["400"].split() if len(word) <= 36}
    assert words <= set(said["80"].split()), "broken"
    if arguments[0] == "--help":
        assert said["80"].count("...") == 1, "only the usage line has dots, no command's help is cut"


def drawn(width: int, monkeypatch: pytest.MonkeyPatch, *given: Any, **more: Any) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(table(*given, **more))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_what_does_not_fit_side_by_side_is_told_below(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, row = ("name", "kind", "place"), ("a_name_of_20_letters", "another_of_21_letters", "")
    wide, narrow = (drawn(width, monkeypatch, columns, [row]).splitlines() for width in (60, 40))
    assert wide[1] == "a_name_of_20_letters  another_of_21_letters"
    assert narrow == ["name    a_name_of_20_letters", "  kind  another_of_21_letters"]


def test_the_widest_column_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = drawn(30, monkeypatch, ("op", "what"), [("short.op", "words that are to be wrapped, not broken")])
    assert [line[10:] for line in shown.splitlines()] == ["what", "words that are to be", "wrapped, not broken"]


def test_control_characters_are_shown_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = drawn(80, monkeypatch, ("tensor",), [("a\x1b[31mred\x07\r\u202e",)])
    assert shown.splitlines()[1] == "a\\x1b[31mred\\x07\\r\\u202e"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert re.search(r"_TRANSLOAD_COMPLETE=\w+_complete", capsys.readouterr().out)


def test_names_are_completed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TRANSLOAD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "transload convert --target stab")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert run([]) == 0 and capsys.readouterr().out == "plain,stablehlo\n"
    monkeypatch.setenv("COMP_WORDS", "transload convert --quantize int")
    assert run([]) == 0 and "plain,int8\n" in (offered := capsys.readouterr().out) and "int4" not in offered  # which is refused




def test_what_quantizing_gave_is_told_in_words() -> None:
    """What is exact has no unit, and a model of floats is a warning."""
    from transload.cli.quantized import _with_unit, all_rows
    from transload.layers import Nearness
    from transload.report import QuantizationReport

    assert [_with_unit(Nearness(1.0, 1.0, sqnr)) for sqnr in (float("inf"), 20.0)] == ["exact", "20.0 dB"]
    details = {"notes": ["an input is 0", "nothing is quantized"], "nothing quantized": ["nothing is quantized"]}
    rows = all_rows(QuantizationReport("int8", {}, None, {}, {}, {}, details))
    assert rows[1:] == [("note", "an input is 0"), ("warning", "nothing is quantized")]


def test_a_command_is_not_broken(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Who copied it from a narrow terminal, or read it from a pipe, had half of it."""
    monkeypatch.setenv("COLUMNS", "40")
    command = "`transload convert a.mlir --target NAME --data ...`"
    for text in (f"next: {command}, and {command} says more of all that is told here", f"a\n    {command}"):
        console().print(text, markup=False)
        said = capsys.readouterr().out
        assert said.count(command) == text.count(command) and " ".join(said.split()) == " ".join(text.split())
        assert all(len(line) <= 40 or command in line for line in said.splitlines())


def test_no_blanks_at_ends_of_lines_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    for line in (["targets"], ["targets", "tosa"], ["plugins"]):
        assert run(line) == 0
        assert not any(each.endswith(" ") for each in capsys.readouterr().out.splitlines())

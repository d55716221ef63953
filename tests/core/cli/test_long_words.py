"""Words of a file that nobody reads to their end, in what the terminal shows of errors."""

from __future__ import annotations

import types
from collections.abc import Callable

import pytest

from transload import Metric, hookimpl
from transload.cli import run
from transload.cli.show import show_error
from transload.context import Context
from transload.errors import Finding, TransloadError
from transload.plugin_host import Host


def test_names_of_a_million_letters_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    name = "n" * 1_000_000
    show_error(TransloadError(f"layer {name!r} is none", [Finding(f"op.{name}", "no such", (name,))], hint=f"see {name}"))
    said = capsys.readouterr().err
    assert len(said) < 5_000 and "characters more" in said and "layer 'nnn" in said and "is none" in said


def test_what_plugins_say_and_are_called_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """Of an exception's text of a megabyte 15,811 lines were printed, and a name of a million letters took 20 seconds."""
    there = Host()
    there.register(types.SimpleNamespace(register_metrics=hookimpl(_registers_a_long_name)), "long")
    there.plugins[-1].blame_for("register_metrics", ValueError("word " * 1_000_000))
    with Context(there).bind():
        assert run(["plugins"]) == 0
    said = capsys.readouterr().out
    assert len(said) < 100_000 and "ValueError" in said and "word word" in said


def _registers_a_long_name(register: Callable[[Metric], None]) -> None:
    register(Metric("n" * 1_000_000, lambda a, b: 0.0))

"""Commands of plugins: those of click are ours, those of typer read their arguments by themselves."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint

import click
import pytest

from transload.cli import run
from transload.hookspecs import hookimpl
from transload.plugin_host import Host, host, use_host

typer = pytest.importorskip("typer")


@click.command()
@click.argument("word")
@click.option("--times", type=int, default=1, help="How often.")
def clicked(word: str, times: int) -> int:
    """Say a word, as click."""
    click.echo(word * times)
    return 5


typed = typer.Typer(help="Say a word, as typer.", context_settings={"allow_interspersed_args": True})


@typed.callback(invoke_without_command=True)
def say(word: str, times: int = 1) -> int:
    print(word * times)
    return 6


@pytest.fixture(autouse=True)
def plugins():
    """A host whose only plugin has two commands, and one named as ours."""

    @hookimpl
    def register_commands(register):
        for name, command in (("clicked", clicked), ("typed", typed), ("convert", clicked)):
            register((name, command))

    module = types.ModuleType("commands_made_for_test")
    module.register_commands = register_commands
    sys.modules[module.__name__] = module
    before = host()
    use_host(Host([EntryPoint("mine", module.__name__, "transload")], only=""))
    yield
    use_host(before)
    del sys.modules[module.__name__]


def test_help_lists_them_behind_ours(capsys):
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.index("new-plugin") < out.index("clicked") < out.index("typed")
    assert "Say a word, as click." in out
    assert "Say a word, as typer." in out
    assert out.count("convert ") == 1


@pytest.mark.parametrize("shell", ["", "zsh", "fish"])
def test_what_lists_say_of_them_does_nothing_to_a_terminal(capsys, monkeypatch, shell):
    class Odd:
        @hookimpl
        def register_commands(self, register):
            register(("odd", click.Command("odd", short_help="Say \x1b[31mit\x1b]0;mine\x07.")))

    host().register(Odd())
    if shell:
        monkeypatch.setenv("_TRANSLOAD_COMPLETE", f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", "transload od")
        monkeypatch.setenv("COMP_CWORD", "od" if shell == "fish" else "1")
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert r"Say \x1b[31mit\x1b]0;mine\x07." in out and "\x1b" not in out and "\x07" not in out


@pytest.mark.parametrize(("name", "code"), [("clicked", 5), ("typed", 6)])
def test_they_run_with_their_arguments(capsys, name, code):
    assert run([name, "hey", "--times", "2"]) == code
    assert capsys.readouterr().out == "heyhey\n"


@pytest.mark.parametrize("name", ["clicked", "typed"])
def test_their_help_is_their_own(capsys, name):
    assert run([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"transload {name}" in out
    assert "--times" in out


@pytest.mark.parametrize("name", ["clicked", "typed"])
def test_their_mistakes_are_answered_in_words(capsys, name):
    assert run([name, "hey", "--times", "often"]) == 2
    err = capsys.readouterr().err
    assert "--times" in err
    assert "Traceback" not in err


def test_a_name_of_ours_stays_ours(capsys):
    assert run(["convert", "--help"]) == 0
    assert "--target" in capsys.readouterr().out

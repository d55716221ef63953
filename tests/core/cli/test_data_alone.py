"""What plugins print, from Python and from C, is not in data: standard output has the answer alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import transload.cli

NOISY = '''
import os
from transload import Pass, hookimpl

def noise(where):
    print("NOISE", where)
    os.write(1, b"NOISE as from C\\n")

noise("import")

def run(module):
    noise("pass")
    os.system("echo NOISE of a child")
    return False

@hookimpl
def register_passes(register):
    noise("hook")
    register(Pass("noisy", run, "prints"))

@hookimpl
def register_commands(register):
    noise("hook for commands")
'''
TEXT = '"func.func"() <{sym_name = "main", function_type = () -> ()}> ({"func.return"() : () -> ()}) : () -> ()\n'


@pytest.fixture
def noisy(tmp_path: Path) -> dict[str, str]:
    """The environment of a process in which a plugin is installed that prints whatever it does."""
    (tmp_path / "noisy.py").write_text(NOISY)
    (tmp_path / "noisy-1.0.dist-info").mkdir()
    (tmp_path / "noisy-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy\nVersion: 1.0\n")
    (tmp_path / "noisy-1.0.dist-info" / "entry_points.txt").write_text("[transload]\nnoisy = noisy\n")
    (tmp_path / "m.mlir").write_text(TEXT)
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def printed(arguments: list[str], environment: dict[str, str], directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "transload", *arguments], cwd=directory, env=environment, capture_output=True, text=True,
        timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "NOISE" not in done.stdout and ("NOISE" in done.stderr or arguments[:1] == ["completion"])
    return done.stdout


def test_of_a_pipeline(noisy: dict[str, str], tmp_path: Path) -> None:
    text = printed(["opt", "m.mlir", "-p", "noisy"], noisy, tmp_path)
    assert "func.return" in text and text.endswith("\n")
    assert json.loads(printed(["passes", "--json"], noisy, tmp_path))["passes"]


def test_of_a_plugins_command_and_of_completion(noisy: dict[str, str], tmp_path: Path) -> None:
    assert json.loads(printed(["tosa-requirements", "m.mlir", "--json"], noisy, tmp_path))["ops"] == []
    printed(["completion", "bash"], noisy, tmp_path)
    words = {"COMP_WORDS": "transload convert --target stab", "COMP_CWORD": "3"}
    assert printed([], {**noisy, "_TRANSLOAD_COMPLETE": "bash_complete", **words}, tmp_path) == "plain,stablehlo\n"


@pytest.mark.parametrize("arguments", [
    ["opt", "--help"], ["completion", "-h"], ["passes", "--json", "--help"], ["convert", "--help", "--show-pipeline"],
    ["--version", "opt"]])
def test_help_is_an_answer(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """That of commands whose standard output is data was on standard error."""
    assert transload.cli.run(arguments) == 0
    told = capfd.readouterr()
    assert told.err == "" and told.out.startswith("transload " if "--version" in arguments else "Usage: transload ")
    assert told.out.endswith("\n")


def test_a_line_is_completed_without_all_that_plugins_have(noisy: dict[str, str], tmp_path: Path) -> None:
    """It took half a second at every press of the key."""
    words = {"_TRANSLOAD_COMPLETE": "bash_complete", "COMP_WORDS": "transload insp", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "transload"], cwd=tmp_path, env={**noisy, **words}, capture_output=True, text=True, timeout=100,
        check=True)
    assert done.stdout == "plain,inspect\n"
    assert "NOISE hook for commands" in done.stderr and "NOISE hook\n" not in done.stderr

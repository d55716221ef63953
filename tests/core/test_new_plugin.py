"""The template: each kind installs beside us, and its own tests pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from transload.errors import TransloadError, UsageError
from transload.new_plugin import KINDS, make_plugin


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_made_plugin_is_what_its_readme_says(kind, tmp_path):
    """Its tests pass, it is loaded, and what is to be tried converts the model that comes with it: to the letter."""
    directory = make_plugin(f"made-{kind}", kind, tmp_path)
    site = tmp_path / "site"
    # Installed as pip would, into a folder of its own, so that its entry point is found.
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--target",
            str(site),
            str(directory),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    commands = [line.strip() for line in (directory / "README.md").read_text().splitlines() if line.startswith("    ")]
    install = "pip install -e '.[test]'"
    assert commands[0] == f"{install} && pytest" and len(commands) == 3
    path = {"PYTHONPATH": [site], "PATH": [Path(sys.executable).parent]}
    environment = {key: os.pathsep.join([*map(str, first), os.environ.get(key, "")]) for key, first in path.items()}
    for command in commands:
        ran = subprocess.run(
            ["bash", "-c", command.replace(install, "true")], cwd=directory, env={**os.environ, **environment},
            capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        if command.endswith(" plugins"):
            assert f"made-{kind}" in ran.stdout
        if " convert " in command:
            assert list((directory / "out").glob("model.*"))


@pytest.mark.parametrize("folder", ["a b", "it's", "$HOME", "a\nb"])
def test_the_command_to_try_can_be_pasted(folder, tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    code, out, _ = cli("new-plugin", "mine", "-o", folder)
    assert code == 0 and out.count("\n") == 1
    (_, command) = out.split("; try: ")
    tried = command.replace("pip install -e", "ls -d").replace("pytest", "ls -d")
    assert tried.count("[test]") == 1, "what its tests need is installed, too"
    tried = tried.replace("[test]", "")
    found = subprocess.run(["bash", "-c", tried], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert cli("new-plugin", "yours", "-o", folder, "-q") == (0, "", "")


@pytest.mark.parametrize("name", ["My Chip", "", "-x", "a_b", "../up"])
def test_names_that_no_package_can_have_are_refused(name, tmp_path):
    with pytest.raises(UsageError):
        make_plugin(name, "op", tmp_path)


@pytest.mark.parametrize(("name", "why"), [
    ("class", "a word of Python's"), ("true", "a word of Python's"), ("transload-class", "a word of Python's"),
    ("numpy", "a module numpy"), ("transload", "a module transload"), ("tflite", "plugin 'tflite' .* has it"),
    ("top", "a dialect of this name"), ("ethos-u85-256", ""), ("stablehlo", "plugin 'stablehlo'")])
def test_names_that_somebody_has_are_refused(name, why, tmp_path):
    """A package that could not be imported, or whose plugin, dialect or target stood behind another's."""
    if not why:
        assert make_plugin(name, "op", tmp_path).is_dir()
        return
    with pytest.raises(UsageError, match=why):
        make_plugin(name, "op", tmp_path)
    assert not list(tmp_path.iterdir())


def test_where_there_is_no_room_no_folder_is_left(tmp_path, monkeypatch):
    def full(*given, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(TransloadError, match="No space left"):
        make_plugin("mine", "op", tmp_path / "new" / "folder")
    assert not list(tmp_path.iterdir())


def test_unknown_kinds_and_existing_directories_are_refused(tmp_path):
    with pytest.raises(UsageError, match="kind"):
        make_plugin("x", "compiler", tmp_path)
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="exists"):
        make_plugin("there", "op", tmp_path)

"""What says how a model is read can be said to every command that reads one: hints of readers name these options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest

import transload
from transload.cli import run
from transload.cli.app import app
from transload.errors import ReadError

Cli = Callable[..., tuple[int, str, str]]

LOADING = {"shape", "dim", "batch", "format", "function", "weights"}
NO_MODELS = {"opt"}
"""Commands whose file is MLIR text, as it is."""

TWO = """
func.func @doubled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @squared(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def _readers_of_models() -> list[str]:
    context = click.Context(app)
    commands = {name: app.get_command(context, name) for name in app.list_commands(context)}
    return [name for name, command in commands.items() if command is not None and name not in NO_MODELS and any(
        parameter.name in ("model", "models", "artifact", "file") for parameter in command.params)]


@pytest.mark.parametrize("name", _readers_of_models())
def test_commands_take_all_that_says_how_a_model_is_read(name: str) -> None:
    """`compare`, `eval`, `gen-input`, `explore` and `tosa-requirements` lacked options that refusals of models told to give."""
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert {parameter.name for parameter in command.params} >= LOADING


def test_there_are_such_commands() -> None:
    assert {"convert", "compare", "eval", "inspect", "explore", "tosa-requirements", "view"} <= set(_readers_of_models())


@pytest.fixture
def two(tmp_path: Path) -> Path:
    file = tmp_path / "two.mlir"
    file.write_text(TWO)
    return file


def test_a_function_is_compared_and_scored(two: Path, tmp_path: Path, cli: Cli) -> None:
    pytest.importorskip("jaxlib")
    out = tmp_path / "out"
    assert cli("convert", two, "--function", "squared", "-o", out)[0] == 0
    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "a.npy", np.arange(4, dtype=np.float32))
    for command in (["compare", two, out], ["eval", two, out, "--data", data, "--metric", "sqnr"]):
        for function in ((), ("--function", "squared")):  # else it is the one of the artifact's report
            code, shown, told = cli(*command, *function)
            assert (code, "inf" in shown) == (0, True), told
        code, _, told = cli(*command, "--function", "doubled")
        assert code == 2 and "the artifact was made of the function 'squared', and 'doubled' is asked for" in told, command


def test_what_of_tosa_a_function_needs(two: Path, cli: Cli) -> None:
    code, shown, _ = cli("tosa-requirements", two, "--function", "squared", "--shape", "arg0:4")
    assert code == 0 and "tosa.mul" in shown and "tosa.add" not in shown


@pytest.mark.parametrize(("option", "value"), [("--version", "3.0"), ("--level", "9k")])
def test_versions_and_levels_that_there_are_not(two: Path, option: str, value: str, cli: Cli) -> None:
    """They were taken for the default."""
    code, _, told = cli("tosa-requirements", two, "--function", "squared", option, value)
    assert code == 2 and value in told


@pytest.mark.parametrize(("name", "content", "hint"), [
    ("a.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"),
    ("a.onnx", b"<!DOCTYPE html><html><body>Sign in</body></html>", "a web page"),
    ("a.tflite", b"\x1f\x8b\x08\x00" + bytes(40), "compressed"), ("a.tflite.gz", b"\x1f\x8b\x08\x00" + bytes(40), "compressed"),
    ("a.tflite", b"", "empty"), ("a.caffemodel", b"", "empty")])
def test_what_is_no_model_at_all(name: str, content: bytes, hint: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        transload.load(file)
    assert hint in caught.value.hint


def test_a_model_by_the_name_of_another_format(examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "digits.onnx"
    file.write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    with pytest.raises(ReadError) as caught:
        transload.load(file)
    assert "--format tflite" in caught.value.hint
    assert transload.load(file, format="tflite").main is not None


def test_what_is_wrong_with_a_model_by_its_own_name_is_no_other_format(examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "cut.tflite"
    file.write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes()[:3000])
    with pytest.raises(ReadError) as caught:
        transload.load(file)
    assert "--format" not in caught.value.hint


@pytest.mark.parametrize("passes", ["", "cse", "canonicalize"])
def test_opt_blames_no_pass_for_what_the_file_has(tmp_path: Path, capsys: pytest.CaptureFixture[str], passes: str) -> None:
    """As commands that load models say it, with their exit code; `--no-verify-each` takes the file as it is."""
    path = tmp_path / "wrong.mlir"
    path.write_text('func.func @main(%a: f32) -> f32 {\n  return %a : f32\n}\n"func.retrun"() : () -> ()\n')
    assert run(["opt", str(path), "-p", passes]) == 3
    said = capsys.readouterr().err
    assert "wrong.mlir: its ops break the rules of their dialects" in said and "the nearest is 'func.return'" in said
    assert "pass" not in said.replace(str(tmp_path), "")
    assert run(["opt", str(path), "--no-verify-each"]) == 0

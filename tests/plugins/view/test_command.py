"""`transload view` from the command line: what it writes, serves and refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

import transload
from transload_plugins.view.stages import _report_of

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def model(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


def test_a_page_is_written(cli: Cli, model: Path, tmp_path: Path) -> None:
    code, out, _ = cli("view", str(model), "--html", str(tmp_path / "page.html"))
    assert code == 0
    assert "written to" in out
    assert b"digits_float.onnx" in (tmp_path / "page.html").read_bytes()


@pytest.mark.parametrize(("arguments", "said"), [
    (["--html", "."], "is a directory"),
    (["--method", "kl", "--html", "x.html"], "of which quantizer"),
    (["--report", "x.html"], "--html FILE"),
    (["--quantize", "nobody", "--html", "x.html"], "nobody"),
    (["--target", "nobody", "--html", "x.html"], "nobody"),
    (["--passes", "nobody", "--html", "x.html"], "nobody"),
])
def test_what_cannot_be_is_refused(
    cli: Cli, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = cli("view", str(model), *arguments)
    assert code == 2
    assert said in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("arguments", "said"), [
    (["--quantize", "int8", "--table", "none.txt"], "none.txt: there is no such file"),
    (["--target", "ethos-u85-256"], "target 'ethos-u85-256' cannot take this model"),
])
def test_a_page_of_a_model_that_gets_no_further_says_so(
    cli: Cli, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str,
) -> None:
    """The page has it, too; who only sees the terminal is not to believe that all went well."""
    monkeypatch.chdir(tmp_path)
    code, out, err = cli("view", str(model), *arguments, "--html", "x.html")
    assert code == 0 and "written to x.html" in out
    assert err.startswith(f"note: {model} is shown up to ") and said in err


def test_more_than_two_models_are_refused(cli: Cli, model: Path) -> None:
    code, _, err = cli("view", str(model), str(model), str(model))
    assert code == 2
    assert "two can stand side by side" in err


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent otherwise there")
def test_ctrl_c_ends_it_quietly(model: Path) -> None:
    command = [sys.executable, "-m", "transload", "view", str(model), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        with urlopen(url, timeout=60) as page:
            assert b"<!doctype html>" in page.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def save_samples(file: Path, model: Path) -> None:
    np.savez(file, **{name: np.zeros((2, *type_.shape), np.float32) for name, type_ in transload.load(model).inputs.items()})


@pytest.mark.parametrize(("asked", "said"), [
    (["--mean", "3"], "nothing that is given is one"),
    (["--data", "val.npz"], "is for what is compared, and there is one model"), (["--html", "-"], "'-' is none"),
    (["--port", "80"], "--port is for a page that is served"), (["--no-browser"], "--no-browser is for a page that is served"),
    (["--data", "val.npz", "--quantize", "int8", "--mean", "3"], "nothing that is given is one")])
def test_what_would_be_left_aside_in_silence_is_refused(
    cli: Cli, model: Path, tmp_path: Path, asked: list[str], said: str,
) -> None:
    save_samples(tmp_path / "val.npz", model)
    given = [str(tmp_path / "val.npz") if each == "val.npz" else each for each in asked]
    given += [] if "--html" in given else ["--html", str(tmp_path / "x.html")]
    code, _, error = cli("view", model, *given)
    assert code == 2 and said in " ".join(error.split())


def test_an_artifact_that_is_to_be_quantized_is_told_to_be_one(cli: Cli, model: Path, tmp_path: Path) -> None:
    """It was called a directory, as samples asked for the model's inputs first."""
    transload.convert(model, "tosa", tmp_path / "build", verify=False)
    save_samples(tmp_path / "val.npz", model)
    asked = ["--quantize", "int8", "--data", tmp_path / "val.npz", "--html", tmp_path / "x.html"]
    code, _, error = cli("view", tmp_path / "build", *asked)
    assert code != 0 and "is what was written, and is shown as that" in " ".join(error.split())


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are text there")
def test_the_report_of_an_artifact_whose_name_is_no_utf8(model: Path, tmp_path: Path) -> None:
    """Its name is spelt out in the report, and the artifact was shown as if none had been written for it."""
    named = tmp_path / os.fsdecode(b"u\xff.onnx")
    named.write_bytes(model.read_bytes())
    made = transload.convert(named, "tosa", tmp_path / "out", verify=False)
    assert _report_of(made.files[0]) is not None

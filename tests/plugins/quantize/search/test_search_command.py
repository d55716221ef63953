"""`transload search` from the command line: files in the manual's form, exit codes, what is refused before anything is done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload_plugins.quantize.layers import load_layers

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def model(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


@pytest.fixture
def samples(examples: Path, tmp_path: Path) -> Path:
    held = np.load(examples / "digits" / "test_images.npz")
    np.save(tmp_path / "samples.npy", held["images"][:48] / np.float32(16))
    np.save(tmp_path / "labels.npy", held["labels"][:48])
    return tmp_path / "samples.npy"


def test_a_promise_and_all_its_files(cli: Cli, model: Path, samples: Path) -> None:
    assert cli("calibrate", model, "--data", samples, "-o", "model.table")[0] == 0
    asked = ["search", model, "--table", "model.table", "--data", samples, "-o", "mixed.txt"]
    code, out, err = cli(*asked, "--min-sqnr", 46, "--loss-table", "loss.txt", "--curve", "c.svg", "--module", "q.mlir")
    assert code == 0 and "surely" in out and "--table model.table --data" in " ".join(out.split()), out + err
    layers = load_layers(Path("mixed.txt"))
    assert layers and set(layers.values()) <= {"INT16", "F32"}
    assert "Layer: " in Path("loss.txt").read_text() and "<svg" in Path("c.svg").read_text()
    assert transload.load("q.mlir").outputs
    assert cli("quantize", model, "--table", "model.table", "--layers", "mixed.txt", "--data", samples, "-o", "m.mlir")[0] == 0
    code, out, err = cli(*asked, "--max-drop", "50%", "--labels", "labels.npy", "--json")
    found = json.loads(out)
    assert code == 0 and found["kept"] and found["judged"][0]["score"] == "drop of top1" and not found["layers"], err


def test_what_cannot_be_kept_ends_with_4_and_its_nearest(cli: Cli, model: Path, samples: Path) -> None:
    code, out, err = cli("search", model, "--data", samples, "--min-sqnr", 200, "--max-float", "1%", "--types", "F32")
    assert code == 4 and "no: what comes nearest is written" in out and Path("mixed.txt").exists(), out + err


def test_a_limit_that_8_bits_pass_already_is_refused_as_help_says(cli: Cli, model: Path, samples: Path) -> None:
    Path("float.txt").write_text("".join(f"{name} F32\n" for name in transload.load(model).outputs))
    code, _, err = cli("search", model, "--data", samples, "--max-float", "0%", "--layers", "float.txt")
    assert code == 2 and "are allowed" in err and not Path("mixed.txt").exists(), err
    assert "Exit code 2, and no table" in " ".join(cli("search", "--help")[1].split())


@pytest.mark.parametrize(("more", "match"), [
    ((), "something to promise"),
    (("--min-cos", 0.9, "--labels", "labels.npy"), "labels are for --max-drop"),
    (("--max-drop", "1%"), "has no label"),
    (("--min-cos", 0.9, "-n", 4), "needs 8 samples"),
    (("--min-cos", 0.9, "-o", "."), "is a directory"),
    (("--max-cycles", 5), "cycles are those of a target"),
])
def test_what_is_refused(cli: Cli, model: Path, samples: Path, more: tuple[object, ...], match: str) -> None:
    code, _, err = cli("search", model, "--data", samples, *more)
    assert code == 2 and match in err and not Path("mixed.txt").exists(), err


def test_a_quantized_model_is_shown_the_way(cli: Cli, examples: Path, samples: Path) -> None:
    """As floats it can be searched, with samples as it takes them itself."""
    quantized = examples / "digits" / "digits_int8.tflite"
    np.save(samples, (np.round(np.load(samples) * 255) - 128).astype(np.int8))
    asked = ["--data", samples, "--min-sqnr", 15, "-o", "mixed.txt"]
    code, out, err = cli("search", quantized, *asked)
    assert code == 2
    assert "transload quantize MODEL --scheme float -o floats.mlir" in " ".join((out + err).split())
    assert cli("quantize", quantized, "--scheme", "float", "-o", "floats.mlir")[0] == 0
    assert cli("search", "floats.mlir", *asked)[0] == 0

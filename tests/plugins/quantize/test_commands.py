"""Calibrating, quantizing and converting from the command line, in one go and step by step, and what goes wrong there."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload

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
    images = np.load(examples / "digits" / "test_images.npz")["images"][:40] / np.float32(16)
    np.save(tmp_path / "samples.npy", images)
    return tmp_path / "samples.npy"


@pytest.fixture
def folder(examples: Path, tmp_path: Path) -> Path:
    """The same as images, with one that is damaged; no pixel lies in the middle between two steps of eight bits."""
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "images").mkdir()
    for number, pixels in enumerate(np.load(examples / "digits" / "test_images.npz")["images"][:12]):
        image.fromarray((pixels * 15 + 3).astype(np.uint8)).save(tmp_path / "images" / f"{number}.png")
    (tmp_path / "images" / "5.png").write_bytes((tmp_path / "images" / "5.png").read_bytes()[:50])
    return tmp_path / "images"


def test_step_by_step_and_at_once_give_the_same_bits(cli: Cli, model: Path, samples: Path) -> None:
    code, out, err = cli("calibrate", model, "--data", samples, "-n", 20, "--method", "minmax", "-o", "model.table")
    assert code == 0 and "on" not in err and "from 20 samples by minmax" in out, out + err
    code, out, err = cli(
        "quantize", model, "--scheme", "int8-asym", "--table", "model.table", "--data", samples, "-n", 20, "-o", "model.mlir")
    assert code == 0 and "written to model.mlir" in out, out + err
    code, out, err = cli(
        "convert", model, "--quantize", "int8-asym", "--method", "minmax", "--data", samples, "-n", 20, "-o", "at_once")
    assert code == 0 and "verification against the quantized module on 16 of 20 samples: passed" in out, out + err
    assert "beside the float model" in out and "agreement" in out and "int8-asym, method minmax on 20 samples" in out
    asked = ["convert", model, "--quantize", "int8-asym", "--data", samples, "-n", 20]
    assert cli(*asked, "--table", "model.table", "-o", "table")[0] == 0
    assert cli("convert", "model.mlir", "-o", "steps")[0] == 0
    given = {"image": np.load(samples)[:1].reshape(1, 1, 8, 8)}
    results = [transload.run(f"{name}.tosa", given)["probabilities"] for name in ("at_once/digits_float", "steps/model")]
    assert np.array_equal(*results)


def test_a_folder_of_images(cli: Cli, model: Path, folder: Path) -> None:
    asked = ["convert", model, "--quantize", "int8-asym", "--data", folder, "--resize", "10x10", "-o", "out"]
    code, out, err = cli(*asked)
    assert code == 3 and "5.png" in err and "--skip-damaged" in err and not Path("out", "digits_float.tosa").exists()
    code, out, err = cli(*asked, "--skip-damaged", "--json")
    report = json.loads(out)
    assert code == 0 and report["quantization"]["samples"] == 11 and list(report["quantization"]["skipped"]) == ["5.png"]
    assert report["quantization"]["preprocess"]["image"].startswith("10x10 pixels") and "preprocess.toml" in report["files"]
    code, out, err = cli("run", "out/digits_float.tosa", "--input", f"image={folder / '1.png'}")
    assert code == 0 and "1.png was made 10x10 pixels for input 'image', of which 8x8" in err
    code, out, err = cli("compare", model, "out/digits_float.tosa", "--input", folder / "1.png", "--resize", "8x8")
    assert code == 0, err


def test_damaged_samples_leave_an_earlier_conversion_as_it_was(cli: Cli, model: Path, samples: Path, folder: Path) -> None:
    assert cli("convert", model, "--quantize", "int8", "--data", samples, "-n", 4, "-o", "out")[0] == 0
    before = {file.name: file.read_bytes() for file in Path("out").iterdir()}
    for data, says in ((folder, "5.png"), ("absent.npy", "no such file")):
        code, _, err = cli("convert", model, "--quantize", "int8", "--data", data, "-o", "out")
        assert code == 3 and says in err
        assert {file.name: file.read_bytes() for file in Path("out").iterdir()} == before
        assert cli("convert", model, "--quantize", "int8", "--data", data, "-o", "new")[0] == 3 and not Path("new").exists()


def test_integers_in_and_out(cli: Cli, model: Path, samples: Path, folder: Path) -> None:
    asked = ["convert", model, "--quantize", "int8-asym", "--data", samples]
    code, out, err = cli(*asked, "--quant-input", "--quant-output", "probabilities", "-o", "a")
    assert code == 0 and "image tensor<1x1x8x8xi8>" in out and "probabilities tensor<1x10xi8>" in out, out + err
    assert "passed" in out
    asked = ["convert", model, "--quantize", "int8-asym", "--data", folder, "--skip-damaged"]
    assert cli(*asked, "--quant-input", "-o", "b")[0] == 0
    assert cli(*asked, "-o", "c")[0] == 0
    outputs = []
    for name in ("b", "c"):
        code, out, err = cli("run", f"{name}/digits_float.tosa", "--input", folder / "1.png", "--out", "result.npz")
        assert code == 0, err
        outputs.append(np.load("result.npz")["probabilities"])
    assert np.array_equal(*outputs), "preprocess.toml beside each says what its input takes"
    code, out, err = cli("quantize", model, "--data", samples, "--quant-input", "picture")
    assert code == 2 and "no input 'picture'" in err


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["tosa", "tflite", "onnx"])
@pytest.mark.parametrize("scheme", ["int8", "uint8"])
@pytest.mark.parametrize("said", [(), ("--mean", "10", "--scale", "0.004")])
def test_images_for_integers_that_go_in(
    cli: Cli, model: Path, folder: Path, target: str, scheme: str, said: tuple[str, ...],
) -> None:
    """The file beside an artifact says real numbers, and what the integers stand for: all commands see the same images."""
    (folder / "5.png").unlink()
    asked = ["convert", model, "--target", target, "--quantize", scheme, "--data", folder, *said, "--quant-input"]
    assert cli(*asked, "--quant-output", "-o", "out")[0] == 0
    assert cli("run", "out", "--input", folder / "1.png", "--out", "of_out.npz")[0] == 0
    assert cli("run", model, "--input", folder / "1.png", *said, "--out", "of_model.npz")[0] == 0
    stored, real = (np.load(f"of_{name}.npz")["probabilities"] for name in ("out", "model"))
    assert stored.dtype.kind in "iu" and stored.argmax() == real.argmax()
    assert np.abs((stored.astype(int) - np.iinfo(stored.dtype).min) / 256 - real).max() < 0.03
    code, out, err = cli("compare", model, "out", "--input", folder / "1.png", "--json")
    assert code == 0 and json.loads(out)["tensors"][0]["metrics"]["cos"] > 0.995, out + err
    for more in ((), said, ("--preprocess", "out/preprocess.toml")):
        code, out, err = cli("eval", model, "out", "--data", folder, *more, "--metric", "sqnr,agreement", "--json")
        scores = json.loads(out)["models"]["out"]
        assert scores["sqnr"]["value"] > 20 and scores["agreement"]["value"] == 1, out + err


def test_the_advice_can_be_followed_to_the_letter(cli: Cli, model: Path, samples: Path) -> None:
    pytest.importorskip("ethosu.vela")
    code, _, err = cli("convert", model, "--target", "ethos-u85-256")
    assert code == 3
    line = next(line for line in err.splitlines() if "--quantize" in line)
    command = line[line.index("transload convert") + len("transload "):].partition(";")[0].replace("SAMPLES", str(samples))
    code, out, err = cli(*shlex.split(command))
    assert code == 0 and re.search("against the quantized module on 16 of [0-9]+ samples: passed", out), out + err


def test_an_interrupted_run_leaves_nothing(model: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time, numpy\n\ndef samples():\n    for _ in range(100):\n"
        "        yield numpy.zeros((1, 1, 8, 8))\n        print('given', flush=True)\n        time.sleep(1)\n")
    before = sorted(tmp_path.iterdir())
    command = [sys.executable, "-m", "transload", "calibrate", str(model), "--data", "python:slow.py:samples", "-o", "a.table"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "given\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(("arguments", "code", "says"), [
    (["calibrate", "{model}"], 2, "--data"),
    (["calibrate", "{model}", "--data", "absent"], 3, "no such file"),
    (["calibrate", "{model}", "--data", "empty"], 2, "holds no samples"),
    (["calibrate", "{model}", "--data", "{samples}", "--method", "guess"], 2, "guess"),
    (["calibrate", "{model}", "--data", "{samples}", "--tune-num", "3"], 2, "tunes on no samples"),
    (["calibrate", "{model}", "--data", "{samples}", "--method", "auto", "--tune-list", "absent"], 3, "no such file"),
    (["calibrate", "{model}", "--data", "{samples}", "--histogram-bin-num", "1024"], 2, "no number of bins"),
    (["calibrate", "{model}", "--data", "{samples}", "-n", "-1"], 2, "--count"),
    (["calibrate", "{model}", "--data", "nan.npy"], 2, "NaN"),
    (["calibrate", "{model}", "--data", "shape.npy"], 2, "do not fit"),
    (["quantize", "{model}"], 2, "needs samples"),
    (["quantize", "{model}", "--scheme", "int5", "--data", "{samples}"], 2, "int5"),
    (["quantize", "{model}", "-o", "quantized"], 2, "no writer for 'quantized'"),
    (["quantize", "{model}", "--table", "absent.table"], 3, "absent.table"),
    (["quantize", "{model}", "--table", "wrong.table"], 2, "lacks"),
    (["quantize", "{model}", "--data", "{samples}", "--quantizer-option", "nosuch=1"], 2, "nosuch"),
    (["convert", "{model}", "--table", "wrong.table"], 2, "of which quantizer"),
    (["convert", "{model}", "--quantize", "int8"], 2, "needs samples"),
])
def test_mistakes(
    cli: Cli, model: Path, samples: Path, tmp_path: Path, arguments: list[str], code: int, says: str,
) -> None:
    (tmp_path / "empty").mkdir()
    np.save(tmp_path / "nan.npy", np.full((2, 1, 8, 8), np.nan))
    np.save(tmp_path / "shape.npy", np.zeros((2, 3)))
    (tmp_path / "wrong.table").write_text("image 1 0 1\n")
    before = sorted(tmp_path.rglob("*"))
    got, out, err = cli(*(each.format(model=model, samples=samples) for each in arguments))
    assert got == code and says in out + err, out + err
    assert sorted(tmp_path.rglob("*")) == before, "nothing is written"


def test_an_input_that_is_one_number_is_noted(cli: Cli, model: Path, samples: Path) -> None:
    np.save("still.npy", np.full((4, 1, 8, 8), 0.5, np.float32))
    code, out, err = cli("convert", model, "--quantize", "int8", "--data", "still.npy", "-o", "out")
    assert code == 0 and "input 'image' is 0.5 on all samples" in " ".join(out.split()), out + err
    assert json.loads(Path("out/report.json").read_text())["quantization"]["details"]["notes"]
    code, out, err = cli("convert", model, "--quantize", "int8", "--data", samples, "-n", 4, "-o", "out")
    assert code == 0 and "on all samples" not in out and json.loads(
        Path("out/report.json").read_text())["quantization"]["details"]["notes"] == []
    assert cli("calibrate", model, "--data", "still.npy", "-o", "still.table")[0] == 0
    code, out, err = cli("quantize", model, "--table", "still.table", "-o", "q.mlir")
    assert code == 0 and "input 'image' is" in out and "in the table" in out, out + err


def test_numbers_of_the_manual(cli: Cli, model: Path, samples: Path) -> None:
    asked = ["calibrate", model, "--data", samples]
    code, out, err = cli(*asked, "-n", 0, "--method", "kl", "--histogram-bin-num", 512, "-o", "a.table")
    assert code == 0 and "from 40 samples" in out and "# histogram number: 512" in Path("a.table").read_text(), out + err
    np.save("tune.npy", np.load(samples)[:5])
    code, out, err = cli(*asked, "--method", "auto", "--tune-num", 3, "--tune-list", "tune.npy", "-o", "b.table")
    assert code == 0 and "# tune number: 3" in Path("b.table").read_text(), out + err
    assert cli("quantize", model, "--table", "b.table", "-o", "q.mlir")[0] == 0


def test_a_picture_is_drawn_on_request(cli: Cli, model: Path, samples: Path) -> None:
    code, out, err = cli("calibrate", model, "--data", samples, "-n", 3, "-o", "model.table", "--plot", "model.svg")
    assert code == 0, out + err
    assert Path("model.svg").read_text().startswith("<svg")


def test_best_is_saved_as_it_goes(cli: Cli, model: Path, samples: Path) -> None:
    best = ("quantize", model, "--data", samples, "-n", 8, "--effort", "best", "--resume", "best.state", "-o", "a.mlir")
    Path("best.state").write_bytes(b"something else")
    code, out, err = cli(*best)
    assert code != 0 and "best.state" in err and ".npz" in err, out + err
    Path("best.state").unlink()
    code, out, err = cli(*best)
    assert code == 0 and not Path("best.state").exists(), out + err
    code, out, err = cli("quantize", model, "--data", samples, "-n", 8, "--resume", "best.state", "-o", "b.mlir")
    assert code == 2 and "--effort best" in err and not Path("b.mlir").exists(), out + err


def test_layers_are_named_saved_and_cut(cli: Cli, model: Path, samples: Path) -> None:
    common = ("--data", samples, "-n", 20)
    code, out, err = cli("quantize", model, *common, "--floats", "residual", "--save-layers", "layers.txt", "-o", "a.mlir")
    assert code == 0 and "as the caller asked" in out, out + err
    assert Path("layers.txt").read_text().splitlines()[-1] == "residual F32"
    code, out, err = cli("quantize", model, *common, "--layers", "layers.txt", "-o", "b.mlir")
    assert code == 0 and "F32 says layers.txt" in out, out + err
    code, out, err = cli("calibrate", model, *common, "--outputs", "residual", "-o", "cut.table")
    assert code == 0 and "probabilities" not in Path("cut.table").read_text(), out + err
    code, out, err = cli("quantize", model, *common, "--outputs", "residual", "--table", "cut.table", "-o", "c.mlir")
    assert code == 0 and list(transload.load("c.mlir").outputs) == ["residual"], out + err
    code, out, err = cli("quantize", model, *common, "--floats", "residul", "-o", "d.mlir")
    assert code == 2 and "no float tensor 'residul'" in err and "residual" in err and not Path("d.mlir").exists(), out + err


def test_a_hybrid_model_is_prepared_as_convert_does(cli: Cli, model: Path, samples: Path) -> None:
    """Weights of integers that LiteRT multiplies by rounded activations are floats to a quantizer."""
    dynamic = ("--quantize", "dynamic", "--quantizer-option", "least=0", "--no-verify")
    code, out, err = cli("convert", model, "-t", "tflite", *dynamic, "-o", "hybrid")
    assert code == 0, out + err
    hybrid = Path("hybrid", "digits_float.tflite")
    code, out, err = cli("quantize", hybrid, "--data", samples, "-n", 8, "-o", "q.mlir")
    assert code == 0, out + err
    (name,) = transload.load(hybrid).inputs
    shape = transload.load(hybrid).inputs[name].static_shape
    given = [{name: image.reshape(shape)} for image in np.load(samples)[:8]]
    at_once = transload.quantize(transload.load(hybrid), "int8", given)
    assert [op.name for op in transload.load("q.mlir").ops()] == [op.name for op in at_once.ops()]
    code, out, err = cli("calibrate", hybrid, "--data", samples, "-n", 8, "-o", "hybrid.table")
    assert code == 0, out + err
    code, out, err = cli("quantize", hybrid, "--table", "hybrid.table", "-o", "t.mlir")
    assert code == 0, out + err

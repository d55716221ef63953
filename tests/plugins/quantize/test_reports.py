"""What the command line tells of quantizing: in the terminal, in report.json, and as a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def model(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


@pytest.fixture
def samples(examples: Path, tmp_path: Path) -> Path:
    images = np.load(examples / "digits" / "test_images.npz")["images"][:24] / np.float32(16)
    np.save(tmp_path / "samples.npy", images)
    return tmp_path / "samples.npy"


def test_quantize_says_what_it_cost(cli: Cli, model: Path, samples: Path) -> None:
    code, out, err = cli("quantize", model, "--data", samples, "-o", "q.mlir", "--report", "out/page.html")
    assert code == 0, err
    assert "8 in i8" in out and "3.0 KiB, were 11.0 KiB" in out and "the worst of 8 layers" in out and "depthwise" in out
    said = " ".join(out.split())
    assert "dB, beside the float model on 8 of the 24 samples it was quantized with" in said
    assert "next: `transload convert q.mlir" in said
    assert "<h2>Along the network</h2>" in Path("out/page.html").read_text()


def test_convert_says_it_and_its_report_does(cli: Cli, model: Path, samples: Path) -> None:
    code, out, err = cli("convert", model, "--quantize", "int8", "--data", samples, "--report", "build/page.html")
    assert code == 0 and "the worst of 8 layers" in out and "transload eval" in out, out + err
    assert "what was written, on the first 16 of the 24 samples it was quantized with" in " ".join(out.split())
    told = json.loads(Path("build/report.json").read_text())["quantization"]["measured"]
    assert [each["name"] for each in told["layers"]][:2] == ["image", "conv1"]
    assert told["layers"][1]["own"]["sqnr"] > 20 and told["sizes"]["weights"][0] > told["sizes"]["weights"][1]
    assert Path("build/page.html").is_file()


def test_what_is_next_reads_the_model_as_it_was_read(cli: Cli, model: Path, samples: Path) -> None:
    asked = ("--quantize", "int8", "--data", samples)
    code, out, err = cli("convert", model, *asked, "--shape", "image:1x1x8x8", "--format", "onnx", "-o", "build")
    said = " ".join(out.split()).partition("next: `transload ")[2].partition("`")[0]
    assert code == 0 and said.startswith("eval") and "--shape image:1x1x8x8 --format onnx --data SAMPLES" in said, out + err
    code, out, err = cli(*said.replace("SAMPLES", str(samples)).split())
    assert code == 0, err
    code, out, err = cli("convert", model, *asked, "--outputs", "conv1", "-o", "part")
    assert code == 0 and "eval" not in out, out + err  # which has no part of a model to compare with


def test_without_samples_nothing_is_measured_and_a_way_is_told(cli: Cli, model: Path, samples: Path) -> None:
    assert cli("calibrate", model, "--data", samples, "-o", "model.table")[0] == 0
    code, out, _ = cli("quantize", model, "--table", "model.table", "-o", "q.mlir")
    assert code == 0 and "next: --data SAMPLES" in out and "worst" not in out


def test_a_poor_result_is_told_where_to_look(cli: Cli, model: Path, samples: Path) -> None:
    assert cli("calibrate", model, "--data", samples, "-o", "model.table")[0] == 0
    lines = Path("model.table").read_text().splitlines()
    lines = [f"{line.split()[0]} 0.5 -0.5 0.5" if line.startswith("logits") else line for line in lines]
    Path("model.table").write_text("\n".join(lines) + "\n")
    code, out, _ = cli("quantize", model, "--table", "model.table", "--data", samples, "-o", "q.mlir",
                       "--quantizer-option", "islands=none")
    assert code == 0 and "--report page.html shows where it is lost" in out, out
    assert out.index("logits") < out.index("depthwise"), "the worst first"


@pytest.mark.parametrize(("more", "message"), [
    (("convert", "--report", "p.html"), "--quantize int8 --data PATH"),
    (("quantize", "--table", "t", "--report", "p.html"), "--data PATH"),
    (("quantize", "--data", "samples.npy", "--report", "."), "is a directory"),
])
def test_a_page_of_nothing_is_refused_before_anything_is_done(
    cli: Cli, model: Path, samples: Path, more: tuple[str, ...], message: str,
) -> None:
    code, _, err = cli(more[0], model, *more[1:])
    assert code != 0 and message in err and [each.name for each in Path().iterdir()] == ["samples.npy"]

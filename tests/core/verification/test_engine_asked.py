"""An engine that is asked for by name runs what is verified, for targets with a runtime of their own, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import UsageError


@pytest.mark.parametrize(("target", "engine"), [
    ("tflite", "reference"), ("tflite", "xla"), ("onnx", "reference"), ("xla-cpu", "reference"), ("stablehlo", "xla"),
    ("tp-tiny", "reference")])
def test_the_engine_runs_in_place_of_the_runtime(examples: Path, tmp_path: Path, target: str, engine: str) -> None:
    """Whoever names an engine would else read of a verification by it that it never took part in."""
    found = transload.convert(examples / "digits" / "digits_int8.tflite", target, tmp_path / "out", engine=engine).verification
    assert found is not None and found.passed and found.engine == engine and not found.notes


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_so_it_does_of_what_is_quantized_on_the_way(examples: Path, tmp_path: Path, target: str) -> None:
    given = {"image": np.random.default_rng(0).random((8, 1, 1, 8, 8), np.float32)}
    found = transload.convert(
        examples / "digits" / "digits_float.onnx", target, tmp_path / "out", quantize="int8",
        data=[{"image": each} for each in given["image"]], engine="reference").verification
    assert found is not None and found.passed and found.engine == "reference"


def test_without_a_name_it_is_the_runtime(examples: Path, tmp_path: Path) -> None:
    found = transload.convert(examples / "digits" / "digits_int8.tflite", "tflite", tmp_path / "out").verification
    assert found is not None and found.passed and found.engine == "tflite's own runtime"


def test_an_engine_that_cannot_is_refused(examples: Path, tmp_path: Path) -> None:
    """That is no model that cannot be converted: what an earlier conversion wrote stays."""
    out = tmp_path / "out"
    transload.convert(examples / "digits" / "digits_int8.tflite", "tp-tiny", out, verify=False)
    there = sorted(out.iterdir())
    with pytest.raises(UsageError, match="engine 'xla' cannot run the result"):
        transload.convert(examples / "digits" / "digits_int8.tflite", "tp-tiny", out, engine="xla")
    assert sorted(out.iterdir()) == there

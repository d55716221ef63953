"""One cause has one exit code, whichever command meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import InputError, RunError, UsageError


@pytest.fixture(scope="module")
def digits(examples: Path) -> Path:
    return examples / "digits"


Cli = Callable[..., tuple[int, str, str]]


def _write(name: str, file: Path) -> None:
    """A file of arrays for the example, of which `name` is wrong."""
    image = np.zeros((1, 1, 8, 8), np.float32)
    if name in ("cut", "flipped"):
        np.savez(file, image=image)
        whole = file.read_bytes()
        file.write_bytes(whole[:len(whole) // 2] if name == "cut" else whole[:150] + b"\xff" * 40 + whole[190:])
        return
    arrays = {
        "shape": {"image": image[..., :5]}, "type": {"image": image.astype(np.complex64)}, "none": {},
        "text": {"image": np.array(["a"])}, "objects": {"image": np.array([{}], object)}}[name]
    np.savez(file, **arrays)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "code"), [
    ("shape", 2), ("type", 2), ("none", 2), ("text", 2), ("cut", 3), ("flipped", 3), ("objects", 3), ("absent", 3)])
def test_a_wrong_file_of_arrays(name: str, code: int, digits: Path, tmp_path: Path, cli: Cli) -> None:
    file, model, out = tmp_path / "given.npz", digits / "digits_float.onnx", tmp_path / "out"
    if name != "absent":
        _write(name, file)
    written = tmp_path / "written"
    assert cli("convert", model, "-t", "tosa", "-o", written, "--verify=no", "-q")[0] == 0
    asked = {
        "run a model": ("run", model, "-i", file), "run an artifact": ("run", written, "-i", file),
        "compare": ("compare", model, written, "-i", file), "convert": ("convert", model, "-t", "tosa", "-o", out, "-i", file),
        "convert with samples": ("convert", model, "-t", "tosa", "-o", out, "--data", file),
        "quantize": ("quantize", model, "--data", file, "-o", tmp_path / "q.mlir"),
        "calibrate": ("calibrate", model, "--data", file, "-o", out),
        "eval": ("eval", model, written, "--data", file, "--metric", "sqnr"),
    }
    assert {what: cli(*words)[0] for what, words in asked.items()} == dict.fromkeys(asked, code)
    assert not out.exists()


def test_inputs_that_do_not_fit_are_a_mistake_in_the_call(digits: Path) -> None:
    with pytest.raises(InputError, match=r"'image'.*is missing") as caught:
        transload.run(transload.load(digits / "digits_float.onnx"), {})
    assert isinstance(caught.value, RunError) and isinstance(caught.value, UsageError) and caught.value.exit_code == 2

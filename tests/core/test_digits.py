"""Digits that `str.isdigit` knows and `int` does not, and numbers that are longer than `int` reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from transload.digits import real_number, whole_number
from transload.errors import UsageError
from transload.samples.preprocess import Preprocess
from transload.samples.sources import _natural

LONG = "9" * 5000
Cli = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(("text", "number"), [
    ("0", 0), ("007", 7), ("9" * 18, 10**18 - 1), ("", None), ("²", None), ("٣", None), ("-1", None), ("9" * 19, None),
    (LONG, None)])
def test_numbers_in_text(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(("value", "number"), [
    (3, 3.0), (-0.5, -0.5), (10**400, None), (-(10**4000), None), (float("inf"), None), (float("nan"), None), (True, None),
    ("1", None), (None, None)])
def test_numbers_of_files(value: object, number: float | None) -> None:
    assert real_number(value) == number


@pytest.mark.parametrize("digits", [400, 4000, 5000])
def test_numbers_of_preprocessing(digits: int, tmp_path: Path) -> None:
    """An integer of 400 digits is no float, and ended in an `OverflowError`; of 5000, Python tells no digits."""
    for name in ("mean", "scale"):
        with pytest.raises(UsageError, match=f"{name} is .*; it is one number"):
            Preprocess(**{name: (10**digits,)})
    with pytest.raises(UsageError, match="rows and columns"):
        Preprocess(resize_dims=(10**digits, 1))


def test_names_of_samples_sort() -> None:
    names = ["a10", "a²", "a9", "²", f"a{'9' * 200}"]
    assert sorted(names, key=lambda name: _natural(Path(name))) == ["a9", "a10", f"a{'9' * 200}", "a²", "²"]


@pytest.mark.parametrize("line", [["inspect", "--dim", f"n={LONG}"], ["explore", "--sweep", f"lmem={LONG}"]])
def test_options(cli: Cli, line: list[str], examples: Path) -> None:
    code, _, said = cli(line[0], examples / "digits" / "digits_float.tflite", *line[1:])
    assert code == 2 and "report it" not in said


@pytest.mark.parametrize("said", [LONG, "²"])
def test_a_calibration_table(cli: Cli, said: str, examples: Path, tmp_path: Path) -> None:
    """What is no number of samples tells none."""
    model, table = examples / "digits" / "digits_float.tflite", tmp_path / "a.table"
    np.savez(tmp_path / "data.npz", image=np.zeros((2, 8, 8, 1), np.float32))
    cli("calibrate", model, "--data", tmp_path / "data.npz", "-o", table, "--method", "minmax")
    table.write_text(f"# sample number: {said}\n{table.read_text()}")
    code, _, error = cli("convert", model, "--quantize", "int8", "--table", table, "--verify=no", "-o", tmp_path / "out")
    assert (code, error) == (0, "")

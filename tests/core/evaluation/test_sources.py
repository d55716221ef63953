"""What tells an evaluation from another one: files by what they hold, and no more of them than that takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.evaluation import evaluate, sources
from transload.evaluation.sources import told

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("line", ["x.bin", "x.bin # the first", "x.bin\t#", "y.bin, x.bin # both", "a,b.bin", "a #1.bin"])
def test_what_a_list_names_counts(line: str, mark: str, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"# heading\n{line}\n" if mark == "" else f"{mark}{line}\n", encoding="utf-8")
    name = next(name for name in ("x.bin", "a,b.bin", "a #1.bin") if name in line)
    (tmp_path / name).write_bytes(b"1")
    before = told(tmp_path / "list.txt")
    assert told(tmp_path / "list.txt") == before
    (tmp_path / name).write_bytes(b"12")
    assert told(tmp_path / "list.txt") != before


def test_what_is_no_text_names_nothing(tmp_path: Path) -> None:
    """Weights were cut at their commas, each part taken for a file: 60 MB took 20 seconds."""
    weights = tmp_path / "w.caffemodel"
    weights.write_bytes(np.random.default_rng(0).bytes(1 << 16))
    assert sources._named_in(weights) == [] and told(weights) == told(weights)


def test_nothing_is_read_for_it_where_nothing_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(source: object) -> str:
        raise AssertionError("samples are not to be read once more")

    monkeypatch.setattr(evaluate, "told", never)
    image = [np.zeros((1, 1, 8, 8), np.float32)]
    assert transload.evaluate([DIGITS / "digits_float.onnx"] * 2, image, metrics=["agreement"]).samples == 1
    with pytest.raises(AssertionError):
        transload.evaluate([DIGITS / "digits_float.onnx"] * 2, image, metrics=["agreement"], resume=tmp_path / "saved")

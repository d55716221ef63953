"""What is in the place of a table's histograms, and is another program's, stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from transload.errors import TransloadError, UsageError
from transload_plugins.quantize.calibration import Calibration
from transload_plugins.quantize.histogram import Histogram

from tests.support.graphs import Graph


class Saved:
    """What a method of another's gives."""

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, path: Path) -> None:
        path.write_text(self.text)


def test_what_another_method_gives_is_taken_by_what_it_saves() -> None:
    """As who saves it and gives the path has it."""
    taken = Calibration.of(Saved("x 2 -1 2\n"))
    assert taken is not None and taken.ranges == {"x": (-1.0, 2.0)}
    with pytest.raises(UsageError, match="what a calibration of type Saved saves is no table: is no") as caught:
        Calibration.of(Saved(""))
    assert "calibrate" not in caught.value.hint
    with pytest.raises(UsageError, match="a calibration is a table or its path"):
        Calibration.of(3)


@pytest.mark.parametrize("histograms", [{}, {"x": Histogram([np.ones(3, np.float32)])}], ids=["none", "some"])
@pytest.mark.parametrize("content", ["arrays", "text"])
def test_arrays_of_others_are_not_lost(tmp_path: Path, histograms: dict[str, Histogram], content: str) -> None:
    table, beside = tmp_path / "model.table", tmp_path / "model.table.npz"
    table.write_text("x 1 -1 1\n")
    if content == "arrays":
        np.savez(beside, results=np.arange(5))
    else:
        beside.write_text("mine")
    was = beside.read_bytes()
    with pytest.raises(UsageError, match="is not what Transload writes there"):
        Calibration({"x": (-2.0, 2.0)}, histograms=histograms).save(table)
    assert beside.read_bytes() == was and table.read_text() == "x 1 -1 1\n"


def test_histograms_of_before_are_replaced_and_go(tmp_path: Path) -> None:
    table = tmp_path / "model.table"
    for ends in ((-2.0, 2.0), (-3.0, 3.0)):
        Calibration({"x": ends}, histograms={"x": Histogram([np.full(3, ends[1], np.float32)])}).save(table)
        assert Calibration.load(table).histograms["x"].high == ends[1]
    Calibration({"x": (-1.0, 1.0)}).save(table)
    assert [file.name for file in tmp_path.iterdir()] == [table.name] and not Calibration.load(table).histograms


@pytest.mark.parametrize("of", ["table", "table.npz"])
@pytest.mark.parametrize("before", [False, True])
def test_a_table_without_room_has_no_histograms(before: bool, of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do those of a table that was there before become others, which are not of its ranges."""
    def full(*given: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    folder = tmp_path / "new"
    table, histograms = folder / "model.table", {"x": Histogram([np.ones(3, np.float32)])}
    if before:
        Calibration({"x": (-2.0, 2.0)}, histograms={"x": Histogram([np.full(3, 2, np.float32)])}).save(table)
    was = {file.name: file.read_bytes() for file in folder.glob("*")}
    if of == "table":
        monkeypatch.setattr(Path, "write_text", full)
    else:
        monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(TransloadError, match=rf"model\.{of}: No space left"):
        Calibration({"x": (-1.0, 1.0)}, histograms=histograms).save(table)
    assert {file.name: file.read_bytes() for file in folder.glob("*")} == was and folder.exists() == before


def test_it_is_said_before_anything_is_measured(cli: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    from transload import save

    g = Graph((1, 4))
    (x,) = g.inputs
    model = save(g.done(g.Relu(x)), tmp_path / "model.mlir")
    np.savez(tmp_path / "t.npz", mine=np.arange(5))
    np.save(tmp_path / "x.npy", np.full((2, 1, 4), np.nan, np.float32))  # which nothing can be measured on
    code, _, err = cli("calibrate", model, "--data", tmp_path / "x.npy", "-o", tmp_path / "t")
    assert code == 2 and "t.npz is not what Transload writes there" in " ".join(err.split()), err

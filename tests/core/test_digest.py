"""What tells a model's files from others: no reading without end, and what is changed while it is converted is told."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import transload
from transload.digests import MOST_READ, Digest
from transload.errors import ReadError


def test_a_sparse_file_of_a_terabyte_is_told_by_its_size_and_time(tmp_path: Path) -> None:
    """It was gone through for its digest, for a quarter of an hour, where a tensor of a few bytes of it was asked for."""
    file = tmp_path / "weights.bin"
    with file.open("wb") as made:
        made.truncate(1 << 40)
    known = Digest(file).text()
    assert known is not None and known.startswith(f"stat:{1 << 40}-")
    os.utime(file, ns=(1, 1))
    assert Digest(file).text() not in (known, None)


def test_others_are_read(tmp_path: Path) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"abc")
    assert file.stat().st_size <= MOST_READ
    assert Digest(file).text() == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert Digest(tmp_path / "none").text() is None


@pytest.mark.parametrize("stage", ["read", "verify"])
@pytest.mark.parametrize("way", ["replaced", "written to"])
def test_a_model_that_changes_while_it_is_converted_is_refused(
    examples: Path, tmp_path: Path, stage: str, way: str,
) -> None:
    """The reader had read the one, LiteRT the other: a conversion that was right was told to be wrong."""
    model, other = tmp_path / "model.tflite", tmp_path / "other.tflite"
    shutil.copy(examples / "digits/digits_float.tflite", model)
    shutil.copy(examples / "digits/digits_int8.tflite", other)

    def change(name: str, share: float | None) -> None:
        if name == stage and other.exists():
            if way == "replaced":
                other.replace(model)
            else:
                model.write_bytes(other.read_bytes())
                other.unlink()

    out = tmp_path / "out"
    with pytest.raises(ReadError, match=r"model\.tflite: changed while it was converted") as raised:
        transload.convert(model, out=out, tell=change)
    assert "convert again" in str(raised.value.hint)
    assert not out.exists()
    assert transload.convert(model, out=out).report.exit_code == 0

"""Digests of files that are sparse and large: no reading of them without end."""

from __future__ import annotations

import os
from pathlib import Path

from transload.report import MOST_READ, Digest


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

"""TOML of users: what is read, and what would take too long."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from transload.errors import ReadError
from transload.samples.preprocess import Preprocess
from transload.toml_text import MAX_BYTES, toml_table

LONG = [
    ".".join(["a"] * 200_000) + " = 1", "[" + " . ".join(["a"] * 60_000) + "]", "x = {" + ".".join(['"a"'] * 60_000) + " = 1}",
    "\n" + ".".join(["'a.b'"] * 60_000) + " = 1"]


@pytest.mark.parametrize("text", LONG)
def test_keys_of_very_many_parts_are_refused_at_once(text: str, tmp_path: Path) -> None:
    """Python's reader took minutes of them."""
    began = time.monotonic()
    with pytest.raises(ValueError, match=r"a key in line \d has more than 32 parts"):
        toml_table(text)
    (tmp_path / "preprocess.toml").write_text(text)
    with pytest.raises(ReadError, match=r"preprocess\.toml: cannot be read as preprocess\.toml: a key in line"):
        Preprocess.read(tmp_path / "preprocess.toml")
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("text", ["a" * 900_000, "a" + " " * 900_000, "\"" * 900_000, ".".join(["a"] * 20) + " "])
def test_looking_for_them_takes_no_time_either(text: str) -> None:
    began = time.monotonic()
    with pytest.raises(ValueError):
        toml_table(text)
    assert time.monotonic() - began < 5


def test_what_is_read() -> None:
    assert toml_table(b"a.b = 1.5\n['x.y']\nc = '1.2.3.4'\n") == {"a": {"b": 1.5}, "x.y": {"c": "1.2.3.4"}}
    assert toml_table(b"\xef\xbb\xbfa = 1") == toml_table("\ufeffa = 1") == {"a": 1}, "editors put a mark before what they save"
    for data, says in ((b"\xff", "no text"), (b" " * (MAX_BYTES + 1), "are the limit"), (b"x = " + b"[" * 9999, "too deeply")):
        with pytest.raises(ValueError, match=says):
            toml_table(data)

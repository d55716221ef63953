"""Texts of millions of letters in text formats: matched at once, and not letter by letter, which took 200 bytes for each."""

from __future__ import annotations

import re
import tracemalloc

import pytest

import transload
from transload.errors import ReadError, TransloadError
from transload.text.strings import STRING

LETTERS = 5_000_000


def peak_of(pattern: str, text: str) -> int:
    """Bytes that matching a text as a whole takes at most."""
    match = re.compile(pattern).fullmatch
    tracemalloc.start()
    try:
        assert match(text) is not None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_string_takes_no_memory_for_each_letter() -> None:
    assert peak_of(STRING, f'"{"x" * LETTERS}"') < LETTERS
    assert re.compile(STRING).match('"a\\"b\\\\" "c"')[0] == '"a\\"b\\\\"'  # type: ignore[index]
    assert re.compile(STRING).fullmatch('"' + "\\n" * 4_000_001 + '"') is None, "escapes take some, and have an end"


def test_a_string_that_does_not_end() -> None:
    text = f'"top.Relu"() {{a = "{"x" * LETTERS}}} : () -> ()'
    with pytest.raises(TransloadError):
        transload.load(text=text, format="mlir")


def test_caffes_texts() -> None:
    caffe = pytest.importorskip("transload_converters.caffe.text")
    pytest.importorskip("google.protobuf")
    text = caffe._TOKEN.pattern.decode()
    assert peak_of(f"(?x:{text})", f'"{"x" * LETTERS}"') < LETTERS
    with pytest.raises(ReadError) as raised:
        transload.load(text="x" * LETTERS, format="caffe")
    assert len(str(raised.value)) < 1000, "what is wrong is not told with all its letters"

"""`check_reader` reads the file that it damages, and fails where nothing is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transload.errors import InternalError, ReadError
from transload.ir import Module
from transload.plugin import Reader
from transload.testing import check_reader

from tests.support.plugins import beside_ours, module_of, raising

GOOD = b"relu relu relu"


def reading(source: Any, inputs: Any) -> Module:
    """A reader of words: those that are not known are refused."""
    words = bytes(source.data).split()
    if not words or any(word != b"relu" for word in words):
        raise ReadError("knows the word relu")
    return module_of("top.Relu")


def checked(read: Callable[..., Any] = reading, data: bytes = GOOD, **how: Any) -> dict[str, int]:
    with beside_ours(readers=[Reader("words", "top", (".words",), read)]).bind():
        return check_reader(data, **{"format": "words", "count": 40, **how})


def test_what_is_right_passes() -> None:
    found = checked()
    assert found["refused"] > 0 and sum(found.values()) == 40


@pytest.mark.parametrize(("how", "why"), [
    ({"format": "no-such-format"}, "no reader is called 'no-such-format'; there are .*words"),
    ({"count": 0}, "0 mutations check nothing"),
    ({"count": -1}, "-1 mutations check nothing"),
    ({"data": b""}, "the good file is not read: ReadError"),
    ({"data": "relu"}, "the file is given as bytes, and is str"),
    ({"read": raising(ReadError("no"))}, "the good file is not read: ReadError: no"),
    ({"read": lambda source, inputs: module_of("top.Sine")}, "the good file is not read: InvalidContent: .*break the rules"),
    ({"then": raising(ReadError("not that"))}, "the good file is not read: ReadError: not that"),
    ({"then": raising(AssertionError("has no bias"))}, "the good file has no bias"),
], ids=lambda given: next(iter(given)) if isinstance(given, dict) else "")
def test_what_checks_nothing_fails(how: dict[str, Any], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        checked(**how)


def test_an_empty_file_that_is_read_cannot_be_damaged() -> None:
    with pytest.raises(AssertionError, match="an empty file cannot be damaged"):
        checked(lambda source, inputs: module_of("top.Relu"), b"")


@pytest.mark.parametrize("error", [KeyError("x"), InternalError("a pass made invalid IR")])
def test_a_defect_is_no_refusal(error: Exception) -> None:
    def reads(source: Any, inputs: Any) -> Module:
        if bytes(source.data) != GOOD:
            raise error
        return module_of("top.Relu")

    with pytest.raises(AssertionError, match=r"mutation \d+ \(seed 0\)"):
        checked(reads)


def test_a_file_that_needs_shapes_is_given_them() -> None:
    def reads(source: Any, inputs: Any) -> Module:
        if inputs["x"].shape != (2,):
            raise ReadError("has no static shape")
        return reading(source, inputs)

    with pytest.raises(AssertionError, match="the good file is not read"):
        checked(reads)
    assert checked(reads, inputs={"x": (2,)})["refused"] > 0


def _claiming(source: Any, inputs: Any) -> Module:
    bytearray(1 << 60 if bytes(source.data) != GOOD else 1)
    return module_of("top.Relu")


@pytest.mark.parametrize(("reads", "why"), [
    (lambda source, inputs: module_of("top.Relu" if bytes(source.data) == GOOD else "top.Sine"),
     r"mutation 0 \(seed 0\) gives a module that does not verify: top\.Sine"),
    (_claiming, "ask for more memory than there is, in place of a refusal: .*by reader 'words' of plugin 'acme'"),
], ids=["invalid", "memory"])
def test_what_load_refuses_for_a_reader_is_no_refusal_of_the_readers(reads: Callable[..., Any], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        checked(reads)


def test_a_reader_cannot_write_into_the_good_file() -> None:
    good = bytearray(GOOD)
    assert checked(data=good)["refused"] > 0  # type: ignore[arg-type]
    assert good == GOOD

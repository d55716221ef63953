"""A small dialect for the tests of text."""

from __future__ import annotations

import pytest

from transload.ir import registry
from transload.ir.declare import FLOAT32, INT32, INTS32, UNIT, Dialect, attribute, enum
from transload.text import parse_module


@pytest.fixture
def tiny_dialect():
    """Declares `tiny.op`; gives a function that reads one op from text."""
    tiny = Dialect("tiny")

    @tiny.op("op")
    class TinyOp:
        """An op with one attribute of each kind that has a text type of its own."""

        small = attribute(INT32)
        numbers = attribute(INTS32)
        ratio = attribute(FLOAT32)
        mode = attribute(enum("MAX", "MIN", text="#tiny.mode<{}>".format))
        flag = attribute(UNIT)

    registry.dialect("builtin")  # let the plugins register first
    registry.declare_dialect("tiny", lambda: tiny)
    yield lambda text: next(iter(parse_module(text).body))
    registry.declare_dialect("tiny", lambda: Dialect("tiny"))

"""How errors read: findings by their reasons."""

from __future__ import annotations

import pytest

from transload.errors import Finding, ReadError, TargetError, TextError, causes, merge_findings
from transload.text import parse_module

FLOATS = [
    Finding(f"chip.op{number}", "this works on floats", (f"tensor {number}", f"other {number}"), "quantize it", 2 + number)
    for number in range(8)]


def test_findings_with_one_reason_are_one() -> None:
    error = TargetError("the chip cannot take it", [FLOATS[0], Finding("chip.sort", "is not there", ("s",)), *FLOATS[1:]])
    assert str(error).splitlines() == [
        "the chip cannot take it",
        "  - this works on floats: 8 kinds, 44 in all: chip.op7 (9 times), chip.op6 (8 times), chip.op5 (7 times), "
        "chip.op4 (6 times), chip.op3 (5 times), chip.op2 (4 times) and 2 more",
        "      → quantize it",
        "  - chip.sort at 's': is not there",
    ]


def test_details_say_every_place() -> None:
    (reason,) = causes(FLOATS)
    lines = reason.text(details=True).splitlines()
    assert lines[0] == "this works on floats: 8 kinds, 44 in all"
    assert lines[1:3] == [f"      chip.op{i} ({2 + i} times) at 'tensor {i}', 'other {i}'" for i in range(2)]
    assert lines[-1] == "      → quantize it" and len(lines) == 10


def test_one_kind_reads_as_a_finding() -> None:
    (reason,) = causes([Finding("a.b", "why", tuple("abcdefghij"), count=10)])
    assert str(reason) == "a.b (10 times) at 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 2 more: why"
    assert reason.text(details=True).count("'") == 20


def test_what_a_file_has_is_quoted_as_far_as_anybody_reads() -> None:
    """A line of a million characters that does not read was a message of a million."""
    long = "begin" + "x" * 1_000_000 + "end"
    error = ReadError(long, [Finding(long, long, (long,), long)], long)
    assert len(str(error)) < 6 * 4200
    assert error.message.startswith("beginxxx") and error.message.endswith("xxxend")
    assert "(999,008 characters more)" in error.message
    assert error.findings[0].names == (long,)  # by which it is found
    with pytest.raises(TextError) as caught:
        parse_module("a." * 400_000)
    assert len(str(caught.value)) < 5000 and "generic form" in str(caught.value)
    whole = "y" * 4000
    assert str(ReadError(whole)) == whole


def test_findings_that_are_one_tell_each_name_once() -> None:
    """A compiler that complains in each of its steps had the same two names ten times."""
    made = [Finding("an op", "why", (name,)) for name in ("a", "b", "a", "b")]
    (found,) = merge_findings([*made, Finding("an op", "why", ("a", "c"))])
    assert found.names == ("a", "b", "c") and found.count == 5


def test_an_error_in_a_line_of_another_text() -> None:
    """The reason for which a verification was skipped had its lines' ends as `\\n`."""
    error = TargetError("cannot take this", [Finding("acme.Foo", "is none", hint="take another")], hint="or none")
    assert error.in_a_line == "cannot take this; acme.Foo: is none; take another; or none"

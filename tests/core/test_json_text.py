"""JSON of packed files: what it would take is counted before it is read."""

from __future__ import annotations

import tracemalloc

import pytest

from transload import json_text
from transload.budget import allowed
from transload.json_text import room_for_json, values_of_json

LENGTH = 60_000


@pytest.mark.parametrize("unit", [
    "{},", "[],", '{"":0},', '{"a":{}},', "[[]],", "1e9,", "123456789012,", '"ab",', "1.5,", " ", '{"a":1,"b":2},', "[1,2,3],"])
@pytest.mark.parametrize("mark", ["", "\N{GRINNING FACE}"])
def test_no_more_memory_is_taken_than_is_counted(unit: str, mark: str) -> None:
    """Each text needs so much by the count that it is refused with a byte less; Python takes no more than that."""
    text = f'["{mark}",' + unit * (LENGTH // len(unit)) + "0]"
    data = text.encode()
    with allowed(memory=1), pytest.raises(ValueError, match="would take about") as caught:
        values_of_json(data, 0)
    counted = int(str(caught.value).rpartition("memory=")[2].split()[0])
    with allowed(memory=counted):
        tracemalloc.start()
        try:
            values_of_json(data, 0)
            taken = tracemalloc.get_traced_memory()[1] + len(data)
        finally:
            tracemalloc.stop()
    assert taken <= counted + 1000  # what any document takes


def test_dictionaries_of_keys_that_differ() -> None:
    data = ("{" + ",".join(f'"{number}":{number}e1' for number in range(5000)) + "}").encode()
    with allowed(memory=1), pytest.raises(ValueError, match="would take about"):
        values_of_json(data, 0)
    assert len(values_of_json(data, len(data))) == 5000


@pytest.mark.parametrize("unit", ["{},", '{"":0},', "[],", '"",', "0,", "a"])
def test_what_is_not_packed_is_never_too_much(unit: str) -> None:
    text = "[" + unit * 1000 + "0]" if unit != "a" else f'"{unit * 3000}"'
    with allowed(memory=0):
        values_of_json(text, len(text))


def test_room_and_nesting() -> None:
    with allowed(memory=600):
        assert room_for_json(0) == 100 and room_for_json(600) == 6400
    with pytest.raises(ValueError, match="nested without end"):
        values_of_json("[" * 100_000, 1 << 20)
    assert json_text.values_of_json(b'{"a": [1]}', 0) == {"a": [1]}

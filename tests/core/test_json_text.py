"""JSON of packed files: what it would take is counted before it is read."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import transload
from transload import json_text
from transload.budget import allowed
from transload.dump import Dumped
from transload.json_text import of_json_text, room_for_json, values_of_json

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


@pytest.mark.parametrize("name", ["u\udcff", "\udc80\udcff", "a\\\udc80b", "a\\\N{GRINNING FACE}", "é\N{GRINNING FACE}", "plain"])
def test_names_that_are_no_text(name: str) -> None:
    """Strict readers refuse halves of characters, which Python writes; we read what we wrote as it was."""
    text = json_text.json_text({name: [name]})
    json.loads(text)[next(iter(json.loads(text)))][0].encode()  # there are none
    assert of_json_text(text) == {name: [name]}


@pytest.mark.skipif(sys.platform == "win32" or sys.platform == "darwin", reason="names are text there")
def test_a_conversion_whose_file_has_such_a_name(examples: Path, tmp_path: Path) -> None:
    """Its report is read again: the artifact goes where another takes its place, and is known as its own."""
    model = tmp_path / os.fsdecode(b"u\xff.tflite")
    model.write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    made = transload.convert(model, "tosa", tmp_path / "out", verify=False, dump=tmp_path / "steps")
    assert Dumped(tmp_path / "steps").model == str(model) and "u\\\\udcff" in (tmp_path / "steps" / "index.json").read_text()
    said = (tmp_path / "out" / "report.json").read_text()
    assert "u\\\\udcff.tosa" in said and made.files[0].is_file()
    assert transload.run(made.files[0], {"image": np.zeros((1, 8, 8, 1), np.int8)})
    transload.convert(examples / "digits" / "digits_int8.tflite", "tosa", tmp_path / "out", verify=False)
    assert not made.files[0].exists()


@pytest.mark.parametrize("text", [
    r'{"a": ["\ud800", {"b\udfff": "\ud83d\ude00"}], "c": 1}', '{"a": ["\ud800", {"b\udfff": "\U0001F600"}], "c": 1}'])
@pytest.mark.parametrize("encoding", ["", "utf-8", "utf-16"])
def test_halves_of_characters_are_spelt_out(text: str, encoding: str) -> None:
    """Names of a file go into others, which are UTF-8."""
    data = text.encode(encoding, "surrogatepass") if encoding else text
    assert values_of_json(data, 0) == {"a": ["\\ud800", {"b\\udfff": "\U0001F600"}], "c": 1}


def test_a_text_alone_is_spelt_out() -> None:
    assert values_of_json(r'"\ud800"', 0) == "\\ud800"

"""Chips as files: the three that come along, and everything that is wrong with a bad one at once."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

import transload
from transload.context import Context
from transload.errors import ReadError, UsageError
from transload.plugin_host import Host
from transload.toml_text import toml_table
from transload_targets.tensor_processor.chip import CHIPS, Chip, load_chip
from transload_targets.tensor_processor.chip.reading import FOLDER, ChipError, chip_of, parse_size
from transload_targets.tensor_processor.target import TensorProcessor

from tests.support.plugins import registering


def test_the_three_chips_are_what_their_names_say() -> None:
    assert CHIPS == ("tp-large", "tp-small", "tp-tiny")
    sizes = {name: (load_chip(name).lanes, load_chip(name).lanes * load_chip(name).local_bytes) for name in CHIPS}
    assert sizes == {"tp-large": (64, 16 << 20), "tp-small": (8, 512 << 10), "tp-tiny": (1, 64 << 10)}
    tiny = load_chip("tp-tiny")
    assert tiny.multiplier_bits == 8 and not any("float" in dtype for dtypes in tiny.operations.values() for dtype in dtypes)


@pytest.mark.parametrize("name", CHIPS)
def test_a_chip_that_comes_along_has_arithmetic_for_all_that_it_says(name: str) -> None:
    from transload_targets.tensor_processor.arithmetic import operation

    for each in load_chip(name).operations:
        assert callable(operation(each))


def test_every_field_says_what_it_is(root: Path) -> None:
    page = (root / "docs" / "tensor-processor.md").read_text()
    for field in dataclasses.fields(Chip):
        assert len(field.metadata["doc"]) > 10, field.name
        assert f"`{field.name}`" in page or field.metadata["table"].endswith(field.name), field.name


def test_a_bad_file_gets_every_finding_at_once(tmp_path: Path) -> None:
    text = (FOLDER / "tp-small.toml").read_text()
    for old, new in (
            ("lanes = 8", "lines = 8"), ("vector_bytes = 32", "vector_bytes = 33"), ('"64k"', '"64q"'),
            ("multiplier_bits = 32", "multiplier_bits = 16"), ("int16 = 16", "int17 = 16"),
            ('table = ["int8"', 'table = ["byte"'), ("[dma]", "[dma]\nbanks = 4")):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ChipError) as caught:
        load_chip(path)
    found = {finding.what: finding for finding in caught.value.findings}
    assert set(found) == {
        "compute.lines", "compute.lanes", "compute.vector_bytes", "local.local_bytes", "rescale.multiplier_bits", "compute.macs",
        "operations", "dma.banks"}
    assert found["compute.lines"].hint == "did you mean lanes?"
    assert "[local]" in found["dma.banks"].hint


@pytest.mark.parametrize("data", [
    b"", b"\xff", b"lanes = ", b"name = 3\n[compute]\nlanes = -1", b"compute = 3", b"[[operations]]"])
def test_a_hostile_file_is_a_chip_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(data)
    with pytest.raises(ChipError):
        load_chip(path)


BAD = (-1, 0, 1 << 60, 10**400, 1.5, float("inf"), float("nan"), True, "", "eight", "-8", "1e9", "9" * 4000, "\x1b[31m", [], [1],
       {}, {"a": 1})
"""What an attacker writes where a number of lanes, of bytes, of cycles belongs."""


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: str(bad)[:12])
def test_whatever_stands_where_numbers_belong_all_findings_come_at_once(bad: object) -> None:
    content = toml_table((FOLDER / "tp-small.toml").read_text())
    numbers = [(table, key) for table, entries in content.items() if isinstance(entries, dict) for key, value in entries.items()
               if isinstance(value, int) and not isinstance(value, bool)]
    numbers += [("local", "local_bytes"), ("global", "global_bytes")]
    allowed = {("dma", "dma_latency"), ("compute", "start_cycles")} if bad == 0 and bad is not False else set()
    for table, key in numbers:
        content[table][key] = bad
    content["compute"]["macs"] = {"int8": bad, "int3": 4}
    content["unknown"] = bad
    with pytest.raises(ChipError) as caught:
        chip_of(content, "bad.toml")
    found = {finding.what for finding in caught.value.findings}
    assert {f"{table}.{key}" for table, key in numbers if (table, key) not in allowed} <= found
    assert {"compute.macs", "unknown"} <= found
    told = str(caught.value)
    assert len(told) < 100_000 and "\x1b" not in told


def test_a_chip_of_which_nothing_is_said_lacks_all_that_has_no_default() -> None:
    with pytest.raises(ChipError) as caught:
        chip_of({}, "empty.toml")
    needed = {field.name for field in dataclasses.fields(Chip) if field.default is dataclasses.MISSING}
    assert {finding.what.rpartition(".")[2] for finding in caught.value.findings} == needed
    assert all(finding.why == "is missing" and finding.hint for finding in caught.value.findings)


def test_a_chip_that_is_not_there_is_said_with_its_likes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no chip 'tp-smal'"):
        load_chip("tp-smal")
    with pytest.raises(ReadError, match=r"there is no such file"):
        load_chip(tmp_path / "none.toml")


def test_banks_are_of_whole_vectors(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text((FOLDER / "tp-small.toml").read_text().replace('"64k"', "65537"))
    with pytest.raises(ChipError, match=r"whole vectors"):
        load_chip(path)


@pytest.mark.parametrize(("old", "new", "what", "why"), [
    ("vector_bytes = 32", "vector_bytes = 2", "local.local_bytes", "elements of up to 8 bytes"),
    ("lanes = 8", "lanes = 5000", "compute.lanes", "5000 is not between 1 and 4,096"),
    ("lanes = 8", "lanes = 0", "compute.lanes", "0 is not between 1 and 4,096"),
    ("vector_bytes = 32", "vector_bytes = 131072", "compute.vector_bytes", "131072 is not between 1 and 65,536"),
    ('"65544"', '"5G"', "local.local_bytes", "5368709120 is not between 1 and 4,294,967,296"),
    ("shift_bits = 6", "shift_bits = 0", "rescale.shift_bits", "0 is not between 4 and 6"),
    ("[compute]", "[compute]\ncores = 2000", "compute.cores", "2000 is not between 1 and 1,024"),
    ("banks = 8", "banks = 128", "local.banks", "128 is not between 1 and 64"),
])
def test_what_no_binary_can_say_is_no_chip(tmp_path: Path, old: str, new: str, what: str, why: str) -> None:
    path = tmp_path / "odd.toml"
    path.write_text((FOLDER / "tp-small.toml").read_text().replace('"64k"', '"65544"').replace(old, new))
    with pytest.raises(ChipError) as caught:
        load_chip(path)
    assert [finding.why for finding in caught.value.findings if finding.what == what and why in finding.why]


def test_operations_that_nobody_computes_are_told_with_their_likes_all_at_once() -> None:
    content = toml_table((FOLDER / "tp-tiny.toml").read_text())
    content["operations"] |= {"conv2": ["int8"], "Matmul": ["int8"], "slice": ["byte"], "acme.sharpen": ["int8"]}
    content["operations"] |= {"tpu.pad": ["int8"], "top.Sofplus": ["int8"], "top.Relu": ["int8"]}
    content["compute"]["mac"] = {}
    with pytest.raises(ChipError) as caught:
        chip_of(content, "bad.toml")
    found = {finding.what: finding for finding in caught.value.findings}
    assert set(found) == {"operations", "compute.mac"} and found["compute.mac"].hint == "did you mean macs?"
    for said in ("conv2: is no operation; did you mean conv2d?", "did you mean matmul?", "slice: 'byte'",
                 "tpu.pad: is written without the dialect: pad",
                 "top.Sofplus: is no operation; did you mean top.Softplus?"):
        assert said in found["operations"].why
    assert "top.Relu" not in found["operations"].why  # which is an op that there is
    assert "acme" not in found["operations"].why  # whose plugin knows it, if it is there


def test_a_dialect_that_is_mistyped_is_told_and_one_that_is_not_there_is_not() -> None:
    """An operation of a dialect that nobody registers was taken for a plugin's, whatever it was like: nothing said `topp.Add`."""
    content = toml_table((FOLDER / "tp-tiny.toml").read_text())
    silent = ("acme.sharpen", "acme.Add", "npu.add", "topaz.Sharpen")  # the last two are like ones of ours, and plugins'
    content["operations"] |= {name: ["int8"] for name in ("topp.Add", "Top.relu", "onnxx.Conv", *silent)}
    with pytest.raises(ChipError) as caught:
        chip_of(content, "bad.toml")
    (finding,) = caught.value.findings
    for said in ("topp.Add: no plugin registers dialect 'topp'; did you mean top.Add?", "did you mean top.Relu?",
                 "did you mean onnx.Conv?"):
        assert said in finding.why
    assert not any(name in finding.why for name in silent)


def test_what_may_be_none_is_told_so() -> None:
    content = toml_table((FOLDER / "tp-tiny.toml").read_text())
    content["dma"]["dma_latency"], content["compute"]["start_cycles"] = 0, 0
    assert chip_of(content, "fast.toml").dma_latency == 0
    content["dma"]["dma_latency"] = -4
    with pytest.raises(ChipError, match=r"-4 is not between 0 and 2\^48"):
        chip_of(content, "bad.toml")


def test_sizes_may_have_units() -> None:
    assert [parse_size(each) for each in (5, "5", "4k", "2M", "1G")] == [5, 5, 4096, 2 << 20, 1 << 30]
    for bad in ("", "k", "-1k", "1.5k", True, None, 1.5, 0):
        with pytest.raises(ValueError):
            parse_size(bad)


@pytest.mark.parametrize("content", [
    None, b"lanes = ", b"\xff\xfe", b"lanes = 3\n", b"[[" * 2000, b"x = 1\n" * 200_000, b".".join([b"a"] * 200_000) + b" = 1"])
def test_files_that_are_no_chips_say_where_to_start(content: bytes | None, tmp_path: Path) -> None:
    """They are damaged files, not defects, as their exit code says."""
    file = tmp_path / "my.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ReadError, match=r"my\.toml") as caught:
        load_chip(file)
    assert caught.value.exit_code == 3
    assert "new-plugin my-chip --kind chip" in caught.value.hint


def test_a_file_in_place_of_a_target_says_how_it_becomes_one(examples: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no target is called 'my\.toml'") as caught:
        transload.convert(examples / "digits" / "digits_int8.tflite", "my.toml", tmp_path / "out")
    assert "`transload new-plugin my-chip --kind chip` makes a target" in caught.value.hint


@pytest.mark.parametrize("name", ["my.toml", 'quote".toml', "$floats.toml", "a{b},c.toml", "back\\slash.toml"])
def test_chips_of_small_multipliers_are_near_enough_wherever_they_are_from(name: str, examples: Path, tmp_path: Path) -> None:
    """What is near enough follows from the file, whoever registers it, and whatever the file is called."""
    shutil.copy(FOLDER / "tp-tiny.toml", tmp_path / name)
    there = Host()
    there.register(type("Mine", (), registering(targets=[TensorProcessor(tmp_path / name, "mine")])), "mine")
    with Context(there).bind():
        artifact = transload.convert(examples / "digits" / "digits_int8.tflite", "mine", tmp_path / "out")
    assert artifact.verified

"""What other chips would bring: variations are chips, their figures those of compiling for each, and all wrong ones are told."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import pytest

from transload.cli import run
from transload.errors import UsageError
from transload_targets.tensor_processor.chip import load_chip
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.cycles.timeline import timeline
from transload_targets.tensor_processor.explore.picture import picture
from transload_targets.tensor_processor.explore.sweep import Explored, best_of, explore, variations

from .functions import Maker, network


def test_variations_are_all_combinations_and_local_memory_is_that_of_all_lanes():
    found = variations(load_chip("tp-small"), {"lmem": ["256k", "1M"], "dma": [8, 32], "banks": [4]})
    assert [settings for settings, _ in found] == [
        {"lmem": size, "dma": rate, "banks": 4} for size in (1 << 18, 1 << 20) for rate in (8, 32)]
    assert [(chip.local_bytes, chip.dma_bytes, chip.banks) for _, chip in found[:2]] == [(1 << 15, 8, 4), (1 << 15, 32, 4)]


@pytest.mark.parametrize(("sweeps", "why"), [
    ({"dma_byts": [8]}, "dma_byts is no number of a chip"),
    ({"banks": [8, "many"]}, "banks 'many' is no whole number"),
    ({"lanes": [-1]}, "lanes -1 is not between"),
    ({"foo": [1]}, "numbers are lanes, vector_bytes, "),
    ({"local_bytes": ["64k"], "lmem": ["512k"]}, "lmem: is the same field as local_bytes"),
    ({"per_channel": ["false"]}, "per_channel: decides what a network is lowered to"),
    ({"multiplier_bits": [8]}, "multiplier_bits: decides what a network is lowered to"),
    ({"lmem": ["256k"], "lanes": [3]}, "a multiple of 768"),
    ({"banks": [7]}, "not 7 banks of whole vectors"),
    ({"lmem": [100000]}, "are not 8 banks of whole vectors"),
    ({"macs": [8]}, "macs is no number of a chip"),
])
def test_what_no_chip_can_be_is_told_of_all_variations(sweeps, why):
    with pytest.raises(UsageError) as error:
        variations(load_chip("tp-small"), sweeps)
    assert why in str(error.value)


def test_too_many_variations_or_none_are_refused():
    for sweeps in ({}, {"dma": []}, {"dma": range(1, 100), "latency": range(100)}):
        with pytest.raises(UsageError, match="variations are asked for"):
            variations(load_chip("tp-small"), sweeps)


def test_figures_are_those_of_a_program_for_each_chip():
    module, chip = network(2), load_chip("tp-small")
    rows = explore([module], chip, {"dma": [4, 64], "lmem": ["16k"]}, workers=1)
    made = [chip, *(each for _, each in variations(chip, {"dma": [4, 64], "lmem": ["16k"]}))]
    for row, each in zip(rows, made, strict=True):
        times = timeline(compile_function(module.main, each).program, each)
        assert (row.cycles, row.bytes) == (times.cycles, times.bytes) and not row.note
    assert rows[0].settings == {} and rows[1].cycles > rows[2].cycles


def test_cores_are_swept_as_all_else_is_and_more_of_them_are_never_slower():
    made = Maker((1, 32, 32, 32))
    rows = explore([made.done(made.conv(made.conv(made.input, 32), 32))], load_chip("tp-small"), {"cores": [1, 2, 4]}, workers=1)
    cycles = [row.cycles for row in rows]
    assert cycles[0] == cycles[1] > cycles[2] > cycles[3] and all(0 < row.utilisation <= 1 for row in rows)


def test_a_chip_that_is_too_small_is_told_and_the_others_are_computed():
    made = Maker((1, 64, 8, 8))
    rows = explore([made.done(made.conv(made.input, 64))], load_chip("tp-small"), {"lmem": ["2k", "64k"]}, workers=1)
    assert [bool(row.note) for row in rows] == [False, True, False]
    assert rows[1].note.startswith("ops do not fit into local memory: conv2d its smallest slices")


def test_the_best_are_those_of_which_no_cheaper_one_is_as_fast():
    rows = [Explored({}, 1.0), *(Explored({"dma": dma, "latency": late}, cycles) for dma, late, cycles in (
        (8, 50, 100.0), (16, 50, 100.0), (16, 20, 90.0), (16, 10, 90.0), (32, 50, 80.0)))]
    assert [row.settings["dma"] * 100 + row.settings["latency"] for row in best_of(rows)] == [850, 1620, 3250]


def test_the_command_tells_draws_and_writes_a_table(tmp_path, capsys):
    module = Path(__file__).parents[3] / "examples" / "digits" / "digits_int8.tflite"
    picture_, table = tmp_path / "x.svg", tmp_path / "x.csv"
    assert run(["explore", str(module), "--chip", "tp-small", "--sweep", "lmem=32k,64k dma=8", "--plot", str(picture_),
                "--table", str(table)]) == 0
    shown = capsys.readouterr().out
    first, *others = shown.splitlines()[2:]
    assert first.split()[:2] == ["512k", "16"] and first.endswith("=") and "64k" in others[1]  # the chip as it is, others
    rows = list(csv.DictReader(table.open()))
    assert [row["lmem"] for row in rows] == ["", "32768", "65536"] and float(rows[0]["cycles"]) > 0
    assert ElementTree.parse(picture_).getroot().tag.endswith("svg")


def test_what_does_not_fit_is_said_below_a_table_that_stays_narrow(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    module = Path(__file__).parents[3] / "examples" / "digits" / "digits_int8.tflite"
    sweeps = ["lmem=32k,4k", "dma=8", "banks=2", "latency=0"]
    assert run(["explore", str(module), "--chip", "tp-small", *(word for each in sweeps for word in ("--sweep", each))]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80
    assert [line.split()[:5] for line in shown[3:6]] == [  # each row a line
        ["512k", "16", "8", "60", "0.001"], ["32k", "8", "2", "0", "0.001"], ["4k", "8", "2", "0", "none"]]
    assert shown[6].startswith("lmem=4k dma=8 banks=2 latency=0: ops do not fit into local memory: ")


@pytest.mark.parametrize("sweep", ["dma", "dma=", "=8", "dma=8 dma=16"])
def test_a_sweep_that_is_none_is_refused(sweep, tmp_path, capsys):
    assert run(["explore", str(tmp_path / "no.tflite"), "--sweep", sweep]) == 2
    assert "--sweep" in capsys.readouterr().err


def test_names_of_models_are_escaped_in_the_picture():
    rows = [Explored({}, 1.0), Explored({"dma": 8}, 1.0, 1.0, 10), Explored({"dma": 16}, 1.0, 0.5, 10)]
    assert ElementTree.fromstring(picture(rows, "<a> & b")) is not None

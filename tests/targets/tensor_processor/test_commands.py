"""The command `program`: binaries and texts of a tensor processor, looked at, turned into each other, checked and run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transload.cli import run
from transload_targets.tensor_processor.instructions import assemble, disassemble, read

from .simulator.programs import CORES, SLICES

TEXT = """\
program "greater" global_bytes=64
machine "two lanes" lanes=2 local_bytes=64 banks=2 eu_bytes=4 cores=1
tensor %0 "a" 1x3x2x2
tensor %1 "b" 1x3x2x2
tensor %2 "greater" 1x3x2x2
input "a" int8 1x3x2x2 at 0x0 %0
input "b" int8 1x3x2x2 at 0xc %1
output "greater" int8 1x3x2x2 at 0x18 %2
dma.1 wait 0 load (G[0x0] int8 1x3x2x2 %0) -> (L[0x0] int8 1x3x2x2 aligned %0) "a"
dma.2 wait 0 load (G[0xc] int8 1x3x2x2 %1) -> (L[0x8] int8 1x3x2x2 aligned %1) "b"
tiu.1 wait 2 maximum (L[0x0] int8 1x3x2x2 aligned %0, L[0x8] int8 1x3x2x2 aligned %1) \
-> (L[0x10] int8 1x3x2x2 aligned %2) "greater"
dma.3 wait 1 store (L[0x10] int8 1x3x2x2 aligned %2) -> (G[0x18] int8 1x3x2x2 %2) "greater"
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "x.tptxt"
    path.write_text(TEXT)
    return path


def test_a_text_becomes_a_binary_and_the_text_again(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    binary, again = tmp_path / "x.tpu", tmp_path / "y.tptxt"
    assert run(["program", "assemble", str(text), "-o", str(binary)]) == 0
    assert read(binary) == assemble(TEXT)
    assert run(["program", "disassemble", str(binary), "-o", str(again)]) == 0
    assert again.read_text() == TEXT
    assert run(["program", "disassemble", str(binary)]) == 0
    assert capsys.readouterr().out == TEXT


@pytest.mark.parametrize("before", ["", "\ufeff", "# made by hand\r\n\n  "])
def test_what_a_file_is_its_beginning_says(before: str, text: Path, tmp_path: Path):
    named, binary, again = tmp_path / "x.asm", tmp_path / "binary.tptxt", tmp_path / "again.tpu"
    named.write_text(before + TEXT, encoding="utf-8")
    assert run(["program", "assemble", str(named), "-o", str(binary)]) == 0
    assert run(["program", "check", str(named)]) == run(["program", "check", str(binary)]) == 0
    assert run(["program", "assemble", str(binary), "-o", str(again)]) == 0
    assert again.read_bytes() == binary.read_bytes()


def test_a_binary_is_looked_at(text: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["program", "inspect", str(text)]) == 0
    said = capsys.readouterr().out
    assert "program 'greater' for two lanes\n" in said and "64 B a lane" in said
    assert [line.split()[:3] for line in said.splitlines() if "load" in line] == [["dma", "load", "2"]] and "24" in said


def test_rules_that_are_broken_are_told(text: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["program", "check", str(text)]) == 0
    assert "4 instructions keep to the rules of two lanes" in capsys.readouterr().out
    text.write_text(TEXT.replace("tiu.1 wait 2", "tiu.1 wait 1").replace("dma.3 wait 1", "dma.3 wait 0"))
    assert run(["program", "check", str(text)]) == 3
    said = capsys.readouterr().out
    assert "tiu.1 maximum" in said and "dma.2 load (for 'b')" in said and "dma.3 store" in said


def test_a_program_is_run(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    chance = np.random.default_rng(1)
    given = {name: chance.integers(-128, 128, (1, 3, 2, 2)).astype(np.int8) for name in "ab"}
    np.savez(tmp_path / "in.npz", **given)
    for order in ([], ["--order", "3"]):
        assert run(["program", "run", str(text), "-i", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.npz"), *order]) == 0
        found = np.load(tmp_path / "out.npz")
        np.testing.assert_array_equal(found["greater"], np.maximum(given["a"], given["b"]))
    assert run(["program", "run", str(text), "--all", "--seed", "3"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if "1x3x2x2" in line][-1] == "greater"


def test_what_cannot_be_run_is_told(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text.write_text(SLICES)
    assert run(["program", "run", str(text)]) == 3
    assert "no operation 'tpu.scaled' is known" in capsys.readouterr().err
    text.write_text(TEXT.replace("L[0x10]", "L[0x3c]"))
    assert run(["program", "assemble", str(text), "-o", str(tmp_path / "x.tpu")]) == 3
    assert "local memory ends at 0x40" in capsys.readouterr().err and not (tmp_path / "x.tpu").exists()
    text.write_bytes(b"\xff\xfe")
    assert run(["program", "check", str(text)]) == 3
    assert run(["program", "inspect", str(tmp_path / "nothing.tpu")]) == 3
    (tmp_path / "bad.tpu").write_bytes(bytes(100))
    assert run(["program", "inspect", str(tmp_path / "bad.tpu")]) == 3
    assert "it is no binary of the tensor processor" in capsys.readouterr().err


def test_weights_can_be_left_out_of_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "x.tptxt"
    path.write_text(SLICES)
    assert run(["program", "disassemble", str(path), "--no-weights"]) == 0
    assert capsys.readouterr().out == disassemble(assemble(SLICES), weights=False)


def test_other_commands_say_what_a_binary_is(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    binary = tmp_path / "x.tpu"
    assert run(["program", "assemble", str(text), "-o", str(binary)]) == 0
    assert run(["inspect", str(binary)]) == 3
    assert "transload program inspect" in capsys.readouterr().err


def test_instructions_of_several_cores_are_counted_by_core(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "x.tptxt"
    path.write_text(CORES)
    assert run(["program", "inspect", str(path)]) == 0
    said = capsys.readouterr().out
    counts = {int(row[0]): int(row[1]) for row in (line.split() for line in said[said.index("core "):].splitlines())
              if len(row) == 2 and row[0].isdigit()}
    assert counts == {core: sum(one.core == core for one in assemble(CORES).instructions) for core in (0, 1)}

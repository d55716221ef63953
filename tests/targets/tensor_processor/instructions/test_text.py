"""The text of programs: what is written is read back, and what is wrong in a text is said line by line."""

from __future__ import annotations

import pytest
from hypothesis import given

from transload.errors import TextError
from transload_targets.tensor_processor.instructions import (
    Global,
    Instruction,
    Local,
    Machine,
    Part,
    Program,
    Tensor,
    assemble,
    disassemble,
)

from .strategies import programs

TEXT = """\
program "main" global_bytes=8192
machine "tp-tiny" lanes=1 local_bytes=65536 banks=16 eu_bytes=16 cores=1
tensor %0 "image" 1x3x8x8
input "image" int8 1x3x8x8 at 0x1000 %0 scale=0.5 zero_point=-1
dma.1 wait 0 load (G[0x1000] int8 1x3x4x8 strides=192,64,8,1 %0+0,0,4,0) -> (L[0x0] int8 1x3x4x8 aligned %0+0,0,4,0) "image"
tiu.1 wait 1 add (L[0x0] int8 1x3x4x8 aligned, -) -> (L[0x80] int8 1x3x4x8 aligned) {"shift": 3, "pads": [0, 1]} "sum"
1:dma.1 wait 0 barrier () -> ()
weights "w" int32 at 0x20 AAEC
"""


@given(programs())
def test_what_is_written_is_read_back(program: Program):
    text = disassemble(program)
    again = assemble(text)
    assert again == program
    assert disassemble(again) == text


def test_a_text_says_all_that_an_instruction_has():
    program = assemble("# a note\n\n" + TEXT)
    rows = Part(0, (0, 0, 4, 0))
    assert program.machine == Machine("tp-tiny", 1, 65536, 16, 16)
    assert program.tensors == (Tensor("image", (1, 3, 8, 8)),)
    assert program.instructions == (
        Instruction(
            "dma", 1, 0, "load", (Global(0x1000, (1, 3, 4, 8), "int8", (192, 64, 8, 1), rows),),
            (Local(0, (1, 3, 4, 8), "int8", part=rows),), name="image"),
        Instruction(
            "tiu", 1, 1, "add", (Local(0, (1, 3, 4, 8), "int8"), None), (Local(0x80, (1, 3, 4, 8), "int8"),),
            {"shift": 3, "pads": (0, 1)}, name="sum"),
        Instruction("dma", 1, 0, "barrier", core=1),
    )
    assert program.weights[0].data == b"\x00\x01\x02" and program.inputs[0].zero_point == -1
    assert disassemble(program) == TEXT


def test_bytes_can_be_left_out_and_then_it_does_not_assemble():
    text = disassemble(assemble(TEXT), weights=False)
    assert text.endswith('weights "w" int32 at 0x20 ...\n')
    with pytest.raises(TextError, match="has no bytes"):
        assemble(text)


@pytest.mark.parametrize(("wrong", "why"), [
    ("dma.x wait 0 load () -> ()", "does not read"),
    ("dma.1 wait 0 load () -> (-)", "leaves an output out"),
    ("dma.1 wait 0 load () -> (L[0x0] int8 1x1x1x1)", "no layout"),
    ("dma.1 wait 0 load () -> (L[0x0] int8 1x1x1x1 blocked)", "no layout"),
    ("dma.1 wait 0 load () -> (L[0x0] int8 1x1x1x1 aligned strides=1,2)", "2 strides"),
    ("dma.1 wait 0 load () -> (G[0x0] int8 1x1x1x1 aligned)", "only local ones"),
    ("dma.1 wait 0 load () -> (G[0x0] int9 1x1x1x1)", "no element type"),
    ("dma.1 wait 0 load (?) -> ()", "does not read L"),
    ('dma.1 wait 0 load () -> () {"a": }', "no JSON"),
    ('dma.1 wait 0 load () -> () {"a": ' + "[" * 100_000 + "}", "no JSON"),
    (r'dma.1 wait 0 load () -> () "\q"', "no string"),
    ('tensor %7 "x" 1', "numbered in order"),
    ('weights "x" int8 at 0x0 a', "no base64"),
    ('input "x" int8 1 at 0x0 scale=a zero_point=1', "no number"),
    ('machine "x" lanes=1 local_bytes=1 banks=1 eu_bytes=1 cores=1', "second machine"),
    ('program "x" global_bytes=1', "second program"),
])
def test_a_wrong_line_is_named(wrong: str, why: str):
    with pytest.raises(TextError, match=why) as caught:
        assemble(TEXT + wrong + "\n")
    assert [finding.what for finding in caught.value.findings] == ["line 9"]


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(TextError) as caught:
        assemble("nothing\ninput\n")
    assert len(caught.value.findings) == 4  # two lines, no program, no machine

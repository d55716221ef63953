"""Programs as text, a line an instruction; what `disassemble` writes, `assemble` reads back.

    program "main" global_bytes=8192
    machine "tp-tiny" lanes=1 local_bytes=65536 banks=16 eu_bytes=16 cores=1
    tensor %0 "image" 1x3x8x8
    input "image" int8 1x3x8x8 at 0x1000 %0 scale=0.5 zero_point=-1
    dma.1 wait 0 load (G[0x1000] int8 1x3x4x8 strides=192,64,8,1 %0) -> (L[0x0] int8 1x3x4x8 aligned %0) "image"
    tiu.1 wait 1 add (L[0x0] int8 1x3x4x8 aligned, -) -> (L[0x80] int8 1x3x4x8 aligned) {"shift": 3} "sum"

An operand is its memory (`L` a core's lanes, `G` global) and address, its element type and shape (`()` of no dimensions), its
layout, then what it has of its own: `strides=`, `lane=`, and the part of a tensor that it is, `%3+0,0,4,0` or, with the steps
between neighbours, `%3+0,0,4,0*192,1,24,3`. An input that is left
out is `-`. `1:dma.4` is an instruction of the second core. Attributes are JSON, names JSON strings, bytes base64; `#` starts a
line that says nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from transload.errors import Finding, TextError

from .elements import ELEMENTS
from .operands import LAYOUTS, Global, Local, Operand, Part
from .program import Instruction, Machine, Port, Program, Tensor, Weights

__all__ = ["assemble", "disassemble", "instruction_text", "operand_text"]

ELIDED = "..."
"""Stands for bytes that a text leaves out."""


# --- writing

def disassemble(program: Program, weights: bool = True) -> str:
    """The text of a program. Without `weights` their bytes are left out, and it cannot be assembled."""
    return "\n".join((*_lines(program, weights), ""))


def _lines(program: Program, weights: bool) -> Iterator[str]:
    machine = program.machine
    yield f"program {_quoted(program.name)} global_bytes={program.global_bytes}"
    fields = " ".join(f"{name}={getattr(machine, name)}" for name in _MACHINE)
    yield f"machine {_quoted(machine.name)} {fields}"
    for number, tensor in enumerate(program.tensors):
        alias = "" if tensor.alias is None else f" alias %{tensor.alias}"
        yield f"tensor %{number} {_quoted(tensor.name)} {_shape(tensor.shape)}{alias}"
    for word, ports in (("input", program.inputs), ("output", program.outputs)):
        for port in ports:
            scaled = f" scale={port.scale!r} zero_point={port.zero_point}" if port.scale or port.zero_point else ""
            yield (f"{word} {_quoted(port.name)} {port.dtype} {_shape(port.shape)} at {port.address:#x}"
                   f"{_of(port.tensor)}{scaled}")
    for instruction in program.instructions:
        yield instruction_text(instruction)
    for held in program.weights:
        data = base64.b64encode(held.data).decode() if weights else ELIDED
        yield f"weights {_quoted(held.name)} {held.dtype} at {held.address:#x}{_of(held.tensor)} {data or '='}"


def instruction_text(instruction: Instruction) -> str:
    """An instruction's line."""
    one = instruction
    inputs = ", ".join("-" if operand is None else operand_text(operand) for operand in one.inputs)
    outputs = ", ".join(map(operand_text, one.outputs))
    attributes = f" {json.dumps(dict(one.attributes))}" if one.attributes else ""
    name = f" {_quoted(one.name)}" if one.name else ""
    return f"{one.label} wait {one.wait} {one.operation} ({inputs}) -> ({outputs}){attributes}{name}"


def operand_text(operand: Operand) -> str:
    """An operand in an instruction's line."""
    words = [f"{'L' if isinstance(operand, Local) else 'G'}[{operand.address:#x}]", operand.dtype, _shape(operand.shape)]
    if isinstance(operand, Local):
        words.append(operand.layout)
    if operand.strides is not None:
        words.append(f"strides={_numbers(operand.strides)}")
    if isinstance(operand, Local) and operand.lane:
        words.append(f"lane={operand.lane}")
    part = operand.part
    if part is not None:
        offset = f"+{_numbers(part.offset)}" if part.offset else ""
        steps = "" if part.steps is None else f"*{_numbers(part.steps)}"
        words.append(f"%{part.tensor}{offset}{steps}")
    return " ".join(words)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "()"


def _numbers(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers)) or "()"


def _of(tensor: int | None) -> str:
    return "" if tensor is None else f" %{tensor}"


# --- reading

_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*program "')
"""Of a text, behind lines that say nothing; an editor may have put its mark before it."""
_MACHINE = ("lanes", "local_bytes", "banks", "eu_bytes", "cores")
_TEXT = r'"(?:[^"\\]|\\.)*"'
_NUMBER, _SIGNED, _ADDRESS = r"[0-9]{1,19}", r"-?[0-9]{1,19}", r"0x[0-9a-f]{1,16}"
_SHAPE = rf"(?:\(\)|{_NUMBER}(?:x{_NUMBER})*)"
_LIST = rf"(?:\(\)|{_SIGNED}(?:,{_SIGNED})*)"
_WORD = r"[A-Za-z_][\w.]*"
_OF = rf"(?: %(?P<tensor>{_NUMBER}))?"
_OPERAND = re.compile(
    rf"(?P<memory>[LG])\[(?P<address>{_ADDRESS})\] (?P<dtype>\w+) (?P<shape>{_SHAPE})(?: (?P<layout>[a-z]+))?"
    rf"(?: strides=(?P<strides>{_LIST}))?(?: lane=(?P<lane>{_NUMBER}))?"
    rf"(?: %(?P<tensor>{_NUMBER})(?:\+(?P<offset>{_LIST}))?(?:\*(?P<steps>{_LIST}))?)?",
    re.ASCII)
_STATEMENTS: dict[str, re.Pattern[str]] = {name: re.compile(pattern, re.ASCII) for name, pattern in {
    "program": rf"program (?P<name>{_TEXT}) global_bytes=(?P<global_bytes>{_NUMBER})",
    "machine": rf"machine (?P<name>{_TEXT}) " + " ".join(f"{name}=(?P<{name}>{_NUMBER})" for name in _MACHINE),
    "tensor": rf"tensor %(?P<number>{_NUMBER}) (?P<name>{_TEXT}) (?P<shape>{_SHAPE})(?: alias %(?P<alias>{_NUMBER}))?",
    "port": rf"(?P<word>input|output) (?P<name>{_TEXT}) (?P<dtype>\w+) (?P<shape>{_SHAPE}) at (?P<address>{_ADDRESS}){_OF}"
            rf"(?: scale=(?P<scale>[-+.\w]+) zero_point=(?P<zero_point>{_SIGNED}))?",
    "weights": rf"weights (?P<name>{_TEXT}) (?P<dtype>\w+) at (?P<address>{_ADDRESS}){_OF} (?P<data>\S+)",
    "instruction": rf"(?:(?P<core>{_NUMBER}):)?(?P<queue>tiu|dma)\.(?P<id>{_NUMBER}) wait (?P<wait>{_NUMBER}) "
                   rf"(?P<operation>{_WORD}) \((?P<inputs>[^()]*(?:\(\)[^()]*)*)\) -> \((?P<outputs>[^()]*(?:\(\)[^()]*)*)\)"
                   rf"(?: (?P<attributes>\{{.*\}}))?(?: (?P<name>{_TEXT}))?",
}.items()}
_FORMS = {
    "program": 'program "NAME" global_bytes=N',
    "machine": 'machine "NAME" ' + " ".join(f"{name}=N" for name in _MACHINE),
    "tensor": 'tensor %N "NAME" SHAPE [alias %N]',
    "port": 'input "NAME" TYPE SHAPE at 0xN [%N] [scale=X zero_point=N]',
    "weights": 'weights "NAME" TYPE at 0xN [%N] BASE64',
    "instruction": '[CORE:]QUEUE.ID wait N OPERATION (OPERANDS) -> (OPERANDS) [{ATTRIBUTES}] ["NAME"]',
}


class _Wrong(Exception):
    """What is wrong with a line."""


def is_text(data: bytes) -> bool:
    """Whether bytes begin as a program's text does."""
    return _BEGINNING.match(data) is not None


def assemble(text: str, name: str = "the text") -> Program:
    """The program of a text; `TextError` lists every line that is wrong."""
    reading = _Reading()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line and not line.startswith("#"):
            try:
                reading.line(line)
            except _Wrong as wrong:
                reading.findings.append(Finding(f"line {number}", str(wrong)))
    return reading.program(name)


class _Reading:
    """A program, as far as it is read."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.head: dict[str, Any] | None = None
        self.machine: Machine | None = None
        self.tensors: list[Tensor] = []
        self.ports: dict[str, list[Port]] = {"input": [], "output": []}
        self.instructions: list[Instruction] = []
        self.weights: list[Weights] = []

    def line(self, line: str) -> None:
        word = line.partition(" ")[0]
        kind = {"input": "port", "output": "port"}.get(word, word if word in _STATEMENTS else "instruction")
        match = _STATEMENTS[kind].fullmatch(line)
        if match is None:
            raise _Wrong(f"does not read {_FORMS[kind]}")
        getattr(self, f"_{kind}")(match)

    def program(self, name: str) -> Program:
        for what, held in (("program", self.head), ("machine", self.machine)):
            if held is None:
                self.findings.append(Finding(name, f"has no line {_FORMS[what]}"))
        if self.findings or self.head is None or self.machine is None:
            raise TextError(f"{name} cannot be assembled", self.findings)
        return Program(
            self.machine, tuple(self.instructions), tuple(self.ports["input"]), tuple(self.ports["output"]),
            tuple(self.weights), tuple(self.tensors), **self.head)

    def _program(self, match: re.Match[str]) -> None:
        if self.head is not None:
            raise _Wrong("is a second program")
        self.head = {"name": _string(match["name"]), "global_bytes": int(match["global_bytes"])}

    def _machine(self, match: re.Match[str]) -> None:
        if self.machine is not None:
            raise _Wrong("is a second machine")
        self.machine = Machine(_string(match["name"]), **{name: int(match[name]) for name in _MACHINE})

    def _tensor(self, match: re.Match[str]) -> None:
        if int(match["number"]) != len(self.tensors):
            raise _Wrong(f"tensor %{match['number']} stands where %{len(self.tensors)} should: they are numbered in order")
        self.tensors.append(Tensor(_string(match["name"]), _shape_of(match["shape"]), _optional(match["alias"])))

    def _port(self, match: re.Match[str]) -> None:
        scale = _converted(float, match["scale"] or "0", "number")
        self.ports[match["word"]].append(Port(
            _string(match["name"]), int(match["address"], 16), _shape_of(match["shape"]), _dtype(match["dtype"]),
            _optional(match["tensor"]), scale, int(match["zero_point"] or 0)))

    def _weights(self, match: re.Match[str]) -> None:
        if match["data"] == ELIDED:
            raise _Wrong("has no bytes: they were left out when the text was written")
        try:
            data = base64.b64decode(match["data"] if match["data"] != "=" else "", validate=True)
        except binascii.Error as error:
            raise _Wrong(f"has bytes that are no base64: {error}") from None
        self.weights.append(Weights(
            int(match["address"], 16), data, _string(match["name"]), _optional(match["tensor"]), _dtype(match["dtype"])))

    def _instruction(self, match: re.Match[str]) -> None:
        given = _operands(match["outputs"])
        outputs = tuple(operand for operand in given if operand is not None)
        if len(outputs) < len(given):
            raise _Wrong("leaves an output out; only inputs can be")
        self.instructions.append(Instruction(
            match["queue"], int(match["id"]), int(match["wait"]), match["operation"], _operands(match["inputs"]),
            outputs, _attributes(match["attributes"]),
            int(match["core"] or 0), _string(match["name"]) if match["name"] else ""))


def _converted(of: Callable[[str], Any], text: str, what: str) -> Any:
    try:
        return of(text)
    except (ValueError, RecursionError):
        raise _Wrong(f"{text[:40]} is no {what}") from None


def _string(text: str) -> str:
    string: str = _converted(json.loads, text, "string in JSON's form")
    return string


def _optional(text: str | None) -> int | None:
    return None if text is None else int(text)


def _shape_of(text: str) -> tuple[int, ...]:
    return () if text == "()" else tuple(map(int, text.split("x")))


def _list_of(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else () if text == "()" else tuple(map(int, text.split(",")))


def _dtype(text: str) -> str:
    if text not in ELEMENTS:
        raise _Wrong(f"{text} is no element type; there are {', '.join(ELEMENTS)}")
    return text


def _operands(text: str) -> tuple[Operand | None, ...]:
    return tuple(None if one == "-" else _operand(one) for one in text.split(", ")) if text else ()


def _operand(text: str) -> Operand:
    match = _OPERAND.fullmatch(text)
    if match is None:
        raise _Wrong(
            f"operand {text!r} does not read L[0xN] TYPE SHAPE LAYOUT [strides=] [lane=] [%N+OFFSET*STEPS], or G[0xN] ...")
    address, dtype, shape = int(match["address"], 16), _dtype(match["dtype"]), _shape_of(match["shape"])
    strides = _list_of(match["strides"])
    part = None if match["tensor"] is None else Part(
        int(match["tensor"]), _list_of(match["offset"]) or (), _list_of(match["steps"]))
    if match["memory"] == "G":
        if match["layout"] or match["lane"]:
            raise _Wrong(f"operand {text!r} has a layout or lane, which only local ones have")
        return Global(address, shape, dtype, strides, part)
    if match["layout"] not in LAYOUTS:
        raise _Wrong(f"operand {text!r} has no layout; there are {', '.join(LAYOUTS)}")
    if strides is not None and len(strides) != 3:
        raise _Wrong(f"operand {text!r} has {len(strides)} strides, and local ones have three: of n, c and h")
    return Local(address, shape, dtype, match["layout"], strides, int(match["lane"] or 0), part)


def _attributes(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    held = _converted(json.loads, text, "JSON")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in held.items()}

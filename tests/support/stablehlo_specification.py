"""Takes the examples out of StableHLO's specification: programs with the values that they start from and give.

An example is a block of MLIR with values in comments around it:

    // %operand: [-2, 0, 2]
    %result = "stablehlo.abs"(%operand) : (tensor<3xi32>) -> tensor<3xi32>
    // %result: [2, 0, 2]

The specification is found through TRANSLOAD_SPEC (its folder), or beside the checkout.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SLIPS = {
    # What the specification's text gets wrong: a bracket that is missing, a type or dimensions that break their own
    # constraint, an operand that is not the one its values are given for.
    ("is_finite", "xf64)"): "xf64>)",
    ("collective_broadcast", "(tensor1x2"): "(tensor<1x2",
    ("cholesky", "tensor<3x3xf64>"): "tensor<3x3xf32>",
    ("dynamic_conv", "input_spatial_dimensions = [0, 1]"): "input_spatial_dimensions = [1, 2]",
    ("all_reduce", "(%operand0, %operand0)"): "(%operand0, %operand1)",
}
Process = tuple[int, int] | None


@dataclass
class Example:
    """One program: `operands` and `results` map (name, process) to what the comments say, not yet of any type."""

    op: str
    number: int
    statements: list[str] = field(default_factory=list)
    operands: dict[tuple[str, Process], Any] = field(default_factory=dict)
    results: dict[tuple[str, Process], Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.op}-{self.number}"


def specification() -> Path | None:
    """The specification's file, or None where it is not at hand."""
    folder = Path(os.environ.get("TRANSLOAD_SPEC") or ROOT.parent / "shared" / "spec")
    path = folder / "stablehlo_spec.md"
    return path if path.is_file() else None


def examples() -> list[Example]:
    """All examples of all ops, in order."""
    path = specification()
    if path is None:
        return []
    text = path.read_text(encoding="utf-8")
    text = text[text.index("\n## Ops\n") : text.index("\n## Dialect Interop")]
    found: list[Example] = []
    for section in re.split(r"\n### ", text)[1:]:
        op = section.split("\n", 1)[0].strip()
        number = 0
        for block in re.findall(r"```mlir\n(.*?)```", section.partition("#### Examples")[2], re.S):
            for (name, wrong), right in SLIPS.items():
                if name == op:
                    block = block.replace(wrong, right)
            for example in _split(op, block):
                example.number = number
                number += 1
                found.append(example)
    return found


def op_names() -> list[str]:
    """The names of all ops that the specification has a section for."""
    path = specification()
    if path is None:
        return []
    text = path.read_text(encoding="utf-8")
    return re.findall(r"^### (\S+)", text[text.index("\n## Ops\n") : text.index("\n## Dialect Interop")], re.M)


_value = re.compile(r"^//\s*%?\s*([A-Za-z_]\w*(?:#\d+|\[\d+\])?)\s*(?:@\((\d+), (\d+)\))?\s*[:=]\s*(\S.*)$")


def _split(op: str, block: str) -> list[Example]:
    """The examples of one block: values, statements, values, and perhaps again."""
    found: list[Example] = []
    current = Example(op, 0)
    statement = ""
    pending: tuple[str, Process] | None = None
    text = ""

    def finish_value() -> None:
        nonlocal pending, text
        if pending is not None:
            name, process = pending
            try:
                value = parse_value(text)
            except ValueError:
                value = None
            if value is not None:
                place = (
                    current.notes
                    if name.startswith(("num_", "infeed_queue"))
                    else (current.results if current.statements else current.operands)
                )
                place[name if place is current.notes else (name, process)] = value
        pending, text = None, ""

    def finish_statement() -> None:
        nonlocal statement
        if statement.strip():
            current.statements.append(statement)
        statement = ""

    for line in block.splitlines():
        depth = _depth(statement)
        if line.lstrip().startswith("//"):
            if depth > 0:
                continue  # a remark inside of attributes
            finish_statement()
            comment = line.strip()
            body = comment[2:].split("//")[0].strip()
            match = _value.match("//" + body) if (pending is None or _depth(text) <= 0) else None
            if match is not None:
                finish_value()
                name = match[1]
                if current.statements and not _is_result(current, name) and op != "infeed":
                    found.append(current)
                    current = Example(op, 0)
                pending = (name, (int(match[2]), int(match[3])) if match[2] else None)
                text = match[4]
            elif pending is not None and _depth(text) > 0:
                text += " " + body
            continue
        finish_value()
        if depth == 0 and re.match(r"%[\w:]+(, %\w+)*\s*=", line) and ("->" in statement or "constant dense" in statement):
            finish_statement()
        if depth == 0 and not statement and current.results and op != "infeed":
            found.append(current)
            current = Example(op, 0)
        statement += line + "\n"
    finish_statement()
    finish_value()
    found.append(current)
    return [example for example in found if example.statements]


def _is_result(example: Example, name: str) -> bool:
    """Whether a name (also of the form `result0` of `%result:2`, or `result#0`) is a result of the example's statements."""
    names = {result for statement in example.statements for result in result_names(statement)}
    return name in names or name.replace("#", "") in {result.replace("#", "") for result in names}


def result_names(statement: str) -> list[str]:
    """`%a, %b = ...` and `%a:2 = ...`, the latter as a#0, a#1."""
    left = statement.split("=", 1)[0]
    names: list[str] = []
    for name, count in re.findall(r"%(\w+)(?::(\d+))?", left):
        names += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return names


def _depth(text: str) -> int:
    text = re.sub(r"->|//.*", "", text)
    return sum(text.count(mark) for mark in "([{") - sum(text.count(mark) for mark in ")]}")


_token = re.compile(
    r"\s*(?:([\[\](),])|(0x[0-9A-Fa-f]+)|(-?\d+\.\d*(?:[eE][-+]?\d+)?|-?\d+(?:[eE][-+]?\d+)?)|(true|false|[-+]?inf|-?nan))"
)


class Bits(int):
    """A number that was written as the bits of an element."""


def parse_value(text: str) -> Any:
    """`[1, 0x7F, (1.0, 2.0), true]` as lists, tuples and numbers."""
    tokens: list[Any] = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _token.match(text, position)
        if match is None:
            raise ValueError(f"no value: {text[position:]!r}")
        mark, bits, number, word = match.groups()
        if mark:
            tokens.append(mark)
        elif bits:
            tokens.append(Bits(int(bits, 16)))
        elif number:
            tokens.append(float(number) if re.search(r"[.eE]", number) else int(number))
        else:
            tokens.append({"true": True, "false": False}.get(word) if word in ("true", "false") else float(word))
        position = match.end()

    def take(at: int) -> tuple[Any, int]:
        token = tokens[at]
        if token not in ("[", "("):
            if isinstance(token, str):
                raise ValueError(f"no value: {text!r}")
            return token, at + 1
        close, items = ("]" if token == "[" else ")"), []
        at += 1
        while tokens[at] != close:
            item, at = take(at)
            items.append(item)
            if tokens[at] == ",":
                at += 1
        return (items if close == "]" else tuple(items)), at + 1

    try:
        value, end = take(0)
    except IndexError:
        raise ValueError(f"no value: {text!r}") from None
    if end != len(tokens):
        raise ValueError(f"no value: {text!r}")
    return value

"""The text format of protocol buffers, in which `.prototxt` files are: parsed without a schema, then filled into messages.

The package protobuf has a parser of its own, which either stops at the first field that the schema does not have or forgets all
of them. Forks of Caffe add fields; what a layer says in one that nobody knows here is kept (a plugin may know it), and everything
that is wrong with a file is told at once, with its lines.

Source: https://protobuf.dev/reference/protobuf/textformat-spec.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from transload.digits import whole_number
from transload.errors import Finding, ForeignContent, ReadError

__all__ = ["IGNORED", "Entry", "Filler", "Place", "parse", "plain"]

MAX_DEPTH = 32
"""How deep messages may lie in each other; those of Caffe do at most five."""

IGNORED = frozenset((
    "accuracy_param", "base_lr", "bias_filler", "blob_share_mode", "blobs_lr", "bn_mode_filler", "contrastive_loss_param",
    "data_filler", "debug_info", "decay_mult", "default_backward_math", "default_backward_type", "default_forward_math",
    "default_forward_type", "diff", "engine", "filler", "force_backward", "force_nd_im2col",
    "hinge_loss_param", "infogain_loss_param", "loss_param", "loss_weight", "lr_mult", "momentum", "moving_average_fraction",
    "multibox_loss_param", "propagate_down", "save_output_param", "scale_filler", "share_in_parallel",
    "share_mode", "sigmoid_param", "slope_filler", "smooth_l1_loss_param", "stable_prod_grad", "tanh_param", "visualize",
    "visualize_threshold", "weight_decay", "weight_filler", "weightalign"))
"""Fields that mean nothing for what a network computes: fillers of weights, rates of learning, losses, choices of libraries."""

_TOKEN = re.compile(rb"""
    (?P<blank>[ \t\r\f\v]+ | \#[^\n]*)
  | (?P<line>\n)
  | (?P<word>[A-Za-z_][A-Za-z0-9_./\-]*)
  | (?P<number>[-+]?(?:0[xX][0-9a-fA-F]+ | (?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?))
  | (?P<minus>-[ \t]*(?=[A-Za-z]))
  | (?P<text>"[^"\\\n]*(?:\\.[^"\\\n]*){0,4000000}" | '[^'\\\n]*(?:\\.[^'\\\n]*){0,4000000}')
  | (?P<mark>[{}<>\[\]:;,])
""", re.VERBOSE)
Place = tuple[str | int, ...]
_CLOSES = {"{": "}", "<": ">"}


@dataclass
class Entry:
    """A field as it stands in a file: `value` is a token's text, or a list of entries where the field is a message.

    `raw` are the bytes that quotes stand for, None where there are none.
    """

    name: str
    value: str | list[Entry]
    line: int
    raw: bytes | None = None


def parse(data: memoryview, where: str) -> list[Entry]:
    """The fields of a file in text format. Raises `ReadError` with the line where it is none."""
    return _Parser(bytes(data), where).message()


class _Parser:
    """Goes through the tokens once, with a stack of open messages: however deep they lie, Python's stack does not grow."""

    def __init__(self, data: bytes, where: str) -> None:
        self.where = where
        self.line = 1
        self.tokens = self._tokens(data)
        self.kind, self.token, self.content = "", "", b""
        self.advance()

    def fail(self, why: str, line: int | None = None) -> ReadError:
        return ForeignContent(
            f"{self.where}:{line or self.line}: {why}", hint="the file is damaged, or no network in text format")

    def _tokens(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        while at < len(data):
            found = _TOKEN.match(data, at)
            if found is None:
                shown = data[at : at + 12].decode("utf-8", "backslashreplace")
                raise self.fail(f"{shown!r} cannot be read")
            at = found.end()
            kind = str(found.lastgroup)
            if kind == "line":
                self.line += 1
            elif kind != "blank":
                yield kind, found[0]
        yield "end", b""

    def advance(self) -> None:
        self.kind, self.content = next(self.tokens)
        self.token = self.content.decode("utf-8", "backslashreplace")

    def message(self) -> list[Entry]:
        """The fields of the outermost message."""
        entries: list[Entry] = []
        stack: list[tuple[list[Entry], str, int]] = [(entries, "end", 0)]
        while True:
            here, close, opened = stack[-1]
            if self.kind == "end" or self.token == close:
                if (close == "end") != (self.kind == "end"):
                    raise self.fail(f"the {'{' if close == '}' else '<'} of line {opened} is not closed")
                stack.pop()
                if not stack:
                    return entries
                self.advance()
                self.separator()
                continue
            inner = self.field(here)
            if inner is not None:
                if len(stack) > MAX_DEPTH:
                    raise self.fail(f"messages lie more than {MAX_DEPTH} deep in each other")
                stack.append(inner)

    def separator(self) -> None:
        if self.kind == "mark" and self.token in ",;":
            self.advance()

    def field(self, here: list[Entry]) -> tuple[list[Entry], str, int] | None:
        """One field; where it is a message, what opens it is read, and the message to fill comes back."""
        if self.kind != "word":
            raise self.fail(f"expected the name of a field, and there is {self.token[:80] or 'the end of the file'!r}")
        name, line = self.token, self.line
        self.advance()
        colon = self.token == ":" and self.kind == "mark"
        if colon:
            self.advance()
        if self.kind == "mark" and self.token in _CLOSES:
            entry = Entry(name, [], line)
            here.append(entry)
            close = _CLOSES[self.token]
            self.advance()
            return entry.value, close, line  # type: ignore[return-value]
        if not colon:
            raise self.fail(f"expected ':' or a message after {name[:80]!r}")
        if self.kind == "mark" and self.token == "[":
            self.many(here, name, line)
        else:
            here.append(self.scalar(name, line))
        self.separator()
        return None

    def many(self, here: list[Entry], name: str, line: int) -> None:
        """A list in brackets, each of it as if it stood alone."""
        self.advance()
        while not (self.kind == "mark" and self.token == "]"):
            here.append(self.scalar(name, line))
            if self.kind == "mark" and self.token == ",":
                self.advance()
            elif self.token != "]":
                raise self.fail(f"expected ',' or ']' in the list {name[:80]!r}")
        self.advance()

    def scalar(self, name: str, line: int) -> Entry:
        if self.kind == "text":
            pieces = []
            while self.kind == "text":  # texts in a row are one
                pieces.append(_unescaped(self.content[1:-1]))
                self.advance()
            raw = b"".join(pieces)
            return Entry(name, _decoded(raw), line, raw)
        sign = ""
        if self.kind == "minus":
            sign = "-"
            self.advance()
        if self.kind not in ("word", "number"):
            raise self.fail(f"expected a value of {name[:80]!r}, and there is {self.token[:80] or 'the end of the file'!r}")
        entry = Entry(name, sign + self.token, line)
        self.advance()
        return entry


_ESCAPE = re.compile(
    rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def _unescaped(text: bytes) -> bytes:
    """The bytes that a quoted text stands for: escapes are bytes, of UTF-8 where they are to be text, or name a character."""
    def one(found: re.Match[bytes]) -> bytes:
        code = found[1]
        if len(code) > 1 and code[:1] in b"uU":
            return chr(int(code[1:], 16)).encode("utf-8", "surrogatepass")
        if len(code) > 1 and code[:1] == b"x":
            return bytes((int(code[1:], 16),))
        if code[:1] in b"01234567":
            return bytes((int(code, 8) & 0xFF,))
        return _PLAIN_ESCAPES.get(code, code)

    return _ESCAPE.sub(one, text) if b"\\" in text else text


def _decoded(raw: bytes) -> str:
    """Bytes as text: of UTF-8, or else of Latin-1, in which older files may be."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def plain(entries: list[Entry]) -> dict[str, Any]:
    """Fields as a dictionary, numbers and flags as such; what stands there more than once is a list."""
    found: dict[str, Any] = {}
    for entry in entries:
        value = plain(entry.value) if isinstance(entry.value, list) else _guessed(entry)
        if entry.name not in found:
            found[entry.name] = value
        elif isinstance(found[entry.name], list):
            found[entry.name].append(value)
        else:
            found[entry.name] = [found[entry.name], value]
    return found


def _guessed(entry: Entry) -> Any:
    text = str(entry.value)
    if entry.raw is not None:
        return text
    if text in ("true", "false"):
        return text == "true"
    for kind in (_integer, _real):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass
class Filler:
    """Fills messages of the schema with parsed fields; what is wrong is collected in `findings`.

    `unknown` are the fields that the schema does not have, by the place of the message that they stand in: `("layer", 3)`.
    """

    where: str
    findings: list[Finding] = field(default_factory=list)
    unknown: dict[Place, list[Entry]] = field(default_factory=dict)

    def fill(self, message: Any, entries: list[Entry], place: Place = ()) -> None:
        """Fill a message; `place` says where in the file's own it is."""
        fields = message.DESCRIPTOR.fields_by_name
        seen: dict[str, int] = {}
        for entry in entries:
            declared = fields.get(entry.name)
            if declared is None:
                if entry.name not in IGNORED:
                    self.unknown.setdefault(place, []).append(entry)
                continue
            repeated = declared.is_repeated if hasattr(declared, "is_repeated") else declared.label == declared.LABEL_REPEATED
            if not repeated and entry.name in seen:
                self.wrong(entry, f"stands there twice: in line {seen[entry.name]}, too")
                continue
            seen[entry.name] = entry.line
            self._fill_field(message, declared, entry, repeated, place)

    def wrong(self, entry: Entry, why: str) -> None:
        self.findings.append(Finding(f"{self.where}:{entry.line}: {entry.name}", why))

    def _fill_field(self, message: Any, declared: Any, entry: Entry, repeated: bool, place: Place) -> None:
        held = getattr(message, entry.name)
        if declared.message_type is not None:
            if not isinstance(entry.value, list):
                self.wrong(entry, f"must be a message in braces, and is {entry.value[:40]!r}")
                return
            inner = held.add() if repeated else held
            inner.SetInParent()
            self.fill(inner, entry.value, (*place, entry.name, len(held) - 1 if repeated else 0))
            return
        if isinstance(entry.value, list):
            self.wrong(entry, "is one value, and there is a message in braces")
            return
        try:
            value = _value(declared, entry)
            held.append(value) if repeated else setattr(message, entry.name, value)
        except (ValueError, OverflowError, TypeError) as error:
            self.wrong(entry, f"cannot be {entry.value[:40]!r}: {error}")


def _value(declared: Any, entry: Entry) -> Any:
    """A token as a value of a field's type. Raises ValueError."""
    text, kind = str(entry.value), declared.cpp_type
    if kind == declared.CPPTYPE_STRING:
        if entry.raw is None:
            raise ValueError("a text stands in quotes")
        return entry.raw if declared.type == declared.TYPE_BYTES else text
    if entry.raw is not None:
        raise ValueError("it is no text")
    if kind == declared.CPPTYPE_ENUM:
        named = declared.enum_type.values_by_name.get(text)
        if named is not None:
            return named.number
        number = whole_number(text)
        if number in declared.enum_type.values_by_number:
            return number
        raise ValueError(f"it is one of {', '.join(declared.enum_type.values_by_name)}")
    if kind == declared.CPPTYPE_BOOL:
        words = {"true": True, "t": True, "True": True, "1": True, "false": False, "f": False, "False": False, "0": False}
        if text not in words:
            raise ValueError("it is true or false")
        return words[text]
    return _real(text) if kind in (declared.CPPTYPE_FLOAT, declared.CPPTYPE_DOUBLE) else _within(declared, _integer(text))


def _within(declared: Any, number: int) -> int:
    """A whole number that a field holds. Raises ValueError."""
    bits = 32 if declared.cpp_type in (declared.CPPTYPE_INT32, declared.CPPTYPE_UINT32) else 64
    signed = declared.cpp_type in (declared.CPPTYPE_INT32, declared.CPPTYPE_INT64)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if not low <= number <= high:
        raise ValueError(f"it is a number of {low} to {high}")
    return number


def _integer(text: str) -> int:
    if len(text) > 40:
        raise ValueError("it is no whole number")
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", digits):
        return sign * int(digits, 16)
    if re.fullmatch(r"0[0-7]+", digits):
        return sign * int(digits, 8)
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError("it is no whole number")
    return sign * int(digits)


def _real(text: str) -> float:
    lower = text.lower()
    if lower.lstrip("+-") in ("inf", "infinity", "nan"):
        return math.copysign(math.inf, -1 if lower[0] == "-" else 1) if lower.lstrip("+-")[1] == "n" else math.nan
    if re.fullmatch(r"[-+]?0x[0-9a-f]+", lower):
        return float(_integer(text))
    try:
        return float(lower.removesuffix("f"))
    except ValueError:
        raise ValueError("it is no number") from None

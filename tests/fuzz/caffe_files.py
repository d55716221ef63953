"""Caffe's networks changed: serialized ones as protobuf messages, text by its fields, numbers and braces."""

from __future__ import annotations

import random
import re
from typing import Any

from tests.fuzz.messages import change_field, messages_in
from tests.fuzz.numbers import other_number

__all__ = ["NUMBER", "mutate"]

NUMBER = re.compile(rb"(?<![\w.\"])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.\"])")
"""A number of text format that is no part of a word or of a string."""
_BLOCK = re.compile(rb"^layers?\s*\{.*?^\}", re.MULTILINE | re.DOTALL)


def mutate(dice: random.Random, content: bytes) -> bytes:
    """The network with one to four changes."""
    from transload_converters.caffe.network import is_binary

    times = dice.choice((1, 1, 1, 2, 2, 3, 4))
    if is_binary(content[:4096]):
        return _message(dice, content, times)
    for _ in range(times):
        content = dice.choice((_number, _number, _word, _layer, _braces))(dice, content)
    return content


def _message(dice: random.Random, content: bytes, times: int) -> bytes:
    from transload_converters.caffe import caffe_pb2
    from transload_converters.caffe.signatures import SIGNATURES

    types = re.findall(r"^(\w+)", SIGNATURES, re.MULTILINE)
    net: Any = caffe_pb2.NetParameter.FromString(content)
    for _ in range(times):
        names = [name for layer in net.layer for name in (*layer.bottom, *layer.top)] or [""]
        messages = messages_in(net)
        layers = [message for message in messages if message.DESCRIPTOR.name == "LayerParameter"]
        parameters = [message for message in messages if message.DESCRIPTOR.name.endswith("Parameter")]
        if layers and dice.randrange(6) == 0:
            dice.choice(layers).type = dice.choice(types)
        else:
            change_field(dice, dice.choice(parameters if parameters and dice.randrange(3) else messages), names)
    written: bytes = net.SerializeToString()
    if dice.randrange(12) == 0:
        written = written[: dice.randrange(len(written) + 1)]
    return written


def _number(dice: random.Random, content: bytes) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return content
    place = dice.choice(found)
    old = float(place[0])
    new = other_number(dice, "q" if old.is_integer() else "f", int(old) if old.is_integer() else old)
    return content[: place.start()] + str(new).encode() + content[place.end() :]


def _word(dice: random.Random, content: bytes) -> bytes:
    """A word in place of another of the file."""
    words = [found.span() for found in re.finditer(rb"[A-Za-z_]\w*|\"[^\"\n]*\"", content)]
    if not words:
        return content
    (start, end), (other, last) = dice.choice(words), dice.choice(words)
    return content[:start] + content[other:last] + content[end:]


def _layer(dice: random.Random, content: bytes) -> bytes:
    """A layer left out, repeated or moved."""
    blocks = [found.span() for found in _BLOCK.finditer(content)]
    if not blocks:
        return content
    start, end = dice.choice(blocks)
    kind = dice.randrange(3)
    taken, rest = content[start:end], content[:start] + content[end:]
    if kind == 0:
        return rest
    at = dice.choice(blocks)[0] if kind == 2 else 0
    return (rest[:at] + b"\n" + taken + b"\n" + rest[at:]) if kind == 2 else content + b"\n" + taken


def _braces(dice: random.Random, content: bytes) -> bytes:
    """Something of the grammar put in or taken out."""
    at = dice.randrange(len(content) + 1)
    if dice.randrange(2):
        return content[:at] + content[at + dice.randrange(1, 4) :]
    piece = dice.choice((b"{", b"}", b"<", b"a {" * 60, b'"', b"#", b":", b"[1, 2]", b"\x00", b"-", b"\\x"))
    return content[:at] + piece + content[at:]

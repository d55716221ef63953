"""MLIR text changed token by token: numbers, types, names of ops, operands, strings and keywords for others of the file."""

from __future__ import annotations

import random
import re

from tests.fuzz.numbers import other_float, other_integer

__all__ = ["TYPES", "kind_of", "mutate", "tokens_of"]

_TOKEN = re.compile(
    r'"[^"\n]*"|tensor<[^<>]*>|%[\w#]+|@[\w$.]+|[!#^][\w.]+|-?\d+\.\d*(?:[eE][-+]?\d+)?|-?\d+|[A-Za-z_][\w.$]*|\s+|.', re.DOTALL)
TYPES = ("f32", "f16", "bf16", "f64", "i1", "i4", "i8", "i16", "i32", "i48", "i64", "ui8", "index", "f8E4M3FN")
_WEIGHTS = {
    "tensor": 30, "integer": 30, "float": 10, "type": 8, "op": 8, "string": 4, "%": 12, "@": 2, "!": 3, "#": 2, "^": 1, "word": 3,
    "sign": 1}
"""How often tokens of each kind are changed."""
_LONGEST = 200
"""Tokens longer than this (data of constants) stay what they are."""


def mutate(dice: random.Random, content: bytes) -> bytes:
    """The text with one to four changes."""
    tokens = tokens_of(content)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        _change(dice, tokens)
    return "".join(tokens).encode("utf-8", "replace")


def tokens_of(content: bytes) -> list[str]:
    """The text in pieces, white space among them."""
    tokens: list[str] = _TOKEN.findall(content.decode("utf-8", "replace"))
    return tokens


def kind_of(token: str) -> str:
    """What a token is: of its kind are those that it is changed for."""
    if token[0] == '"':
        return "op" if re.fullmatch(r'"[a-z_]+\.[\w.]+"', token) else "string"
    if token[0] in "%@!#^":
        return token[0]
    if token.startswith("tensor<"):
        return "tensor"
    if re.fullmatch(r"-?\d+", token):
        return "integer"
    if re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?", token):
        return "float"
    return "type" if token in TYPES else "word" if token[0].isalpha() or token[0] == "_" else "sign"


def _change(dice: random.Random, tokens: list[str]) -> None:
    tokens[:] = filter(None, tokens)
    by_kind: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        if not token.isspace() and len(token) <= _LONGEST:
            by_kind.setdefault(kind_of(token), []).append(place)
    kinds = [kind for kind in _WEIGHTS if kind in by_kind]
    kind = dice.choices(kinds, [_WEIGHTS[kind] for kind in kinds])[0]
    place = dice.choice(by_kind[kind])
    token = tokens[place]
    if kind == "tensor":
        _change_type(dice, tokens, place)
    elif kind == "sign" or dice.randrange(20) == 0:
        tokens[place] = dice.choice(("", token * 2))
    elif kind == "integer":
        tokens[place] = str(other_integer(dice, int(token)))
    elif kind == "float":
        tokens[place] = repr(other_float(dice, float(token)))
    elif kind == "type":
        tokens[place] = dice.choice(TYPES)
    else:
        tokens[place] = tokens[dice.choice(by_kind[kind])]


def _change_type(dice: random.Random, tokens: list[str], place: int) -> None:
    """Another size, rank or element type; mostly wherever the file has this type, so that it fits together."""
    old = tokens[place]
    *sizes, element = old[7:-1].split("x")
    kind = dice.randrange(5)
    if sizes and kind < 3:
        at = dice.randrange(len(sizes))
        sizes[at] = dice.choice(("?", "0", "1")) if dice.randrange(3) == 0 else str(
            abs(other_integer(dice, int(sizes[at]) if sizes[at].isdigit() else 1)))
    elif kind == 3:
        element = dice.choice(TYPES)
    elif sizes and dice.randrange(2):
        del sizes[-1]
    else:
        sizes.insert(0, "1")
    new = f"tensor<{'x'.join((*sizes, element))}>"
    for at in range(len(tokens)) if dice.randrange(4) else (place,):
        if tokens[at] == old:
            tokens[at] = new

"""JSON of anything that we report: valid everywhere, without the `Infinity` and `NaN`, and the halves of characters, that Python
writes.

And JSON of packed files, which is counted before it is read: `{},` becomes forty times the memory, and packs to a thousandth.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

from .budget import VARIABLE, allowance
from .escapes import spelt

__all__ = ["LEVELS", "json_text", "of_json_text", "plain", "room_for_json", "values_of_json"]

_CHARACTER, _CONTAINER, _ENTRY, _ITEM = 6, 64, 168, 72
"""Bytes that Python holds at one time for JSON, at most: of a character (the file's, one of text, the string's), of a list or a
dictionary that is empty, and more for each entry of a dictionary, and each value with its place in a list."""
_OF_A_BYTE = 64
"""How much more than a large file its JSON may take. What is not packed takes less."""
LEVELS = 100
"""How deep what is reported may lie in itself. We add a few levels around what a plugin reports, and never half as many."""


def json_text(value: Any) -> str:
    """JSON text, indented, of what `plain` makes of a value."""
    return json.dumps(plain(value), indent=2, allow_nan=False)


def plain(value: Any, levels: int = 2 * LEVELS) -> Any:
    """A value as dictionaries, lists, texts and numbers.

    Dataclasses become dictionaries by field, numpy's numbers and arrays ours, and numbers that are not finite the texts
    "Infinity", "-Infinity" and "NaN", as in the JSON of Protocol Buffers: `float()` of Python reads them. What is none of
    these (a path, a type) is said as text. Of text, what is no character is spelt out, as `\\udcff`: Python has the byte 255 of a
    file's name that is no UTF-8 so, and strict readers refuse it. `of_json_text` reads it as that again.

    Raises `ValueError` for what lies more than `levels` deep in itself, perhaps without end.
    """
    if levels < 0:
        raise ValueError("it is nested too deep, or without end")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return spelt(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(float(value))
    if isinstance(value, Mapping):
        return {spelt(str(key)): plain(entry, levels - 1) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), levels - 1) for field in fields(value)}
    if isinstance(value, list | tuple | Set):
        return [plain(entry, levels - 1) for entry in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return plain(value.tolist(), levels - 1)
    return spelt(str(value))


_NAMED_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_NAMED_HALF_BYTES = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""What is half of a character in JSON, or may be, of a character that is written as two."""
_HALF = re.compile(r"\\u(d[89a-f][0-9a-f]{2})")
"""As `spelt` has halves of characters."""


def of_json_text(text: str) -> Any:
    """What JSON of ours says, where names of files that are no UTF-8 are what Python has for them again.

    They are looked for in what was read, not in the text: there a character beyond the first 65,536 is two halves, and what
    stands before it may be a backslash. Raises `ValueError` for what is no JSON, and `RecursionError`.
    """
    return _unspelt(json.loads(text))


def _unspelt(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub(lambda half: chr(int(half[1], 16)), value)
    if isinstance(value, list):
        return [_unspelt(entry) for entry in value]
    if isinstance(value, dict):
        return {_unspelt(key): _unspelt(entry) for key, entry in value.items()}
    return value


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def room_for_json(size: int) -> int:
    """How many bytes of JSON may be unpacked of a file of `size` bytes, for `values_of_json` to take them."""
    return max(allowance().memory, _OF_A_BYTE * size) // _CHARACTER


def values_of_json(text: bytes | str, size: int) -> Any:
    """What JSON says that was packed in a file of `size` bytes, its halves of characters spelt out (`spelt`): they are in names.

    Raises `ValueError` for what is no JSON, is nested without end, or would take more memory than the values of a model may
    (`Allowance.memory`), or than 64 times the file.
    """
    marks: list[Any] = ["{", "[", ":", ","]
    braces, brackets, colons, commas = (text.count(mark if isinstance(text, str) else mark.encode()) for mark in marks)
    needed = _CHARACTER * len(text) + _CONTAINER * (braces + brackets) + _ENTRY * colons + _ITEM * commas
    if needed > max(allowance().memory, _OF_A_BYTE * size):
        raise ValueError(f"its {len(text):,} characters would take about {needed:,} bytes of memory, which "
                         f"{VARIABLE}=memory={needed} allows")
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested without end") from None
    return _all_spelt(found) if _may_have_halves(text) else found


def _may_have_halves(text: bytes | str) -> bool:
    """Whether JSON may name halves of characters, as escapes or, as Python reads it, in bytes that are no UTF-8."""
    if isinstance(text, str):
        return _NAMED_HALF.search(text) is not None
    return b"\0" in text[:4] or _NAMED_HALF_BYTES.search(text) is not None  # with zeros it is in another encoding


def _all_spelt(value: Any) -> Any:
    """The same values, of which all texts are spelt out; lists and dictionaries are changed, which nobody else has."""
    outermost = [value]
    pending: list[Any] = [outermost]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            for key in [key for key in item if spelt(key) != key]:
                item[spelt(key)] = item.pop(key)
        for place in item if isinstance(item, dict) else range(len(item)):
            entry = item[place]
            if isinstance(entry, str):
                item[place] = spelt(entry)
            elif isinstance(entry, dict | list):
                pending.append(entry)
    return outermost[0]
